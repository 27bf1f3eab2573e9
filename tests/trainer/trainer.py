#!/usr/bin/python3
"""A small program that really trains, to measure what happens to a training job under Slurm.

A multi-layer perceptron learns synthetic data that depends only on the step's number: a run that was interrupted and
resumed has exactly the losses of one that was not. Steps are numbered from 1; the checkpoint of step N holds the state
after step N; a resumed run begins with step N+1. Every rank trains (from SLURM_PROCID), rank 0 saves.

It logs what it does to DIR/truth.RANK.jsonl, one line per event with time.time_ns(), for tests to compare with.

With --framework it imitates one: it prints the same output, uses the same checkpoint layout, and reacts to signals in the same
way. The truth log does not change.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from typing import Callable, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from checkpoint import LAYOUTS, latest, save  # noqa: E402
from frameworks import FRAMEWORKS, Framework, Run, Stream  # noqa: E402
from marks import CommandMarks, NoMarks, SocketMarks  # noqa: E402
from model import Model  # noqa: E402


def exec_time_ns() -> int:
    """When this process was exec'ed or forked (to 10 ms), because the interpreter takes a while to reach the first line."""
    with open("/proc/self/stat") as file:
        ticks = int(file.read().rsplit(")", 1)[1].split()[19])
    since_boot_ns = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return time.time_ns() - (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - since_boot_ns)


class TruthLog:
    """Append-only, with one write per record, so that a killed process leaves only whole lines."""

    def __init__(self, path: str, rank: int) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._rank = rank

    def __call__(self, event: str, **fields: object) -> None:
        record = {"t": time.time_ns(), "m": time.monotonic_ns(), "rank": self._rank, "event": event}
        record.update(fields)
        os.write(self._fd, (json.dumps(record) + "\n").encode())


class SignalPlan:
    """What to do at a signal: from "USR1=save", "TERM=save-exit", "USR1=save-exit:85", "TERM=exit:3", "TERM=quit:143",
    "TERM=ignore".

    exit waits for the end of the step, quit for nothing. Only the signals named are handled at all; `ignore` handles it too, and does nothing.
    """

    def __init__(self, texts: List[str]) -> None:
        self.actions: Dict[int, Tuple[str, int]] = {}
        for text in [part for value in texts for part in value.split("|")]:
            name, _, what = text.partition("=")
            action, _, code = what.partition(":")
            if action not in ("save", "save-exit", "exit", "quit", "ignore"):
                raise ValueError(
                    "--on-signal %s: the action is save, save-exit[:CODE], exit[:CODE], quit[:CODE] or ignore" % text)
            self.actions[getattr(signal, "SIG" + name.upper().replace("SIG", "", 1))] = (action, int(code or 0))
        self._pending: List[int] = []

    def install(self, truth: TruthLog, told: Callable[[int], None]) -> None:
        def arrived(signo: int, _frame: object) -> None:
            truth("signal", signo=signo)
            told(signo)
            action, code = self.actions[signo]
            if action == "quit":
                sys.exit(code)
            self._pending.append(signo)
        for signo in self.actions:
            signal.signal(signo, arrived)

    def take(self) -> List[Tuple[int, str, int]]:
        """The pending signals with their actions, each once."""
        taken, self._pending = self._pending, []
        return [(signo,) + self.actions[signo] for signo in taken]


class Members(NamedTuple):
    """Which ranks do what from a step on; any other rank is lost."""
    stepping: FrozenSet[int]
    idle: FrozenSet[int]
    spares: FrozenSet[int]


