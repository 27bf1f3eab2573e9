#!/usr/bin/python3
"""A user with an ordinary account tries to take a node's goodputd away from the others, which runs within the limits of its
unit. The truth is what the other user's program did.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_attacks
"""

import glob
import os
import subprocess
import time
import unittest
from typing import Dict, List

from .harness.bare_node import BareNode, unit_setting
from .harness.lateness import lateness

MALLORY, HONEST = 21001, 21002
# Like Megatron-LM: prints each step, and saves after every fifth.
TRAINING = """
import os, sys, time
folder, steps, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
for step in range(1, steps + 1):
    time.sleep(pause)
    print(" iteration %8d/ %7d | consumed samples: %d | elapsed time per iteration (ms): %.1f | learning rate: 1.0E-04 |"
          % (step, steps, 8 * step, 1000 * pause), flush=True)
    if step % 5 == 0:
        part = os.path.join(folder, "iter_%07d" % step, "mp_rank_00")
        os.makedirs(part)
        with open(os.path.join(part, "model_optim_rng.pt"), "wb") as file:
            file.write(b"x" * 1000)
        with open(os.path.join(folder, "latest_checkpointed_iteration.txt"), "w") as file:
            file.write("%d" % step)
time.sleep(2)
"""
# Marks begin the steps 1 to N of a job, some time apart.
SEND = """
import json, socket, sys, time
name, job, steps, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.connect("\\0" + name[1:])
for step in range(1, steps + 1):
    client.send(json.dumps({"v": 1, "mark": "step", "job": job, "slurm_step": "0", "train_step": step}).encode())
    if pause:
        time.sleep(pause)
"""
# Holds as many connections as it gets; each sends a mark of the job, if one is given.
HOLD = """
import json, resource, socket, sys, time
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held = []
for i in range(min(hard - 50, 2000)):
    try:
        client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        client.connect("\\0" + sys.argv[1][1:])
        if len(sys.argv) > 2:
            client.send(json.dumps({"v": 1, "mark": "step", "job": int(sys.argv[2]), "train_step": i}).encode())
    except OSError:
        pass
    held.append(client)
print("holds", flush=True)
time.sleep(1000)
"""


