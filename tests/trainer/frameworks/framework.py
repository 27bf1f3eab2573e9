"""The events of a run at which frameworks print, and where the output goes."""

import datetime
import random
import sys
import time
from typing import Callable, List, NamedTuple, Optional

from . import noise


class Run(NamedTuple):
    folder: str
    steps: int
    rank: int = 0
    ranks: int = 1
    job: int = 0
    restart: int = 0
    log_every: int = 0  # 0: the framework's default
    save_every: int = 0
    noise: bool = False
    seed: int = 1


class Stream:
    """Standard output and error of this process. Text printed without a flush stays in the buffer, as with Python if the output
    is a file (containers mostly set PYTHONUNBUFFERED, which disables the buffer)."""

    def __init__(self, unbuffered: bool = True) -> None:
        self._unbuffered = unbuffered

    def __call__(self, data: bytes, stream: str, flush: bool) -> None:
        file = sys.stdout.buffer if stream == "out" else sys.stderr.buffer
        file.write(data)
        if flush or self._unbuffered or stream == "err":
            file.flush()


Say = Callable[[bytes, str, bool], None]


class Framework:
    """Prints nothing itself. `now` is the time of day in seconds; the methods are called when their event occurs."""

    layout = "plain"
    first = 1  # its number for the first step
    log_every = 1
    on_signal: List[str] = []  # in the form of --on-signal

    def __init__(self, say: Say, run: Run, now: Callable[[], float] = time.time) -> None:
        self._say, self.run, self.now = say, run, now
        if run.log_every:
            self.log_every = run.log_every
        self.random = random.Random("%d %d %d" % (run.seed, run.rank, run.restart))
        self._noises = random.Random("noise %d %d %d" % (run.seed, run.rank, run.restart))
        self.began = now()
        self.resumed_from = 0
        self.told: List[int] = []  # the steps whose end it has printed

    # --- events

    def starts(self) -> None:
        """The program starts."""

    def finds_none(self) -> None:
        """There is no checkpoint to resume from."""

    def loads(self, step: int) -> None:
        """Loading the checkpoint of this many steps begins."""

    def loaded(self, step: int, seconds: float) -> None:
        pass

    def trains(self, step: int) -> None:
        """The loop begins; the next step to finish is this one."""

    def step_done(self, step: int, seconds: float, loss: float) -> None:
        pass

    def saves_after(self, step: int, every: int) -> bool:
        return step % every == 0

    def saving(self, step: int, is_async: bool) -> None:
        pass

    def scheduled(self, step: int, seconds: float) -> None:
        """An asynchronous save no longer blocks."""

    def saved(self, step: int, seconds: float, is_async: bool) -> None:
        """The files are complete."""

    def evaluating(self, step: int) -> None:
        pass

    def evaluated(self, step: int, seconds: float, loss: float) -> None:
        pass

    def signalled(self, signo: int) -> None:
        """Inside the signal handler."""

    def obeys(self, signo: int) -> None:
        """The step has ended, and the action that the signal requested begins."""

    def stops(self, signo: int) -> None:
        """Exits because of the signal, after the requested save."""

    def completes(self) -> None:
        """All steps are done."""

    # --- output

    def out(self, text: str, flush: bool = True, end: str = "\n") -> None:
        self._say((text + end).encode(), "out", flush)

    def err(self, text: str, end: str = "\n") -> None:
        self._say((text + end).encode(), "err", True)

    def stamp(self, form: str, at: Optional[float] = None) -> str:
        """Local time."""
        return datetime.datetime.fromtimestamp(self.now() if at is None else at).strftime(form)

    def comma(self) -> str:
        """The format of Python's logging: 2026-08-22 10:00:00,123."""
        return self.stamp("%Y-%m-%d %H:%M:%S,%f")[:-3]

    def logs(self, step: int) -> bool:
        return step % self.log_every == 0

    def disturb(self, chance: float = 0.3) -> None:
        """Occasionally prints other text that occurs in such files."""
        if self.run.noise and self._noises.random() < chance:
            data, stream = noise.some(self._noises, self.run.rank, self.run.ranks, self.now())
            self._say(data, stream, True)
