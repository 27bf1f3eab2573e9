#!/usr/bin/python3
"""sgoodput cloud sync: imports, exports and metrics without end, against the stand-ins for Cloud Logging and Cloud Monitoring.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_cloud_sync
"""

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from typing import Any, Dict, List, Set

from . import test_cloud_monitoring, test_google_cloud
from .harness.hand_written import BEGAN, FAULTS, SGOODPUT, Spool

IMPORTED, EXPORTED, PROJECT = "projects/lab-1/logs/goodput", "projects/lab-1/logs/slurm", "projects/lab-1"
NOBODY = pwd.getpwnam("nobody")


def setUpModule() -> None:
    test_google_cloud.setUpModule()
    test_cloud_monitoring.setUpModule()


class SyncTest(unittest.TestCase):
    """Job 7 of run llm died with a node and went on as job 8, which ended; job 9 runs."""
    server, npm = "logging_server.js", test_google_cloud.NPM

    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-sync-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.conf, self.db = os.path.join(self.dir, "goodput.conf"), os.path.join(self.dir, "goodput.db")
        self.state = os.path.join(self.dir, "cloud.state")
        self.spools = 0
        self.now = int(time.time()) - BEGAN
        self.cloud = test_google_cloud.Cloud(self, self.server, self.npm)
        self.env = {"PATH": os.environ["PATH"], "TZ": "UTC", "GCE_METADATA_HOST": self.cloud.address,
                    "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING": "http://%s/" % self.cloud.address,
                    "CLOUDSDK_API_ENDPOINT_OVERRIDES_MONITORING": "http://%s/" % self.cloud.address,
                    "GOODPUT_CLOUD_READS_PER_MINUTE": "60000",
                    **FAULTS}
        self.configure()
        spool = self.spool()
        began = self.now - 3600
        test_cloud_monitoring.MonitoringTest.job(spool, 7, began, 0, saves=[20])
        spool.controller(began + 500, job=7, state="NODE_FAIL", submit_s=began, eligible_s=began, start_s=began + 40, end_s=began + 500)
        self.job_8(spool, began)
        spool.controller(self.now - 99, job=9, submit_s=self.now - 200, eligible_s=self.now - 200, start_s=self.now - 100)
        self.ingest(spool)

    def job_8(self, spool: Spool, began: int) -> None:
        test_cloud_monitoring.MonitoringTest.job(spool, 8, began + 560, 21, saves=[50])
        spool.controller(began + 1100, job=8, state="COMPLETED", submit_s=began + 560, eligible_s=began + 560, start_s=began + 600,
                         end_s=began + 1100, exit_code=0)

    def spool(self) -> Spool:
        self.spools += 1
        return Spool(os.path.join(self.dir, "spool%d" % self.spools))

    def configure(self, *lines: str) -> None:
        with open(self.conf, "w") as file:
            file.write("cluster = c\ndatabase = %s\n" % self.db + "".join(line + "\n" for line in lines))

    def ingest(self, spool: Spool) -> None:
        spool.write()
        for node in spool.lines:
            name = os.path.join(spool.folder, node, "boot.2026092100Z.jsonl")
            os.rename(name, name.replace("boot.", "boot%d." % self.spools))
        subprocess.run([SGOODPUT, "ingest", "--config", self.conf, "--spool", spool.folder], check=True, stdout=subprocess.DEVNULL, timeout=60)
        for folder, _, files in os.walk(self.dir):
            for name in [folder] + [os.path.join(folder, file) for file in files]:
                os.chown(name, NOBODY.pw_uid, NOBODY.pw_gid)

    def command(self, *args: str) -> List[str]:
        return ["setpriv", "--reuid=nobody", "--regid=%d" % NOBODY.pw_gid, "--clear-groups", SGOODPUT, *args, "--config", self.conf]

    def run_it(self, *args: str, root: bool = False, **env: str) -> "subprocess.CompletedProcess[str]":
        command = [SGOODPUT, *args, "--config", self.conf] if root else self.command(*args)
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, universal_newlines=True,
                              env=dict(self.env, **env), timeout=120)

    def sync(self, status: int = 0, why: str = "", **env: str) -> None:
        done = self.run_it("cloud", "sync", "--once", **env)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done)
        self.assertRegex(done.stderr, r"\A%s\Z" % ("sgoodput: cloud: [^\n]*%s[^\n]*\n" % why if why else ""))

    def status(self, status: int = 0) -> str:
        done = self.run_it("cloud", "status")
        self.assertEqual((done.returncode, done.stderr), (status, ""), done)
        return " ".join(done.stdout.split())

    def in_log(self, log: str) -> List[Dict[str, Any]]:
        entries = [entry for entry in self.cloud.state()["entries"] if entry["logName"] == log]
        for entry in entries:
            del entry["receiveTimestamp"]
        return entries

    def runs(self) -> Set[str]:
        done = self.run_it("-n", "-P", "-a", "--no-refresh", "-S", "2026-01-01", "-o", "run")
        self.assertEqual(done.returncode, 0, done)
        return set(done.stdout.split())


