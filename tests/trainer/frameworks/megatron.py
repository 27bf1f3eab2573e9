"""Megatron-LM: megatron/training/training.py (training_log, print_datetime, checkpoint_and_decide_exit,
evaluate_and_print_results), megatron/training/checkpointing.py, megatron/core/timers.py. All of it is print with a flush to
standard output; the lines of steps are the last rank's, the others rank 0's. It also keeps DIR/progress.txt."""

import os

from .framework import Framework

NAME = "megatron"


class Printer(Framework):
    layout = "megatron"
    on_signal = ["TERM=save-exit"]  # --exit-signal-handler

    def starts(self) -> None:
        if self.run.rank:
            return
        self._progress("Starting job")
        self.out("using world size: %d, data-parallel size: %d, context-parallel size: 1, hierarchical context-parallel sizes: None,"
                 " tensor-model-parallel size: 1, pipeline-model-parallel size: 1" % (self.run.ranks, self.run.ranks))
        self.disturb()
        self.out("------------------------ arguments ------------------------")
        for name, value in (("exit_signal_handler", True), ("log_interval", self.log_every), ("save_interval", self.run.save_every),
                            ("train_iters", self.run.steps)):
            self.out("  %s %s %s" % (name, "." * (48 - len(name)), value))
        self.out("-------------------- end of arguments ---------------------")
        self._when("after megatron is initialized")
        self.out("time to initialize megatron (seconds): %.3f" % (self.now() - self.began))
        self._when("after model, optimizer, and learning rate scheduler are built")
        self.disturb()

    def finds_none(self) -> None:
        if self.run.rank == 0:
            self.out("WARNING: could not find the metadata file %s/latest_checkpointed_iteration.txt" % self.run.folder)
            self.out("    will not load any checkpoints and will start from random")

    def loads(self, step: int) -> None:
        if self.run.rank == 0:
            self.out(" loading distributed checkpoint from %s at iteration %d" % (self.run.folder, step))

    def loaded(self, step: int, seconds: float) -> None:
        if self.run.rank == 0:
            self.out(" checkpoint version 3.0")
            self.out("  successfully loaded checkpoint from %s [ t 1/1, p 1/1 ] at iteration %d" % (self.run.folder, step))
            self._times("load-checkpoint", seconds)

    def trains(self, step: int) -> None:
        if self.run.rank == 0:
            self._when("after dataloaders are built")
            self.out("done with setup ...")
            self._times("model-and-optimizer-setup", self.now() - self.began)
            self.out("training ...")
            self._when("before the start of training step")

    def step_done(self, step: int, seconds: float, loss: float) -> None:
        self.disturb()
        if self.run.rank != self.run.ranks - 1 or not (self.logs(step) or step == self.resumed_from + 1):
            return
        self.told.append(step)
        self.out((" [%s] iteration %8d/%8d | consumed samples: %12d | elapsed time per iteration (ms): %.1f |"
                  " throughput per GPU (TFLOP/s/GPU): %.1f | learning rate: %.6E | global batch size: %5d | lm loss: %.6E |"
                  " loss scale: 1.0 | grad norm: %.3f | number of skipped iterations: %3d | number of nan iterations: %3d |") % (
                      self.stamp("%Y-%m-%d %H:%M:%S.%f"), step, self.run.steps, step * 32, seconds * 1000, 138.5 / max(seconds, 0.01),
                      1e-5, 32, loss, 1.5, 0, 0))

    def saving(self, step: int, is_async: bool) -> None:
        if self.run.rank == 0:
            self.out("[%s] saving checkpoint at iteration %7d to %s in torch_dist format" % (
                self.stamp("%Y-%m-%d %H:%M:%S.%f"), step, self.run.folder))
            self.out("Storing distributed optimizer sharded state of type fully_sharded_model_space")
            if is_async:
                self._progress("Saving async checkpoint\tIteration: %d" % step)

    def scheduled(self, step: int, seconds: float) -> None:
        if self.run.rank == 0:
            self.out("  [%s] scheduled an async checkpoint save at iteration %7d to %s" % (
                self.stamp("%Y-%m-%d %H:%M:%S.%f"), step, self.run.folder))

    def saved(self, step: int, seconds: float, is_async: bool) -> None:
        if self.run.rank == 0:
            self.out("  [%s] successfully saved checkpoint from iteration %7d to %s [ t 1/1, p 1/1 ]" % (
                self.stamp("%Y-%m-%d %H:%M:%S.%f"), step, self.run.folder))
            if is_async:
                self._progress("Saved async checkpoint\tIteration: %d" % step)
            else:
                self._times("save-checkpoint", seconds)
                self._progress("Saved checkpoint\tIteration: %d\tJob throughput: 391.2 TFLOP/s/GPU\tCumulative throughput: 380.0"
                               " TFLOP/s/GPU\tFloating-point operations: %.2e\tTokens (in billions): %.2f" % (
                                   step, step * 3.1e18, step * 0.0063))

    def evaluating(self, step: int) -> None:
        if self.run.rank == 0:
            self.out("Evaluating on 64 samples")
            for number in (1, 2):
                self.out("Evaluating iter %d/2" % number)

    def evaluated(self, step: int, seconds: float, loss: float) -> None:
        if self.run.rank == 0:
            self._times("evaluate", seconds)
        if self.run.rank == self.run.ranks - 1:
            text = " validation loss at iteration %d | lm loss value: %.6E | lm loss PPL: %.6E | " % (step, loss, 2.7 ** loss)
            for line in ("-" * (len(text) + 1), text, "-" * (len(text) + 1)):
                self.out(line)

    def stops(self, signo: int) -> None:
        if self.run.rank == 0:
            self._when("exiting program after receiving SIGTERM.")

    def completes(self) -> None:
        if self.run.rank == 0:
            self._when("after training is done")

    def _when(self, what: str) -> None:
        self.out("[%s] datetime: %s " % (what, self.stamp("%Y-%m-%d %H:%M:%S.%f")))

    def _times(self, what: str, seconds: float) -> None:
        self.out("(min, max) time across ranks (ms):\n    %s: (%.2f, %.2f)" % ((what + " ").ljust(48, "."), seconds * 1000,
                                                                                  seconds * 1000 + 0.4))

    def _progress(self, text: str) -> None:
        """--log-progress"""
        if os.path.isdir(self.run.folder):
            with open(os.path.join(self.run.folder, "progress.txt"), "a") as file:
                file.write("%s\tJob ID: %s\t# GPUs: %d\t%s\n" % (self.stamp("%Y-%m-%d %H:%M:%S"), self.run.job or "",
                                                                    self.run.ranks, text))
