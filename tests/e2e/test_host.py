#!/usr/bin/python3
"""A notice of the cloud about a host is recorded once for every job on it, and explains the interruption that follows: on a
real cluster, with a local server in place of Compute Engine's metadata server.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_host

The truth is what the server announced and when, and what was done to the nodes.
"""

import glob
import json
import os
import signal
import time
import unittest
from typing import Callable, Dict, List, Tuple

from .harness.goodput_site import Site
from .harness.judge import assert_valid
from .harness.metadata_server import MetadataServer
from .harness.work import Work

TERMINATE = "TERMINATE_ON_HOST_MAINTENANCE"


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class HostTest(unittest.TestCase):
    site: Site
    server: MetadataServer

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = MetadataServer()
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        cls.site = Site("cgroup", nodes=3, conf=["heartbeat = 500ms"])
        cls.site.daemon_env["GCE_METADATA_HOST"] = cls.server.address
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()

    def setUp(self) -> None:
        self.server.say("maintenance-event", "NONE")
        self.server.say("preempted", "FALSE")
        self.server.say("upcoming-maintenance", None)

    def train(self, name: str, node: int, user: str = "nobody", more: str = "", *options: str) -> Work:
        work = Work(self.site, name, user, [self.site.cluster.nodes[node]])
        work.submit("srun " + work.trainer("--save-every 10 " + more), *options)
        work.steps(0, 3)
        return work

    def told(self, job: int) -> List[Tuple[str, str, int, str]]:
        """Notice, value, time and node of the job's notices."""
        found = []
        for path in glob.glob(os.path.join(self.site.spool, "*", "*.jsonl")):
            with open(path) as file:
                for line in file:
                    if '"kind":"host"' in line and '"job":%d,' % job in line:
                        record = json.loads(line)
                        found.append((record["notice"], record["value"], record["t"], record["node"]))
        return sorted(found, key=lambda word: word[2])

    def wait_told(self, job: int, *words: Tuple[str, str]) -> List[Tuple[str, str, int, str]]:
        return self.until(lambda: self.told(job), lambda told: [word[:2] for word in told] == list(words))

    def until(self, look: Callable, good: Callable) -> List:
        deadline = time.monotonic() + 60
        while not good(look()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertTrue(good(look()), (look(), self.site.daemon_log()[-3000:]))
        return look()

    def fail_node(self, work: Work, why: str, state: str) -> None:
        words = ["scontrol", "update", "nodename=" + work.nodes[0]]
        self.site.cluster.run(words + ["state=down", "reason=" + why])
        self.site.cluster.wait_state(work.job, state)
        time.sleep(2)  # until goodputd has seen it down
        # It may already be up again, in which case Slurm returns an error.
        self.site.cluster.run(words + ["state=resume"], check=False)

    def interruption(self, job: int) -> Dict:
        show = self.site.show_json(job)
        assert_valid(show)
        self.assertEqual(len(show["jobs"][0]["interruptions"]), 1)
        return show["jobs"][0]["interruptions"][0]

    def says(self, interruption: Dict, words: str) -> None:
        self.assertTrue([line for line in interruption["evidence"] if words in line], interruption)

    def test_maintenance_an_hour_ahead(self) -> None:
        first = self.train("first", 0, "nobody", "--steps-after-restore 5")
        other = self.train("other", 1, "root", "--steps-after-restore 5")
        said = self.server.say("maintenance-event", TERMINATE)
        for work in (first, other):
            told = self.wait_told(work.job, ("maintenance", TERMINATE))
            self.assertGreater(told[0][2], said)
            self.assertEqual(told[0][3], work.nodes[0])
        # A job that starts while the notice is in force.
        late = self.train("late", 2, "nobody", "--steps 8")
        self.wait_told(late.job, ("maintenance", TERMINATE))
        # Then a window is announced; neither a restart nor a crash of the daemon repeats a record.
        begin = int(time.time()) + 3600
        self.server.announce(begin, begin + 7200)
        words = (("maintenance", TERMINATE), ("upcoming_maintenance", "SCHEDULED/PENDING"))
        for signo in (signal.SIGTERM, signal.SIGKILL):
            self.site.stop_daemon(signo)
            seen = len(self.server.requests)
            self.site.start_daemon()
            self.until(lambda: self.server.requests[seen:], lambda asked: len(asked) >= 5)
        self.wait_told(first.job, *words)
        self.fail_node(first, "power supply", "PENDING")
        # A withdrawn notice is not the cause of a later interruption.
        self.server.say("maintenance-event", "NONE")
        self.wait_told(other.job, *words, ("maintenance", "NONE"))
        self.server.say("upcoming-maintenance", None)
        self.wait_told(other.job, *words, ("maintenance", "NONE"), ("upcoming_maintenance", "NONE"))
        other.control("requeue", str(other.job))
        for work in (first, other, late):
            self.site.settle(work.job)
        cause = self.interruption(first.job)
        self.assertEqual((cause["cause"], cause["node"]), ("maintenance", first.nodes[0]))
        self.says(cause, "the host of node %s reported %s" % (first.nodes[0], TERMINATE))
        self.says(cause, "Slurm's state: NODE_FAIL")
        self.says(cause, "power supply")
        self.says(cause, "announced maintenance (SCHEDULED/PENDING), beginning")
        rival = self.interruption(other.job)
        self.assertEqual(rival["cause"], "user_requeue")
        self.assertFalse([line for line in rival["evidence"] if "the host of node" in line], rival)
        self.assertEqual([word[:2] for word in self.told(late.job)][:1], [("maintenance", TERMINATE)])

    def test_a_spot_machine_half_a_minute_ahead(self) -> None:
        work = self.train("spot", 0, "nobody", "", "--no-requeue")
        # The server stops, and comes back with its notice.
        self.server.stop()
        self.until(self.site.daemon_log, lambda log: "no notices about this host" in log)
        self.server.start()
        said = self.server.say("preempted", "TRUE")
        told = self.wait_told(work.job, ("preempted", "TRUE"))
        self.assertGreater(told[0][2], said)
        self.fail_node(work, "no answer", "NODE_FAIL")
        self.site.settle(work.job, states=("NODE_FAIL",))
        cause = self.interruption(work.job)
        self.assertEqual((cause["cause"], cause["node"]), ("preempted", work.nodes[0]))
        self.says(cause, "announced its preemption")
        self.says(cause, "no answer")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class OffCloudTest(unittest.TestCase):
    def test_quiet_after_one_probe(self) -> None:
        """Servers that are no metadata server, and no server at all: one log line, one request, and nothing more."""
        server = MetadataServer()
        server.flavor = "none of it"
        server.start()
        self.addCleanup(server.stop)
        site = Site("cgroup", nodes=1, dbd=False, daemon=False)
        self.addCleanup(site.stop)
        site.start()
        for address, requests in ((server.address, 1), ("127.0.0.1:9", 1), ("nonsense/", 1)):
            site.daemon_env["GCE_METADATA_HOST"] = address
            begin = os.path.getsize(site.path("log", "goodputd.out")) if os.path.exists(site.path("log", "goodputd.out")) else 0
            site.start_daemon()
            time.sleep(3)  # several times the shortest back-off
            self.assertEqual(site.stop_daemon(), 0)
            self.assertEqual(site.daemon_log(begin).count("notices about this host"), 1, site.daemon_log(begin))
            self.assertEqual(len(server.requests), requests)


if __name__ == "__main__":
    unittest.main()