class AttackTest(unittest.TestCase):
    def setUp(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("needs root, to run as several users")
        self.node = BareNode("checkpoint_scan = 2s\n")
        self.addCleanup(self.node.stop)

    # --- the honest user

    def train(self, job: int, steps: int = 20) -> None:
        """An honest job, of which everything is recorded. Nothing shows that such a save was complete once the next one is, so that
        goodputd has to look in between."""
        folder = self.node.folder("ckpt.%d" % job, HONEST)
        pause_s = 0.2 * lateness()
        command = ["/usr/bin/python3", "-c", TRAINING, folder, str(steps), str(pause_s)]
        task = self.node.job(job, HONEST, command, output=os.path.join(self.node.dir, "%d.out" % job), checkpoint_dir=folder,
                             log_profile="megatron")
        self.node.finish(task, 60 + steps * pause_s)
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
            self.steps(job) == [1] and self.saves(job) == [1] for job in outputs), 600)
        self.assertIn("goodputd: ready", self.node.read_log())
        self.assertNotIn("cannot start", self.node.read_log())

    # --- marks

    @staticmethod
    def become(uid: int) -> None:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)

    def as_user(self, uid: int, program: str, *arguments: str) -> "subprocess.Popen":
        process = subprocess.Popen(["/usr/bin/python3", "-uc", program, self.node.socket] + list(arguments), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=lambda: self.become(uid))
        assert process.stdout
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def send_marks(self, job: int, steps: int) -> None:
        """The honest user's job, which reports its steps."""
        task = self.node.job(job, HONEST, ["sleep", "1000"])
        sender = self.as_user(HONEST, SEND, str(job), str(steps), "0.02")
        self.assertEqual(sender.wait(60), 0, sender.stdout and sender.stdout.read())
        self.node.wait("all marks of job %d are recorded" % job, lambda: self.steps(job) == list(range(1, steps + 1)))
        task.process.kill()

    def test_a_flood_of_marks_leaves_others_their_room(self) -> None:
        """Four jobs of one user send all they can for 15 s, in a spool of 32 MiB."""
        self.node.stop()
        self.node = BareNode("spool_max = 33554432\n")
        self.addCleanup(self.node.stop)
        self.node.start(limited=True)
        began = int(time.time())
        flood = [self.as_user(MALLORY, SEND, str(self.node.job(job, MALLORY, ["sleep", "1000"]).job), "100000000", "0") for job in range(1000, 1004)]
        time.sleep(15)
        # While it goes on, and after it.
        self.send_marks(7, 200)
        for process in flood:
            self.assertIsNone(process.poll())
            process.kill()
        self.send_marks(8, 200)
        size = sum(os.path.getsize(path) for path in glob.glob(os.path.join(self.node.spool, "*", "*.jsonl")))
        self.assertLess(size, 3 << 23, "a quarter is left to the plugin")
        self.assertGreater(size, 4 << 20, "the flood was one")
        # And what was refused is said of the jobs that it was refused to.
        self.node.wait("the refusals are recorded", lambda: all(self.node.records(job, "refused") for job in range(1000, 1004)))
        self.assertEqual(self.node.records(7, "refused") + self.node.records(8, "refused"), [])
        accounting = os.path.join(self.node.dir, "jobs.txt")
        with open(accounting, "w") as file:
            file.write("Cluster|JobIDRaw|Submit|Start|End|State|NodeList\n")
            for job in (7, 1000):
                file.write("c|%d|%d|%d|Unknown|RUNNING|n1\n" % (job, began - 10, began - 5))
        self.node.sgoodput("import", accounting)
        self.node.sgoodput("ingest")
        self.assertRegex(self.node.sgoodput("show", "1000", "--no-refresh"), r"nodes did not store\s+\d+\s+records\s+of\s+this\s+job")
        self.assertNotIn("did not store", self.node.sgoodput("show", "7", "--no-refresh"))

    def test_connections_that_no_job_needs_go(self) -> None:
        """Users without a job, as many as subordinate ids give, open all the connections they can, and hold them."""
        self.node.start(limited=True)
        holders = [self.as_user(uid, HOLD) for uid in range(MALLORY, MALLORY + 8) if uid != HONEST]
        for holder in holders:
            assert holder.stdout
            self.assertIn("holds", holder.stdout.readline())
        self.send_marks(7, 50)
        self.assertGreater(self.node.counts("marks")["too_many"], 0)
        self.node.wait("their connections are gone", lambda: self.connections() < 50, 30)

    def test_a_user_with_a_job_cannot_take_all_connections(self) -> None:
        self.node.start(limited=True)
        self.node.job(1000, MALLORY, ["sleep", "1000"])
        holder = self.as_user(MALLORY, HOLD, "1000")
        assert holder.stdout
        self.assertIn("holds", holder.stdout.readline())
        self.send_marks(7, 50)
        self.assertLess(self.connections(), 600)
        self.assertIsNone(holder.poll())

    def connections(self) -> int:
        """That goodputd holds."""
        assert self.node.daemon
        with open("/proc/net/unix") as file:
            inodes = {line.split()[6] for line in file if line.rstrip().endswith(self.node.socket)}
        held = 0
        for fd in os.listdir("/proc/%d/fd" % self.node.daemon.pid):
            try:
                target = os.readlink("/proc/%d/fd/%s" % (self.node.daemon.pid, fd))
            except FileNotFoundError:
                continue
            held += target[len("socket:["):-1] in inodes
        return held

    # --- signals

    def test_a_user_who_names_all_signals_hides_nobody_elses(self) -> None:
        self.node.start()
        self.node.wait("goodputd says whether it traces signals", lambda: bool(self.node.counts("signals")))
        if not self.node.counts("signals").get("watching"):
            self.skipTest("signals cannot be traced here")
        numbers = [number for number in range(1, 64) if number not in (9, 19, 32, 33)]
        self.node.job(1000, MALLORY, ["sleep", "1000"], checkpoint_signal=",".join("%d" % number for number in numbers[:24]))
        self.node.job(1001, MALLORY, ["sleep", "1000"], checkpoint_signal=",".join("%d" % number for number in numbers[24:48]))
        task = self.node.job(7, HONEST, ["sleep", "1000"], checkpoint_signal="62")
        time.sleep(2.5)
        os.kill(task.process.pid, 62)
        self.node.wait("the honest user's signal is recorded", lambda: [record["signal"] for record in self.node.records(7, "signal")] == [62])


if __name__ == "__main__":
    unittest.main()
