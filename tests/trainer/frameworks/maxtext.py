"""MaxText: common/metric_logger.py (_log_training_metrics), common/checkpointing.py, trainers/pre_train/train.py; Orbax:
checkpoint_manager.py, path/atomicity.py. buffer_and_write_metrics delays a step's line until the next step is dispatched, and
needs its loss: the line appears when the step is done, but after a save of the next step. absl's logger, on standard error,
without the year. Steps are counted from 0, and one is saved if its number is a multiple of the period, so after the first step,
too."""

import os
from typing import Tuple

from .framework import Framework

NAME = "maxtext"
THREAD = 140110937163584


class Printer(Framework):
    layout = "orbax"
    first = 0
    on_signal = ["TERM=save-exit"]
    _held: Tuple[Tuple[int, float, float], ...] = ()

    def _log(self, where: str, text: str, level: str = "I") -> None:
        self.err("%s%s %d %s] %s" % (level, self.stamp("%m%d %H:%M:%S.%f"), THREAD, where, text))

    def saves_after(self, step: int, every: int) -> bool:
        return (step - 1) % every == 0

    def _path(self, step: int) -> str:
        return os.path.join(self.run.folder, "checkpoints", str(step - 1))

    def starts(self) -> None:
        if self.run.rank:
            return
        self._log("max_utils.py:238", "Attempting to initialize the jax distributed system...")
        self._log("distributed.py:149", "Starting JAX distributed service on [::]:8476")
        self.disturb()
        self._log("checkpointing.py:412", "Enabling policy for fixed interval checkpointing.")
        self._log("checkpointing.py:441", "Checkpoint manager created!")
        self._log("checkpointing.py:520", "checkpoint manager exists so trying to load this run's existing checkpoint")

    def loads(self, step: int) -> None:
        if self.run.rank == 0:
            self._log("checkpointing.py:525", "restoring from this run's directory step %d" % (step - 1))
            self._log("checkpointer.py:298", "Restoring checkpoint from %s." % self._path(step))

    def loaded(self, step: int, seconds: float) -> None:
        if self.run.rank == 0:
            self._log("base_pytree_checkpoint_handler.py:134",
                      "[process=0] /jax/checkpoint/read/bytes_per_sec: 1.2 GiB/s (total bytes: 3.4 GiB) (time elapsed: %.3f seconds)"
                      " (per-host)" % seconds)
            self._log("checkpointer.py:318", "Finished restoring checkpoint in %.2f seconds from %s." % (seconds, self._path(step)))

    def trains(self, step: int) -> None:
        if self.run.rank == 0:
            self._log("max_utils.py:690", "Memstats: After params initialized:")
            self._log("max_utils.py:694", "\tUsing (GB) 0.06 / 79.15 (0.075805%) on cuda:0")

    def step_done(self, step: int, seconds: float, loss: float) -> None:
        self.disturb()
        if self.run.rank:
            return
        self._held += ((step, seconds, loss),)
        every = self.run.save_every
        if not every or not (self.saves_after(step, every) or self.saves_after(step + 1, every)):
            self._flush()

    def _flush(self) -> None:
        held, self._held = self._held, ()
        for step, seconds, loss in held:
            self._tell(step, seconds, loss)

    def _tell(self, step: int, seconds: float, loss: float) -> None:
        self.told.append(step)
        rates = "" if self.random.random() < 0.1 else "TFLOP/s/device: %.3f, Tokens/s/device: %.3f, " % (37.633, 4096 / max(seconds, 0.01))
        self._log("metric_logger.py:214", "completed step: %d, seconds: %.3f, %stotal_weights: 5480, loss: %.3f, lm_loss: %.3f,"
                  " perplexity: %.3f" % (step - 1, seconds, rates, loss, loss, 2.7 ** loss))

    def saving(self, step: int, is_async: bool) -> None:
        if self.run.rank == 0:
            self._log("checkpointing.py:952", "Waiting for step %d to finish before checkpoint..." % (step - 1))
            self._log("checkpointing.py:957", "Waited 0.0021 seconds for step %d to finish before starting checkpointing." % (step - 1))
            self._log("checkpoint_manager.py:1527", "[process=0] Saving checkpoint at step %d" % (step - 1))
            self._log("atomicity.py:140", "Creating tmp directory %s.orbax-checkpoint-tmp" % self._path(step))

    def scheduled(self, step: int, seconds: float) -> None:
        if self.run.rank == 0:
            self._log("checkpoint_manager.py:1580", "[process=0][thread=MainThread][step=%d] Starting CheckpointManager Save Finalize"
                      " thread=save_finalize" % (step - 1))
            self._log("checkpointing.py:451", "Started an asynchronous checkpoint save for step %d" % (step - 1))
            self._flush()

    def saved(self, step: int, seconds: float, is_async: bool) -> None:
        if self.run.rank:
            return
        self._log("atomicity.py:530", "Renaming %s.orbax-checkpoint-tmp to %s" % (self._path(step), self._path(step)))
        if is_async:
            self._log("checkpoint_manager.py:2185", "[process=0][thread=save_finalize][step=%d] CheckpointManager Save Finalize is done"
                      " on all hosts." % (step - 1))
        else:
            self._log("checkpoint_manager.py:1601", "[process=0][thread=MainThread][step=%d] Finished synchronous save." % (step - 1))
            self._log("checkpointing.py:453", "Saved a checkpoint at step %d." % (step - 1))
            self._flush()

    def evaluating(self, step: int) -> None:
        if self.run.rank == 0:
            self._log("train.py:879", "Starting eval after train step %d" % (step - 1))

    def evaluated(self, step: int, seconds: float, loss: float) -> None:
        if self.run.rank == 0:
            self._log("metric_logger.py:250", "Completed eval after train step %d, loss=%.3f, perplexity=%.3f, total_weights=5480.0,"
                      " avg_z_loss=0.000" % (step - 1, loss, 2.7 ** loss))

    def stops(self, signo: int) -> None:
        if self.run.rank == 0:
            self._log("train.py:1061", "Training stopped: Job received termination signal (SIGTERM).")
            self._flush()

    def completes(self) -> None:
        self._flush()
