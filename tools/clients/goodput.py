"""Reports the progress of a training program to slurm-goodput.

    import goodput

    with goodput.restore() as restored:
        restored.step = load()
    for step in range(restored.step + 1, steps + 1):
        goodput.step(step)                      # training step `step` begins
        train(step)
        if step % 100 == 0:
            with goodput.checkpoint(step):      # not marked complete if save() raises
                save(step)
            with goodput.phase("evaluation"):   # init, data_loading, compile, ... or your own name
                evaluate()

For a program written for Google's ml-goodput-measurement, change the import:

    import goodput                              # was: from ml_goodput_measurement import goodput
    recorder = goodput.GoodputRecorder(run_name, logger_name, jax.process_index() == 0)

Lightning and NeMo:

    trainer = Trainer(callbacks=[goodput.GoodputCallback()])

torchft:

    manager = goodput.watch_torchft(Manager(...))

NVRx's restarts within a process:

    @inprocess.Wrapper(initialize=goodput.GoodputInitialize())

Python 3.8 or newer on Linux; this one file, no other package. A mark costs a few microseconds and never raises. It does
nothing outside a Slurm job, if the job sets GOODPUT=off, and on ranks other than 0 (SLURM_PROCID, RANK), unless
GOODPUT_RANKS=all is set. If goodputd does not listen or does not accept the mark within 5 ms, the mark is dropped and
counted. Every function may be called from any thread, after a fork and from a signal handler.
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

__all__ = ["GoodputCallback", "GoodputInitialize", "GoodputRecorder", "checkpoint", "checkpoint_begin", "checkpoint_end", "dropped",
           "phase", "phase_begin", "phase_end", "restore", "restore_begin", "restore_end", "step", "step_failed", "watch_torchft",
           "world"]

_SOCKET = "@goodput"
# An abstract name is valid in one network namespace; from another one, only a path reaches the daemon.
_SOCKET_PATH = "/run/slurm-goodput/mark.sock"
_WAIT_MS = 5
# The pause after the daemon was absent or did not read.
_BACKOFF_NS = 1_000_000_000
# goodputd considers the time of an older mark wrong and records it with the present time.
_MAX_AGE_NS = 3600 * 1_000_000_000
_MAX_STEP = 1 << 53
_MAX_WORLD = 1 << 24
# SO_COOKIE, the kernel's unique number of a socket; Python does not define it.
_SO_COOKIE = 57
_FLAGS = socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL
_NAME_BYTES = 128


class _Socket(socket.socket):
    """A socket that closes without a ResourceWarning when it is no longer referenced."""

    cookie = b""

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:
            pass


class _Marks:
    """The process's connection to goodputd.

    It needs no lock, which a fork or a signal handler could find held: the socket is always replaced as a whole.
    """

    def __init__(self) -> None:
        self._process = 0
        self._identity = ""  # the end of every message; empty: this process reports nothing
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

    def send(self, mark: str, edge: str, step: Any = None, name: Any = None, when: Any = None,
             more: Optional[Callable[[], str]] = None) -> None:
        """`more` makes further members of the message."""
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
                    raise ValueError("step %d is out of range" % number)
                text += ',"train_step":%d' % number
            if name is not None:
                text += ',"name":' + _quoted(name)
            if more is not None:
                text += more()
            message = (text + self._identity).encode("ascii")
            sock = self._socket
            try:  # the fast path
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
        except Exception:  # an unusable argument, or the interpreter is shutting down
            self.drop()

    def _begin(self, process: int) -> None:
        """Starts anew after a fork: with its own connection, and with the present environment."""
        inherited, self._socket = self._socket, None
        if inherited is not None and not self._is_ours(inherited):
            inherited.detach()
        self._retry_ns = self._wait_ns = 0
        self._identity = _identity()
        self._process = process

    def lead(self, leads: bool) -> None:
        """Whether this process reports from now on, whatever its rank was at its start."""
        self._begin(os.getpid())
        self._identity = _identity(leads)

    @staticmethod
    def _is_ours(sock: _Socket) -> bool:
        """False if the program closed the descriptor, as daemons do: the number may belong to another file now."""
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
            except OSError:  # the daemon has stopped or was restarted
                sock = self._socket = None
            if fresh:
                return False
        return False

    def _send_patiently(self, sock: _Socket, message: bytes, now: int) -> bool:
        """Waits for room in the socket. After a failure it does not wait for _BACKOFF_NS."""
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
        """Threads that connect at the same time each open a socket, and the last one stays: no thread waits for another."""
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
    """-1: not set, or not a number."""
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1


def _identity(leads: Optional[bool] = None) -> str:
    """The job, step, task and node of this process; empty if it reports nothing. Rank 0 reports for the whole job, unless
    `leads` says who; launchers that start several processes per task set ranks of their own."""
    job = _env_number("SLURM_JOB_ID")
    if job <= 0 or os.environ.get("GOODPUT") == "off":
        return ""
    if leads is None:
        leads = all(_env_number(rank) <= 0 for rank in ("SLURM_PROCID", "RANK", "OMPI_COMM_WORLD_RANK"))
    if os.environ.get("GOODPUT_RANKS") != "all" and not leads:
        return ""
    step, task, node = _env_number("SLURM_STEP_ID"), _env_number("SLURM_PROCID"), os.environ.get("SLURMD_NODENAME", "")
    # Ranks that report separately need numbers of their own.
    if os.environ.get("GOODPUT_RANKS") == "all":
        task = next((rank for rank in map(_env_number, ("RANK", "OMPI_COMM_WORLD_RANK")) if rank >= 0), task)
    elif task > 0:
        task = 0  # it took over from the task that reported before
    # A batch script has no step id, or a special one, depending on the release.
    text = ',"job":%d,"slurm_step":"%s"' % (job, step if 0 <= step < 0xfffffff0 else "batch")
    if task >= 0:
        text += ',"task":%d' % task
    return text + (',"node":' + _quoted(node) if node else "") + "}"


def _quoted(name: Any) -> str:
    """A JSON string in ASCII, truncated between characters to the length that goodputd accepts."""
    text = str(name).encode("utf-8", "replace")[:_NAME_BYTES].decode("utf-8", "ignore").replace("\0", "")
    if not text:
        raise ValueError("empty name")
    return json.dumps(text)


def _world_members(stepping: Any, wanted: Any, spares: Any, tokens: Any) -> str:
    text = ""
    for name, value, least, most in (("world", stepping, 1, _MAX_WORLD), ("wanted", wanted, int(stepping), _MAX_WORLD),
                                     ("spares", spares, 0, _MAX_WORLD), ("tokens", tokens, 1, _MAX_STEP)):
        if value is None and name != "world":
            continue
        number = int(value)
        if not least <= number <= most:
            raise ValueError("%s %d is out of range" % (name, number))
        text += ',"%s":%d' % (name, number)
    return text


def _age_ns(when: Any) -> int:
    """The age of `when`: a datetime (UTC if it has no time zone) or seconds since the epoch."""
    if isinstance(when, datetime.datetime):
        when = (when if when.tzinfo is not None else when.replace(tzinfo=datetime.timezone.utc)).timestamp()
    age = time.time_ns() - int(float(when) * 1e9)
    if age > _MAX_AGE_NS:
        raise ValueError("too long ago")
    return max(0, age)


_marks = _Marks()


def step(number: int) -> None:
    """Training step `number` begins, which ends the previous one. Number steps as in your checkpoints."""
    _marks.send("step", "begin", "" if number is None else number)


def step_failed(number: int) -> None:
    """Step `number` failed and is tried again: its time until now is lost work. Of torchft, if should_commit() returns False."""
    _marks.send("step", "end", "" if number is None else number, "failed")


def checkpoint_begin(step: Optional[int] = None) -> None:
    """A save of the state after `step` begins."""
    _marks.send("checkpoint", "begin", step)


def checkpoint_end(step: Optional[int] = None) -> None:
    """The save is complete: on disk, not only queued."""
    _marks.send("checkpoint", "end", step)


def restore_begin(step: Optional[int] = None) -> None:
    """Loading a checkpoint begins."""
    _marks.send("restore", "begin", step)


def restore_end(step: Optional[int] = None) -> None:
    """The checkpoint of step `step` is loaded."""
    _marks.send("restore", "end", step)


def phase_begin(name: str) -> None:
    """Any other phase: init, data_loading, compile, evaluation or your own name, at most 128 bytes."""
    _marks.send("phase", "begin", None, "" if name is None else name)


def phase_end(name: str) -> None:
    _marks.send("phase", "end", None, "" if name is None else name)


def world(stepping: int, of: Optional[int] = None, spares: Optional[int] = None, tokens: Optional[int] = None) -> None:
    """An elastic program: from now on `stepping` GPUs train (GPUs, not processes or nodes), `of` so many wanted. `spares`: how
    many more wait to replace one. `tokens`: that one step trains, or samples."""
    _marks.send("world", "begin", more=lambda: _world_members(stepping, of, spares, tokens))


def dropped() -> int:
    """The number of marks dropped by this process, including those dropped by its parent before the fork."""
    return _marks.dropped()


class _Span:
    """Marks the begin and the end of a `with` block. `step` may be set inside the block."""

    def __init__(self, mark: str, step: Any = None, name: Any = None) -> None:
        self._mark, self.step, self._name = mark, step, name

    def __enter__(self) -> "_Span":
        _marks.send(self._mark, "begin", self.step, self._name)
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        # After an exception nothing is saved or loaded, but a phase has ended.
        if kind is None or self._mark == "phase":
            _marks.send(self._mark, "end", self.step, self._name)


def checkpoint(step: Optional[int] = None) -> _Span:
    return _Span("checkpoint", step)


def restore(step: Optional[int] = None) -> _Span:
    return _Span("restore", step)


def phase(name: str) -> _Span:
    return _Span("phase", None, "" if name is None else name)


class GoodputRecorder:
    """Google's recorder, with the same constructor and methods; it sends marks instead of log entries.

    Steps keep their numbers. start_time and end_time are used if they are at most an hour old. Three methods do nothing: Slurm
    knows when the job began and ended, and record_checkpoint_progress does not tell when a checkpoint is complete.
    """

    def __init__(self, job_name: str, logger_name: str, logging_enabled: bool = False, cloud_logger: Any = None, *,
                 background_grace_period_s: float = 5.0, background_batch_size: int = 100,
                 background_max_latency_s: float = 2.0, **_newer: Any) -> None:
        """logging_enabled: whether this process records. The other parameters only match the signature."""
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
    except Exception:  # an array with several elements
        return False


# --- Lightning and NeMo

def _quiet(hook: Callable[..., None]) -> Callable[..., None]:
    """Wraps a hook so that it never fails the training, with whatever arguments a release calls it."""
    @functools.wraps(hook)
    def guarded(self: Any, trainer: Any = None, *more: Any, **named: Any) -> None:
        try:
            hook(self, trainer, *more, **named)
        except Exception:
            _marks.drop()
    return guarded


def _saves_later(trainer: Any) -> bool:
    """Whether save_checkpoint() returns before the files are complete."""
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
    """Replaces a trainer's save_checkpoint and marks the begin and the end of each save. It returns and raises what the
    original does. It is defined at module level so that the trainer can be pickled."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.original = trainer.save_checkpoint

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named.get("weights_only", args[1] if len(args) > 1 else False) is True:  # not enough to resume from
            with phase("save_weights"):
                return self.original(*args, **named)
        saved = _global_step(self.trainer)
        checkpoint_begin(saved)
        result = self.original(*args, **named)
        if not _saves_later(self.trainer):
            checkpoint_end(saved)
        return result


