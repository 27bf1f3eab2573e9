#!/usr/bin/python3
"""sgoodput import and export: logs of other programs in files and pipes, complete and broken; and the progress line on a
terminal while a file is read.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_import
"""

import datetime
import fcntl
import json
import os
import pty
import random
import re
import shutil
import struct
import subprocess
import tempfile
import termios
import unittest
from typing import Any, Dict, List

from .harness import schemas
from .harness.hand_written import BEGAN, SGOODPUT, Spool, run_it

SCHEDULING = {"hold", "requeue_backoff", "resubmit_gap", "queue_resources", "queue_priority", "queue_other", "suspended",
              "provisioning"}
# What `sacct --delimiter=...` prints between fields.
BETWEEN = "9c5e2c6a-5cf0-4d3a-9c39-6b9f3f5d3f21"
SACCT = BETWEEN.join(("Cluster JobIDRaw JobID Submit Eligible Start End State ExitCode User Account Partition QOS NNodes NodeList AllocTRES "
                      "ReqTRES Reason JobName").split()) + "\n"


def entry(**members: Any) -> Dict[str, Any]:
    return dict({"job_name": "llm"}, **members)


def steps(first: int, last: int, t: float, seconds: float) -> List[Dict[str, Any]]:
    return [entry(step_count=n, step_start_time=BEGAN + t + (n - first) * seconds) for n in range(first, last + 1)]


def a_run() -> List[Dict[str, Any]]:
    """Dies after step 4 and resumes with step 3: 40 s are lost or recomputed."""
    return ([entry(job_start_time=float(BEGAN)), entry(tpu_init_start_time=BEGAN + 1.0), entry(tpu_init_end_time=BEGAN + 4.5)] +
            steps(0, 4, 10, 10) + [entry(job_start_time=BEGAN + 100.0)] + steps(3, 7, 110, 10) + [entry(job_end_time=BEGAN + 160.0)])


