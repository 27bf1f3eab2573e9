#!/usr/bin/python3
"""Whatever fails while a job trains, its final report is the same to the byte as from a database that was filled afterwards
in one go from the same spool and accounting, and it matches the trainer's own log.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_faults

(Clocks that are set: test_clocks. Writes that fail at every single call: tests/unit/faults_test.cc.)
"""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
import unittest
from typing import Callable, Dict, List, Tuple

from .harness.checks import assert_buckets_close
from .harness.goodput_site import TRAINER, Site
from .harness import truth as truths

SEED = int(os.environ.get("GOODPUT_SEED", random.SystemRandom().randrange(1 << 31)))
WAIT_S = 90
RESTARTS = int(os.environ.get("GOODPUT_RESTARTS", 12))  # of slurmctld, in a row


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class FaultsTest(unittest.TestCase):
    site: Site
    serial = 0

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("linuxproc", nodes=1)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()

    def tearDown(self) -> None:
        self.site.cluster.run(["scancel", "--user=nobody"], check=False)

    def setUp(self) -> None:
        if not self.site.daemon_runs():
            self.site.start_daemon()

    # --- helpers

    def train(self, steps: int = 30) -> Tuple[int, str]:
        """A job of about 13 s that has done the first of its 30 steps."""
        type(self).serial += 1
        folder = self.site.folder("faults-%d" % self.serial, "nobody")
        job = self.site.cluster.sbatch("srun %s --dir %s --steps %d --step-seconds 0.3 --save-every 8 --save-seconds 0.3 "
                                       "--init-seconds 0.5 --marks" % (TRAINER, folder, steps), user="nobody", options=["-N1"])
        self.site.wait_steps(folder, 0, 5)
        return job, folder

    def wait_until(self, what: Callable[[], bool], why: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not what():
            self.assertLess(time.monotonic(), deadline, "%s\n%s" % (why, self.site.daemon_log()[-3000:]))
            time.sleep(0.1)

    def answer(self, job: int, *more: str) -> Dict:
        done = self.site.sgoodput("show", str(job), "--json", *more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def undisturbed(self, job: int) -> Dict:
        """The answers from a separate database that is filled in one pass."""
        fresh = self.site.path("goodput", "fresh-%d.db" % job)
        for words in (["ingest", "--db", fresh], ["show", str(job), "--db", fresh, "--json"]):
            done = self.site.sgoodput(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def judge(self, job: int, folder: str, steps: int = 30) -> None:
        """Waits until everything has recovered."""
        rows = self.site.settle(job, timeout=WAIT_S)
        said: List[Dict] = []

        def same() -> bool:
            # This checks what goodputd ingested, without an ingest by sgoodput; at first it may not know the job.
            done = self.site.sgoodput("show", str(job), "--json", "--no-refresh")
            said[:] = [json.loads(done.stdout)] if done.returncode == 0 else []
            return said == [self.undisturbed_answer]
        self.undisturbed_answer = self.undisturbed(job)
        self.wait_until(same, "goodputd's database and a fresh one differ")
        job_said = said[0]["jobs"][0]
        self.assertEqual(job_said["steps"]["kept"], steps)
        truth = truths.Truth(truths.read_log(folder), [row for row in rows if row["JobIDRaw"].split(".")[0] == str(job)])
        assert_buckets_close(self, said[0], truth)

    def ingested(self, job: int) -> int:
        with sqlite3.connect("file:%s?mode=ro" % self.site.database, uri=True, timeout=30) as db:
            return int(db.execute("SELECT count(*) FROM event WHERE job_id = ?", (job,)).fetchone()[0])

    # --- faults

    def test_a_controller_that_is_gone_for_a_while(self) -> None:
        # libslurm retries for 9 s before it gives up, and the job must last longer: srun, and with it the script, waits for
        # slurmctld at its end.
        job, folder = self.train(steps=60)
        # If killed, it forgets jobs of the last seconds, and requeues running jobs.
        self.site.cluster.stop_daemon("slurmctld")
        self.wait_until(lambda: "slurm_load_jobs" in self.site.daemon_log(), "goodputd says so")
        self.site.wait_steps(folder, 0, 15)
        self.site.cluster.start_daemon("slurmctld")
        self.site.cluster.wait_state(job, "COMPLETED", timeout=WAIT_S)
        self.judge(job, folder, steps=60)

    def test_a_controller_that_is_restarted_again_and_again(self) -> None:
        cluster = self.site.cluster
        train, folder = self.train(steps=60)
        jobs, restarts, began = [], 0, time.monotonic()
        while restarts < RESTARTS:
            cluster.stop_daemon("slurmctld")
            cluster.start_daemon("slurmctld")
            restarts += 1
            if restarts % 5 == 0:
                self.wait_until(lambda: cluster.run(["scontrol", "ping"], check=False).returncode == 0, "slurmctld answers")
                jobs.append(cluster.sbatch("srun true", user="nobody", options=["-N1"]))
        print("%d restarts in %.0f s" % (restarts, time.monotonic() - began), flush=True)
        for job in [train] + jobs:
            # A message that a job or step ended may be lost with a slurmctld; once, a job of `srun true` ran longer than 90 s.
            cluster.wait_state(job, "COMPLETED", timeout=3 * WAIT_S)
        self.judge(train, folder, steps=60)
        for job in jobs:
            self.site.settle(job, timeout=WAIT_S)
            answer = self.answer(job)["jobs"][0]
            self.assertEqual((answer["state"], len(answer["attempts"]), answer["interruptions"]), ("COMPLETED", 1, []))

    def test_accounting_that_is_gone_for_a_while(self) -> None:
        job, folder = self.train()
        self.site.cluster.stop_daemon("slurmdbd", signal.SIGKILL)
        self.site.cluster.wait_state(job, "COMPLETED", timeout=WAIT_S)
        # Meanwhile queries are answered from the available records.
        self.assertEqual(self.answer(job)["jobs"][0]["steps"]["kept"], 30)
        self.site.cluster.start_daemon("slurmdbd")
        self.wait_until(lambda: self.site.cluster.run(["sacct", "-n"], check=False).returncode == 0, "slurmdbd answers")
        self.judge(job, folder)

    def test_a_database_that_another_holds_locked(self) -> None:
        job, folder = self.train()
        db = sqlite3.connect(self.site.database, timeout=60, isolation_level=None)
        self.addCleanup(db.close)
        db.execute("BEGIN IMMEDIATE")
        before = self.ingested(job)
        self.site.cluster.wait_state(job, "COMPLETED", timeout=WAIT_S)
        # Longer than any process waits for a lock.
        self.wait_until(lambda: "locked" in self.site.daemon_log(), "goodputd says so")
        self.assertEqual(self.ingested(job), before)
        db.execute("ROLLBACK")
        self.judge(job, folder)

    def test_a_daemon_that_is_killed_again_and_again(self) -> None:
        print("seed %d" % SEED, flush=True)
        chance = random.Random(SEED)
        job, folder = self.train()
        over = threading.Event()

        def kill_them() -> None:
            while not over.is_set():
                time.sleep(chance.uniform(0.05, 1.2))
                self.site.stop_daemon(signal.SIGKILL)
                self.site.start_daemon()
        killer = threading.Thread(target=kill_them)
        killer.start()
        try:
            self.site.cluster.wait_state(job, "COMPLETED", timeout=WAIT_S)
        finally:
            over.set()
            killer.join()
        # Marks that the killed daemon was processing were dropped and counted; the job was not affected.
        log = truths.read_log(folder)
        self.assertEqual(len([r for r in log if r["event"] == "step_end"]), 30)
        self.site.settle(job, timeout=WAIT_S)
        fresh = self.undisturbed(job)
        self.wait_until(lambda: self.answer(job, "--no-refresh") == fresh, "goodputd's database and a fresh one differ")

    def test_a_disk_that_is_full(self) -> None:
        """The disk of the database; tests/unit and test_plugin test that of the spool."""
        site = self.site
        site.stop_daemon()
        small = site.path("goodput", "small")
        os.mkdir(small, 0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=True)
        with open(site.conf) as file:
            text = file.read()

        def put_back() -> None:
            if site.daemon_runs():
                site.stop_daemon()
            with open(site.conf, "w") as file:
                file.write(text)
        self.addCleanup(put_back)
        with open(site.conf, "w") as file:
            file.write(text.replace(site.database, small + "/goodput.db"))
        site.start_daemon()
        self.wait_until(lambda: os.path.exists(small + "/goodput.db"), "there is a database")
        begin = len(site.daemon_log())  # goodputd may write, and say so, before the job starts
        filler = os.path.join(small, "filler")
        fd = os.open(filler, os.O_WRONLY | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):
            while True:
                os.write(fd, b"x" * 4096)
        os.close(fd)
        job, folder = self.train()
        site.cluster.wait_state(job, "COMPLETED", timeout=WAIT_S)
        self.wait_until(lambda: "full" in site.daemon_log(begin), "goodputd says so")
        os.unlink(filler)
        self.judge(job, folder)


if __name__ == "__main__":
    unittest.main()
