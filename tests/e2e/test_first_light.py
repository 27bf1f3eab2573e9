#!/usr/bin/python3
"""Jobs that train, are interrupted in every way Slurm has, and resume: sgoodput's report matches what happened.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_first_light

All scenarios run at once, since most of their time is waiting: setUpModule starts every cluster and every job, and each test
waits for its own job's outcome. Needs root and Debian's Slurm packages.
"""

import json
import os
import unittest
from typing import List, Tuple

from .harness.checks import assert_interruptions, assert_partition
from .harness.goodput_site import Cluster, Site
from .harness.judge import Judge, seconds
from .harness.lateness import lateness
from .harness.stage import Plan, Scenario, Stage
from .harness.truth import S
from .harness.variants import EVERY_VARIANT
from .harness.work import Outcome, Work

STAGE = Stage()


# --- the scenarios, each in its own thread

def checkpoint_signal(work: Work) -> Outcome:
    # Slurm sends it 20 to 50 s before the limit of one minute, because slurmctld checks every 30 s.
    work.submit("""
if [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then do="USR1=save-exit:85"; else do="USR1=ignore"; fi
srun %s --on-signal=$do; code=$?
if [ $code = 85 ]; then scontrol requeue $SLURM_JOB_ID; sleep 60; fi
exit $code""" % work.trainer("--steps-after-restore 10"), "-t1", "--signal=USR1@20", "--goodput-run=signalled")
    return work.outcome()


def preempted(work: Work) -> Outcome:
    # It saves no more, because a preemption is slow on a busy machine. Accounting truncates up to 1 s of the lost work.
    work.submit("srun " + work.trainer("--save-every 20 --last-save 20 --steps-after-restore 10"))
    work.steps(0, 26)
    return work.outcome(high=work.preempt())


def grace_completed(work: Work) -> Outcome:
    # At the begin of the grace time, Slurm sends TERM only to the steps; at its end also to the script. Until 23.11 the job then
    # ends; newer releases requeue it.
    work.submit("srun " + work.trainer("--save-every 10 --steps-after-restore 10 --on-signal=TERM=save-exit"),
                partition="a3grace")
    work.steps(0, 14)
    return work.outcome(high=work.preempt())


def grace_requeued(work: Work) -> Outcome:
    # Before it requeues itself, goodputd's look at the queue must see it preempted.
    work.submit("""
srun %s --on-signal=TERM=save-exit:85; code=$?
if [ $code = 85 ]; then sleep 3; scontrol requeue $SLURM_JOB_ID; sleep 60; fi
exit $code""" % work.trainer("--save-every 10 --steps-after-restore 10"), partition="a3grace")
    work.steps(0, 14)
    return work.outcome({"script_goes_on": True}, high=work.preempt())


def grace_ignored(work: Work) -> Outcome:
    # It would also save after the end, while the job completes; so it never saves.
    work.submit("[ \"$SLURM_RESTART_COUNT\" ] && few='--steps 20'\nsrun %s $few" % work.trainer("--on-signal=TERM=ignore"),
                partition="a3grace")
    work.steps(0, 14)
    return work.outcome(high=work.preempt())


def requeued(work: Work) -> Outcome:
    work.submit("srun " + work.trainer("--save-every 10 --last-save 10 --steps-after-restore 10"))
    work.steps(0, 15)
    work.control("requeue", str(work.job))
    return work.outcome()


def node_failed(work: Work) -> Outcome:
    work.submit("srun " + work.trainer("--save-every 10 --last-save 10 --steps-after-restore 10"))
    work.steps(0, 15)
    work.node_fails(work.nodes[0])
    return work.outcome(node=work.nodes[0])


def without_marks(work: Work) -> Outcome:
    work.submit("srun " + work.trainer("--steps 12 --save-every 5", marks=False))
    return work.outcome()


