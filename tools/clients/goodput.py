"""A training program says where it is, and slurm-goodput knows what became of the time.

    import goodput

    with goodput.restore() as restored:
        restored.step = load()
    for step in range(restored.step + 1, steps + 1):
        goodput.step(step)                      # training step `step` begins
        train(step)
        if step % 100 == 0:
            with goodput.checkpoint(step):      # not marked complete where save() raises
                save(step)
            with goodput.phase("evaluation"):   # init, data_loading, compile, ... or a name of your own
                evaluate()

A program written for Google's ml-goodput-measurement changes its import:

    import goodput                              # was: from ml_goodput_measurement import goodput
    recorder = goodput.GoodputRecorder(run_name, logger_name, jax.process_index() == 0)

Lightning and NeMo:

    trainer = Trainer(callbacks=[goodput.GoodputCallback()])

Python 3.8 or newer on Linux; this one file, no other package. A mark costs a few microseconds and never raises: outside a
Slurm job, where the job says GOODPUT=off and on ranks other than 0 (SLURM_PROCID, RANK; GOODPUT_RANKS=all: on every rank)
it does nothing; where no goodputd listens it is dropped and counted, and so is what goodputd does not take within 5 ms. It
may be called from any thread, after a fork and from a signal handler.
"""

import datetime
import functools
import itertools
import json
import os
import select
import socket
import sys
import time
from typing import Any, Callable, List, Optional, Tuple

__all__ = ["GoodputCallback", "GoodputRecorder", "checkpoint", "checkpoint_begin", "checkpoint_end", "dropped", "phase",
           "phase_begin", "phase_end", "restore", "restore_begin", "restore_end", "step"]

_SOCKET = "@goodput"
# Abstract names are of a network namespace: from within another only a path reaches the daemon.
_SOCKET_PATH = "/run/slurm-goodput/mark.sock"
_WAIT_MS = 5
# How long nobody asks again for a daemon that was not there, or waits for one that did not read.
_BACKOFF_NS = 1_000_000_000
# goodputd takes the time of an older mark for a mistake, and would record it as of now.
_MAX_AGE_NS = 3600 * 1_000_000_000
_MAX_STEP = 1 << 53
# The kernel's number of a socket, which no other ever has; Python has no name for it.
_SO_COOKIE = 57
_FLAGS = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_NAME_BYTES = 128


class _Socket(socket.socket):
    """Closes without a word when the last who uses it lets go of it."""

    cookie = b""

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            pass


class _Marks:
    """The process's connection to goodputd.

    No lock, so that neither a fork nor a signal handler finds it taken: a socket is put in its place or taken out of it
    whole.
    """

    def __init__(self) -> None:
        self._process = 0
        self._identity = ""  # the end of every message; empty: this process has nothing to say
        self._socket: Optional[_Socket] = None
        self._retry_ns = 0
        self._wait_ns = 0
        self._drops = itertools.count()  # next() is atomic, += is not
        self._looks = 0

    def dropped(self) -> int:
        self._looks += 1
        return next(self._drops) - (self._looks - 1)

    def drop(self) -> None:
        next(self._drops)

    def send(self, mark: str, edge: str, step: Any = None, name: Any = None, when: Any = None) -> None:
        try:
            process = os.getpid()
            if process != self._process:
                self._begin(process)
            if not self._identity:
                return
            now = time.monotonic_ns()
            text = '{"v":1,"mark":"%s","edge":"%s","m":%d' % (mark, edge, now if when is None else now - _age_ns(when))
            if step is not None:
                number = int(step)
                if not 0 <= number <= _MAX_STEP:
                    raise ValueError("a step of %d" % number)
                text += ',"train_step":%d' % number
            if name is not None:
                text += ',"name":' + _quoted(name)
            message = (text + self._identity).encode("ascii")
            sock = self._socket
            try:  # what nearly always happens, in as few words as it takes
                if sock is not None and sock.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8) == sock.cookie:
                    sock.send(message, _FLAGS)
                    return
            except BlockingIOError:
                if now < self._wait_ns:
                    self.drop()
                    return
            except OSError:
                pass
            if not self._deliver(message, now):
                self.drop()
        except Exception:  # whatever a caller passed, and an interpreter that shuts down
            self.drop()

    def _begin(self, process: int) -> None:
        """A process that was forked has a connection of its own; its environment may have changed, too."""
        inherited, self._socket = self._socket, None
        if inherited is not None and not self._is_ours(inherited):
            inherited.detach()
        self._retry_ns = self._wait_ns = 0
        self._identity = _identity()
        self._process = process

    @staticmethod
    def _is_ours(sock: _Socket) -> bool:
        """Programs that become daemons close every descriptor; the number may be another file's now."""
        try:
            return _cookie(sock) == sock.cookie
        except OSError:
            return False

    def _deliver(self, message: bytes, now: int) -> bool:
        sock = self._socket
        if sock is not None and not self._is_ours(sock):
            sock.detach()
            sock = None
        fresh = sock is None
        for _ in range(2):
            if sock is None:
                sock = self._connect(now)
                if sock is None:
                    return False
            try:
                return self._send_patiently(sock, message, now)
            except OSError:  # the daemon is gone, or another one is there
                sock = self._socket = None
            if fresh:
                return False
        return False

    def _send_patiently(self, sock: _Socket, message: bytes, now: int) -> bool:
        """Waits for room, but not again for a while where there was none."""
        try:
            sock.send(message, _FLAGS)
            return True
        except BlockingIOError:
            if now < self._wait_ns:
                return False
        room = select.poll()
        room.register(sock, select.POLLOUT)
        room.poll(_WAIT_MS)
        try:
            sock.send(message, _FLAGS)
            return True
        except BlockingIOError:
            self._wait_ns = now + _BACKOFF_NS
            return False

    def _connect(self, now: int) -> Optional[_Socket]:
        """Threads that find none at the same time each make one, of which the last stays: none of them waits."""
        if now < self._retry_ns:
            return None
        name = os.environ.get("GOODPUT_SOCKET") or _SOCKET
        path = os.environ.get("GOODPUT_SOCKET_PATH") or _SOCKET_PATH
        for address in [name, path] if name.startswith("@") else [name]:
            sock = _Socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
            try:
                sock.connect("\0" + address[1:] if address.startswith("@") else address)
            except OSError:
                sock.close()
                continue
            sock.cookie = _cookie(sock)
            self._socket = sock
            self._retry_ns = now + _BACKOFF_NS
            return sock
        self._retry_ns = now + _BACKOFF_NS
        return None


