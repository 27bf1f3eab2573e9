"""DeepSpeed: utils/logging.py (standard output, at level INFO), runtime/engine.py (_report_progress, save_checkpoint,
_save_zero_checkpoint, load_checkpoint), utils/timer.py (ThroughputTimer.stop), runtime/checkpoint_engine/torch_checkpoint_engine.py.
Every steps_per_print steps. Signals are not handled."""

import os

from .framework import Framework

NAME = "deepspeed"


class Printer(Framework):
    layout = "deepspeed"
    log_every = 1

    def _info(self, where: str, text: str) -> None:
        self.out("[%s] [INFO] [%s] %s" % (self.comma(), where, text))

    def _dist(self, text: str) -> None:
        self._info("logging.py:107:log_dist", "[Rank 0] " + text)

    def _file(self, step: int, name: str) -> str:
        return os.path.join(self.run.folder, "global_step%d" % step, name)

    def starts(self) -> None:
        if self.run.rank:
            return
        self._info("real_accelerator.py:239:get_accelerator", "Setting ds_accelerator to cuda (auto detect)")
        self._info("comm.py:652:init_distributed", "cdb=None")
        self._dist("DeepSpeed info: version=0.16.4, git-hash=unknown, git-branch=unknown")
        self.disturb()
        self._dist("DeepSpeed Final Optimizer = BF16_Optimizer")
        self._dist("DeepSpeed LR Scheduler = None")

    def finds_none(self) -> None:
        if self.run.rank == 0:
            self.out("[%s] [WARNING] [engine.py:2841:load_checkpoint] Unable to find latest file at %s/latest, if trying to load latest"
                     " checkpoint please ensure this file exists or pass an explicit checkpoint tag when loading a checkpoint." % (
                         self.comma(), self.run.folder))

    def loads(self, step: int) -> None:
        if self.run.rank == 0:
            self._info("torch_checkpoint_engine.py:27:load", "[Torch] Loading checkpoint from %s..." %
                       self._file(step, "mp_rank_00_model_states.pt"))

    def loaded(self, step: int, seconds: float) -> None:
        if self.run.rank == 0:
            self._info("torch_checkpoint_engine.py:29:load", "[Torch] Loaded checkpoint from %s." %
                       self._file(step, "mp_rank_00_model_states.pt"))
            self._info("engine.py:3071:_get_all_zero_checkpoint_state_dicts", "successfully read 1 ZeRO state_dicts for rank 0")
            self._info("engine.py:3023:_load_zero_checkpoint", "loading 1 zero partition checkpoints for rank 0")

    def step_done(self, step: int, seconds: float, loss: float) -> None:
        self.disturb()
        if self.run.rank or not self.logs(step):
            return
        self.told.append(step)
        self._dist("step=%d, skipped=0, lr=[1e-05], mom=[[0.9, 0.95]]" % step)
        rate = 32 / max(seconds, 0.01)
        self._info("timer.py:264:stop", "epoch=0/micro_step=%d/global_step=%d, RunningAvgSamplesPerSec=%s, CurrSamplesPerSec=%s,"
                   " MemAllocated=30.1GB, MaxMemAllocated=34.75GB" % (step, step, rate * 0.99, rate))
        self.out("steps: %d loss: %.4f iter time (s): %.3f samples/sec: %.3f" % (step, loss, seconds, rate))

    def saving(self, step: int, is_async: bool) -> None:
        if self.run.rank == 0:
            self._dist("[Torch] Checkpoint global_step%d is about to be saved!" % step)
            path = self._file(step, "mp_rank_00_model_states.pt")
            self._dist("Saving model checkpoint: %s" % path)
            self._info("torch_checkpoint_engine.py:21:save", "[Torch] Saving %s..." % path)

    def saved(self, step: int, seconds: float, is_async: bool) -> None:
        if self.run.rank == 0:
            self._info("torch_checkpoint_engine.py:23:save", "[Torch] Saved %s." % self._file(step, "mp_rank_00_model_states.pt"))
            self._info("engine.py:3567:_save_zero_checkpoint", "zero checkpoint saved %s" %
                       self._file(step, "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"))
            self._info("torch_checkpoint_engine.py:33:commit", "[Torch] Checkpoint global_step%d is ready now!" % step)
