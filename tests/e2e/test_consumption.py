#!/usr/bin/python3
"""How machines were obtained, and waits for machines that the cloud did not have, on a real cluster: a local server in place of
Compute Engine's metadata server, and slurm-gcp's commands when it cannot create a machine.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_consumption

The truth is what the server said, when the cloud refused, and sacct.
"""

import datetime
import glob
import json
import os
import time
import unittest
from typing import Any, Callable, Dict, List

from .harness import schemas
from .harness.goodput_site import Site
from .harness.judge import assert_valid
from .harness.lateness import lateness
from .harness.metadata_server import MetadataServer
from .harness.work import Work

GPUS_A_NODE = 8
ZONE = "us-central1-c"
STOCKOUT = ("GCP Error: ZONE_RESOURCE_POOL_EXHAUSTED: The zone 'projects/mine/zones/%s' does not have enough resources "
            "available to fulfill the request.  Try a different zone, or try again later." % ZONE)
# As slurm-gcp's resume.py does (down_nodes_notify_jobs): the node's jobs get the cloud's answer, and the node is down.
REFUSING = """#!/bin/bash
export SLURM_CONF={top}/etc/slurm.conf
if [ -s {top}/cloud-answer ]; then
    answer=$(cat {top}/cloud-answer)
    for node in $(scontrol show hostnames "$1"); do
        for job in $(squeue -h -w "$node" -o %A); do
            scontrol update jobid="$job" admincomment="$answer"
            scontrol notify "$job" "$answer"
        done
        scontrol update nodename="$node" state=down reason="$answer"
        date +%s.%N >> {top}/refused
    done
    exit 0
fi
exec {top}/etc/resume.boots "$@"
"""


