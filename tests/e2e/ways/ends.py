"""How jobs end: time limit, cancellation, preemption, out of memory, failure, several in a row."""

import time
from typing import Dict

from ..harness.checks import assert_interruptions
from ..harness.judge import seconds
from ..harness.lateness import lateness
from ..harness.truth import S, read_log
from ..harness.work import Outcome, Work
from . import Way

# Nearly two seconds of work since its save, of which accounting's whole seconds remove up to one; and no other save, however long a
# busy machine needs to end the job.
SAVES_ONCE = "--save-every 20 --last-save 20"
SAVED = 26
# The time without a step, and the duration of a step: a stall of a minute is a hang.
HANG_S = 63


def timed_out(work: Work) -> Outcome:
    # slurmctld checks limits every 30 s: the job ends 60 to 90 s after its start.
    work.submit("srun " + work.trainer("--save-every 180"), "-t1", "--no-requeue")
    return work.outcome()


def _cancelled(work: Work, by: str) -> Outcome:
    work.submit("srun " + work.trainer(SAVES_ONCE))
    work.steps(0, SAVED)
    work.site.cluster.run(["scancel", str(work.job)], user=by)
    return work.outcome()


def cancelled_by_owner(work: Work) -> Outcome:
    return _cancelled(work, work.user)


def cancelled_by_root(work: Work) -> Outcome:
    return _cancelled(work, "root")


cancelled_by_owner.user = cancelled_by_root.user = "nobody"  # type: ignore


def cancelled_saving(work: Work) -> Outcome:
    """The program saves at scancel's TERM and exits with 0."""
    work.submit("srun " + work.trainer("--save-every 10 --on-signal=TERM=save-exit"))
    work.steps(0, 16)
    work.site.cluster.run(["scancel", str(work.job)], user=work.user)
    return work.outcome()


def grace_dying(work: Work) -> Outcome:
    # At the begin of the grace time the step receives TERM; srun and therefore the script exit with 143. Since 24.05 Slurm
    # requeues every job that ends in the grace time.
    work.submit("srun " + work.trainer(SAVES_ONCE + " --steps-after-restore 10"), partition="a3grace")
    work.steps(0, SAVED)
    return work.outcome(high=work.preempt_for_good())


def grace_exit_0(work: Work) -> Outcome:
    work.submit("srun " + work.trainer(SAVES_ONCE + " --steps-after-restore 10 --on-signal=TERM=exit:0"), partition="a3grace")
    work.steps(0, SAVED)
    work.preempt()
    return work.outcome()


def preempted_for_good(work: Work) -> Outcome:
    work.submit("srun " + work.trainer("--save-every 10"), "--no-requeue")
    work.steps(0, 16)
    return work.outcome(high=work.preempt_for_good())


def out_of_memory(work: Work) -> Outcome:
    work.submit("srun " + work.trainer("--save-every 10 --eat-at-step 17"), "--mem=200M")
    return work.outcome()


def failed_at_start(work: Work) -> Outcome:
    work.submit("srun " + work.trainer("--fail-at-start 1 --init-seconds 2"))
    return work.outcome()


def crash_loop(work: Work) -> Outcome:
    """The program fails by itself three times, and the script requeues the job."""
    work.submit("""
srun %s; code=$?
if [ $code != 0 ]; then scontrol requeue $SLURM_JOB_ID; sleep 60; fi""" % work.trainer(
        "--save-every 5 --steps 28 --crash-at-step 8,14,23:3"))
    return work.outcome()


def requeue_held(work: Work) -> Outcome:
    """`scontrol requeuehold`, and `scontrol release` before the back-off is over."""
    work.submit("srun " + work.trainer("--save-every 10 --steps-after-restore 10"))
    work.steps(0, 16)
    work.control("requeuehold", str(work.job))
    work.site.cluster.wait_state(work.job, "PENDING")
    work.pause(3)
    work.control("release", str(work.job))
    released = time.time_ns()
    work.site.cluster.wait_state(work.job, "RUNNING")
    return work.outcome({"not_eligible": [("hold", released), ("requeue_backoff", time.time_ns())]})


def requeued_when_over(work: Work) -> Outcome:
    """Its owner requeues it some seconds after it has completed, and it does ten more steps."""
    work.submit("srun " + work.trainer("--save-every 5 --steps $((SLURM_RESTART_COUNT > 0 ? 20 : 10))"))
    work.site.wait_watched(work.job, ["COMPLETED"])
    work.pause(8)
    work.control("requeue", str(work.job))
    return work.outcome()