class MemberPlan:
    """From "1:01+2|5:0+2|7:02|9:0.2": from step 1 on ranks 0 and 1 train and 2 is a spare, from step 5 on rank 1 is lost, from
    step 7 on the spare trains in its place, from step 9 on rank 2 waits. Without a plan all train."""

    def __init__(self, text: str) -> None:
        self._of: Dict[int, Members] = {}
        for part in text.split("|") if text else []:
            step, _, ranks = part.partition(":")
            rest, _, spares = ranks.partition("+")
            stepping, _, idle = rest.partition(".")
            self._of[int(step)] = Members(*(frozenset(map(int, some)) for some in (stepping, idle, spares)))
        self.at_present: Optional[Members] = None

    def changes_at(self, step: int) -> Optional[Members]:
        """The members from that step on, if that is new: a resumed run takes those of an earlier step."""
        known = [one for one in self._of if one <= step]
        members = self._of[max(known)] if known else None
        if members == self.at_present:
            return None
        self.at_present = members
        return members


class Trainer:
    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.rank = int(os.environ.get("SLURM_PROCID", "0"))
        os.makedirs(args.dir, exist_ok=True)
        self.truth = TruthLog(os.path.join(args.dir, "truth.%d.jsonl" % self.rank), self.rank)
        wants_marks = self.rank == 0 or args.mark_ranks == "all"
        if args.mark_command and wants_marks:
            self.marks = CommandMarks(args.mark_command.split(), self._dropped)
        elif args.marks and wants_marks:
            self.marks = SocketMarks(os.environ.get("GOODPUT_SOCKET", ""), self._dropped)
        else:
            self.marks = NoMarks()
        run = Run(args.dir, args.steps, self.rank, int(os.environ.get("SLURM_NTASKS", "1")), int(os.environ.get("SLURM_JOB_ID", "0")),
                  int(os.environ.get("SLURM_RESTART_COUNT", "0")), args.log_every, args.save_every, args.noise, args.seed)
        kind = FRAMEWORKS[args.framework] if args.framework else Framework
        self.framework = kind(Stream(not args.buffered), run)
        self.layout = args.layout or self.framework.layout
        self.signals = SignalPlan(args.on_signal or self.framework.on_signal)
        self.model = Model(seed=args.seed)
        self.step = 0  # the last completed step
        self.loss = 0.0
        self.saved_step = 0
        self.saving: Optional[threading.Thread] = None
        self.members = MemberPlan(args.members)

    def _dropped(self, why: str) -> None:
        self.truth("mark_dropped", why=why)

    def run(self) -> int:
        args = self.args
        env = os.environ.get
        self.truth("start", pid=os.getpid(), exec_t=exec_time_ns(), job=int(env("SLURM_JOB_ID", "0")),
                   slurm_step=slurm_step(), restart=int(env("SLURM_RESTART_COUNT", "0")),
                   node=env("SLURMD_NODENAME", ""), steps=args.steps)
        self.signals.install(self.truth, self.framework.signalled)
        self.framework.starts()
        self._phase("init", args.init_seconds, args.init_until)
        if args.fail_at_start:
            self.truth("crash", step=self.step, code=args.fail_at_start)
            os._exit(args.fail_at_start)
        self._restore()
        code = self._obey()
        last = args.steps
        if args.steps_after_restore and self.step:
            last = min(last, self.step + args.steps_after_restore)
        self.framework.trains(self.step + 1)
        while code is None and self.step < last:
            self._train_one()
            may_save = args.save_every and self.step <= (args.last_save or self.step)
            if may_save and self.framework.saves_after(self.step, args.save_every):
                self._save()
            if args.eval_every and self.step % args.eval_every == 0:
                begin = time.monotonic()
                self.framework.evaluating(self.step)
                self._phase("evaluation", args.eval_seconds)
                self.framework.evaluated(self.step, time.monotonic() - begin, self.loss)
            code = self._obey()
        if self.saving:
            self.saving.join()
        if code is None:
            self.framework.completes()
        return 0 if code is None else code

    def _phase(self, name: str, seconds: float, until: str = "") -> None:
        """until: a file that must exist before it ends; "" for none."""
        self.truth(name + "_begin", step=self.step)
        self.marks.phase(name, "begin")
        time.sleep(seconds)
        while until and not os.path.exists(until):
            time.sleep(0.05)
        self.marks.phase(name, "end")
        self.truth(name + "_end", step=self.step)

    def _restore(self) -> None:
        found = latest(self.args.dir, self.layout)
        if found is None:
            self.framework.finds_none()
            return
        begin = time.monotonic()
        step, state = found
        self.framework.loads(step)
        self.truth("restore_begin", step=step)
        self.marks.restore(step, "begin")
        time.sleep(self.args.restore_seconds)
        self.model.load(state)
        self.step = self.saved_step = step
        self.framework.resumed_from = step
        self.framework.loaded(step, time.monotonic() - begin)
        self.marks.restore(step, "end")
        self.truth("restore_end", step=step)

    def _change_members(self, step: int) -> None:
        members = self.members.changes_at(step)
        if members is None:
            return
        if self.rank not in members.stepping | members.idle | members.spares:
            self.truth("lost", step=step)
            os._exit(1)
        self.truth("members", step=step, stepping=sorted(members.stepping), idle=sorted(members.idle), spares=sorted(members.spares))
        each = self.args.rank_gpus
        self.marks.world(each * len(members.stepping), self.args.wanted_gpus, each * len(members.spares))

    def _train_one(self) -> None:
        step = self.step + 1
        begin = time.monotonic()
        self._change_members(step)
        if self.members.at_present and self.rank not in self.members.at_present.stepping:
            time.sleep(self.args.step_seconds)
            self.step = step
            return
        self.truth("step_begin", step=step)
        self.marks.step(step, "begin")
        if self.rank == 0 and any(self._once("crash", step, at) for at in self.args.crash_at_step.split(",")):
            time.sleep(self.args.step_seconds / 2)
            code = int((self.args.crash_at_step + ":1").split(":")[1])
            self.truth("crash", step=step, code=code)
            os._exit(code)
        if self._once("eat", step, self.args.eat_at_step):
            self.truth("eat", step=step)
            eaten = []
            while True:
                eaten.append(bytearray(10 << 20))
                time.sleep(0.02)
        if self._once("hang", step, self.args.hang_at_step):
            self.truth("hang", step=step)
            while True:
                time.sleep(60)
        if self._once("fail", step, self.args.fail_at_step):
            time.sleep(self.args.step_seconds)
            self.marks.step_failed(step)
            self.truth("step_failed", step=step)
            return
        loss = self.model.train(step)
        time.sleep(max(0.0, self.args.step_seconds - (time.monotonic() - begin)))
        self.step = step
        if self.args.mark_step_ends:
            self.marks.step(step, "end")
        self.truth("step_end", step=step, loss=loss)
        self.loss = loss
        self.framework.step_done(step, time.monotonic() - begin, loss)

    def _once(self, what: str, step: int, wanted: str) -> bool:
        """True the first time that step `wanted` is reached; remembered in DIR, so that a resumed run continues."""
        if not wanted or step != int(wanted.split(":")[0]):
            return False
        try:
            os.close(os.open(os.path.join(self.args.dir, "%s.%d.%d" % (what, step, self.rank)),
                             os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        return True

    def _save(self) -> None:
        if self.saving:
            self.saving.join()  # one at a time
            self.saving = None
        step, state = self.step, self.model.state()
        self.truth("save_begin", step=step, mode="async" if self.args.async_save else "sync")
        self.framework.saving(step, self.args.async_save)
        self.marks.checkpoint(step, "begin")
        if self.args.async_save:
            self.saving = threading.Thread(target=self._write, args=(step, state))
            self.saving.start()
            self.framework.scheduled(step, 0.0)
        else:
            self._write(step, state)
        self.saved_step = step

    def _write(self, step: int, state: Dict) -> None:
        begin = time.monotonic()
        if self.rank == 0:
            save(self.args.dir, step, state, self.args.save_seconds, self.layout)
        else:
            time.sleep(self.args.save_seconds)  # the other ranks wait for it, as at a barrier
        self.marks.checkpoint(step, "end")
        self.truth("save_end", step=step)
        self.framework.saved(step, time.monotonic() - begin, self.args.async_save)

    def _obey(self) -> Optional[int]:
        """Executes the actions of received signals; returns an exit code if one of them is to exit."""
        code = None
        for signo, action, wanted in self.signals.take():
            if action.startswith("save"):
                self.framework.obeys(signo)
                if self.step != self.saved_step:
                    self._save()
            if action in ("save-exit", "exit"):
                if self.saving:
                    self.saving.join()
                    self.saving = None
                self.framework.stops(signo)
                code = wanted
        return code


def slurm_step() -> str:
    """The batch script has no numeric SLURM_STEP_ID."""
    step = os.environ.get("SLURM_STEP_ID", "batch")
    return step if step.isdigit() and int(step) < 0xffff0000 else "batch"


def parse(argv: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add: Callable = parser.add_argument
    add("--dir", required=True, help="checkpoints and truth logs")
    add("--steps", type=int, default=20)
    add("--steps-after-restore", type=int, default=0, metavar="N", help="a resumed run ends after N steps, if earlier")
    add("--step-seconds", type=float, default=0.5)
    add("--seed", type=int, default=1)
    add("--init-seconds", type=float, default=0.0)
    add("--init-until", default="", metavar="FILE", help="the initialisation also waits for this file")
    add("--restore-seconds", type=float, default=0.0)
    add("--save-every", type=int, default=0, metavar="STEPS")
    add("--last-save", type=int, default=0, metavar="STEP", help="none after it but those that signals ask for")
    add("--save-seconds", type=float, default=0.0, help="how much longer than the file itself a save takes")
    add("--framework", choices=sorted(FRAMEWORKS), default="", help="print and save as this one does")
    add("--layout", choices=sorted(LAYOUTS), default="", help="how checkpoints lie in DIR; the framework's, else plain")
    add("--log-every", type=int, default=0, metavar="STEPS", help="not as often as the framework is used to")
    add("--noise", action="store_true", help="print what else such jobs print, too")
    add("--buffered", action="store_true", help="let Python keep what was printed without a flush")
    add("--async-save", action="store_true", help="save in a thread while training goes on")
    add("--eval-every", type=int, default=0, metavar="STEPS")
    add("--eval-seconds", type=float, default=0.0)
    add("--on-signal", action="append", default=[], metavar="SIG=ACTION[:CODE]",
        help="ACTION: save, save-exit, exit, quit, ignore; several with | or by repeating")
    add("--fail-at-start", type=int, default=0, metavar="CODE", help="die after the initialisation, before any step")
    add("--crash-at-step", default="", metavar="N[,N...][:CODE]", help="rank 0 dies in the middle of step N, once")
    add("--members", default="", metavar="STEP:RANKS[.IDLE][+SPARES]|...", help="which ranks train from which step on; see MemberPlan")
    add("--rank-gpus", type=int, default=1, metavar="N", help="GPUs of each rank, for marks of the world")
    add("--wanted-gpus", type=int, default=0, metavar="N", help="GPUs that should train, for marks of the world")
    add("--hang-at-step", default="", metavar="N", help="step N never ends, once")
    add("--fail-at-step", default="", metavar="N", help="step N takes its time and fails, once, and is tried again")
    add("--eat-at-step", default="", metavar="N", help="in step N, once, take memory until the kernel objects")
    add("--marks", action="store_true", help="send marks to the socket $GOODPUT_SOCKET names")
    add("--mark-command", default="", metavar="COMMAND", help='mark by running this, such as "sgoodput mark"')
    add("--mark-ranks", choices=["0", "all"], default="0")
    add("--mark-step-ends", action="store_true", help="also say when a step ends")
    return parser.parse_args(argv)


def main(argv: List[str]) -> int:
    trainer = Trainer(parse(argv))
    try:
        code = trainer.run()
    except SystemExit as quits:
        code = int(quits.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    trainer.truth("exit", code=code, marks_dropped=trainer.marks.dropped)
    if trainer.saving:
        trainer.saving.join()
    return code


if __name__ == "__main__":
    # At once: what the interpreter does at its end is in no log, and takes seconds on a busy machine.
    os._exit(main(sys.argv[1:]))
