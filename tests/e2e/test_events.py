#!/usr/bin/python3
"""sgoodput events: what happens to runs reaches the administrator's program and URL once. Records are written by hand.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_events
"""

import email.utils
import fcntl
import http.server
import json
import os
import pwd
import re
import select
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
from typing import Any, Dict, List

from .harness import schemas
from .harness.hand_written import BEGAN, FAULTS, SGOODPUT, Spool, TOP

NOBODY = pwd.getpwnam("nobody")
# A job's name, as its user may choose it.
HOSTILE = "x\"; $(touch /tmp/owned)\n\x1b[31m `id` \u202e\\"
WRITES = "#!/bin/sh\ncat >> %(dir)s/taken\nenv -0 | tr '\\n\\0' '~\\n' | grep ^GOODPUT_EVENT_ > %(dir)s/env\n"


class Server:
    """Takes events, and behaves as it is told: 200, 500, 429:RETRY-AFTER, hang, hangup."""

    def __init__(self, test: unittest.TestCase) -> None:
        self.taken: List[Dict[str, Any]] = []
        self.behaviour, self.over = "200", threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.taken.append(json.loads(body))
                if outer.behaviour == "hang":
                    outer.over.wait(30)
                if outer.behaviour in ("hang", "hangup"):
                    self.close_connection = True
                    return
                try:
                    code, _, wait = outer.behaviour.partition(":")
                    self.send_response(int(code))
                    if wait:
                        self.send_header("Retry-After", wait)
                    self.end_headers()
                    self.wfile.write(b"said\x1b[31m so\nand more")
                except BrokenPipeError:
                    pass

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/secret-path" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)
        test.addCleanup(self.over.set)