def lines(entries: List[Dict[str, Any]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in entries)


class ImportTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-import-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.db = os.path.join(self.dir, "goodput.db")
        self.config = self.path("goodput.conf", "")

    def path(self, name: str, content: str, encoding: str = "utf-8") -> str:
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding=encoding, newline="") as file:
            file.write(content)
        return path

    def command(self, *args: str) -> List[str]:
        """Global options come first, those of a subcommand after it."""
        at = 0 if args[0].startswith("-") else 1
        return [*args[:at], "--config", self.config, "--db", self.db, *args[at:]]

    def ok(self, *args: str) -> str:
        done = run_it(*self.command(*args))
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def one_line(self, *args: str, status: int = 2) -> str:
        done = run_it(*self.command(*args))
        self.assertEqual(done.returncode, status, done)
        self.assertEqual(done.stdout, "", args)
        self.assertRegex(done.stderr, r"\Asgoodput: [^\n]+\n\Z", args)
        return done.stderr

    def show(self, *target: str) -> Dict[str, Any]:
        report = json.loads(self.ok("show", "--no-refresh", "--json", *target))
        schemas.check(report, "sgoodput")
        job, = report["jobs"]
        self.assertEqual(sum(bucket["ns"] for bucket in job["buckets"]), job["wall_ns"])
        return job

    def seconds(self, job: Dict[str, Any]) -> Dict[str, float]:
        return {bucket["name"]: bucket["seconds"] for bucket in job["buckets"] if bucket["ns"]}

    # --- a separate run

    def test_a_log_is_a_run(self) -> None:
        said = self.ok("import", self.path("log.jsonl", lines(a_run())))
        self.assertEqual(said, "15 entries, 2 attempts of run llm, 0 lines quarantined\n")
        job = self.show("--run", "llm")
        self.assertEqual(self.seconds(job), {"startup": 20, "productive": 80, "lost_work": 20, "unobserved": 40})
        self.assertIsNone(job["job_id"])
        self.assertEqual([a["job_id"] for a in job["attempts"]], [None, None])
        self.assertIsNone(job["goodput"]["scheduling"])
        self.assertIsNone(job["goodput"]["runtime"])
        self.assertEqual(job["goodput"]["sg_rg"], 0.5)
        self.assertEqual(len(job["interruptions"]), 1)
        evidence = {bucket["name"]: bucket["evidence"] for bucket in job["buckets"] if bucket["ns"]}
        self.assertEqual(evidence["productive"], "log")
        listed = self.ok("--no-refresh", "-a", "-S", "2020-01-01", "-P", "-n", "-o", "JobID,Run,Attempts")
        self.assertEqual(listed, "-|llm|2\n")
        self.assertIn("Run llm, imported", self.ok("show", "--no-refresh", "--run", "llm"))
        where = self.ok("show", "--no-refresh", "--run", "llm", "--explain", "lost_work")
        self.assertIn("@import/%s/log.jsonl:" % self.dir, where)

    def test_as_gcloud_prints_it(self) -> None:
        newest_first = [{"insertId": "x%d" % n, "jsonPayload": one, "logName": "projects/p/logs/goodput",
                         "timestamp": "2026-09-21T00:00:00Z"} for n, one in enumerate(a_run())][::-1]
        self.ok("import", self.path("log.json", json.dumps(newest_first, indent=2)))
        self.assertEqual(self.seconds(self.show("--run", "llm")),
                         {"startup": 20, "productive": 80, "lost_work": 20, "unobserved": 40})

    def test_from_a_pipe_and_again(self) -> None:
        for said in ("15 entries, 2 attempts of run llm, 0 lines quarantined\n",
                     "15 entries, 2 attempts of run llm, 0 lines quarantined; unchanged\n"):
            done = subprocess.run([SGOODPUT, *self.command("import", "-")], input=lines(a_run()), stdout=subprocess.PIPE,
                                  universal_newlines=True, check=True, timeout=60)
            self.assertEqual(done.stdout, said)

    def test_a_file_that_grew_is_taken_anew(self) -> None:
        log = self.path("log.jsonl", lines(a_run()[:-1]))
        self.ok("import", log)
        with open(log, "a") as file:
            file.write(lines(steps(8, 9, 160, 10)))
        self.assertEqual(self.ok("import", log), "16 entries, 2 attempts of run llm, 0 lines quarantined\n")
        self.assertEqual(self.show("--run", "llm")["attempts"][1]["last_step"], 9)
        self.assertIsNone(self.show("--run", "llm")["end_ns"], "it never logged its end")

    def test_noise_is_set_aside(self) -> None:
        noisy = "\ufeff\r\n\n" + lines(a_run()).replace("\n", "\r\n") + "oops\r\n[1]\r\n" + json.dumps(entry(step_count="x")) + "\n{\"job_na"
        said = self.ok("import", self.path("log.jsonl", noisy))
        self.assertEqual(said, "15 entries, 2 attempts of run llm, 4 lines quarantined\n")
        self.assertEqual(self.seconds(self.show("--run", "llm"))["productive"], 80)
        doctor = run_it(*self.command("doctor")).stdout
        self.assertIn("0 records from 0 spool files, 1 imports", doctor)
        self.assertNotIn("quarantined", doctor, "a log's noise is nothing this machine lost")

    def test_what_cannot_be_imported_is_one_line(self) -> None:
        self.assertIn("/nowhere", self.one_line("import", "/nowhere"))
        self.assertIn("directory", self.one_line("import", self.dir))
        self.assertIn("not a file or pipe", self.one_line("import", "/dev/zero"))
        self.assertIn("--delimiter", self.one_line("import", self.path("forged.txt", SACCT.replace(BETWEEN, "|"))))
        self.assertIn("not a goodput log", self.one_line("import", self.path("text", '{"job_name": 7}\nhello\nworld\n')))
        self.assertIn("no profile matches a line", self.one_line("import", self.path("text", "hello\nworld\n")))
        self.assertIn("only for a program's output", self.one_line("import", "--start=now", self.path("log", lines(a_run()))))
        self.assertIn("empty", self.one_line("import", self.path("empty", "")))
        self.assertIn("--run", self.one_line("import", self.path("two", lines(a_run() + [dict(one, job_name="b") for one in a_run()]))))
        self.one_line("import", "--format", "parquet", self.path("log", lines(a_run())))
        self.one_line("import", "-j", "77", self.path("log", lines(a_run())), status=1)
        self.one_line("export", "--run", "nobody", status=1)
        self.one_line("export", "--no-refresh", "--run", "llm", "-o", "/nowhere/out", status=1)
        self.ok("import", self.path("log", lines(a_run())))
        self.assertIn("/nowhere/out", self.one_line("export", "--no-refresh", "--run", "llm", "-o", "/nowhere/out"))

    # --- joined to Slurm's records

    def test_joins_a_job_known_from_sacct(self) -> None:
        sacct = self.path("jobs.txt", SACCT + ("c1|12|12|%d|%d|%d|%d|NODE_FAIL|0:0|ada|ml|a3|normal|2|n[1-2]|gres/gpu=16|||train\n" % (
            BEGAN - 50, BEGAN - 50, BEGAN - 5, BEGAN + 70) + "c1|12|12|%d|%d|%d|%d|COMPLETED|0:0|ada|ml|a3|normal|2|n[1-2]|gres/gpu=16|||train\n" % (
                BEGAN + 71, BEGAN + 72, BEGAN + 95, BEGAN + 165) + "c1|12.batch|12.batch|1|1|1|1|COMPLETED|0:0||||||||||\nnonsense\n").replace("|", BETWEEN))
        self.assertEqual(self.ok("import", sacct), "2 attempts imported, 0 already known from slurmdbd, 1 line unreadable\n")
        log = self.path("log.jsonl", lines(a_run()))
        for target in (["-j", "12"], ["-j", "12", "-M", "c1"]):
            self.assertRegex(self.ok("import", *target, log), r"\A15 entries, added to job 12, 0 lines quarantined(; unchanged)?\n\Z")
        job = self.show("12")
        found = self.seconds(job)
        self.assertEqual(found["productive"], 30 + 50)
        self.assertEqual(found["lost_work"], 30, "until Slurm saw the node fail")
        self.assertNotIn("unobserved", found)
        self.assertEqual(job["gpus"], 16)
        self.assertIsNotNone(job["goodput"]["scheduling"])
        self.one_line("show", "--no-refresh", "--run", "llm", status=1)
        self.assertEqual(self.ok("import", sacct), "2 attempts imported, 0 already known from slurmdbd, 1 line unreadable\n")

    def test_cycles_of_nvrx_tell_which_nodes_trained(self) -> None:
        """Ten nodes of eight GPUs, of which eight should train: a spare replaces one that fails, then two fail at once."""
        self.ok("import", self.path("jobs.txt", SACCT + ("c1|12|12|%d|%d|%d|%d|COMPLETED|0:0|ada|ml|a3|normal|10|n[01-10]|gres/gpu=80|||train\n" % (
            BEGAN, BEGAN, BEGAN, BEGAN + 300)).replace("|", BETWEEN)))
        self.ok("import", "-j", "12", self.path("log.jsonl", lines([entry(job_start_time=float(BEGAN))] + steps(0, 29, 0, 10) +
                                                                   [entry(job_end_time=BEGAN + 300.0)])))
        files = [self.cycle(0, 0, "n[01-08]", "n[09-10]"), self.cycle(1, 100, "n[01-07,09]", "n10"), self.cycle(2, 200, "n[01-06,09]", "")]
        os.symlink(os.path.basename(files[-1]), os.path.join(self.dir, "cycle_info.12.current"))
        files.append(os.path.join(self.dir, "cycle_info.12.current"))
        self.assertIn("can only be added to a job: name it with -j JOB", self.one_line("import", *files))
        for again in ("", "; unchanged"):
            self.assertEqual(self.ok("import", "-j", "12", *files), "3 cycles, added to job 12, 0 lines quarantined%s\n" % again)
        job = self.show("12")
        self.assertEqual([(world["stepping"], world["wanted"], world["spares"]) for world in job["worlds"]],
                         [(64, 64, 16), (64, 64, 8), (56, 64, 0)])
        gpu_s = {bucket["name"]: bucket["gpu_seconds"] for bucket in job["buckets"] if bucket["gpu_seconds"]}
        self.assertEqual(gpu_s, {"productive": 100 * (64 + 64 + 56), "standby": 100 * (16 + 8), "idle_member": 100 * (8 + 24)})
        explained = self.ok("show", "--no-refresh", "12", "--explain", "idle_member")
        self.assertRegex(explained, r"\n\S+\.000  100\.000s  0\.22h of GPU time  attempt 1  log  64 GPUs step of 64, 8 spares\n  from @import/%s#nvrx:" % files[0])
        self.assertIn("0.89h of GPU time in total", explained)

    def test_cycles_of_nvrx_that_are_damaged_or_of_another_job(self) -> None:
        self.ok("import", self.path("jobs.txt", SACCT + ("c1|12|12|%d|%d|%d|%d|COMPLETED|0:0|ada|ml|a3|normal|3|n[1-3]|gres/gpu=8|||train\n" % (
            BEGAN, BEGAN, BEGAN, BEGAN + 300)).replace("|", BETWEEN)))
        self.assertIn("no cycle began while job 12 had its nodes; the first is of job 12",
                      self.one_line("import", "-j", "12", self.cycle(0, 4000, "n[1-3]", "")))
        self.assertIn("job 12 has 8 GPUs on 3 nodes", self.one_line("import", "-j", "12", self.cycle(0, 10, "n[1-3]", "")))
        self.assertIn("contains no cycle of NVRx (byte 0: it names no active_nodes)",
                      self.one_line("import", "-j", "12", self.cycle(0, 10, "", "")))
        self.assertIn("contains no cycle of NVRx (byte 0: not a JSON object, or cut off)",
                      self.one_line("import", "-j", "12", self.path("half", '{"cycle_number": 1, "cycle_start_time": "')))

    def cycle(self, number: int, t: float, active: str, standby: str) -> str:
        """As NVRx's launcher writes it."""
        began = datetime.datetime.fromtimestamp(BEGAN + t, datetime.timezone.utc).isoformat().replace("+00:00", "Z")
        return self.path("cycle_info.12.0.%d" % number, json.dumps(
            {"job_id": "12", "attempt_index": 0, "cycle_number": number, "cycle_start_time": began, "cycle_end_time": "",
             "cycle_log_file": "", "active_nodes": active, "standby_nodes": standby, "generation": "1", "active_ranks": ""}, indent=2))

    def test_joins_the_jobs_of_a_run(self) -> None:
        spool = Spool(os.path.join(self.dir, "spool"))
        times = {"submit_s": -20, "eligible_s": -20, "start_s": -5}
        spool.controller(0, **times)
        spool.node(-5, "job_prolog", opt={"run": "big"})
        spool.node(-4, "step_start", slurm_step="extern")
        spool.node(-3, "task_start", slurm_step="0", task=0, local_task=0, pid=5)
        spool.node(161, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, exit_code=0)
        spool.controller(163, **times, end_s=163, state="COMPLETED", exit_code=0)
        spool.write()
        self.ok("ingest", "--spool", spool.folder)
        self.assertEqual(self.show("--run", "big")["steps"]["count"], 0)
        self.assertEqual(self.ok("import", "--run", "big", "--no-refresh", self.path("log.jsonl", lines(a_run()))),
                         "15 entries, added to run big, 0 lines quarantined\n")
        job = self.show("--run", "big")
        self.assertEqual(job["job_id"], 7)
        self.assertEqual(job["steps"]["count"], 10)
        self.assertEqual(self.seconds(job)["productive"], 30 + 51, "the srun's end is the last step's")
        self.assertEqual([b["name"] for b in job["buckets"] if b["ns"] and b["name"] == "launch"], ["launch"])

    def test_of_several_users_runs_of_one_name_the_user_says_which(self) -> None:
        spool = Spool(os.path.join(self.dir, "spool"))
        times = {"submit_s": -20, "eligible_s": -20, "start_s": -5, "end_s": 163, "state": "COMPLETED", "exit_code": 0}
        for job, user in ((7, "ada"), (8, "bob")):
            spool.controller(163, job=job, user=user, **times)
            spool.node(-5, "job_prolog", job=job, opt={"run": "big"})
            spool.node(-3, "task_start", job=job, slurm_step="0", task=0, local_task=0, pid=job)
            spool.node(161, "task_exit", job=job, slurm_step="0", task=0, local_task=0, pid=job, exit_code=0)
        spool.write()
        self.ok("ingest", "--spool", spool.folder)
        log = self.path("log.jsonl", lines(a_run()))
        command = ["import", "--run", "big", "--no-refresh"]
        said = self.one_line(*command, log)
        self.assertIn("users ada and bob each have a run of that name; select one with -u USER", said)
        for user, job, other in (("bob", 8, 7), ("ada", 7, 8), ("ada", 7, 8)):
            self.assertRegex(self.ok(*command, "-u", user, log),
                             r"\A15 entries, added to run big of %s, 0 lines quarantined(; unchanged)?\n\Z" % user)
            self.assertEqual(self.show("--run", "big", "-u", user)["steps"]["count"], 10)
            self.assertEqual(self.show(str(job))["steps"]["count"], 10)
            self.assertEqual(self.show(str(other))["steps"]["count"], 0)
        # A run without jobs of that name becomes a separate run.
        self.assertEqual(self.ok(*command, "-u", "eve", log), "15 entries, 2 attempts of run big, 0 lines quarantined\n")
        self.assertIsNone(self.show("--run", "big", "-u", "eve")["job_id"])
        self.assertIn("-u requires --run", self.one_line("import", "-j", "7", "-u", "ada", log))

    def test_a_run_of_its_own_is_the_user_s_it_is_said_to_be(self) -> None:
        log = self.path("log.jsonl", lines(a_run()))
        for user in ("ada", "bob"):
            self.assertEqual(self.ok("import", "-u", user, log), "15 entries, 2 attempts of run llm, 0 lines quarantined\n")
            self.assertEqual(self.ok("--no-refresh", "-S", "2020-01-01", "-u", user, "-P", "-n", "-o", "Run,User"), "llm|%s\n" % user)
        self.assertIn("unchanged", self.ok("import", "-u", "bob", log))
        self.assertIn("unchanged", self.ok("import", log))
        self.assertIn("-u", self.one_line("import", "-u", "ada", self.path("jobs.txt", SACCT)))

    def test_sacct_text_of_a_cluster_it_does_not_name(self) -> None:
        text = "JobID|Submit|Start|End|State|Partition\n5|2026-01-01T10:00:00|2026-01-01T10:01:00|2026-01-01T11:00:00|COMPLETED|a3\n"
        path = self.path("jobs.txt", text)
        self.assertIn("-M", self.one_line("import", path))
        self.assertEqual(self.ok("import", "-M", "c9", path), "1 attempt imported, 0 already known from slurmdbd, 0 lines unreadable\n")
        self.assertEqual(self.show("5")["cluster"], "c9")
        self.assertIn("Submit", self.one_line("import", self.path("short", "JobID|State\n5|COMPLETED\n")))

    # --- round trips

    def test_what_is_exported_says_the_same(self) -> None:
        rng = random.Random(4)
        entries = [entry(job_start_time=float(BEGAN))]
        t, step = 12.0, 0
        for _ in range(5):
            for _ in range(rng.randrange(300, 900)):
                entries.append(entry(step_count=step, step_start_time=BEGAN + t))
                t += 1 + rng.random() / 10
                step += 1
                if step % 50 == 0:
                    entries.append(entry(event_type="save", step=step, checkpoint_manager_blocking_start_time=BEGAN + t,
                                         checkpoint_manager_blocking_duration_secs=0.75))
                    t += 0.75
                if rng.randrange(100) == 0:
                    t += 20
            t += 60
            step -= rng.randrange(40)
            entries.append(entry(job_start_time=BEGAN + t))
            t += 9
        entries.append(entry(job_end_time=BEGAN + t))
        self.ok("import", self.path("log.jsonl", lines(entries)))
        exported = self.ok("export", "--no-refresh", "--run", "llm")
        # Google's calculator raises KeyError without any of these.
        of_save = {"step", "directory", "checkpoint_manager_blocking_duration_secs", "checkpointer_blocking_duration_secs",
                   "wait_for_prev_duration_secs", "get_old_steps_duration_secs"}
        for one in map(json.loads, exported.splitlines()):
            self.assertEqual(one["job_name"], "llm")
            self.assertTrue("event_type" not in one or of_save <= set(one), one)
        out = os.path.join(self.dir, "out.jsonl")
        self.assertEqual(self.ok("export", "--no-refresh", "--run", "llm", "-o", out), "")
        with open(out) as file:
            self.assertEqual(file.read(), exported)
        there = self.show("--run", "llm")
        self.ok("import", "--run", "back", out)
        back = self.show("--run", "back")
        pick = [[(b["name"], b["ns"], [(p["name"], p["ns"]) for p in b["parts"]]) for b in job["buckets"]
                 if b["name"] not in SCHEDULING] for job in (there, back)]
        self.assertEqual(pick[0], pick[1])
        self.assertEqual(there["steps"], back["steps"])