def _callback_base() -> type:
    """Lightning's Callback, from the package that this program uses; `object` if there is none."""
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
        """Marks steps, saves, evaluation, and initialization before the first step.

        Lightning's global_step counts completed optimizer steps: the step that begins is global_step + 1. It is marked once
        if several batches form one step, and a checkpoint with `step=1200` contains the state after step 1200.
        `init` lasts from the creation of the callback until the sanity check, the training or, if fit() gets a
        checkpoint, the restore begins. A save is marked complete when Trainer.save_checkpoint() returns; a save that
        continues in the background (AsyncCheckpointIO, NeMo's async_save) is only marked as begun.
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


class _TorchftSteps:
    """Marks the steps of a torchft Manager, whose current_step() counts those that were accepted."""

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self._start_quorum, self._should_commit = manager.start_quorum, manager.should_commit
        self._marked = 0  # the last step
        self._began = 0.0

    def start_quorum(self, *args: Any, **named: Any) -> Any:
        self._begins()
        return self._start_quorum(*args, **named)

    def should_commit(self, *args: Any, **named: Any) -> Any:
        accepted = False
        try:
            accepted = self._should_commit(*args, **named)
        finally:
            self._ended(bool(accepted))
        return accepted

    @_quiet
    def _begins(self, *_more: Any) -> None:
        self._began = time.time()
        number = int(self._manager.current_step()) + 1
        if 0 < self._marked < number:
            self._marked = number
            step(number)

    @_quiet
    def _ended(self, accepted: bool) -> None:
        number = int(self._manager.current_step()) + (0 if accepted else 1)
        if self._marked == 0 and self._manager.is_participating():
            self._marked = number
            _marks.send("step", "begin", number, when=self._began)
        if self._marked and not accepted:
            step_failed(number)


def watch_torchft(manager: Any) -> Any:
    """Marks the steps of a torchft Manager, which it returns: manager = goodput.watch_torchft(Manager(...)).

    A step begins with start_quorum(). One that should_commit() refuses has failed and is tried again. Steps are numbered from 1, so
    that goodput.checkpoint(manager.current_step()) after a step means this step. The first one is marked when it ends, with the
    time of its begin: a replica that joins learns its number meanwhile, and initializes until it takes part.
    """
    steps = _TorchftSteps(manager)
    manager.start_quorum, manager.should_commit = steps.start_quorum, steps.should_commit
    return manager


def _initialize_base() -> type:
    """NVRx's base class of what runs before a function starts again; `object` if NVRx is not installed."""
    try:
        return __import__("nvidia_resiliency_ext.inprocess", fromlist=["initialize"]).initialize.Initialize
    except Exception:
        return object


