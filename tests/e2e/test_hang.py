#!/usr/bin/python3
"""What goodputd finds out about jobs that hang, on a real cluster. The truth is the trainer's log and the kernel's /proc.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_hang
"""

import glob
import json
import os
import subprocess
import time
import unittest
from typing import Any, Dict, List

import jsonschema

from ..cluster.ports import reserve
from .harness.goodput_site import SCHEMA, TRAINER, Site
from .harness.lateness import lateness
from .harness.reach import reachable

AFTER_S = 3
S = 1_000_000_000
SECRET = "the-secret-of-nobody"
RAS_SERVER = os.path.join(reachable(os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness")), "ras_server.py")
# Made of the format strings of NCCL (tools/goodputd/hang/ras_report.h).
REPORT = """NCCL version 2.30.1 compiled with CUDA 13.0
CUDA runtime version 13000, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Communicators... (5.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        32        32   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 (27a079b828ff1a75) MISMATCH
  Communicator ranks have different AllReduce operation counts
  31 ranks have launched up to operation 6650
  Rank 3 has launched up to operation 6649 -- GPU 3 managed by process 483075 on node 172.16.64.210

"""


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class HangTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        (cls.port, port), lock = reserve(2)
        cls.site = Site("linuxproc", nodes=5, conf=["heartbeat = 1s", "hang_evidence_after = %ds" % AFTER_S, "hang_evidence = proc,output,ras"])
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        cls.report = os.path.join(cls.site.cluster.jobdir("nobody"), "ras-report")
        with open(cls.report, "w") as file:
            file.write(REPORT)
        with open(cls.report + ".asked", "w") as file:
            os.chmod(file.name, 0o666)
        lock.close()
        stranger = subprocess.Popen(["/usr/bin/python3", RAS_SERVER, str(port), cls.report])
        cls.addClassCleanup(stranger.wait)
        cls.addClassCleanup(stranger.kill)
        cls.folder = cls.site.folder("hung", "nobody")
        cls.hung = cls.start(cls.folder, "nobody", "--hang-at-step 5")
        cls.private = cls.start(cls.site.folder("private", "nobody"), "nobody", "--hang-at-step 5",
                                'chmod 600 /proc/$$/fd/1')
        cls.trains = cls.start(cls.site.folder("trains", "games"), "games", "")
        cls.nccl = cls.start(cls.site.folder("nccl", "nobody"), "nobody", "--hang-at-step 5", "export NCCL_RAS_ADDR=localhost:%d" % cls.port,
                             "if [ $SLURM_PROCID = 0 ]; then python3 %s %d %s 7 & fi;" % (RAS_SERVER, cls.port, cls.report))
        cls.foreign = cls.start(cls.site.folder("foreign", "games"), "games", "--hang-at-step 5", "export NCCL_RAS_ADDR=localhost:%d" % port)
        cls.all = (cls.hung, cls.private, cls.trains, cls.nccl, cls.foreign)
        cls.wait_for(lambda: bool(cls.site.events(cls.folder, "hang")))
        for job in (cls.hung, cls.private, cls.nccl, cls.foreign):
            cls.wait_for(lambda: {"proc", "output", "ras"} <= cls.sources(job))
        process, _ = [record for record in cls.records(cls.hung) if record["source"] == "proc"]
        with open("/proc/%d/wchan" % process["pid"]) as file:
            wchan = file.read()
        cls.wchan = None if wchan == "0" else wchan
        cls.output = cls.site.cluster.output(cls.hung, "nobody")
        # Another look would come by now.
        time.sleep(2 * AFTER_S)
        for job in cls.all:
            cls.site.cluster.run(["scancel", str(job)])
        for job in cls.all:
            cls.site.settle(job)

    @classmethod
    def start(cls, folder: str, user: str, arguments: str, before: str = ":", beside: str = "") -> int:
        train = "%s --dir %s --step-seconds 0.2 --marks --steps 100000 %s" % (TRAINER, folder, arguments)
        script = "%s\necho %s\nsrun -n2 bash -c '%s exec %s'" % (before, SECRET, beside, train)
        return cls.site.cluster.sbatch(script, user=user, options=["-N1", "-n2", "--gres=gpu:8"])

    @classmethod
    def wait_for(cls, what: Any) -> None:
        deadline = time.monotonic() + 120
        while not what():
            assert time.monotonic() < deadline, cls.site.daemon_log()[-2000:]
            time.sleep(0.2)

    @classmethod
    def records(cls, job: int) -> List[Dict]:
        found = []
        for path in glob.glob(os.path.join(cls.site.spool, "*", "*.jsonl")):
            with open(path) as file:
                found += [json.loads(line) for line in file if '"hang_evidence"' in line]
        return [record for record in found if record["job"] == job]

    @classmethod
    def sources(cls, job: int) -> set:
        return {record["source"] for record in cls.records(job)}

    def stall(self, job: int) -> Dict:
        show = self.site.show_json(job)
        with open(SCHEMA) as file:
            jsonschema.validate(show, json.load(file))
        (stall,) = show["jobs"][0]["stalls"]
        return dict(stall)

    def test_its_processes_are_looked_at_once(self) -> None:
        stall = self.stall(self.hung)
        found = [one for one in stall["hang_evidence"] if one["source"] == "proc"]
        hang = self.site.events(self.folder, "hang")[-1]
        pids = [self.site.events(self.folder, "start", rank)[-1]["pid"] for rank in (0, 1)]
        self.assertEqual([(one["task"], one["pid"]) for one in found], list(enumerate(pids)))
        for one in found:
            self.assertEqual((one["program"], one["state"]), ("python3", "S"))
            self.assertEqual(one["wchan"], self.wchan)
            self.assertLess(one["processor"], 0.5)
            self.assertAlmostEqual(one["since_ns"] / S, hang["t"] / S, delta=lateness())
            self.assertGreaterEqual(one["time_ns"] - one["since_ns"], AFTER_S * S)
            self.assertLess(one["time_ns"] - one["since_ns"], (AFTER_S + 5 * lateness()) * S)

    def test_show_says_what_they_did_and_printed_last(self) -> None:
        text = self.site.sgoodput("show", str(self.hung)).stdout
        said = " ".join(text.split())
        self.assertRegex(said, r"tasks 0-1: python3 sleeps( in \w+)? last line of output: ")
        self.assertIn("last line of output: " + self.output.splitlines()[-1], said)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_output_that_is_private_stays_private(self) -> None:
        found = [one for one in self.stall(self.private)["hang_evidence"] if one["source"] == "output"]
        self.assertEqual([(one["text"], one["problem"]) for one in found], [(None, "not everyone may read the file")])
        self.assertIn("not kept, since not everyone may read the file", self.site.sgoodput("show", str(self.private)).stdout)
        self.assertNotIn(SECRET, json.dumps(self.records(self.private)))
        self.assertIn(SECRET, json.dumps(self.records(self.hung)), "the test can see it")

    def ras(self, job: int) -> Dict:
        (found,) = [one for one in self.stall(job)["hang_evidence"] if one["source"] == "ras"]
        return dict(found)

    def test_nccl_names_the_rank_that_is_behind(self) -> None:
        behind = ("rank 3 (GPU 3 managed by process 483075 on node 172.16.64.210) is behind in AllReduce: operation 6649, 31 have operation "
                  "6650, communicator #0-0")
        self.assertEqual(self.ras(self.nccl)["text"], behind)
        self.assertIn("NCCL: " + behind, " ".join(self.site.sgoodput("show", str(self.nccl)).stdout.split()))
        with open(self.report + ".asked") as file:
            self.assertEqual(file.read().splitlines(), ["CLIENT PROTOCOL 2", "TIMEOUT 5", "STATUS"], "once")

    def test_somebody_elses_answer_is_not_asked_for(self) -> None:
        self.assertEqual(self.ras(self.foreign)["problem"],
                         "not asked: a program that is not of this job's tasks listens at RAS's port")
        self.assertIsNone(self.ras(self.foreign)["text"])

    def test_without_nccl_that_is_said(self) -> None:
        self.assertIn("RAS does not listen", self.ras(self.private)["problem"])

    def test_a_job_that_trains_is_left_alone(self) -> None:
        self.assertEqual(self.records(self.trains), [])


if __name__ == "__main__":
    unittest.main()
