#!/usr/bin/python3
"""sgoodput advise: what-if questions without a database, and advice on a run whose spool is written by hand.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_advise
"""

import json
import os
import shutil
import tempfile
import unittest
from typing import Any, Dict

from .harness import schemas
from .harness.hand_written import Spool, run_it

NUMBERS = ["young_s", "daly_s", "poisson_s", "saxena_s", "ettr", "ettr_interval_s", "goodput_now", "goodput_best",
           "gpu_hours_gained", "money_gained"]


def failing_run(spool: Spool, failures: int) -> None:
    """Starts that train for 3,600 s with a save of 20 s every 1,200 s, and are lost with their node."""
    t, step = 0, 0
    for start in range(failures + 1):
        spool.controller(t + 1, submit_s=t, eligible_s=t, state="PENDING", restart=start, kind="queue", reason="Resources")
        spool.controller(t + 100, submit_s=t, eligible_s=t, start_s=t + 100, restart=start)
        spool.node(t + 101, "job_prolog", opt={"run": "r"})
        spool.node(t + 110, "step_start", slurm_step="extern")
        spool.node(t + 120, "step_start", slurm_step="0")
        spool.node(t + 120, "task_start", slurm_step="0", task=0, local_task=0, pid=5)
        at, saved = float(t + 150), step
        for k in range(360):
            if k and k % 120 == 0:
                spool.mark(at, "checkpoint", step - 1)
                at += 20
                spool.mark(at, "checkpoint", step - 1, edge="end")
                saved = step
            spool.mark(at, "step", step)
            at += 10
            step += 1
        end = int(at) + 10
        last = start == failures
        how = {"exit_code": 0} if last else {"signal": 9}
        spool.node(end - 1, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, **how)
        spool.node(end - 1, "step_end", slurm_step="0")
        spool.controller(end, submit_s=t, eligible_s=t, start_s=t + 100, end_s=end, restart=start,
                         state="COMPLETED" if last else "NODE_FAIL", exit_code=0, failed_node="" if last else "n2")
        t, step = end + 5, step if last else saved