def _make_initialize() -> type:
    base: Any = _initialize_base()

    class GoodputInitialize(base):  # type: ignore[misc]
        """For programs that NVRx restarts within their processes: inprocess.Wrapper(initialize=GoodputInitialize()).

        Before each start of the wrapped function, active rank 0 marks how many ranks train, of as many as trained at most so
        far, and how many wait in reserve; each rank has one GPU. From the second start on, it marks that the program
        initializes again, until its next step begins. Marks are those of active rank 0, also after another process took that
        rank. It changes no state, and never raises.
        """

        def __init__(self) -> None:
            super().__init__()
            self._most = 0

        def __call__(self, state: Any) -> Any:
            try:
                active = int(state.active_world_size)
                self._most = max(self._most, active)
                _marks.lead(state.active_rank == 0)
                if state.active_rank == 0:
                    world(active, of=self._most, spares=int(state.world_size) - active)
                    if state.iteration > 0:
                        phase_begin("elastic_reinit")
            except Exception:
                pass
            return state

    GoodputInitialize.__qualname__ = "GoodputInitialize"
    return GoodputInitialize


_MADE = {"GoodputCallback": _make_callback, "GoodputInitialize": _make_initialize}


def __getattr__(name: str) -> Any:
    """Creates a class at first use: importing its framework takes seconds."""
    if name in _MADE:
        made = globals()[name] = _MADE[name]()
        return made
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