def still_running(work: Work) -> Outcome:
    # There is no other save, because a busy machine reacts slowly.
    work.submit("srun " + work.trainer("--save-every 30 --last-save 30"))
    work.steps(0, 36)
    show = work.site.show_json(work.job)
    job = show["jobs"][0]
    truth = work.site.truth(work.job, work.folder, job["submit_ns"] + job["wall_ns"])
    state = work.site.cluster.state(work.job)
    work.control("update", "jobid=%d" % work.job, "timelimit=1")  # so that a failing test does not leave it running
    work.site.cluster.run(["scancel", str(work.job)], user=work.user)
    return Outcome(work.site, work.job, work.folder, show, truth, {"state": state})


def everything(work: Work) -> Outcome:
    """One run with a checkpoint signal, a preemption, a requeue and a node failure that completes."""
    work.submit("""
case ${SLURM_RESTART_COUNT:-0} in
    0) how="--on-signal=USR1=save-exit:85" ;;
    4) how="--on-signal=USR1=ignore --steps-after-restore 10" ;;
    *) how="--on-signal=USR1=ignore" ;;
esac
srun %s $how; code=$?
if [ $code = 85 ]; then scontrol requeue $SLURM_JOB_ID; sleep 60; fi
exit $code""" % work.trainer("--save-every 10"), "-t1", "--signal=USR1@20", "--goodput-run=everything")
    work.steps(1, 15)
    work.preempt()
    work.steps(2, 15)
    work.control("requeue", str(work.job))
    work.steps(3, 15)
    work.node_fails(work.nodes[1])
    return work.outcome(node=work.nodes[1])


SCENARIOS: List[Tuple[Scenario, int]] = [  # with the nodes each needs, the longest first
    (everything, 2), (checkpoint_signal, 1), (grace_ignored, 1), (grace_requeued, 1), (grace_completed, 1),
    (preempted, 1), (requeued, 1), (node_failed, 1), (without_marks, 1), (still_running, 1)]


# Whether Slurm reports an attempt as PREEMPTED because an earlier one was.
REMEMBERS = (24, 5) <= Cluster.release() < (26, 5, 3)


def once_more(outcome: Outcome) -> List[Tuple[str, bool]]:
    """What else interrupts a job after a grace time that was cut short or used up: some Slurm (24.05 to 26.05.2) remembers it,
    and requeues the next attempt when that ends, calling it PREEMPTED, too. It has a third attempt then. Planned is what
    exits with 0 behind a save of its last step: a job that was told to stop at a multiple of its saves goes on to the next."""
    third = len(outcome.show["jobs"][0]["attempts"]) > 2
    if third and not REMEMBERS:
        raise AssertionError("this Slurm forgets a preemption")
    if not third:
        return []
    second = outcome.truth.incarnations[1][-1]
    end_ns = second.steps()[-1].end_ns
    return [("unknown", second.exit_code == 0 and any(begin >= end_ns for _, begin, _ in second.checkpoints()))]


# A node that was set down stays down until it is resumed.
STAYS_DOWN = ["ReturnToService=0"]


def plan() -> Plan:
    sites: Plan = {
        # Slurm's own 121 s between a requeue and the next start; on other sites 13 s.
        "backoff": (Site("cgroup", nodes=1, cred_expire_s=0), [(checkpoint_signal, 1)]),
        "cgroup": (Site("cgroup", nodes=11, grace_s=8, slurm_conf=STAYS_DOWN), SCENARIOS),
        "no-dbd": (Site("linuxproc", nodes=3, dbd=False, grace_s=8),
                   [(preempted, 1), (requeued, 1), (grace_completed, 1)]),
    }
    if EVERY_VARIANT:
        sites["linuxproc"] = (Site("linuxproc", nodes=11, grace_s=8, slurm_conf=STAYS_DOWN), SCENARIOS)
    if REMEMBERS:
        # So rarely that a preemption time is missed.
        sites["late-look"] = (Site("cgroup", nodes=1, grace_s=8, queue_interval_s=20), [(grace_requeued, 1)])
    return sites


def setUpModule() -> None:
    unittest.addModuleCleanup(STAGE.stop)
    STAGE.start(plan())