class AdviseTest(unittest.TestCase):
    dir: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-advise-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        cls.db: Dict[int, str] = {}
        for failures in (0, 1, 12):
            folder = os.path.join(cls.dir, str(failures))
            spool = Spool(os.path.join(folder, "spool"))
            failing_run(spool, failures)
            spool.write()
            cls.db[failures] = os.path.join(folder, "goodput.db")
            cls.config = os.path.join(cls.dir, "goodput.conf")
            with open(cls.config, "w") as file:
                file.write("cluster = c\n")
            done = run_it("ingest", "--config", cls.config, "--db", cls.db[failures], "--spool", spool.folder)
            assert done.returncode == 0 and " 0 lines quarantined" in done.stdout, done

    def ask(self, *args: str) -> str:
        done = run_it("advise", *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def what_if(self, *args: str) -> Dict[str, Any]:
        answer = json.loads(self.ask("--json", *args))
        schemas.check(answer, "advise")
        return answer

    def job(self, failures: int, *args: str) -> Dict[str, Any]:
        return self.what_if("7", "--config", self.config, "--no-refresh", "--db", self.db[failures], *args)

    # --- assumed values

    def test_published_numbers(self) -> None:
        answer = self.what_if("--nodes", "2048", "--failures-per-node-day", "0.0065")
        self.assertAlmostEqual(answer["mttf_hours"], 1.8, delta=0.05)
        answer = self.what_if("--nodes", "2000", "--failures-per-node-day", "0.0065", "--save", "0s", "--restart", "5m",
                              "--interval", "60m")
        self.assertAlmostEqual(answer["ettr"], 0.7, delta=0.02)
        answer = self.what_if("--mttf", "6h", "--save", "5m", "--restart", "10m")
        self.assertAlmostEqual(answer["daly_s"] / 60, 57, delta=0.5)
        answer = self.what_if("--mttf", "3h5m35.1s", "--save", "1m", "--restart", "10m")
        for key, minutes in (("young_s", 19.27), ("daly_s", 18.60), ("poisson_s", 18.605)):
            self.assertAlmostEqual(answer[key] / 60, minutes, delta=0.01)

    def test_a_save_that_costs_nothing_leaves_the_best_interval_open(self) -> None:
        answer = self.what_if("--mttf", "3h", "--save", "0s", "--restart", "10m", "--interval", "1h", "--gpus", "8")
        for key in ("young_s", "daly_s", "poisson_s", "saxena_s", "ettr_interval_s", "goodput_best", "gpu_hours_gained"):
            self.assertIsNone(answer[key], key)
        self.assertGreater(answer["goodput_now"], 0.7)
        self.assertIn("-", self.ask("--mttf", "3h", "--save", "0s", "--restart", "10m", "--interval", "1h"))

    def test_what_is_not_given_is_null(self) -> None:
        answer = self.what_if("--mttf", "3h")
        for key in NUMBERS + ["mttf_ci_hours", "failures", "save_s", "restart_s", "interval_s", "gpus"]:
            self.assertIsNone(answer[key], key)
        self.assertEqual(answer["advice"], [])
        self.assertEqual(len(answer["notes"]), 2)

    def test_gains_are_a_days(self) -> None:
        answer = self.what_if("--mttf", "3h", "--save", "1m", "--restart", "10m", "--interval", "1h", "--gpus", "1024",
                              "--gpu-hour", "2.5")
        gain = answer["goodput_best"] - answer["goodput_now"]
        self.assertAlmostEqual(answer["gpu_hours_gained"], gain * 1024 * 24)
        self.assertAlmostEqual(answer["money_gained"], gain * 1024 * 24 * 2.5)
        self.assertEqual(len(answer["advice"]), 1)
        self.assertIn("checkpoint every 18m", answer["advice"][0]["action"])

    def test_hopeless_cases_are_told(self) -> None:
        text = self.ask("--mttf", "1m", "--save", "3m", "--restart", "10m", "--interval", "1m")
        self.assertIn("note: a restart takes 10m00s", text)
        self.assertIn("note: a save takes 3m00s", text)
        self.assertEqual(self.what_if("--mttf", "1m", "--save", "3m", "--restart", "1m")["daly_s"], 60)
        extreme = self.what_if("--mttf", "1ms", "--save", "36000d", "--restart", "36000d", "--interval", "36000d")
        self.assertEqual(extreme["goodput_now"], 0)

    def test_fits_a_terminal(self) -> None:
        for args in (["--mttf", "36000d", "--save", "36000d", "--restart", "36000d", "--interval", "36000d", "--gpus", "1000000000",
                      "--gpu-hour", "999999999"],
                     ["--nodes", "16384", "--failures-per-node-day", "0.000123", "--save", "1m", "--restart", "10m"],
                     ["7", "--config", self.config, "--no-refresh", "--db", self.db[12], "--gpu-hour", "2"]):
            for line in self.ask(*args).splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_nonsense_is_2_and_one_line(self) -> None:
        for words in ([], ["--mttf", "3"], ["--mttf", "0s"], ["--mttf=-3h"], ["--mttf", "nan"], ["--mttf", "inf"],
                      ["--save", "1m"], ["--nodes", "8"], ["--failures-per-node-day", "0.1"],
                      ["--nodes", "0", "--failures-per-node-day", "0.1"], ["--nodes", "1.5", "--failures-per-node-day", "0.1"],
                      ["--nodes", "8", "--failures-per-node-day", "0"], ["--nodes", "8", "--failures-per-node-day", "nan"],
                      ["--nodes", "8", "--failures-per-node-day", "inf"], ["--nodes", "8", "--failures-per-node-day=-1"],
                      ["--mttf", "3h", "--nodes", "8", "--failures-per-node-day", "0.1"], ["--mttf", "3h", "--interval", "0s"],
                      ["--mttf", "3h", "--save", "soon"], ["--mttf", "3h", "--gpus", "0"], ["--mttf", "3h", "--gpu-hour=-1"],
                      ["--mttf", "3h", "--gpu-hour", "cheap"], ["7", "--run", "r"], ["x"], ["7", "--db", "/nonexistent/x.db"],
                      ["--mttf", "3h", "--frobnicate"]):
            with self.subTest(words=words):
                done = run_it("advise", *words) if "7" not in words else run_it("advise", "--config", self.config, *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertRegex(done.stderr, r"\Asgoodput: [^\n]+\n\Z")

    def test_a_job_that_is_not_there_is_1(self) -> None:
        done = run_it("advise", "8", "--config", self.config, "--no-refresh", "--db", self.db[0])
        self.assertEqual((done.returncode, done.stdout), (1, ""))

    # --- advice on a run

    def test_a_run_that_fails_often_is_measured_and_advised(self) -> None:
        answer = self.job(12)
        self.assertEqual((answer["failures"], answer["gpus"], answer["nodes"]), (12, 16, 2))
        self.assertAlmostEqual(answer["mttf_hours"], answer["up_hours"] / 12)
        low, high = answer["mttf_ci_hours"]
        self.assertLess(low, answer["mttf_hours"])
        self.assertGreater(high, answer["mttf_hours"])
        self.assertAlmostEqual(answer["save_s"], 20, delta=0.01)
        self.assertAlmostEqual(answer["interval_s"], 1200, delta=0.01)
        self.assertAlmostEqual(answer["restart_s"], 5 + 150, delta=1)
        self.assertIn("checkpoint every 6m", answer["advice"][[a["at_most"] for a in answer["advice"]].index(False)]["action"])
        self.assertTrue(any("node n2" in advice["action"] for advice in answer["advice"]))
        gains = [advice["gain"] for advice in answer["advice"] if advice["gain"] is not None]
        self.assertEqual(gains, sorted(gains, reverse=True))
        self.assertEqual(self.what_if("--run", "r", "--config", self.config, "--no-refresh", "--db", self.db[12]), answer)

    def test_too_few_failures_are_said_to_be_few(self) -> None:
        none = self.job(0)
        self.assertIsNone(none["mttf_hours"])
        self.assertIsNone(none["mttf_ci_hours"][1])
        self.assertAlmostEqual(none["mttf_ci_hours"][0], none["up_hours"] / 2.302585, places=5)
        self.assertTrue(any("too few" in note for note in none["notes"]))
        for answer in (none, self.job(1)):
            self.assertFalse([advice for advice in answer["advice"] if "checkpoint every" in advice["action"]])
        self.assertTrue(any("few" in note for note in self.job(1)["notes"]))

    def test_what_is_given_wins_over_what_was_measured(self) -> None:
        answer = self.job(12, "--mttf", "5h", "--save", "2s", "--restart", "30s", "--interval", "10m", "--gpus", "64")
        self.assertEqual((answer["mttf_hours"], answer["save_s"], answer["restart_s"], answer["interval_s"], answer["gpus"]),
                         (5, 2, 30, 600, 64))
        self.assertIsNone(answer["mttf_ci_hours"])
        self.assertEqual(self.job(12, "--failures-per-node-day", "2")["mttf_hours"], 6)


if __name__ == "__main__":
    unittest.main(verbosity=2)