# Knows no jobs, and answers slowly.
SLOW_SACCT = """#!/bin/bash
if [ "$1" = --helpformat ]; then echo "Cluster JobIDRaw JobID Submit Start End State"; exit; fi
sleep 0.3
for word in "$@"; do case $word in --delimiter=*) delimiter=${word#*=} ;; *JobIDRaw*) fields=$word ;; esac; done
echo "${fields//,/$delimiter}"
"""
SUMMARY = r"read 0 attempts and 0 node outages, \S+ to \S+"


def screen(drawn: bytes, columns: int) -> List[str]:
    """The visible lines of a terminal of this width: interprets returns, newlines, ESC[K and ESC[?7l, h."""
    rows, row, column, wraps = [""], 0, 0, True
    for control, text in re.findall(r"(\x1b\[[?0-9]*[A-Za-z]|[\r\n])|([^\x1b\r\n]+)", drawn.decode()):
        if control == "\r":
            column = 0
        elif control == "\n":
            rows.append("")
            row += 1
        elif control == "\x1b[K":
            rows[row] = rows[row][:column]
        elif control in ("\x1b[?7l", "\x1b[?7h"):
            wraps = control.endswith("h")
        elif control:
            raise ValueError(repr(control))
        for letter in text:
            if column == columns and wraps:
                rows.append("")
                row, column = row + 1, 0
            column = min(column, columns - 1)
            rows[row] = rows[row][:column].ljust(column) + letter + rows[row][column + 1:]
            column += 1
    return [line for line in rows if line]