@unittest.skipUnless(os.geteuid() == 0, "needs root, to become another user")
class EventsTest(unittest.TestCase):
    """Job 7 of run llm died with a node an hour ago and went on as job 8. Job 9 trained until 200 s ago."""

    def setUp(self) -> None:
        self.dir, self.bin = tempfile.mkdtemp(prefix="goodput-events-"), tempfile.mkdtemp(prefix="goodput-programs-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.addCleanup(shutil.rmtree, self.bin)
        os.chmod(self.bin, 0o755)
        self.conf, self.program = os.path.join(self.dir, "goodput.conf"), os.path.join(self.bin, "on-event")
        self.state, self.db = os.path.join(self.dir, "events.state"), os.path.join(self.dir, "goodput.db")
        self.now = int(time.time()) - BEGAN
        self.spool = Spool(os.path.join(self.dir, "spool"))
        self.write_program(WRITES % {"dir": self.dir})
        self.configure("event_program = " + self.program)
        self.trains(7, self.now - 3600, self.now - 3100, "llm")
        self.ends(7, self.now - 3600, self.now - 3100, "NODE_FAIL", failed_node="n2")
        self.trains(8, self.now - 3000, self.now - 300, "llm")
        self.trains(9, self.now - 1000, self.now - 200, "other")

    def trains(self, job: int, submitted: int, until: int, run: str, name: str = "train") -> None:
        """Steps of 10 s, with a save after each ten."""
        self.spool.controller(submitted + 1, job=job, name=name, submit_s=submitted, eligible_s=submitted, start_s=submitted)
        self.spool.node(submitted + 1, "job_prolog", job=job, **({"opt": {"run": run}} if run else {}))
        self.spool.node(submitted + 5, "task_start", job=job, slurm_step="0", task=0, pid=5)
        for step, t in enumerate(range(submitted + 10, until - 5, 10)):
            self.step(job, t, step)
            if step % 10 == 9:
                for at, edge in ((5, "begin"), (7, "end")):
                    self.spool.node(t + at, "mark", mark="checkpoint", edge=edge, train_step=step, job=job, slurm_step="0", task=0)

    def step(self, job: int, t: int, step: int) -> None:
        self.spool.node(t, "mark", mark="step", edge="begin", train_step=step, job=job, slurm_step="0", task=0)

    def ends(self, job: int, submitted: int, end: int, state: str, **more: Any) -> None:
        self.spool.controller(end, job=job, state=state, submit_s=submitted, eligible_s=submitted, start_s=submitted, end_s=end, **more)

    def is_alive(self, job: int) -> None:
        """The node says now that the job's tasks live."""
        first = min(line["t"] for line in self.spool.lines["n1"] if line.get("job") == job)
        ns = time.time_ns()
        with open(os.path.join(self.spool.folder, "n1", "heartbeat"), "w") as file:
            json.dump({"v": 1, "t": ns, "m": ns - BEGAN * 10 ** 9 + 10 ** 12, "node": "n1", "boot": "boot",
                       "jobs": [{"cluster": "c", "job": job, "since": first}]}, file)

    def ingest(self, alive: int = 0) -> None:
        self.spool.folder += "+"  # each time a spool of its own, with all records so far
        self.spool.write()
        if alive:
            self.is_alive(alive)
        if os.path.exists(self.db):
            os.unlink(self.db)
        subprocess.run([SGOODPUT, "ingest", "--config", self.conf, "--spool", self.spool.folder], check=True, stdout=subprocess.DEVNULL, timeout=60)
        for folder, _, files in os.walk(self.dir):
            for name in [folder] + [os.path.join(folder, file) for file in files]:
                os.chown(name, NOBODY.pw_uid, NOBODY.pw_gid)

    def write_program(self, text: str) -> None:
        with open(self.program, "w") as file:
            file.write(text)
        os.chmod(self.program, 0o755)

    def configure(self, *lines: str) -> None:
        with open(self.conf, "w") as file:
            file.write("cluster = c\ndatabase = %s\n" % self.db + "".join(line + "\n" for line in lines))

    def command(self, *args: str) -> List[str]:
        return ["setpriv", "--reuid=nobody", "--regid=%d" % NOBODY.pw_gid, "--clear-groups", SGOODPUT, *args, "--config", self.conf]

    def run_it(self, *args: str, root: bool = False) -> "subprocess.CompletedProcess[str]":
        command = [SGOODPUT, *args, "--config", self.conf] if root else self.command(*args)
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, universal_newlines=True,
                              env={"PATH": os.environ["PATH"], "TZ": "UTC", **FAULTS}, timeout=150)

    def watch(self, status: int = 0, why: str = "") -> None:
        done = self.run_it("events", "watch", "--once")
        self.assertEqual((done.returncode, done.stdout), (status, ""), done)
        self.assertRegex(done.stderr, r"\A%s\Z" % ("sgoodput: events: [^\n]*%s[^\n]*\n" % why if why else ""))

    def status(self, status: int = 0) -> str:
        done = self.run_it("events", "status")
        self.assertEqual((done.returncode, done.stderr), (status, ""), done)
        return " ".join(done.stdout.split())

    def doctor(self) -> str:
        return " ".join(self.run_it("doctor", root=True).stdout.split())

    def taken(self) -> List[Dict[str, Any]]:
        """What the program got, each a valid event."""
        path = os.path.join(self.dir, "taken")
        if not os.path.exists(path):
            return []
        with open(path) as file:
            events = [json.loads(line) for line in file]
        for event in events:
            schemas.check(event, "event")
        return events

    def later(self, queued_ago_s: int = 0) -> None:
        """Whatever waits is due, as if time had passed."""
        with open(self.state) as file:
            lines = [line.split("\t") for line in file]
        for line in lines:
            if line[0] == "waiting":
                line[2:4] = [str(int(line[2]) - queued_ago_s * 10 ** 9), "0"]
        with open(self.state, "w") as file:
            file.write("".join("\t".join(line) for line in lines))

    def first_pass_then_job_8_fails(self) -> None:
        self.ingest()
        self.watch()
        self.ends(8, self.now - 3000, self.now - 290, "NODE_FAIL", failed_node="n1")
        self.ingest()


