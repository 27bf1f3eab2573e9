"""A Trainer that trains nothing, but calls the same hooks as the real one (2.x), in the same order."""

import enum
from typing import Any, List, Optional

from .callbacks import Callback


class TrainerFn(str, enum.Enum):
    FITTING = "fit"
    TESTING = "test"


class Strategy:
    def __init__(self, checkpoint_io: Any, async_save: bool) -> None:
        self.checkpoint_io, self.async_save = checkpoint_io, async_save


class Trainer:
    def __init__(self, callbacks: List[Callback], checkpoint_io: Any = None, accumulate: int = 1, validate_every: int = 0,
                 save_every: int = 0, fails_to_save: bool = False, async_save: bool = False) -> None:
        self.callbacks, self.strategy = callbacks, Strategy(checkpoint_io, async_save)
        self.accumulate, self.validate_every, self.save_every = accumulate, validate_every, save_every
        self.fails_to_save = fails_to_save
        self.global_step, self.ckpt_path, self.sanity_checking = 0, None, False  # type: int, Optional[str], bool
        self.saved: List[int] = []

    def save_checkpoint(self, filepath: str, weights_only: Optional[bool] = None, storage_options: Any = None) -> None:
        self._call("on_save_checkpoint", {"global_step": self.global_step})
        if self.fails_to_save:
            raise OSError("no space left on device: " + filepath)
        self.saved.append(self.global_step)

    def _call(self, hook: str, *args: Any, **named: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, hook)(self, "module", *args, **named)

    def _validate(self) -> None:
        self._call("on_validation_start")
        self._call("on_validation_end")

    def fit(self, batches: int, ckpt_path: Optional[str] = None) -> None:
        self.ckpt_path = ckpt_path
        self._call("setup", stage=TrainerFn.FITTING)
        self._call("on_fit_start")
        if ckpt_path:
            self.global_step = int(ckpt_path)
        if self.validate_every:
            self.sanity_checking = True
            self._validate()
            self.sanity_checking = False
        self._call("on_train_start")
        for batch in range(batches):
            self._call("on_train_batch_start", "batch", batch)
            stepped = (batch + 1) % self.accumulate == 0
            self.global_step += stepped
            self._call("on_train_batch_end", "outputs", "batch", batch)
            if stepped and self.validate_every and self.global_step % self.validate_every == 0:
                self._validate()
            if stepped and self.save_every and self.global_step % self.save_every == 0:
                self.save_checkpoint("step=%d.ckpt" % self.global_step)
        self._call("on_train_end")
