"""Hugging Face transformers: trainer.py (_save, _inner_training_loop; the logger at INFO, on standard error, with the explicit
format of utils/logging.py), trainer_callback.py (ProgressCallback: a tqdm bar on standard error; losses through tqdm.write to
standard output). A line of losses has no step. Signals are not handled unless just-in-time checkpoints are on."""

import os

from .framework import Framework
from .tqdm import bar, clock

NAME = "hf"
EPOCH = 50


class Printer(Framework):
    layout = "hf"
    log_every = 5

    def _info(self, where: str, text: str) -> None:
        self.err("[INFO|%s] %s >> %s" % (where, self.comma(), text))

    def _path(self, step: int) -> str:
        return os.path.join(self.run.folder, "checkpoint-%d" % step)

    def starts(self) -> None:
        if self.run.rank == 0:
            self._info("configuration_utils.py:696", "loading configuration file config.json")
            self.disturb()

    def loads(self, step: int) -> None:
        if self.run.rank == 0:
            self._info("trainer.py:2836", "Loading model from %s." % self._path(step))

    def loaded(self, step: int, seconds: float) -> None:
        self.resumed_from = step

    def trains(self, step: int) -> None:
        if self.run.rank:
            return
        for line in ("***** Running training *****", "  Num examples = 1,600", "  Num Epochs = %d" % -(-self.run.steps // EPOCH),
                     "  Instantaneous batch size per device = 32", "  Gradient Accumulation steps = 1",
                     "  Total optimization steps = %d" % self.run.steps, "  Number of trainable parameters = 49"):
            self._info("trainer.py:2414", line)
        if self.resumed_from:
            for line in ("  Continuing training from checkpoint, will skip to saved global_step",
                         "  Continuing training from epoch %d" % (self.resumed_from // EPOCH),
                         "  Continuing training from global step %d" % self.resumed_from,
                         "  Will skip the first %d epochs then the first %d batches in the first epoch." % (
                             self.resumed_from // EPOCH, self.resumed_from % EPOCH)):
                self._info("trainer.py:2436", line)
        self._loop_began = self.now()
        self._draw(0, 0.0)

    def _draw(self, step: int, seconds: float) -> None:
        total = self.run.steps
        elapsed = self.now() - self._loop_began
        rate = "?it/s" if not seconds else "%5.2fit/s" % (1 / seconds) if seconds < 1 else "%5.2fs/it" % seconds
        left = clock((total - step) * seconds) if seconds else "?"
        self.err("\r%3d%%|%s| %d/%d [%s<%s, %s]" % (100 * step // total, bar(step, total), step, total, clock(elapsed), left, rate),
                 end="")

    def step_done(self, step: int, seconds: float, loss: float) -> None:
        self.disturb()
        if self.run.rank:
            return
        self.told.append(step)
        self._draw(step, seconds)
        if self.logs(step):
            # Like tqdm.write: clears the bar, writes the line, draws the bar again.
            self.err("\r" + " " * 60 + "\r", end="")
            self.out(str({"loss": round(loss, 4), "grad_norm": 0.11770351976156235, "learning_rate": 1.77e-06,
                          "epoch": round(step / EPOCH, 2)}))
            self._draw(step, seconds)

    def saving(self, step: int, is_async: bool) -> None:
        if self.run.rank == 0:
            self.err("")
            self._info("trainer.py:3993", "Saving model checkpoint to %s" % self._path(step))
            self._info("configuration_utils.py:424", "Configuration saved in %s/config.json" % self._path(step))

    def saved(self, step: int, seconds: float, is_async: bool) -> None:
        if self.run.rank == 0:
            self._info("tokenization_utils_base.py:2510", "tokenizer config file saved in %s/tokenizer_config.json" % self._path(step))

    def evaluating(self, step: int) -> None:
        if self.run.rank == 0:
            for line in ("\n***** Running Evaluation *****", "  Num examples = 64", "  Batch size = 8"):
                self._info("trainer.py:4307", line)
            self.err("".join("\r%3d%%|%s| %d/8 [00:00<00:00, 90.10it/s]" % (100 * n // 8, bar(n, 8), n) for n in (0, 2, 4, 6, 8)))

    def evaluated(self, step: int, seconds: float, loss: float) -> None:
        if self.run.rank == 0:
            self.out(str({"eval_loss": round(loss, 4), "eval_runtime": round(seconds, 4), "eval_samples_per_second": 64.0,
                          "eval_steps_per_second": 8.0, "epoch": round(step / EPOCH, 2)}))

    def completes(self) -> None:
        if self.run.rank == 0:
            self._info("trainer.py:2676", "\n\nTraining completed. Do not forget to share your model on huggingface.co/models =)\n\n")
            self.out(str({"train_runtime": round(self.now() - self._loop_began, 4), "train_samples_per_second": 100.0,
                          "train_steps_per_second": 5.0, "train_loss": 0.5, "epoch": self.run.steps / EPOCH}))
