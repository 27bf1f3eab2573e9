#!/usr/bin/python3
"""goodputd in operation: reloading its configuration, two daemons for one database, daily copies, a damaged database. Needs no Slurm.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_operating
"""

import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import unittest
from typing import Callable, Dict, List, Tuple

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"))
# goodputd reads jobs only from records of this boot.
with open("/proc/sys/kernel/random/boot_id") as boot_id:
    BOOT = boot_id.read().strip()
GOODPUTD = os.path.join(BUILD, "tools", "goodputd", "goodputd")
SGOODPUT = os.path.join(BUILD, "tools", "sgoodput", "sgoodput")
WAIT_S = 60
# A slurm.conf without running daemons: what a controller daemon sees while slurmctld is down.
NO_SLURM = "ClusterName=c\nSlurmctldHost=localhost\nSlurmctldPort=1\nAuthType=auth/none\nMessageTimeout=2\nNodeName=n1\nPartitionName=p Nodes=n1\n"


def record(node: str, number: int, **keys: object) -> bytes:
    whole = {"v": 1, "t": 1767225600000000000 + number * 10**9, "m": number * 10**9 + 1, "node": node, "stepd": 1, "cluster": "c"}
    whole.update(keys)
    return b"\n" + json.dumps(whole).encode() + b"\n"


def json_at(t_s: int, line: bytes) -> bytes:
    """The record as if it had been written at that time."""
    whole = json.loads(line)
    whole["t"] = t_s * 10**9
    return b"\n" + json.dumps(whole).encode() + b"\n"


class OperatingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-operating-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.children: List[subprocess.Popen] = []
        self.addCleanup(self.end)
        with open(self.path("slurm.conf"), "w") as file:
            file.write(NO_SLURM)

    def end(self) -> None:
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()

    def path(self, *names: str) -> str:
        return os.path.join(self.dir, *names)

    def conf(self, name: str = "a", role: str = "controller", more: str = "", query_socket: str = "off", database: str = "db") -> str:
        path = self.path(name + ".conf")
        with open(path, "w") as file:
            file.write("spool = %s\ndatabase = %s\nsocket = @gp-op-%s-%d\nrole = %s\nlisten = off\nquery_socket = %s\nsignals = off\n"
                       "host_notices = off\ncluster = c\n%s" %
                       (self.path("spool-" + name), self.path(database), name, os.getpid(), role, query_socket, more))
        return path

    def start(self, conf: str) -> subprocess.Popen:
        with open(self.log_of(conf), "ab") as log:
            ready = self.log(conf).count("goodputd: ready")
            child = subprocess.Popen([GOODPUTD, "--config", conf], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                     env=dict(os.environ, SLURM_CONF=self.path("slurm.conf")))
        self.children.append(child)
        self.wait_until(lambda: self.log(conf).count("goodputd: ready") > ready or child.poll() is not None, conf)
        self.assertIsNone(child.poll(), self.log(conf))
        return child

    def log_of(self, conf: str) -> str:
        return conf[:-len(".conf")] + ".log"

    def log(self, conf: str) -> str:
        with open(self.log_of(conf), errors="replace") as file:
            return file.read()

    def wait_until(self, what: Callable[[], bool], conf: str) -> None:
        deadline = time.monotonic() + WAIT_S
        while not what():
            self.assertLess(time.monotonic(), deadline, self.log(conf))
            time.sleep(0.05)

    def append(self, name: str, *records: bytes, boot: str = "boot") -> None:
        folder = self.path("spool-" + name, "n-" + name)
        os.makedirs(folder, 0o700, exist_ok=True)
        with open(os.path.join(folder, boot + ".2026010100Z.jsonl"), "ab", buffering=0) as file:
            for one in records:
                file.write(one)

    def events(self, path: str = "") -> int:
        """The number of records in the database; -1 if there is no database yet."""
        try:
            with sqlite3.connect("file:%s?mode=ro" % (path or self.path("db")), uri=True, timeout=10) as db:
                return int(db.execute("SELECT count(*) FROM event").fetchone()[0])
        except sqlite3.Error:
            return -1

    def show(self, conf: str) -> str:
        done = subprocess.run([SGOODPUT, "show", "7", "--config", conf, "--no-refresh", "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def job(self, name: str) -> None:
        """A finished job of one task, and enough other records to fill some pages."""
        times = {"submit_s": 1767225600, "eligible_s": 1767225600, "start_s": 1767225610}
        spool = self.path("spool-" + name, "@controller")
        os.makedirs(spool, 0o700)
        with open(os.path.join(spool, "boot.2026010100Z.jsonl"), "wb") as file:
            for t, state, more in ((10, "RUNNING", {}), (100, "COMPLETED", {"end_s": 1767225700, "exit_code": 0})):
                file.write(record("@controller", t, kind="attempt", job=7, uid=0, state=state, user="eve", partition="p", name="train",
                                  nnodes=1, gpus=8, nodes="n-" + name, restart=0, **times, **more))
        node = "n-" + name
        self.append(name, record(node, 11, kind="job_prolog", job=7, uid=0, gid=0),
                    record(node, 12, kind="task_start", job=7, slurm_step="0", task=0, pid=5),
                    *[record(node, 20 + i, kind="mark", mark="step", edge="begin", train_step=i, job=7, slurm_step="0", task=0)
                      for i in range(60)],
                    record(node, 90, kind="task_exit", job=7, slurm_step="0", task=0, pid=5, exit_code=0),
                    *[record(node, 200 + i, kind="task_start", job=1000 + i, slurm_step="0", task=0, pid=i) for i in range(2000)])

    def spoil(self) -> None:
        """Overwrites every page except the first, which identifies it as a database."""
        with sqlite3.connect(self.path("db"), timeout=10) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        size = os.path.getsize(self.path("db"))
        self.assertGreater(size, 100000)
        with open(self.path("db"), "r+b") as file:
            file.seek(4096)
            file.write(b"Z" * (size - 4096))

    # --- SIGHUP

    def test_on_sighup_it_reads_its_configuration_anew_and_no_mark_is_lost(self) -> None:
        conf = self.conf(role="node")
        self.append("a", record("n-a", 1, kind="job_prolog", job=7, uid=os.getuid(), gid=0), boot=BOOT)
        os.environ["SLURMD_NODENAME"] = "n-a"
        self.addCleanup(os.environ.pop, "SLURMD_NODENAME")
        child = self.start(conf)
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(client.close)
        client.connect("\0gp-op-a-%d" % os.getpid())

        def mark(step: int) -> None:
            client.send(json.dumps({"v": 1, "mark": "step", "edge": "begin", "train_step": step, "job": 7, "slurm_step": "0",
                                    "task": 0}).encode())

        def steps() -> List[int]:
            found = []
            for path in glob.glob(self.path("spool-a", "n-a", "*.jsonl")):
                with open(path) as file:
                    found += [json.loads(line)["train_step"] for line in file if '"mark"' in line]
            return sorted(found)
        mark(1)
        self.wait_until(lambda: steps() == [1], conf)
        self.conf(role="node", more="spool_max = no\n")
        child.send_signal(signal.SIGHUP)
        self.wait_until(lambda: "keeping the previous configuration" in self.log(conf), conf)
        self.assertIn("a.conf:10: `spool_max` must be a size", self.log(conf))
        mark(2)
        self.wait_until(lambda: steps() == [1, 2], conf)
        self.conf(role="node", more="spool_max = 1M\n")
        child.send_signal(signal.SIGHUP)
        mark(3)  # whichever daemon reads it: it waits in the connection
        self.wait_until(lambda: self.log(conf).count("goodputd: ready") == 2, conf)
        mark(4)
        self.wait_until(lambda: steps() == [1, 2, 3, 4], conf)
        self.assertIsNone(child.poll())
        # A new name of the socket also takes effect.
        with open(conf) as file:
            text = file.read()
        with open(conf, "w") as file:
            file.write(text.replace("socket = @gp-op-a", "socket = @gp-op-b"))
        child.send_signal(signal.SIGHUP)
        self.wait_until(lambda: self.log(conf).count("goodputd: ready") == 3, conf)
        other = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(other.close)
        other.connect("\0gp-op-b-%d" % os.getpid())
        child.terminate()
        self.assertEqual(child.wait(WAIT_S), 0)

    # --- two daemons

    def test_of_two_daemons_with_one_database_one_fills_it_and_the_other_goes_on_when_it_dies(self) -> None:
        first, second = self.conf("a"), self.conf("b")
        active = self.start(first)
        self.append("a", record("n-a", 1, kind="task_start", job=7, pid=1))
        self.wait_until(lambda: self.events() == 1, first)
        self.start(second)
        self.wait_until(lambda: "standing by until it ends" in self.log(second), second)
        self.assertIn("goodputd %d on " % active.pid, self.log(second))
        self.append("b", record("n-b", 1, kind="task_start", job=8, pid=1))
        self.append("a", record("n-a", 2, kind="task_start", job=7, pid=2))
        self.wait_until(lambda: self.events() == 2, first)
        active.kill()
        active.wait()
        self.wait_until(lambda: self.events() == 3, second)
        self.assertIn("over: goodputd %d" % active.pid, self.log(second))

    def test_a_stopped_writer_is_succeeded_and_writes_nothing_when_it_goes_on(self) -> None:
        lease = "shared_spool = %s\ndatabase_lease = 2s\n" % self.path("shared")
        os.mkdir(self.path("shared"), 0o700)
        first, second = self.conf("a", more=lease), self.conf("b", more=lease)
        folder = self.path("shared", "n-a")
        os.mkdir(folder, 0o700)

        def append(number: int) -> None:
            with open(os.path.join(folder, "boot.2026010100Z.jsonl"), "ab", buffering=0) as file:
                file.write(record("n-a", number, kind="task_start", job=7, slurm_step="0", task=0, pid=number))
        append(1)
        stopped = self.start(first)
        self.wait_until(lambda: self.events() == 1, first)
        self.start(second)
        self.wait_until(lambda: "standing by until it ends or gives no heartbeat for 2s" in self.log(second), second)
        self.assertIn("goodputd %d on " % stopped.pid, self.doctor(second))
        stopped.send_signal(signal.SIGSTOP)
        append(2)
        self.wait_until(lambda: self.events() == 2, second)
        self.assertIn("took over the database from goodputd %d on " % stopped.pid, self.log(second))
        with sqlite3.connect(self.path("db"), timeout=10) as db:
            writer = db.execute("SELECT name FROM writer").fetchone()[0]
        # Records that it would ingest immediately when it continues.
        append(3)
        stopped.send_signal(signal.SIGCONT)
        append(4)
        self.wait_until(lambda: self.events() == 4, second)
        self.wait_until(lambda: "standing by until it ends" in self.log(first), first)
        with sqlite3.connect(self.path("db"), timeout=10) as db:
            self.assertEqual(db.execute("SELECT name FROM writer").fetchone()[0], writer)
            self.assertEqual(db.execute("SELECT count(*), count(DISTINCT t_ns) FROM event").fetchone(), (4, 4))
        self.assertIsNone(stopped.poll())

    def test_two_controllers_with_a_database_each_fill_both_from_one_shared_spool(self) -> None:
        more = "shared_spool = %s\n" % self.path("shared")
        confs = [self.conf(name, more=more, database="db-" + name) for name in ("a", "b")]
        databases = [self.path("db-a"), self.path("db-b")]
        os.mkdir(self.path("shared"), 0o700)
        # The nodes' records are shared; each has its own records of Slurm.
        self.job("a")
        shutil.copytree(self.path("spool-a", "@controller"), self.path("spool-b", "@controller"))
        os.rename(self.path("spool-a", "n-a"), self.path("shared", "n-a"))
        both = [self.start(conf) for conf in confs]
        for database, conf in zip(databases, confs):
            self.wait_until(lambda: self.events(database) == 2005, conf)
        self.assertEqual(self.show(confs[0]), self.show(confs[1]))
        self.assertEqual(json.loads(self.show(confs[1]))["jobs"][0]["steps"]["count"], 60)
        # One daemon is stopped for a while.
        both[1].kill()
        both[1].wait()
        with open(self.path("shared", "n-a", "boot.2026010100Z.jsonl"), "ab") as file:
            file.write(record("n-a", 3000, kind="task_start", job=7, slurm_step="1", task=0, pid=9))
        self.wait_until(lambda: self.events(databases[0]) == 2006, confs[0])
        self.assertEqual(self.events(databases[1]), 2005)
        self.start(confs[1])
        self.wait_until(lambda: self.events(databases[1]) == 2006, confs[1])
        self.assertEqual(self.show(confs[0]), self.show(confs[1]))

    def health(self, path: str) -> Tuple[int, Dict]:
        """The answer to /healthz at that socket; code 0 while there is none."""
        connection = http.client.HTTPConnection("goodputd", timeout=WAIT_S)
        connection.sock = socket.socket(socket.AF_UNIX)
        try:
            connection.sock.connect(path)
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            return 0, {}
        finally:
            connection.close()

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_health_is_bad_where_slurm_does_not_answer_and_where_another_fills_the_database(self) -> None:
        # The owner of the database's folder answers queries, never root.
        shutil.chown(self.dir, "nobody")
        first, second = self.path("a.sock"), self.path("b.sock")
        active = self.start(self.conf("a", query_socket=first))
        # It ingests existing records, but has never queried the queue.
        self.wait_until(lambda: self.health(first)[1].get("seconds_since_ingest") is not None, self.path("a.conf"))
        code, health = self.health(first)
        self.assertEqual((code, health["status"], health["seconds_since_look_at_queue"]), (503, "stale", None))
        self.start(self.conf("b", query_socket=second))
        self.wait_until(lambda: self.health(second)[1].get("status") == "standby", self.path("b.conf"))
        self.assertEqual(self.health(second)[0], 503)
        active.kill()
        active.wait()
        self.wait_until(lambda: self.health(second)[1].get("status") == "stale", self.path("b.conf"))

    # --- doctor

    def doctor(self, conf: str) -> str:
        return subprocess.run([SGOODPUT, "doctor", "--config", conf], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, timeout=60).stdout

    def test_doctor_says_who_fills_the_database_which_nodes_are_silent_and_what_is_kept(self) -> None:
        conf = self.conf(more="database_copy = %s\n" % self.path("copies"))
        started = int(time.time()) - 1000
        os.makedirs(self.path("spool-a", "@controller"), 0o700)
        with open(self.path("spool-a", "@controller", "boot.2026010100Z.jsonl"), "wb") as file:
            for job, nodes in ((7, "n-a,x[1-9]"), (8, "n-a")):
                file.write(record("@controller", 1, kind="attempt", job=job, uid=0, state="RUNNING", user="eve", partition="p", name="t",
                                  nnodes=10, gpus=8, nodes=nodes, restart=0, submit_s=started, eligible_s=started, start_s=started))
        for job in (7, 8):
            self.append("a", json_at(started + 1, record("n-a", 0, kind="job_prolog", job=job, uid=0, gid=0)))
        child = self.start(conf)
        self.wait_until(lambda: self.events() == 4 and "copied" in self.log(conf), conf)
        said = self.doctor(conf)
        self.assertRegex(said, r"(?m)^ok  goodputd %d on \S+ writes to the database$" % child.pid)
        self.assertRegex(said, r"(?m)^ok  the newest copy of the database is \S+ old$")
        self.assertRegex(said, r"(?m)^ok  1 node has reported: n-a 16m\d\ds ago$")
        self.assertRegex(said, r"(?m)^!!  job 7 is running, but 9 of its 10 nodes recorded nothing about it: x1 x2 x3 x4 x5 x6 x7 x8 and 1 more$")
        self.assertNotIn("job 8", said)
        child.kill()
        child.wait()
        shutil.rmtree(self.path("copies"))
        os.rename(self.path("db"), self.path("db.damaged-20260101T000000Z"))
        shutil.copy(self.path("db.damaged-20260101T000000Z"), self.path("db"))
        said = self.doctor(conf)
        self.assertIn("no daemon writes to the database", said)
        self.assertIn("!!  there is no copy of the database in %s" % self.path("copies"), said)
        self.assertIn("a damaged database was kept: %s" % self.path("db.damaged-20260101T000000Z"), said)

    def full(self, name: str, kind: int) -> socket.socket:
        """Listens there without accepting, with a full queue of connections."""
        server = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(server.close)
        server.bind(name.replace("@", "\0"))
        server.listen(0)
        while True:
            client = socket.socket(socket.AF_UNIX, kind | socket.SOCK_NONBLOCK)
            self.addCleanup(client.close)
            try:
                client.connect(name.replace("@", "\0"))
            except BlockingIOError:
                return server

    def test_doctor_tells_who_is_busy_from_who_is_not_there(self) -> None:
        asked = self.path("query.sock")
        self.start(self.conf("b"))
        conf = self.conf("a", query_socket=asked)
        marks = "@gp-op-a-%d" % os.getpid()
        said = self.doctor(conf)
        self.assertIn("!!  no process accepts marks at %s: Connection refused" % marks, said)
        self.assertIn("!!  no process answers queries at %s" % asked, said)
        for name, kind in ((asked, socket.SOCK_STREAM), (marks, socket.SOCK_SEQPACKET)):
            self.full(name, kind)
        said = self.doctor(conf)
        self.assertIn("!!  the mark socket %s accepts no more connections" % marks, said)
        self.assertIn("!!  the query socket %s accepts no more connections" % asked, said)
        self.assertNotIn("nobody", said)

    def test_doctor_does_not_look_for_a_watch_that_is_switched_off(self) -> None:
        conf = self.conf()
        os.makedirs(self.path("spool-a"), 0o700)
        with open(self.path("spool-a", "signals"), "w") as file:
            file.write("watching=0 recorded=5 lost=3\n")
        said = self.doctor(conf)
        self.assertRegex(said, r"(?m)^--  signals are not recorded on this node: `signals = off` in goodput.conf$")
        self.assertIn("!!  the kernel dropped 3 signal samples", said)

    # --- copies and damage

    def test_a_copy_is_made_and_not_a_second_one_the_same_day(self) -> None:
        conf = self.conf(more="database_copy = %s\n" % self.path("copies"))
        self.job("a")
        child = self.start(conf)
        self.wait_until(lambda: "the database was copied to" in self.log(conf), conf)
        copies = glob.glob(self.path("copies", "*"))
        self.assertEqual(len(copies), 1)
        with sqlite3.connect(copies[0]) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        child.terminate()
        self.assertEqual(child.wait(WAIT_S), 0)
        self.start(conf)
        self.wait_until(lambda: self.events() == 2005, conf)
        self.assertEqual(glob.glob(self.path("copies", "*")), copies)

    def test_a_damaged_database_is_set_aside_and_filled_again_from_the_spool(self) -> None:
        conf = self.conf()
        self.job("a")
        child = self.start(conf)
        self.wait_until(lambda: self.events() == 2005, conf)
        before = self.show(conf)
        child.kill()
        child.wait()
        self.spoil()
        self.start(conf)
        self.wait_until(lambda: "replaces it" in self.log(conf), conf)
        self.wait_until(lambda: self.events() == 2005, conf)
        self.assertRegex(self.log(conf), r"database .*/db is damaged: ")
        self.assertEqual(len(glob.glob(self.path("db.damaged-*Z"))), 1)
        self.assertEqual(self.show(conf), before)

    def test_what_the_spool_has_no_more_comes_from_the_copy(self) -> None:
        conf = self.conf(more="database_copy = %s\n" % self.path("copies"))
        self.job("a")
        child = self.start(conf)
        self.wait_until(lambda: self.events() == 2005, conf)
        child.terminate()
        child.wait()
        shutil.rmtree(self.path("copies"), ignore_errors=True)
        child = self.start(conf)
        # The first one may have reported it, too.
        self.wait_until(lambda: bool(glob.glob(self.path("copies", "goodput-*Z.db"))), conf)
        before = self.show(conf)
        child.kill()
        child.wait()
        # As after keep_spool; only the newest record can still be ingested.
        shutil.rmtree(self.path("spool-a"))
        self.spoil()
        os.makedirs(self.path("spool-a"), 0o700)
        self.append("a", record("n-a", 9000, kind="task_start", job=9, pid=1))
        os.rename(self.path("spool-a", "n-a", "boot.2026010100Z.jsonl"), self.path("spool-a", "n-a", "boot.2026010102Z.jsonl"))
        self.start(conf)
        self.wait_until(lambda: self.events() == 2006, conf)
        self.assertRegex(self.log(conf), r"the copy .*/copies/goodput-\d+T\d+Z.db replaces it")
        self.assertEqual(self.show(conf), before)

    def test_the_guide_s_commands_restore_a_copy_and_the_spool_gives_the_rest(self) -> None:
        database, copies = self.path("lib", "goodput.db"), self.path("copies")
        os.mkdir(self.path("lib"))
        conf = self.conf(more="database_copy = %s\n" % copies, database="lib/goodput.db")
        self.job("a")
        child = self.start(conf)
        self.wait_until(lambda: self.events(database) == 2005, conf)
        child.terminate()
        child.wait()
        shutil.rmtree(copies, ignore_errors=True)  # it may have been made before the records were there
        child = self.start(conf)
        self.wait_until(lambda: bool(glob.glob(copies + "/goodput-*Z.db")), conf)
        # Recorded and stored after the copy, also of a task that the copy knows.
        self.append("a", *[record("n-a", 3000 + i, kind="mark", mark="step", edge="begin", train_step=60 + i, job=7, slurm_step="0", task=0)
                           for i in range(5)], record("n-a", 3010, kind="task_start", job=9, pid=1))
        self.wait_until(lambda: self.events(database) == 2006, conf)
        before = self.show(conf)
        child.kill()
        child.wait()
        with open(database, "r+b") as file:
            file.write(b"Z" * 100000)
        # As after keep_spool: what the scheduler said is in the copy only.
        shutil.rmtree(self.path("spool-a", "@controller"))
        self.append("a", record("n-a", 3020, kind="task_start", job=9, pid=2))
        self.follow_guide({"/var/lib/slurm-goodput": self.path("lib"), "/var/backups/slurm-goodput": copies}, conf)
        self.wait_until(lambda: self.events(database) == 2007, conf)
        self.assertEqual(self.show(conf), before)
        self.assertNotIn("damaged", self.log(conf))
        with sqlite3.connect(database, timeout=10) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(db.execute("SELECT count(*), count(DISTINCT record) FROM event").fetchone(), (2007, 2007))

    def follow_guide(self, paths: Dict[str, str], conf: str) -> None:
        """Runs the commands that the operators' guide gives for a lost database. systemctl starts this test's daemon."""
        with open(os.path.join(TOP, "docs", "operators.md")) as guide:
            commands, = re.findall(r"\*\*Restore by hand.*?```\n(.*?)```", guide.read(), re.S)
        for path, ours in paths.items():
            commands = commands.replace(path, ours)
        with open(self.path("systemctl"), "w") as systemctl:
            systemctl.write("#!/bin/sh\necho $1 >> %s\n[ $1 = stop ] || setsid %s --config %s < /dev/null > %s 2>&1 &\n" % (
                self.path("asked"), GOODPUTD, conf, self.log_of(conf)))
        os.chmod(self.path("systemctl"), 0o755)
        env = dict(os.environ, SLURM_CONF=self.path("slurm.conf"), GOODPUT_CONF=conf,
                   PATH="%s:%s:%s" % (self.dir, os.path.dirname(SGOODPUT), os.environ["PATH"]))
        done = subprocess.run(["bash", "-c", commands], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=60)
        daemon = int(subprocess.run(["pgrep", "-f", "^%s --config %s$" % (GOODPUTD, conf)], stdout=subprocess.PIPE, text=True, check=True).stdout)
        self.addCleanup(os.kill, daemon, signal.SIGKILL)
        with open(self.path("asked")) as asked:
            self.assertEqual(asked.read().split(), ["stop", "start"])
        self.assertIn("database " + os.path.join(paths["/var/lib/slurm-goodput"], "goodput.db"), done.stdout)
        self.assertNotIn("cannot", done.stdout.split("ok  ")[0])


if __name__ == "__main__":
    unittest.main()