class ArrivalTest(EventsTest):
    def test_a_first_start_with_months_of_history_sends_nothing(self) -> None:
        for job in range(100, 160):
            began = self.now - 86400 * (job - 99)
            self.trains(job, began, began + 100, "")
            self.ends(job, began, began + 100, "NODE_FAIL", failed_node="n1")
        self.ingest(alive=9)
        for _ in range(3):
            self.watch()
        self.assertEqual(self.taken(), [])
        self.assertRegex(self.status(), r"^Looked for events \S+ ago event_program: 0 sent, 0 waiting, 0 dropped; last sent never$")

    def test_an_interruption_arrives_once_with_its_cause(self) -> None:
        self.first_pass_then_job_8_fails()
        for _ in range(3):
            self.watch()
        (event,) = self.taken()
        self.assertEqual((event["kind"], event["cause"], event["node"], event["job_id"], event["run"], event["cluster"]),
                         ("interruption", "node_fail", "n1", 8, "llm", "c"))
        self.assertEqual(event["id"], "interruption/c/8@%d/1" % (BEGAN + self.now - 3000))
        self.assertEqual(event["time_ns"] // 10 ** 9, BEGAN + self.now - 290)
        # What reports by cause count for it: steps after the last save, and the 16 GPUs.
        report = json.loads(self.run_it("report", "--json", "-a", "--no-refresh", "-S", "now-1day", "--by", "run,cause").stdout)
        (row,) = [row for row in report["rows"] if "node_fail" in json.dumps(row["group"])]
        self.assertGreater(event["seconds_lost"], 0)
        self.assertEqual(event["gpu_seconds_lost"], 16 * event["seconds_lost"])
        self.assertGreaterEqual(sum(bucket["gpu_seconds"] for bucket in row["buckets"]), event["gpu_seconds_lost"])
        self.assertRegex(event["text"], r"^run llm of nobody \(job 8 on c\) was interrupted: node_fail, node n1; lost \S+ of 16 GPUs so far$")

    def test_an_interruption_waits_until_its_cause_is_settled(self) -> None:
        self.ingest()
        self.watch()
        self.trains(30, self.now - 900, self.now - 20, "")
        self.ends(30, self.now - 900, int(time.time()) - BEGAN - 5, "FAILED", exit_code=1)
        self.ingest()
        self.watch()
        self.assertEqual(self.taken(), [])
        self.spool.lines["@controller"].pop()
        self.ends(30, self.now - 900, self.now - 70, "NODE_FAIL", failed_node="n2")
        self.ingest()
        self.watch()
        self.assertEqual([event["cause"] for event in self.taken()], ["node_fail"])

    def test_a_cause_that_turns_out_to_be_wrong_is_corrected_once(self) -> None:
        self.ingest()
        self.watch()
        self.ends(8, self.now - 3000, self.now - 290, "FAILED", exit_code=1)
        self.ingest()
        self.watch()
        (told,) = self.taken()
        self.assertEqual((told["cause"], told["node"], told["corrects"]), ("failed", None, None))
        self.spool.lines["@controller"].pop()
        self.ends(8, self.now - 3000, self.now - 290, "NODE_FAIL", failed_node="n1")
        self.ingest()
        for _ in range(3):
            self.watch()
        _, right = self.taken()
        self.assertEqual((right["kind"], right["corrects"], right["id"]), ("correction", told["id"], told["id"] + "/correction/1"))
        self.assertEqual((right["cause"], right["node"], right["planned"]), ("node_fail", "n1", False))
        self.assertRegex(right["text"], "^Correction: run llm of nobody .* was interrupted: node_fail, node n1.*; before: failed$")

    def test_a_stall_and_its_end_arrive_once_each(self) -> None:
        self.ingest()
        self.watch()
        self.spool.node(self.now - 100, "hang_evidence", job=9, source="ras", since_ns=(BEGAN + self.now - 200) * 10 ** 9,
                        text="rank 3 is behind the others")
        self.ingest(alive=9)
        for _ in range(2):
            self.watch()
        (stall,) = self.taken()
        self.assertEqual((stall["kind"], stall["job_id"], stall["run"], stall["cause"], stall["gpus"]), ("stall", 9, "other", None, 16))
        self.assertIn("NCCL: rank 3 is behind the others", stall["text"])
        now = json.loads(self.run_it("now", "--json", "-a", "--no-refresh").stdout)
        (row,) = [row for row in now["runs"] if row["job_id"] == 9]
        self.assertEqual((row["state"], row["since_ns"]), ("no_progress", stall["time_ns"]))
        # Silence of the node does not end it.
        self.ingest()
        self.watch()
        self.assertEqual(len(self.taken()), 1)
        self.step(9, int(time.time()) - BEGAN - 3, 80)
        self.ingest(alive=9)
        for _ in range(2):
            self.watch()
        _, end = self.taken()
        self.assertEqual((end["kind"], end["id"]), ("stall_end", stall["id"].replace("stall/", "stall_end/")))
        self.assertIn("it makes progress again", end["text"])

    def test_the_end_of_a_stall_that_nobody_was_told_of_is_not_told(self) -> None:
        self.ingest(alive=9)
        for _ in range(2):
            self.watch()
        self.step(9, int(time.time()) - BEGAN - 3, 80)
        self.ingest(alive=9)
        for _ in range(2):
            self.watch()
        self.assertEqual(self.taken(), [])

    def test_a_stall_that_ends_with_the_program_says_so(self) -> None:
        self.ingest()
        self.watch()
        self.ingest(alive=9)
        self.watch()
        self.ends(9, self.now - 1000, self.now - 65, "CANCELLED")
        self.ingest()
        self.watch()
        kinds = {event["kind"]: event for event in self.taken()}
        self.assertEqual(len(self.taken()), len(kinds))
        self.assertIn("its program has ended", kinds["stall_end"]["text"])

    def test_a_node_that_fails_too_often_arrives_once(self) -> None:
        """Of 40 nodes, one has all of 12 failures."""
        for job in range(100, 112):
            began = self.now - 86400 * 5 + 600 * (job - 100)
            self.spool.controller(began + 1, job=job, submit_s=began, eligible_s=began, start_s=began, nodes="n[1-40]", nnodes=40)
            self.ends(job, began, began + 500, "NODE_FAIL", failed_node="n33", nodes="n[1-40]", nnodes=40)
        lines = self.spool.lines["@controller"]
        failing, self.spool.lines["@controller"] = lines[-24:], lines[:-24]
        self.ingest()
        self.watch()
        self.spool.lines["@controller"] += failing
        self.ingest()
        self.watch()
        self.assertEqual(self.taken(), [], "nodes are judged once an hour")
        with open(self.state) as file:
            text = file.read()
        with open(self.state, "w") as file:
            file.write(re.sub(r"\ntimes\t(\d+)\t(\d+)\t\d+", r"\ntimes\t\1\t\2\t0", text))
        for _ in range(2):
            self.watch()
        (event,) = self.taken()
        self.assertEqual((event["kind"], event["node"], event["cluster"], event["job_id"]), ("failing_node", "n33", "c", None))
        suspects = json.loads(self.run_it("report", "--json", "-a", "--no-refresh", "-S", "now-30days", "--by", "node", "--suspects").stdout)
        self.assertEqual(len(suspects["rows"]), 1)

    def test_hostile_names_stay_data(self) -> None:
        self.ingest()
        self.watch()
        self.trains(20, self.now - 900, self.now - 300, "", name=HOSTILE)
        self.ends(20, self.now - 900, self.now - 290, "NODE_FAIL", failed_node="n1", name=HOSTILE)
        self.ingest()
        self.watch()
        (event,) = self.taken()
        self.assertEqual(event["run"], HOSTILE)
        with open(os.path.join(self.dir, "env"), encoding="utf-8") as file:
            env = dict(line.rstrip("\n").split("=", 1) for line in file)
        self.assertEqual(env["GOODPUT_EVENT_RUN"], "x\"; $(touch /tmp/owned)??[31m `id` ?\\")
        self.assertEqual((env["GOODPUT_EVENT_KIND"], env["GOODPUT_EVENT_JOB_ID"], env["GOODPUT_EVENT_ID"]), ("interruption", "20", event["id"]))
        self.assertFalse(os.path.exists("/tmp/owned"))


class ProgramTest(EventsTest):
    def test_what_fails_is_tried_again_and_said_once(self) -> None:
        self.first_pass_then_job_8_fails()
        self.write_program("#!/bin/sh\necho no such channel >&2\necho >> %s/tries\nexit 1\n" % self.dir)
        self.watch(1, "event_program: exit status 1: no such channel")
        self.watch(1)  # not due, and not said again
        self.later()
        self.watch(1)
        with open(os.path.join(self.dir, "tries")) as file:
            self.assertEqual(len(file.readlines()), 2)
        self.assertRegex(self.status(1), "event_program: 0 sent, 1 waiting, 0 dropped; last sent never; exit status 1: no such channel")
        self.assertRegex(self.doctor(), "!! event_program: exit status 1: no such channel")
        self.write_program(WRITES % {"dir": self.dir})
        self.later()
        self.watch()
        self.assertEqual([event["kind"] for event in self.taken()], ["interruption"])
        self.assertIn("1 sent, 0 waiting", self.status())
        self.assertIn("ok events are looked for, and taken", self.doctor())

    def test_after_a_day_it_is_dropped_and_counted(self) -> None:
        self.first_pass_then_job_8_fails()
        self.write_program("#!/bin/sh\nexit 3\n")
        self.watch(1, "exit status 3")
        self.later(86500)
        self.watch(1)
        self.assertRegex(self.status(1), "0 sent, 0 waiting, 1 dropped")
        self.assertIn("1 events were dropped", self.doctor())

    def test_one_that_hangs_is_killed_with_its_children(self) -> None:
        self.first_pass_then_job_8_fails()
        self.write_program("#!/bin/sh\nsleep 4711 &\necho $! > %s/child\nwait\n" % self.dir)
        began = time.monotonic()
        self.watch(1, "did not finish within 1m")
        self.assertLess(time.monotonic() - began, 90)
        with open(os.path.join(self.dir, "child")) as file:
            child = int(file.read())
        deadline = time.monotonic() + 60
        while self.lives(child):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    @staticmethod
    def lives(pid: int) -> bool:
        try:
            with open("/proc/%d/stat" % pid) as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def test_one_that_prints_megabytes_has_taken_it(self) -> None:
        self.first_pass_then_job_8_fails()
        self.write_program("#!/bin/sh\nhead -c 50000000 /dev/zero\nhead -c 50000000 /dev/zero >&2\n" + (WRITES % {"dir": self.dir})[10:])
        self.watch()
        self.assertEqual(len(self.taken()), 1)
        self.assertLess(os.path.getsize(self.state), 20000)

    def test_killed_between_sending_and_noting_it_is_sent_again_and_then_no_more(self) -> None:
        self.first_pass_then_job_8_fails()
        self.write_program(WRITES % {"dir": self.dir} + "kill -9 $PPID\n")
        done = self.run_it("events", "watch", "--once")
        self.assertEqual(done.returncode, -9, done)
        self.write_program(WRITES % {"dir": self.dir})
        for _ in range(3):
            self.watch()
        self.assertEqual([event["id"] for event in self.taken()], ["interruption/c/8@%d/1" % (BEGAN + self.now - 3000)] * 2)

    def test_the_service_is_killed_and_restarted_and_sends_nothing_twice(self) -> None:
        self.first_pass_then_job_8_fails()
        for _ in range(3):
            with subprocess.Popen(self.command("events", "watch"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  env={"PATH": os.environ["PATH"], "TZ": "UTC", **FAULTS}) as child:
                self.addCleanup(child.kill)
                deadline = time.monotonic() + 60
                while "1 sent" not in self.run_it("events", "status").stdout:
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.1)
                time.sleep(1)
                self.assertIsNone(child.poll())
                child.kill()
                self.assertEqual(child.communicate()[1], b"")
        self.assertEqual(len(self.taken()), 1)

    def test_one_that_others_may_write_to_is_refused(self) -> None:
        self.first_pass_then_job_8_fails()
        for change in (lambda: os.chmod(self.program, 0o775), lambda: os.chown(self.program, NOBODY.pw_uid, 0), lambda: os.chmod(self.bin, 0o777)):
            os.chown(self.program, 0, 0)
            os.chmod(self.program, 0o755)
            os.chmod(self.bin, 0o755)
            change()
            done = self.run_it("events", "test")
            self.assertEqual((done.returncode, done.stderr), (1, ""))
            self.assertRegex(" ".join(done.stdout.split()), "^event_program: .*: must belong to root and be writable by root only; it is not run")
        self.watch(1, "must belong to root")
        self.assertEqual(self.taken(), [])
        os.chmod(self.bin, 0o755)
        self.later()
        self.watch()
        self.assertEqual(len(self.taken()), 1)


    def test_the_queue_has_an_end(self) -> None:
        self.first_pass_then_job_8_fails()
        self.write_program("#!/bin/sh\nexit 3\n")
        with open(self.state, "a") as file:
            for i in range(1000):
                file.write("waiting\tevent_program\t%d\t%d\t9\tx/%d\t{}\n" % (time.time_ns(), time.time_ns() + 10 ** 12, i))
        self.watch()
        self.assertRegex(self.status(), "0 sent, 1000 waiting, 1 dropped")

    def test_the_guide_s_program_posts_to_a_webhook(self) -> None:
        """The one of docs/operators.md, with its file for curl elsewhere."""
        server, secret = Server(self), os.path.join(self.bin, "webhook")
        with open(os.path.join(TOP, "docs", "operators.md")) as file:
            (program,) = re.findall(r"(?s)(#!/bin/sh\n# /etc/slurm-goodput/on-event.*?)```", file.read())
        self.write_program(program.replace("/etc/slurm-goodput/webhook", secret))
        with open(secret, "w") as file:
            file.write('url = "%s"\n' % server.url)
        self.first_pass_then_job_8_fails()
        self.watch()
        ((text,),) = [event.items() for event in server.taken]
        self.assertEqual(text[0], "text")
        self.assertRegex(text[1], "^run llm of nobody .job 8 on c. was interrupted: node_fail")
        server.behaviour = "500"
        self.assertRegex(self.run_it("events", "test").stdout, "exit status 22: curl: .22. The requested URL returned error: 500")


class UrlTest(EventsTest):
    def setUp(self) -> None:
        super().setUp()
        self.server = Server(self)
        self.configure("event_url = " + self.server.url)

    def test_servers_that_fail_get_it_again(self) -> None:
        self.first_pass_then_job_8_fails()
        for behaviour, why in (("500", r"the server answered 500: said\?\[31m so"), ("hang", ""), ("hangup", ""), ("302", "answered 302")):
            self.server.behaviour = behaviour
            done = self.run_it("events", "watch", "--once")
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, r"\Asgoodput: events: event_url: [^\n]*%s[^\n]*\n\Z" % why)
            self.assertNotIn("secret", done.stderr)
            self.later()
        self.server.behaviour = "200"
        for _ in range(2):
            self.watch()
        self.assertEqual({event["id"] for event in self.server.taken}, {"interruption/c/8@%d/1" % (BEGAN + self.now - 3000)})
        self.assertEqual(len(self.server.taken), 5)
        self.assertIn("event_url: 1 sent, 0 waiting, 0 dropped", self.status())

    def test_both_get_it_whatever_happens_to_the_other(self) -> None:
        self.configure("event_url = " + self.server.url, "event_program = " + self.program)
        self.first_pass_then_job_8_fails()
        self.server.behaviour = "500"
        self.watch(1, "event_url: ")
        self.server.behaviour = "200"
        self.later()
        self.watch()
        self.assertEqual((len(self.taken()), len(self.server.taken)), (1, 2))

    def test_a_program_that_hangs_does_not_delay_the_url(self) -> None:
        self.configure("event_url = " + self.server.url, "event_program = " + self.program)
        self.first_pass_then_job_8_fails()
        self.write_program("#!/bin/sh\nexec sleep 15\n")
        with subprocess.Popen(self.command("events", "watch", "--once"), stdin=subprocess.DEVNULL,
                              env={"PATH": os.environ["PATH"], "TZ": "UTC", **FAULTS}) as child:
            self.addCleanup(child.kill)
            deadline = time.monotonic() + 60
            while not self.server.taken:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)
            while "event_url: 1 sent" not in self.run_it("events", "status").stdout:
                self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(child.poll(), "the program still hangs")
            self.assertEqual(child.wait(60), 0)
        self.assertIn("event_program: 1 sent", self.status())

    def test_a_server_that_asks_to_wait_is_left_alone(self) -> None:
        self.first_pass_then_job_8_fails()
        for wait in ("600", email.utils.formatdate(time.time() + 600, usegmt=True)):
            self.server.taken.clear()
            self.server.behaviour = "429:" + wait
            done = self.run_it("events", "watch", "--once")
            self.assertEqual(done.returncode, 1, done)
            self.later()
            self.server.behaviour = "200"
            self.assertEqual(self.run_it("events", "watch", "--once").returncode, 1, "it is not asked")
            self.assertEqual(len(self.server.taken), 1)
            with open(self.state) as file:
                text = file.read()
            ((_, before),) = re.findall(r"\n(target\tevent_url\t.*\t)(\d+)\n", text)
            self.assertAlmostEqual(int(before) / 1e9, time.time() + 600, delta=30)
            with open(self.state, "w") as file:
                file.write(text.replace("\t%s\n" % before, "\t0\n"))
        self.watch()
        self.assertEqual(len(self.server.taken), 2)

    def test_a_sample(self) -> None:
        self.configure("event_url = " + self.server.url, "event_program = " + self.program)
        self.ingest()
        done = self.run_it("events", "test")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "event_program: taken\nevent_url: taken\n", ""))
        self.assertEqual([event["kind"] for event in self.taken() + self.server.taken], ["test", "test"])
        self.assertFalse(os.path.exists(self.state))


