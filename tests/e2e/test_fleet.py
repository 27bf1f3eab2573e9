#!/usr/bin/python3
"""Records of the controller on a real cluster with slurmdbd: what became of all its GPUs, why jobs waited and who ended them.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_fleet

The truth is sacct, what was done to nodes and when, and when goodputd did not run.
"""

import datetime
import json
import math
import os
import time
import unittest
from typing import Any, Callable, Dict, List

from .harness import schemas
from .harness.goodput_site import Site
from .harness.judge import assert_valid
from .harness.lateness import lateness
from .harness.work import Work

GPUS_A_NODE = 8
NODES = 4


def local(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(int(seconds)).strftime("%Y-%m-%dT%H:%M:%S")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class FleetTest(unittest.TestCase):
    site: Site
    began: float

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("cgroup", nodes=NODES, conf=["heartbeat = 500ms"])
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        cls.began = time.time()

    # --- helpers

    def until(self, look: Callable[[], Any], good: Callable[[Any], bool], timeout: float = 60) -> Any:
        deadline = time.monotonic() + timeout
        while True:
            seen = look()
            if good(seen):
                return seen
            self.assertLess(time.monotonic(), deadline, seen)
            time.sleep(0.1)

    def records(self, kind: str) -> List[Dict[str, Any]]:
        """All records of this kind from the queue watch so far."""
        folder = os.path.join(self.site.spool, "@controller")
        found = []
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), errors="replace") as file:
                found += [json.loads(line) for line in file if '"kind":"%s"' % kind in line and line.endswith("\n")]
        return found

    def node_words(self, node: str) -> List[Dict[str, Any]]:
        return [record for record in self.records("node_state") if record["node_name"] == node]

    def set_node(self, node: str, state: str, reason: str, flag: str) -> float:
        """Waits until the change is done and the queue watch has recorded it."""
        at = time.time()
        self.site.cluster.run(["scontrol", "update", "nodename=" + node, "state=" + state, "reason=" + reason])
        self.until(lambda: self.node_words(node), lambda words: flag in words[-1].get("flags", []))
        return at

    def resume(self, node: str, flag: str = "") -> float:
        """Waits until the queue watch has seen it without the flag."""
        # It may already be up again, in which case Slurm returns an error.
        self.site.cluster.run(["scontrol", "update", "nodename=" + node, "state=resume"], check=False)
        self.until(lambda: self.node_words(node),
                   lambda words: not {"DOWN", "DRAIN", "NOT_RESPONDING"} & set(words[-1].get("flags", [])))
        words = self.node_words(node)
        last = max([i for i, word in enumerate(words) if flag in word.get("flags", [])], default=-1)
        return words[min(last + 1, len(words) - 1)]["t"] / 10**9

    def fleet(self, begin: float, end: float, *more: str) -> Dict[str, Any]:
        # The queue watch confirms that it ran until then with its next record, every 20 queries.
        self.until(lambda: self.records("watch")[-1]["t"], lambda t: t >= end * 10**9, timeout=120)
        answer = self.site.sgoodput("report", "--fleet", "-S", local(begin), "-E", local(end), "--json", *more)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        fleet: Dict[str, Any] = json.loads(answer.stdout)
        schemas.check(fleet, "report")
        for row in fleet["rows"] + [fleet["total"]]:
            parts = [part["gpu_seconds"] for part in row["held"] + row["unheld"] if part["name"] != "off"]
            self.assertAlmostEqual(sum(parts), row["capacity_gpu_seconds"], places=3)
        return fleet

    def unheld(self, fleet: Dict[str, Any]) -> Dict[str, float]:
        return {part["name"]: part["gpu_seconds"] for part in fleet["total"]["unheld"]}

    def train(self, name: str, nodes: List[str], *options: str, steps: int = 12) -> Work:
        work = Work(self.site, name, "nobody", nodes)
        work.submit("srun " + work.trainer("--save-every 5 --steps %d" % steps), *options)
        return work

    def next_second(self) -> float:
        """Slurm's times are whole seconds: an interval that is compared with their sums must begin at a full second."""
        now = time.time()
        time.sleep(int(now) + 1 - now)
        return float(int(now) + 1)

    def cause(self, job: int) -> Dict[str, Any]:
        show = self.site.show_json(job)
        assert_valid(show)
        interruptions = show["jobs"][0]["interruptions"]
        self.assertEqual(len(interruptions), 1, interruptions)
        return interruptions[0]

    def says(self, interruption: Dict[str, Any], words: str) -> None:
        self.assertTrue([line for line in interruption["evidence"] if words in line], interruption)

    # --- tests

    def test_all_gpus_are_held_idle_down_or_drained(self) -> None:
        nodes = self.site.cluster.nodes
        begin = self.next_second()
        drained = self.set_node(nodes[2], "drain", "swap the NIC", "DRAIN")
        # A node whose slurmd answers would be up again within a second.
        self.site.cluster.stop_daemon("slurmd-" + nodes[3])
        down = self.set_node(nodes[3], "down", "Xid 79", "DOWN")
        first = self.train("first", nodes[:2])
        second = self.train("second", nodes[:1])
        self.until(lambda: [r for r in self.records("queue") if r["job"] == second.job], bool)
        for work in (first, second):
            self.site.settle(work.job)
        self.site.cluster.start_daemon("slurmd-" + nodes[3])
        ends = [self.resume(nodes[3], "DOWN"), self.resume(nodes[2], "DRAIN")]
        end = self.next_second()
        fleet = self.fleet(begin, end)
        held = sum(row["ElapsedRaw"] * GPUS_A_NODE * int(row["NNodes"])
                   for work in (first, second) for row in self.site.cluster.sacct(work.job, steps=False))
        self.assertEqual(fleet["total"]["held_gpu_seconds"], held)
        self.assertEqual(fleet["unplaced_gpu_seconds"], 0)
        self.assertEqual(fleet["total"]["nodes"], NODES)
        self.assertEqual(fleet["total"]["capacity_gpu_seconds"], NODES * GPUS_A_NODE * (end - begin))
        unheld = self.unheld(fleet)
        # Slurm rounds its begin.
        self.assertAlmostEqual(unheld["drained"] / GPUS_A_NODE, ends[1] - drained, delta=2.5 * lateness())
        self.assertAlmostEqual(unheld["down"] / GPUS_A_NODE, ends[0] - down, delta=2.5 * lateness())
        self.assertEqual(unheld["unknown"], 0)
        self.assertEqual(unheld["off"], 0)
        self.assertGreater(unheld["idle"], 0)
        up = sum(part["gpu_seconds"] for part in fleet["total"]["held"] if part["name"] not in ("provisioning", "suspended"))
        self.assertAlmostEqual(fleet["total"]["scheduling"], up / fleet["total"]["capacity_gpu_seconds"])
        # The held time agrees with the reports on the jobs themselves.
        productive = sum(bucket["gpu_seconds"] for work in (first, second)
                         for bucket in self.site.show_json(work.job)["jobs"][0]["buckets"] if bucket["name"] == "productive")
        self.assertAlmostEqual([part["gpu_seconds"] for part in fleet["total"]["held"] if part["name"] == "productive"][0],
                               productive, places=3)
        # All nodes are in the same partitions.
        divided = self.fleet(begin, end, "--by", "partition")
        self.assertEqual([row["group"] for row in divided["rows"]], ["a3mega,a3grace,high"])
        self.assertEqual(divided["rows"][0]["held_gpu_seconds"], held)
        self.check_nodes(begin, end, fleet)
        text = self.site.sgoodput("report", "--fleet", "-S", local(begin), "-E", local(end)).stdout
        for word in ("Fleet of", "productive", "idle", "down", "drained"):
            self.assertIn(word, text)
        # It waits for the first one's node, as the controller reports.
        waited = {bucket["name"]: bucket for bucket in self.site.show_json(second.job)["jobs"][0]["buckets"]}
        seen = [name for name in ("queue_resources", "queue_priority", "queue_other") if waited[name]["ns"]]
        self.assertTrue(seen)
        self.assertEqual({waited[name]["evidence"] for name in seen}, {"scheduler"}, waited)

    def check_nodes(self, begin: float, end: float, fleet: Dict[str, Any]) -> None:
        """By node: the same GPU time as of the fleet, and the outages that Slurm itself recorded."""
        answer = self.site.sgoodput("report", "--fleet", "-S", local(begin), "-E", local(end), "--json", "--by", "node")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        by_node = json.loads(answer.stdout)
        schemas.check(by_node, "report")
        self.assertAlmostEqual(by_node["total"]["gpu_ns"]["allocated"] / 10**9, fleet["total"]["held_gpu_seconds"], places=3)
        for name, seconds in self.unheld(fleet).items():
            self.assertAlmostEqual(by_node["total"]["gpu_ns"][name] / 10**9, seconds, places=3)
        events = self.site.cluster.run(["sacctmgr", "-n", "-P", "show", "event", "start=" + local(begin), "end=" + local(end),
                                        "format=NodeName,State,TimeStart,TimeEnd"])
        outages = {"down": 0.0, "drained": 0.0}
        for line in events.stdout.splitlines():
            node, state, *times = line.split("|")
            if not node:
                continue  # the cluster itself
            first, last = (datetime.datetime.strptime(t, "%Y-%m-%dT%H:%M:%S").timestamp() for t in times)
            outages["down" if state.startswith("DOWN") else "drained"] += last - first
        rows = {row["groups"][0]: row["node_ns"] for row in by_node["rows"]}
        self.assertEqual(sorted(rows), sorted(self.site.cluster.nodes))
        self.assertEqual({sum(row.values()) for row in rows.values()}, {round((end - begin) * 10**9)})
        for name, seconds in outages.items():
            self.assertGreater(seconds, 0)
            # Slurm's times are whole seconds.
            self.assertAlmostEqual(sum(row[name] for row in rows.values()) / 10**9, seconds, delta=2.5 * lateness())

    def test_time_nobody_watched_is_unknown(self) -> None:
        begin = self.next_second()
        self.site.stop_daemon()
        stopped = self.records("watch")[-1]
        self.assertEqual(stopped["edge"], "end")
        time.sleep(3)  # so that there is time in this state
        self.site.start_daemon()
        self.until(lambda: self.records("watch")[-1], lambda last: last["edge"] != "end")
        end = self.next_second()
        fleet = self.fleet(begin, end)
        begun = [record for record in self.records("watch") if record["edge"] == "begin"][-1]
        unknown = (begun["t"] - max(stopped["t"], begin * 10**9)) / 10**9
        self.assertGreater(unknown, 2)
        self.assertAlmostEqual(self.unheld(fleet)["unknown"] / (NODES * GPUS_A_NODE), unknown, delta=0.01)
        low, high = fleet["total"]["scheduling_range"]
        self.assertLess(low, high)

    def test_a_requeue_after_an_operator_drained_the_node_is_the_operators(self) -> None:
        node = self.site.cluster.nodes[0]
        work = self.train("drained", [node], steps=40)
        work.steps(0, 3)
        self.set_node(node, "drain", "replace GPU 3", "DRAIN")
        work.control("requeue", str(work.job), user="root")
        self.site.cluster.wait_state(work.job, "PENDING")
        self.resume(node)
        work.steps(1, 2)
        work.control("requeue", str(work.job))
        work.steps(2, 2)
        self.site.settle(work.job)
        show = self.site.show_json(work.job)
        self.assertEqual([one["cause"] for one in show["jobs"][0]["interruptions"]], ["admin_requeue", "user_requeue"], show)
        self.says(show["jobs"][0]["interruptions"][0], "was drained by root")
        self.says(show["jobs"][0]["interruptions"][0], "replace GPU 3")

    def test_a_machine_the_cloud_took_back_preempted_its_job(self) -> None:
        node = self.site.cluster.nodes[1]
        begin = time.time()
        for reason, cause in (("Preempted instance", "preempted"), ("Unbacked instance", "node_fail")):
            work = self.train(cause, [node], "--no-requeue", steps=1000)
            work.steps(0, 3)
            # It may be up again before the next query; slurmdbd has it.
            self.site.cluster.run(["scontrol", "update", "nodename=" + node, "state=down", "reason=" + reason])
            self.site.settle(work.job, states=("NODE_FAIL",))
            self.resume(node)
            interruption = self.cause(work.job)
            self.assertEqual((interruption["cause"], interruption["node"]), (cause, node), interruption)
            self.says(interruption, reason)
        answer = json.loads(self.site.sgoodput("report", "-a", "-S", local(begin), "--by", "node", "--json").stdout)
        rows = {row["group"]: row for row in answer["rows"]}
        self.assertEqual(rows[node]["node_failures"], 1)
        self.assertIsNotNone(rows[node]["chance"])

    def test_a_second_database_filled_from_slurmdbd_says_the_same(self) -> None:
        work = self.train("again", self.site.cluster.nodes[2:4])
        self.site.settle(work.job)
        fresh = self.site.path("goodput", "db", "fresh.db")
        since = local(self.began)
        for _ in range(2):
            read = self.site.sgoodput("backfill", "-S", since, "--db", fresh)
            self.assertEqual((read.returncode, read.stderr), (0, ""), read)
            self.assertRegex(read.stdout, r"^read \d+ attempts and \d+ node outages")
            rows = {}
            for db in (fresh, self.site.database):
                more = ["--no-refresh"] if db == fresh else []
                answer = self.site.sgoodput("-j", str(work.job), "--db", db, "--json", *more)
                self.assertEqual((answer.returncode, answer.stderr), (0, ""))
                job = json.loads(answer.stdout)["jobs"][0]
                # If steps are known, this is a sum of other buckets as floating-point numbers, so the last bits may differ.
                held = math.fsum(b["gpu_seconds"] for b in job["buckets"]
                                 if b["side"] not in ("excluded", "scheduling") or b["name"] == "provisioning")
                rows[db] = (job["wall_ns"], job["gpus"], job["state"], job["user"], round(held, 6))
            self.assertEqual(rows[fresh], rows[self.site.database])

    def test_questions_that_make_no_sense_are_refused_in_a_line(self) -> None:
        for words in (["--fleet", "-u", "nobody"], ["--fleet", "--by", "user"], ["--fleet", "--window=1h"],
                      ["--fleet", "-M", "nowhere"]):
            done = self.site.sgoodput("report", *words)
            self.assertIn(done.returncode, (1, 2))
            self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), words)
        hidden = self.site.sgoodput("report", "--fleet", env={"GOODPUT_VIEWER": "own:nobody:"})
        self.assertEqual((hidden.returncode, hidden.stdout, hidden.stderr.count("\n")), (2, "", 1), hidden)
        self.assertIn("PrivateData", hidden.stderr)
        for words in ([], ["-S", "soon"], ["-S", "2030-01-01"]):
            done = self.site.sgoodput("backfill", *words)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), words)


if __name__ == "__main__":
    unittest.main()
