#!/usr/bin/python3
"""Nodes whose clocks differ from the controller's, or are set while a job runs: durations stay right, and a warning names the clock.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_clocks

libfaketime changes the clock of a node (slurmd with its slurmstepds, and the node's goodputd) or of the controller; the
trainer, and so the truth, use the machine's own. Needs root, Debian's Slurm packages and libfaketime.
"""

import glob
import os
import subprocess
import unittest
from typing import Dict, List, Sequence, Tuple

from .harness.checks import assert_buckets_close
from .harness import truth as truths
from .harness.goodput_site import GOODPUTD, TRAINER, Site
from .harness.truth import Truth

LIBRARY = (glob.glob("/usr/lib/*/faketime/libfaketime.so.1") or [""])[0]


class Clock:
    """Shifts the real time of processes with its environment by seconds; monotonic time does not change."""

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
    """Removes files of libfaketime, which a killed process leaves behind."""
    for path in glob.glob("/dev/shm/*faketime_s[eh]m_*"):
        if not os.path.exists("/proc/" + path.rsplit("_", 1)[1]):
            os.unlink(path)


@unittest.skipUnless(LIBRARY, "libfaketime is not installed")
class ClockCase(unittest.TestCase):
    """A site on which some daemons use `clock`: Slurm's daemons listed in DAEMONS, and the goodputd of the role FAKED."""

    DAEMONS: Sequence[str] = ()
    FAKED = ""
    SLURM_CONF: Sequence[str] = ()
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("linuxproc", nodes=1, cred_expire_s=0, slurm_conf=cls.SLURM_CONF, daemon=False)
        cls.addClassCleanup(forget_shared_memory)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        cls.clock = Clock(cls.site.path("clock"))
        cluster = cls.site.cluster
        daemons = [daemon.format(node=cluster.nodes[0]) for daemon in cls.DAEMONS]
        cluster.daemon_env = cls.clock.env()
        for daemon in reversed(daemons):
            cluster.stop_daemon(daemon)
        for daemon in daemons:
            cluster.start_daemon(daemon)
        cluster.daemon_env = {}
        for role in ("node", "controller"):
            cls.start_goodputd(role, cls.clock.env() if role == cls.FAKED else {})
        cls.serial = 0

    @classmethod
    def start_goodputd(cls, role: str, env: Dict[str, str]) -> None:
        conf = cls.site.conf + "." + role
        with open(cls.site.conf) as shared, open(conf, "w") as file:
            file.write(shared.read() + "role = %s\n" % role)
        with open(cls.site.path("log", role + ".out"), "ab") as log:
            daemon = subprocess.Popen([GOODPUTD, "--config", conf], env=dict(cls.site.cluster.env(), **env),
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        cls.addClassCleanup(daemon.wait)
        cls.addClassCleanup(daemon.terminate)

    def tearDown(self) -> None:
        self.clock.set(0)

    def train(self, jump_s: int) -> Tuple[int, str]:
        """Runs a job of about 12 s to its end; if jump_s is not 0, the clock is set by that while it trains."""
        type(self).serial += 1
        folder = self.site.folder("clock-%d" % self.serial, "nobody")
        job = self.site.cluster.sbatch("srun %s --dir %s --steps 24 --step-seconds 0.3 --save-every 8 --save-seconds 0.3 "
                                       "--init-seconds 0.5 --marks" % (TRAINER, folder), user="nobody", options=["-N1"])
        if jump_s:
            self.site.wait_steps(folder, 0, 11)
            self.clock.set(jump_s)
        self.site.cluster.wait_state(job, "COMPLETED")
        self.site.wait_watched(job, ["COMPLETED"])
        return job, folder

    def judge(self, job: int, truth: Truth) -> None:
        answer = self.site.show_json(job)
        assert_buckets_close(self, answer, truth)
        self.assertEqual(answer["jobs"][0]["steps"]["kept"], 24)
        self.said = [line for line in self.site.sgoodput("show", str(job)).stdout.splitlines() if "clock" in line]

    def rows(self, job: int) -> List[Dict]:
        return self.site.cluster.wait_sacct(job, lambda rows: all(row["End"] is not None for row in rows))


class NodeClockTest(ClockCase):
    """slurmd with its slurmstepds, and the goodputd of the node."""

    DAEMONS = ("slurmd-{node}",)
    FAKED = "node"

    def job(self, jump_s: int = 0) -> None:
        job, folder = self.train(jump_s)
        self.judge(job, Truth(truths.read_log(folder), self.rows(job)))

    def test_a_good_clock_is_not_mentioned(self) -> None:
        self.job()
        self.assertEqual(self.said, [])

    def assert_said(self, *changes: int) -> None:
        """slurmd starts prolog and epilog with a different environment, so they use the machine's clock: this tests a node whose
        clock is set before and after the job, not one that is constantly ahead."""
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


class ControllerClockTest(ClockCase):
    """slurmctld, slurmdbd and the controller's goodputd; the nodes keep the machine's clock."""

    DAEMONS = ("slurmdbd", "slurmctld")
    FAKED = "controller"
    SLURM_CONF = ("SlurmdTimeout=0",)  # otherwise a node without answers for an hour would be set down

    def test_an_hour_forwards_while_a_job_runs(self) -> None:
        jump_s = 3600
        job, folder = self.train(jump_s)
        rows = self.rows(job)
        # As with the clock at the start.
        for row in rows:
            for field in ("Submit", "Eligible", "Start", "End"):
                if row[field] is not None and row[field] - rows[0]["Submit"] > jump_s // 2:
                    row[field] -= jump_s
        self.judge(job, Truth(truths.read_log(folder), rows))
        self.assertIn("the controller's clock was set by %+d" % jump_s, "".join(self.said))


class ControllerClockBackTest(ClockCase):
    DAEMONS = ControllerClockTest.DAEMONS
    FAKED = ControllerClockTest.FAKED
    SLURM_CONF = ControllerClockTest.SLURM_CONF

    def test_an_hour_backwards_while_a_job_runs(self) -> None:
        job, folder = self.train(-3600)
        # slurmdbd has no end before the start: mostly, for it the job waits or runs for ever, depending on whether it was told of the
        # start before. On a slow machine, it had completed.
        row, = self.site.cluster.sacct(job, steps=False)
        self.assertIn(row["State"], ("PENDING", "RUNNING", "COMPLETED"), row)
        self.assertTrue(row["End"] is None or row["End"] >= row["Start"], row)
        said = self.site.show_json(job)["jobs"][0]
        self.assertEqual((said["state"], said["steps"]["kept"], said["interruptions"]), ("COMPLETED", 24, []))
        # No clock but the controller's times of whole seconds says how the nodes' clocks relate to it.
        log = truths.read_log(folder)
        self.assertEqual((log[0]["event"], log[-1]["event"]), ("start", "exit"))
        buckets = {bucket["name"]: bucket["seconds"] for bucket in said["buckets"]}
        spent = sum(buckets.get(name, 0) for name in ("startup", "productive", "checkpoint_save"))
        # The program starts between its fork and its first line: see harness/checks.py. On a slow machine that is seconds.
        alive = (log[-1]["t"] - log[0]["exec_t"]) / truths.S
        self.assertGreater(spent, (log[-1]["t"] - log[0]["t"]) / truths.S - 1.1)
        self.assertLess(spent, alive + 1.1)
        self.assertLess(said["wall_ns"] / truths.S, alive + 15)
        self.assertIn("the controller's clock was set by -3600", self.site.sgoodput("show", str(job)).stdout)


del ClockCase  # a base class, not a test


if __name__ == "__main__":
    unittest.main(verbosity=2)
