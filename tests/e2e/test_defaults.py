#!/usr/bin/python3
"""Nothing is shortened: goodputd's default intervals, Slurm's default scheduling intervals and KillWait, and the 121 s that a
requeued job waits. The other suites shorten all of these to save time.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_defaults
"""

import os
import unittest

from .harness.checks import assert_attempts, assert_buckets_close, assert_interruptions
from .harness.goodput_site import Site
from .harness.judge import assert_valid
from .harness.stage import Plan, Stage
from .harness.uninstrumented import assert_close
from .harness.work import Outcome, Work

STAGE = Stage()
BACKOFF_S = 120
STEPS = "--step-seconds 0.3 --save-every 20 --steps 130 "


def interrupted(work: Work, program: str, *options: str) -> Outcome:
    work.submit("srun " + program, "--open-mode=append", *options)
    work.steps(0, 55)
    work.control("requeue", str(work.job))
    return work.outcome()


def by_marks(work: Work) -> Outcome:
    return interrupted(work, work.trainer(STEPS))


def preempted(work: Work) -> Outcome:
    work.submit("srun " + work.trainer(STEPS))
    work.steps(0, 55)
    work.preempt()
    return work.outcome()


def by_checkpoints(work: Work) -> Outcome:
    return interrupted(work, work.trainer("--framework megatron " + STEPS, marks=False), "--goodput-checkpoint-dir=" + work.folder)


def by_output(work: Work) -> Outcome:
    return interrupted(work, work.trainer("--framework megatron " + STEPS, marks=False), "--goodput-log-profile=megatron")


SCENARIOS = [(preempted, 1), (by_marks, 1), (by_checkpoints, 1), (by_output, 1)]


def setUpModule() -> None:
    unittest.addModuleCleanup(STAGE.stop)
    site = Site("cgroup", nodes=len(SCENARIOS), cred_expire_s=0, queue_interval_s=None, kill_wait_s=30,
                slurm_conf=["SchedulerParameters=bf_interval=30"])
    STAGE.start({"": (site, SCENARIOS)})  # type: Plan


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class DefaultsTest(unittest.TestCase):
    def outcome(self, scenario: object) -> Outcome:
        outcome = STAGE.outcome("", scenario)
        assert_valid(outcome.show)
        assert_attempts(self, outcome.show, outcome.truth)
        waited = [b["seconds"] for b in outcome.show["jobs"][0]["buckets"] if b["name"] == "requeue_backoff"]
        self.assertEqual(len(waited), 1)
        self.assertGreaterEqual(waited[0], BACKOFF_S)
        return outcome

    def test_preempted_with_marks(self) -> None:
        outcome = self.outcome(preempted)
        assert_buckets_close(self, outcome.show, outcome.truth)
        assert_interruptions(self, outcome.show, [("preempted", False)])

    def test_requeued_with_marks(self) -> None:
        outcome = self.outcome(by_marks)
        assert_buckets_close(self, outcome.show, outcome.truth)

    def test_requeued_by_its_checkpoints_alone(self) -> None:
        assert_close(self, self.outcome(by_checkpoints), "checkpoint_save", "drain")

    def test_requeued_by_its_output_alone(self) -> None:
        assert_close(self, self.outcome(by_output))


if __name__ == "__main__":
    unittest.main()
