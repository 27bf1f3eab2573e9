#!/usr/bin/python3
"""From the nodes to the controller, with the real programs: every record arrives once, whatever is done to them.

    GOODPUT_BUILD=build python3 -m unittest -v tests.e2e.test_ship

GOODPUT_SEED repeats a run's choices. Needs root, for its own mounts; no Slurm. `make soak` does the same for an hour.
"""

import json
import multiprocessing
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from typing import Callable

from tests.soak import ship

SEED = int(os.environ.get("GOODPUT_SEED", random.SystemRandom().randrange(1 << 31)))
MINUTES = 0.6


def in_own_mounts(seed: int, answer: "multiprocessing.Queue[str]") -> None:
    try:
        ship.own_mounts()
        answer.put("passed: " + ship.soak(MINUTES, seed))
    except BaseException as error:  # any failure is reported by the test
        answer.put("%s: %s" % (type(error).__name__, error))


def record(node: str, number: int) -> bytes:
    return b"\n" + json.dumps({"v": 1, "t": 1767225600000000000 + number, "m": 1, "node": node, "stepd": 1, "cluster": "c1",
                               "kind": "task_start", "job": 1, "pid": number}).encode() + b"\n"


class ShipTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-ship-")
        self.addCleanup(shutil.rmtree, self.dir)
        for name in ("spool/n1", "shared", "empty"):
            os.makedirs(self.path(name), 0o700)
        os.chmod(self.path("shared"), 0o700)
        self.node = self.write("node.conf", self.conf("spool") + "role = node\nsignals = off\n")
        self.controller = self.write("controller.conf", self.conf("empty"))

    def conf(self, spool: str) -> str:
        return "spool = %s\nshared_spool = %s\ndatabase = %s\nsocket = @gp-ship-%d\ncluster = c1\n" % (
            self.path(spool), self.path("shared"), self.path("db"), os.getpid())

    def path(self, *names: str) -> str:
        return os.path.join(self.dir, *names)

    def write(self, name: str, text: str) -> str:
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def append(self, *numbers: int) -> None:
        with open(self.path("spool", "n1", "boot.2026010100Z.jsonl"), "ab", buffering=0) as file:
            for number in numbers:
                file.write(record("n1", number))

    def daemon(self, *before: str) -> subprocess.Popen:
        output = open(self.path("log"), "ab")
        self.addCleanup(output.close)
        child = subprocess.Popen([*before, ship.GOODPUTD, "--config", self.node], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def wait_until(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not what():
            self.assertLess(time.monotonic(), deadline, self.log())
            time.sleep(0.02)

    def log(self) -> str:
        with open(self.path("log")) as file:
            return file.read()

    def shared_bytes(self) -> bytes:
        path = self.path("shared", "n1", "boot.2026010100Z.jsonl")
        if not os.path.exists(path):
            return b""
        with open(path, "rb") as file:
            return file.read()

    def sgoodput(self, *words: str) -> subprocess.CompletedProcess:
        env = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"])
        return subprocess.run([ship.SGOODPUT, words[0], "--config", self.controller, *words[1:]], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, env=env)

    def test_a_daemon_told_to_stop_copies_what_is_there(self) -> None:
        daemon = self.daemon()
        self.append(1)
        self.wait_until(lambda: self.shared_bytes() == record("n1", 1))
        self.append(2, 3)
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(30), 0)
        self.assertEqual(self.shared_bytes(), record("n1", 1) + record("n1", 2) + record("n1", 3))

    def test_a_folder_that_is_gone_is_said_once_and_found_again_and_stops_nobody(self) -> None:
        os.rmdir(self.path("shared"))
        self.append(1)
        daemon = self.daemon()
        self.wait_until(lambda: "shared_spool" in self.log())
        time.sleep(3)
        self.assertEqual(self.log().count("mount it"), 1, self.log())
        os.mkdir(self.path("shared"), 0o700)
        self.wait_until(lambda: self.shared_bytes() == record("n1", 1))
        self.wait_until(lambda: "over: shared_spool" in self.log())
        os.rename(self.path("shared"), self.path("away"))
        self.append(2)
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(30), 0)
        self.assertIn("stay on this node", self.log())

    def doctor_of_node(self) -> str:
        return subprocess.run([ship.SGOODPUT, "doctor", "--config", self.node], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60).stdout

    def test_a_folder_that_is_read_only_for_the_daemon_is_what_doctor_says_until_it_is_not(self) -> None:
        shared = self.path("shared")
        self.append(1)
        # As if the unit had no access, while other processes may write there.
        daemon = self.daemon("unshare", "--mount", "--propagation", "private", "sh", "-c",
                             'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1"; shift; exec "$@"', "sh", shared)
        self.wait_until(lambda: "Read-only file system" in self.log())
        self.wait_until(lambda: os.path.exists(self.path("spool", "shipping")))
        self.assertRegex(self.doctor_of_node(), r"!!  shared_spool %s: Read-only file system; mount it read-write, and give goodputd's unit "
                         r"access: .*ReadWritePaths=-FOLDER; records are kept on the node \(for [0-9.]+\w+\)\n" % shared)
        self.assertIn("--  no database here: this node copies its records to shared_spool " + shared, self.doctor_of_node())
        self.assertNotIn("cannot read the database", self.doctor_of_node())
        self.assertIsNone(daemon.poll())
        subprocess.check_call(["nsenter", "--mount", "--target", str(daemon.pid), "mount", "-o", "remount,rw,bind", shared])
        self.wait_until(lambda: self.shared_bytes() == record("n1", 1))
        self.wait_until(lambda: "ok  records are copied to shared_spool " + shared in self.doctor_of_node())

    def test_ingest_takes_the_shared_spool_and_doctor_shows_what_nodes_lost(self) -> None:
        self.append(1, 2)
        with open(self.path("spool", "n1", "dropped"), "wb") as file:
            file.write(struct.pack("=8Q", 3, 0, 0, 0, 0, 0, 0, 0))
        daemon = self.daemon()
        self.wait_until(lambda: os.path.exists(self.path("shared", "n1", "counts")))
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(30)
        os.symlink(self.path("shared", "n1"), self.path("shared", "n2"))
        ingested = self.sgoodput("ingest")
        self.assertEqual(ingested.returncode, 2, ingested.stdout)
        self.assertIn("n2: is a link", ingested.stdout)
        self.assertIn("2 new records", ingested.stdout)
        os.unlink(self.path("shared", "n2"))
        ingested = self.sgoodput("ingest")
        self.assertEqual((ingested.returncode, ingested.stdout[:14]), (0, "0 new records "))
        self.assertRegex(self.sgoodput("doctor").stdout, r"!!  node n1 lost or refused: no_space 3")

    def test_doctor_names_nodes_that_slurm_reaches_and_whose_daemon_is_silent(self) -> None:
        self.append(1)
        os.makedirs(self.path("bin"))
        os.makedirs(self.path("shared", "@heartbeat"), 0o700)
        with open(self.path("bin", "sinfo"), "w") as file:
            file.write("#!/bin/sh\nprintf 'n1 idle\\nn2 mix\\nn3 idle*\\nn4 down\\n'\n")
        os.chmod(self.path("bin", "sinfo"), 0o755)
        for node, age in (("n1", 3), ("n2", 600), ("n3", 600), ("n4", 600), ("gone", 9000)):
            with open(self.path("shared", "@heartbeat", node), "w") as file:
                file.write("{}")
            os.utime(file.name, (time.time() - age, time.time() - age))
        self.sgoodput("ingest")
        self.assertRegex(self.sgoodput("doctor").stdout, r"!!  no heartbeat from goodputd on 1 node that Slurm can reach: n2 "
                         r"\(10m\d\ds\)\n      fix: there, run systemctl status goodputd")

    def test_ingest_says_that_the_shared_spool_is_not_there(self) -> None:
        os.rmdir(self.path("shared"))
        ingested = self.sgoodput("ingest")
        self.assertEqual(ingested.returncode, 2)
        self.assertRegex(ingested.stdout, "(?m)^sgoodput: cannot read the shared spool .*set `shared_spool`")

    def test_every_event_of_four_nodes_arrives_once_whatever_is_done_to_them(self) -> None:
        print("seed %d" % SEED, flush=True)
        answer: "multiprocessing.Queue[str]" = multiprocessing.Queue()
        child = multiprocessing.Process(target=in_own_mounts, args=(SEED, answer))
        child.start()
        said = answer.get(timeout=600)
        child.join(60)
        self.assertTrue(said.startswith("passed: "), said)
        print(said, flush=True)


if __name__ == "__main__":
    unittest.main()
