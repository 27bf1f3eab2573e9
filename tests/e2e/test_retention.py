#!/usr/bin/python3
"""keep_events: goodputd replaces old records with summaries, and sgoodput's output stays the same to the byte. One test needs
Slurm: the records of a real cluster, with its fleet and its metrics.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_retention
"""

import contextlib
import datetime
import json
import os
import pwd
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest
import urllib.request
from typing import Any, Callable, Dict, List, Tuple

from .harness.goodput_site import TRAINER, Site
from .harness.hand_written import BEGAN, TOP, Spool, run_it

GOODPUTD = os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"), "tools", "goodputd", "goodputd")
WAIT_S = 120
# A slurm.conf without running daemons: what a controller daemon sees while slurmctld is down.
NO_SLURM = "ClusterName=c\nSlurmctldHost=localhost\nSlurmctldPort=1\nAuthType=auth/none\nMessageTimeout=2\nNodeName=n1\nPartitionName=p Nodes=n1\n"
ALL = ["-a", "-S", "2001-01-01", "-E", "2026-10-30"]
BIG = 91
QUESTIONS: List[List[str]] = [
    ALL, ALL + ["--json"], ["-a", "-S", "2026-09-21T13:00:00", "-E", "2026-09-21T15:00:00", "-T", "--json"],
    ["-u", "eve"] + ALL[1:], ["-N", "n2"] + ALL, ["-s", "NF"] + ALL,
    ["show", "7"], ["show", "7", "--json", "--timeline", "--sensitivity"], ["show", "7", "--stall-factor", "3", "--json"],
    ["show", "--run", "pretrain", "--json"], ["show", "22", "--chain"], ["show", str(BIG), "--json"],
    ["attempts", "7"], ["attempts", "--run", "pretrain"], ["advise", "7"], ["advise", "7", "--json"], ["diff", "7", "21"],
    ["export", "7"], ["report", "-a", "-S", "2026-09-20", "-E", "2026-09-24", "--window=1d"],
] + [["report"] + ALL + ["--by", by, "--json"] for by in ("all", "user", "account", "partition", "run", "node", "day", "cause", "tag:k")]


class RetentionTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-retention-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.db, self.conf = self.path("db"), self.path("conf")
        with open(self.path("slurm.conf"), "w") as file:
            file.write(NO_SLURM)
        self.children: List["subprocess.Popen[bytes]"] = []
        self.addCleanup(self.end)

    def end(self) -> None:
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()

    def path(self, name: str) -> str:
        return os.path.join(self.dir, name)

    def configure(self, keep_events: str) -> None:
        with open(self.conf, "w") as file:
            file.write("spool = %s\ndatabase = %s\nsocket = @gp-keep-%d\nrole = controller\nlisten = off\nquery_socket = off\n"
                       "cluster = c\nkeep_events = %s\n" % (self.path("spool"), self.db, os.getpid(), keep_events))

    def fill(self, blocks: bool = False) -> None:
        """`blocks`: the large job's records are kept in blocks, as if the plugin wrote them."""
        spool = Spool(self.path("spool"))
        opt = {"run": "pretrain", "tags": {"k": "v"}, "flops_per_step": 1e15, "precision": "bf16"}
        # It was told to save, and its node died in step 59; it resumed from the save after step 39.
        self.attempt(spool, 7, 0, 37, 60, saves=[40], slow={30: 100.0}, state="NODE_FAIL", opt=opt, told=590)
        self.attempt(spool, 7, 900, 930, 60, first=40, state="COMPLETED", opt=opt)
        self.attempt(spool, 8, 3000, 3010, 10, first=100, state="COMPLETED", opt=opt)
        self.attempt(spool, 21, 5000, 5010, 20, state="COMPLETED", name="chain")
        spool.controller(5001, kind="queue", state="PENDING", submit_s=5000, job=22, name="chain", user="eve",
                         dependency="afterok:21(unfulfilled)", reason="Dependency")
        self.attempt(spool, 22, 5000, 5300, 20, first=20, state="FAILED", name="chain")
        self.attempt(spool, BIG, 9000, 9010, 10, state="COMPLETED", tasks=8000)
        spool.cluster(-10, "watch", edge="begin")
        for node in ("n1", "n2"):
            spool.cluster(-10, "node_state", node_name=node, state="IDLE", gpus=8, gpu_type="h100", partitions="a3", features="")
        spool.cluster(20000, "watch", edge="end")
        spool.write(compact=blocks)
        self.configure("forever")
        done = run_it("ingest", "--config", self.conf)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @staticmethod
    def attempt(spool: Spool, job: int, submit: float, start: float, steps: int, state: str, first: int = 0, saves: Tuple[int, ...] = (),
                slow: Dict[int, float] = {}, tasks: int = 1, told: float = 0, opt: Dict[str, Any] = {}, **more: Any) -> None:
        """One attempt on 16 GPUs whose steps take 10 s."""
        more = {"job": job, "user": "eve", "account": "acc", **more}
        times = {"submit_s": int(submit), "eligible_s": int(submit), "start_s": int(start)}
        task0 = {"slurm_step": "0", "task": 0, "job": job}
        spool.controller(start + 1, **times, **more)
        spool.node(start + 0.5, "job_prolog", job=job, uid=0, gid=0, opt=opt)
        spool.node(start + 2, "step_start", slurm_step="extern", job=job, opt=opt)
        for task in range(tasks):
            spool.node(start + 4 + task * 1e-5, "task_start", slurm_step="0", task=task, local_task=task, pid=5 + task, job=job)
        t = start + 20
        for step in range(first, first + steps):
            if step in saves:
                spool.node(t, "mark", mark="checkpoint", edge="begin", train_step=step, **task0)
                t += 2
                spool.node(t, "mark", mark="checkpoint", edge="end", train_step=step, **task0)
            spool.node(t, "mark", mark="step", edge="begin", train_step=step, **task0)
            t += slow.get(step, 10)
        if told:
            spool.node(told, "signal", signal=10, pid=5, target="task", comm="python", sender="slurmstepd", sender_pid=3, handled=1, **task0)
        end = {"exit_code": 0} if state == "COMPLETED" else {"signal": 9}
        for task in range(tasks):
            spool.node(t + task * 1e-5, "task_exit", slurm_step="0", task=task, local_task=task, pid=5 + task, job=job, **end)
        spool.controller(t + 3, **times, end_s=int(t + 2), state=state, **more)

    def ask(self, *args: str) -> str:
        done = run_it(*args, "--no-refresh", "--config", self.conf)
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def answers(self) -> Dict[str, str]:
        return {" ".join(question): self.ask(*question) for question in QUESTIONS}

    def start(self) -> "subprocess.Popen[bytes]":
        with open(self.path("log"), "ab") as log:
            child = subprocess.Popen([GOODPUTD, "--config", self.conf], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     env=dict(os.environ, SLURM_CONF=self.path("slurm.conf")))
        self.children.append(child)
        return child

    def log(self) -> str:
        with open(self.path("log"), errors="replace") as file:
            return file.read()

    def wait_until(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not what():
            self.assertLess(time.monotonic(), deadline, self.log())
            time.sleep(0.01)

    def count(self, sql: str) -> int:
        db = sqlite3.connect("file:%s?mode=ro" % self.db, uri=True, timeout=30)
        try:
            return int(db.execute("SELECT count(*) FROM " + sql).fetchone()[0])
        finally:
            db.close()

    def old_ones(self) -> int:
        return self.count("event JOIN source ON source.id = source_id WHERE node = 'n1' AND job_id < 100")

    def size(self) -> int:
        """The answers for a file, after its log is ingested."""
        db = sqlite3.connect(self.db, timeout=30)
        try:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            db.close()
        return os.path.getsize(self.db)

    def test_old_records_are_summarized_and_every_answer_stays(self) -> None:
        self.fill()
        before, size = self.answers(), self.size()
        explained = self.ask("show", "7", "--explain", "lost_work")
        self.assertNotIn("summary", explained)
        self.assertIn("NODE_FAIL", before["attempts 7"])
        self.assertGreater(self.old_ones(), 16000)
        self.configure("300s")
        daemon = self.start()
        self.wait_until(lambda: self.old_ones() == 0)
        self.wait_until(lambda: "keep_events: replaced" in self.log())
        self.assertEqual(self.answers(), before)
        after = self.ask("show", "7", "--explain", "lost_work")
        self.assertTrue(after.startswith(explained), after)
        self.assertRegex(after[len(explained):], r"^The nodes' records were replaced by a summary at \d{4}-\d\d-\d\dT[\d:]+ "
                                                 r"\(keep_events\)\.\n$")
        self.wait_until(lambda: self.size() < size / 3)
        # Old files that still exist, or exist again, are not ingested twice; records of a new job are ingested as usual.
        now = int(time.time()) - BEGAN
        spool = Spool(self.path("spool"))
        self.attempt(spool, 101, now - 60, now - 50, 2, state="COMPLETED")
        spool.folder = self.path("new")
        spool.write()
        for node in spool.lines:
            os.rename(os.path.join(spool.folder, node, "boot.2026092100Z.jsonl"),
                      self.path(os.path.join("spool", node, "boot.2026112200Z.jsonl")))
        self.wait_until(lambda: self.count("event WHERE job_id = 101") == len(spool.lines["n1"]) - 2 + len(spool.lines["@controller"]))
        self.assertEqual(self.answers(), before)
        self.assertIn('"kept": 2', self.ask("show", "101", "--json"))
        daemon.terminate()
        self.assertEqual(daemon.wait(60), 0, self.log())

    def test_records_in_blocks_are_summarized_too(self) -> None:
        self.fill(blocks=True)
        in_blocks = "record_block WHERE NOT by_time AND job_id = %d AND made_s IS %%s NULL" % BIG
        blocks = self.count(in_blocks % "")
        self.assertGreater(blocks, 0)
        window = ["-S", "2026-09-21", "-E", "2026-09-22", "--json"]
        more = [["show", str(BIG)], ["show", str(BIG), "--explain", "launch"], ["export", str(BIG)], ["report", "--fleet", *window],
                ["report", "-a", "--by", "node", *window]]
        asked = lambda: {**self.answers(), **{" ".join(question): self.ask(*question) for question in more}}
        before, size = asked(), self.size()
        self.assertIn('"job_id": %d' % BIG, before["show %d --json" % BIG])
        records = self.ask("export", str(BIG), "--format=spool").splitlines()
        self.assertGreater(len(records), 16000)
        self.configure("300s")
        daemon = self.start()
        self.wait_until(lambda: self.count(in_blocks % "") == 0 and self.old_ones() == 0)
        self.wait_until(lambda: "keep_events: replaced" in self.log())
        self.assertEqual(self.count(in_blocks % "NOT"), blocks)
        after = asked()
        explained = "show %d --explain launch" % BIG
        self.assertTrue(after[explained].startswith(before.pop(explained)), after[explained])
        self.assertIn("replaced by a summary", after.pop(explained))
        self.assertEqual(after, before)
        self.assertEqual(len(self.ask("export", str(BIG), "--format=spool").splitlines()), len(records))
        self.wait_until(lambda: self.size() < size)
        daemon.terminate()
        self.assertEqual(daemon.wait(60), 0, self.log())

    def test_killed_in_the_middle_nothing_is_lost_or_counted_twice(self) -> None:
        self.fill()
        before = self.answers()
        self.configure("300s")
        for kills in range(3):
            summaries = self.count("record_block WHERE by_time")
            daemon = self.start()
            self.wait_until(lambda: self.count("record_block WHERE by_time") > summaries or self.old_ones() == 0)
            os.kill(daemon.pid, signal.SIGKILL)
            daemon.wait()
            self.assertEqual(self.answers(), before, "after kill %d" % (kills + 1))
        self.start()
        self.wait_until(lambda: self.old_ones() == 0)
        self.assertEqual(self.answers(), before)

    def test_without_the_key_records_stay_for_months_and_with_forever_for_ever(self) -> None:
        self.configure("forever")
        said = subprocess.run([GOODPUTD, "--config", self.conf, "--check"], stdout=subprocess.PIPE, universal_newlines=True, timeout=60)
        self.assertIn("keep_events = forever\n", said.stdout)
        self.configure("90d\n#")
        said = subprocess.run([GOODPUTD, "--config", self.conf, "--check"], stdout=subprocess.PIPE, universal_newlines=True, timeout=60)
        self.assertIn("keep_events = 2160h\n", said.stdout)
        self.configure("soon")
        said = subprocess.run([GOODPUTD, "--config", self.conf, "--check"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=60)
        self.assertEqual(said.returncode, 2)
        self.assertIn("`keep_events` must be a time such as 30d or 12h, not 'soon'", said.stderr)


# Fields that describe the time of the query, not the records.
OF_NOW = ("slurm_goodput_ingest_age_seconds", "slurm_goodput_look_age_seconds")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class RealClusterTest(unittest.TestCase):
    def setUp(self) -> None:
        from ..cluster.ports import reserve
        (port,), lock = reserve(1)
        self.url = "http://127.0.0.1:%d" % port
        self.site = Site("cgroup", nodes=4, daemon=False, conf=["listen = 127.0.0.1:%d" % port, "query_socket = off"])
        self.addCleanup(self.site.stop)
        self.site.start()
        reader = pwd.getpwnam("daemon")
        os.chown(os.path.dirname(self.site.database), reader.pw_uid, reader.pw_gid)
        lock.close()
        self.began = time.time()
        self.site.start_daemon()

    def wait(self, what: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + WAIT_S
        while True:
            seen = what()
            if seen:
                return seen
            self.assertLess(time.monotonic(), deadline, self.site.daemon_log()[-3000:])
            time.sleep(0.1)

    def train(self, name: str, steps: int, *options: str) -> Tuple[int, str]:
        folder = self.site.folder(name, "nobody")
        body = "srun %s --dir %s --steps %d --step-seconds 0.2 --save-every 5 --save-seconds 0.1 --init-seconds 0.3 --marks" % (
            TRAINER, folder, steps)
        return self.site.cluster.sbatch(body, user="nobody", options=["--gres=gpu:8", "--job-name=" + name, *options]), folder

    def ask(self, *args: str) -> str:
        done = self.site.sgoodput(*args, "--no-refresh")
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return str(done.stdout)

    def metrics(self) -> List[str]:
        with urllib.request.urlopen(self.url + "/metrics", timeout=60) as answer:
            return sorted(line for line in answer.read().decode().splitlines()
                          if not line.startswith("#") and not line.startswith(OF_NOW))

    def count(self, sql: str) -> int:
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % self.site.database, uri=True, timeout=30)) as db:
            return int(db.execute("SELECT count(*) FROM " + sql).fetchone()[0])

    def of_nodes(self) -> int:
        return self.count("event JOIN source ON source.id = source_id WHERE node NOT LIKE '@%' AND job_id IS NOT NULL")

    def test_jobs_that_ran_the_fleet_and_metrics_are_the_same_after_the_purge(self) -> None:
        # One job that is requeued and continues, one that is cancelled, one without a trainer.
        requeued, folder = self.train("pretrain", 25, "-N2", "--goodput-run=pretrain", "--goodput-tags=k=v")
        self.site.wait_steps(folder, 0, 12)
        self.site.cluster.run(["scontrol", "requeue", str(requeued)])
        cancelled, folder = self.train("tune", 1000, "-N1")
        self.site.wait_steps(folder, 0, 7)
        self.site.cluster.run(["scancel", str(cancelled)])
        plain = self.site.cluster.sbatch("srun true", user="nobody", options=["-N4"])
        for job in (requeued, cancelled, plain):
            self.site.settle(job, timeout=WAIT_S)
        jobs = [str(job) for job in (requeued, cancelled, plain)]
        # All their records are ingested: nothing writes to the spool any more.
        states = lambda: [one["state"] for one in json.loads(self.ask("-j", ",".join(jobs), "--json"))["jobs"]]
        self.wait(lambda: not {"RUNNING", "PENDING", "COMPLETING"} & set(states()) and
                  self.count("accounting WHERE end_s IS NOT NULL") >= 4 and
                  self.count("event WHERE kind = 'job_epilog'") >= 2 + 2 + 1 + 4)
        ended = time.time()
        # The queue watch has queried the nodes since.
        self.wait(lambda: self.count("event WHERE kind = 'watch' AND t_ns > %d" % (ended * 1e9)) > 0)
        window = ["-S", local(self.began), "-E", local(ended)]
        questions = [["show", job, "--json", "--timeline"] for job in jobs] + [["attempts", job] for job in jobs] + [
            ["show", "--run", "pretrain"], ["-a", "--json", *window], ["report", "-a", "--by", "cause", "--json", *window],
            ["report", "--fleet", "--json", *window], ["export", jobs[0]]]
        before = {" ".join(question): self.ask(*question) for question in questions}
        self.assertEqual(len(json.loads(before["show %s --json --timeline" % jobs[0]])["jobs"][0]["attempts"]), 2)
        metrics = self.metrics()
        self.assertTrue(any("interruptions" in line for line in metrics), metrics)
        recorded = self.of_nodes()
        self.assertGreater(recorded, 60)

        self.assertEqual(self.site.stop_daemon(), 0)
        with open(self.site.conf, "a") as file:
            file.write("keep_events = 1s\n")
        self.site.start_daemon()
        self.wait(lambda: self.of_nodes() == 0 and self.count("record_block WHERE by_time") > 0)
        for question, answer in before.items():
            self.assertEqual(self.ask(*question.split()), answer, question)
        # Results from before the purge are cached for a while.
        self.wait(lambda: self.metrics() == metrics)


def local(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(int(seconds)).strftime("%Y-%m-%dT%H:%M:%S")


if __name__ == "__main__":
    unittest.main()
