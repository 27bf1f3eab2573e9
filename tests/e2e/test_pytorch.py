#!/usr/bin/python3
"""Real PyTorch on two nodes of the private cluster: DistributedDataParallel over gloo, torch.save, torchrun's restart inside
the job, USR1 and TERM, a requeue. Reconstructed from its checkpoints only, from its output only, and from goodput.py; the
truth is its own log.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_pytorch

Skipped where Debian's python3-torch is not installed (apt-get install --no-install-recommends python3-torch).
"""

import os
import subprocess
import unittest
from typing import Callable, Dict, Tuple

from .harness.checks import describe, said_buckets
from .harness.goodput_site import TESTS, Site
from .harness.judge import assert_valid
from .harness.lateness import lateness
from .harness.reach import reachable
from .harness.stage import Plan, Stage
from .harness.truth import S
from .harness.uninstrumented import LATE_S, assert_close
from .harness.work import Outcome, Work

STAGE = Stage()
PROGRAM = os.path.join(reachable(os.path.join(TESTS, "trainer")), "pytorch.py")
CLIENTS = reachable(os.path.join(os.path.dirname(TESTS), "tools", "clients"))
UNKNOWN_PROGRAM = ("startup", "productive", "checkpoint_save", "lost_work", "at_risk", "drain", "teardown", "unobserved")

# Both nodes are this machine.
RENDEZVOUS = """
export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + SLURM_JOB_ID %% 10000)) GLOO_SOCKET_IFNAME=lo
export PYTHONPATH=%s PYTHONDONTWRITEBYTECODE=1
""" % CLIENTS
TORCHRUN = ("srun --ntasks-per-node=1 /usr/bin/torchrun --nnodes=2 --nproc_per_node=1 --max_restarts=2 --monitor_interval=0.2"
            " --redirects=1:3 --tee=1:3 --rdzv_backend=c10d --rdzv_endpoint=127.0.0.1:$MASTER_PORT --rdzv_id=$SLURM_JOB_ID ")


def has_torch() -> bool:
    return subprocess.run(["/usr/bin/python3", "-c", "import torch.distributed"], stderr=subprocess.DEVNULL).returncode == 0


def saved_at_usr1_and_requeued(work: Work, tell: str, *options: str) -> Outcome:
    work.submit(RENDEZVOUS + "srun --ntasks-per-node=1 /usr/bin/python3 -u %s --dir %s --tell %s --steps 100" % (
        PROGRAM, work.folder, tell), "--open-mode=append", *options)
    work.steps(0, 10)
    work.site.cluster.run(["scancel", "--signal=USR1", "%d.0" % work.job], user=work.user)
    work.steps(0, 31)
    work.control("requeue", str(work.job))
    work.site.settle(work.job, timeout=240)
    work.pause(3)  # until its files and its output are read for the last time
    return work.outcome()


def by_checkpoints(work: Work) -> Outcome:
    return saved_at_usr1_and_requeued(work, "nothing", "--goodput-checkpoint-dir=" + work.folder)


def by_output(work: Work) -> Outcome:
    return saved_at_usr1_and_requeued(work, "print")


def by_marks(work: Work) -> Outcome:
    return saved_at_usr1_and_requeued(work, "marks")


def restarted_by_torchrun(work: Work) -> Outcome:
    work.submit(RENDEZVOUS + TORCHRUN + "%s --dir %s --tell marks --crash-at-step 30" % (PROGRAM, work.folder))
    return work.outcome()


def setUpModule() -> None:
    if os.geteuid() != 0 or not has_torch():
        return
    unittest.addModuleCleanup(STAGE.stop)
    scenarios = [by_checkpoints, by_output, by_marks, restarted_by_torchrun]
    plan: Plan = {"": (Site("cgroup", nodes=2 * len(scenarios), conf=["checkpoint_scan = 1s", "heartbeat = 1s"]),
                       [(scenario, 2) for scenario in scenarios])}
    STAGE.start(plan)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