def _cookie(sock: _Socket) -> bytes:
    try:
        return sock.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8)
    except OSError:  # a kernel older than 4.12
        info = os.fstat(sock.fileno())
        return b"%d %d" % (info.st_dev, info.st_ino)


def _env_number(name: str) -> int:
    """-1: the environment has no such number."""
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1


def _identity() -> str:
    """The job, step, task and node this process is of; empty where it has nothing to say. Rank 0 speaks for the job;
    launchers number their processes in addition to Slurm's, several to a task."""
    job = _env_number("SLURM_JOB_ID")
    if job <= 0 or os.environ.get("GOODPUT") == "off":
        return ""
    if os.environ.get("GOODPUT_RANKS") != "all" and any(
            _env_number(rank) > 0 for rank in ("SLURM_PROCID", "RANK", "OMPI_COMM_WORLD_RANK")):
        return ""
    step, task, node = _env_number("SLURM_STEP_ID"), _env_number("SLURM_PROCID"), os.environ.get("SLURMD_NODENAME", "")
    # A batch script has no step id, or a special one, depending on the release.
    text = ',"job":%d,"slurm_step":"%s"' % (job, step if 0 <= step < 0xfffffff0 else "batch")
    if task >= 0:
        text += ',"task":%d' % task
    return text + (',"node":' + _quoted(node) if node else "") + "}"


def _quoted(name: Any) -> str:
    """As a JSON string in ASCII, cut between characters to the bytes goodputd takes."""
    text = str(name).encode("utf-8", "replace")[:_NAME_BYTES].decode("utf-8", "ignore").replace("\0", "")
    if not text:
        raise ValueError("an empty name")
    return json.dumps(text)


def _age_ns(when: Any) -> int:
    """How long ago that was: a datetime (UTC where it names no zone) or seconds since the epoch."""
    if isinstance(when, datetime.datetime):
        when = (when if when.tzinfo is not None else when.replace(tzinfo=datetime.timezone.utc)).timestamp()
    age = time.time_ns() - int(float(when) * 1e9)
    if age > _MAX_AGE_NS:
        raise ValueError("too long ago")
    return max(0, age)


_marks = _Marks()


def step(number: int) -> None:
    """Training step `number` begins, and with it the one before has ended. Number steps as your checkpoints do."""
    _marks.send("step", "begin", "" if number is None else number)


def checkpoint_begin(step: Optional[int] = None) -> None:
    """A save of what the steps up to `step` made begins."""
    _marks.send("checkpoint", "begin", step)