def requeued_beside_a_rival(work: Work) -> Outcome:
    """Its owner requeues it while a job of the same partition, which may not preempt anything, waits for its nodes."""
    work.submit("srun " + work.trainer("--save-every 10 --steps-after-restore 10"))
    work.steps(0, 16)
    rival = work.site.cluster.sbatch("sleep 2", user="games", options=work.options() + ["--job-name=rival"])
    work.pause(2)
    work.control("requeue", str(work.job))
    work.site.wait_watched(rival, ["RUNNING", "COMPLETED"])
    return work.outcome()


def _hangs(work: Work, *options: str) -> None:
    work.submit("srun " + work.trainer("--save-every 10 --hang-at-step 17 --steps-after-restore 10"), *options)
    work.site.wait_event(work.folder, "hang")


def hung_and_cancelled(work: Work) -> Outcome:
    _hangs(work)
    work.pause(HANG_S)
    live = work.site.show_json(work.job)
    work.site.cluster.run(["scancel", str(work.job)], user=work.user)
    return work.outcome(live=live)


def hung_and_requeued(work: Work) -> Outcome:
    _hangs(work)
    work.pause(HANG_S)
    work.control("requeue", str(work.job))
    return work.outcome()


def hung_until_its_limit(work: Work) -> Outcome:
    _hangs(work, "-t5", "--no-requeue")
    # slurmctld checks limits every 30 s.
    work.control("update", "jobid=%d" % work.job, "endtime=now+%d" % HANG_S, user="root")
    return work.outcome()


def asked_for_requeue(work: Work) -> Outcome:
    """It saves at a signal and exits with 93, which is this cluster's RequeueExit."""
    work.submit("srun " + work.trainer("--save-every 10 --steps-after-restore 10 --on-signal=USR1=save-exit:93"))
    work.steps(0, 16)
    work.site.cluster.run(["scancel", "-s", "USR1", str(work.job)], user=work.user)
    return work.outcome()


def submitted_again(work: Work) -> Outcome:
    """The same without Slurm's help: the next job of the run is submitted by hand."""
    program = "srun " + work.trainer("--save-every 10 --steps-after-restore 10 --on-signal=USR1=save-exit:93")
    first = work.submit(program, "--goodput-run=" + work.name)
    work.steps(0, 16)
    work.site.cluster.run(["scancel", "-s", "USR1", str(first)], user=work.user)
    work.site.settle(first)
    work.pause(3)
    second = work.submit(program, "--goodput-run=" + work.name)
    return work.run_outcome(work.name, [first, second])


