"""MosaicML Composer: loggers/console_logger.py (standard error; one batch is several lines), trainer.py (logging, where
python_log_level is info), core/engine.py (TERM: exit 143 at once, nothing saved). Saves print nothing."""

import os

from .framework import Framework

NAME = "composer"


class Printer(Framework):
    layout = "composer"
    on_signal = ["TERM=quit:143"]

    def _info(self, text: str) -> None:
        self.err("%s: rank%d[%d][MainThread]: INFO: composer.trainer.trainer: %s" % (self.comma(), self.run.rank, 800 + self.run.rank,
                                                                                    text))

    def starts(self) -> None:
        self._info("Run name: 1755849600-brave-newt")
        self._info("Stepping schedulers every batch. To step schedulers every epoch, set `step_schedulers_every_batch=False`.")
        self._info("Setting seed to %d" % (17 + self.run.rank))
        self.disturb()

    def finds_none(self) -> None:
        self._info("No previous autoresume checkpoint found")

    def loads(self, step: int) -> None:
        self._info("Autoresuming training from checkpoint")
        self._info("Loading checkpoint from %s" % os.path.join(self.run.folder, "latest-rank%d.pt" % 0))

    def loaded(self, step: int, seconds: float) -> None:
        self.err("%s: rank%d[%d][MainThread]: INFO: composer.utils.checkpoint: Trainer checkpoint loaded from %s" % (
            self.comma(), self.run.rank, 800 + self.run.rank, os.path.join(self.run.folder, "latest-rank0.pt")))

    def trains(self, step: int) -> None:
        self._info("Using precision Precision.AMP_BF16")
        if self.run.rank == 0:
            self.err("*" * 30 + "\nConfig:\nnum_nodes: 1\nnum_gpus_per_node: 8\nrank_zero_seed: 17\n\n" + "*" * 30)

    def step_done(self, step: int, seconds: float, loss: float) -> None:
        self.disturb()
        if self.run.rank == 0 and self.logs(step):
            self.told.append(step)
            self.err("[batch=%d/%d]:\n\t Train time/batch: %d\n\t Train time/sample: %d\n\t Train time/batch_in_epoch: %d\n"
                     "\t Train loss/train/total: %.4f\n\t Train throughput/batches_per_sec: %.4f\n\t Train time/train: %.4f" % (
                         step, self.run.steps, step - 1, (step - 1) * 32, step - 1, loss, 1 / max(seconds, 0.01),
                         (self.now() - self.began) / 3600))

    def evaluated(self, step: int, seconds: float, loss: float) -> None:
        if self.run.rank == 0:
            self.err("[Eval batch=8/8] Eval on eval data:\n\t Eval metrics/eval/LanguageCrossEntropy: %.4f" % loss)
