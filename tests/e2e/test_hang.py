#!/usr/bin/python3
"""What goodputd finds out about jobs that hang, on a real cluster. The truth is the trainer's log and the kernel's /proc.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_hang
"""

import glob
import json
import os
import pwd
import re
import subprocess
import tempfile
import time
import unittest
from typing import Any, Dict, Iterable, List

from ..cluster.ports import reserve
from .harness import schemas
from .harness.goodput_site import TRAINER, Site
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


# As py-spy prints it (tools/goodputd/hang/py_spy.h). It is run as the job's user, and may read what it is asked about.
PY_SPY = """#!/usr/bin/python3
import os, sys
dump, nonblocking, option, pid = sys.argv[1:]
assert (dump, nonblocking, option) == ("dump", "--nonblocking", "--pid")
command = open("/proc/%s/cmdline" % pid, "rb").read().replace(b"\\0", b" ").decode()
os.readlink("/proc/%s/exe" % pid)
print("Process %s: %s\\nPython v3.11.2 (/usr/bin/python3.11)\\n" % (pid, command))
print('Thread 7 (active): "pin"\\n    wait (threading.py:327)')
print('Thread %s (idle): "MainThread"\\n    hang (trainer.py:%d)\\n    <module> (trainer.py:400)' % (pid, os.getuid()))
"""


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class HangTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        (cls.port, port), lock = reserve(2)
        kernel = tempfile.NamedTemporaryFile(prefix="kmsg.", mode="w")
        cls.addClassCleanup(kernel.close)
        cls.kernel = kernel
        py_spy = tempfile.NamedTemporaryFile(prefix="py-spy.", mode="w", delete=False)
        cls.addClassCleanup(os.unlink, py_spy.name)
        with py_spy:
            py_spy.write(PY_SPY)
        os.chmod(py_spy.name, 0o755)
        cls.site = Site("linuxproc", nodes=6, cred_expire_s=0, conf=["heartbeat = 1s", "hang_evidence_after = %ds" % AFTER_S, "hang_evidence = proc,output,ras,py-spy", "py_spy = " + py_spy.name,
                                                           "kernel_log = " + kernel.name])
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
        cls.hung = cls.start(cls.folder, "nobody", "--hang-at-step 5", options=["--goodput-hang-evidence=py-spy"])
        cls.private = cls.start(cls.site.folder("private", "nobody"), "nobody", "--hang-at-step 5",
                                'chmod 600 /proc/$$/fd/1')
        cls.trains = cls.start(cls.site.folder("trains", "games"), "games", "")
        cls.nccl = cls.start(cls.site.folder("nccl", "nobody"), "nobody", "--hang-at-step 5", "export NCCL_RAS_ADDR=localhost:%d" % cls.port,
                             "if [ $SLURM_PROCID = 0 ]; then python3 %s %d %s 7 & fi;" % (RAS_SERVER, cls.port, cls.report))
        cls.foreign = cls.start(cls.site.folder("foreign", "games"), "games", "--hang-at-step 5", "export NCCL_RAS_ADDR=localhost:%d" % port)
        cls.failing_folder = cls.site.folder("failing", "games")
        train = "srun -n2 %s --dir %s --step-seconds 0.2 --marks --save-every 10 --steps 80" % (TRAINER, cls.failing_folder)
        cls.failing = cls.site.cluster.sbatch("%s --crash-at-step 60\n%s" % (train, train), user="games", options=["-N1", "-n2", "--gres=gpu:8"])
        cls.site.wait_steps(cls.failing_folder, 0, 3)
        cls.kernel_says(3, "NVRM: Xid (PCI:0000:05:00): 94, pid=7, name=python3, Contained: SM (0x1). RST: No, D-RST: No")
        cls.contained_at = time.time()
        cls.all = (cls.hung, cls.private, cls.trains, cls.nccl, cls.foreign)
        cls.wait_for(lambda: bool(cls.site.events(cls.folder, "hang")))
        for job in (cls.hung, cls.private, cls.nccl, cls.foreign):
            cls.wait_for(lambda: {"proc", "output", "ras"} <= cls.sources(job))
        cls.wait_for(lambda: "py-spy" in cls.sources(cls.hung))
        cls.kernel_says(3, "NVRM: Xid (PCI:0000:04:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
        # Of a program whose name looks like the driver's words, and of a process that writes to the log.
        cls.kernel_says(3, "NVRM: Xid (PCI:0000:04:00): 31, pid=4711, name=a, 1\\x0aNVRM: X, Ch 00000008, intr 10000000")
        cls.kernel_says(12, "NVRM: Xid (PCI:0000:04:00): 48, pid=1, name=forged, DBE")
        for _ in range(20):
            cls.kernel_says(6, "mlx5_core 0000:19:00.0 eth2: Link down")
        cls.xid_at = time.time()
        process, _ = [record for record in cls.records(cls.hung) if record["source"] == "proc"]
        with open("/proc/%d/wchan" % process["pid"]) as file:
            wchan = file.read()
        cls.wchan = None if wchan == "0" else wchan
        cls.output = cls.site.cluster.output(cls.hung, "nobody")
        cls.site.settle(cls.failing)
        # Another look would come by now.
        time.sleep(2 * AFTER_S)
        for job in cls.all:
            cls.site.cluster.run(["scancel", str(job)])
        for job in cls.all:
            cls.site.settle(job)

    @classmethod
    def start(cls, folder: str, user: str, arguments: str, before: str = ":", beside: str = "", options: Iterable[str] = ()) -> int:
        train = "%s --dir %s --step-seconds 0.2 --marks --steps 100000 %s" % (TRAINER, folder, arguments)
        script = "%s\necho %s\nsrun -n2 bash -c '%s exec %s'" % (before, SECRET, beside, train)
        return cls.site.cluster.sbatch(script, user=user, options=["-N1", "-n2", "--gres=gpu:8", *options])

    @classmethod
    def kernel_says(cls, priority: int, text: str) -> None:
        """As /dev/kmsg has it: with the kernel's clock, and a line about the device."""
        cls.lines = getattr(cls, "lines", 0) + 1
        cls.kernel.write("%d,%d,%d,-;%s\n SUBSYSTEM=pci\n" % (priority, cls.lines, time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6, text))
        cls.kernel.flush()

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
                found += [json.loads(line) for line in file if '"kind":"hang_evidence"' in line]
        return [record for record in found if record["job"] == job]

    @classmethod
    def sources(cls, job: int) -> set:
        return {record["source"] for record in cls.records(job)}

    def stall(self, job: int) -> Dict:
        show = self.site.show_json(job)
        schemas.check(show, "sgoodput")
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
        self.assertRegex(said, r"tasks 0-1: python3 sleeps( in \w+)? \S+, tasks 0-1: MainThread .* last line of output: ")
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

    def hardware(self, job: int) -> List[Dict]:
        show = self.site.show_json(job)["jobs"][0]
        return [error for error in show["hardware_errors"] if error["time_ns"] >= (self.xid_at - 5) * S]

    def test_the_kernels_errors_are_told_with_the_stall(self) -> None:
        errors = {(error["kind"], error["code"]): error for error in self.hardware(self.hung)}
        self.assertEqual(set(errors) - {("xid", 94)}, {("xid", 79), ("xid", 31), ("link", None)}, "a process cannot write 48")
        gone = errors["xid", 79]
        self.assertEqual((gone["device"], gone["fault"], gone["count"], gone["text"]), ("0000:04:00", "hardware", 1, "GPU has fallen off the bus."))
        self.assertAlmostEqual(gone["time_ns"] / S, self.xid_at, delta=2 * lateness())
        program = errors["xid", 31]
        self.assertEqual((program["fault"], program["text"]), ("program", "Ch 00000008, intr 10000000"))
        counts = [error["count"] for error in self.hardware(self.hung) if error["kind"] == "link"]
        self.assertEqual((sum(counts), len(counts)), (20, 2), "one at once, and the rest of the minute")
        said = self.stall(self.hung)["told"]
        (xid,) = [line for line in said[:3] if re.match(r"node \S+: Xid 79, GPU has fallen off the bus \(0000:04:00\)$", line)]
        text = " ".join(self.site.sgoodput("show", str(self.hung)).stdout.split())
        self.assertIn(xid, text)
        self.assertIn("Xid 31, GPU memory page fault (0000:04:00); usually the program's own error", text)

    def test_a_failure_is_told_with_the_error_before_it(self) -> None:
        show = self.site.show_json(self.failing)["jobs"][0]
        (end,) = show["interruptions"]
        said = [text for text in end["evidence"] if "Xid 94" in text]
        self.assertEqual(len(said), 1, end)
        node = show["attempts"][0]["nodes_list"] if "nodes_list" in show["attempts"][0] else r"\S+"
        found = re.match(r"node %s: Xid 94, contained memory error \(0000:05:00\), (\d+) s before the end$" % node, said[0])
        self.assertTrue(found, said)
        crash = self.site.events(self.failing_folder, "crash")[-1]["t"] / S
        # Rank 0 dies, and srun ends the other one some seconds later.
        late = int(found.group(1)) - (crash - self.contained_at) if found else -9
        self.assertTrue(-2 <= late < 6 * lateness(), late)
        self.assertEqual(end["cause"], "failed")
        self.assertIn("Xid 94, contained memory error", " ".join(self.site.sgoodput("show", str(self.failing)).stdout.split()))

    def test_a_nodes_errors_are_counted(self) -> None:
        rows = json.loads(self.site.sgoodput("report", "-a", "--by", "node", "--json", "-S", "now-1hours").stdout)["rows"]
        nodes = {row["group"]: row["hardware_errors"] for row in rows if row["group"] != "-"}
        self.assertGreaterEqual(len(nodes), 5)
        # Xid 79 and 94, and 20 links; not Xid 31, which is the program's.
        self.assertEqual(max(count for count in nodes.values() if count is not None), 22, nodes)
        self.assertIn("HWErrors", self.site.sgoodput("report", "-a", "--by", "node", "-S", "now-1hours").stdout)

    def test_doctor_says_that_the_log_is_read(self) -> None:
        self.assertRegex(self.site.sgoodput("doctor").stdout, r"kernel messages: \d+ errors of the hardware recorded for jobs")

    def test_py_spy_is_asked_as_the_jobs_user_if_the_job_wants_it(self) -> None:
        found = [one for one in self.stall(self.hung)["hang_evidence"] if one["source"] == "py-spy"]
        pids = [self.site.events(self.folder, "start", rank)[-1]["pid"] for rank in (0, 1)]
        self.assertEqual([(one["task"], one["pid"], one["problem"]) for one in found], [(rank, pid, None) for rank, pid in enumerate(pids)])
        where = "MainThread (idle): hang (trainer.py:%d) < <module> (trainer.py:400)" % pwd.getpwnam("nobody").pw_uid
        self.assertEqual([one["text"] for one in found], [where + "\nThread 7 (active): wait (threading.py:327)".replace("Thread 7", "pin")] * 2)
        self.assertIn("tasks 0-1: " + where, " ".join(self.site.sgoodput("show", str(self.hung)).stdout.split()))
        for job in (self.private, self.nccl, self.foreign):
            self.assertNotIn("py-spy", self.sources(job), "it did not ask")

    def test_a_job_that_trains_is_left_alone(self) -> None:
        self.assertEqual(self.records(self.trains), [])


if __name__ == "__main__":
    unittest.main()
