#!/usr/bin/python3
"""Nodes whose clocks are apart from the controller's, or are set while a job runs: durations stay right, and it is said.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_clocks

libfaketime moves the clock of a node, slurmd with its slurmstepds and the goodputd of the node, or the controller's;
the trainer, and so the truth, stay on the machine's own. Needs root, Debian's Slurm packages and libfaketime.
"""

import glob
import os
import subprocess
import unittest
from typing import Dict, List

from .harness.checks import assert_buckets_close
from .harness import truth as truths
from .harness.goodput_site import GOODPUTD, TRAINER, Site
from .harness.truth import Truth

LIBRARY = (glob.glob("/usr/lib/*/faketime/libfaketime.so.1") or [""])[0]


class Clock:
    """The real time of the processes that have its environment, seconds away from the machine's; monotonic time stays."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.set(0)

    def env(self) -> Dict[str, str]:
        return {"LD_PRELOAD": LIBRARY, "FAKETIME_TIMESTAMP_FILE": self.path, "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
                "FAKETIME_DONT_RESET": "1", "FAKETIME_DISABLE_SHM": "1"}

    def set(self, seconds: int) -> None:
        with open(self.path + ".new", "w") as file:
            file.write("%+d\n" % seconds)
        os.rename(self.path + ".new", self.path)


def forget_shared_memory() -> None:
    """libfaketime leaves it behind in a process that is killed."""
    for path in glob.glob("/dev/shm/*faketime_s[eh]m_*"):
        if not os.path.exists("/proc/" + path.rsplit("_", 1)[1]):
            os.unlink(path)


class NodeClocksTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("linuxproc", nodes=1, conf=["role = controller"])
        cls.addClassCleanup(forget_shared_memory)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        cls.clock = Clock(cls.site.path("clock"))
        cluster = cls.site.cluster
        cluster.daemon_env = cls.clock.env()
        for node in cluster.nodes:
            cluster.stop_daemon("slurmd-" + node)
            cluster.start_daemon("slurmd-" + node)
        cluster.daemon_env = {}
        conf = cls.site.conf + ".node"
        with open(cls.site.conf) as shared, open(conf, "w") as file:
            file.write(shared.read().replace("role = controller", "role = node"))
        with open(cls.site.path("log", "node.out"), "ab") as log:
            daemon = subprocess.Popen([GOODPUTD, "--config", conf], env=dict(cluster.env(), **cls.clock.env()),
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        cls.addClassCleanup(daemon.wait)
        cls.addClassCleanup(daemon.terminate)
        cls.serial = 0

    def job(self, jump_s: int = 0, user: str = "nobody") -> Dict:
        """A job of some 12 s; the node's clock is moved by jump_s while it trains. The answer about it, checked."""
        type(self).serial += 1
        name = "clock-%d" % self.serial
        folder = self.site.folder(name, user)
        job = self.site.cluster.sbatch("srun %s --dir %s --steps 24 --step-seconds 0.3 --save-every 8 --save-seconds 0.3 "
                                       "--init-seconds 0.5 --marks" % (TRAINER, folder), user=user, options=["-N1"])
        if jump_s:
            self.site.wait_steps(folder, 0, 11)
            self.clock.set(jump_s)
        self.site.settle(job)
        answer = self.site.show_json(job)
        assert_buckets_close(self, answer, self.site.truth(job, folder))
        self.assertEqual(answer["jobs"][0]["steps"]["kept"], 24)
        self.said = [line for line in self.site.sgoodput("show", str(job)).stdout.splitlines() if "clock" in line]
        return answer["jobs"][0]

    def tearDown(self) -> None:
        self.clock.set(0)

    def test_a_good_clock_is_not_mentioned(self) -> None:
        self.job()
        self.assertEqual(self.said, [])

    def assert_said(self, *changes: int) -> None:
        """slurmd gives prolog and epilog an environment of its own, so theirs is the machine's clock again: a node that is
        only apart cannot be had this way, it is one whose clock is set before and after."""
        self.assertEqual(len(self.said), len(changes), self.said)
        for line, change in zip(self.said, changes):
            self.assertIn("the clock of node %s was set by %+d" % (self.site.cluster.nodes[0], change), line)

    def test_seconds_apart(self) -> None:
        for ahead in (5, -4):
            self.clock.set(ahead)
            self.job()
            self.assert_said(ahead, -ahead)

    def test_an_hour_forwards_and_backwards_while_a_job_runs(self) -> None:
        for jump in (3600, -3600):
            self.job(jump)
            self.assert_said(jump, -jump)
            self.clock.set(0)


class ControllerClockTest(unittest.TestCase):
    """slurmctld, slurmdbd and the goodputd beside them; the nodes keep the machine's clock."""

    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        # No answer for an hour would be a node that is down.
        cls.site = Site("linuxproc", nodes=1, conf=["role = controller"], slurm_conf=["SlurmdTimeout=0"], daemon=False)
        cls.addClassCleanup(forget_shared_memory)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        cls.clock = Clock(cls.site.path("clock"))
        cluster = cls.site.cluster
        cluster.daemon_env = cls.clock.env()
        for daemon in ("slurmctld", "slurmdbd"):
            cluster.stop_daemon(daemon)
        for daemon in ("slurmdbd", "slurmctld"):
            cluster.start_daemon(daemon)
        cluster.daemon_env = {}
        cls.start_goodputd("node", {})
        cls.start_goodputd("controller", cls.clock.env())

    @classmethod
    def start_goodputd(cls, role: str, env: Dict[str, str]) -> None:
        conf = cls.site.conf + "." + role
        with open(cls.site.conf) as shared, open(conf, "w") as file:
            file.write(shared.read().replace("role = controller", "role = " + role))
        with open(cls.site.path("log", role + ".out"), "ab") as log:
            daemon = subprocess.Popen([GOODPUTD, "--config", conf], env=dict(cls.site.cluster.env(), **env),
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        cls.addClassCleanup(daemon.wait)
        cls.addClassCleanup(daemon.terminate)

    def job(self, name: str, jump_s: int) -> None:
        """The clock is moved from 0 to jump_s while a job trains; its buckets are those of the machine's clock."""
        folder = self.site.folder(name, "nobody")
        job = self.site.cluster.sbatch("srun %s --dir %s --steps 24 --step-seconds 0.3 --save-every 8 --save-seconds 0.3 "
                                       "--init-seconds 0.5 --marks" % (TRAINER, folder), user="nobody", options=["-N1"])
        self.site.wait_steps(folder, 0, 11)
        self.clock.set(jump_s)
        self.site.cluster.wait_state(job, "COMPLETED")

        def ended(rows: List[Dict]) -> bool:
            return all(row["End"] is not None for row in rows)
        rows = self.site.cluster.wait_sacct(job, ended)
        watched = ["COMPLETED"]
        self.site.wait_watched(job, watched)
        # As the clock of the start would have told.
        for row in rows:
            for field in ("Submit", "Eligible", "Start", "End"):
                if row[field] is not None and abs(row[field] - rows[0]["Submit"]) > abs(jump_s) // 2:
                    row[field] -= jump_s
        answer = self.site.show_json(job)
        assert_buckets_close(self, answer, Truth(truths.read_log(folder), rows))
        self.assertEqual(answer["jobs"][0]["steps"]["kept"], 24)
        said = self.site.sgoodput("show", str(job)).stdout
        self.assertIn("the controller's clock was set by %+d" % jump_s, said)

    def test_an_hour_forwards_while_a_job_runs(self) -> None:
        self.job("forwards", 3600)


if __name__ == "__main__":
    unittest.main(verbosity=2)
