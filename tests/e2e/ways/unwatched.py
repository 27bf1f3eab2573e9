"""Without goodputd: only the plugin and accounting. What they cannot know is reported as unknown."""

from typing import Dict

from ..harness.checks import assert_attempts, assert_buckets_close, assert_interruptions
from ..harness.judge import seconds
from ..harness.lateness import lateness
from ..harness.truth import S
from ..harness.work import Outcome, Work
from . import Way, waits


def nodes_boot_unwatched(work: Work) -> Outcome:
    outcome = waits.nodes_boot(work)
    # In accounting, the job waited until its nodes had booted.
    return outcome._replace(truth=work.site.truth(work.job, work.folder))


def requeued_unwatched(work: Work) -> Outcome:
    work.submit("srun " + work.trainer("--save-every 10 --steps-after-restore 10"))
    work.steps(0, 13)
    work.control("requeue", str(work.job))
    return work.outcome()


def held_unwatched(work: Work) -> Outcome:
    work.submit("srun " + work.trainer(waits.SHORT), "-H")
    work.pause(4)
    work.control("release", str(work.job))
    return work.outcome()


def suspended_unwatched(work: Work) -> Outcome:
    return waits.suspended(work)


def preempted_unwatched(work: Work) -> Outcome:
    work.submit("srun " + work.trainer("--save-every 10"), "--no-requeue")
    work.steps(0, 13)
    return work.outcome(high=work.preempt())


class Unwatched(Way):
    def close_unheard(self, outcome: Outcome) -> Dict:
        assert_buckets_close(self, outcome.show, outcome.truth.without_marks(), unobserved=True)
        assert_attempts(self, outcome.show, outcome.truth)
        job, = outcome.show["jobs"]
        self.assertEqual(job["steps"]["count"], 0)
        for name in ("runtime", "mpg", "sg_rg"):
            self.assertIsNone(job["goodput"][name], name)
        return job

    def evidence(self, job: Dict, bucket: str) -> str:
        found, = [b["evidence"] for b in job["buckets"] if b["name"] == bucket]
        return found

    def test_the_time_nodes_boot_is_queue_by_accounting(self) -> None:
        outcome = self.outcome(nodes_boot_unwatched)
        job = self.close_unheard(outcome)
        booting = (job["attempts"][0]["start_ns"] - outcome.more["allocated"]) / S
        self.assertGreater(booting, 4)
        self.assertGreaterEqual(seconds(outcome.show, "queue_other"), booting)
        self.assertEqual(self.evidence(job, "queue_other"), "accounting")
        parts, = [b["parts"] for b in job["buckets"] if b["name"] == "queue_other"]
        self.assertEqual([part["name"] for part in parts], ["reason not recorded"])

    def test_a_requeue_and_its_back_off(self) -> None:
        outcome = self.outcome(requeued_unwatched)
        job = self.close_unheard(outcome)
        assert_interruptions(self, outcome.show, [("user_requeue", False)])
        self.assertEqual(self.evidence(job, "requeue_backoff"), "accounting")
        self.assertEqual([attempt["restart"] for attempt in job["attempts"]], [0, 1])

    def test_a_hold(self) -> None:
        outcome = self.outcome(held_unwatched)
        job = self.close_unheard(outcome)
        self.assertGreater(seconds(outcome.show, "hold"), 3)
        self.assertEqual(self.evidence(job, "hold"), "accounting")

    def test_of_a_suspension_its_length_is_known_and_that_its_place_is_not(self) -> None:
        outcome = self.outcome(suspended_unwatched)
        job, = outcome.show["jobs"]
        self.assertAlmostEqual(seconds(outcome.show, "suspended"), outcome.truth.sums()["suspended"] / S, delta=2.2 * lateness())
        self.assertEqual(self.evidence(job, "suspended"), "inferred")

    def test_a_preemption_without_requeue(self) -> None:
        outcome = self.outcome(preempted_unwatched)
        self.close_unheard(outcome)
        assert_interruptions(self, outcome.show, [("preempted", False)])