class EventsUsageTest(EventsTest):
    def test_what_cannot_be_is_refused_in_a_line(self) -> None:
        self.ingest()
        for lines, root, why in (((), False, "goodput.conf has no event_program or event_url"),
                                 (("event_program = on-event",), False, "`event_program` must be an absolute path"),
                                 (("event_url = ftp://x",), False, "`event_url` must be http://"),
                                 (("event_url = http://me:word@x",), False, "`event_url` must be http://"),
                                 (("event_program = " + self.program,), True, "do not run it as root"),
                                 (("event_program = " + self.program,), False, "")):
            self.configure(*lines)
            if why:
                done = self.run_it("events", "watch", "--once", root=root)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done)
                self.assertRegex(done.stderr, r"\Asgoodput: [^\n]*%s[^\n]*\n\Z" % re.escape(why))
                self.assertNotIn("word", done.stderr)
        self.assertRegex(self.run_it("events", "status").stdout, "^Nothing was done so far")

    def test_a_damaged_file_begins_anew_and_sends_nothing(self) -> None:
        self.first_pass_then_job_8_fails()
        with open(self.state, "w") as file:
            file.write("slurm-goodput events 1\ntimes\tx\n")
        self.watch(0, "events.state is damaged")
        self.watch()
        self.assertEqual(self.taken(), [])

    def test_two_at_once_are_one(self) -> None:
        self.ingest()
        with open(self.state + ".lock", "w") as lock:
            os.chown(lock.name, NOBODY.pw_uid, NOBODY.pw_gid)
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.run_it("events", "watch", "--once")
            with subprocess.Popen(self.command("events", "watch"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True,
                                  env={"PATH": os.environ["PATH"], "TZ": "UTC", **FAULTS}) as standby:
                self.addCleanup(standby.kill)
                assert standby.stderr
                self.assertTrue(select.select([standby.stderr], [], [], 60)[0], "it says nothing")
                said = standby.stderr.readline()
                self.assertFalse(os.path.exists(self.state))
                fcntl.flock(lock, fcntl.LOCK_UN)
                deadline = time.monotonic() + 60
                while not os.path.exists(self.state):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.1)
                standby.kill()
                said += standby.communicate()[1]
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("another sgoodput events watch runs", done.stderr)
        self.assertRegex(said, r"\Asgoodput: [^\n]*another sgoodput events watch runs\n\Z")

    def test_a_database_that_is_gone_is_said_and_what_waits_is_sent(self) -> None:
        self.first_pass_then_job_8_fails()
        self.write_program("#!/bin/sh\nexit 1\n")
        self.watch(1, "exit status 1")
        os.rename(self.db, self.db + ".away")
        self.write_program(WRITES % {"dir": self.dir})
        self.later()
        self.watch(1, "there is no database")
        self.assertEqual(len(self.taken()), 1)


if __name__ == "__main__":
    unittest.main()