@unittest.skipUnless(has_torch(), "needs python3-torch")
class PytorchTest(unittest.TestCase):
    def judge(self, scenario: Callable[[Work], Outcome]) -> Tuple[Outcome, Dict]:
        outcome = STAGE.outcome("", scenario)
        assert_valid(outcome.show)
        job, = outcome.show["jobs"]
        self.assertEqual(job["state"], "COMPLETED")
        return outcome, job

    def pooled(self, outcome: Outcome, *pools: Tuple[str, ...], delta_s: float) -> None:
        """Every bucket equals the truth, or the sum of those that no evidence distinguishes does."""
        said, true = said_buckets(outcome.show), outcome.truth.sums()
        alone = (set(said) | set(true)).difference(*pools)
        table = "\n%s\n%s\n%s" % (said, true, describe(outcome.truth))
        for pool in list(pools) + [(name,) for name in sorted(alone)]:
            self.assertAlmostEqual(sum(said.get(name, 0) for name in pool) / S, sum(true.get(name, 0) for name in pool) / S,
                                   delta=delta_s + LATE_S * (lateness() - 1), msg="%s%s" % (pool, table))

    def saves_are_true(self, outcome: Outcome, job: Dict, delta_s: float) -> None:
        said = [(one["begin_ns"] / S, one["complete_ns"] / S) for one in job["checkpoints"]]
        true = [(begin / S, end / S) for starts in outcome.truth.incarnations for start in starts
                for _, begin, end in start.checkpoints()]
        self.assertEqual(len(said), len(true))
        for one, other in zip(said, true):
            self.assertAlmostEqual(one[0], other[0], delta=delta_s)
            self.assertAlmostEqual(one[1], other[1], delta=delta_s)

    def test_by_its_checkpoints_alone(self) -> None:
        outcome, job = self.judge(by_checkpoints)
        # The step in a file that always has the same name cannot be determined.
        self.assertEqual((job["steps"]["count"], job["goodput"]["runtime"]), (0, None))
        self.saves_are_true(outcome, job, 0.1)
        self.pooled(outcome, UNKNOWN_PROGRAM, delta_s=2.2)
        text = " ".join(outcome.site.sgoodput("show", str(outcome.job)).stdout.split())
        self.assertIn("no steps seen, only checkpoints: add --goodput-log-profile=NAME", text)
        self.assertIn("Steps none seen 7 of 7 checkpoints complete", text)

    def test_by_its_output_alone(self) -> None:
        outcome, job = self.judge(by_output)
        if job["steps"]["count"]:
            assert_close(self, outcome, "teardown", inside=True)
        else:
            self.pooled(outcome, UNKNOWN_PROGRAM, delta_s=2.2)

    def test_by_marks(self) -> None:
        outcome, job = self.judge(by_marks)
        self.assertEqual((job["steps"]["count"], job["steps"]["kept"]), (100, 100))
        self.saves_are_true(outcome, job, 0.01)
        # It logs nothing between its last step and the end of its interpreter.
        self.pooled(outcome, ("teardown", "unobserved"), delta_s=1.2)
        # Its steps end with the first attempt, whose end accounting has in whole seconds.
        self.assertAlmostEqual(said_buckets(outcome.show)["productive"], outcome.truth.sums()["productive"], delta=1.2 * S)

    def test_torchrun_s_restart_is_an_interruption_inside_the_job(self) -> None:
        outcome, job = self.judge(restarted_by_torchrun)
        self.assertEqual((job["steps"]["kept"], job["steps"]["lost"]), (60, 10))
        _, worker = outcome.truth.incarnations[0]
        interruption, = job["interruptions"]
        self.assertAlmostEqual(interruption["time_ns"], worker.begin_ns, delta=0.02 * S)
        # How long the old worker still lived was not observed.
        self.pooled(outcome, ("launch", "stall", "lost_work"), ("teardown", "unobserved"), delta_s=1.2)


if __name__ == "__main__":
    unittest.main()
