"""A Manager that counts steps as torchft's does (manager.py of October 2025, which ran with goodput.py by hand, its coordinator
replaced): should_commit() counts a step that it accepts; a replica that joins gets the others' count in the background, after
start_quorum(), and does not take part in that step; too many refusals in a row raise."""

from typing import Optional, Sequence


class Manager:
    def __init__(self, refuses: Sequence[int] = (), joins_at: Optional[int] = None, max_retries: Optional[int] = None) -> None:
        """refuses: the steps to refuse, each once, counted from 0."""
        self._refuses = list(refuses)
        self._joins_at = joins_at
        self._max_retries = max_retries
        self._refused = self._step = 0
        self._takes_part = False

    def start_quorum(self, allow_heal: bool = True) -> None:
        self._takes_part = self._joins_at is None or not allow_heal

    def should_commit(self, timeout: Optional[float] = None) -> bool:
        del timeout
        if self._joins_at is not None:
            self._step, self._joins_at = self._joins_at, None
        if self._step not in self._refuses:
            self._step += 1
            self._refused = 0
            return True
        self._refuses.remove(self._step)
        self._refused += 1
        if self._max_retries is not None and self._refused > self._max_retries:
            raise RuntimeError("should_commit failed %d times" % self._refused)
        return False

    def current_step(self) -> int:
        return self._step

    def is_participating(self) -> bool:
        return self._takes_part
