#!/usr/bin/python3
"""A PyTorch DistributedDataParallel program as people write them: gloo, torch.save, signals agreed on by all ranks.

It is started by srun, one task a rank, or by torchrun. Rank 0 saves, prints and marks. Steps are numbered from 1; the
checkpoint of step N holds the state after step N. What it does, rank 0 writes to DIR/truth.0.jsonl, as trainer.py does.

USR1 saves after the step, TERM saves and ends with 0.
"""

import argparse
import datetime
import os
import signal
import sys
import time
from typing import Dict, List, Optional

import torch
import torch.distributed as dist
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from trainer import TruthLog, exec_time_ns, slurm_step  # noqa: E402


class Quiet:
    """Sends no marks; it has the methods of goodput.py that are used here."""

    def __getattr__(self, _name: str) -> "Quiet":
        return self

    def __call__(self, *_args: object) -> None:
        return None


def client(wanted: bool) -> object:
    if not wanted:
        return Quiet()
    import goodput  # from $PYTHONPATH
    return goodput


def started_ns(pid: str) -> int:
    """When the process was forked or exec'ed, to 10 ms."""
    if pid == "self":
        return exec_time_ns()
    with open("/proc/%s/stat" % pid) as file:
        ticks = int(file.read().rsplit(")", 1)[1].split()[19])
    since_boot_ns = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return time.time_ns() - (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - since_boot_ns)


class Program:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        env = os.environ
        self.rank = int(env.get("RANK", env.get("SLURM_PROCID", "0")))
        self.world = int(env.get("WORLD_SIZE", env.get("SLURM_NTASKS", "1")))
        self.first = self.rank == 0
        os.makedirs(args.dir, exist_ok=True)
        self.truth = TruthLog(os.path.join(args.dir, "truth.%d.jsonl" % self.rank), self.rank)
        self.marks = client(args.tell == "marks" and self.first)
        self.snapshot = os.path.join(args.dir, "snapshot.pt")
        self.asked: List[int] = []
        self.step = 0

    def say(self, line: str) -> None:
        if self.first and self.args.tell == "print":
            print(line, flush=True)

    def run(self) -> int:
        # torchrun's workers are its children; the program's start is torchrun's, and a restart's is the worker's.
        restarts = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
        by_torchrun = "TORCHELASTIC_RUN_ID" in os.environ
        self.truth("start", pid=os.getpid(), exec_t=started_ns(str(os.getppid()) if by_torchrun and not restarts else "self"),
                   job=int(os.environ["SLURM_JOB_ID"]), slurm_step=slurm_step(),
                   restart=int(os.environ.get("SLURM_RESTART_COUNT", "0")), node=os.environ.get("SLURMD_NODENAME", ""),
                   steps=self.args.steps)
        for signo in (signal.SIGUSR1, signal.SIGTERM):
            signal.signal(signo, self.arrived)
        self.say("Running DDP on %d ranks" % self.world)
        torch.set_num_threads(1)
        torch.manual_seed(0)
        dist.init_process_group("gloo", rank=self.rank, world_size=self.world, timeout=datetime.timedelta(seconds=60))
        model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4)))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        self.restore(model, optimizer)
        code = self.train(model, optimizer)
        dist.barrier()
        return code

    def arrived(self, signo: int, _frame: object) -> None:
        self.truth("signal", signo=signo)
        self.asked.append(signo)

    def agreed(self) -> int:
        """The signal that any rank has received since the last call; 0 if none."""
        mine, self.asked = self.asked, []
        word = torch.tensor([max(mine, default=0)])
        dist.all_reduce(word, op=dist.ReduceOp.MAX)
        return int(word.item())

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        if not os.path.exists(self.snapshot):
            return
        self.truth("restore_begin", step=0)
        self.marks.restore_begin()
        state: Dict = torch.load(self.snapshot, map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]
        self.marks.restore_end(self.step)
        self.truth("restore_end", step=self.step)
        self.say("Resuming training from snapshot at step %d" % self.step)

    def train(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
        loss_of = nn.CrossEntropyLoss()
        while self.step < self.args.steps:
            step, begin = self.step + 1, time.monotonic()
            self.truth("step_begin", step=step)
            self.marks.step(step)
            self.crash(step)
            optimizer.zero_grad()
            loss = loss_of(model(torch.randn(32, 64)), torch.randint(0, 4, (32,)))
            loss.backward()
            optimizer.step()
            time.sleep(max(0.0, self.args.step_seconds - (time.monotonic() - begin)))
            self.step = step
            asked = self.agreed()
            self.truth("step_end", step=step, loss=loss.item())
            self.say("step %d/%d loss %.4f time %.3fs" % (step, self.args.steps, loss.item(), time.monotonic() - begin))
            if asked or step % self.args.save_every == 0:
                self.save(model, optimizer)
            if asked == signal.SIGTERM:
                return 0
        self.say("Training finished after %d steps" % self.step)
        return 0

    def save(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.truth("save_begin", step=self.step, mode="sync")
        self.marks.checkpoint_begin(self.step)
        if self.first:
            part = self.snapshot + ".tmp"
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": self.step}, part)
            time.sleep(self.args.save_seconds)
            os.replace(part, self.snapshot)
        dist.barrier()
        self.marks.checkpoint_end(self.step)
        self.truth("save_end", step=self.step)
        self.say("Step %d | Training snapshot saved at %s" % (self.step, self.snapshot))

    def crash(self, step: int) -> None:
        """Once, in the middle of the step, on rank 0."""
        if not self.first or step != self.args.crash_at_step:
            return
        try:
            os.close(os.open(os.path.join(self.args.dir, "crashed"), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return
        time.sleep(self.args.step_seconds / 2)
        self.truth("crash", step=step, code=1)
        os._exit(1)


def parse(argv: Optional[List[str]] = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--step-seconds", type=float, default=0.2)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--save-seconds", type=float, default=0.5, help="how much longer than the file itself a save takes")
    parser.add_argument("--tell", choices=["nothing", "print", "marks"], default="nothing")
    parser.add_argument("--crash-at-step", type=int, default=0)
    return parser.parse_args(argv)


def main() -> None:
    program = Program(parse())
    code = program.run()
    program.truth("exit", code=code, marks_dropped=0)
    sys.stdout.flush()
    # Without the interpreter's cleanup: gloo's thread may spin forever if a peer closes its connection first (torch 1.13).
    os._exit(code)


if __name__ == "__main__":
    main()
