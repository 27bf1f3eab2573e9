#!/usr/bin/python3
"""The real programs, killed at random: nothing is counted twice, nothing is lost that had reached the spool, and losses are
reported.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_kill

GOODPUT_SEED repeats a run's choices (but not the kernel's timing). Needs no Slurm.
"""

import collections
import glob
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import tempfile
import threading
import time
import unittest
from typing import Callable, Dict, List, Optional

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"))
GOODPUTD = os.path.join(BUILD, "tools", "goodputd", "goodputd")
SGOODPUT = os.path.join(BUILD, "tools", "sgoodput", "sgoodput")
SEED = int(os.environ.get("GOODPUT_SEED", random.SystemRandom().randrange(1 << 31)))
KILLING_S = 15
JOB = 12
# goodputd takes jobs from records of this boot alone.
with open("/proc/sys/kernel/random/boot_id") as boot_id:
    BOOT = boot_id.read().strip()


def record(**keys: object) -> bytes:
    whole: Dict[str, object] = {"v": 1, "t": 1767225600000000000, "m": 1, "node": "n1", "stepd": 1,
                                "cluster": "c", "job": JOB}
    whole.update(keys)
    return b"\n" + json.dumps(whole).encode() + b"\n"


def read_text(path: str) -> str:
    with open(path, errors="replace") as file:
        return file.read()


class KillTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-kill-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.spool, self.db = self.path("spool"), self.path("goodput.db")
        self.socket = "@gp-kill-%d-%x" % (os.getpid(), time.monotonic_ns())
        self.conf = self.path("goodput.conf")
        with open(self.conf, "w") as file:
            file.write("spool = %s\ndatabase = %s\nsocket = %s\nrole = node\n" % (self.spool, self.db, self.socket))
        os.makedirs(self.path("spool", "n1"), 0o700)
        self.append(record(kind="job_prolog", uid=os.getuid(), gid=os.getgid()))
        self.children: List[subprocess.Popen] = []
        self.addCleanup(self.end_children)

    def path(self, *names: str) -> str:
        return os.path.join(self.dir, *names)

    def append(self, data: bytes, name: str = BOOT + ".2026010100Z.jsonl") -> str:
        path = self.path("spool", "n1", name)
        with open(path, "ab", buffering=0) as file:
            file.write(data)
        os.chmod(path, 0o600)
        return path

    def end_children(self) -> None:
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()

    def daemon(self) -> subprocess.Popen:
        log = self.path("goodputd.%d.log" % len(self.children))
        with open(log, "wb") as output:
            child = subprocess.Popen([GOODPUTD, "--config", self.conf], stdin=subprocess.DEVNULL,
                                     stdout=output, stderr=output, cwd="/")
        self.children.append(child)
        deadline = time.monotonic() + 60
        while "goodputd: ready" not in read_text(log):
            self.assertIsNone(child.poll(), read_text(log))
            self.assertLess(time.monotonic(), deadline, read_text(log))
            time.sleep(0.005)
        return child

    def ingest(self) -> subprocess.Popen:
        child = subprocess.Popen([SGOODPUT, "ingest", "--config", self.conf], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(child)
        return child

    def ingest_whole(self) -> str:
        child = self.ingest()
        output, _ = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 0, output)
        return output

    def doctor(self) -> str:
        return subprocess.run([SGOODPUT, "doctor", "--config", self.conf], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60).stdout

    def spool_lines(self) -> List[bytes]:
        """The complete lines of every spool file."""
        lines: List[bytes] = []
        for path in glob.glob(self.path("spool", "*", "*.jsonl")):
            with open(path, "rb") as file:
                lines += [line for line in file.read().split(b"\n")[:-1] if line]
        return lines

    def records(self) -> List[Dict[str, object]]:
        return [json.loads(line) for line in self.spool_lines()]

    def marks(self) -> List[int]:
        return [r["train_step"] for r in self.records() if r["kind"] == "mark"]

    def stored(self) -> Dict[str, int]:
        with sqlite3.connect("file:%s?mode=ro" % self.db, uri=True) as db:
            one = lambda query: db.execute(query).fetchone()[0]  # noqa: E731
            return {"events": one("SELECT count(*) FROM event"),
                    "steps": one("SELECT coalesce(sum(marks), 0) FROM step_block"),
                    "records": one("SELECT coalesce(sum(records), 0) FROM source"),
                    "bad": one("SELECT count(*) FROM quarantine")}

    # --- kill -9

    def test_daemon_and_ingest_killed_at_random_lose_and_repeat_nothing_that_reached_the_spool(self) -> None:
        print("seed %d" % SEED, flush=True)
        over = threading.Event()
        connections: List[List[int]] = []

        def send_marks() -> None:
            step = 0
            while not over.is_set():
                try:
                    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                        client.connect("\0" + self.socket[1:])
                        sent: List[int] = []
                        connections.append(sent)
                        while not over.is_set():
                            step += 1
                            # Logged before, because the daemon may store it and die before send() has returned.
                            sent.append(step)
                            client.send(json.dumps({"v": 1, "mark": "step", "edge": "begin", "job": JOB, "node": "n1",
                                                    "slurm_step": "0", "train_step": step}).encode())
                            time.sleep(0.0002)
                except OSError:
                    time.sleep(0.002)

        def keep(action: Callable[[random.Random], None], salt: int) -> threading.Thread:
            choices = random.Random(SEED + salt)

            def loop() -> None:
                while not over.is_set():
                    action(choices)
            return threading.Thread(target=loop)

        kills = {"goodputd": 0, "ingest": 0}
        daemons = [self.daemon()]

        def kill_daemon(choices: random.Random) -> None:
            time.sleep(choices.uniform(0, 0.5))
            daemons[-1].kill()
            daemons[-1].wait()
            kills["goodputd"] += 1
            daemons.append(self.daemon())

        def kill_ingest(choices: random.Random) -> None:
            child = self.ingest()
            try:
                child.communicate(timeout=choices.uniform(0, 0.06))
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()
                kills["ingest"] += 1

        failures: List[str] = []

        def ingest_beside(_choices: random.Random) -> None:
            child = self.ingest()
            output, _ = child.communicate(timeout=60)
            if child.returncode != 0:
                failures.append(output)
            time.sleep(0.05)

        threads = [threading.Thread(target=send_marks), keep(kill_daemon, 1), keep(kill_ingest, 2),
                   keep(ingest_beside, 3)]
        for thread in threads:
            thread.start()
        time.sleep(KILLING_S)
        over.set()
        for thread in threads:
            thread.join()
        daemons[-1].send_signal(signal.SIGTERM)
        self.assertEqual(daemons[-1].wait(20), 0)

        self.assertEqual(failures, [], "an ingest beside the killed ones failed")
        marks = self.marks()
        self.assertEqual(len(marks), len(set(marks)), "a mark is in the spool twice")
        there = set(marks)
        for sent in connections:
            # Marks that a killed daemon had not read yet are lost, but all earlier ones are there.
            kept = [step for step in sent if step in there]
            self.assertEqual(kept, sent[:len(kept)])
        self.assertGreater(len(marks), 100)
        self.assertGreater(kills["goodputd"], 3)
        self.assertGreater(kills["ingest"], 3)

        self.ingest_whole()
        self.assertIn("0 new records", self.ingest_whole())
        kinds = collections.Counter(record["kind"] for record in self.records())
        # For each connection the start of its process; once for the job, that the kernel's log is read.
        self.assertLessEqual(kinds.pop("program_start"), len(connections))
        self.assertLessEqual(kinds.pop("host", 0), 1)
        self.assertEqual(kinds, {"job_prolog": 1, "mark": len(marks)})
        lines = len(self.spool_lines())
        self.assertEqual(self.stored(), {"events": lines - len(marks), "steps": len(marks), "records": lines, "bad": 0})
        print("%d marks, %d kills of goodputd, %d of ingest" % (len(marks), kills["goodputd"], kills["ingest"]))

    def test_a_daemon_told_to_stop_stores_what_was_sent(self) -> None:
        daemon = self.daemon()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect("\0" + self.socket[1:])
            for step in range(500):
                client.send(json.dumps({"v": 1, "mark": "step", "job": JOB, "train_step": step}).encode())
            daemon.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.wait(20), 0)
        self.assertEqual(self.marks(), list(range(500)))

    # --- every loss is reported

    def finding(self, about: str) -> Optional[str]:
        return next((line for line in self.doctor().splitlines() if about in line), None)

    def test_doctor_shows_dropped_records(self) -> None:
        self.ingest_whole()
        self.assertIsNone(self.finding("could not store"))
        with open(self.path("spool", "n1", "dropped"), "wb") as file:
            file.write(struct.pack("=8Q", 3, 2, 1, 4, 0, 0, 0, 0))
        self.assertRegex(self.finding("could not store") or "", r"^!!  node n1 .* 10 records .*full 3.*reached 2.* 1.* 4")

    def test_doctor_shows_lines_that_were_set_aside(self) -> None:
        self.append(b'\n{"v":1,"t":\n')
        self.assertIn("1 lines quarantined", self.ingest_whole())
        self.assertRegex(self.finding("quarantined") or "", r"^!!  1 lines .* not a JSON object")

    def test_doctor_shows_a_record_that_was_cut_short(self) -> None:
        path = self.append(record(kind="task_start") + b'\n{"v":1,"t":1')
        self.ingest_whole()
        self.assertIsNone(self.finding("in the middle of a record"), "it may be being written")
        os.utime(path, (time.time() - 60, time.time() - 60))
        self.assertRegex(self.finding("in the middle of a record") or "", r"^!!  .*: 12 bytes lost")

    def test_doctor_shows_a_hole_that_holds_a_file_back(self) -> None:
        path = self.append(bytes(100) + record(kind="task_start"))
        self.ingest_whole()
        self.assertRegex(self.finding("has a hole") or "", r"^!!  .*jsonl has a hole at offset \d+, which blocks \d+ bytes")
        os.utime(path, (time.time() - 7200, time.time() - 7200))
        self.assertIn("1 new records", self.ingest_whole())
        self.assertIsNone(self.finding("has a hole"))
        self.assertRegex(self.finding("quarantined") or "", "a hole in the file")

    def test_doctor_shows_marks_that_were_refused(self) -> None:
        daemon = self.daemon()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect("\0" + self.socket[1:])
            client.send(b"nonsense")
            client.send(json.dumps({"v": 1, "mark": "step", "job": JOB + 1, "train_step": 1}).encode())
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(20)
        self.assertRegex(self.finding("marks:") or "", "malformed=1 unknown_job=1")


if __name__ == "__main__":
    unittest.main()
