"""What jobs wait for: their user, an administrator, a time, another job."""

import time

from ..harness.checks import assert_buckets_close
from ..harness.judge import seconds
from ..harness.lateness import lateness
from ..harness.truth import S
from ..harness.work import Outcome, Work
from . import Way

SHORT = "--save-every 10 --steps 10"
# Until slurmctld has tried to start a job, its pending reason is None.
FOR_NODES = ("Resources", "Priority")
# Only the queue watch knows since when a job is held, and its interval is at least 50 times the duration of a query.
LATE_S = 3.0


def submitted_held(work: Work) -> Outcome:
    work.submit("srun " + work.trainer(SHORT), "-H")
    work.pause(4)
    work.control("release", str(work.job))
    return work.outcome()


def _held(work: Work, by: str, bucket: str) -> Outcome:
    """Pending behind another job for a while, then held, and released after the other job has ended."""
    blocker = work.occupy()
    work.submit("srun " + work.trainer(SHORT))
    work.site.wait_watched(work.job, ["PENDING"], FOR_NODES)
    work.pause(4)
    work.control("hold", str(work.job), user=by)
    held = time.time_ns()
    work.site.wait_watched(work.job, ["PENDING"], ["JobHeldUser", "JobHeldAdmin"])
    work.pause(4)
    work.site.cluster.run(["scancel", str(blocker)])
    work.pause(2)
    work.control("release", str(work.job), user=by)
    return work.outcome({"not_eligible": [("queue", held), (bucket, time.time_ns())]})


def held_by_user(work: Work) -> Outcome:
    return _held(work, work.user, "hold")


def held_by_admin(work: Work) -> Outcome:
    return _held(work, "root", "queue")


held_by_user.user = held_by_admin.user = "nobody"  # type: ignore


def begin_time(work: Work) -> Outcome:
    work.submit("srun " + work.trainer(SHORT), "--begin=now+15")  # a busy machine may need seconds to submit it
    return work.outcome()


def depends_on_another(work: Work) -> Outcome:
    other = work.site.cluster.sbatch("sleep 600", user=work.user, options=["-w", work.nodes[0]])
    work.submit("srun " + work.trainer(SHORT), "--dependency=afterany:%d" % other)
    work.site.wait_watched(work.job, ["PENDING"], ["Dependency"])
    work.pause(4)
    work.site.cluster.run(["scancel", str(other)])
    return work.outcome()


def chain(work: Work) -> Outcome:
    """Two jobs of one run; the second waits for the first."""
    first = work.submit("srun " + work.trainer(SHORT), "--goodput-run=chain")
    second = work.submit("srun " + work.trainer("--save-every 10 --steps 20"), "--goodput-run=chain",
                         "--dependency=afterok:%d" % first)
    work.site.settle(second)
    return work.run_outcome("chain", [first, second], {"chained": True})


def still_pending(work: Work) -> Outcome:
    blocker = work.occupy()
    work.submit("srun " + work.trainer(SHORT))
    work.site.wait_watched(work.job, ["PENDING"], FOR_NODES)
    work.pause(3)
    show = work.site.show_json(work.job)
    job = show["jobs"][0]
    truth = work.site.truth(work.job, work.folder, job["submit_ns"] + job["wall_ns"])
    work.site.cluster.run(["scancel", str(work.job), str(blocker)])
    return Outcome(work.site, work.job, work.folder, show, truth)


def cancelled_pending(work: Work) -> Outcome:
    blocker = work.occupy()
    work.submit("srun " + work.trainer(SHORT))
    work.site.wait_watched(work.job, ["PENDING"], FOR_NODES)
    work.pause(3)
    work.site.cluster.run(["scancel", str(work.job), str(blocker)])
    return work.outcome()


def suspended(work: Work) -> Outcome:
    work.submit("srun " + work.trainer("--save-every 10 --steps 30"))
    work.steps(0, 13)
    moments = []
    for word in ("suspend", "resume"):
        work.control(word, str(work.job), user="root")
        moments.append(work.site.cluster.time_of(work.job, "SuspendTime"))
        work.pause(5)
    return work.outcome({"suspended": [tuple(moments)]})


def still_suspended(work: Work) -> Outcome:
    work.submit("srun " + work.trainer("--save-every 10 --steps 40"))
    work.steps(0, 13)
    work.control("suspend", str(work.job), user="root")
    since = work.site.cluster.time_of(work.job, "SuspendTime")
    work.site.wait_watched(work.job, ["SUSPENDED"])
    work.pause(3)
    show = work.site.show_json(work.job)
    now = show["jobs"][0]["submit_ns"] + show["jobs"][0]["wall_ns"]
    truth = work.site.truth(work.job, work.folder, now, suspended=[(since, now)])
    work.control("resume", str(work.job), user="root")
    work.site.cluster.run(["scancel", str(work.job)])
    return Outcome(work.site, work.job, work.folder, show, truth)


