#!/usr/bin/python3
"""What a framework would have printed in three incarnations of a run, without training, and what really happened in it.

    transcript.py megatron                  the output of its two ranks, as in one file
    transcript.py megatron --json           also when each piece was written, and the facts (below)

The first start trains from scratch, evaluates once, stalls once, and is told to stop by TERM (or killed, if the framework
ignores it); the second resumes, saves asynchronously, and is killed during a save; the third runs to its end. Times are
local, from 2026-08-22 10:00:00 on.

JSON: framework, first (its number of the first step), text (base64), chunks [{t_ns, rank, stream, base64}] in order, and
  facts.steps       [{incarnation, step, begin_ns, end_ns (null: cut off), told}]   step counted from 1; told: its end was printed
  facts.saves       [{incarnation, step, begin_ns, blocked_until_ns, complete_ns (null: cut off), async}]
  facts.restores    [{incarnation, step, begin_ns, end_ns}]
  facts.evaluations [{incarnation, step, begin_ns, end_ns}]
  facts.signals     [{incarnation, t_ns, signal}]
  facts.incarnations [{begin_ns, end_ns, how}]   how: signal, killed or completed
"""

import argparse
import base64
import json
import os
import sys
import time
from typing import Any, Dict, List, Optional

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from frameworks import FRAMEWORKS, Framework, Run  # noqa: E402

STEPS, SAVE_EVERY, EVALUATED, STALLED, TOLD_TO_STOP, KILLED_SAVING = 50, 10, 15, 17, 23, 40
SIGTERM = 15


