#!/usr/bin/python3
"""sgoodput as people and scripts use it: sacct's flags, exit statuses, one-line errors, malicious names.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_cli
"""

import json
import os
import re
import time
import unittest
from typing import Dict, List

from .harness import schemas
from .harness.goodput_site import TRAINER, Site

HOSTILE = ["a|b|c", "it's \"quoted\" `id` $(id)", "größe 模型 \U0001f680", "\x1b[31mred\x1b[0m\x07", "line\nbreak", "tab\there",
           "%s%n%99999d", "{\"json\":[1,", "'; DROP TABLE event; --", "c1 \u009b31m control", "back\\slash\\n", "x" * 300, "del \x7f",
           "\udcff\udcfe not UTF-8", "rtl \u202e override", "--db=/etc/passwd"]

FLOPS = 1e14  # of a step of 0.2 s on two GPUs of 989 TFLOP/s
PEAK = 989e12


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class CliTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = site = Site("cgroup", nodes=2, cred_expire_s=0)
        cls.addClassCleanup(site.stop)
        site.start()
        sbatch, nodes = site.cluster.sbatch, site.cluster.nodes
        folder = site.folder("trained", "nobody")
        cls.begin = int(time.time())
        cls.trained = sbatch("srun %s --dir %s --steps 12 --step-seconds 0.2 --save-every 5 --marks" % (TRAINER, folder),
                             user="nobody", options=["-w", nodes[0], "--gres=gpu:2", "--goodput-run=alpha", "-J", "trained",
                                                    "--goodput-flops-per-step=%r" % FLOPS, "--goodput-precision=bf16"])
        cls.failed = sbatch("exit 3", user="games", options=["-w", nodes[1], "-p", "a3grace", "-J", "failed"])
        cls.plain = sbatch("true", options=["-w", nodes[1], "-J", "plain"])
        cls.pending = sbatch("true", user="nobody", options=["--hold", "-J", "pending"])
        cls.array = sbatch("true", user="nobody", options=["--array=1-2", "-J", "array"])
        cls.hostile: Dict[int, str] = {}
        # A name that could be read as the trained job's row if sacct's delimiter were known.
        forged = "x\n" + "\x1f".join([site.cluster.name, str(cls.trained), str(cls.trained)] + ["1"] * 20)
        for name in HOSTILE + [forged]:
            cls.hostile[sbatch("true", user="nobody", options=["--job-name=" + name])] = name
        for job in [cls.trained, cls.failed, cls.plain] + list(cls.hostile):
            site.settle(job)
        cls.own = os.path.join(site.cluster.jobdir("nobody"), "own.db")

    # --- helpers

    def ask(self, *args: str, status: int = 0, user: str = "root") -> str:
        answer = self.site.sgoodput(*args, user=None if user == "root" else user)
        self.assertEqual(answer.returncode, status, "%s\n%s%s" % (args, answer.stdout, answer.stderr))
        if status == 0:
            self.assertEqual(answer.stderr, "", args)
        return answer.stdout

    def ids(self, *args: str, status: int = 0, user: str = "root") -> List[str]:
        return self.ask("-P", "-n", "-o", "JobID", *args, status=status, user=user).split()

    def one_line(self, *args: str, status: int = 2, user: str = "root") -> str:
        answer = self.site.sgoodput(*args, user=None if user == "root" else user)
        self.assertEqual(answer.returncode, status, "%s\n%s%s" % (args, answer.stdout, answer.stderr))
        self.assertEqual(answer.stdout, "", args)
        self.assertRegex(answer.stderr, r"\Asgoodput: [^\n]+\n\Z", args)
        return answer.stderr

    # --- selecting jobs

    def test_selects_as_sacct_does(self) -> None:
        trained, failed, plain, pending = (str(job) for job in (self.trained, self.failed, self.plain, self.pending))
        node = self.site.cluster.nodes[0]
        everything = set(self.ids())
        self.assertLessEqual({trained, failed, plain, pending}, everything)
        self.assertEqual(self.ids("-j", trained), [trained])
        self.assertEqual(self.ids("-j", "%s,%s" % (trained, failed)), [trained, failed])
        self.assertEqual(self.ids("-u", "games"), [failed])
        self.assertEqual(set(self.ids("-u", "games,root")), {failed, plain})
        self.assertEqual(set(self.ids("-A", "research")), everything - {plain})
        self.assertEqual(self.ids("-r", "a3grace"), [failed])
        self.assertEqual(self.ids("-s", "FAILED"), [failed])
        self.assertEqual(self.ids("-s", "f"), [failed])
        self.assertEqual(self.ids("-s", "PD"), [pending])
        self.assertIn(trained, self.ids("-N", node))
        self.assertNotIn(failed, self.ids("-N", node))
        self.assertIn(failed, self.ids("-N", "%s,%s" % tuple(self.site.cluster.nodes)))
        self.assertEqual(set(self.ids("-a")), everything)
        self.assertEqual(set(self.ids("-L")), everything)
        self.assertEqual(set(self.ids("-S", "now-1hour")), everything)
        self.assertEqual(self.ids("-S", "now-2hours", "-E", "now-1hour", status=1), [])
        before = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(self.begin - 60))
        self.assertEqual(set(self.ids("-S", before, "-E", "now")), everything)
        # Array tasks are separate jobs.
        self.assertLessEqual({"%d_1" % self.array, "%d_2" % self.array}, everything)
        self.assertEqual(self.ids("-j", "%d_1" % self.array), ["%d_1" % self.array])
        self.assertEqual(sorted(self.ids("-j", str(self.array))), ["%d_1" % self.array, "%d_2" % self.array])

    def test_an_ordinary_user_with_a_database_of_their_own(self) -> None:
        self.one_line("--db", self.own, user="nobody")  # a query creates no database
        self.ask("backfill", "--db", self.own, "-S", "now-1hour", user="nobody")
        mine = self.ids("--db", self.own, user="nobody")
        self.assertIn(str(self.trained), mine)
        self.assertNotIn(str(self.failed), mine)
        self.assertIn(str(self.failed), self.ids("--db", self.own, "-a", user="nobody"))
        self.assertEqual(self.ids("--db", self.own, "-j", str(self.failed), user="nobody"), [str(self.failed)])
        # With accounting alone, nothing is claimed about the program.
        job = json.loads(self.ask("show", "--db", self.own, str(self.trained), "--json", user="nobody"))
        self.assertIsNone(job["jobs"][0]["goodput"]["runtime"])
        self.one_line(user="nobody")  # not every user may read the site's database

    def test_what_is_not_there_is_1(self) -> None:
        self.assertEqual(self.ids("-j", "99999", status=1), [])
        self.assertEqual(self.ids("-u", "nosuchuser", status=1), [])
        self.one_line("show", "99999", status=1)
        self.one_line("show", "--run", "nosuchrun", status=1)
        self.one_line("show", "nosuchrun", status=1)
        self.one_line("attempts", "99999", status=1)

    def test_nonsense_is_2_and_one_line(self) -> None:
        for words in (["--frobnicate"], ["-o", "Nope"], ["-o", "JobID%x"], ["-S", "yesterdayish"], ["-E", "25:00"], ["-j", "abc"],
                      ["-j", "-1"], ["-j"], ["show"], ["show", "1", "--run", "x"], ["-s", "BOGUS"],
                      ["show", "1", "--explain", "nope"], ["show", "1", "--stall-factor", "0"], ["attempts"],
                      ["ingest", "--spool", "/nonexistent/spool"], ["--db", "/nonexistent/folder/x.db"],
                      ["--db", "/dev/null"], ["--db", "/etc/passwd"], ["--config", "/nonexistent.conf"],
                      ["show", "1", "--config", "/nonexistent.conf"], ["ingest", "--config", "/nonexistent.conf"],
                      ["doctor", "--config", "/nonexistent.conf"], ["show", "1", "--db", "/nonexistent/folder/x.db"],
                      ["--color", "maybe"], ["nonsense"], ["-S", "now", "-E", "now-1hour"]):
            with self.subTest(words=words):
                self.one_line(*words)
        with open("/etc/passwd") as file:
            self.assertTrue(file.readline().startswith("root:"))

    def test_a_job_nobody_has_written_down_yet_is_said_to_be_queued(self) -> None:
        database = os.path.join(self.site.cluster.dir, "goodput", "before.db")
        self.ask("ingest", "--db", database)
        job = self.site.cluster.sbatch("true", user="nobody", options=["--hold"])
        said = self.one_line("show", str(job), "--db", database, "--no-refresh", status=1)
        self.assertIn("job %d is in the queue, but nothing about it is recorded yet" % job, said)
        self.site.cluster.run(["scancel", str(job)])

    # --- formats

    def test_formats(self) -> None:
        job = str(self.trained)
        self.assertEqual(self.ask("-j", job, "-P", "-o", "JobID,JobName,User,State"),
                         "JobID|JobName|User|State\n%s|trained|nobody|COMPLETED\n" % job)
        self.assertEqual(self.ask("-j", job, "-p", "-n", "-o", "jobid,USER"), "%s|nobody|\n" % job)
        self.assertEqual(self.ask("-j", job, "-n", "-o", "JobName%4,User%-10,State%20").split("\n")[0].split(),
                         ["tra+", "nobody", "COMPLETED"])
        rows = self.ask("-j", "%s,%d" % (job, self.failed), "-P", "-o", "JobID,GPUs,Steps,StepsKept,Attempts,Run,NNodes,Account")
        self.assertEqual(rows.splitlines()[1:], ["%s|2|12|12|1|alpha|1|research" % job,
                                                 "%d|0|0|0|1||1|research" % self.failed])
        fields = self.ask("--helpformat").split()
        self.assertIn("lost_work", fields)
        row = self.ask("-j", job, "-P", "-n", "-o", ",".join(fields))
        self.assertEqual(row.count("|"), len(fields) - 1)
        table = self.ask("-j", job)
        self.assertEqual(len(table.splitlines()), 3)
        self.assertNotIn("\x1b", table + self.ask("show", job))
        self.assertIn("\x1b[", self.ask("show", job, "--color", "always"))

    def test_json_of_a_list_keeps_to_the_schema(self) -> None:
        answer = json.loads(self.ask("--json"))
        schemas.check(answer, "sgoodput")
        self.assertIn(self.trained, [job["job_id"] for job in answer["jobs"]])
        for job in answer["jobs"]:
            self.assertEqual(sum(bucket["ns"] for bucket in job["buckets"]), job["wall_ns"], job["job_id"])

    def test_show_and_attempts(self) -> None:
        job = str(self.trained)
        text = self.ask("show", job)
        for word in ("Run alpha", "productive", "12 executed, 12 kept", "Attempts"):
            self.assertIn(word, text)
        self.assertEqual(text, self.ask("show", "--run", "alpha"))
        explained = self.ask("show", job, "--explain", "productive")
        self.assertRegex(explained, r"  mark\n  from %s/[^ ]+\.jsonl:\d+\n" % self.site.cluster.nodes[0])
        rows = [line.split("|") for line in self.ask("attempts", job, "-P").splitlines()]
        self.assertEqual(len(rows), 2)
        row = dict(zip(*rows))
        self.assertEqual((row["#"], row["JobID"], row["State"], row["Nodes"]),
                         ("1", job, "COMPLETED", self.site.cluster.nodes[0]))
        self.assertEqual(self.ask("attempts", job, "-P", "-n").count("\n"), 1)
        self.assertIn("COMPLETED", self.ask("attempts", job))

    def test_declared_flops_become_program_goodput(self) -> None:
        job = json.loads(self.ask("show", str(self.trained), "--json"))["jobs"][0]
        productive = next(bucket for bucket in job["buckets"] if bucket["name"] == "productive")
        goodput = job["goodput"]
        self.assertAlmostEqual(goodput["program"], job["steps"]["kept"] * FLOPS / (productive["gpu_seconds"] * PEAK), places=9)
        self.assertAlmostEqual(goodput["mpg"], goodput["sg_rg"] * goodput["program"], places=9)
        self.assertIn("(h100, bf16)", goodput["program_evidence"])
        plain = json.loads(self.ask("show", str(self.plain), "--json"))["jobs"][0]["goodput"]
        self.assertIsNone(plain["program"])
        self.assertIn("FLOPs", plain["program_reason"])

    def test_advice_on_a_run_that_never_failed(self) -> None:
        answer = json.loads(self.ask("advise", str(self.trained), "--json"))
        self.assertEqual((answer["failures"], answer["gpus"], answer["mttf_hours"]), (0, 2, None))
        self.assertGreater(answer["save_s"], 0)
        self.assertEqual(answer, json.loads(self.ask("advise", "--run", "alpha", "--json")))
        self.assertIn("too few to recommend a checkpoint interval", " ".join(self.ask("advise", str(self.trained)).split()))
        self.one_line("advise", "99999", status=1)
        self.one_line("advise", str(self.trained), "--save", "soon")

    def test_evidence_names_the_very_bytes(self) -> None:
        explained = self.ask("show", str(self.trained), "--explain", "checkpoint_save")
        references = re.findall(r"(%s/\S+\.jsonl):(\d+)" % self.site.cluster.nodes[0], explained)
        self.assertTrue(references)
        for path, offset in references:
            with open(os.path.join(self.site.spool, path), "rb") as file:
                file.seek(int(offset))
                record = json.loads(file.readline())
            self.assertEqual((record["kind"], record["job"]), ("mark", self.trained))

    def test_a_pending_job_has_no_fractions_but_a_partition(self) -> None:
        job = json.loads(self.ask("show", str(self.pending), "--json"))["jobs"][0]
        self.assertEqual(job["state"], "PENDING")
        self.assertIsNone(job["end_ns"])
        self.assertIsNone(job["goodput"]["scheduling"])
        held = {bucket["name"]: bucket["ns"] for bucket in job["buckets"] if bucket["ns"]}
        self.assertEqual(held, {"hold": job["wall_ns"]})

    # --- ingest

    def test_ingesting_twice_finds_nothing_new(self) -> None:
        database = os.path.join(self.site.cluster.dir, "goodput", "second.db")
        report = r"(\d+) new records \(\d+ bytes\) from \d+ files, 0 lines quarantined\n"
        first, second = (re.fullmatch(report, self.ask("ingest", "--db", database)) for _ in range(2))
        assert first and second
        self.assertGreater(int(first[1]), 50)
        self.assertLess(int(second[1]), 5)  # the queue watch may have written meanwhile
        # A new ingest gives the same report as the daemon's.
        both = [json.loads(self.ask("show", str(self.trained), "--json", *more))["jobs"] for more in ((), ("--db", database))]
        self.assertEqual(*both)

    def test_the_daemon_alone_has_it_all(self) -> None:
        refreshed = json.loads(self.ask("show", str(self.trained), "--json"))
        deadline = time.monotonic() + 60
        while json.loads(self.ask("show", str(self.trained), "--json", "--no-refresh")) != refreshed:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.5)

    # --- names

    def test_hostile_names_do_no_harm(self) -> None:
        jobs = [str(job) for job in self.hostile]
        control = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        answers = {
            "table": self.ask("-j", ",".join(jobs), "-o", "JobID,JobName%400,User"),
            "parsable": self.ask("-j", ",".join(jobs), "-P", "-n", "-o", "JobID,JobName,User"),
            "show": "".join(self.ask("show", job) for job in jobs),
            "json": self.ask("-j", ",".join(jobs), "--json")}
        for what, text in answers.items():
            self.assertIsNone(control.search(text), "%s: %r" % (what, control.search(text)))
        self.assertEqual(len(answers["table"].splitlines()), 2 + len(jobs))
        rows = [line.split("|") for line in answers["parsable"].splitlines()]
        self.assertEqual([len(row) for row in rows], [3] * len(jobs))
        self.assertEqual([row[0] for row in rows], jobs)
        self.assertEqual({row[2] for row in rows}, {"nobody"})
        said = {job["job_id"]: job["name"] for job in json.loads(answers["json"])["jobs"]}
        for job, name in self.hostile.items():
            if "\udcff" not in name:
                self.assertEqual(said[job], name)  # as in the controller, not as in slurmdbd's tables
        self.assertEqual(said[max(self.hostile)][:2], "x\n")
        self.assertIn("COMPLETED|trained", self.ask("-j", str(self.trained), "-P", "-o", "State,JobName"))
        self.assertIn("ok  database", self.site.sgoodput("doctor").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