def nodes_boot(work: Work) -> Outcome:
    """On cloud nodes that do not exist yet. Slurm resets the start time when they have booted, at most 30 s later."""
    nodes = work.site.cluster.cloud_nodes
    work.job = work.site.cluster.sbatch("srun " + work.trainer(SHORT), user=work.user, options=[
        "-p", "cloud", "-N%d" % len(nodes), "--gres=gpu:8", "--job-name=" + work.name])
    # Of the answer that says so: a moment later the nodes may have booted.
    allocated = work.site.cluster.time_in(work.site.cluster.wait_state(work.job, "CONFIGURING"), "StartTime")
    return work.outcome({"allocated_ns": allocated}, allocated=allocated)


class Waits(Way):
    def test_submitted_held_is_hold(self) -> None:
        outcome = self.outcome(submitted_held)
        self.close(outcome)
        self.assertGreater(seconds(outcome.show, "hold"), 3)

    def test_held_by_its_user_is_hold(self) -> None:
        outcome = self.outcome(held_by_user)
        self.close(outcome, LATE_S * lateness())
        self.assertGreater(seconds(outcome.show, "hold"), 3)
        self.assertGreater(seconds(outcome.show, "queue_resources") + seconds(outcome.show, "queue_priority"), 2)

    def test_held_by_an_admin_is_queue(self) -> None:
        outcome = self.outcome(held_by_admin)
        self.close(outcome, LATE_S * lateness())
        self.assertGreater(seconds(outcome.show, "queue_other"), 3)
        self.assertEqual(seconds(outcome.show, "hold"), 0)

    def test_a_begin_time_is_hold(self) -> None:
        outcome = self.outcome(begin_time)
        self.close(outcome)
        self.assertGreater(seconds(outcome.show, "hold"), 4.5)

    def test_waiting_for_a_job_outside_the_run_is_hold(self) -> None:
        outcome = self.outcome(depends_on_another)
        self.close(outcome)
        self.assertGreater(seconds(outcome.show, "hold"), 3.5)

    def test_waiting_for_a_job_of_the_same_run_is_not(self) -> None:
        outcome = self.outcome(chain)
        job = self.close(outcome)
        self.assertEqual(len(job["attempts"]), 2)
        self.resumes(job)
        self.assertEqual(seconds(outcome.show, "hold"), 0)
        self.assertEqual(seconds(outcome.show, "lost_work"), 0)

    def test_a_pending_job_has_only_waited(self) -> None:
        outcome = self.outcome(still_pending)
        job = self.close(outcome)
        self.assertEqual(job["state"], "PENDING")
        self.assertIsNone(job["end_ns"])
        self.assertEqual(job["goodput"]["scheduling"], 0)
        for name in ("runtime", "mpg"):
            self.assertIsNone(job["goodput"][name])
        self.assertGreater(seconds(outcome.show, "queue_resources") + seconds(outcome.show, "queue_priority"), 1)

    def test_a_job_cancelled_before_it_started_has_only_waited(self) -> None:
        outcome = self.outcome(cancelled_pending)
        job = self.close(outcome)
        self.assertEqual(job["state"], "CANCELLED")
        self.assertIsNotNone(job["end_ns"])
        self.assertIsNone(job["attempts"][0]["start_ns"])
        self.assertEqual(job["interruptions"], [])
        self.assertEqual(job["goodput"]["scheduling"], 0)
        self.assertGreater(seconds(outcome.show, "queue_resources") + seconds(outcome.show, "queue_priority"), 1)

    def test_while_its_nodes_boot_a_job_is_provisioning(self) -> None:
        outcome = self.outcome(nodes_boot)
        job = self.close(outcome)
        booting = (job["attempts"][0]["start_ns"] - outcome.more["allocated"]) / S
        self.assertGreater(booting, 4)
        self.assertGreater(seconds(outcome.show, "provisioning"), booting)
        self.assertEqual(job["gpus"], 16)

    def test_suspended_time_is_where_it_was(self) -> None:
        outcome = self.outcome(suspended)
        job = self.close(outcome)
        self.assertGreater(seconds(outcome.show, "suspended"), 3.5)
        self.assertEqual(seconds(outcome.show, "stall"), 0)
        self.assertEqual(job["interruptions"], [])

    def test_a_job_that_is_suspended_now(self) -> None:
        outcome = self.outcome(still_suspended)
        assert_buckets_close(self, outcome.show, outcome.truth)
        job, = outcome.show["jobs"]
        self.assertEqual(job["state"], "SUSPENDED")
        self.assertIsNone(job["end_ns"])
        self.assertEqual(job["interruptions"], [])
        self.assertGreater(seconds(outcome.show, "suspended"), 2)
        self.assertEqual(seconds(outcome.show, "stall") + seconds(outcome.show, "unobserved"), 0)
