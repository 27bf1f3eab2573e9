"""torchtitan: tools/logging.py (standard output), components/metrics.py (log), components/checkpointer/dcp.py (_save, _load),
trainer.py. The first step is always logged, then every log_freq. Saves are not named by their step."""

import os

from .framework import Framework

NAME = "torchtitan"
RED, GREEN, BLUE, MAGENTA, CYAN = ("\033[%dm" % code for code in (31, 32, 34, 35, 36))
ORANGE, TURQUOISE, RESET = "\033[38;2;180;60;0m", "\033[38;2;54;234;195m", "\033[39m"


class Printer(Framework):
    layout = "dcp"
    log_every = 10

    def _info(self, text: str, level: str = "INFO") -> None:
        self.out("[titan] %s - root - %s - %s" % (self.comma(), level, text))

    def starts(self) -> None:
        if self.run.rank:
            return
        self._info("torchtitan version: 0.2.1 (0.0.0 means __version__ is not defined correctly).")
        self._info("Starting job: Llama 3 debug training")
        self.disturb()
        self._info("%sModel llama3 debugmodel %ssize: 6,270,208 total parameters%s" % (BLUE, RED, RESET))
        self._info("CUDA memory usage for model: 0.00GiB(0.00%)")
        self._info("Checkpointing active. Checkpoints will be loaded from and saved to %s" % self._path(None))

    def _path(self, step: object) -> str:
        return os.path.join(self.run.folder, "checkpoint", *(["step-%s" % step] if step is not None else []))

    def finds_none(self) -> None:
        if self.run.rank == 0:
            self._info("No checkpoint was provided, this is a fresh start.")

    def loads(self, step: int) -> None:
        if self.run.rank == 0:
            self._info("Loading the checkpoint from %s." % self._path(step))

    def loaded(self, step: int, seconds: float) -> None:
        if self.run.rank == 0:
            self._info("[GC] GC collection for checkpoint loading. took 0.01 seconds")
            self._info("Finished loading the checkpoint in %.2f seconds." % seconds)

    def trains(self, step: int) -> None:
        if self.run.rank == 0:
            self._info("Training starts at step %d" % step)

    def step_done(self, step: int, seconds: float, loss: float) -> None:
        self.disturb()
        if self.run.rank == 0 and (step == 1 or self.logs(step)):
            self.told.append(step)
            self._info("%sstep: %2d  %sloss: %8.5f  %sgrad_norm: %7.4f  %smemory: %5.2fGiB(%.2f%%)  %stps: %s  %stflops: %s"
                       "  %smfu: %s%s" % (
                RED, step, GREEN, loss, ORANGE, 1.2345, TURQUOISE, 30.0, 38.0, BLUE, format(round(7123 / max(seconds, 0.01)), ","),
                CYAN, format(412.52, ",.2f"), MAGENTA, "41.71%" if self.random.random() < 0.8 else "N/A", RESET))

    def saving(self, step: int, is_async: bool) -> None:
        if self.run.rank == 0:
            self._info("%s the checkpoint." % ("Staging" if is_async else "Saving"))
            if step == self.run.steps:
                self._info("Saving a full checkpoint at last step, step %d." % step)
            elif is_async:
                self._info("[GC] GC collection invoked by checkpointer. took 0.01 seconds")

    def scheduled(self, step: int, seconds: float) -> None:
        if self.run.rank == 0:
            self._info("Finished staging the checkpoint in %.2f seconds." % seconds)

    def saved(self, step: int, seconds: float, is_async: bool) -> None:
        if self.run.rank == 0 and not is_async:
            if step == self.run.steps:
                self._info("Last step checkpoint completed in %.2fs" % seconds)
            else:
                self._info("Finished saving the checkpoint in %.2f seconds." % seconds)

    def evaluated(self, step: int, seconds: float, loss: float) -> None:
        if self.run.rank == 0:
            self._info("\033[33mvalidate step: %2d  %sloss: %7.4f  %smemory: 30.00GiB(38.00%%)  %stps: 7,000%s" % (
                step, GREEN, loss, TURQUOISE, BLUE, RESET))

    def completes(self) -> None:
        if self.run.rank == 0:
            self._info("Training completed")
            self._info("Process group destroyed")