@unittest.skipUnless(os.geteuid() == 0, "needs root, to become another user")
class LoggingTest(SyncTest):
    def setUp(self) -> None:
        super().setUp()
        self.configure("cloud_import = " + IMPORTED, "cloud_export = " + EXPORTED)
        self.cloud.behave(readsPerWindow=10 ** 6)

    def writes(self, entries: List[Dict[str, Any]]) -> None:
        """As Google's library does."""
        test_google_cloud.CloudTest.in_the_log(self, entries, IMPORTED)  # type: ignore

    def test_what_ended_is_exported_once_and_what_is_logged_is_imported(self) -> None:
        self.sync()  # the log is empty
        written = self.in_log(EXPORTED)
        self.assertEqual({entry["jsonPayload"]["job_name"] for entry in written}, {"llm"})
        self.assertEqual(self.runs(), {"llm"} | {run for run in self.runs() if run != "llm"})
        began = float(int(time.time()) - 7200)
        self.writes(test_google_cloud.a_run(began, 300, "jax"))
        received = self.cloud.state()["received"]
        self.sync()
        self.assertIn("jax", self.runs())
        self.assertEqual(self.cloud.state()["received"], received, "what was exported is not sent again, nor what was imported")
        self.assertRegex(self.status(), r"^Import from %s: last done \S+ ago Export to %s: last done \S+ ago$" % (IMPORTED, EXPORTED))
        self.assertEqual(self.cloud.state()["problems"], [])
        # The calculator's entries of the export, as a run: all its steps.
        steps = [entry["jsonPayload"]["step_count"] for entry in written if "step_count" in entry["jsonPayload"]]
        self.assertEqual(sorted(set(steps)), list(range(0, 64)))

    def test_a_run_that_went_on_is_exported_again(self) -> None:
        self.sync()
        before = len(self.in_log(EXPORTED))
        spool = self.spool()
        began = self.now - 1500
        test_cloud_monitoring.MonitoringTest.job(spool, 10, began, 51, saves=[])
        spool.controller(began + 500, job=10, state="COMPLETED", submit_s=began, eligible_s=began, start_s=began + 40, end_s=began + 500,
                         exit_code=0)
        self.ingest(spool)
        self.sync()
        entries = self.in_log(EXPORTED)
        self.assertGreater(len(entries), before)
        ids = [(entry["timestamp"], entry["insertId"]) for entry in entries]
        self.assertEqual(len(ids), len(set(ids)))

    def test_a_refusal_is_said_once_and_made_good(self) -> None:
        self.cloud.behave(role="none")
        done = self.run_it("cloud", "sync", "--once")
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr, r"\Asgoodput: cloud: %s: [^\n]*roles/logging.viewer[^\n]*\n"
                                      r"sgoodput: cloud: %s: [^\n]*roles/logging.logWriter[^\n]*\n\Z" % (IMPORTED, EXPORTED))
        self.assertRegex(self.status(1), "roles/logging.viewer .*roles/logging.logWriter")
        doctor = self.run_it("doctor", root=True).stdout
        self.assertRegex(" ".join(doctor.split()), r"Google Cloud: %s: .*roles/logging.logWriter" % EXPORTED)
        self.sync(1)  # the same problem is not said again
        self.cloud.behave(role="all")
        self.sync()
        self.assertTrue(self.in_log(EXPORTED))
        self.assertIn("the exchange with Google Cloud works", self.run_it("doctor", root=True).stdout)

    def test_killed_at_any_time_nothing_is_lost_or_twice(self) -> None:
        self.writes(test_google_cloud.a_run(float(int(time.time()) - 7200), 300, "jax"))
        for pause in (0.02, 0.05, 0.1, 0.2, 0.3, 0.5):
            child = subprocess.Popen(self.command("cloud", "sync"), env=self.env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     start_new_session=True)
            time.sleep(pause)
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        self.sync()
        entries = self.in_log(EXPORTED)
        self.assertEqual(len({(entry["timestamp"], entry["insertId"]) for entry in entries}), len(entries))
        # The same as if nothing had been killed.
        os.unlink(self.state)
        self.sync()
        self.assertEqual(self.in_log(EXPORTED), entries)
        self.assertIn("jax", self.runs())

    def test_a_damaged_file_of_what_was_done_begins_anew(self) -> None:
        self.sync()
        entries = self.in_log(EXPORTED)
        with open(self.state, "w") as file:
            file.write("slurm-goodput cloud 1\nsince\tx\n")
        self.sync(0, "cloud.state is damaged; it begins again")
        self.assertEqual(self.in_log(EXPORTED), entries)


