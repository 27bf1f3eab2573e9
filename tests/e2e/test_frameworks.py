#!/usr/bin/python3
"""Jobs as each framework runs them, requeued once and struck by a dead node once, told by their checkpoints alone: buckets are
the trainer's own truth within 1 % of the job's time or 1.1 s a boundary, and runtime goodput is right or a range that holds it.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_frameworks
"""

import os
import unittest
from typing import Callable, Dict

from .harness.goodput_site import Site
from .harness.judge import assert_valid
from .harness.stage import Plan, Stage
from .harness.uninstrumented import assert_close
from .harness.work import Outcome, Work

STAGE = Stage()
FRAMEWORKS = ("megatron", "nemo", "lightning", "torchtitan", "maxtext", "deepspeed", "hf", "composer")
# Allocation, launch and the program's own start, three times.
BOUNDARIES = 3


def node_fails(work: Work) -> None:
    """Its slurmd is well: the node may be back by itself before it is told to."""
    work.control("update", "nodename=" + work.nodes[0], "state=down", "reason=power supply", user="root")
    work.site.cluster.wait_state(work.job, "PENDING")
    work.pause(2)
    work.site.cluster.run(["scontrol", "update", "nodename=" + work.nodes[0], "state=resume"], check=False)


def told_by(framework: str, *options: str) -> Callable[[Work], Outcome]:
    def scenario(work: Work) -> Outcome:
        program = work.trainer("--framework %s --noise --step-seconds 0.2 --save-every 20 --steps 130" % framework, marks=False)
        work.submit("srun " + program, "--open-mode=append", "--goodput-checkpoint-dir=" + work.folder, *options)
        work.steps(0, 52)
        work.control("requeue", str(work.job))
        work.steps(1, 30)
        if framework == "lightning":
            # It bypasses TERM: it would still be there when its node is back, and Slurm hold the job.
            work.control("requeue", str(work.job))
        else:
            node_fails(work)
        return work.outcome()
    scenario.__name__ = framework
    return scenario


BY_FILES: Dict[str, Callable[[Work], Outcome]] = {framework: told_by(framework) for framework in FRAMEWORKS}


def setUpModule() -> None:
    unittest.addModuleCleanup(STAGE.stop)
    plan: Plan = {"": (Site("cgroup", nodes=8, kill_wait_s=2, conf=["checkpoint_scan = 1s", "heartbeat = 1s"]),
                       [(scenario, 1) for scenario in BY_FILES.values()])}
    STAGE.start(plan)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class FrameworksTest(unittest.TestCase):
    def test_by_its_checkpoints_alone(self) -> None:
        for framework, scenario in BY_FILES.items():
            with self.subTest(framework):
                outcome = STAGE.outcome("", scenario)
                assert_valid(outcome.show)
                assert_close(self, outcome, "checkpoint_save", "drain", boundaries=BOUNDARIES)


if __name__ == "__main__":
    unittest.main()