class Ends(Way):
    def test_out_of_time_is_planned_and_loses_what_was_not_saved(self) -> None:
        outcome = self.outcome(timed_out)
        job = self.close(outcome)
        self.assertEqual(job["state"], "TIMEOUT")
        assert_interruptions(self, outcome.show, [("timeout", True)])
        self.assertGreater(seconds(outcome.show, "lost_work"), 1)

    def test_scancel_names_who_cancelled(self) -> None:
        for scenario, who in ((cancelled_by_owner, "nobody"), (cancelled_by_root, "root")):
            with self.subTest(who=who):
                outcome = self.outcome(scenario)
                job = self.close(outcome)
                self.assertEqual(job["state"], "CANCELLED")
                assert_interruptions(self, outcome.show, [("cancelled", False)])
                self.assertIn("cancelled by %s" % who, "; ".join(job["interruptions"][0]["evidence"]))
                self.assertGreater(seconds(outcome.show, "lost_work"), 0.5)

    def test_saving_at_scancel_loses_nothing(self) -> None:
        outcome = self.outcome(cancelled_saving)
        job = self.close(outcome)
        self.assertEqual(job["state"], "CANCELLED")
        assert_interruptions(self, outcome.show, [("cancelled", True)])
        self.assertEqual(job["steps"]["lost"], 0)

    def test_dying_of_the_grace_time_s_signal_was_a_preemption(self) -> None:
        outcome = self.outcome(grace_dying)
        job = self.close(outcome)
        # Until 23.11 it is not requeued, although it was preempted: Slurm considers it failed.
        by_itself = outcome.site.cluster.release() < (24, 5)
        states = ["FAILED"] if by_itself else ["PREEMPTED", "COMPLETED"]
        self.assertEqual([attempt["state"] for attempt in job["attempts"]], states)
        assert_interruptions(self, outcome.show, [("preempted", False)])
        evidence = "; ".join(job["interruptions"][0]["evidence"])
        # If it is requeued at once, the queue watch may miss the time.
        self.assertIn("preemption time" if by_itself else "Slurm's state: PREEMPTED", evidence)
        self.assertIn("job %d of partition high" % outcome.more["high"], evidence)
        self.assertGreater(seconds(outcome.show, "lost_work"), 0.5)

    def test_leaving_with_0_at_the_grace_time_s_signal_is_no_end_in_good_order(self) -> None:
        outcome = self.outcome(grace_exit_0)
        job = self.close(outcome)
        states = ["COMPLETED"] if outcome.site.cluster.release() < (24, 5) else ["PREEMPTED", "COMPLETED"]
        self.assertEqual([attempt["state"] for attempt in job["attempts"]], states)
        assert_interruptions(self, outcome.show, [("preempted", False)])
        self.assertGreater(job["steps"]["lost"], 0)

    def test_preempted_with_no_requeue_is_over(self) -> None:
        outcome = self.outcome(preempted_for_good)
        job = self.close(outcome)
        self.assertEqual(job["state"], "PREEMPTED")
        self.assertEqual(len(job["attempts"]), 1)
        assert_interruptions(self, outcome.show, [("preempted", False)])
        self.assertIn("job %d of partition high" % outcome.more["high"], "; ".join(job["interruptions"][0]["evidence"]))

    def test_the_kernel_s_oom_killer(self) -> None:
        outcome = self.outcome(out_of_memory)
        job = self.close(outcome)
        # On a busy machine Slurm may miss the kernel's notice; its records then only show that the step was killed.
        seen = any(row["State"] == "OUT_OF_MEMORY" for attempt in outcome.truth.attempts for row in attempt.steps)
        assert_interruptions(self, outcome.show, [("oom" if seen else "failed", False)])
        self.assertIn("a task was killed by signal 9", job["interruptions"][0]["evidence"])
        self.assertGreater(seconds(outcome.show, "lost_work"), 0.5)

    def test_failing_before_the_first_step_is_startup(self) -> None:
        outcome = self.outcome(failed_at_start)
        job = self.close(outcome)
        self.assertEqual(job["state"], "FAILED")
        assert_interruptions(self, outcome.show, [("failed", False)])
        self.assertEqual(job["steps"]["count"], 0)
        self.assertGreater(seconds(outcome.show, "startup"), 1)

    def test_a_crash_loop_is_failures_not_requeues(self) -> None:
        outcome = self.outcome(crash_loop)
        job = self.close(outcome)
        self.assertEqual(job["state"], "COMPLETED")
        assert_interruptions(self, outcome.show, [("failed", False)] * 3)
        self.resumes(job)
        self.assertEqual([a["restart"] for a in job["attempts"]], [0, 1, 2, 3])
        self.assertIn("exited with code 3", "; ".join(job["interruptions"][0]["evidence"]))

    def test_requeued_in_held_state_is_hold_until_its_release_and_then_back_off(self) -> None:
        outcome = self.outcome(requeue_held)
        job = self.close(outcome)
        assert_interruptions(self, outcome.show, [("user_requeue", False)])
        self.resumes(job)
        self.assertGreater(seconds(outcome.show, "hold"), 3)
        # The back-off runs during the hold: the slower the machine, the less is left of it (close compares how much). On a slow
        # machine, seconds are between two looks of goodputd, too, and it may not see that the job was released.
        if outcome.site.was_watched(outcome.job, ["PENDING"], ["BeginTime"]):
            self.assertGreater(seconds(outcome.show, "requeue_backoff"), 0)

    def test_requeued_when_it_was_over_it_held_no_nodes_in_between(self) -> None:
        outcome = self.outcome(requeued_when_over)
        job = outcome.show["jobs"][0]
        end = next(record["t"] for record in read_log(outcome.folder) if record["event"] == "exit")
        first, second = job["attempts"]
        self.assertEqual((first["state"], first["kept_step"], second["first_step"], second["kept_step"]), ("REQUEUED", 10, 11, 20))
        self.assertLess(first["end_ns"], end + 3 * S * lateness(), "accounting says it ended when it was requeued")
        self.assertGreater(second["submit_ns"], end + 6 * S)
        self.assertGreater(seconds(outcome.show, "resubmit_gap"), 4)
        self.assertEqual(sum(bucket["ns"] for bucket in job["buckets"]), job["wall_ns"])

    def test_requeued_while_another_waits_for_its_nodes_is_no_preemption(self) -> None:
        outcome = self.outcome(requeued_beside_a_rival)
        job = self.close(outcome)
        assert_interruptions(self, outcome.show, [("user_requeue", False)])
        self.resumes(job)

    def check_hang(self, outcome: Outcome, otherwise: str) -> Dict:
        """The time of the hang agrees with the trainer's log, the cause is a hang, and Slurm's state is reported, too."""
        job = self.close(outcome)
        assert_interruptions(self, outcome.show, [("hang", False)])
        evidence = "; ".join(job["interruptions"][0]["evidence"])
        self.assertIn("Slurm's state: " + job["attempts"][0]["state"], evidence)
        self.assertRegex(evidence, r"no progress for \d+ s before it ended; otherwise the cause would be %s$" % otherwise)
        hung, = outcome.site.events(outcome.folder, "hang")
        stall, = job["stalls"]
        self.assertEqual((stall["attempt"], stall["step"], stall["recovered"]), (0, 17, False))
        self.assertAlmostEqual(stall["last_progress_ns"] / S, hung["t"] / S, delta=0.1 * lateness())
        # The whole hang except the expected step; Slurm's records tell to the second when the program died.
        self.assertAlmostEqual(stall["seconds"], job["attempts"][0]["end_ns"] / S - hung["t"] / S, delta=1.6 * lateness())
        self.assertEqual(stall["seconds"], seconds(outcome.show, "stall"))
        self.assertGreater(stall["seconds"], 60)
        return job

    def test_cancelled_after_a_hang_is_a_hang(self) -> None:
        outcome = self.outcome(hung_and_cancelled)
        job = self.check_hang(outcome, "cancelled")
        self.assertEqual(job["state"], "CANCELLED")
        # The same while it hangs.
        self.assertEqual(outcome.more["live"]["jobs"][0]["state"], "RUNNING")
        self.assertGreater(seconds(outcome.more["live"], "stall"), 60)
        hung, = outcome.site.events(outcome.folder, "hang")
        since = outcome.more["live"]["jobs"][0]["no_progress_since_ns"]
        self.assertAlmostEqual(since / S, hung["t"] / S, delta=0.1 * lateness())
        self.assertIsNone(outcome.show["jobs"][0]["no_progress_since_ns"], "it is over")

    def test_requeued_after_a_hang_is_a_hang_and_goes_on(self) -> None:
        job = self.check_hang(self.outcome(hung_and_requeued), "user_requeue")
        self.assertEqual(job["state"], "COMPLETED")
        self.resumes(job)

    def test_a_hang_until_the_time_limit_is_a_hang(self) -> None:
        job = self.check_hang(self.outcome(hung_until_its_limit), "timeout")
        self.assertEqual(job["state"], "TIMEOUT")

    def check_93(self, outcome: Outcome) -> Dict:
        job = self.close(outcome)
        assert_interruptions(self, outcome.show, [("user_requeue", True)])
        evidence = "; ".join(job["interruptions"][0]["evidence"])
        self.assertIn("its tasks exited with code 93", evidence)
        self.assertIn("programs ask for a requeue with this exit code", evidence)
        self.assertEqual(job["state"], "COMPLETED")
        self.assertEqual(job["steps"]["lost"], 0)
        self.resumes(job)
        return job

    def test_exit_93_where_slurm_requeues_it(self) -> None:
        job = self.check_93(self.outcome(asked_for_requeue))
        self.assertEqual([attempt["restart"] for attempt in job["attempts"]], [0, 1])

    def test_exit_93_and_submitted_again(self) -> None:
        outcome = self.outcome(submitted_again)
        job = self.check_93(outcome)
        self.assertEqual([attempt["state"] for attempt in job["attempts"]], ["FAILED", "COMPLETED"])
        self.assertGreater(seconds(outcome.show, "resubmit_gap"), 1.9)
