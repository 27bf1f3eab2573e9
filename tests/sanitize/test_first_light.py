"""The three scenarios of first light that tests/run runs with sanitizers. `make check-sanitize` runs all of them."""

import unittest

from tests.e2e import test_first_light as first_light
from tests.e2e.harness.goodput_site import Site
from tests.e2e.harness.judge import Judge
from tests.e2e.harness.stage import Stage

STAGE = Stage()


def setUpModule() -> None:
    unittest.addModuleCleanup(STAGE.stop)
    STAGE.start({"cgroup": (Site("cgroup", nodes=3, grace_s=8), [
        (first_light.checkpoint_signal, 1), (first_light.preempted, 1), (first_light.requeued, 1)])})


class SanitizedTest(Judge):
    STAGE = STAGE
    SITE = "cgroup"
    slack_s = 0.0

    test_checkpoint_signal = first_light.CgroupTest.test_checkpoint_signal_then_requeue_is_one_planned_interruption
    test_preempted = first_light.CgroupTest.test_preempted_without_grace_loses_what_no_checkpoint_covers
    test_requeued = first_light.CgroupTest.test_scontrol_requeue_loses_what_no_checkpoint_covers