class Play:
    def __init__(self, name: str, seed: int = 1, noise: bool = True, label: bool = False, log_every: int = 0,
                 folder: str = "/ckpt/run 7") -> None:
        self.name, self.label = name, label
        self._options = dict(log_every=log_every, noise=noise, seed=seed)
        self._folder = folder
        self._at = time.mktime((2026, 8, 22, 10, 0, 0, 0, 0, -1)) + 0.25
        self._open_lines: Dict[int, bool] = {}
        self.chunks: List[Dict[str, Any]] = []
        self.facts: Dict[str, List[Dict[str, Any]]] = {kind: [] for kind in (
            "steps", "saves", "restores", "evaluations", "signals", "incarnations")}
        self._ranks: List[Framework] = []
        self._incarnation = 0
        self._kept = 0  # the newest complete checkpoint
        self._under_way: Optional[Dict[str, Any]] = None
        for number in range(3):
            self._incarnation = number
            self._run()

    def text(self) -> bytes:
        return b"".join(base64.b64decode(chunk["base64"]) for chunk in self.chunks)

    # --- the run

    def _run(self) -> None:
        begin, self._ranks = self.ns(), []
        for rank in range(2):
            run = Run(self._folder, STEPS, rank, 2, 4711, self._incarnation, save_every=SAVE_EVERY, **self._options)
            self._ranks.append(FRAMEWORKS[self.name](lambda data, stream, flush, rank=rank: self._write(data, stream, rank), run,
                                                    lambda: self._at))
        self._each("starts")
        self._pass(3.2)
        step = self._restore()
        self._each("trains", step + 1)
        how = "completed"
        while step < STEPS and how == "completed":
            step += 1
            how = self._step(step)
        if how == "completed":
            self._each("completes")
        if how == "killed":
            when = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(self._at))
            self._write(b"slurmstepd: error: *** STEP 4711.0 ON a3-0 CANCELLED AT %s DUE TO PREEMPTION ***\n" % when.encode(), "err", 0)
        self._under_way = None
        self.facts["incarnations"].append({"begin_ns": begin, "end_ns": self.ns(), "how": how})
        self._pass(31.5)

    def _restore(self) -> int:
        if not self._kept:
            self._each("finds_none")
            return 0
        fact = self._fact("restores", step=self._kept, begin_ns=self.ns())
        self._each("loads", self._kept)
        self._pass(2.4)
        for rank in self._ranks:
            rank.resumed_from = self._kept
        self._each("loaded", self._kept, 2.4)
        fact["end_ns"] = self.ns()
        return self._kept

    def _step(self, step: int) -> str:
        fact = self._fact("steps", step=step, begin_ns=self.ns(), end_ns=None, told=False)
        seconds = 0.61 + 0.02 * (step % 3) + (12 if (step, self._incarnation) == (STALLED, 0) else 0)
        if len([one for one in self.facts["steps"] if one["incarnation"] == self._incarnation]) == 1:
            seconds += 5
        stop = (step, self._incarnation) == (TOLD_TO_STOP, 0)
        plan = "|".join(self._ranks[0].on_signal)
        if stop:
            self._pass(0.2)
            self._fact("signals", t_ns=self.ns(), signal=SIGTERM)
            self._each("signalled", SIGTERM)
            if "TERM=save" not in plan:
                return "signal" if "TERM=quit" in plan else "killed"
        self._pass(seconds - (0.2 if stop else 0))
        fact["end_ns"] = self.ns()
        self._each("step_done", step, seconds, 7.0 / (step + 1))
        self._finish_save()
        if self._ranks[0].saves_after(step, SAVE_EVERY):
            second = self._incarnation == 1
            if not self._save(step, second and step < KILLED_SAVING, second and step >= KILLED_SAVING):
                return "killed"
        if (step, self._incarnation) == (EVALUATED, 0):
            told = self._fact("evaluations", step=step, begin_ns=self.ns())
            self._each("evaluating", step)
            self._pass(0.8)
            self._each("evaluated", step, 0.8, 7.0 / (step + 1))
            told["end_ns"] = self.ns()
        if stop:
            self._each("obeys", SIGTERM)
            self._save(step, False, False)
            self._each("stops", SIGTERM)
            return "signal"
        return "completed"

    def _save(self, step: int, is_async: bool, cut: bool) -> bool:
        fact = self._fact("saves", step=step, begin_ns=self.ns(), blocked_until_ns=None, complete_ns=None, **{"async": is_async})
        self._each("saving", step, is_async)
        if is_async:
            self._pass(0.2)
            self._each("scheduled", step, 0.2)
            fact["blocked_until_ns"] = self.ns()
            fact["due"] = self._at + 1.6
            self._under_way = fact
            return True
        self._pass(1.5)
        fact["blocked_until_ns"] = self.ns()
        if cut:
            return False
        self._complete(fact, 1.5)
        return True

    def _complete(self, fact: Dict[str, Any], seconds: float) -> None:
        self._each("saved", fact["step"], seconds, fact["async"])
        fact["complete_ns"] = self.ns()
        self._kept = fact["step"]

    def _finish_save(self) -> None:
        """A completed asynchronous save is finalized between two steps."""
        if self._under_way is not None and self._at >= self._under_way["due"]:
            fact, self._under_way = self._under_way, None
            del fact["due"]
            self._complete(fact, 1.8)

    # --- its parts

    def ns(self) -> int:
        return round(self._at * 1_000_000) * 1000

    def _pass(self, seconds: float) -> None:
        self._at += seconds

    def _fact(self, kind: str, **fields: Any) -> Dict[str, Any]:
        fact = dict({"incarnation": self._incarnation}, **fields)
        self.facts[kind].append(fact)
        return fact

    def _each(self, moment: str, *what: Any) -> None:
        for rank in self._ranks:
            getattr(rank, moment)(*what)
            self._at += 0.0004
        told = {step for rank in self._ranks for step in rank.told}
        for fact in self.facts["steps"]:
            if fact["incarnation"] == self._incarnation:
                fact["told"] = fact["step"] in told

    def _write(self, data: bytes, stream: str, rank: int) -> None:
        if self.label:
            # srun --label marks the beginning of every line.
            lines = data.split(b"\n")
            marked = []
            for index, line in enumerate(lines):
                begins = index > 0 or not self._open_lines.get(rank)
                marked.append(b"%d: " % rank + line if begins and (line or index < len(lines) - 1) else line)
            self._open_lines[rank] = bool(lines[-1]) or (self._open_lines.get(rank, False) and len(lines) == 1)
            data = b"\n".join(marked)
        self.chunks.append({"t_ns": self.ns(), "rank": rank, "stream": stream, "base64": base64.b64encode(data).decode()})


def play(name: str, **options: Any) -> Dict[str, Any]:
    done = Play(name, **options)
    return {"framework": name, "first": FRAMEWORKS[name].first, "text": base64.b64encode(done.text()).decode(), "chunks": done.chunks,
            "facts": done.facts}


def main(argv: List[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=sorted(FRAMEWORKS))
    parser.add_argument("--seed", type=int, default=1, help="of the noise")
    parser.add_argument("--quiet", action="store_true", help="without noise")
    parser.add_argument("--label", action="store_true", help="as srun --label writes it")
    parser.add_argument("--log-every", type=int, default=0, metavar="STEPS")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    told = play(args.framework, seed=args.seed, noise=not args.quiet, label=args.label, log_every=args.log_every)
    if args.json:
        json.dump(told, sys.stdout)
        print()
    else:
        sys.stdout.buffer.write(base64.b64decode(told["text"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