class ProgressTest(unittest.TestCase):
    COLUMNS = 24

    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-progress-")
        self.addCleanup(shutil.rmtree, self.dir)
        for name, text in (("sacct", SLOW_SACCT), ("sacctmgr", "#!/bin/sh\n")):
            path = os.path.join(self.dir, name)
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o755)

    def backfill(self, terminal: str, **streams: Any) -> "subprocess.Popen[bytes]":
        env = {"PATH": self.dir + ":" + os.environ["PATH"], "TERM": terminal, "GOODPUT_CONF": "/nonexistent"}
        with open(os.path.join(self.dir, "conf"), "w") as file:
            file.write("cluster = c\n")
        return subprocess.Popen([SGOODPUT, "backfill", "--config", file.name, "--db", os.path.join(self.dir, "db-" + terminal), "-S",
                                 "now-200days"], stdin=subprocess.DEVNULL, env=env, **streams)

    def on_terminal(self, terminal: str) -> bytes:
        """The terminal's output."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, self.COLUMNS, 0, 0))
        child = self.backfill(terminal, stdout=slave, stderr=slave)
        os.close(slave)
        drawn = b""
        while True:
            try:
                drawn += os.read(master, 65536)
            except OSError:  # the other end is closed
                break
        self.assertEqual(child.wait(60), 0)
        return drawn

    def test_on_a_terminal_one_line_is_redrawn_and_gone_at_the_end(self) -> None:
        drawn = self.on_terminal("xterm")
        ends = [found.end() for found in re.finditer(rb"\x1b\[\?7h", drawn)]
        self.assertGreater(len(ends), 2, drawn)
        for end in ends:
            line, = screen(drawn[:end], self.COLUMNS)
            self.assertRegex(line, r"\Asgoodput: ( \d|\d\d|100)%, 0 at\S*\Z")
        self.assertRegex("".join(screen(drawn, self.COLUMNS)), r"\A%s\Z" % SUMMARY)

    def test_nothing_is_drawn_where_nothing_can_be_redrawn(self) -> None:
        self.assertRegex(self.on_terminal("dumb").decode(), r"\A%s\r\n\Z" % SUMMARY)
        said, drawn = self.backfill("xterm", stdout=subprocess.PIPE, stderr=subprocess.PIPE).communicate(timeout=60)
        self.assertRegex(said.decode(), r"\A%s\n\Z" % SUMMARY)
        self.assertEqual(drawn, b"")


if __name__ == "__main__":
    unittest.main()
