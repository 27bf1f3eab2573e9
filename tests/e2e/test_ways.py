#!/usr/bin/python3
"""Every way in which a job can run and end, each on a real Slurm: sgoodput's report matches the trainer's log and Slurm's records.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_ways

The scenarios are next to their tests in tests/e2e/ways/; this module starts their clusters. Needs root and Debian's Slurm
packages. GOODPUT_SCENARIOS=NAME,NAME runs only those.
"""

import os
import unittest

from .harness.goodput_site import Site
from .harness.stage import Plan
from .ways import STAGE, ends, shapes, strings, unwatched, waits

# Memory is a resource, and the kernel kills a job that exceeds its memory.
CONSTRAINED = ["TaskPlugin=task/cgroup", "SelectTypeParameters=CR_Core_Memory", "DefMemPerCPU=400"]


def plan() -> Plan:
    # The longest first; a job's memory limit needs cgroups.
    cgroup = [(ends.hung_until_its_limit, 1), (ends.hung_and_requeued, 1), (ends.timed_out, 1), (ends.crash_loop, 1),
              (ends.grace_dying, 1), (ends.cancelled_by_owner, 1), (ends.out_of_memory, 1), (ends.failed_at_start, 1),
              (ends.requeue_held, 1), (ends.requeued_when_over, 1), (ends.requeued_beside_a_rival, 1), (shapes.salloc_by_hand, 1),
              (shapes.sruns_in_turn, 1), (shapes.four_nodes, 4),
              (waits.held_by_user, 1), (waits.begin_time, 1), (waits.chain, 1), (waits.still_pending, 1), (waits.suspended, 1),
              (waits.still_suspended, 1), (shapes.array_without_name, 4), (waits.nodes_boot, 0), (ends.submitted_again, 1)]
    linuxproc = [(ends.hung_and_cancelled, 1), (ends.asked_for_requeue, 1), (shapes.restarts_inside, 1),
                 (shapes.started_anew_by_its_launcher, 1),
                 (ends.grace_exit_0, 1), (ends.cancelled_by_root, 1), (ends.cancelled_saving, 1),
                 (ends.preempted_for_good, 1), (shapes.sruns_side_by_side, 2), (shapes.srun_alone, 1),
                 (waits.submitted_held, 1), (waits.held_by_admin, 1), (waits.depends_on_another, 1),
                 (waits.cancelled_pending, 1), (shapes.array_of_one_run, 1), (shapes.resized, 2), (shapes.heterogeneous, 2),
                 (strings.hostile, 1), (shapes.array_at_once, 3)]
    alone = [(unwatched.nodes_boot_unwatched, 0), (unwatched.requeued_unwatched, 1), (unwatched.held_unwatched, 1),
             (unwatched.suspended_unwatched, 1), (unwatched.preempted_unwatched, 1)]
    return {
        "unwatched": (Site("cgroup", nodes=4, cloud=1, daemon=False), alone),
        "cgroup": (Site("cgroup", nodes=28, cloud=2, grace_s=8, slurm_conf=CONSTRAINED, cgroup_conf=["ConstrainRAMSpace=yes"]),
                   cgroup),
        "linuxproc": (Site("linuxproc", nodes=24, grace_s=8, slurm_conf=["RequeueExit=93"]), linuxproc),
    }


def setUpModule() -> None:
    unittest.addModuleCleanup(STAGE.stop)
    STAGE.start(plan())


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class EndsTest(ends.Ends):
    pass


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ShapesTest(shapes.Shapes):
    pass


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class WaitsTest(waits.Waits):
    pass


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class StringsTest(strings.Strings):
    pass


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class UnwatchedTest(unwatched.Unwatched):
    pass


if __name__ == "__main__":
    unittest.main(verbosity=2)
