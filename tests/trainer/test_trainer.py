#!/usr/bin/python3
"""The trainer: resuming does not change what it learns, and its log is correct."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "e2e", "harness")]
from checkpoint import latest  # noqa: E402
from frameworks import FRAMEWORKS  # noqa: E402
from lateness import lateness  # noqa: E402
from transcript import play  # noqa: E402


class TrainerTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.dir = temporary.name

    def start(self, *options: str, folder: str = "run", env: Dict[str, str] = {}, output: Any = None) -> subprocess.Popen:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "GOODPUT"))}
        clean.update(env)
        return subprocess.Popen([sys.executable, os.path.join(HERE, "trainer.py"), "--dir",
                                 os.path.join(self.dir, folder), "--step-seconds", "0.02"] + list(options), env=clean, stdout=output,
                                stderr=output)

    def truth(self, folder: str = "run", rank: int = 0) -> List[Dict]:
        try:
            with open(os.path.join(self.dir, folder, "truth.%d.jsonl" % rank)) as file:
                return [json.loads(line) for line in file]
        except FileNotFoundError:
            return []

    def wait_for(self, event: str, step: int, folder: str = "run") -> None:
        deadline = time.monotonic() + 60
        while not any(r["event"] == event and r.get("step") == step for r in self.truth(folder)):
            self.assertLess(time.monotonic(), deadline, "no %s of step %d" % (event, step))
            time.sleep(0.005)

    def losses(self, folder: str) -> Dict[int, float]:
        return {r["step"]: r["loss"] for r in self.truth(folder) if r["event"] == "step_end"}

    def test_a_killed_run_resumes_to_exactly_the_same_losses(self) -> None:
        self.assertEqual(self.start("--steps", "30", folder="whole").wait(), 0)
        killed = self.start("--steps", "30", "--save-every", "4", folder="broken")
        self.wait_for("step_begin", 15, "broken")
        killed.kill()
        killed.wait()
        self.assertEqual(self.start("--steps", "30", "--save-every", "4", folder="broken").wait(), 0)
        records = self.truth("broken")
        self.assertEqual([r["step"] for r in records if r["event"] == "restore_end"], [12])
        again = records[[r["event"] for r in records].index("restore_end"):]
        self.assertEqual([r["step"] for r in again if r["event"] == "step_begin"], list(range(13, 31)))
        self.assertEqual(self.losses("broken"), self.losses("whole"))

    def test_after_its_last_save_it_saves_no_more(self) -> None:
        self.assertEqual(self.start("--steps", "9", "--save-every", "3", "--last-save", "4").wait(), 0)
        self.assertEqual([r["step"] for r in self.truth("run") if r["event"] == "save_end"], [3])

    def test_it_learns(self) -> None:
        self.assertEqual(self.start("--steps", "200", "--step-seconds", "0").wait(), 0)
        losses = self.losses("run")
        self.assertLess(sum(losses[s] for s in range(191, 201)), sum(losses[s] for s in range(1, 11)) / 3)

    def test_killed_in_the_middle_of_a_save_the_last_checkpoint_stands(self) -> None:
        run = self.start("--steps", "9", "--save-every", "3", "--save-seconds", "0.3")
        self.wait_for("save_begin", 6)
        time.sleep(0.1)
        run.kill()
        run.wait()
        self.assertEqual(latest(os.path.join(self.dir, "run"))[0], 3)

    def test_usr1_saves_after_the_step_and_goes_on(self) -> None:
        run = self.start("--steps", "20", "--on-signal", "USR1=save")
        self.wait_for("step_begin", 5)
        run.send_signal(signal.SIGUSR1)
        self.assertEqual(run.wait(), 0)
        events = [(r["event"], r.get("step")) for r in self.truth()]
        saved = [step for event, step in events if event == "save_end"]
        self.assertEqual(len(saved), 1)
        at = events.index(("save_begin", saved[0]))
        self.assertEqual(events[at - 1], ("step_end", saved[0]))
        self.assertEqual(events[-2][1], 20)

    def test_term_saves_and_exits_with_the_code(self) -> None:
        run = self.start("--steps", "1000", "--on-signal", "USR1=ignore|TERM=save-exit:7")
        self.wait_for("step_begin", 5)
        run.send_signal(signal.SIGUSR1)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(), 7)
        records = self.truth()
        self.assertEqual({r["signo"] for r in records if r["event"] == "signal"}, {10, 15})
        self.assertEqual(records[-1]["code"], 7)
        self.assertEqual(latest(os.path.join(self.dir, "run"))[0],
                         max(r["step"] for r in records if r["event"] == "step_end"))

    def test_a_signal_it_was_not_told_of_kills(self) -> None:
        run = self.start("--steps", "1000")
        self.wait_for("step_begin", 2)
        run.send_signal(signal.SIGUSR1)
        self.assertEqual(run.wait(), -signal.SIGUSR1)

    def test_it_crashes_once_and_gets_past_it(self) -> None:
        options = ("--steps", "8", "--save-every", "2", "--crash-at-step", "5:3")
        self.assertEqual(self.start(*options).wait(), 3)
        self.assertEqual(self.start(*options).wait(), 0)

    def test_it_crashes_at_each_of_several_steps(self) -> None:
        codes = [self.start("--steps", "8", "--save-every", "2", "--crash-at-step", "3,7").wait() for _ in range(3)]
        self.assertEqual(codes, [1, 1, 0])

    def test_it_fails_before_its_first_step(self) -> None:
        self.assertEqual(self.start("--steps", "8", "--fail-at-start", "4").wait(), 4)
        self.assertEqual([r["event"] for r in self.truth()], ["start", "init_begin", "init_end", "crash"])

    def test_it_hangs(self) -> None:
        run = self.start("--steps", "8", "--hang-at-step", "3")
        self.wait_for("hang", 3)
        time.sleep(0.2)
        self.assertIsNone(run.poll())
        run.kill()
        run.wait()

    def test_training_goes_on_during_an_asynchronous_save(self) -> None:
        self.assertEqual(self.start("--steps", "20", "--save-every", "10", "--save-seconds", "0.15",
                                    "--async-save").wait(), 0)
        events = [(r["event"], r.get("step")) for r in self.truth()]
        self.assertLess(events.index(("step_begin", 12)), events.index(("save_end", 10)))
        self.assertIn(("save_end", 20), events)

    def test_durations_are_what_was_asked_for(self) -> None:
        self.assertEqual(self.start("--steps", "4", "--step-seconds", "0.2", "--init-seconds", "0.3", "--save-every",
                                    "2", "--save-seconds", "0.2", "--eval-every", "4", "--eval-seconds", "0.1").wait(), 0)
        at = {(r["event"], r.get("step")): r["t"] / 1e9 for r in self.truth()}
        for name, step, seconds in (("init", 0, 0.3), ("step", 1, 0.2), ("save", 2, 0.2), ("evaluation", 4, 0.1)):
            took = at[(name + "_end", step)] - at[(name + "_begin", step)]
            self.assertTrue(seconds - 0.01 <= took <= seconds + 0.08 * lateness(), "%s took %s s" % (name, took))

    def test_only_rank_0_saves(self) -> None:
        for rank in ("0", "1"):
            self.assertEqual(self.start("--steps", "2", "--save-every", "1", env={"SLURM_PROCID": rank},
                                        folder="rank" + rank).wait(), 0)
        self.assertIsNotNone(latest(os.path.join(self.dir, "rank0")))
        self.assertIsNone(latest(os.path.join(self.dir, "rank1")))
        self.assertEqual(len(self.truth("rank1", rank=1)), len(self.truth("rank0")))

    def test_marks_arrive_in_order_with_their_identity(self) -> None:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(server.close)
        name = "goodput-trainer-test-%d" % os.getpid()
        server.bind("\0" + name)
        server.listen(5)
        env = {"GOODPUT_SOCKET": "@" + name, "SLURM_JOB_ID": "12", "SLURM_STEP_ID": "0", "SLURMD_NODENAME": "n1"}
        before = time.monotonic_ns()
        run = self.start("--steps", "2", "--save-every", "2", "--marks", env=env)
        peer, _ = server.accept()
        self.addCleanup(peer.close)
        marks = []
        while True:
            message = peer.recv(4096)
            if not message:
                break
            marks.append(json.loads(message.decode()))
        self.assertEqual(run.wait(), 0)
        self.assertEqual([(m["mark"], m["edge"], m.get("train_step"), m.get("name")) for m in marks],
                         [("phase", "begin", None, "init"), ("phase", "end", None, "init"),
                          ("step", "begin", 1, None), ("step", "begin", 2, None),
                          ("checkpoint", "begin", 2, None), ("checkpoint", "end", 2, None)])
        for mark in marks:
            self.assertEqual([mark[key] for key in ("v", "job", "slurm_step", "task", "node")], [1, 12, "0", 0, "n1"])
            self.assertTrue(before < mark["m"] < time.monotonic_ns())

    def test_without_a_listener_marks_are_dropped_counted_and_cost_nothing(self) -> None:
        begin = time.monotonic()
        self.assertEqual(self.start("--steps", "10", "--marks", env={"GOODPUT_SOCKET": "@nobody-listens"}).wait(), 0)
        self.assertLess(time.monotonic() - begin, 3 * lateness())
        self.assertEqual(self.truth()[-1]["marks_dropped"], 12)

    def test_a_listener_that_never_reads_does_not_slow_training(self) -> None:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(server.close)
        path = os.path.join(self.dir, "socket")
        server.bind(path)
        server.listen(1)
        self.assertEqual(self.start("--steps", "1500", "--step-seconds", "0", "--marks",
                                    env={"GOODPUT_SOCKET": path}).wait(timeout=60), 0)
        self.assertGreater(self.truth()[-1]["marks_dropped"], 0)

    def test_marks_by_command(self) -> None:
        command = os.path.join(self.dir, "mark")
        with open(command, "w") as file:
            file.write('#!/bin/sh\necho "$@" >>%s/said\n' % self.dir)
        os.chmod(command, 0o755)
        self.assertEqual(self.start("--steps", "2", "--save-every", "2", "--mark-command", command + " mark").wait(), 0)
        with open(os.path.join(self.dir, "said")) as file:
            said = file.read().splitlines()
        self.assertEqual(said, ["mark phase init begin", "mark phase init end", "mark step 1", "mark step 2",
                                "mark checkpoint begin 2", "mark checkpoint end 2"])

    def test_as_each_framework_it_saves_and_goes_on_from_the_last_whole_checkpoint(self) -> None:
        self.assertEqual(self.start("--steps", "14", folder="whole").wait(), 0)
        options = ("--steps", "14", "--save-every", "5", "--noise", "--eval-every", "4", "--log-every", "1")
        with open(os.path.join(self.dir, "output"), "wb") as output:
            killed = {name: self.start("--framework", name, "--save-seconds", "2", *options, folder=name, output=output)
                      for name in FRAMEWORKS}

            def kill_in_its_second_save(name: str) -> None:
                # MaxText logs the first step, the sixth and so on.
                first, second = (1, 6) if name == "maxtext" else (5, 10)
                self.wait_for("save_end", first, name)
                self.wait_for("save_begin", second, name)
                time.sleep(0.1)
                killed[name].kill()
                killed[name].wait()
                self.assertEqual(latest(os.path.join(self.dir, name), FRAMEWORKS[name].layout)[0], first, name)

            # All at once: the second save of the last would otherwise be over before its turn.
            with ThreadPoolExecutor(len(killed)) as pool:
                list(pool.map(kill_in_its_second_save, killed))
            again = {name: self.start("--framework", name, *options, folder=name, output=output) for name in FRAMEWORKS}
            for name, run in again.items():
                self.assertEqual(run.wait(), 0, name)
                self.assertEqual(self.losses(name), self.losses("whole"), name)

    def test_a_signal_ends_it_as_its_framework(self) -> None:
        """Composer exits at once without a save, NeMo with a save and code 0, torchtitan by the signal itself."""
        with open(os.path.join(self.dir, "output"), "wb") as output:
            runs = {name: self.start("--framework", name, "--steps", "1000", folder=name, output=output)
                    for name in ("composer", "nemo", "torchtitan")}
            for name, run in runs.items():
                self.wait_for("step_begin", 5, name)
                run.send_signal(signal.SIGTERM)
            self.assertEqual({name: run.wait() for name, run in runs.items()}, {"composer": 143, "nemo": 0, "torchtitan": -15})
        self.assertEqual([r["event"] for r in self.truth("composer")][-2:], ["signal", "exit"])
        self.assertIsNone(latest(os.path.join(self.dir, "composer"), "composer"))
        self.assertGreaterEqual(latest(os.path.join(self.dir, "nemo"), "nemo")[0], 5)

    def test_transcripts_tell_their_facts_in_order_and_noise_only_adds(self) -> None:
        for name in FRAMEWORKS:
            with self.subTest(name):
                noisy, quiet = play(name), play(name, noise=False)
                self.assertEqual(noisy, play(name), "each time the same")
                self.assertNotEqual(noisy["text"], play(name, seed=2)["text"])
                self.assertEqual(noisy["facts"], quiet["facts"])
                times = [chunk["t_ns"] for chunk in noisy["chunks"]]
                self.assertEqual(times, sorted(times))
                self.assertEqual(b"".join(base64.b64decode(chunk["base64"]) for chunk in noisy["chunks"]),
                                 base64.b64decode(noisy["text"]))
                rest = iter(noisy["chunks"])
                for chunk in quiet["chunks"]:
                    self.assertIn(chunk, rest)
                facts = noisy["facts"]
                self.assertTrue(any(step["told"] for step in facts["steps"]))
                self.assertEqual([one["how"] for one in facts["incarnations"]][1:], ["killed", "completed"])
                self.assertEqual(sum(save["complete_ns"] is None for save in facts["saves"]), 1)
                for restore in facts["restores"]:
                    self.assertEqual(restore["step"], max(save["step"] for save in facts["saves"] if save["complete_ns"] is not None
                                                          and save["complete_ns"] < restore["begin_ns"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
