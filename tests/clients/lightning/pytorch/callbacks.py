"""The base class of callbacks: hooks that do nothing."""

from typing import Any


class Callback:
    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        pass

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        pass

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        pass

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        pass

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        pass

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        pass

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        pass

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        pass

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
        pass
