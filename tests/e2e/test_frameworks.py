#!/usr/bin/python3
"""Jobs as each framework runs them, preempted once and hit by a node failure once, reconstructed from their checkpoints only or
from their output only, and compared with the trainer's own truth (harness/uninstrumented.py).

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_frameworks
"""

import glob
import os
import time
import unittest
from typing import Callable, Dict, Tuple

from .harness.goodput_site import Site
from .harness.judge import assert_valid
from .harness.stage import Plan, Stage
from .harness.truth import read_log
from .harness.uninstrumented import assert_close
from .harness.variants import EVERY_VARIANT
from .harness.work import Outcome, Work

STAGE = Stage()
# lightning ignores TERM and draws a progress bar, and composer does not print its saves. What the others print and save has tests of
# its own: test_profiles, test_checkpoints.LayoutsTest.
FRAMEWORKS: Tuple[str, ...] = ("lightning", "composer", "megatron")
if EVERY_VARIANT:
    FRAMEWORKS += ("nemo", "torchtitan", "maxtext", "deepspeed", "hf")
# Those whose output does not say when a save began: a step after it took longer.
SILENT_SAVES = ("composer",)


def node_fails(work: Work) -> None:
    """Restarts its slurmd: the node may be up again before it is resumed."""
    work.control("update", "nodename=" + work.nodes[0], "state=down", "reason=power supply", user="root")
    work.site.cluster.wait_state(work.job, "PENDING")
    work.pause(2)
    work.site.cluster.run(["scontrol", "update", "nodename=" + work.nodes[0], "state=resume"], check=False)


def is_followed(work: Work, since_ns: int) -> bool:
    """Whether goodputd follows the output of an attempt that began after a time."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path) as file:
                words = file.read().split("\0")
        except OSError:
            continue
        # The job, its processes, and when it began.
        if "follow-output" in words and any(a == str(work.job) and c.isdigit() and int(c) > since_ns for a, c in zip(words, words[2:])):
            return True
    return False


def told_by(framework: str, way: str) -> Callable[[Work], Outcome]:
    def attempt_begins(work: Work, attempt: int) -> None:
        """Its first step comes after goodputd's first look, also on a busy machine: what is then there without a time is not read."""
        if way != "output":
            return
        work.site.wait_event(work.folder, "init_begin", attempt + 1)
        log = read_log(work.folder)
        start = [i for i, record in enumerate(log) if record["event"] == "start"][attempt]
        deadline = time.monotonic() + 60
        while not is_followed(work, log[start - 1]["t"] if attempt else 0):
            if time.monotonic() > deadline:
                raise RuntimeError("goodputd does not follow the output of job %d's attempt %d" % (work.job, attempt))
            time.sleep(0.2)
        with open(os.path.join(work.folder, "followed.%d" % attempt), "w"):
            pass

    def scenario(work: Work) -> Outcome:
        option = "--goodput-checkpoint-dir=" + work.folder if way == "files" else "--goodput-log-profile=" + framework
        options = "--framework %s --noise --init-seconds 2 --step-seconds 0.2 --save-every 20 --steps 400" % framework
        if way == "output":
            options += " --init-until %s/followed.${SLURM_RESTART_COUNT:-0}" % work.folder
        program = work.trainer(options, marks=False)
        # Only the last attempt ends by itself, with a save, however late this script interrupts the others.
        work.submit("[ ${SLURM_RESTART_COUNT:-0} -lt 2 ] || last='--steps-after-restore 20'\nsrun %s $last" % program, option)
        attempt_begins(work, 0)
        work.steps(0, 55)
        work.preempt()
        attempt_begins(work, 1)
        work.steps(1, 34)
        if framework == "lightning":
            # It ignores TERM: otherwise it would still run when its node is back, and Slurm would keep the job.
            work.control("requeue", str(work.job))
        else:
            node_fails(work)
        attempt_begins(work, 2)
        work.site.settle(work.job, timeout=240)
        work.pause(3)  # until its files and its output are read for the last time
        return work.outcome()
    scenario.__name__ = framework + "_by_" + way
    return scenario


SCENARIOS: Dict[Tuple[str, str], Callable[[Work], Outcome]] = {
    (way, framework): told_by(framework, way) for way in ("files", "output") for framework in FRAMEWORKS}


def setUpModule() -> None:
    unittest.addModuleCleanup(STAGE.stop)
    plan: Plan = {"": (Site("cgroup", nodes=len(SCENARIOS), kill_wait_s=2, conf=["checkpoint_scan = 1s", "heartbeat = 1s"],
                            slurm_conf=["JobFileAppend=1"]),
                       [(scenario, 1) for scenario in SCENARIOS.values()])}
    STAGE.start(plan)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class FrameworksTest(unittest.TestCase):
    def close(self, way: str, unknown: Callable[[str], Tuple[str, ...]]) -> None:
        for framework in [one for where, one in SCENARIOS if where == way]:
            with self.subTest(framework):
                outcome = STAGE.outcome("", SCENARIOS[way, framework])
                assert_valid(outcome.show)
                assert_close(self, outcome, *unknown(framework), inside=way == "output")
                if way == "output":
                    self.goes_on_where_it_was_resumed(outcome)

    def goes_on_where_it_was_resumed(self, outcome: Outcome) -> None:
        said = [attempt["first_step"] for attempt in outcome.show["jobs"][0]["attempts"]]
        self.assertEqual(said, [starts[0].steps()[0].number for starts in outcome.truth.incarnations])

    def test_by_its_checkpoints_alone(self) -> None:
        self.close("files", lambda _: ("checkpoint_save", "drain"))

    def test_by_its_output_alone(self) -> None:
        self.close("output", lambda framework: ("checkpoint_save",) if framework in SILENT_SAVES else ())


if __name__ == "__main__":
    unittest.main()
