#!/usr/bin/python3
"""`sgoodput show` for jobs that received signals: which tasks handled them, what was saved, what to do. Their spools are
written by hand.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_signals_ledger
"""

import json
import os
import shutil
import tempfile
import unittest
from typing import Any, Dict, Optional

from .harness import schemas
from .harness.hand_written import BEGAN, Spool, run_it

USR1, KILL, TERM = 10, 9, 15


class Job:
    """One attempt on a node, with times in seconds: steps of 10 s from 20 s after its start, saves of 30 s."""

    def __init__(self, spool: Spool, job: int, start: int, tasks: int = 1, node: str = "n1", ahead: int = 0, **opt: Any) -> None:
        """ahead: seconds by which the node's clock is ahead of the controller's."""
        self.spool, self.job, self.start, self.tasks, self.node, self.ahead = spool, job, start, tasks, node, ahead
        self.times = {"submit_s": start, "eligible_s": start, "start_s": start}
        spool.controller(start + 1, job=job, **self.times)
        self.say(0.5, "job_prolog", opt=opt)
        self.say(2, "step_start", slurm_step="extern")
        for task in range(tasks):
            self.say(4, "task_start", slurm_step="0", task=task, local_task=task, pid=500 + task)

    def say(self, t: float, kind: str, **more: Any) -> None:
        ns = int((BEGAN + self.start + t + self.ahead) * 1e9)
        self.spool.say(self.node, self.start + t, dict(kind=kind, job=self.job, **{**more, "t": ns}))

    def heartbeat(self, t: float, since: float) -> Dict[str, Any]:
        """A record of its node, which has no other job."""
        ns = int((BEGAN + self.start + t) * 1e9)
        return {"v": 1, "t": ns + self.ahead * 10**9, "m": ns - BEGAN * 10**9 + 10**12, "node": self.node, "boot": "boot",
                "jobs": [{"cluster": "c", "job": self.job, "since": int((BEGAN + self.start + since + self.ahead) * 1e9)}]}

    def steps(self, first: int, last: int, t: float) -> None:
        for step in range(first, last + 1):
            self.say(t + 10 * (step - first), "mark", mark="step", edge="begin", train_step=step, slurm_step="0", task=0)

    def save(self, step: int, begin: float, end: Optional[float]) -> None:
        self.say(begin, "mark", mark="checkpoint", edge="begin", train_step=step, slurm_step="0", task=0)
        if end is not None:
            self.say(end, "mark", mark="checkpoint", edge="end", train_step=step, slurm_step="0", task=0)

    def signal(self, t: float, signo: int, handled: Optional[int] = 1, helpers: int = 0, **more: Any) -> None:
        known = {} if handled is None else {"handled": handled}
        record = {"signal": signo, "slurm_step": "0", "sender": "slurmstepd", "sender_pid": 77, **more}
        for task in range(self.tasks):
            self.say(t + 0.001 * task, "signal", task=task, pid=500 + task, target="task", comm="python3", **known, **record)
            for helper in range(helpers):
                self.say(t + 0.002, "signal", task=task, pid=600 + 10 * task + helper, target="child", comm="pt_data_worker",
                         handled=0, **record)

    def file(self, step: int, begin: float, end: Optional[float]) -> None:
        more = {"name": "iter_%07d" % step, "layout": "megatron", "train_step": step}
        self.say(begin, "checkpoint", edge="begin", **more)
        if end is not None:
            self.say(end, "checkpoint", edge="end", **more)

    def ends(self, t: float, state: str, **how: int) -> None:
        for task in range(self.tasks):
            self.say(t, "task_exit", slurm_step="0", task=task, local_task=task, pid=500 + task, **how)
        self.over(t + 2, state)

    def over(self, t: float, state: str) -> None:
        self.spool.controller(self.start + t + 1, job=self.job, end_s=int(self.start + t), state=state, **self.times)


