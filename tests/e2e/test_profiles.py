#!/usr/bin/python3
"""Log profiles against what the frameworks print: transcripts made from their own format strings, with hostile noise.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_profiles

The truth is the transcript's own list of what happened. No cluster.
"""

import base64
import calendar
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Dict, List, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
SGOODPUT = os.path.join(os.path.dirname(TESTS), os.environ.get("GOODPUT_BUILD", "build"), "tools", "sgoodput", "sgoodput")
S = 1_000_000_000


def transcript(name: str, *options: str) -> Dict:
    made = subprocess.run([sys.executable, os.path.join(TESTS, "trainer", "transcript.py"), name, "--json"] + list(options),
                          stdout=subprocess.PIPE, check=True)
    return json.loads(made.stdout)


class RandomRun:
    """The output of a framework in a random run: several starts, saves, evaluations, restarts from the last save."""
    FRAMEWORKS = ("megatron", "megatron-10", "deepspeed", "torchtitan", "maxtext")

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.random, self.lines = name, random.Random("%s %d" % (name, seed)), []  # type: str, random.Random, List[Tuple[float, str]]
        self.at = self.random.uniform(0, 1)
        self.step_s = math.exp(self.random.uniform(math.log(0.1), math.log(6)))
        self.every = 10 if name == "megatron-10" else 1
        self.save_every = self.every * self.random.randint(12, 30)
        first = 1
        for start in range(self.random.randint(1, 3)):
            first = self.start(first, start)

    def say(self, text: str) -> None:
        self.lines.append((self.at, text))

    def start(self, first: int, number: int) -> int:
        self.at += self.random.uniform(5, 90) if number else 0
        megatron = self.name.startswith("megatron")
        if megatron:
            self.say("[before the start of training step] datetime: %T ")
        elif self.name == "torchtitan":
            self.say("[titan] %t - root - INFO - Training starts at step %d".replace("%d", str(first)))
        elif self.name == "deepspeed" and number:
            self.say("[%%t] [INFO] [torch_checkpoint_engine.py:29:load] [Torch] Loaded checkpoint from out/global_step%d/mp_rank_00.pt." % (first - 1))
        kept, took = first - 1, 0.0
        for step in range(first, first + self.save_every * self.random.randint(1, 4) + self.random.randint(1, self.save_every - 1)):
            seconds = self.step_s * self.random.uniform(0.99, 1.01)
            self.at += seconds
            took += seconds
            if step % self.every == 0:
                self.step(step, took / self.every)
                took = 0.0
            if step % self.save_every == 0:
                self.save(step)
                kept = step
            elif self.random.random() < 0.01 and megatron and step % self.every == 0:
                self.at += self.random.uniform(1, 8)  # an evaluation whose times are not printed
        return kept + 1

    def step(self, step: int, seconds: float) -> None:
        if self.name.startswith("megatron"):
            self.say(" [%%T] iteration %8d/  100000 | consumed samples: 7 | elapsed time per iteration (ms): %.1f |" % (step, seconds * 1000))
        elif self.name == "deepspeed":
            self.say("[%%t] [INFO] [logging.py:107:log_dist] [Rank 0] step=%d, skipped=0, lr=[1e-05], mom=[[0.9, 0.95]]" % step)
        elif self.name == "torchtitan":
            self.say("[titan] %%t - root - INFO - step: %2d  loss:  7.12345  grad_norm:  1.2345" % step)
        else:
            self.say("I%%g 140110937163584 metric_logger.py:214] completed step: %d, seconds: %.3f, total_weights: 5480, loss: 0.693" % (
                step - 1, seconds))

    def save(self, step: int) -> None:
        begins, ends = {
            "megatron": ("[%T] saving checkpoint at iteration {0:7d} to /ckpt", "  [%T] successfully saved checkpoint from iteration {0:7d} to /ckpt"),
            "deepspeed": ("[%t] [INFO] [Torch] Checkpoint global_step{0} is about to be saved!", "[%t] [INFO] [Torch] Checkpoint global_step{0} is ready now!"),
            "torchtitan": ("[titan] %t - root - INFO - Saving the checkpoint.", "[titan] %t - root - INFO - Finished saving the checkpoint in {2:.2f} seconds."),
            "maxtext": ("I%g 140110937163584 checkpoint_manager.py:1527] [process=0] Saving checkpoint at step {1}",
                        "I%g 140110937163584 checkpoint_manager.py:1601] [process=0][thread=MainThread][step={1}] Finished synchronous save."),
        }[self.name.split("-")[0]]
        seconds = self.random.uniform(0.3, 20)
        self.say(begins.format(step, step - 1, seconds))
        self.at += seconds
        self.say(ends.format(step, step - 1, seconds))

    def text(self, form: str = "%06d") -> str:
        lines = []
        for at, text in self.lines:
            when = time.gmtime(1787392800 + int(at))
            micro = int(at % 1 * 1_000_000)
            whole = time.strftime("%Y-%m-%d %H:%M:%S", when)
            for mark, value in (("%T", whole + ".%06d" % micro), ("%t", whole + ",%03d" % (micro // 1000)),
                                ("%g", time.strftime("%m%d %H:%M:%S", when) + ".%06d" % micro)):
                text = text.replace(mark, value)
            lines.append(text)
        return "\n".join(lines) + "\n"

    def cut(self) -> str:
        return re.sub(r"(\d\d:\d\d:\d\d)([.,])(\d+)", lambda found: found.group(1) + found.group(2) + "0" * len(found.group(3))
                      if self.name != "megatron" else found.group(1), self.text())


class ProfilesTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.dir = temporary.name

    def path(self, name: str) -> str:
        return os.path.join(self.dir, name)

    def run_it(self, *args: str, status: int = 0) -> str:
        env = dict(os.environ, GOODPUT_CONF=self.path("goodput.conf"), TZ="UTC")
        done = subprocess.run([SGOODPUT] + list(args), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        self.assertEqual(done.returncode, status, "%s\n%s\n%s" % (args, done.stdout, done.stderr))
        self.error = done.stderr
        return done.stderr if status == 2 else done.stdout

    def write(self, name: str, made: Dict) -> str:
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(base64.b64decode(made["text"]))
        last = max(chunk["t_ns"] for chunk in made["chunks"])
        os.utime(path, ns=(last, last))
        return path

    def imported(self, log: str, profile: str) -> Dict:
        with open(self.path("goodput.conf"), "w") as file:
            file.write("database = %s\nspool = %s\n" % (self.path("db"), self.path("spool")))
        self.run_it("import", "--run", "x", "--log-profile=" + profile, log)
        return json.loads(self.run_it("show", "--run", "x", "--json", "--no-refresh"))["jobs"][0]

    def judge(self, name: str, profile: str, made: Dict, within_s: float, save_within_s: float) -> None:
        job = self.imported(self.write(name + ".log", made), profile)
        facts = made["facts"]
        starts: List[List[Dict]] = [[step for step in facts["steps"] if step["incarnation"] == i] for i in range(3)]
        message = json.dumps([job["attempts"], job["checkpoints"], facts["saves"], facts["incarnations"]], indent=1)
        self.assertEqual(len(job["attempts"]), 3, message)
        for attempt, start in zip(job["attempts"], starts):
            # The last printed step, or the next one, which had begun.
            told = max(step["step"] for step in start if step["told"])
            self.assertEqual(attempt["first_step"], start[0]["step"], message)
            self.assertIn(attempt["last_step"], (told, told + 1, start[-1]["step"]), message)
        self.assertEqual(job["steps"]["kept"], 50, message)
        # Every save is found, and complete if it was completed.
        self.assertEqual([s["complete_ns"] is not None for s in job["checkpoints"]],
                         [s["complete_ns"] is not None for s in facts["saves"][:len(job["checkpoints"])]], message)
        for shown, true in zip(job["checkpoints"], facts["saves"]):
            self.assertIn(shown["step"], (None, true["step"]), message)
            self.assertEqual(shown["evidence"], "log", message)
            self.assertAlmostEqual(shown["begin_ns"] / S, true["begin_ns"] / S, delta=within_s, msg=message)
            if true["complete_ns"]:
                self.assertAlmostEqual(shown["complete_ns"] / S, true["complete_ns"] / S, delta=save_within_s, msg=message)
        for attempt, start in zip(job["attempts"], starts):
            self.assertLessEqual(attempt["start_ns"] / S, start[0]["begin_ns"] / S + within_s, message)

    def test_megatron(self) -> None:
        self.judge("megatron", "megatron", transcript("megatron"), 0.1, 0.1)

    def test_megatron_with_labels_by_itself(self) -> None:
        self.judge("megatron", "auto", transcript("megatron", "--label", "--seed", "5"), 0.1, 0.1)

    def test_torchtitan(self) -> None:
        made = transcript("torchtitan", "--seed", "3")
        # It prints nothing when an asynchronous save is complete.
        for save in made["facts"]["saves"]:
            if save["async"]:
                save["complete_ns"] = None
        self.judge("torchtitan", "torchtitan", made, 0.1, 0.1)

    def test_maxtext(self) -> None:
        made = transcript("maxtext")
        # According to this output alone, everything after the last save is at risk.
        job = self.imported(self.write("maxtext.log", made), "maxtext")
        self.assertEqual([(a["first_step"], a["last_step"]) for a in job["attempts"]], [(1, 23), (24, 41), (32, 50)])
        self.assertEqual([(s["step"], s["complete_ns"] is not None) for s in job["checkpoints"]],
                         [(s["step"], s["complete_ns"] is not None) for s in made["facts"]["saves"]])
        for shown, true in zip(job["checkpoints"], made["facts"]["saves"]):
            self.assertAlmostEqual(shown["begin_ns"] / S, true["begin_ns"] / S, delta=0.1)
        stalls = [b["seconds"] for b in job["buckets"] if b["name"] == "stall"]
        self.assertAlmostEqual(stalls[0], 12, delta=1)

    def test_deepspeed(self) -> None:
        self.judge("deepspeed", "deepspeed", transcript("deepspeed"), 0.1, 0.1)

    def test_nemo(self) -> None:
        made = transcript("nemo")
        # The interrupted save is not found, because its line is printed at its end.
        made["facts"]["saves"] = [s for s in made["facts"]["saves"] if s["complete_ns"] is not None]
        self.judge("nemo", "nemo", made, 1, 1.1)

    def test_hf(self) -> None:
        made = transcript("hf")
        made["facts"]["saves"] = made["facts"]["saves"][:5]
        made["facts"]["saves"][2]["complete_ns"] = made["facts"]["saves"][2]["blocked_until_ns"]
        job = self.imported(self.write("hf.log", made), "hf")
        self.assertEqual([(a["first_step"], a["last_step"]) for a in job["attempts"]], [(1, 22), (21, 40), (31, 50)])
        for shown, true in zip(job["checkpoints"], made["facts"]["saves"]):
            self.assertEqual(shown["step"], true["step"])
            self.assertAlmostEqual(shown["begin_ns"] / S, true["begin_ns"] / S, delta=0.1)
            self.assertEqual(shown["complete_ns"] is None, true["complete_ns"] is None, shown)

    def test_first_and_last_step_of_each_profile(self) -> None:
        """A start that was told to stop, one that was killed, and one that ended by itself."""
        for name in ("megatron", "torchtitan", "maxtext", "deepspeed", "nemo", "hf", "lightning", "composer"):
            for seed in ("1", "6"):
                made = transcript(name, "--seed", seed)
                job = self.imported(self.write(name + ".log", made), name)
                os.remove(self.path("db"))
                truth = []
                for number in range(3):
                    steps = [step for step in made["facts"]["steps"] if step["incarnation"] == number]
                    told = [step["step"] for step in steps if step["told"]]
                    # MaxText's save shows that the step whose line it delays was done.
                    last = max(step["step"] for step in steps if step["end_ns"]) if name == "maxtext" else max(told)
                    truth.append((steps[0]["step"], last))
                self.assertEqual([(a["first_step"], a["last_step"]) for a in job["attempts"]], truth, name)

    def test_megatrons_progress_file(self) -> None:
        with open(self.path("progress.txt"), "w") as file:
            for second, what in ((0, "Starting job"), (100, "Saved checkpoint\tIteration: 10\tJob throughput: 1.0 TFLOP/s/GPU"),
                                 (200, "Saving async checkpoint\tIteration: 20"), (260, "Saved async checkpoint\tIteration: 20"),
                                 (400, "Starting job"), (500, "Saving async checkpoint\tIteration: 30")):
                file.write("2026-08-22 10:%02d:%02d\tJob ID: 7\t# GPUs: 16\t%s\n" % (second // 60, second % 60, what))
        job = self.imported(self.path("progress.txt"), "megatron-progress")
        self.assertEqual([(s["step"], s["complete_ns"] is not None) for s in job["checkpoints"]], [(10, True), (20, True), (30, False)])
        self.assertEqual(len(job["attempts"]), 2)
        self.assertEqual(job["attempts"][1]["start_ns"] - job["attempts"][0]["start_ns"], 400 * S)

    def test_lightning_and_composer_without_a_time(self) -> None:
        for name in ("lightning", "composer"):
            made = transcript(name)
            job = self.imported(self.write(name + ".log", made), name)
            self.assertEqual(job["steps"]["kept"], 50, name)
            os.remove(self.path("db"))

    def buckets(self, text: str, profile: str, *options: str, run: str = "x") -> Dict[str, float]:
        with open(self.path("goodput.conf"), "w") as file:
            file.write("database = %s\nspool = %s\n" % (self.path("db"), self.path("spool")))
        with open(self.path("log"), "w") as file:
            file.write(text)
        self.run_it("import", "--run", run, "--log-profile=" + profile, *options, self.path("log"))
        self.import_error = self.error
        self.job = json.loads(self.run_it("show", "--run", run, "--json", "--no-refresh"))["jobs"][0]
        os.remove(self.path("db"))
        return {bucket["name"]: bucket["seconds"] for bucket in self.job["buckets"] if bucket["seconds"]}

    def test_all_wordings_of_a_save_are_one(self) -> None:
        """Killed 50 s after a save, with the messages of each release: the saved steps are kept."""
        def log(begin: str, end: str) -> str:
            at = "2026-08-22 10:%02d:%02d.250000"
            lines = ["[before the start of training step] datetime: " + at % (0, 0)]
            lines += [" [%s] iteration %8d/     500 | elapsed time per iteration (ms): 5000.0 |" % (at % (s // 60, s % 60), s // 5)
                      for s in range(5, 505, 5)]
            lines += [begin, "[%s] something" % (at % (8, 30)), end]
            lines += [" [%s] iteration %8d/     500 | elapsed time per iteration (ms): 5000.0 |" % (at % (s // 60, s % 60), (s - 10) // 5)
                      for s in range(515, 565, 5)]
            lines += ["slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-08-22T10:09:22 DUE TO NODE FAILURE ***"]
            return "\n".join(lines) + "\n"
        path = "/ckpt/iter_0000100/mp_rank_00/model_optim_rng.pt"
        truth = self.buckets(log("saving checkpoint at iteration     100 to /ckpt in torch_dist format",
                                 "  successfully saved checkpoint from iteration     100 to /ckpt [ t 1/1, p 1/1 ]"), "megatron")
        self.assertAlmostEqual(truth["productive"], 500, delta=1)
        self.assertAlmostEqual(truth["lost_work"], 52, delta=1)
        self.assertAlmostEqual(truth["checkpoint_save"], 10, delta=1)
        for begin, end in (("saving checkpoint at iteration     100 to /ckpt", "  successfully saved checkpoint at iteration     100 to /ckpt"),
                           ("global rank 0 is saving checkpoint at iteration     100 to " + path, "  successfully saved " + path)):
            self.assertEqual(self.buckets(log(begin, end), "megatron"), truth, end)

    @staticmethod
    def megatron_lines(first: int, last: int, at_s: int, each_s: int = 5) -> List[str]:
        """Steps of one second each; the first begins at_s after ten o'clock."""
        lines = []
        for step in range(first, last + 1):
            at_s += each_s
            lines.append(" [2026-08-22 10:%02d:%02d.250000] iteration %8d/     500 | elapsed time per iteration (ms): %d.0 |" % (
                at_s // 60, at_s % 60, step, each_s * 1000))
        return lines

    def test_a_program_lives_on_behind_slurms_word(self) -> None:
        lines = ["[before the start of training step] datetime: 2026-08-22 10:00:00.250000"] + self.megatron_lines(1, 20, 0)
        lines += ["[2026-08-22 10:01:40.250000] saving checkpoint at iteration      20 to /ckpt in torch_dist format",
                  "  [2026-08-22 10:01:42.250000] successfully saved checkpoint from iteration      20 to /ckpt [ t 1/1, p 1/1 ]"]
        lines += self.megatron_lines(21, 28, 102)
        lines += ["slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-08-22T10:02:22 DUE TO TIME LIMIT ***",
                  "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-08-22T10:02:22 DUE TO TIME LIMIT ***"]
        lines += self.megatron_lines(29, 33, 142)
        text = "\n".join(lines) + "\n"
        alone = self.buckets(text, "megatron")
        self.assertEqual([(a["state"], a["first_step"]) for a in self.job["attempts"]], [("TIMEOUT", 1)])
        self.assertEqual([(i["cause"], i["planned"]) for i in self.job["interruptions"]], [("timeout", True)])
        self.assertAlmostEqual(alone["productive"], 100, delta=1)
        self.assertAlmostEqual(alone["lost_work"] + alone.get("drain", 0), 65, delta=1)

        # As in a job's output: 7 ended at 10:02:52, with KillWait.
        with open(self.path("jobs.txt"), "w") as file:
            file.write("Cluster|JobIDRaw|JobID|Submit|Eligible|Start|End|State|ExitCode|User|Account|Partition|QOS|NNodes|NodeList|AllocTRES|"
                       "Reason|AdminComment\nc1|7|7|%d|%d|%d|%d|TIMEOUT|0:0|ada|ml|a3|normal|1|n1|gres/gpu=8||\n" % tuple(
                           calendar.timegm((2026, 8, 22, 10, 0, 0)) + s for s in (-60, -60, -10, 172)))
        self.run_it("import", self.path("jobs.txt"))
        self.run_it("import", "-j", "7", "--log-profile=megatron", self.path("log"))
        job = json.loads(self.run_it("show", "7", "--json", "--no-refresh"))["jobs"][0]
        self.assertEqual([i["cause"] for i in job["interruptions"]], ["timeout"])
        joined = {bucket["name"]: bucket["seconds"] for bucket in job["buckets"]}
        self.assertAlmostEqual(joined["productive"], 100, delta=1)

    def test_asynchronous_saves_at_a_logs_end(self) -> None:
        """The loop waits for 6 of the 300 s of the save; the second save begins before the first is complete."""
        for done in ("  [2026-08-22 10:%02d:%02d.250000] successfully saved checkpoint from iteration %7d to /ckpt [ t 1/1, p 1/1 ]",
                     "  successfully saved checkpoint from iteration %7d to /ckpt"):
            lines = ["[before the start of training step] datetime: 2026-08-22 10:00:00.250000"] + self.megatron_lines(1, 20, 0)
            lines += ["[2026-08-22 10:01:40.250000] saving checkpoint at iteration      20 to /ckpt in torch_dist format",
                      "  [2026-08-22 10:01:46.250000] scheduled an async checkpoint save at iteration      20 to /ckpt"]
            lines += self.megatron_lines(21, 40, 106)
            lines += ["[2026-08-22 10:03:26.250000] saving checkpoint at iteration      40 to /ckpt in torch_dist format",
                      done % ((3, 28, 20) if "%02d" in done else 20),
                      "  [2026-08-22 10:03:32.250000] scheduled an async checkpoint save at iteration      40 to /ckpt"]
            lines += self.megatron_lines(41, 60, 212) + ["[2026-08-22 10:08:32.250000] still alive"]
            found = self.buckets("\n".join(lines) + "\n", "megatron")
            self.assertAlmostEqual(found["checkpoint_save"], 12, delta=0.1)
            self.assertEqual([(c["step"], c["complete_ns"] is not None) for c in self.job["checkpoints"]], [(20, True), (40, False)])

    def test_asynchronous_saves_of_nemo(self) -> None:
        lines, at = [], 0
        def stamp(s: int) -> str:
            return "[NeMo I 2026-08-22 10:%02d:%02d nemo_logging:393]" % (s // 60, s % 60)
        def steps(first: int, last: int, begin: int) -> None:
            for step in range(first, last + 1):
                begin += 5
                lines.append("Training epoch 0, iteration %d/99 | lr: 1e-05 | global_step: %d | train_step_timing in s: 5.0" % (
                    step - 1, step - 1))
        lines.append(stamp(0) + " begins")
        steps(1, 20, 0)
        at = 1787392900  # 10:01:40
        lines += ["%s Global Checkpoint Save : Rank: 0 : Iteration: 19 : Start time: %d.000s : Save duration: 6.000s" % (stamp(106), at),
                  "%s Scheduled async checkpoint save for /ckpt/step=19.ckpt" % stamp(106)]
        steps(21, 40, 106)
        lines += ["%s Successfully saved checkpoint from iteration      19 to /ckpt/step=19.ckpt" % stamp(206),
                  "%s Async checkpoint save for step 20 (/ckpt/step=19.ckpt) finalized successfully." % stamp(206),
                  "%s Global Checkpoint Save : Rank: 0 : Iteration: 39 : Start time: %d.000s : Save duration: 6.000s" % (stamp(212), at + 106),
                  "%s Scheduled async checkpoint save for /ckpt/step=39.ckpt" % stamp(212)]
        steps(41, 60, 212)
        lines += [stamp(600) + " still alive"]
        found = self.buckets("\n".join(lines) + "\n", "nemo")
        self.assertAlmostEqual(found["checkpoint_save"], 12, delta=1)
        self.assertEqual([(c["step"], c["complete_ns"] is not None) for c in self.job["checkpoints"]], [(20, True), (40, False)])

    def test_a_save_whose_end_this_release_does_not_print(self) -> None:
        """Older releases of DeepSpeed printed that a checkpoint was ready; newer ones do not."""
        told = transcript("deepspeed", "--seed", "4")
        text = base64.b64decode(told["text"]).decode("utf-8", "replace")
        truth = self.buckets(text, "deepspeed")
        silent = self.buckets("\n".join(line for line in text.split("\n") if "is ready now!" not in line), "deepspeed")
        # No step follows the last one.
        self.assertAlmostEqual(silent["productive"] + silent["at_risk"], truth["productive"], delta=1)
        self.assertEqual([save["complete_ns"] is not None for save in self.job["checkpoints"]][:-1],
                         [save["complete_ns"] is not None for save in told["facts"]["saves"]][:-1])

    def test_a_clock_that_is_set_back_interrupts_nothing(self) -> None:
        lines = [line for step in range(1, 61)
                 for line in self.megatron_lines(step, step, step * 5 - 5 - (30 if step > 30 else 0))]
        lines.insert(0, '[1970-01-01 00:00:00.000000] saving nothing')
        found = self.buckets("\n".join(lines) + "\n", "megatron")
        self.assertEqual(len(self.job["attempts"]), 1)
        self.assertEqual(self.job["interruptions"], [])
        self.assertAlmostEqual(sum(found.values()), 300, delta=0.1)

    # --- lines without times, and of other programs

    def test_a_log_without_a_time_is_placed_by_what_steps_took(self) -> None:
        lines = [" iteration %8d/     500 | elapsed time per iteration (ms): 5000.0 |" % step for step in range(1, 41)]
        text = "\n".join(lines) + "\n"
        found = self.buckets(text, "megatron", "--start", "2026-08-22T10:00:00")
        self.assertEqual(sum(found.values()), 200)
        self.assertAlmostEqual(self.job["submit_ns"] / S, 1787392800, delta=1)
        self.assertEqual((self.job["attempts"][0]["first_step"], self.job["attempts"][0]["last_step"]), (1, 40))
        self.assertEqual(self.job["steps"]["median_s"], 5)
        placed = "no line has a time: placed by the durations of steps, from %s on"
        self.assertIn(placed % "2026-08-22T10:00:00" + "\n", self.import_error)
        # There are no times: steps are counted, but not timed.
        self.buckets("".join("[batch=%d/50]:\n" % step for step in range(1, 21)), "composer")
        self.assertEqual(self.job["wall_ns"], 0)

    def test_a_metric_logger_in_epochs_and_of_dinov2(self) -> None:
        def line(header: str, n: int, of: int) -> str:
            return "%s  [%*d/%d]  eta: 0:00:10  loss: 6.9 (7.1)  time: 0.5000  data: 0.0100  max mem: 9811\n" % (header, len(str(of)), n, of)
        text = ""
        for epoch in range(2):
            text += "".join(line("Epoch: [%d]" % epoch, n, 300) for n in list(range(0, 300, 10)) + [299])
            text += "Epoch: [%d] Total time: 0:02:30 (0.5000 s / it)\n" % epoch + "".join(line("Test:", n, 40) for n in range(0, 40, 10))
        for profile in ("metric-logger", "auto"):
            found = self.buckets(text, profile, "--start", "2026-08-22T10:00:00")
            self.assertEqual((len(self.job["attempts"]), self.job["attempts"][0]["last_step"]), (1, 600))
            self.assertAlmostEqual(sum(found.values()), 300, delta=0.01)
            self.assertEqual(self.job["steps"]["median_s"], 0.5)
        # The save of iteration 59, counted from 0, took 4 s before that iteration was printed.
        text = "I20260822 10:00:00 90 dinov2 train.py:205] Starting training from iteration 0\n"
        for n in range(0, 120):
            at = n + 1 + (4 if n >= 59 else 0)
            if n == 59:
                text += "I20260822 10:01:00 90 fvcore.common.checkpoint checkpoint.py:124] Saving checkpoint to /out/model_0000059.rank_0.pth\n"
            if n % 10 == 0 or n in (59, 119):
                text += line("I20260822 10:%02d:%02d 90 dinov2 helpers.py:102] Training" % (at // 60, at % 60), n, 125000)
        found = self.buckets(text, "auto")
        self.assertEqual([save["step"] for save in self.job["checkpoints"]], [60])
        self.assertAlmostEqual(found["checkpoint_save"], 4, delta=1)
        self.assertEqual((self.job["attempts"][0]["first_step"], self.job["attempts"][0]["last_step"]), (1, 120))
        self.assertEqual(self.job["steps"]["kept"], 60)

    def test_saves_without_steps_are_said_to_be_that(self) -> None:
        text = "2022-07-21 09:49:05,973 - INFO: ===> Epoch 252 Complete: Avg. Loss: 0.01 time: 657.89\n"
        text += "2022-07-21 09:49:07,073 - INFO: Checkpoint saved to ./exp/model_epoch_252.pth\n"
        self.buckets(2 * text, "auto")
        self.assertIn("no steps are found; ", self.import_error)

    def test_epochs_count_as_steps_if_asked_to(self) -> None:
        text = ""
        for epoch in range(6):
            text += "2025-02-24 22:%02d:16.635 INFO: Epoch %d: loss=0.1104, MAE_E_per_atom=0.3 meV, MAE_F=19.7 meV / A\n" % (2 * epoch, epoch)
        found = self.buckets(text, "epochs")
        self.assertIn('epochs count as steps, by "Epoch" in 6 lines, from 0 to 5', self.import_error)
        self.assertEqual((self.job["steps"]["count"], self.job["steps"]["median_s"]), (6, 120))
        self.assertAlmostEqual(found["at_risk"], 720, delta=0.01)
        with open(self.path("log"), "w") as file:
            file.write("Epoch 1\nEpoch 2\n")
        self.assertIn("log: no line has an epoch and a loss", self.run_it("import", "--run", "none", "--log-profile=epochs", self.path("log"), status=2))

    def test_nnunet_counts_epochs(self) -> None:
        text = ""
        for epoch in range(3):
            at = 100 * epoch
            for seconds, message in ((0, "Epoch %d " % epoch), (0, "Current learning rate: 0.01 "), (90, "train_loss 0.7088 "), (90, "val_loss 0.46 "),
                                     (90, "Pseudo dice [0.1] "), (90, "Epoch time: 90.0 s "), (100, "")):
                text += "2026-08-22 10:%02d:%02d.910043: %s\n" % ((at + seconds) // 60, (at + seconds) % 60, message)
        for profile in ("nnunet", "auto"):
            found = self.buckets(text + "2026-08-22 10:05:00.910043: Training done. \n", profile)
            self.assertEqual(self.job["steps"]["count"], 3)
            self.assertEqual(self.job["steps"]["median_s"], 90)
            self.assertAlmostEqual(found["productive"], 270, delta=0.01)

    def test_ultralytics_counts_the_steps_of_its_epochs(self) -> None:
        text = ""
        for epoch in (1, 2):
            for n in range(0, 17, 2):
                old = "\r      %d/100      6.73G      1.081     0.4706         10        640: %3d%%|###   | %d/16 [00:%02d<00:05,  2.00it/s]"
                new = "\r\x1b[K      %d/100      6.73G      1.081     0.4706         10        640: %d%% ━━━━╸─────── %d/16 2.0it/s %d.0s<5.0s"
                text += (old if epoch == 1 else new) % (epoch, 100 * n // 16, n, n // 2)
            text += "\n                 Class     Images  Instances      mAP50  mAP50-95): 100%|######| 8/8 [00:03<00:00,  2.17it/s]\n"
        self.buckets(text, "auto")
        self.assertEqual((len(self.job["attempts"]), self.job["attempts"][0]["last_step"]), (1, 32))

    def test_a_stamp_in_front_is_the_lines_time(self) -> None:
        plain = [" iteration %8d/     500 | elapsed time per iteration (ms): 5000.0 |" % step for step in range(1, 21)]
        for front in ("2026-08-22T10:%02d:%02d.123Z ", "[2026-08-22T10:%02d:%02d.123Z] ", "node1  | 2026-08-22T10:%02d:%02d.123456789Z ",
                      "[pod/train-0/main] 2026-08-22T10:%02d:%02d.123Z "):
            text = "\n".join((front % (s // 60, s % 60)) + line for s, line in zip(range(5, 105, 5), plain)) + "\n"
            self.assertAlmostEqual(sum(self.buckets(text, "megatron").values()), 100, delta=0.01, msg=front)
            self.assertAlmostEqual(self.job["submit_ns"] / S, 1787392800.123, delta=0.01, msg=front)
        compose = ["trainer-1  | 100%%|##########| %d/690 [%02d:%02d<00:00,  2.74s/it]" % (n, n // 60, n % 60) for n in range(1, 691)]
        self.buckets("\n".join(compose) + "\n", "hf")
        self.assertEqual(self.job["attempts"][0]["last_step"], 690)

    def test_the_bar_that_trains_is_told_by_its_course(self) -> None:
        def bar(step: int, of: int, seconds: int) -> str:
            return "%3d%%|#####     | %d/%d [%02d:%02d<00:00,  1.00it/s]" % (step * 100 // of, step, of, seconds // 60, seconds % 60)
        lines = [bar(n, 3, 0) for n in range(4)] + [bar(n, 600, n) for n in range(0, 301)]
        lines += [bar(n, 8, n) for n in range(9)] + [bar(n, 600, n + 8) for n in range(301, 601)]
        text = "\r".join(lines) + "\n"
        for profile in ("hf", "auto"):
            found = self.buckets(text, profile)
            self.assertEqual((len(self.job["attempts"]), self.job["attempts"][0]["last_step"]), (1, 600))
            self.assertAlmostEqual(sum(found.values()), 608, delta=3)
        said = self.run_it("profile", "test", "-q", "auto", self.path("log"))
        self.assertIn("steps are taken from the progress bar to 600, which was shown longest (608 s, 601 states); ignored: to 3 ", said)

    # --- times in whole seconds

    def test_whole_seconds_give_what_the_uncut_log_gives(self) -> None:
        """In any log whose times are truncated to seconds, every bucket is right within a second per start of the program."""
        for name in RandomRun.FRAMEWORKS:
            for seed in range(int(os.environ.get("GOODPUT_SEEDS", "4"))):
                made = RandomRun(name, seed)
                with self.subTest(framework=name, seed=seed):
                    profile = name.split("-")[0]
                    uncut = self.buckets(made.text(), profile)
                    median, starts = self.job["steps"]["median_s"], len(self.job["attempts"])
                    cut = self.buckets(made.cut(), profile)
                    self.assertEqual(len(self.job["attempts"]), starts)
                    for bucket in set(uncut) | set(cut):
                        off = abs(uncut.get(bucket, 0) - cut.get(bucket, 0))
                        self.assertLessEqual(off, starts, "%s: %s, uncut %s" % (bucket, cut, uncut))
                    self.assertAlmostEqual(self.job["steps"]["median_s"], median, delta=0.1 * median)

    def test_a_quarter_of_a_second_a_step(self) -> None:
        """80 steps of 0.25 s and two saves of 1.5 s, with times in whole seconds."""
        at, lines = 0.4, []
        def stamp() -> str:
            return "2026-08-22 10:00:%02d" % int(at)
        for step in range(1, 81):
            at += 0.25
            lines.append(" [%s] iteration %8d/      80 | elapsed time per iteration (ms): 250.0 |" % (stamp(), step))
            if step % 40 == 0:
                lines.append("[%s] saving checkpoint at iteration %7d to /ckpt in torch_dist format" % (stamp(), step))
                at += 1.5
                lines.append("  [%s] successfully saved checkpoint from iteration %7d to /ckpt" % (stamp(), step))
        lines.append("[after training is done] datetime: %s" % stamp())
        found = self.buckets("\n".join(lines) + "\n", "megatron")
        self.assertAlmostEqual(found["productive"], 20, delta=0.5)
        self.assertAlmostEqual(found["checkpoint_save"], 3, delta=1)
        self.assertLess(found.get("overhead", 0) + found.get("stall", 0), 0.5)
        self.assertAlmostEqual(self.job["steps"]["median_s"], 0.25, delta=0.01)

    def test_noise_is_nobodys_step(self) -> None:
        """Other profiles find nothing in a framework's output."""
        with open(self.path("goodput.conf"), "w"):
            pass
        for name in ("megatron", "torchtitan", "maxtext", "deepspeed", "hf", "lightning", "composer", "nemo"):
            log = self.write(name + ".log", transcript(name, "--seed", "9"))
            for profile in ("megatron", "torchtitan", "maxtext", "deepspeed", "hf", "lightning", "composer", "nemo", "submitit"):
                if profile == name:
                    continue
                said = subprocess.run([SGOODPUT, "profile", "test", "-q", profile, log], stdout=subprocess.PIPE,
                                      env=dict(os.environ, GOODPUT_CONF=self.path("goodput.conf")),
                                      universal_newlines=True, check=False).stdout
                self.assertNotIn("step_end", said, "%s by %s" % (name, profile))
            said = self.run_it("profile", "test", "-q", "auto", log)
            self.assertIn(", profile %s:" % name, said)

    def test_a_sites_own_profile_and_one_that_is_wrong(self) -> None:
        os.mkdir(self.path("profiles"))
        with open(self.path("goodput.conf"), "w") as file:
            file.write("database = %s\nlog_profiles = %s\n" % (self.path("db"), self.path("profiles")))
        with open(self.path("profiles/ours.profile"), "w") as file:
            file.write("profile ours\nabout what we wrote\nrule step_end\nmatch did (?P<step>\\d+)\nexample did 7\ngives step=7\n")
        with open(self.path("log"), "w") as file:
            file.write("did 1\ndid 2\nnothing\n")
        self.assertIn("ours               %s" % self.path("profiles")[:10], self.run_it("profile", "list"))
        self.assertIn("3 lines, profile ours: 2 step_end", self.run_it("profile", "test", "ours", self.path("log")))
        self.assertIn("match did", self.run_it("profile", "show", "ours"))
        self.assertIn("nothing found", self.run_it("profile", "test", "megatron", self.path("log"), status=1))
        with open(self.path("log"), "a") as file:
            file.write("2026-08-22 10:00:00 did 3\n2026-08-22 10:00:05 did 4\n")
        self.run_it("import", "--run", "named", "--log-profile", "ours", self.path("log"))
        own = self.path("own.profile")
        with open(own, "w") as file:
            file.write("profile own\nrule step_end\nmatch :0\\d did (?P<step>\\d+)\nexample 2026-08-22 10:00:00 did 7\ngives step=7 time=2026-08-22T10:00:00\n")
        self.assertIn("2 lines with steps", self.run_it("import", "--run", "own", "--log-profile", own, self.path("log")))
        self.assertIn("No such file", self.run_it("import", "--run", "none", "--log-profile", self.path("megatron.profile"), self.path("log"), status=2))
        shutil.copy(own, self.path("megatron"))
        self.assertIn("a profile's file is NAME.profile",
                      self.run_it("import", "--run", "none", "--log-profile", self.path("megatron"), self.path("log"), status=2))
        self.assertIn("ours  ", self.run_it("profile", "list", "--config", self.path("goodput.conf")))
        with open(self.path("profiles/ours.profile"), "a") as file:
            file.write("example did eight\ngives step=8\n")
        error = self.run_it("profile", "test", "ours", self.path("log"), status=2)
        self.assertEqual(error, "sgoodput: %s:7: the example matches no rule\n" % self.path("profiles/ours.profile"))
        self.assertIn("ours.profile:7: the example matches no rule; the profile is not used", self.run_it("profile", "list", status=2))
        self.assertIn("unknown log profile their", self.run_it("profile", "test", "their", self.path("log"), status=2))
        self.assertIn("cannot be", self.run_it("profile", "test", "megatron", self.path("none"), status=2).replace("No such", "cannot be"))

    def test_import_says_what_is_missing(self) -> None:
        with open(self.path("goodput.conf"), "w") as file:
            file.write("database = %s\n" % self.path("db"))
        with open(self.path("log"), "w") as file:
            file.write("hello\n")
        self.assertIn("profile megatron matches no line", self.run_it("import", "--run", "x", "--log-profile=megatron", self.path("log"), status=2))
        log = self.write("m.log", transcript("megatron"))
        for options in (["--log-profile=megatron"], []):
            self.assertIn("specify the job (-j JOB) or the run (--run NAME)", self.run_it("import", *options, log, status=2))
        self.assertIn("cannot be used together", self.run_it("import", "--run", "x", "--format=sacct", "--log-profile=megatron", log, status=2))
        self.run_it("import", "--run", "x", "--log-profile=megatron", log)
        self.assertIn("unchanged", self.run_it("import", "--run", "x", "--log-profile=megatron", log))
        with open(self.path("undated"), "w") as file:
            file.write(" iteration 1/ 9 | elapsed time per iteration (ms): 3.0 |\n")
        self.run_it("import", "--run", "y", "--log-profile=megatron", self.path("undated"))

    def test_an_empty_log_is_said_to_be_empty(self) -> None:
        empty = self.path("empty.log")
        for path in (empty, self.path("goodput.conf")):
            with open(path, "w"):
                pass
        self.assertEqual(self.run_it("profile", "learn", empty, status=2), "sgoodput: %s: the file is empty\n" % empty)
        self.assertEqual(self.run_it("profile", "test", "auto", empty, status=2), "sgoodput: %s: the file is empty\n" % empty)


if __name__ == "__main__":
    unittest.main()
