#!/usr/bin/python3
"""The rules of uninstrumented.py reject what they are for.

    python3 -m unittest tests.e2e.harness.test_uninstrumented_rules
"""

import types
import unittest
from typing import Dict, List, Optional
from unittest import mock

from . import checks, uninstrumented
from .truth import S, Truth
from .uninstrumented import assert_close

T0 = 1_800_000_000
STEP_S = 0.2


def trained(first: int, last: int, begin_s: float, save: int, restart: int, code: Optional[int]) -> List[Dict]:
    """Records of a start with steps of 0.2 s and one save of 2 s."""
    records: List[Dict] = [{"event": "start", "t": begin_s, "slurm_step": "0", "restart": restart}]
    at = begin_s + 1
    for step in range(first, last + 1):
        records += [{"event": "step_begin", "step": step, "t": at}, {"event": "step_end", "step": step, "t": at + STEP_S}]
        at += STEP_S
        if step == save:
            records += [{"event": "save_begin", "step": step, "t": at}, {"event": "save_end", "step": step, "t": at + 2}]
            at += 2
    if code is not None:
        records.append({"event": "exit", "code": code, "t": at})
    for record in records:
        record["t"] = T0 * S + round(record["t"] * S)
    records[0]["exec_t"] = records[0]["t"]
    return records


def row(state: str, submit: int, start: int, end: int) -> Dict:
    return {"JobID": "7", "State": state, "Submit": T0 + submit, "Eligible": T0 + submit, "Start": T0 + start, "End": T0 + end}


class RulesTest(unittest.TestCase):
    def setUp(self) -> None:
        for module in (checks, uninstrumented):
            idle = mock.patch.object(module, "lateness", lambda: 1.0)
            idle.start()
            self.addCleanup(idle.stop)
        # 40 of 60 steps are saved and 20 lost; the next attempt does 41 to 100.
        self.truth = Truth(trained(1, 60, 1, 40, 0, None) + trained(41, 100, 31, 80, 1, 0),
                           [row("REQUEUED", 0, 0, 16), row("COMPLETED", 16, 30, 47)])
        self.said = dict(self.truth.sums())
        self.range: Optional[List[float]] = None

    def check(self, *unknown: str) -> None:
        up = sum(ns for bucket, ns in self.said.items() if bucket not in ("queue", "requeue_backoff"))
        job = {"buckets": [{"name": name, "ns": ns, "seconds": ns / S} for name, ns in self.said.items()],
               "goodput": {"runtime": self.said["productive"] / up, "runtime_range": self.range}}
        assert_close(self, types.SimpleNamespace(truth=self.truth, show={"jobs": [job]}), *unknown)  # type: ignore

    def move(self, source: str, target: str, seconds: float) -> None:
        self.said[source] -= round(seconds * S)
        self.said[target] = self.said.get(target, 0) + round(seconds * S)

    def test_the_truth_passes(self) -> None:
        self.assertAlmostEqual(self.said["lost_work"] / S, 4, delta=1.1)
        self.check()

    def test_lost_work_counted_as_productive_fails(self) -> None:
        self.move("lost_work", "productive", self.said["lost_work"] / S)
        with self.assertRaisesRegex(AssertionError, "lost_work says too little"):
            self.check()

    def test_saves_counted_as_steps_fail(self) -> None:
        self.move("checkpoint_save", "productive", 4)
        with self.assertRaisesRegex(AssertionError, "productive says too much"):
            self.check("checkpoint_save")

    def test_what_is_not_known_may_be_unobserved_with_a_range(self) -> None:
        self.move("checkpoint_save", "unobserved", 4)
        self.range = [0.6, 0.7]
        self.check("checkpoint_save")
        self.range = [0.0, 1.0]
        with self.assertRaisesRegex(AssertionError, "the range is wider"):
            self.check("checkpoint_save")

    def test_known_time_that_is_unobserved_fails(self) -> None:
        self.move("productive", "unobserved", 12)
        with self.assertRaisesRegex(AssertionError, "too much is unobserved"):
            self.check()


if __name__ == "__main__":
    unittest.main()
