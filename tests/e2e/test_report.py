#!/usr/bin/python3
"""`sgoodput report`: rows add up to the list, for runs whose spool is written by hand.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_report
"""

import csv
import datetime
import json
import os
import shutil
import tempfile
import time
import unittest
from typing import Any, Dict, List

from .harness import schemas
from .harness.hand_written import BEGAN, Spool, run_it

# job -> user, GPUs, team
JOBS = {11: ("adam", 16, "vision"), 12: ("eve", 8, "text"), 13: ("eve", 0, ""), 14: ("noah", 24, "text")}


def at(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(BEGAN + seconds).strftime("%Y-%m-%dT%H:%M:%S")


class ReportTest(unittest.TestCase):
    dir: str
    db: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-report-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        spool = Spool(os.path.join(cls.dir, "spool"))
        for job, (user, gpus, team) in JOBS.items():
            cls.write_job(spool, job, user, gpus, team)
        spool.write()
        cls.db = os.path.join(cls.dir, "db")
        with open(os.path.join(cls.dir, "conf"), "w") as file:
            file.write("cluster = c\n")
        done = run_it("ingest", "--config", os.path.join(cls.dir, "conf"), "--db", cls.db, "--spool", spool.folder)
        assert (done.returncode, done.stderr) == (0, ""), done

    @staticmethod
    def write_job(spool: Spool, job: int, user: str, gpus: int, team: str) -> None:
        """Two attempts, the first killed by its node after 20 steps of 100.5 s; half a day in total."""
        opt: Dict[str, Any] = {"run": "run%d" % job}
        if team:
            opt["tags"] = {"team": team}
        more = {"job": job, "user": user, "account": "acc-" + user, "gpus": gpus, "nnodes": 3, "nodes": "n[1-3]"}
        begin = job * 3600
        for attempt in range(2):
            t = begin + attempt * 20000
            times = {"submit_s": t, "eligible_s": t, "start_s": t + 137}
            spool.controller(t + 140, **times, **more)
            spool.node(t + 137, "job_prolog", job=job, opt=opt)
            spool.node(t + 138, "step_start", slurm_step="extern", job=job)
            spool.node(t + 140, "task_start", slurm_step="0", task=0, local_task=0, pid=5, job=job)
            for k in range(20):
                spool.node(t + 160 + k * 100.5, "mark", mark="step", edge="begin", train_step=attempt * 10 + k, slurm_step="0",
                           task=0, job=job)
            end = {"signal": 9} if attempt == 0 else {"exit_code": 0}
            spool.node(t + 2170, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, job=job, **end)
            state = "NODE_FAIL" if attempt == 0 else "COMPLETED"
            spool.controller(t + 2172, **times, end_s=t + 2172, state=state, failed_node="n2" if attempt == 0 else "", **more)

    @classmethod
    def uninstrumented(cls) -> str:
        """A database with twenty jobs that are known only from the scheduler, and one that marked its steps."""
        folder = tempfile.mkdtemp(dir=cls.dir)
        spool = Spool(os.path.join(folder, "spool"))
        for job in range(100, 120):
            times = {"submit_s": 0, "eligible_s": 0, "start_s": 100, "job": job, "user": "eve", "account": "quiet"}
            spool.controller(101, **times)
            spool.node(100, "job_prolog", job=job)
            spool.node(101, "step_start", slurm_step="extern", job=job)
            spool.controller(3700, **times, end_s=3700, state="COMPLETED")
        cls.write_job(spool, 120, "noah", 16, "")
        spool.write()
        db = os.path.join(folder, "db")
        done = run_it("ingest", "--config", os.path.join(cls.dir, "conf"), "--db", db, "--spool", spool.folder)
        assert (done.returncode, done.stderr) == (0, ""), done
        return db

    def test_what_nobody_observed_is_not_waste(self) -> None:
        db = self.uninstrumented()
        common = ["report", "-a", "-S", at(0), "--no-refresh", "--config", os.path.join(self.dir, "conf"), "--db", db]
        answer = json.loads(run_it(*common, "--json", "--gpu-hour", "2").stdout)
        schemas.check(answer, "report")
        rows = {row["group"]: row for row in answer["rows"]}
        quiet = rows["eve"]
        self.assertIsNone(quiet["runtime"])
        self.assertIsNone(quiet["sg_rg"])
        low, high = quiet["runtime_range"]
        self.assertEqual(low, 0)
        self.assertGreater(high, 0.99)
        self.assertAlmostEqual(quiet["cost"], 20 * 3600 * 16 / 3600 * 2)
        self.assertLess(quiet["wasted"], 0.01 * quiet["cost"])
        self.assertAlmostEqual(quiet["wasted"] + quiet["maybe_wasted"], quiet["cost"])
        self.assertGreater(quiet["unobserved_gpu_hours"], 0.99 * quiet["allocated_gpu_hours"])
        total = answer["total"]
        self.assertGreater(total["runtime_range"][1] - total["runtime_range"][0], 0.5)
        self.assertAlmostEqual(total["runtime"], total["runtime_range"][0])
        for more in ([], ["--gpu-hour", "2"], ["--window=1h", "-E", at(8000)], ["--by", "account"]):
            text = run_it(*common, *more).stdout
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, text)
            self.assertIn("Maybe" if "--gpu-hour" in more else "Unobserved", text)
        rows_of = [line.split("|") for line in run_it(*common, "-P", "--gpu-hour", "2").stdout.splitlines()]
        said = {row[0]: dict(zip(rows_of[0], row)) for row in rows_of}
        self.assertEqual(said["eve"]["Runtime"], "-")
        self.assertRegex(said["noah"]["Runtime"], r"^\d+\.\d%$")
        self.assertEqual(float(said["eve"]["Maybe"]), round(quiet["maybe_wasted"], 2))
        self.assertRegex(run_it(*common, "--by", "partition", "-P", "-n").stdout, r"\|\d+-\d+%\|\d+-\d+%\|")

    def test_nodes_that_fail_more_often_than_by_chance(self) -> None:
        folder = tempfile.mkdtemp(dir=self.dir)
        spool = Spool(os.path.join(folder, "spool"))
        for job in range(1, 7):
            self.write_job(spool, job, "eve", 8, "")
        spool.write()
        db, conf = os.path.join(folder, "db"), os.path.join(self.dir, "conf")
        run_it("ingest", "--config", conf, "--db", db, "--spool", spool.folder)
        common = ["report", "-a", "-S", at(0), "--no-refresh", "--config", conf, "--db", db, "--by", "node", "--suspects"]
        text = run_it(*common).stdout
        # All six failures struck n2, which had a third of the node-time: 3 x (1/3)^6.
        self.assertRegex(text, r"^n2\n\n.*\n  sbatch --exclude=n2 \.\.\.\n  scontrol update NodeName=n2 State=DRAIN Reason=")
        self.assertRegex(text, r"\nn2 .* 0\.4%\n")
        self.assertLessEqual(max(map(len, text.splitlines())), 90)
        rows = json.loads(run_it(*common, "--json").stdout)["rows"]
        self.assertEqual([row["group"] for row in rows], ["n2"])
        self.assertAlmostEqual(rows[0]["chance"], 3 ** -5, places=4)
        # Four failures of four are three times as likely.
        self.assertEqual(self.ask("report", "-a", "-S", at(0), "--by", "node", "--suspects"), "No node fails more often than by chance.\n")
        for words in (["--by", "user", "--suspects"], ["--suspects"], ["--by", "node", "--suspects", "--window", "1d"]):
            done = run_it("report", "-a", "-S", at(0), *words, "--no-refresh", "--config", conf, "--db", db)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("--suspects requires --by node", done.stderr)

    def test_a_statement_of_a_month(self) -> None:
        month = at(0)[:7]
        conf = os.path.join(self.dir, "priced.conf")
        with open(conf, "w") as file:
            file.write("cluster = c\nprice = * * 2020-01-01 2\ncurrency = USD\n")

        def statement(*words: str, status: int = 0, conf: str = conf) -> str:
            done = run_it("statement", "-a", *words, "--no-refresh", "--config", conf, "--db", self.db)
            self.assertEqual((done.returncode, done.stderr if status < 2 else ""), (status, ""), done)
            return done.stdout if status < 2 else done.stderr
        total = self.report()["total"]
        text = statement("--month", month, "--by", "user")
        self.assertLessEqual(max(map(len, text.splitlines())), 80, text)
        flat = " ".join(text.split())
        self.assertRegex(flat, r"^%s: \S+ GPU-hours were allocated, for USD \S+; \d+\.\d%% became progress, \d+\.\d%% did not, and \d+\.\d%% is not known\. User GPUh" % month)
        self.assertRegex(flat, r"adam lost_work \d+\.\d%, \S+ GPUh, USD \d+: save more often, and on the signal: sgoodput advise")
        rows = {row["User"]: row for row in csv.DictReader(statement("--month", month, "--by", "user", "--csv").splitlines())}
        self.assertEqual(set(rows), {"adam", "eve", "noah"})
        # All of it is in this month, and cost 2 an hour.
        self.assertAlmostEqual(sum(float(row["GPUHours"]) for row in rows.values()), total["allocated_gpu_hours"], places=2)
        for row in rows.values():
            self.assertAlmostEqual(float(row["Paid"]), 2 * float(row["GPUHours"]), delta=0.02)
            self.assertAlmostEqual(float(row["ProgressGPUHours"]) + float(row["LostGPUHours"]) + float(row["UnknownGPUHours"]),
                                   float(row["GPUHours"]), places=3)
        self.assertEqual(rows["adam"]["Loss1"], "lost_work")
        page = statement("--month", month, "--html")
        self.assertIn("<h1>GPU time in %s</h1>" % month, page)
        self.assertNotIn("<script", page)
        self.assertIn("has no `price`", " ".join(statement("--month", month, conf=os.path.join(self.dir, "conf")).split()))
        flat = " ".join(statement("--month", month, "--as", "reserved").split())
        self.assertIn("At the price of reserved, the same GPU-hours cost USD", flat)
        self.assertIn("This is arithmetic with the prices of goodput.conf, not a prediction", flat)
        rows = {row["User"]: row for row in csv.DictReader(
            statement("--month", month, "--by", "user", "--csv", "--as", "spot").splitlines())}
        self.assertEqual(rows["adam"]["AsPaid"], rows["adam"]["Paid"])
        partial = os.path.join(self.dir, "partial.conf")
        with open(partial, "w") as file:
            file.write("cluster = c\nprice = * spot 2020-01-01 2\n")
        flat = " ".join(statement("--month", month, "--as", "calendar", conf=partial).split())
        self.assertIn("What the same GPU-hours cost as calendar is not known: goodput.conf has no `price` of h100 calendar on", flat)
        self.assertEqual(statement("--month", "2001-01", status=1), "2001-01: no GPU was allocated.\n\n")
        for words, why in ((["--month", "soon"], "is not a month"), (["--month", "2999-01"], "has not begun"), (["--by", "shoe"], "is not account"), (["--as", "free"], "--as: 'free' is not reserved"),
                           (["--csv", "--html"], "cannot be used with")):
            self.assertIn(why, statement(*words, status=2))

    def ask(self, *args: str, status: int = 0) -> str:
        done = run_it(*args, "--no-refresh", "--config", os.path.join(self.dir, "conf"), "--db", self.db)
        self.assertEqual((done.returncode, done.stderr), (status, ""), args)
        return done.stdout

    def report(self, *args: str) -> Dict[str, Any]:
        answer: Dict[str, Any] = json.loads(self.ask("report", "-a", "-S", at(0), *args, "--json"))
        schemas.check(answer, "report")
        return answer

    @staticmethod
    def ns(rows: List[Dict[str, Any]]) -> Dict[str, int]:
        sums: Dict[str, int] = {}
        for row in rows:
            for bucket in row["buckets"]:
                sums[bucket["name"]] = sums.get(bucket["name"], 0) + bucket["ns"]
        return sums

    def test_rows_add_up_to_the_list(self) -> None:
        listed = json.loads(self.ask("-a", "-S", at(0), "--json"))["jobs"]
        self.assertEqual(len(listed), len(JOBS))
        expected = self.ns(listed)
        for by in ("user", "account", "partition", "run", "node", "day", "cause", "reservation", "consumption", "stockout", "all", "tag:team"):
            with self.subTest(by=by):
                answer = self.report("--by", by)
                self.assertEqual(self.ns(answer["rows"]), expected)
                self.assertEqual(self.ns([answer["total"]]), expected)
                self.assertEqual(answer["total"]["runs"], len(JOBS))
                self.assertEqual(answer["total"]["interruptions"], len(JOBS))

    def test_windows_add_up_to_the_clipped_list(self) -> None:
        start, end = at(50000), at(71234)
        listed = json.loads(self.ask("-a", "-T", "-S", start, "-E", end, "--json"))["jobs"]
        for more in ([], ["--by", "user"]):
            answer = json.loads(self.ask("report", "-a", "-S", start, "-E", end, "--window=1h", *more, "--json"))
            self.assertEqual(self.ns(answer["rows"]), self.ns(listed))
            self.assertEqual(answer["rows"][0]["begin_ns"], (BEGAN + 50000) * 10**9)
            self.assertEqual(answer["rows"][-1]["end_ns"], (BEGAN + 71234) * 10**9)

    def test_no_two_windows_are_called_the_same(self) -> None:
        for length, first in (("1d", at(0)[:10]), ("1h", at(0)[:10] + "T10:00:00"), ("7s", at(40000))):
            lines = self.ask("report", "-a", "-S", first, "-E", at(40100 if length == "7s" else 100000), "-P", "-n", "--window",
                             length).splitlines()
            names = [line.split("|")[0] for line in lines]
            self.assertGreater(len(names), 1)
            self.assertEqual(len(set(names)), len(names), names)

    def test_groups_are_what_they_say(self) -> None:
        def groups(by: str) -> Dict[str, Any]:
            return {row["group"]: row for row in self.report("--by", by)["rows"]}
        self.assertEqual(set(groups("user")), {"adam", "eve", "noah"})
        self.assertEqual(groups("user")["eve"]["runs"], 2)
        self.assertEqual(set(groups("tag:team")), {"vision", "text", "-"})
        self.assertEqual(set(groups("node")), {"n1", "n2", "n3", "-"})
        self.assertEqual(groups("node")["n2"]["interruptions"], len(JOBS))
        causes = groups("cause")
        self.assertEqual(set(causes), {"node_fail", "-"})
        lost = {bucket["name"]: bucket["seconds"] for bucket in causes["node_fail"]["buckets"]}
        self.assertAlmostEqual(lost["lost_work"], len(JOBS) * 10 * 100.5, delta=0.01)
        self.assertEqual(set(groups("run")), {"run%d" % job for job in JOBS})

    def test_two_keys_make_a_row_for_each_pair(self) -> None:
        by_user = {row["group"]: row for row in self.report("--by", "user")["rows"]}
        answer = self.report("--by", "user,cause")
        self.assertEqual(answer["by"], "user,cause")
        self.assertEqual({tuple(row["groups"]) for row in answer["rows"]},
                         {(user, cause) for user in by_user for cause in ("-", "node_fail")})
        for user, row in by_user.items():
            self.assertEqual(self.ns([r for r in answer["rows"] if r["groups"][0] == user]), self.ns([row]))
            self.assertEqual(sum(r["interruptions"] for r in answer["rows"] if r["groups"][0] == user), row["interruptions"])
        self.assertEqual(self.ask("report", "-a", "-S", at(0), "--by", "user,account", "-P").splitlines()[1].split("|")[:3],
                         ["adam", "acc-adam", "1"])
        for words in (["--by", "user,node"], ["--by", "user,shoe"], ["--by", "all,user"]):
            done = run_it("report", *words, "--no-refresh", "--config", os.path.join(self.dir, "conf"), "--db", self.db)
            self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_rows_are_sorted_and_separated_as_asked(self) -> None:
        rows = list(csv.reader(self.ask("report", "-a", "-S", at(0), "--by", "user", "--csv", "--sort", "-Lost").splitlines()))
        self.assertEqual(rows[0][0], "User")
        lost = [float(row[rows[0].index("Lost")]) for row in rows[1:]]
        self.assertEqual(lost, sorted(lost, reverse=True))
        self.assertEqual([row[0] for row in rows[1:]], ["noah", "adam", "eve"])
        table = self.ask("report", "-a", "-S", at(0), "--by", "user", "--sort", "lost").splitlines()
        self.assertEqual([line.split()[0] for line in table[2:]], ["eve", "adam", "noah", "total"])
        listed = self.ask("-a", "-S", at(0), "-P", "-n", "-o", "JobID,GPUHours,User", "--sort", "-gpuhours,User").splitlines()
        self.assertEqual([line.split("|")[0] for line in listed], ["14", "11", "12", "13"])
        for words in (["report", "--sort", "Shoe"], ["--sort", "Shoe"], ["--sort", "JobID", "--json"], ["report", "--csv", "-P"], ["--csv", "-p"],
                      ["--sort", "JobID", "--limit", "2"]):
            done = run_it(*words, "--no-refresh", "--config", os.path.join(self.dir, "conf"), "--db", self.db)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)

    def test_sacct_s_habits(self) -> None:
        day = time.strftime("%m/%d", time.localtime(BEGAN))
        common = ["-a", "-S", at(0)]
        row = dict(zip(*[line.split("|") for line in self.ask(
            "-j", "11", "-X", "-P", "-o", "JobID,Submit,Eligible,Start,End,Elapsed,NodeList,ExitCode,Timelimit,Reservation,QOS,GPUHours").splitlines()]))
        self.assertEqual((row["Start"], row["Elapsed"], row["NodeList"]), (at(11 * 3600 + 137), "01:07:50", "n[1-3]"))
        self.assertEqual(float(row["GPUHours"]), round(2 * 2035 * 16 / 3600, 2))
        self.assertEqual(self.ask(*common, "-b").split()[:4], ["JobID", "State", "ExitCode", "Goodput"])
        long = self.ask(*common, "-l", "--csv").splitlines()[0].split(",")
        self.assertLessEqual({"JobID", "Elapsed", "NodeList", "GPUHours", "MPG"}, set(long))
        self.assertEqual(self.ask(*common, "--name", "train", "-P", "-n", "-o", "JobID").split(), ["11", "12", "13", "14"])
        self.ask(*common, "--name", "nosuch", "-P", status=1)
        with_day = run_it("-a", "-S", day, "-P", "-n", "-o", "JobID", "--no-refresh", "--config", os.path.join(self.dir, "conf"), "--db", self.db)
        self.assertEqual(with_day.stdout.split(), ["11", "12", "13", "14"])
        for words in (common, ["attempts", "11"], ["show", "11", "--explain", "lost_work"]):
            for line in self.ask(*words).splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_gpu_hours_and_money(self) -> None:
        answer = self.report("--by", "user", "--gpu-hour", "2")
        rows = {row["group"]: row for row in answer["rows"]}
        # Two attempts of 2035 s, on 16 GPUs.
        self.assertAlmostEqual(rows["adam"]["allocated_gpu_hours"], 2 * 2035 * 16 / 3600)
        self.assertAlmostEqual(rows["adam"]["cost"], 2 * rows["adam"]["allocated_gpu_hours"])
        productive = (10 + 20) * 100.5 * 16 / 3600
        self.assertAlmostEqual(rows["adam"]["wasted"], rows["adam"]["cost"] - 2 * productive, places=1)
        for priced in ([], ["--gpu-hour", "2"]):
            for by in (["--by", "account"], ["--window=1h", "-E", at(60000)]):
                for line in self.ask("report", "-a", "-S", at(0), *priced, *by).splitlines():
                    self.assertLessEqual(len(line), 80, line)
        parsable = self.ask("report", "-a", "-S", at(0), "--by", "user", "-P").splitlines()
        self.assertEqual(parsable[0], "User|Runs|Intr|GPUh|Alloc|Progress|Lost|Sched|Runtime|Goodput|Unobserved")
        self.assertEqual(len(parsable), 4)

    def test_nonsense_is_2_and_nothing_is_1(self) -> None:
        for words in (["--by", "shoe"], ["--by", "tag"], ["--by", "tag:"], ["--by", "user:x"], ["--window", "0s"], ["--window", "soon"],
                      ["--window", "1s", "-S", "2001-01-01"], ["--gpu-hour", "-1"], ["--gpu-hour", "nan"], ["--gpu-hour", "x"],
                      ["--window=1h", "-j", "11"], ["-S", "never"]):
            with self.subTest(words=words):
                done = run_it("report", *words, "--no-refresh", "--db", self.db)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.ask("report", "-u", "nobody-of-that-name", "-S", at(0), status=1)


if __name__ == "__main__":
    unittest.main()