class Common(Judge):
    """Tests that also hold without slurmdbd."""

    STAGE = STAGE
    slack_s = 0.0

    def test_preempted_without_grace_loses_what_no_checkpoint_covers(self) -> None:
        outcome = self.outcome(preempted)
        job = self.close(outcome, self.slack_s)
        assert_interruptions(self, outcome.show, [("preempted", False)])
        self.resumes(job)
        # Including the step that was running.
        self.assertFalse(outcome.truth.lost[-1].whole)
        self.assertGreater(seconds(outcome.show, "lost_work"), 0.3)
        if outcome.site.cluster.dbd:
            evidence = " ".join(job["interruptions"][0]["evidence"])
            self.assertIn("job %d of partition high" % outcome.more["high"], evidence)

    def test_saved_within_the_grace_time_and_completed_is_still_an_interruption(self) -> None:
        outcome = self.outcome(grace_completed)
        job = self.close(outcome, self.slack_s)
        self.assertEqual(job["state"], "COMPLETED")
        assert_interruptions(self, outcome.show, [("preempted", True)])
        self.assertEqual(seconds(outcome.show, "lost_work"), 0)
        self.assertEqual(job["steps"]["lost"], 0)

    def test_scontrol_requeue_loses_what_no_checkpoint_covers(self) -> None:
        outcome = self.outcome(requeued)
        job = self.close(outcome, self.slack_s)
        assert_interruptions(self, outcome.show, [("user_requeue", False)])
        self.resumes(job)
        self.assertGreater(seconds(outcome.show, "lost_work"), 0.3)
        self.assertGreater(seconds(outcome.show, "requeue_backoff"), 5)


class Everywhere(Common):
    def test_checkpoint_signal_then_requeue_is_one_planned_interruption(self) -> None:
        outcome = self.outcome(checkpoint_signal)
        job = self.close(outcome)
        assert_interruptions(self, outcome.show, [("user_requeue", True)])
        self.resumes(job)
        self.assertEqual(seconds(outcome.show, "lost_work"), 0)
        self.assertGreater(seconds(outcome.show, "requeue_backoff"), 5)
        self.assertEqual(job["run"], "signalled")

    def test_saved_within_the_grace_time_then_requeued_loses_nothing(self) -> None:
        outcome = self.outcome(grace_requeued)
        job = self.close(outcome)
        more = once_more(outcome)
        assert_interruptions(self, outcome.show, [("preempted", True)] + more)
        self.resumes(job)
        self.assertEqual(job["attempts"][0]["kept_step"], job["attempts"][0]["last_step"])
        if not more:
            self.assertEqual(seconds(outcome.show, "lost_work"), 0)

    def test_ignoring_the_grace_time_loses_what_no_checkpoint_covers(self) -> None:
        outcome = self.outcome(grace_ignored)
        job = self.close(outcome)
        more = once_more(outcome)
        assert_interruptions(self, outcome.show, [("preempted", False)] + more)
        self.assertEqual([a["first_step"] for a in job["attempts"]], [1, 1] + [1] * len(more))
        self.assertGreater(seconds(outcome.show, "lost_work"), 8)

    def test_a_node_that_goes_down_is_named(self) -> None:
        outcome = self.outcome(node_failed)
        job = self.close(outcome)
        assert_interruptions(self, outcome.show, [("node_fail", False)])
        self.resumes(job)
        self.assertEqual(job["attempts"][0]["state"], "NODE_FAIL")
        self.assertEqual(job["interruptions"][0]["node"], outcome.more["node"])
        self.assertIn("power supply", " ".join(job["interruptions"][0]["evidence"]))
        self.assertGreater(seconds(outcome.show, "lost_work"), 0.3)

    def test_everything_in_one_run(self) -> None:
        outcome = self.outcome(everything)
        job = self.close(outcome)
        assert_interruptions(self, outcome.show, [("user_requeue", True), ("preempted", False),
                                                  ("user_requeue", False), ("node_fail", False)])
        self.resumes(job)
        self.assertEqual(job["state"], "COMPLETED")
        self.assertEqual([i["node"] for i in job["interruptions"]], [None, None, None, outcome.more["node"]])
        self.assertEqual([a["restart"] for a in job["attempts"]], [0, 1, 2, 3, 4])
        by_run = json.loads(outcome.site.sgoodput("show", "--run", "everything", "--json").stdout)
        self.assertEqual(by_run["jobs"], outcome.show["jobs"])

    def test_without_marks_nothing_is_claimed(self) -> None:
        outcome = self.outcome(without_marks)
        assert_partition(self, outcome.show)
        job = outcome.show["jobs"][0]
        for name in ("runtime", "mpg", "sg_rg", "program", "runtime_range"):
            self.assertIsNone(job["goodput"][name], name)
        self.assertIsNotNone(job["goodput"]["scheduling"])
        self.assertEqual({name: None for name in job["definitions"]}, job["definitions"])
        self.assertEqual(job["steps"], {"count": 0, "kept": 0, "lost": 0, "failed": 0, "at_risk": 0, "median_s": None, "last_begin_ns": None})
        alive, = [i for group in outcome.truth.incarnations for i in group]
        self.assertAlmostEqual(seconds(outcome.show, "unobserved"), (alive.end_ns - alive.begin_ns) / S,
                               delta=0.3 * lateness())
        for bucket in ("productive", "at_risk", "lost_work", "stall", "startup"):
            self.assertEqual(seconds(outcome.show, bucket), 0, bucket)
        text = outcome.site.sgoodput("show", str(outcome.job)).stdout
        self.assertIn("no steps seen", text)

    def test_a_running_job_has_work_at_risk_and_no_end(self) -> None:
        outcome = self.outcome(still_running)
        self.assertEqual(outcome.more["state"], "RUNNING")
        job = self.close(outcome)
        self.assertEqual(job["state"], "RUNNING")
        self.assertIsNone(job["end_ns"])
        self.assertIsNone(job["attempts"][-1]["end_ns"])
        self.assertEqual(job["interruptions"], [])
        self.assertGreater(seconds(outcome.show, "at_risk"), 1)
        self.assertAlmostEqual(job["steps"]["at_risk"], len(outcome.truth.open), delta=self.on_the_way(outcome.truth))
        low, high = job["goodput"]["runtime_range"]
        self.assertEqual(low, job["goodput"]["runtime"])
        self.assertGreater(high, low)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class CgroupTest(Everywhere):
    SITE = "cgroup"