@unittest.skipUnless(os.geteuid() == 0, "needs root, to become another user")
class MetricsTest(SyncTest):
    server, npm = "monitoring_server.js", test_cloud_monitoring.NPM

    def test_a_point_of_each_running_run(self) -> None:
        self.configure("cloud_metrics = " + PROJECT)
        self.sync()
        self.assertEqual({point["resource"]["labels"]["workload_id"] for point in self.cloud.state()["points"]}, {"c/9"})
        self.assertRegex(self.status(), r"^Metrics to %s: last done \S+ ago$" % PROJECT)


@unittest.skipUnless(os.geteuid() == 0, "needs root, to become another user")
class UsageTest(SyncTest):
    def refused(self, why: str, *args: str, root: bool = False) -> None:
        done = self.run_it("cloud", *(args or ("sync", "--once")), root=root)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertRegex(done.stderr, r"\Asgoodput: [^\n]*%s[^\n]*\n\Z" % why)

    def test_what_cannot_be_is_refused_in_a_line(self) -> None:
        self.refused("goodput.conf has no cloud_import, cloud_export or cloud_metrics")
        self.refused("goodput.conf has no cloud_import", "status")
        self.configure("cloud_import = %s, %s" % (IMPORTED, EXPORTED), "cloud_export = " + EXPORTED)
        self.refused("cloud_export is in cloud_import, too")
        self.configure("cloud_export = " + EXPORTED)
        self.refused("do not run it as root", root=True)
        for line, why in (("cloud_export = goodput", "`cloud_export` must be projects/PROJECT/logs/LOG, not 'goodput'"),
                          ("cloud_import = %s,projects//logs/x" % IMPORTED, "`cloud_import` must be projects/PROJECT/logs/LOG"),
                          ("cloud_metrics = projects/p/logs/x", "`cloud_metrics` must be projects/PROJECT, not")):
            self.configure(line)
            self.refused(re.escape(why))
        self.configure("cloud_metrics = " + PROJECT)
        done = self.run_it("cloud", "status")
        self.assertEqual((done.returncode, done.stdout), (1, "Nothing was done so far: there is no %s\n" % self.state))


if __name__ == "__main__":
    unittest.main()
