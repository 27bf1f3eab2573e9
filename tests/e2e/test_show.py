#!/usr/bin/python3
"""`sgoodput show`: stalls, the proof, definitions, sensitivity and chains of runs whose spool is written by hand.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_show
"""

import json
import os
import pty
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from typing import Any, Dict, List, Optional

from .harness import schemas
from .harness.hand_written import BEGAN, SGOODPUT, Spool, run_it


class ShowTest(unittest.TestCase):
    dir: str
    db: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-show-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        spool = Spool(os.path.join(cls.dir, "spool"))
        # Killed in step 59, after a hang of 90 s in step 30; resumed from the save after step 39.
        cls.attempt(spool, 7, 0, 37, 60, first=0, slow={30: 100.0}, saves=[40], state="NODE_FAIL")
        cls.attempt(spool, 7, 800, 830, 60, first=40, slow={50: 40.0}, evaluation=70, state="COMPLETED")
        # 22 depends on 21; 23 is submitted 100 s after 22 ended; 24 is submitted while 23 runs, and then overlaps it.
        cls.attempt(spool, 21, 5000, 5010, 20, state="COMPLETED", name="chain")
        spool.controller(5001, kind="queue", state="PENDING", submit_s=5000, job=22, name="chain", user="eve",
                         dependency="afterok:21(unfulfilled)", reason="Dependency")
        cls.attempt(spool, 22, 5000, 5300, 20, first=20, state="FAILED", name="chain")
        cls.attempt(spool, 23, 5700, 5710, 20, first=30, state="COMPLETED", name="chain")
        cls.attempt(spool, 24, 5720, 5730, 20, first=0, state="COMPLETED", name="chain")
        # A sweep: all submitted before the first one starts. And a job of another user with the same name.
        cls.attempt(spool, 41, 9000, 9010, 5, name="sweep", state="COMPLETED")
        cls.attempt(spool, 42, 9001, 9200, 5, name="sweep", state="COMPLETED")
        cls.attempt(spool, 43, 9500, 9510, 5, name="sweep", state="COMPLETED", user="mallory")
        # Steps 10 to 14 are missing.
        cls.attempt(spool, 51, 12000, 12010, 10, state="FAILED")
        cls.attempt(spool, 51, 12300, 12310, 10, first=15, state="COMPLETED")
        # Still running: its last step began 20 s ago.
        cls.now = time.time() - BEGAN
        cls.attempt(spool, 61, cls.now - 1000, cls.now - 990, 10, begin=cls.now - 110)
        cls.measured_job(spool)
        # Spot by its partition, then in a reservation.
        cls.attempt(spool, 81, 16000, 16010, 5, state="FAILED", partition="a3-spot")
        cls.attempt(spool, 81, 16200, 16210, 5, state="COMPLETED", partition="a3-spot", reservation="llm")
        spool.write()
        cls.db = os.path.join(cls.dir, "db")
        with open(os.path.join(cls.dir, "conf"), "w") as file:
            file.write("cluster = c\n")
        done = run_it("ingest", "--config", os.path.join(cls.dir, "conf"), "--db", cls.db, "--spool", spool.folder)
        assert (done.returncode, done.stderr) == (0, ""), done

    now: float

    @classmethod
    def measured_job(cls, spool: Spool) -> None:
        """Trains for 100 s from 14020 on, saved after 60 s of it; nodes measured GPUs until 14110."""
        cls.attempt(spool, 71, 14000, 14000, 10, saves=[6], state="NODE_FAIL", tres="cpu=64,mem=256G,node=2,gres/gpu=16")
        # Two records, of 8 of the 16 GPUs: 20 s before it trains, 30 s that were kept; then a gap, and 30 s that were lost.
        spool.node(14050, "gpu_use", job=71, gpus=8, ms=[20_000, 10_000, 20_000], busy=[100, 9000, 9600], tensor=[0, 4000, 4300],
                   mj=[16_000_000, 48_000_000, 112_000_000], mem_mib=70_000, mem_of_mib=81_559)
        spool.node(14115, "gpu_use", job=71, gpus=8, ms=[30_000], busy=[9500], tensor=[4000], mj=[160_000_000], mem_mib=72_000)
        spool.node(14003, "step_start", slurm_step="0", job=71)
        spool.node(14003, "step_start", slurm_step="batch", job=71)
        spool.node(14123, "step_end", slurm_step="0", job=71, cpu_us=1_280_000_000, mem_peak=96 << 30, read_bytes=5 << 30,
                   written_bytes=2 << 30, waited_cpu_us=1, waited_rss=1)
        spool.node(14003.5, "gpu_use", job=71, gpus=0, ms=[1000], busy=[1], tensor="x", mj=[-1])  # says nothing

    def test_gpus_and_nodes_that_were_measured(self) -> None:
        job = self.show("71")
        use = job["gpu_use"]
        of = {one["name"]: one for one in use["buckets"]}
        self.assertEqual(of["productive"]["measured_gpu_seconds"], 8 * 30)
        self.assertAlmostEqual(of["productive"]["busy"], (0.9 + 2 * 0.96) / 3)
        self.assertAlmostEqual(of["productive"]["tensor"], (0.4 + 2 * 0.43) / 3)
        self.assertAlmostEqual(of["productive"]["energy_j"], 160_000)
        self.assertEqual(of["lost_work"]["measured_gpu_seconds"], 8 * 30)
        self.assertAlmostEqual(of["lost_work"]["busy"], 0.95)
        self.assertAlmostEqual(of["lost_work"]["energy_j"], 160_000)
        self.assertAlmostEqual(sum(one["energy_j"] for one in use["buckets"]), 336_000)
        self.assertEqual((use["memory_mib"], use["memory_of_mib"], use["busy_by_driver"]), (72_000, None, False))
        self.assertIsNone(use["energy_of_kept_step_j"], "of half of the GPUs, nothing is known")
        host = job["host_use"]
        self.assertEqual((host["steps"], host["measured"]), (2, 1))
        self.assertEqual((host["cpu_s"], host["cpu_waited_only"]), (1280, False))
        self.assertEqual(host["memory_peak_bytes"], 96 << 30)
        self.assertIs(type(host["memory_given_bytes"]), int)
        self.assertEqual(host["memory_given_bytes"], 128 << 30)
        self.assertEqual((host["read_bytes"], host["written_bytes"]), (5 << 30, 2 << 30))
        self.assertAlmostEqual(host["cpu_given_s"], 64 * sum(
            bucket["seconds"] for bucket in job["buckets"] if bucket["name"] not in ("queue_other", "requeue_backoff")), delta=64)
        text = self.ask("show", "71")
        self.assertRegex(text, r"GPUs  measured for \d\d\.\d% of the allocated GPU time")
        self.assertRegex(text, r"in vain +228 GPU-s \(95\.0% of what was measured\) while work was lost")
        self.assertRegex(text, r"memory +96\.0 GiB at most for a step on a node, of 128 GiB given")
        self.assertRegex(text, r"disks +5\.0 GiB read, 2\.0 GiB written")
        self.assertIsNone(self.show("7")["gpu_use"])
        self.assertIsNone(self.show("71", "--exclude", "2020-01-01/2020-01-02")["host_use"], "a part of a run")

    @staticmethod
    def attempt(spool: Spool, job: int, submit: float, start: float, steps: int, first: int = 0, slow: Optional[Dict[int, float]] = None,
                saves: Optional[List[int]] = None, evaluation: int = -1, state: str = "", begin: float = 0, **more: Any) -> None:
        """One attempt on 16 GPUs whose steps take 10 s; without a state it is still running."""
        more = {"job": job, "user": "eve", "account": "acc", **more}
        times = {"submit_s": int(submit), "eligible_s": int(submit), "start_s": int(start)}
        start = int(start)
        spool.controller(start + 1, **times, **more)
        spool.node(start + 0.5, "job_prolog", job=job, opt={})
        spool.node(start + 2, "step_start", slurm_step="extern", job=job)
        spool.node(start + 4, "task_start", slurm_step="0", task=0, local_task=0, pid=5, job=job)
        t = begin or start + 20
        for step in range(first, first + steps):
            if step in (saves or []):
                spool.node(t, "mark", mark="checkpoint", edge="begin", train_step=step, slurm_step="0", task=0, job=job)
                t += 2
                spool.node(t, "mark", mark="checkpoint", edge="end", train_step=step, slurm_step="0", task=0, job=job)
            spool.node(t, "mark", mark="step", edge="begin", train_step=step, slurm_step="0", task=0, job=job)
            if step == evaluation:
                spool.node(t + 10, "mark", mark="phase", edge="begin", name="evaluation", slurm_step="0", task=0, job=job)
                t += 15
                spool.node(t + 10, "mark", mark="phase", edge="end", name="evaluation", slurm_step="0", task=0, job=job)
            t += (slow or {}).get(step, 10)
        if not state:
            return
        end = {"exit_code": 0} if state == "COMPLETED" else {"signal": 9}
        spool.node(t, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, job=job, **end)
        spool.controller(t + 3, **times, end_s=int(t + 2), state=state, **more)

    def ask(self, *args: str, status: int = 0) -> str:
        done = run_it(*args, "--no-refresh", "--config", os.path.join(self.dir, "conf"), "--db", self.db)
        self.assertEqual((done.returncode, done.stderr if status < 2 else ""), (status, ""), args)
        return done.stdout if status < 2 else done.stderr

    def show(self, *args: str) -> Dict[str, Any]:
        answer: Dict[str, Any] = json.loads(self.ask("show", *args, "--json"))
        schemas.check(answer, "sgoodput")
        job: Dict[str, Any] = answer["jobs"][0]
        return job

    @staticmethod
    def buckets(job: Dict[str, Any], what: str = "seconds") -> Dict[str, float]:
        return {bucket["name"]: bucket[what] for bucket in job["buckets"]}

    def test_stalls_begin_with_the_last_progress(self) -> None:
        job = self.show("7")
        self.assertEqual(len(job["stalls"]), 1)
        stall = job["stalls"][0]
        self.assertEqual((stall["attempt"], stall["step"], stall["recovered"]), (0, 30, True))
        self.assertEqual(stall["last_progress_ns"], (BEGAN + 37 + 20 + 300) * 10**9)
        self.assertAlmostEqual(stall["seconds"], 90, places=3)
        self.assertRegex(stall["evidence"], r"^n1/boot\.\w+Z\.jsonl:\d+$")
        self.assertAlmostEqual(sum(one["seconds"] for one in job["stalls"]), self.buckets(job)["stall"])
        self.assertIn("last progress in step 30 of attempt 1; 1m30s, then it continued", self.ask("show", "7"))
        self.assertEqual(len(self.show("7", "--stall-factor", "3")["stalls"]), 2)
        self.assertEqual(self.show("7", "--stall-factor", "11")["stalls"], [])

    def test_a_stall_factor_is_the_same_everywhere(self) -> None:
        listed = {job["job_id"]: job for job in json.loads(self.ask("-a", "-S", "2001-01-01", "--stall-factor", "11", "--json"))["jobs"]}
        self.assertEqual(listed[7]["stalls"], [])
        self.assertEqual(self.buckets(listed[7]), self.buckets(self.show("7", "--stall-factor", "11")))
        report = json.loads(self.ask("report", "-j", "7", "--by", "all", "--stall-factor", "11", "--json"))
        self.assertEqual(self.buckets(report["total"])["stall"], 0)
        self.ask("attempts", "7", "--stall-factor", "11")
        for command in (["show", "7"], ["attempts", "7"], ["report"], []):
            self.assertIn("--stall-factor", self.ask(*command, "--stall-factor", "0.5", status=2))

    def test_the_proof_is_on_the_page(self) -> None:
        job = self.show("7")
        self.assertEqual(job["ledger"], {"holds": True, "kept": 100, "first": 0, "last": 99, "trainings": [[0, 99]], "missing": [], "twice": []})
        accounting = job["accounting"]
        # Whole seconds times 16 GPUs are exact integers.
        held = sum(attempt["end_ns"] - attempt["start_ns"] for attempt in job["attempts"]) // 10**9 * 16
        self.assertEqual(accounting["allocated_gpu_seconds"], held)
        self.assertEqual(accounting["buckets_gpu_seconds"], held)
        self.assertTrue(accounting["agrees"])
        self.assertEqual(accounting["provisioning_gpu_seconds"] + accounting["up_gpu_seconds"], held)
        self.assertEqual(accounting["provisioning_gpu_seconds"], self.buckets(job, "gpu_seconds")["provisioning"])
        self.assertNotIn("Proof", self.ask("show", "7"))
        text = self.ask("show", "7", "--all")
        self.assertIn("ledger      100 kept = steps 0 to 99, each once\n", text)
        self.assertIn("accounting  %d GPU-s according to the controller = " % held, text)
        gap = self.show("51")
        self.assertEqual((gap["ledger"]["holds"], gap["ledger"]["missing"]), (False, [[10, 14]]))
        text = self.ask("show", "51")
        self.assertIn("20 kept of steps 0 to 24; no record that 10 to 14 began", text)
        self.assertIn("Proof  does not hold everywhere", text)

    def test_definitions_stand_side_by_side_and_google_is_explained(self) -> None:
        job = self.show("7")
        names = job["definitions"]
        self.assertTrue(all(value is not None for name, value in names.items() if name != "google_interval"), names)
        seconds = self.buckets(job)
        wall = (job["end_ns"] - job["attempts"][0]["start_ns"]) / 1e9
        self.assertAlmostEqual(names["google_api"], seconds["productive"] / wall, places=3)
        self.assertNotIn("Other definitions of goodput", self.ask("show", "7"))
        text = self.ask("show", "7", "--all")
        self.assertRegex(text, r"rg [\d.]+%  google_api [\d.]+%  google_interval -  nvcre [\d.]+%\n  ettr [\d.]+%  ettr_1h [\d.]+%")
        self.assertIn(" ".join(job["google_api_why"].split()[:7]), text)
        points, sides = re.match(r"google_api is ([\d.]+) points (\w+) than rg", job["google_api_why"]).groups()  # type: ignore
        self.assertEqual(sides, "lower")
        self.assertAlmostEqual(float(points), 100 * (names["rg"] - names["google_api"]), places=2)

    def test_sensitivity_only_when_asked(self) -> None:
        self.assertNotIn("sensitivity", self.show("7"))
        job = self.show("7", "--sensitivity")
        rows = {row["name"]: row for row in job["sensitivity"]}
        self.assertEqual(rows["as_is"]["runtime"], job["goodput"]["runtime"])
        self.assertAlmostEqual(rows["as_is"]["stall_s"], self.buckets(job)["stall"])
        self.assertGreater(rows["stall_factor_3"]["stall_s"], rows["as_is"]["stall_s"])
        self.assertEqual(rows["stall_factor_10"]["stall_s"], self.buckets(self.show("7", "--stall-factor", "10"))["stall"])
        seconds = self.buckets(job)
        up = accounting_up(job)
        self.assertAlmostEqual(rows["overhead_productive"]["runtime"], (seconds["productive"] + seconds["overhead"]) * 16 / up)
        self.assertRegex(self.ask("show", "7", "--sensitivity"), r"Sensitivity\n  Counted +Scheduling  Runtime  Goodput  Stall\n")
        running = {row["name"]: row for row in self.show("61", "--sensitivity")["sensitivity"]}
        self.assertGreater(running["at_risk_lost"]["lost_s"], running["as_is"]["lost_s"])

    def test_a_running_job_says_how_long_ago_its_last_step_began(self) -> None:
        job = self.show("61")
        self.assertEqual(job["steps"]["last_begin_ns"], int((BEGAN + self.now - 20) * 1e9))
        self.assertRegex(self.ask("show", "61"), r"the last, 9, began (2|3|4|5)\d\.\ds ago")
        self.assertNotIn("ago", self.ask("show", "7"))

    def test_jobs_are_chained_only_when_asked(self) -> None:
        alone = self.show("22")
        self.assertEqual(([a["job_id"] for a in alone["attempts"]], alone["run_inferred"]), ([22], None))
        self.assertGreater(self.buckets(alone)["hold"], 0)
        chain = self.show("22", "--chain")
        self.assertEqual([a["job_id"] for a in chain["attempts"]], [21, 22, 23])
        self.assertIsNone(chain["run"])
        self.assertIn("1 by dependency", chain["run_inferred"])
        self.assertIn("by name 'chain'", chain["run_inferred"])
        # 22 ended at 5522; 23 was submitted at 5700. Waiting for a job of the same run is not a hold.
        seconds = self.buckets(chain)
        self.assertEqual((seconds["resubmit_gap"], seconds["hold"]), (178, 0))
        self.assertEqual(chain["ledger"]["holds"], True)
        self.assertEqual(chain["ledger"]["kept"], 50)
        text = self.ask("show", "22", "--chain")
        self.assertIn("inferred: 4 jobs as one run (21, 22, 23, 24)", text)
        self.assertIn("warning: jobs of the chain ran at the same time", text)
        # 24 overlapped 23.
        self.assertEqual([a["job_id"] for a in self.show("24", "--chain")["attempts"]], [24])

    def test_what_is_no_chain(self) -> None:
        for job in ("41", "42", "43"):
            with self.subTest(job=job):
                shown = self.show(job, "--chain")
                self.assertEqual([a["job_id"] for a in shown["attempts"]], [int(job)])
                self.assertIn("no other known job", shown["run_inferred"])
        self.assertIn("--chain", self.ask("show", "--run", "x", "--chain", status=2))

    def test_a_window_in_an_outage_is_zero(self) -> None:
        def at(seconds: float) -> str:
            return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(BEGAN + seconds))
        listed = json.loads(self.ask("-a", "-j", "7", "-T", "-S", at(770), "-E", at(810), "--json"))["jobs"]
        self.assertEqual(len(listed), 1)
        self.assertEqual((listed[0]["goodput"]["sg_rg"], listed[0]["definitions"]["ettr_1h"]), (0, 0))
        self.assertIsNone(listed[0]["goodput"]["runtime"])
        self.assertEqual([d["why"] for d in listed[0]["accounting"]["differences"]], ["outside the selected time"])
        self.assertEqual(listed[0]["stalls"], [])

    def test_time_is_left_out_of_all_sums(self) -> None:
        def at(seconds: float) -> str:
            return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(BEGAN + seconds))
        whole = self.show("7")
        self.assertEqual(whole["excluded_ns"], 0)
        # From lost work before the interruption at 751 to the wait after it, and 10 s of training.
        windows = "%s/%s,%s/%s" % (at(700), at(810), at(1000), at(1010))
        job = self.show("7", "--exclude", windows)
        self.assertEqual((job["wall_ns"], job["excluded_ns"]), (whole["wall_ns"], 120 * 10**9))
        self.assertEqual(sum(bucket["ns"] for bucket in job["buckets"]), job["wall_ns"] - job["excluded_ns"])
        before, after = self.buckets(whole), self.buckets(job)
        self.assertAlmostEqual(after["productive"], before["productive"] - 10)
        self.assertLess(after["lost_work"], before["lost_work"])
        self.assertEqual(job["interruptions"], [])
        self.assertEqual(len(whole["interruptions"]), 1)
        seconds = sum(after.values()) - after["hold"]
        self.assertAlmostEqual(job["goodput"]["sg_rg"], after["productive"] / seconds)
        self.assertAlmostEqual(job["definitions"]["ettr"], after["productive"] / seconds)
        self.assertEqual([one["why"] for one in job["accounting"]["differences"]], ["outside the selected time"])
        # Overlapping windows in separate options are excluded once; list and report exclude the same time.
        again = self.show("7", "--exclude", "%s/%s" % (at(700), at(760)), "--exclude", "%s/%s,%s/%s" % (at(750), at(810), at(1000), at(1010)))
        self.assertEqual(again["buckets"], job["buckets"])
        listed = json.loads(self.ask("-j", "7", "--exclude", windows, "--json"))["jobs"][0]
        self.assertEqual(listed["buckets"], job["buckets"])
        report = json.loads(self.ask("report", "-j", "7", "--by", "all", "--exclude", windows, "--json"))
        self.assertEqual(self.buckets(report["total"]), after)
        text = self.ask("show", "7", "--exclude", windows)
        self.assertIn("(2m00s of it excluded)", text)
        self.assertNotIn("Proof", text)
        for wrong in ("soon", at(1), "%s/%s" % (at(2), at(1)), "/", "%s/" % at(1)):
            self.assertIn("--exclude: '", self.ask("show", "7", "--exclude", wrong, status=2))
        self.assertIn("--exclude", self.ask("show", "7", "--exclude", windows, "--html", "-", status=2))
        self.assertIn("--exclude", self.ask("report", "--fleet", "--exclude", windows, status=2))

    def test_interruptions_are_sentences(self) -> None:
        text = " ".join(self.ask("show", "7").split())
        self.assertIn("3m12s after the last checkpoint; detected after 12.0s, nodes back after 1m21s, first step 18.0s later", text)
        self.assertNotIn("+-", text)

    def what_to_do(self, *args: str) -> List[str]:
        """The sentences of its advice."""
        text = self.ask("show", *args)
        self.assertIn("\nWhat to do\n", text)
        return re.split(r"(?<=\.) (?=[A-Z])", " ".join(text.split("\nWhat to do\n")[1].split()))

    def test_it_ends_with_what_to_do(self) -> None:
        said = self.what_to_do("7")
        self.assertLessEqual(len(said), 3)
        # 200 s of 16 GPUs.
        self.assertTrue(said[0].startswith("Lost 0.89 GPU-h of steps after 1 node failure: 1 failure is too few"), said)
        self.assertTrue(said[1].startswith("Lost 0.40 GPU-h in stalls ("), said)
        self.assertEqual(said, self.what_to_do("7", "--all"))

    def test_a_job_that_failed_before_a_step_gets_no_other_advice(self) -> None:
        folder = tempfile.mkdtemp(dir=self.dir)
        spool = Spool(os.path.join(folder, "spool"))
        spool.controller(1, kind="queue", state="PENDING", submit_s=0, eligible_s=0, reason="Priority")
        times = {"submit_s": 0, "eligible_s": 0, "start_s": 600}
        spool.controller(601, **times)
        spool.node(600, "job_prolog")
        spool.node(601, "step_start", slurm_step="extern")
        spool.node(602, "task_start", slurm_step="0", task=0, local_task=0, pid=5)
        spool.node(605, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, exit_code=1)
        spool.controller(606, **times, end_s=606, state="FAILED", exit_code=1)
        spool.write()
        db = os.path.join(folder, "db")
        self.assertEqual(run_it("ingest", "--config", os.path.join(self.dir, "conf"), "--db", db, "--spool", spool.folder).returncode, 0)
        text = run_it("show", "7", "--config", os.path.join(self.dir, "conf"), "--db", db, "--no-refresh").stdout
        self.assertIn("queue_priority     10m00s  99.0%", text)
        self.assertEqual(" ".join(text.split("What to do\n")[1].split()),
                         "It failed with exit code 1, 6.0s after its start, and no step was seen: find out why it failed from its output.")
        advice = json.loads(run_it("advise", "7", "--json", "--config", os.path.join(self.dir, "conf"), "--db", db, "--no-refresh").stdout)["advice"]
        self.assertEqual([one["action"] for one in advice], ["find out why it failed from its output"])

    def test_a_long_run_is_bounded(self) -> None:
        folder = tempfile.mkdtemp(dir=self.dir)
        spool = Spool(os.path.join(folder, "spool"))
        for start in range(40):
            # After the 21st interruption it waits longest.
            t = 1000 * start + (500 if start > 20 else 0)
            self.attempt(spool, 7, t, t + 5, 20, first=10 * start, state="NODE_FAIL")
        spool.write()
        db = os.path.join(folder, "db")
        self.assertEqual(run_it("ingest", "--config", os.path.join(self.dir, "conf"), "--db", db, "--spool", spool.folder).returncode, 0)
        common = ["show", "7", "--config", os.path.join(self.dir, "conf"), "--db", db, "--no-refresh"]
        text = run_it(*common).stdout
        self.assertIn("Attempts  the 10 of 40 that lost the most time (--all shows all)\n", text)
        self.assertIn("Interruptions  the 10 of 40 that cost the most time (--all shows all)\n", text)
        self.assertIn("node_fail, attempt 21\n", text)
        self.assertEqual(text.count("node_fail, attempt "), 10)
        self.assertLess(len(text.splitlines()), 90)
        self.assertEqual(run_it(*common, "--all").stdout.count("node_fail, attempt "), 40)

    def test_watch_leaves_what_the_terminal_had(self) -> None:
        main, other = pty.openpty()
        watch = subprocess.Popen([SGOODPUT, "watch", "61", "-i", "0.2", "--no-refresh", "--config", os.path.join(self.dir, "conf"), "--db",
                                  self.db], stdin=other, stdout=other, stderr=other, env={"PATH": os.environ["PATH"], "TERM": "xterm"})
        os.close(other)
        screen = b""
        deadline = time.monotonic() + 60
        while screen.count(b"\033[H\033[2J") < 3 and time.monotonic() < deadline:
            screen += os.read(main, 4096)
        os.write(main, b"q")
        try:
            while True:
                screen += os.read(main, 4096)
        except OSError:
            pass  # it has ended
        self.assertEqual(watch.wait(20), 0)
        os.close(main)
        self.assertNotIn(b"\033[3J", screen, "the scrollback is not its own")
        self.assertEqual((screen.count(b"\033[?1049h"), screen.count(b"\033[?1049l")), (1, 1))
        self.assertTrue(screen.startswith(b"\033[?1049h"))
        self.assertIn(b"Job 61", screen.split(b"\033[?1049l")[1], "the last look stays")

    def test_how_machines_were_obtained(self) -> None:
        self.assertIn("machines: spot in 1 of 2 attempts (by the partition's name); reserved:llm in 1 (by Slurm's reservation)",
                      " ".join(self.ask("show", "81").split()))
        self.assertEqual([attempt["machines"] for attempt in self.show("81")["attempts"]],
                         [{"kind": "spot", "reservation": None, "evidence": "partition"},
                          {"kind": "reserved", "reservation": "llm", "evidence": "reservation"}])
        self.assertNotIn("machines:", self.ask("show", "7"))
        self.assertEqual(self.show("7")["attempts"][0]["machines"], {"kind": None, "reservation": None, "evidence": None})

    def test_it_fits_on_80_columns(self) -> None:
        for args in (["7"], ["81"], ["7", "--all"], ["7", "--sensitivity"], ["22", "--chain"], ["51"], ["61"]):
            for line in self.ask("show", *args).splitlines():
                self.assertLessEqual(len(line), 80, line)
        self.assertIn("\033[", self.ask("show", "7", "--color=always"))
        plain = re.sub("\033\\[[0-9;]*m", "", self.ask("show", "7", "--color=always"))
        self.assertEqual(plain, self.ask("show", "7"))


def accounting_up(job: Dict[str, Any]) -> float:
    up: float = job["accounting"]["up_gpu_seconds"]
    return up


if __name__ == "__main__":
    unittest.main()