def checkpoint_end(step: Optional[int] = None) -> None:
    """It is complete: on disk, not only handed over."""
    _marks.send("checkpoint", "end", step)


def restore_begin(step: Optional[int] = None) -> None:
    """A checkpoint is being loaded."""
    _marks.send("restore", "begin", step)


def restore_end(step: Optional[int] = None) -> None:
    """The checkpoint of step `step` is loaded."""
    _marks.send("restore", "end", step)


def phase_begin(name: str) -> None:
    """Anything else: init, data_loading, compile, evaluation or a name of your own, of at most 128 bytes."""
    _marks.send("phase", "begin", None, "" if name is None else name)


def phase_end(name: str) -> None:
    _marks.send("phase", "end", None, "" if name is None else name)


def dropped() -> int:
    """Marks of this process and of those it was forked from that reached nobody."""
    return _marks.dropped()


class _Span:
    """What a `with` is around. `step` may be set within, where only then it is known."""

    def __init__(self, mark: str, step: Any = None, name: Any = None) -> None:
        self._mark, self.step, self._name = mark, step, name

    def __enter__(self) -> "_Span":
        _marks.send(self._mark, "begin", self.step, self._name)
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        # What raised is not saved, and not loaded; a phase is over in any case.
        if kind is None or self._mark == "phase":
            _marks.send(self._mark, "end", self.step, self._name)


def checkpoint(step: Optional[int] = None) -> _Span:
    return _Span("checkpoint", step)


def restore(step: Optional[int] = None) -> _Span:
    return _Span("restore", step)


def phase(name: str) -> _Span:
    return _Span("phase", None, "" if name is None else name)


class GoodputRecorder:
    """Google's recorder by its constructor and method names, writing marks in place of log entries.

    Steps keep their numbers. A time given as start_time or end_time counts, up to an hour back. Slurm knows when the job
    began and ended, and whoever saves knows when a checkpoint is complete: those three methods do nothing.
    """

    def __init__(self, job_name: str, logger_name: str, logging_enabled: bool = False, cloud_logger: Any = None, *,
                 background_grace_period_s: float = 5.0, background_batch_size: int = 100,
                 background_max_latency_s: float = 2.0, **_newer: Any) -> None:
        """logging_enabled: whether this process records; the others are for the signature only."""
        self.job_name = job_name
        self._send: Callable[..., None] = _marks.send if logging_enabled is True or _truth(logging_enabled) else _nothing

    def flush(self) -> None:
        pass

    def record_step_start_time(self, step: int, start_time: Optional[datetime.datetime] = None) -> None:
        self._send("step", "begin", "" if step is None else step, None, start_time)

    def record_checkpoint_progress(self, step: Any, checkpoint_start_time: Any) -> None:
        pass

    def record_job_start_time(self, start_time: Optional[datetime.datetime] = None) -> None:
        pass

    def record_job_end_time(self, end_time: Optional[datetime.datetime] = None) -> None:
        pass

    def record_tpu_init_start_time(self, start_time: Optional[datetime.datetime] = None) -> None:
        self._send("phase", "begin", None, "init", start_time)

    def record_tpu_init_end_time(self, end_time: Optional[datetime.datetime] = None) -> None:
        self._send("phase", "end", None, "init", end_time)

    def record_training_preparation_start_time(self, start_time: Optional[datetime.datetime] = None) -> None:
        self._send("phase", "begin", None, "training_prep", start_time)

    def record_training_preparation_end_time(self, end_time: Optional[datetime.datetime] = None) -> None:
        self._send("phase", "end", None, "training_prep", end_time)

    def record_data_loading_start_time(self, start_time: Optional[datetime.datetime] = None) -> None:
        self._send("phase", "begin", None, "data_loading", start_time)

    def record_data_loading_end_time(self, end_time: Optional[datetime.datetime] = None) -> None:
        self._send("phase", "end", None, "data_loading", end_time)

    def record_custom_badput_event_start_time(self, start_time: Optional[datetime.datetime] = None,
                                              custom_badput_event_type: str = "unknown") -> None:
        self._send("phase", "begin", None, _custom_type(custom_badput_event_type), start_time)

    def record_custom_badput_event_end_time(self, end_time: Optional[datetime.datetime] = None,
                                            custom_badput_event_type: str = "unknown") -> None:
        self._send("phase", "end", None, _custom_type(custom_badput_event_type), end_time)


def _custom_type(named: Any) -> Any:
    return "unknown" if named is None else named


def _nothing(*_args: Any) -> None:
    pass


def _truth(value: Any) -> bool:
    try:
        return bool(value)
    except Exception:  # an array of several
        return False


