#!/usr/bin/python3
"""Disks that are really full, at every stage of a job's life, and become free again. Spool, database and copies have a small file
system each.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_full_disk

(Writes that fail at every single call: tests/unit/faults_test.cc. A database that is full while a job trains: test_faults.)
"""

import contextlib
import glob
import json
import os
import resource
import sqlite3
import subprocess
import sys
import time
import unittest
from typing import Callable, Dict, List, Tuple

from .harness.lateness import lateness
from .harness.goodput_site import TRAINER, Site
from .harness import truth as truths

WAIT_S = 60
STEPS = 60
STEP_S = 0.08


class SmallDisk:
    """A file system of a few MiB, mounted over a folder."""

    def __init__(self, folder: str, size: str) -> None:
        self.folder, self.filler = folder, os.path.join(folder, "filler")
        os.makedirs(folder, 0o755, exist_ok=True)
        mode = os.stat(folder).st_mode & 0o7777
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%s,mode=%o" % (size, mode), "tmpfs", folder], check=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", self.folder], check=True)

    def fill(self) -> None:
        fd = os.open(self.filler, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with contextlib.suppress(OSError):
            while True:
                os.write(fd, b"x" * 4096)
        os.close(fd)

    def free(self) -> None:
        os.unlink(self.filler)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class FullDiskTest(unittest.TestCase):
    site: Site
    serial = 1  # the number of jobs

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("linuxproc", nodes=1, cred_expire_s=0, daemon=False, conf=["heartbeat = 500ms"])
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        site = cls.site
        cls.spool = cls.disk(site.spool, "4m")
        cls.database = cls.disk(os.path.dirname(site.database), "16m")
        cls.copies = cls.disk(site.path("copies"), "8m")
        with open(site.conf) as file:
            cls.conf = file.read()
        cls.site.start_daemon()
        # The node has a folder.
        site.settle(site.cluster.sbatch("srun true"))

    @classmethod
    def disk(cls, folder: str, size: str) -> SmallDisk:
        disk = SmallDisk(folder, size)
        cls.addClassCleanup(disk.unmount)
        return disk

    def start(self, more: str = "") -> int:
        """Starts goodputd anew with these lines in its configuration. Returns the size of its log."""
        site = self.site
        if site.daemon_runs():
            site.stop_daemon()
        with open(site.conf, "w") as file:
            file.write(self.conf + more)
        begin = len(site.daemon_log())
        site.start_daemon()
        return begin

    def wait_until(self, what: Callable[[], bool], why: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not what():
            self.assertLess(time.monotonic(), deadline, "%s\n%s" % (why, self.site.daemon_log()[-3000:]))
            time.sleep(0.1)

    def train(self) -> Tuple[int, str]:
        """A job of about 6 s, which saves when it gets USR1, and says of each step when it begins and when it ends."""
        type(self).serial += 1
        folder = self.site.folder("full-%d" % self.serial, "nobody")
        job = self.site.cluster.sbatch("srun %s --dir %s --steps %d --step-seconds %g --save-every 20 --save-seconds 0.2 "
                                       "--init-seconds 0.3 --on-signal USR1=save --marks --mark-step-ends" % (TRAINER, folder, STEPS, STEP_S), user="nobody", options=["-N1"])
        return job, folder

    def use_up_last_page(self) -> None:
        """A file on a full disk still takes what fits into its last page."""
        node = self.site.cluster.nodes[0]
        path = sorted(glob.glob(os.path.join(self.site.spool, node, "*.jsonl")))[-1]
        bare = {"v": 1, "t": time.time_ns(), "m": time.monotonic_ns(), "node": node, "stepd": 1, "kind": "refused", "job": 999999, "count": 0, "pad": ""}
        room = -os.path.getsize(path) % 4096 - len(json.dumps(bare)) - 2
        with open(path, "ab") as file:
            for pad in ([room] if room >= 0 else [2000, room + 4096 - 2000 - len(json.dumps(bare)) - 2]):
                bare["pad"] = "x" * pad
                file.write(b"\n" + json.dumps(bare).encode() + b"\n")
        self.assertEqual(os.path.getsize(path) % 4096, 0)

    def finish(self, job: int, folder: str) -> None:
        """The job and its program did not notice."""
        rows = self.site.settle(job)
        self.assertEqual({(row["State"], row["ExitCode"]) for row in rows}, {("COMPLETED", "0:0")})
        log = truths.read_log(folder)
        begun = {r["step"]: r["m"] for r in log if r["event"] == "step_begin"}
        took = [(r["m"] - begun[r["step"]]) / 1e9 for r in log if r["event"] == "step_end"]
        self.assertEqual(len(took), STEPS)
        self.assertLess(max(took), STEP_S + 0.25 * lateness())

    def fresh(self, job: int) -> Dict:
        """The answer of a database that is filled afterwards in one pass."""
        path = self.site.path("fresh-%d.db" % job)
        for words in (["ingest", "--db", path], ["show", str(job), "--db", path, "--json"]):
            done = self.site.sgoodput(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def judge(self, job: int, begin: int) -> Dict:
        """What was lost is said everywhere; the rest is in the database once. Returns what `show` says."""
        log = self.site.daemon_log(begin)
        self.assertRegex(log, r"heartbeat: cannot write: No space left on device|records of node \S+ are lost: its spool \S+ has no room")
        self.wait_until(lambda: "over: " in self.site.daemon_log(begin), "it is over")
        self.assertRegex(self.site.sgoodput("doctor").stdout, r"!!  node %s could not store \d+ records \(disk full [1-9]" % self.site.cluster.nodes[0])
        fresh = self.fresh(job)
        self.wait_until(lambda: self.answer(job) == fresh, "goodputd's database and a fresh one differ")
        self.whole(self.site.database)
        said = fresh["jobs"][0]
        text = " ".join(self.site.sgoodput("show", str(job)).stdout.split())
        self.assertRegex(text, r"warning: job %d: between \S+ and \S+ node %s lost \d+ records? for want of room in its spool" % (job, self.site.cluster.nodes[0]))
        self.assertEqual(sum(bucket["ns"] for bucket in said["buckets"]), said["wall_ns"])
        return said

    def answer(self, job: int) -> Dict:
        done = self.site.sgoodput("show", str(job), "--json", "--no-refresh")
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def whole(self, path: str) -> None:
        with sqlite3.connect("file:%s?mode=ro" % path, uri=True, timeout=30) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    @staticmethod
    def seconds(said: Dict, bucket: str) -> float:
        return sum(one["seconds"] for one in said["buckets"] if one["name"] == bucket)

    # --- the spool's disk

    def test_1_before_the_job_starts(self) -> None:
        begin = len(self.site.daemon_log())
        self.use_up_last_page()
        self.spool.fill()
        job, folder = self.train()
        self.site.wait_steps(folder, 0, 5)
        self.spool.fill()  # what its hooks left of the reserve's pieces
        self.site.wait_steps(folder, 0, 20)
        self.spool.free()
        self.finish(job, folder)
        said = self.judge(job, begin)
        # The plugin's records are in the reserve, so that its steps count as soon as there is room.
        self.assertEqual(said["state"], "COMPLETED")
        self.assertGreaterEqual(said["steps"]["kept"], STEPS)
        self.assertLess(self.seconds(said, "unobserved"), 1.5 * lateness(), "its begin and its tasks are known")
        spool = os.path.join(self.site.spool, self.site.cluster.nodes[0])
        with open(os.path.join(spool, "dropped"), "rb") as file:
            self.assertGreater(int.from_bytes(file.read(8), sys.byteorder), 0, "the marks of the first steps")
        self.wait_until(lambda: os.path.getsize(os.path.join(spool, "reserve")) == 1 << 20, "the reserve is complete again")

    def test_2_from_a_step_to_a_checkpoint_signal_with_the_database_s(self) -> None:
        begin = len(self.site.daemon_log())
        job, folder = self.train()
        self.site.wait_steps(folder, 0, 10)
        self.spool.fill()
        self.database.fill()
        self.site.wait_steps(folder, 0, 25)
        self.site.cluster.run(["scancel", "-s", "USR1", str(job)])
        self.site.wait_steps(folder, 0, 45)
        self.spool.free()
        self.site.wait_steps(folder, 0, 50)
        self.database.free()
        self.finish(job, folder)
        said = self.judge(job, begin)
        self.assertEqual(said["steps"]["kept"], STEPS)

    def test_3_when_the_job_ends(self) -> None:
        begin = len(self.site.daemon_log())
        job, folder = self.train()
        self.site.wait_steps(folder, 0, 20)
        self.spool.fill()
        self.site.cluster.wait_state(job, "COMPLETED", timeout=WAIT_S)
        self.spool.free()
        self.finish(job, folder)
        said = self.judge(job, begin)
        self.assertLess(said["steps"]["count"], STEPS)
        self.assertGreater(self.seconds(said, "unobserved"), (STEPS - said["steps"]["count"]) * STEP_S * 0.8)

    def test_3b_a_file_size_limit_of_the_daemon(self) -> None:
        """LimitFSIZE=, which the kernel enforces with a signal that ends a process."""
        begin = len(self.site.daemon_log())
        job, folder = self.train()
        self.site.wait_steps(folder, 0, 10)
        pid = self.site.daemon_pid()
        unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE, (1024, resource.RLIM_INFINITY))
        self.site.wait_steps(folder, 0, 30)
        self.assertTrue(self.site.daemon_runs())
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
        self.finish(job, folder)
        self.assertTrue(self.site.daemon_runs())
        said = self.judge(job, begin)
        self.assertEqual(said["steps"]["kept"], STEPS)

    # --- the database's, and that of its copies

    def test_4_while_the_database_is_copied(self) -> None:
        self.copies.fill()
        begin = self.start("database_copy = %s\n" % self.copies.folder)
        self.wait_until(lambda: "database_copy: copying the database to" in self.site.daemon_log(begin), "it says so")
        self.assertRegex(self.site.daemon_log(begin), "database_copy: .*full")
        self.assertEqual(glob.glob(self.copies.folder + "/*.db"), [])
        self.copies.free()
        self.wait_until(lambda: "the database was copied to" in self.site.daemon_log(begin), "a copy is made")
        left = os.listdir(self.copies.folder)
        self.assertEqual(len(left), 1, left)
        self.whole(os.path.join(self.copies.folder, left[0]))

    def test_5_while_old_records_become_summaries(self) -> None:
        def answers() -> List[Dict]:
            return [self.answer(job) for job in range(1, self.serial + 1)]
        before = answers()
        self.database.fill()
        begin = self.start("keep_events = 1s\n")
        self.wait_until(lambda: "keep_events: " in self.site.daemon_log(begin), "it says so")
        self.assertRegex(self.site.daemon_log(begin), "keep_events: .*full")
        self.assertEqual(answers(), before)
        self.database.free()
        self.wait_until(lambda: "keep_events: replaced" in self.site.daemon_log(begin), "it goes on")
        self.whole(self.site.database)
        self.assertEqual(answers(), before)


if __name__ == "__main__":
    unittest.main()
