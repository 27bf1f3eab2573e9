#!/usr/bin/python3
"""Two controllers, as with Slurm's backup controller and Cluster Toolkit's enable_backup_controller: the first dies with
slurmctld and goodputd while a job trains, and the second continues with the same database.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_takeover
"""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import time
import unittest
import uuid
from typing import Callable, List

from .harness.goodput_site import GOODPUTD, SGOODPUT, TRAINER, Site

STEPS = 120
WAIT_S = 60
HOST = socket.gethostname().split(".")[0]


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class TakeoverTest(unittest.TestCase):
    def setUp(self) -> None:
        # Each slurmctld binds to its own address; the second one finds its name in a separate hosts file.
        self.site = Site("cgroup", nodes=1, cred_expire_s=0, dbd=False, daemon=False, slurm_conf=[
            "SlurmctldHost=%s(127.0.0.1)" % HOST, "SlurmctldHost=%s-b(127.0.0.2)" % HOST,
            "CommunicationParameters=NoCtldInAddrAny", "SlurmctldTimeout=10"])
        self.addCleanup(self.site.stop)
        self.site.start()
        os.mkdir(self.path("shared"), 0o700)
        with open(self.path("hosts"), "w") as file:
            file.write("127.0.0.1 localhost %s\n127.0.0.2 %s-b\n" % (HOST, HOST))

    def path(self, *names: str) -> str:
        return self.site.path("goodput", *names)

    def run_on(self, host: str, name: str, command: List[str]) -> "subprocess.Popen[bytes]":
        """A daemon that considers this machine to be `host`."""
        boot = self.path("boot-of-" + host)
        with open(boot, "w") as file:
            file.write(str(uuid.uuid5(uuid.NAMESPACE_DNS, host)) + "\n")
        inside = "hostname %s; mount --bind %s /etc/hosts; mount --bind %s /proc/sys/kernel/random/boot_id; exec \"$@\"" % (
            host, self.path("hosts"), boot)
        with open(self.log_file(name), "ab") as log:
            child = subprocess.Popen(["unshare", "--uts", "--mount", "sh", "-c", inside, "sh"] + command, env=self.site.cluster.env(),
                                     cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def goodputd(self, host: str, name: str, *more: str) -> "subprocess.Popen[bytes]":
        with open(self.path(name + ".conf"), "w") as file:
            file.write("\n".join(("database = " + self.site.database, "shared_spool = " + self.path("shared"), "database_lease = 4s",
                                  "queue_interval = 500ms", "listen = off", "query_socket = off", "signals = off") + more) + "\n")
        ready = self.log(name).count("goodputd: ready")
        child = self.run_on(host, name, [GOODPUTD, "--config", self.path(name + ".conf")])
        self.wait_until(lambda: self.log(name).count("goodputd: ready") > ready)
        return child

    def log_file(self, name: str) -> str:
        return self.site.path("log", name + ".out")

    def log(self, name: str) -> str:
        try:
            with open(self.log_file(name), errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def wait_until(self, what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not what():
            self.assertLess(time.monotonic(), deadline, self.log("first") + self.log("second"))
            time.sleep(0.1)

    def start_backup_slurmctld(self) -> None:
        with open(self.site.cluster.conf) as file:
            text = file.read()
        # Otherwise it would kill the first one, which runs from the same files on this machine.
        with open(self.path("backup.conf"), "w") as file:
            file.write(text.replace("slurmctld.daemon.pid", "backup.daemon.pid"))
        self.run_on(HOST + "-b", "backup", ["slurmctld", "-D", "-f", self.path("backup.conf"), "-L", self.log_file("slurmctld-b")])
        self.wait_until(lambda: "is DOWN" not in self.site.cluster.run(["scontrol", "ping"], check=False).stdout)

    def test_a_backup_controller_goes_on_in_mid_job(self) -> None:
        self.start_backup_slurmctld()
        with open(self.path("node.conf"), "w") as file:
            file.write("role = node\nspool = %s\nsocket = %s\nshared_spool = %s\nsignals = off\n" % (
                self.site.spool, self.site.socket, self.path("shared")))
        with open(self.log_file("node"), "ab") as log:
            node = subprocess.Popen([GOODPUTD, "--config", self.path("node.conf")], env=self.site.cluster.env(), cwd="/",
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(node.wait)
        self.addCleanup(node.kill)
        first = self.goodputd(HOST, "first", "role = controller", "spool = " + self.path("spool-a"))
        self.goodputd(HOST + "-b", "second", "role = controller", "spool = " + self.path("spool-b"))
        self.wait_until(lambda: "standing by until it ends or gives no heartbeat for 4s" in self.log("second"))
        doctor = self.run_on(HOST + "-b", "doctor", [SGOODPUT, "doctor", "--config", self.path("second.conf")])
        doctor.wait()
        self.assertIn("goodputd here stands by and takes over after 4s without its heartbeat", self.log("doctor"))

        folder = self.site.folder("run")
        job = self.site.cluster.sbatch("srun %s --dir %s --steps %d --step-seconds 0.3 --save-every 20 --save-seconds 0.2 "
                                       "--init-seconds 0.5 --marks" % (TRAINER, folder, STEPS), options=["-N1", "--gres=gpu:8"])
        self.site.wait_steps(folder, 0, 25)
        # The first machine dies.
        first.kill()
        self.site.cluster.stop_daemon("slurmctld", signal.SIGKILL)
        self.wait_until(lambda: "took over the database from goodputd %d on %s" % (first.pid, HOST) in self.log("second"))
        self.site.cluster.wait_state(job, {"COMPLETED"}, timeout=WAIT_S + STEPS)

        def show() -> dict:
            shown = self.site.show_json(job, "--no-refresh")["jobs"][0]
            return dict(shown)
        self.wait_until(lambda: show()["state"] == "COMPLETED")
        self.wait_until(lambda: show()["steps"]["count"] == STEPS)
        shown = show()
        self.assertEqual((shown["steps"]["kept"], shown["steps"]["lost"], len(shown["attempts"])), (STEPS, 0, 1), json.dumps(shown))
        self.assertEqual(sum(bucket["ns"] for bucket in shown["buckets"]), shown["wall_ns"])
        # It returns, and stands by.
        self.goodputd(HOST, "first", "role = controller", "spool = " + self.path("spool-a"))
        self.wait_until(lambda: "writes to the database" in self.log("first"))
        with sqlite3.connect("file:%s?mode=ro" % self.site.database, uri=True, timeout=10) as database:
            writer, = database.execute("SELECT name FROM writer").fetchone()
        self.assertIn(" on %s-b " % HOST, writer)
        # All records of the node are in the database exactly once.
        self.assertEqual(show()["steps"], shown["steps"])


if __name__ == "__main__":
    unittest.main()
