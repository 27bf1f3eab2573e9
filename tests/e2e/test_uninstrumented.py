#!/usr/bin/python3
"""Jobs without marks: reconstructed from signals, exits and checkpoints on disk only, compared with the trainer's own log.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_uninstrumented

The rules are those of harness/uninstrumented.py.
"""

import glob
import json
import os
import signal
import time
import unittest

from .harness.goodput_site import Site
from .harness.judge import assert_valid
from .harness.lateness import lateness
from .harness.stage import Plan, Stage
from .harness.uninstrumented import assert_close
from .harness.work import Outcome, Work

STAGE = Stage()


def options(work: Work) -> str:
    return "--goodput-checkpoint-dir=" + work.folder


def program(work: Work, more: str) -> str:
    return "srun " + work.trainer("--layout megatron --step-seconds 0.2 " + more, marks=False)


def undisturbed(work: Work) -> Outcome:
    work.submit(program(work, "--save-every 20 --steps 100"), options(work))
    return work.outcome()


def requeued(work: Work) -> Outcome:
    """Dies of TERM between two saves and resumes from the last one."""
    work.submit(program(work, "--save-every 20 --steps 130"), options(work))
    work.steps(0, 52)
    work.control("requeue", str(work.job))
    return work.outcome()


def saved_at_a_signal(work: Work) -> Outcome:
    """USR1 requests a save, TERM another one and the end; then it resumes."""
    work.submit(program(work, "--save-every 20 --steps 110 --on-signal 'USR1=save|TERM=save-exit'"), options(work))
    work.steps(0, 30)
    work.site.cluster.run(["scancel", "-s", "USR1", str(work.job)], user=work.user)
    work.steps(0, 50)
    work.control("requeue", str(work.job))
    return work.outcome()


def hung(work: Work) -> Outcome:
    """A step that never ends, until the job is cancelled."""
    work.submit(program(work, "--save-every 20 --steps 200 --hang-at-step 45"), options(work))
    work.site.wait_event(work.folder, "hang")
    work.pause(12)
    work.site.cluster.run(["scancel", str(work.job)], user=work.user)
    return work.outcome()


SCENARIOS = [(requeued, 1), (saved_at_a_signal, 1), (hung, 1), (undisturbed, 1)]


def setUpModule() -> None:
    unittest.addModuleCleanup(STAGE.stop)
    plan: Plan = {"": (Site("cgroup", nodes=4, conf=["checkpoint_scan = 1s", "heartbeat = 1s"]), SCENARIOS)}
    STAGE.start(plan)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class UninstrumentedTest(unittest.TestCase):
    def outcome(self, scenario: object) -> Outcome:
        outcome = STAGE.outcome("", scenario)
        assert_valid(outcome.show)
        return outcome

    def test_undisturbed(self) -> None:
        assert_close(self, self.outcome(undisturbed), "checkpoint_save")

    def test_requeued_between_two_saves(self) -> None:
        assert_close(self, self.outcome(requeued), "checkpoint_save")

    def test_saved_at_signals(self) -> None:
        assert_close(self, self.outcome(saved_at_a_signal), "checkpoint_save", "drain")

    def test_a_hang_is_not_taken_for_work(self) -> None:
        assert_close(self, self.outcome(hung), "checkpoint_save", "lost_work", "stall")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class DeadNodeTest(unittest.TestCase):
    def test_work_ends_where_a_dead_node_was_last_seen(self) -> None:
        """Everything on a node dies at once, including goodputd; the controller is told much later."""
        with Site("cgroup", nodes=2, conf=["checkpoint_scan = 500ms", "heartbeat = 500ms"]) as site:
            work = Work(site, "dead", "nobody", site.cluster.nodes)
            work.submit(program(work, "--save-every 10 --steps 1000"), options(work), "--no-requeue")
            work.steps(0, 33)
            site.stop_daemon(signal.SIGKILL)
            died = time.time()
            node = work.nodes[1]
            with open(site.path("run", "slurmd-%s.pid" % node)) as file:
                victims = {int(file.read())}
            for path in glob.glob(os.path.join(site.spool, node, "*.jsonl")):
                with open(path) as lines:
                    for record in (json.loads(line) for line in lines if line.strip()):
                        if record["kind"] in ("step_start", "task_start"):
                            victims |= {record["stepd"], record.get("pid", record["stepd"])}
            for victim in victims:
                os.kill(victim, signal.SIGKILL)
            work.pause(10)  # not noticed yet
            work.control("update", "nodename=" + node, "state=down", "reason=no answer", user="root")
            rows = site.settle(work.job)
            told = [row for row in rows if "." not in row["JobID"]][0]
            self.assertEqual(told["State"], "NODE_FAIL")
            # No goodputd runs on the node: only slurmdbd reports that it went down, a moment later.
            deadline = time.time() + 60
            while node not in site.cluster.run(["sacctmgr", "-nP", "show", "event", "format=NodeName"]).stdout and time.time() < deadline:
                time.sleep(0.2)
            job = site.show_json(work.job)["jobs"][0]
            end = told["End"].timestamp() if hasattr(told["End"], "timestamp") else told["End"] / (1e9 if told["End"] > 1e12 else 1)
            interruption = job["interruptions"][0]
            self.assertEqual((interruption["cause"], interruption["node"]), ("node_fail", node))
            # The heartbeat is at most half a second old; accounting has whole seconds.
            self.assertAlmostEqual(interruption["t_detect_s"], end - died, delta=1.6 * lateness(), msg=json.dumps(interruption))
            self.assertGreater(interruption["t_detect_s"], 8)
            self.assertTrue([line for line in interruption["evidence"] if "last seen" in line], interruption["evidence"])
            shown = {b["name"]: b["seconds"] for b in job["buckets"]}
            self.assertAlmostEqual(shown["productive"], 30 * 0.2, delta=1.1 * lateness())
            self.assertLess(shown["lost_work"], 3, shown)


if __name__ == "__main__":
    unittest.main()
