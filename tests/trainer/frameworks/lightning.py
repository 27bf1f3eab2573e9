"""PyTorch Lightning: pytorch/callbacks/progress/tqdm_progress.py (a bar on standard output, redrawn in place),
callbacks/model_checkpoint.py (verbose), trainer/connectors/signal_connector.py and checkpoint_connector.py, whose logger writes
bare lines to standard error. The bar begins anew every epoch."""

import os

from .framework import Framework
from .tqdm import bar, clock

NAME = "lightning"
EPOCH = 50


class Printer(Framework):
    layout = "lightning"
    on_signal = ["USR1=save|TERM=ignore"]

    def starts(self) -> None:
        if self.run.rank:
            return
        for line in ("GPU available: True (cuda), used: True", "TPU available: False, using: 0 TPU cores",
                     "SLURM auto-requeueing enabled. Setting signal handlers."):
            self.err(line)
        self.err("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/%d" % self.run.ranks)
        self.err("-" * 100 + "\ndistributed_backend=nccl\nAll distributed processes registered. Starting with %d processes\n" %
                 self.run.ranks + "-" * 100 + "\n")
        self.disturb()

    def loads(self, step: int) -> None:
        if self.run.rank == 0:
            self.err("Restoring states from the checkpoint path at %s" % self._path(step))

    def loaded(self, step: int, seconds: float) -> None:
        if self.run.rank == 0:
            self.err("Restored all states from the checkpoint at %s" % self._path(step))

    def trains(self, step: int) -> None:
        if self.run.rank == 0:
            self.err("\n  | Name  | Type       | Params | Mode\n---------------------------------------------\n"
                     "0 | model | Perceptron | 49     | train\n---------------------------------------------")
            self._epoch_began = self.now()
            self._draw(0, (step - 1) // EPOCH, 0, "")  # also after a resume: it jumps with the first step

    def step_done(self, step: int, seconds: float, loss: float) -> None:
        self.disturb()
        if self.run.rank:
            return
        self.told.append(step)
        within = (step - 1) % EPOCH + 1
        if within == 1:
            self._epoch_began = self.now() - seconds
        self._draw(within, (step - 1) // EPOCH, seconds, ", v_num=%d, train_loss=%.3f" % (self.run.job, loss))
        if within == EPOCH:
            self.out("")

    def _draw(self, within: int, epoch: int, seconds: float, more: str) -> None:
        rate = "%5.2fit/s" % (1 / seconds) if seconds else "?it/s"
        elapsed = self.now() - self._epoch_began
        left = clock(elapsed / within * (EPOCH - within)) if within else "?"
        self.out("\rEpoch %d: %3d%%|%s| %d/%d [%s<%s, %s%s]" % (epoch, 100 * within // EPOCH, bar(within, EPOCH), within, EPOCH,
                                                               clock(elapsed), left, rate, more), end="")

    def _path(self, step: int) -> str:
        return os.path.join(self.run.folder, "lightning_logs", "version_0", "checkpoints",
                            "epoch=%d-step=%d.ckpt" % ((step - 1) // EPOCH, step))

    def saving(self, step: int, is_async: bool) -> None:
        if self.run.rank == 0:
            self.err("Epoch %d, global step %d: 'train_loss' reached 0.69315 (best 0.69315), saving model to '%s' as top 3" % (
                (step - 1) // EPOCH, step, self._path(step)))

    def evaluating(self, step: int) -> None:
        if self.run.rank == 0:
            self.out("".join("\rValidation DataLoader 0: %3d%%|%s| %d/4 [00:00<00:00, 31.25it/s]" % (25 * n, bar(n, 4), n)
                             for n in range(5)))

    def signalled(self, signo: int) -> None:
        if signo == 15:
            self.err("[rank: %d] Received SIGTERM: 15" % self.run.rank)
            self.err("Bypassing SIGTERM: 15")
        elif self.run.rank == 0:
            self.err("Handling auto-requeue signal: %d" % signo)

    def obeys(self, signo: int) -> None:
        if self.run.rank == 0 and signo != 15:
            self._requeues = True

    _requeues = False

    def saved(self, step: int, seconds: float, is_async: bool) -> None:
        if self._requeues:
            self.err("requeing job %d..." % self.run.job)
            self.err("Requeued SLURM job: %d" % self.run.job)
            self._requeues = False

    def completes(self) -> None:
        if self.run.rank == 0:
            self.err("`Trainer.fit` stopped: `max_steps=%d` reached." % self.run.steps)
