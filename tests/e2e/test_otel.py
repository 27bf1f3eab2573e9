#!/usr/bin/python3
"""Jobs that tell of their training by spans of OpenTelemetry only: preempted, killed and crashed on a private cluster, with saves
that block and saves in the background; imported, and compared with the trainer's own truth.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_otel
"""

import os
import re
import unittest
from typing import Dict, List

from .harness.checks import assert_attempts, assert_buckets_close, describe
from .harness.goodput_site import Site
from .harness.judge import Judge, seconds
from .harness.stage import Stage
from .harness.uninstrumented import assert_close
from .harness.work import Outcome, Work

STAGE = Stage()
# Where the script has `exec srun`, as otherwise what the program prints after TERM does not reach the file.
PROGRAM = "--framework megatron-otel --noise --eval-every 12 --eval-seconds 0.4 --save-every 10 "


def imported(work: Work) -> Outcome:
    """What its output says is added to the job after its end."""
    work.site.settle(work.job, timeout=240)
    output = os.path.join(work.site.cluster.jobdir(work.user), "%d.otel" % work.job)
    said = work.site.sgoodput("import", "--format=otel", "-j", str(work.job), output)
    if said.returncode != 0:
        raise RuntimeError(said.stderr)
    with open(output, "rb") as file:
        printed = file.read().count(b'"name": "megatron.train.iteration"')
    return work.outcome(said=said.stdout, log=said.stderr, printed=printed)


def submit(work: Work, options: str) -> None:
    output = os.path.join(work.site.cluster.jobdir(work.user), "%j.otel")
    work.submit("exec srun " + work.trainer(PROGRAM + options, marks=False), "--open-mode=append", "--output=" + output)


def preempted(work: Work) -> Outcome:
    """TERM, a save, and the queue."""
    submit(work, "--steps 57")
    work.steps(0, 25)
    work.preempt()
    return imported(work)


def killed(work: Work) -> Outcome:
    """A requeue whose TERM it does not handle: its last spans are never printed."""
    submit(work, "--steps 56 --async-save --save-seconds 1 --on-signal USR1=save")
    work.steps(0, 36)
    work.control("requeue", str(work.job))
    return imported(work)


def crashed(work: Work) -> Outcome:
    """Dies twice within one allocation, the second time before its first save there."""
    output = os.path.join(work.site.cluster.jobdir(work.user), "%j.otel")
    program = work.trainer(PROGRAM + "--steps 47 --async-save --crash-at-step 17,23:3", marks=False)
    work.submit("\n".join(["srun %s" % program] * 3), "--output=" + output)
    return imported(work)


def default_groups(work: Work) -> Outcome:
    """As Megatron-LM is by default: no spans of steps, and none of what is loaded."""
    output = os.path.join(work.site.cluster.jobdir(work.user), "%j.otel")
    program = work.trainer("--framework megatron-otel --save-every 10 --steps 75", marks=False)
    work.submit("export OTEL_SPAN_GROUPS=default\nexec srun " + program, "--open-mode=append", "--output=" + output)
    work.steps(0, 45)
    work.preempt()
    return imported(work)


def every_rank(work: Work) -> Outcome:
    """Three ranks whose spans are in one output, in the order in which their batches were printed; requeued once."""
    output = os.path.join(work.site.cluster.jobdir(work.user), "%j.otel")
    program = work.trainer(PROGRAM + "--steps 45", marks=False)
    work.submit("export OTEL_EVERY_RANK=1\nexec srun --ntasks=3 --overcommit " + program, "--open-mode=append", "--output=" + output)
    work.steps(0, 25)
    work.preempt()
    return imported(work)


SCENARIOS = (preempted, killed, crashed, default_groups, every_rank)


def setUpModule() -> None:
    unittest.addModuleCleanup(STAGE.stop)
    # Slurm's default: a program that is slow to end, as on a busy disk, is not killed before it has printed its last spans.
    STAGE.start({"": (Site("cgroup", nodes=len(SCENARIOS), kill_wait_s=30), [(scenario, 1) for scenario in SCENARIOS])})


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class OtelTest(Judge):
    STAGE = STAGE

    def told(self, outcome: Outcome) -> Dict:
        self.assertRegex(outcome.more["said"], r"\A\d+ spans, added to job %d, 0 lines quarantined\n\Z" % outcome.job)
        self.assertEqual(re.sub(r".*read one process of each start.*\n", "", outcome.more["log"]), "")
        truth, job = outcome.truth, outcome.show["jobs"][0]
        assert_buckets_close(self, outcome.show, truth, 1.1)
        assert_attempts(self, outcome.show, truth)
        self.resumes(job)
        # A killed program's last spans were never printed: what they would have told is known only of steps that were kept.
        self.assertEqual(job["steps"]["kept"], len(truth.kept), describe(truth))
        untold = len(truth.kept) + len(truth.lost) - outcome.more["printed"]
        self.assertLess(untold, 20)
        self.assertLessEqual(job["steps"]["lost"], len(truth.lost), describe(truth))
        self.assertGreaterEqual(job["steps"]["lost"], len(truth.lost) - untold, describe(truth))
        evidence = {bucket["name"]: bucket["evidence"] for bucket in job["buckets"] if bucket["ns"]}
        self.assertEqual(evidence["productive"], "log")
        return job

    def parts(self, job: Dict, bucket: str) -> List[str]:
        return sorted(part["name"] for b in job["buckets"] if b["name"] == bucket for part in b["parts"])

    def test_a_job_that_is_preempted(self) -> None:
        job = self.told(self.outcome(preempted))
        self.assertTrue({"megatron_init", "model_init", "restore"} <= set(self.parts(job, "startup")), job["buckets"])
        self.assertIn("evaluation", self.parts(job, "overhead"))

    def test_a_job_that_is_killed_with_a_save_in_the_background(self) -> None:
        outcome = self.outcome(killed)
        job = self.told(outcome)
        self.assertGreater(seconds(outcome.show, "lost_work"), 0.5)
        for one in job["checkpoints"]:
            self.assertTrue(one["complete_ns"] is None or one["complete_ns"] - one["begin_ns"] > 9e8, job["checkpoints"])

    def test_steps_that_are_inferred_from_its_saves(self) -> None:
        outcome = self.outcome(default_groups)
        self.assertIn("no spans of steps, which are inferred from the saves", outcome.more["log"])
        assert_close(self, outcome)
        evidence = {bucket["name"]: bucket["evidence"] for bucket in outcome.show["jobs"][0]["buckets"] if bucket["ns"]}
        self.assertEqual(evidence["checkpoint_save"], "log")

    def test_ranks_in_one_output_count_once(self) -> None:
        outcome = self.outcome(every_rank)
        truth, job = outcome.truth, outcome.show["jobs"][0]
        self.assertGreater(outcome.more["printed"], 2 * len(truth.kept))
        self.assertRegex(outcome.more["log"], "read one process of each start")
        assert_attempts(self, outcome.show, truth)
        assert_buckets_close(self, outcome.show, truth, 1.1)
        self.assertEqual(job["steps"]["kept"], len(truth.kept), describe(truth))
        # A rank that began no step while the others did is left out.
        self.assertEqual(job["rank_wait"]["ranks"] + job["rank_wait"]["ranks_left_out"], 3)
        self.assertGreater(job["rank_wait"]["ranks"], 1)

    def test_a_program_that_is_started_again_in_its_allocation(self) -> None:
        job = self.told(self.outcome(crashed))
        self.assertEqual([one["cause"] for one in job["interruptions"]], ["failed", "failed"])


if __name__ == "__main__":
    unittest.main()