# --- Lightning and NeMo

def _quiet(hook: Callable[..., None]) -> Callable[..., None]:
    """A hook that fails nobody's training, whatever release calls it with whatever arguments."""
    @functools.wraps(hook)
    def guarded(self: Any, trainer: Any = None, *more: Any, **named: Any) -> None:
        try:
            hook(self, trainer, *more, **named)
        except Exception:
            _marks.drop()
    return guarded


def _saves_later(trainer: Any) -> bool:
    """Whether save_checkpoint() comes back before the files are complete."""
    strategy = getattr(trainer, "strategy", None)
    plugin = getattr(strategy, "checkpoint_io", None)
    return any(getattr(of, "async_save", False) is True for of in (strategy, plugin)) or any(
        kind.__name__ in ("AsyncCheckpointIO", "AsyncFinalizableCheckpointIO") for kind in type(plugin).__mro__)


def _global_step(trainer: Any) -> Optional[int]:
    try:
        return int(trainer.global_step)
    except Exception:
        return None


class _MarkedSave:
    """In the place of a trainer's save_checkpoint: a save begins, and where it comes back it is complete. Whatever the
    original returns or raises is passed on. Of module level, so that the trainer can be pickled."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.original = trainer.save_checkpoint

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named.get("weights_only", args[1] if len(args) > 1 else False) is True:  # nothing to go on from
            with phase("save_weights"):
                return self.original(*args, **named)
        saved = _global_step(self.trainer)
        checkpoint_begin(saved)
        result = self.original(*args, **named)
        if not _saves_later(self.trainer):
            checkpoint_end(saved)
        return result


def _callback_base() -> type:
    """Lightning's Callback, of the package this program uses; object where there is none."""
    names = ["lightning.pytorch", "pytorch_lightning"]
    for name in sorted(names, key=lambda name: name not in sys.modules):
        try:
            return __import__(name + ".callbacks", fromlist=["Callback"]).Callback
        except Exception:
            continue
    return object


def _make_callback() -> type:
    base: Any = _callback_base()

    class GoodputCallback(base):  # type: ignore[misc]
        """Marks steps, saves, evaluation, and what comes before the first step.

        Lightning's global_step counts the optimizer steps done: the step that begins is global_step + 1, marked once
        where several batches make one step, and a checkpoint of `step=1200` has what step 1200 made.
        `init` runs from the callback's making to the begin of the sanity check or the training, or of the restore where
        fit() is given a checkpoint. A save is marked complete when Trainer.save_checkpoint() returns; one that goes on in the background
        (AsyncCheckpointIO, NeMo's async_save) is only marked as begun.
        """

        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            self._marked: Optional[int] = None
            self._open: List[str] = ["init"]
            phase_begin("init")

        def _close(self, restored: Optional[int] = None) -> None:
            while self._open:
                what = self._open.pop()
                if what == "restore":
                    restore_end(restored)
                else:
                    phase_end(what)

        @_quiet
        def setup(self, trainer: Any, *more: Any, **named: Any) -> None:
            stage = named.get("stage", more[-1] if more else "fit")
            if getattr(stage, "value", stage) not in ("fit", None):
                return
            if getattr(trainer, "ckpt_path", None):
                self._close()
                self._open.append("restore")
                restore_begin()
            if not isinstance(trainer.save_checkpoint, _MarkedSave):
                trainer.save_checkpoint = _MarkedSave(trainer)

        @_quiet
        def on_train_start(self, trainer: Any, *_more: Any, **_named: Any) -> None:
            self._marked = None
            self._close(_global_step(trainer))

        @_quiet
        def on_train_batch_start(self, trainer: Any, *_more: Any, **_named: Any) -> None:
            begins = int(trainer.global_step) + 1
            if begins != self._marked:
                self._marked = begins
                step(begins)

        @_quiet
        def on_validation_start(self, trainer: Any, *_more: Any, **_named: Any) -> None:
            checking = getattr(trainer, "sanity_checking", False)
            if checking:
                self._close(_global_step(trainer))
            phase_begin("sanity_check" if checking else "evaluation")

        @_quiet
        def on_validation_end(self, trainer: Any, *_more: Any, **_named: Any) -> None:
            phase_end("sanity_check" if getattr(trainer, "sanity_checking", False) else "evaluation")

    GoodputCallback.__qualname__ = "GoodputCallback"
    return GoodputCallback


def __getattr__(name: str) -> Any:
    """The callback's class is made when it is first asked for: importing Lightning takes seconds."""
    if name == "GoodputCallback":
        made = globals()[name] = _make_callback()
        return made
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