class SignalsLedgerTest(unittest.TestCase):
    dir: str
    db: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-signals-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        spool = Spool(os.path.join(cls.dir, "spool"))
        cls.told_to_save(spool)
        cls.without_a_handler(spool)
        cls.large(spool)
        cls.without_signals(spool)
        cls.told_to_stop(spool)
        cls.silent(spool)
        spool.lines["n2"] = []
        heartbeats = [cls.lost_with_its_node(spool, 16, "n1", 0), cls.lost_with_its_node(spool, 18, "n2", 3600)]
        spool.write()
        for heartbeat in heartbeats:
            with open(os.path.join(spool.folder, heartbeat["node"], "heartbeat"), "w") as file:
                json.dump(heartbeat, file)
        cls.db = os.path.join(cls.dir, "db")
        with open(os.path.join(cls.dir, "conf"), "w") as file:
            file.write("cluster = c\n")
        done = run_it("ingest", "--config", os.path.join(cls.dir, "conf"), "--db", cls.db, "--spool", spool.folder)
        assert (done.returncode, done.stderr) == (0, ""), done

    @staticmethod
    def told_to_save(spool: Spool) -> None:
        """Job 11: six attempts, each told to save at least 33 s before the end of its time; the last save lacked 4 s."""
        for i in range(6):
            job = Job(spool, 11, 1000 * i, tasks=2)
            first = 11 * i
            job.steps(first, first + 4, 20)
            job.save(first + 4, 70, 100)
            job.steps(first + 5, first + 10, 100)
            job.signal(153, USR1, helpers=3 if i == 5 else 0)
            if i < 5:
                job.save(first + 10, 160, 190)
                job.ends(192, "REQUEUED", exit_code=0)
            else:
                job.save(first + 10, 160, None)
                job.signal(186, KILL, None)
                job.ends(186.1, "TIMEOUT", signal=KILL)

    @staticmethod
    def without_a_handler(spool: Spool) -> None:
        job = Job(spool, 12, 10000, checkpoint_signal="USR1")
        job.steps(0, 5, 20)
        job.signal(75, USR1, 0)
        job.ends(75.1, "FAILED", signal=USR1)

    @staticmethod
    def large(spool: Spool) -> None:
        job = Job(spool, 13, 12000, tasks=100)
        job.steps(0, 9, 20)
        job.signal(115, TERM)
        job.save(9, 120, 125)
        job.ends(126, "COMPLETED", exit_code=0)

    @staticmethod
    def without_signals(spool: Spool) -> None:
        job = Job(spool, 14, 14000)
        job.steps(0, 9, 20)
        job.ends(120, "COMPLETED", exit_code=0)

    @staticmethod
    def told_to_stop(spool: Spool) -> None:
        """Job 15: TERM in step 9, which is finished and saved; it exits with 0."""
        job = Job(spool, 15, 16000)
        job.steps(0, 9, 20)
        job.signal(115, TERM)
        job.save(9, 120, 125)
        job.ends(127, "COMPLETED", exit_code=0)

    @staticmethod
    def silent(spool: Spool) -> None:
        """Job 17 sends no marks: steps of 2 s, blocking saves of 3, 7 and 1 s; it is killed 19 s after the last one."""
        job = Job(spool, 17, 20000)
        for step, begin, end in ((20, 70, 73), (50, 133, 140), (60, 160, 161)):
            job.file(step, begin, end)
        job.ends(180, "FAILED", signal=KILL)

    @staticmethod
    def lost_with_its_node(spool: Spool, number: int, node: str, ahead: int) -> Dict[str, Any]:
        """Its node was last seen 6 s into step 9, after a save was requested, and declared dead five minutes later."""
        job = Job(spool, number, 1000 * number, node=node, ahead=ahead)
        job.steps(0, 9, 20)
        job.signal(115, USR1)
        job.over(420, "NODE_FAIL")
        return job.heartbeat(116, since=0.5)

    def ask(self, *args: str) -> str:
        done = run_it(*args, "--no-refresh", "--config", os.path.join(self.dir, "conf"), "--db", self.db)
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def show(self, *args: str) -> Dict[str, Any]:
        answer: Dict[str, Any] = json.loads(self.ask("show", *args, "--json"))
        schemas.check(answer, "sgoodput")
        job: Dict[str, Any] = answer["jobs"][0]
        self.assertEqual(sum(bucket["ns"] for bucket in job["buckets"]), job["wall_ns"])
        return job

    def test_every_delivery_has_what_became_of_it(self) -> None:
        job = self.show("11")
        asked = [s for s in job["signals"] if s["signal"] == "USR1"]
        self.assertEqual(len(asked), 12, "six deliveries to two tasks each")
        first = asked[0]
        self.assertEqual((first["time_ns"], first["sender"], first["node"], first["slurm_step"], first["task"], first["handled"]),
                         ((BEGAN + 153) * 10**9, "slurmstepd", "n1", "0", 0, True))
        self.assertEqual((first["checkpoint_begin_s"], first["checkpoint_complete_s"], first["exit_s"], first["grace_s"]), (7, 37, 39, None))
        last = asked[-1]
        self.assertEqual((last["outcome"], last["checkpoint_complete_s"], last["grace_s"]), ("cut_short", None, 33))
        self.assertEqual((last["helpers"], last["helpers_unprepared"]), (3, 3))
        self.assertEqual([s["handled"] for s in job["signals"] if s["signal"] == "KILL"], [False, False])
        self.assertEqual(job["signals_summary"],
                         "6 signals, 5 checkpoints in time, 1 killed 4 s before it finished: raise --signal to @60")

    def test_the_page_says_it_in_a_line_and_what_to_do(self) -> None:
        text = self.ask("show", "11")
        flat = " ".join(text.split())
        self.assertIn("Signals 6 signals, 5 checkpoints in time, 1 killed 4 s before it finished: raise --signal to @60", flat)
        self.assertIn("warning: 6 processes other than the trainer died from USR1 (pt_data_worker 6)", flat)
        self.assertIn("--signal=B:USR1", flat)
        self.assertRegex(text, r"USR1 +slurmstepd +2 tasks\+6 +2/2 +cut short +\+33\.1s +33\.0s\n")
        self.assertRegex(text, r"USR1 +slurmstepd +2 tasks +2/2 +\+37\.0s +\+39\.0s +-\n")
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_a_job_without_a_handler_is_told_so(self) -> None:
        job = self.show("12")
        self.assertEqual((job["signals"][0]["handled"], job["signals"][0]["died"], job["signals"][0]["outcome"]), (False, True, "nothing"))
        self.assertEqual(len(job["signals_warnings"]), 1)
        self.assertTrue(job["signals_warnings"][0].startswith("no task has a handler for USR1"))

    def test_a_delivery_to_many_tasks_stays_small(self) -> None:
        signals = self.show("13")["signals"]
        self.assertEqual(len(signals), 65)
        self.assertEqual(sum(s["tasks"] for s in signals), 100)
        self.assertEqual((signals[-1]["task"], signals[-1]["node"], signals[-1]["tasks"]), (None, None, 36))

    def test_leaving_with_0_after_term_is_an_interruption(self) -> None:
        job = self.show("15")
        self.assertEqual([(i["cause"], i["planned"]) for i in job["interruptions"]], [("cancelled", True)])
        buckets = {bucket["name"]: bucket for bucket in job["buckets"]}
        self.assertEqual((buckets["drain"]["seconds"], buckets["drain"]["evidence"]), (2, "signal"))
        self.assertEqual(buckets["lost_work"]["seconds"], 0)
        self.assertIn("told to stop: TERM from slurmstepd", self.ask("show", "15", "--explain", "drain"))

    def test_work_ends_when_the_node_was_last_seen(self) -> None:
        for number, ahead in (("16", 0), ("18", 3600)):
            with self.subTest(ahead=ahead):
                job = self.show(number)
                buckets = {bucket["name"]: bucket["seconds"] for bucket in job["buckets"]}
                # The difference of the clocks is known to the second.
                self.assertAlmostEqual(buckets["lost_work"], 96, delta=0.001)
                self.assertAlmostEqual(buckets["stall"], 304, delta=2 if ahead else 0.001)
                interruption = job["interruptions"][0]
                self.assertEqual(interruption["cause"], "node_fail")
                self.assertAlmostEqual(interruption["t_detect_s"], 304, delta=2 if ahead else 0.001)
                self.assertAlmostEqual((job["signals"][0]["time_ns"] - job["submit_ns"]) / 1e9, 115, delta=2 if ahead else 0.001)
        self.assertIn("node n1 was last seen alive 304 s before the end", self.show("16")["interruptions"][0]["evidence"])

    def test_a_job_that_says_nothing_is_told_by_its_checkpoints(self) -> None:
        job = self.show("17")
        buckets = {bucket["name"]: (bucket["seconds"], bucket["evidence"]) for bucket in job["buckets"]}
        self.assertEqual(buckets["startup"], (26, "inferred"))
        self.assertEqual(buckets["productive"][0], 120)
        self.assertEqual(buckets["checkpoint_save"], (11, "file"))
        self.assertEqual(buckets["lost_work"], (19, "inferred"))
        self.assertEqual(buckets["unobserved"][0], 0)
        self.assertEqual((job["steps"]["kept"], job["steps"]["median_s"]), (60, 2))
        self.assertEqual([(c["step"], c["evidence"]) for c in job["checkpoints"]], [(20, "file"), (50, "file"), (60, "file")])
        self.assertRegex(self.ask("show", "17", "--explain", "checkpoint_save"), r"  file\n  from n1/boot\.\w+Z\.jsonl:\d+\n  to   n1/boot\.\w+Z\.jsonl:\d+\n")

    def test_what_went_well_is_one_line(self) -> None:
        """Job 15 saved on request: show reports it, and --all has the table."""
        text = self.ask("show", "15")
        self.assertIn("Signals  1 signal, 1 checkpoint in time (--all lists them)\n", text)
        self.assertNotIn("slurmstepd  ", text)
        self.assertRegex(self.ask("show", "15", "--all"), r"Signals  1 signal, 1 checkpoint in time\n[^\n]*Sender[^\n]*\n[^\n]*\n +\S+  TERM +slurmstepd")

    def test_a_job_without_signals_has_none(self) -> None:
        job = self.show("14")
        self.assertEqual(job["signals"], [])
        self.assertNotIn("signals_summary", job)
        self.assertNotIn("Signals", self.ask("show", "14"))


if __name__ == "__main__":
    unittest.main()
