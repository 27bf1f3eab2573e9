#!/usr/bin/python3
"""Where options of sgoodput may be placed, what it does with unknown words, and which commands create a database.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_options
"""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
import unittest
from typing import List

from .harness.hand_written import BEGAN, Spool, run_it

SUBCOMMANDS = ("show", "watch", "report", "metrics", "attempts", "advise", "ingest", "backfill", "import", "diff", "profile",
               "export", "doctor")
LOG = [{"job_name": "llm", "job_start_time": float(BEGAN)}, {"job_name": "llm", "step_count": 0, "step_start_time": BEGAN + 1.0},
       {"job_name": "llm", "step_count": 1, "step_start_time": BEGAN + 11.0}, {"job_name": "llm", "job_end_time": BEGAN + 21.0}]


class OptionsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-options-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.log = self.path("goodput.jsonl")
        with open(self.log, "w") as file:
            file.write("".join(json.dumps(entry) + "\n" for entry in LOG))
        self.config = self.path("goodput.conf")
        self.named = self.path("named.db")
        with open(self.config, "w") as file:
            file.write("spool = %s\ndatabase = %s\n" % (self.path("spool"), self.path("default.db")))
        spool = Spool(self.path("spool"))
        spool.controller(1, submit_s=0, start_s=1)
        spool.mark(2, "step", 0)
        spool.controller(30, submit_s=0, start_s=1, end_s=30, state="COMPLETED")
        spool.write()

    def path(self, name: str) -> str:
        return os.path.join(self.dir, name)

    def run_it(self, *args: str) -> "subprocess.CompletedProcess[str]":
        return run_it("--config", self.config, *args)

    def ok(self, *args: str) -> str:
        done = self.run_it(*args)
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def refused(self, *args: str) -> str:
        done = self.run_it(*args)
        self.assertEqual((done.returncode, done.stdout), (2, ""), args)
        self.assertRegex(done.stderr, r"\Asgoodput: [^\n]+\n\Z", args)
        return done.stderr

    def databases(self) -> List[str]:
        return sorted(name for name in os.listdir(self.dir) if name.endswith(".db"))

    def test_an_empty_list_says_from_when_it_looked(self) -> None:
        self.ok("ingest")
        done = self.run_it("-S", "2001-01-01", "-E", "2001-01-02")
        self.assertEqual((done.returncode, done.stderr), (1, "sgoodput: no matching jobs since 2001-01-01T00:00:00 until 2001-01-02T00:00:00\n"))
        self.assertRegex(self.run_it("-u", "nobody").stderr, r"\Asgoodput: no matching jobs since \S+T00:00:00; use -S now-7days for the last week\n\Z")
        # A script reads an empty answer.
        for form in ("-P", "-n", "--csv", "--json"):
            self.assertEqual(self.run_it("-u", "nobody", form).stderr, "", form)

    # --- options in both positions

    def test_a_database_named_before_the_subcommand(self) -> None:
        self.ok("--db", self.named, "import", self.log)
        self.assertEqual(self.databases(), ["named.db"])
        before = self.ok("--db=" + self.named, "show", "--run", "llm")
        self.assertEqual(before, self.ok("show", "--run", "llm", "--db", self.named))

    def test_json_before_the_subcommand(self) -> None:
        self.ok("import", "--db", self.named, self.log)
        for words in (["--json", "show", "--run", "llm"], ["--json", "attempts", "--run", "llm"], ["--json", "report", "-a", "-S", "2026-01-01"],
                      ["-S", "2026-01-01", "-a", "--json", "report"], ["--json", "advise", "--mttf", "3h"]):
            with self.subTest(words=words):
                json.loads(self.ok("--db", self.named, *words))

    def test_a_url_before_the_subcommand_is_asked(self) -> None:
        for words in (["--url", "http://127.0.0.1:1", "show", "2"], ["show", "2", "--url", "http://127.0.0.1:1"]):
            done = self.run_it(*words)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("127.0.0.1:1", done.stderr)

    def test_selections_before_the_subcommand(self) -> None:
        self.ok("ingest", "--db", self.named)
        one = ["report", "-a", "-S", "2026-01-01", "--by", "run", "-P"]
        self.assertEqual(self.ok("--db", self.named, *one), self.ok("--db", self.named, "-P", "-S", "2026-01-01", "-a", "report", "--by", "run"))

    def test_none_is_ignored(self) -> None:
        self.assertIn("show has no option --allusers", self.refused("-a", "show", "7"))
        # The first of those that are unknown, as they were written.
        self.assertIn("show has no option -S;", self.refused("show", "-S", "now-1day", "-E", "now"))
        self.assertIn("check has no option -j;", self.refused("check", "-j", "12"))
        self.assertIn("profile has no option --db", self.refused("--db", self.named, "profile", "list"))
        self.assertIn("import has no option --json", self.refused("--json", "import", self.log))
        self.assertIn("mark has no option", self.refused("mark", "step", "1"))
        # An option may occur only once, in either position.
        self.refused("--db", self.named, "show", "7", "--db", self.path("other.db"))
        self.refused("show", "7", "--db", self.named, "--db", self.path("other.db"))
        self.assertEqual(self.databases(), [])

    # --- which commands create a database

    def test_who_asks_makes_no_database(self) -> None:
        for words in (["show", "7"], [], ["-a"], ["attempts", "7"], ["report", "-a"], ["report", "--fleet"], ["advise", "7"],
                      ["export", "7"], ["diff", "7", "8"], ["metrics"], ["watch", "7", "--once"]):
            with self.subTest(words=words):
                said = self.refused("--db", self.named, *words)
                self.assertIn("there is no database %s; goodputd, sgoodput ingest, backfill or import creates it; --db FILE selects another, and --url URL" % self.named, said)
                self.assertEqual(self.databases(), [])
        self.ok("ingest", "--db", self.named)
        self.assertIn("Job 7", self.ok("show", "7", "--db", self.named))
        self.assertEqual(self.databases(), ["named.db"])

    # --- which jobs are meant

    def test_an_array_s_id_is_all_its_tasks(self) -> None:
        spool = Spool(self.path("array"))
        for job, task in ((41, 1), (42, 2), (40, 3)):
            times = {"job": job, "array_job": 40, "array_task": task, "submit_s": 0, "eligible_s": 0, "start_s": task, "name": "sweep"}
            spool.controller(task, **times)
            spool.controller(20, **times, end_s=20, state="COMPLETED")
        spool.controller(1, job=43, submit_s=0, start_s=1, name="sweep")  # the array without its tasks
        spool.write()
        common = ["--db", self.named, "--no-refresh"]
        self.ok("ingest", "--db", self.named, "--spool", spool.folder)
        listed = ["40_1", "40_2", "40_3"]
        self.assertEqual(sorted(self.ok(*common, "-j", "40", "-P", "-n", "-o", "JobID").split()), listed)
        self.assertEqual(self.ok(*common, "-j", "40_2", "-P", "-n", "-o", "JobID").split(), ["40_2"])
        shown = json.loads(self.ok("show", "40", "--json", *common))["jobs"]
        self.assertEqual(sorted(job["job_id"] for job in shown), [40, 41, 42])
        self.assertEqual(sorted(line.split()[1] for line in self.ok("show", "40", *common).splitlines() if line.startswith("Job ")), listed)
        self.assertEqual(json.loads(self.ok("show", "40_3", "--json", *common))["jobs"][0]["job_id"], 40)
        for words in (["attempts", "40"], ["advise", "40"], ["watch", "40", "--once"], ["export", "40"], ["diff", "40", "43"]):
            self.assertIn("job 40 is an array of 3 tasks: specify one, such as 40_1", self.refused(*words, *common))

    def test_a_run_s_name_in_the_place_of_a_job(self) -> None:
        common = ["--db", self.named, "--no-refresh"]
        self.ok("import", "--db", self.named, self.log)
        for words in (["show"], ["attempts"], ["advise"], ["export"]):
            self.assertEqual(self.ok(*words, "llm", *common), self.ok(*words, "--run", "llm", *common))
        self.assertEqual(self.ok("show", "run:llm", *common), self.ok("show", "--run", "llm", *common))
        done = self.run_it("show", "nosuch", *common)
        self.assertEqual((done.returncode, done.stderr), (1, "sgoodput: no job of run 'nosuch' is known\n"))
        done = self.run_it("show", "job:99", *common)
        self.assertEqual((done.returncode, done.stderr), (1, "sgoodput: job 99 is not known\n"))

    def test_a_state_there_is_not_is_refused(self) -> None:
        self.ok("ingest", "--db", self.named)
        for words in (["-s", "BOGUS"], ["-s", "COMPLETED,BOGUS"], ["report", "-s", "X"]):
            self.assertIn("-s: unknown state '", self.refused(*words, "--db", self.named))
        for state in ("completed", "CD", "cd,f"):
            self.assertEqual(self.ok("-a", "-S", "2026-01-01", "-s", state, "-P", "-n", "-o", "JobID", "--db", self.named), "7\n")

    def test_a_log_profile_nobody_knows_is_told_of(self) -> None:
        spool = Spool(self.path("profiles"))
        for job, name in ((51, "megatorn"), (52, "megatron"), (53, "ours"), (54, "auto")):
            times = {"job": job, "submit_s": 0, "eligible_s": 0, "start_s": 1}
            spool.controller(2, **times)
            spool.node(1, "job_prolog", job=job, opt={"log_profile": name})
            spool.controller(20, **times, end_s=20, state="COMPLETED")
        spool.write()
        common = ["--db", self.named, "--no-refresh"]
        self.ok("ingest", "--db", self.named, "--spool", spool.folder)
        said = " ".join(self.ok("show", "51", *common).split())
        self.assertIn("warning: the job's output was not read: unknown log profile 'megatorn'; did you mean --goodput-log-profile=megatron?", said)
        self.assertIn("unknown log profile 'ours'; see sgoodput profile list", " ".join(self.ok("show", "53", *common).split()))
        for job in ("52", "54"):
            self.assertNotIn("unknown log profile", self.ok("show", job, *common))
        with contextlib.closing(sqlite3.connect(self.named)) as db, db:
            db.execute("UPDATE job_seen SET last_t_s = ?", (int(time.time()),))
        self.assertIn("1 job of the last week, the latest 51, asked for the log profile 'megatorn', which does not exist here",
                      self.run_it("doctor", "--db", self.named).stdout)

    def test_doctor_and_metrics_ask_who_is_asked(self) -> None:
        with open(self.config, "a") as file:
            file.write("url = http://127.0.0.1:1\n")
        doctor = self.run_it("doctor")
        self.assertEqual(doctor.returncode, 1)
        self.assertIn("!!  goodputd does not answer: http://127.0.0.1:1: ", doctor.stdout)
        self.assertNotIn("cannot read the database", doctor.stdout)
        for words in (["metrics"], ["metrics", "--url", "http://127.0.0.1:1"]):
            self.assertIn("http://127.0.0.1:1: ", self.refused(*words))

    # --- unknown arguments, and help

    def test_help_about_what_there_is_not(self) -> None:
        for words in (["nosuch", "--help"], ["--help", "nosuch"], ["nosuch"], ["nosuch", "-h"]):
            with self.subTest(words=words):
                self.assertIn("unknown subcommand 'nosuch'", self.refused(*words))

    def test_help_has_examples_of_its_own(self) -> None:
        general = self.ok("--help")
        self.assertIn("\n  sgoodput mark step 100", general)
        for name in SUBCOMMANDS:
            said = self.ok(name, "--help")
            self.assertIn("Examples:\n", said, name)
            examples = said.split("Examples:\n")[1].split("\n\n")[0]
            self.assertIn("sgoodput " + name, examples)
            self.assertNotIn("sgoodput mark step 100", said, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
