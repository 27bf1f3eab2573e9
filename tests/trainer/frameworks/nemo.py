"""NeMo 2: nemo/lightning/pytorch/callbacks/progress_printer.py (a print without a flush to standard output),
model_checkpoint.py, preemption.py, nemo/lightning/io/pl.py (the logger "nemo_logger": INFO to standard output, above it to
standard error; formatters/base.py), and Lightning's own lines on standard error.

`iteration` and `global_step` are counted from 0: they were logged before the step was done. Saves are named by both.
"""

import os

from .framework import Framework

NAME = "nemo"
EPOCH = 50


class Printer(Framework):
    layout = "nemo"
    first = 0
    on_signal = ["TERM=save-exit:0"]

    def _info(self, text: str) -> None:
        self.out("[NeMo I %s nemo_logging:393] %s" % (self.stamp("%Y-%m-%d %H:%M:%S"), text))

    def _path(self, step: int) -> str:
        return os.path.join(self.run.folder, "default", "2026-08-22_10-00-00", "checkpoints",
                            "model_name=0--val_loss=0.00-step=%d-consumed_samples=%.1f" % (step - 1, step * 32))

    def starts(self) -> None:
        if self.run.rank:
            return
        self.err("GPU available: True (cuda), used: True")
        self.err("HPU available: False, using: 0 HPUs")
        self.err("[NeMo W %s nemo_logging:405] There were no checkpoints found in checkpoint_dir or no checkpoint folder at"
                 " checkpoint_dir :%s. Training from scratch." % (self.stamp("%Y-%m-%d %H:%M:%S"), self.run.folder)
                 if not self.run.restart else "[NeMo W %s nemo_logging:405] User-set tensorboard is currently turned off. Internally"
                 " one may still be set by NeMo2." % self.stamp("%Y-%m-%d %H:%M:%S"))
        self._info("Rank 0 has data parallel group : [0, 1]")
        self._info("Padded vocab_size: 50304, original vocab_size: 50257, dummy tokens: 47.")
        self.disturb()

    def loads(self, step: int) -> None:
        if self.run.rank == 0:
            self.err("Restoring states from the checkpoint path at %s" % self._path(step))

    def loaded(self, step: int, seconds: float) -> None:
        if self.run.rank == 0:
            self._info("Global Checkpoint Load : Rank : 0 : Start time : %.3fs : Time spent in load_checkpoint: %.3fs" % (
                self.now() - seconds, seconds))
            self.err("Restored all states from the checkpoint at %s" % self._path(step))

    def step_done(self, step: int, seconds: float, loss: float) -> None:
        self.disturb()
        if self.run.rank or not self.logs(step):
            return
        self.told.append(step)
        self.out(("Training epoch {}, iteration {}/{} | lr: {:.4} | global_batch_size: 32 | global_step: {} | reduced_train_loss: {:.4}"
                  " | train_step_timing in s: {:.4} | TFLOPS_per_GPU: {:.4} | consumed_samples: {}").format(
                      (step - 1) // EPOCH, (step - 1) % EPOCH, self.run.steps - 1, 1.805e-05, step - 1, loss, seconds, 1128.3,
                      step * 32), flush=False)

    def saving(self, step: int, is_async: bool) -> None:
        self._save_began = self.now()

    def _done(self, step: int, seconds: float) -> None:
        self._info("Global Checkpoint Save : Rank: 0 : Iteration: %d : Start time: %.3fs : Save duration: %.3fs" % (
            step - 1, self._save_began, seconds))

    def scheduled(self, step: int, seconds: float) -> None:
        if self.run.rank == 0:
            self._done(step, seconds)
            self._info("Scheduled async checkpoint save for %s.ckpt" % self._path(step))

    def saved(self, step: int, seconds: float, is_async: bool) -> None:
        if self.run.rank:
            return
        if not is_async:
            self._done(step, seconds)
            return
        self._info("Successfully saved checkpoint from iteration %7d to %s" % (step - 1, self._path(step)))
        self._info("Async checkpoint save for step %d (%s.ckpt) finalized successfully." % (step, self._path(step)))
        self._info("Async finalization time took 0.001 s")

    def evaluating(self, step: int) -> None:
        if self.run.rank == 0:
            for number in (1, 2):
                self.out("Validation: iteration %d/2" % number, flush=False)

    def signalled(self, signo: int) -> None:
        if self.run.rank == 0:
            self._info("Received signal %d, initiating graceful stop" % signo)

    def obeys(self, signo: int) -> None:
        self._info("Preemption detected, saving checkpoint and exiting")

    def completes(self) -> None:
        if self.run.rank == 0:
            self.err("`Trainer.fit` stopped: `max_steps=%d` reached." % self.run.steps)