if EVERY_VARIANT:
    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    class LinuxprocTest(Everywhere):
        SITE = "linuxproc"


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class WithoutSlurmdbdTest(Common):
    SITE = "no-dbd"
    slack_s = 0.5  # the interval of the daemon's queue query


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class BackoffTest(Judge):
    STAGE = STAGE
    SITE = "backoff"

    def test_slurm_s_own_backoff_has_its_bucket(self) -> None:
        outcome = self.outcome(checkpoint_signal)
        job = self.close(outcome)
        assert_interruptions(self, outcome.show, [("user_requeue", True)])
        self.resumes(job)
        self.assertEqual(seconds(outcome.show, "lost_work"), 0)
        # 121 s in 22.05 and 24.11; 124 s in 26.05.
        self.assertAlmostEqual(seconds(outcome.show, "requeue_backoff"), 122.5, delta=3.7)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
@unittest.skipUnless(REMEMBERS, "this Slurm forgets a preemption with its attempt")
class LateLookTest(Judge):
    STAGE = STAGE
    SITE = "late-look"

    def test_a_preemption_nobody_saw_is_told_by_what_is_left_of_it(self) -> None:
        outcome = self.outcome(grace_requeued)
        job = self.close(outcome)
        assert_interruptions(self, outcome.show, [("preempted", True)] + once_more(outcome))
        evidence = " ".join(job["interruptions"][0]["evidence"])
        self.assertRegex(evidence, "inferred: it exited before the requeue|the controller set a preemption time")


del Judge, Common, Everywhere  # base classes, not tests


if __name__ == "__main__":
    unittest.main(verbosity=2)