def local(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(int(seconds)).strftime("%Y-%m-%dT%H:%M:%S")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ConsumptionTest(unittest.TestCase):
    site: Site
    server: MetadataServer

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = MetadataServer()
        cls.server.say("zone", "projects/123/zones/us-east4-b")
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        cls.site = Site("cgroup", nodes=3, cloud=1, conf=["heartbeat = 500ms", "price = * spot 2020-01-01 1", "currency = USD"])
        cls.site.daemon_env["GCE_METADATA_HOST"] = cls.server.address
        cls.addClassCleanup(cls.site.stop)
        cls.machines("TRUE")
        cls.site.start()
        top = cls.site.cluster.dir
        os.rename(os.path.join(top, "etc", "resume"), os.path.join(top, "etc", "resume.boots"))
        with open(os.path.join(top, "etc", "resume"), "w") as file:
            file.write(REFUSING.format(top=top))
        os.chmod(os.path.join(top, "etc", "resume"), 0o755)

    @classmethod
    def machines(cls, preemptible: str, **more: str) -> None:
        """What the metadata server says about them; goodputd asks when it starts."""
        cls.server.say("scheduling/", json.dumps(dict(automaticRestart="FALSE", onHostMaintenance="TERMINATE",
                                                      preemptible=preemptible, **more)))

    def restart_daemon(self) -> None:
        self.site.stop_daemon()
        self.site.start_daemon()

    def until(self, look: Callable[[], Any], good: Callable[[Any], bool], timeout: float = 60) -> Any:
        deadline = time.monotonic() + timeout
        while not good(look()):
            self.assertLess(time.monotonic(), deadline, look())
            time.sleep(0.1)
        return look()

    def told(self, job: int) -> List[str]:
        found = []
        for path in glob.glob(os.path.join(self.site.spool, "*", "*.jsonl")):
            with open(path) as file:
                for line in file:
                    if '"kind":"host"' in line and '"job":%d,' % job in line:
                        record = json.loads(line)
                        found.append("%s %s %s" % (record["node"], record["notice"], record["value"]))
        return sorted(found)

    def train(self, name: str, nodes: List[str], *options: str, steps: int = 60) -> Work:
        work = Work(self.site, name, "nobody", nodes)
        work.submit("srun " + work.trainer("--save-every 5 --steps %d" % steps), *options)
        work.steps(0, 3)
        return work

    def report(self, by: str, *jobs: int) -> Dict[str, Any]:
        answer = self.site.sgoodput("report", "-j", ",".join(map(str, jobs)), "--by", by, "--json")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        report: Dict[str, Any] = json.loads(answer.stdout)
        schemas.check(report, "report")
        return report

    def held_hours(self, job: int) -> float:
        """By sacct."""
        rows = [row for row in self.site.cluster.sacct(job, steps=False) if row["Start"] and row["End"]]
        return sum((row["End"] - row["Start"]) * GPUS_A_NODE for row in rows) / 3600

    def end(self, *works: Work) -> None:
        for work in works:
            self.site.cluster.run(["scancel", str(work.job)])
            self.site.settle(work.job)

    def test_how_machines_were_obtained(self) -> None:
        nodes = self.site.cluster.nodes
        spot = self.train("spot", nodes[:1])
        told = self.until(lambda: self.told(spot.job), lambda told: len(told) >= 2, 30)
        self.assertEqual(told, [nodes[0] + " provisioning SPOT", nodes[0] + " zone us-east4-b"])
        # The same machines again, in Slurm's reservation: still spot.
        self.site.cluster.run(["scontrol", "create", "reservation", "reservationname=llm", "starttime=now", "duration=60", "users=nobody",
                               "nodes=" + ",".join(nodes[1:3])])
        held = self.train("held", nodes[1:2], "--reservation=llm")
        self.until(lambda: self.told(held.job), lambda told: len(told) >= 2, 30)
        self.end(spot, held)
        # Other machines.
        self.machines("FALSE", provisioningModel="STANDARD")
        self.restart_daemon()
        kept = self.train("kept", nodes[2:3], "--reservation=llm")
        self.until(lambda: self.told(kept.job), lambda told: len(told) >= 2, 30)
        self.end(kept)
        report = self.report("consumption", spot.job, held.job, kept.job)
        rows = {row["group"]: row for row in report["rows"]}
        self.assertEqual(set(rows), {"spot", "reserved"}, report)
        self.assertEqual(set(rows["spot"]["told_by"]), {"machine"})
        self.assertEqual(set(rows["reserved"]["told_by"]), {"reservation"})
        self.assertAlmostEqual(rows["spot"]["allocated_gpu_hours"] + rows["reserved"]["allocated_gpu_hours"],
                               sum(self.held_hours(work.job) for work in (spot, held, kept)), delta=0.01)
        self.assertAlmostEqual(rows["reserved"]["allocated_gpu_hours"], self.held_hours(kept.job), delta=0.005)
        for job, machines in ((held.job, "spot (by each machine's metadata server)"), (kept.job, "reserved:llm (by Slurm's reservation)")):
            self.assertIn("\nmachines: %s\n" % machines, self.site.sgoodput("show", str(job)).stdout)
        text = self.site.sgoodput("report", "-j", "%d,%d" % (spot.job, kept.job), "--by", "consumption").stdout
        self.assertRegex(" ".join(text.split()), r"by what says so: machine \S+%, reservation \S+% of the allocated GPU-hours")
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        csv = self.site.sgoodput("report", "-j", str(spot.job), "--by", "consumption", "--csv").stdout.splitlines()
        self.assertEqual(dict(zip(csv[0].split(","), csv[1].split(",")))["Evidence"], "machine")

    def set_cloud(self, answer: str) -> None:
        with open(self.site.path("cloud-answer"), "w") as file:
            file.write(answer)

    def flags(self, node: str) -> str:
        return self.site.cluster.run(["scontrol", "show", "node", node], check=False).stdout

    def slurmsync(self, node: str) -> None:
        """What slurm-gcp's slurmsync.py does with a node that is down and has no machine."""
        self.site.cluster.run(["scontrol", "update", "nodename=" + node, "state=power_down"], check=False)
        # Slurm hides cloud nodes without power.
        self.until(lambda: self.flags(node), lambda text: "not found" in text or "POWERED_DOWN" in text)
        self.site.cluster.run(["scontrol", "update", "nodename=" + node, "state=resume"], check=False)

    def test_a_stockout(self) -> None:
        node = self.site.cluster.cloud_nodes[0]
        self.set_cloud(STOCKOUT)
        work = Work(self.site, "stockout", "nobody", [node])
        work.job = self.site.cluster.sbatch("srun " + work.trainer("--save-every 5 --steps 12"), user="nobody", options=[
            "-p", "cloud", "-N1", "--gres=gpu:8", "--job-name=stockout", "--requeue"])
        self.until(lambda: os.path.exists(self.site.path("refused")), bool, 60)
        self.site.cluster.wait_state(work.job, "PENDING")
        self.set_cloud("")
        self.slurmsync(node)
        work.steps(0, 12)
        self.site.settle(work.job)
        with open(self.site.path("refused")) as file:
            refused = float(file.readline())
        show = self.site.show_json(work.job)
        assert_valid(show)
        job = show["jobs"][0]
        self.assertGreaterEqual(len(job["attempts"]), 2, job["attempts"])
        first = job["interruptions"][0]
        self.assertEqual((first["cause"], first["node"]), ("stockout", node), first)
        self.assertTrue([line for line in first["evidence"] if "the cloud had no machine for node " + node in line], first)
        buckets = {bucket["name"]: bucket["seconds"] for bucket in job["buckets"]}
        self.assertLess(buckets["unobserved"], 0.01 * job["wall_s"] + 0.1, buckets)
        report = self.report("stockout", work.job)
        rows = {row["group"]: row for row in report["rows"]}
        self.assertIn(ZONE, rows, report)
        self.assertEqual(rows[ZONE]["interruptions"], 1)
        # From the allocation in vain until the trainer's node was up, by the trainer's own log and the cloud's.
        began = job["attempts"][0]["start_ns"] / 1e9
        self.assertLess(abs(began - refused), 10)
        trained = self.site.wait_event(work.folder, "start")["t"] / 1e9
        waited = rows[ZONE]["waited_s"]
        self.assertLess(waited, trained - began + 0.5 * lateness())
        self.assertGreater(waited, trained - began - 5, "at most the launch is not waiting for machines")
        self.assertAlmostEqual(rows[ZONE]["waited_gpu_hours"], waited * GPUS_A_NODE / 3600, places=6)
        text = self.site.sgoodput("report", "-j", str(work.job), "--by", "stockout").stdout
        self.assertIn(ZONE, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        advise = json.loads(self.site.sgoodput("advise", str(work.job), "--json").stdout)
        self.assertIsNone(advise["spares"])
        self.assertIn("fewer than 5 times say too little", advise["spares_unknown"])
        self.assertIsNone(advise["reserved_scheduling"])


if __name__ == "__main__":
    unittest.main()
