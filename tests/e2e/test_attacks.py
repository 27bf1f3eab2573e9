#!/usr/bin/python3
"""A user with an ordinary account tries to take a node's goodputd away from the others, which runs within the limits of its
unit. The truth is what the other user's program did.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_attacks
"""

import os
import time
import unittest
from typing import Dict, List

from .harness.bare_node import BareNode, unit_setting

MALLORY, HONEST = 21001, 21002
# Like Megatron-LM: prints each step, and saves after every fifth.
TRAINING = """
import os, sys, time
folder, steps = sys.argv[1], int(sys.argv[2])
for step in range(1, steps + 1):
    time.sleep(0.2)
    print(" iteration %8d/ %7d | consumed samples: %d | elapsed time per iteration (ms): 200.0 | learning rate: 1.0E-04 |"
          % (step, steps, 8 * step), flush=True)
    if step % 5 == 0:
        part = os.path.join(folder, "iter_%07d" % step, "mp_rank_00")
        os.makedirs(part)
        with open(os.path.join(part, "model_optim_rng.pt"), "wb") as file:
            file.write(b"x" * 1000)
        with open(os.path.join(folder, "latest_checkpointed_iteration.txt"), "w") as file:
            file.write("%d" % step)
time.sleep(2)
"""


class AttackTest(unittest.TestCase):
    def setUp(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("needs root, to run as several users")
        self.node = BareNode("checkpoint_scan = 2s\n")
        self.addCleanup(self.node.stop)

    # --- the honest user

    def train(self, job: int, steps: int = 20) -> None:
        """An honest job, of which everything is recorded."""
        folder = self.node.folder("ckpt.%d" % job, HONEST)
        task = self.node.job(job, HONEST, ["/usr/bin/python3", "-c", TRAINING, folder, str(steps)], output=os.path.join(self.node.dir, "%d.out" % job),
                             checkpoint_dir=folder, log_profile="megatron")
        self.node.finish(task)
        whole = (list(range(1, steps + 1)), list(range(5, steps + 1, 5)))
        deadline = time.monotonic() + 60
        while (self.steps(job), self.saves(job)) != whole and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual((self.steps(job), self.saves(job)), whole)

    def steps(self, job: int) -> List[int]:
        return sorted({record["train_step"] for record in self.node.records(job, "mark") if record["mark"] == "step" and record["edge"] == "begin"})

    def saves(self, job: int) -> List[int]:
        return sorted(record["train_step"] for record in self.node.records(job, "checkpoint") if record.get("edge") == "end")

    # --- many jobs

    def test_a_node_full_of_jobs_is_watched_within_the_units_limits(self) -> None:
        """150 jobs of one user, each with a checkpoint directory and a log profile: 300 to watch by at most 64 tasks."""
        self.node.start(limited=True)
        outputs: Dict[int, str] = {}
        for job in range(1000, 1150):
            outputs[job] = os.path.join(self.node.dir, "%d.out" % job)
            self.node.job(job, MALLORY, ["sleep", "1000"], output=outputs[job], checkpoint_dir=self.node.folder("m.%d" % job, MALLORY),
                          log_profile="megatron")
        self.node.wait("goodputd knows of all", lambda: self.node.counts("watches").get("jobs") == 300)
        most, began = 0, time.monotonic()
        while time.monotonic() - began < 3:
            most = max(most, self.node.tasks_of_daemon())
            time.sleep(0.1)
        self.assertLess(most, unit_setting("TasksMax"))
        self.assertGreater(self.node.counts("watches")["helpers"], 10)
        # Another user's job is as well off as on an empty node.
        self.train(7)
        # And those many are not forgotten: what each of them prints and saves is recorded in its turn.
        for job, path in outputs.items():
            with open(path, "a") as file:
                file.write(" iteration        1/     100 | elapsed time per iteration (ms): 200.0 |\n")
            save = os.path.join(self.node.dir, "m.%d" % job, "iter_0000001")
            os.mkdir(save)
            with open(os.path.join(self.node.dir, "m.%d" % job, "latest_checkpointed_iteration.txt"), "w") as file:
                file.write("1")
        self.node.wait("each of the 150 jobs has its step and its save", lambda: all(
            self.steps(job) == [1] and self.saves(job) == [1] for job in outputs), 120)
        self.assertIn("goodputd: ready", self.node.read_log())
        self.assertNotIn("cannot start", self.node.read_log())


if __name__ == "__main__":
    unittest.main()
