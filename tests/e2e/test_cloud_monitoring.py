#!/usr/bin/python3
"""sgoodput metrics and doctor with --cloud-monitoring: against a stand-in for Cloud Monitoring, which checks every request with the
service's own protos (npm), has its limits, and fails where it may.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_cloud_monitoring
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from typing import Any, Dict, List, Optional, Tuple

from . import test_google_cloud
from .harness.hand_written import BEGAN, FAULTS, SGOODPUT, Spool, TOP

NPM = os.path.join(TOP, "out", "npm-google-monitoring")
PACKAGES = ("@google-cloud/monitoring@6.1.1", "protobufjs@7.6.6")
PROTOS = os.path.join(NPM, "node_modules", "@google-cloud", "monitoring", "build", "protos", "protos.json")
PROJECT = "projects/lab-1"
SCOPE = "https://www.googleapis.com/auth/"
WORKLOAD = "compute.googleapis.com/workload/"


def setUpModule() -> None:
    if not os.path.exists(PROTOS):
        os.makedirs(NPM, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", NPM, *PACKAGES],
                       check=True, stdin=subprocess.DEVNULL, timeout=300)


class MonitoringTest(unittest.TestCase):
    maxDiff = 4000
    dir: str
    spool: str

    @classmethod
    def setUpClass(cls) -> None:
        """Job 7 of run llm dies with a node and goes on as job 8; jobs 9 and 10, of which nobody saw the inside, run."""
        cls.dir = tempfile.mkdtemp(prefix="goodput-monitoring-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        spool = Spool(os.path.join(cls.dir, "spool"))
        now = int(time.time()) - BEGAN
        began = now - 3600
        first = {"submit_s": began, "eligible_s": began, "start_s": began + 40}
        cls.job(spool, 7, began, 0, saves=[20])
        spool.controller(began + 500, job=7, state="NODE_FAIL", end_s=began + 500, **first)
        second = {"submit_s": began + 560, "eligible_s": began + 560, "start_s": began + 600}
        cls.job(spool, 8, began + 560, 21, saves=[50])
        spool.controller(began + 1100, job=8, state="COMPLETED", end_s=began + 1100, exit_code=0, **second)
        for job in (9, 10):
            spool.controller(now - 99, job=job, submit_s=now - 200, eligible_s=now - 200, start_s=now - 100, gpu_type="b200")
        spool.write()
        cls.config = os.path.join(cls.dir, "goodput.conf")
        with open(cls.config, "w") as file:
            file.write("cluster = c\nspool = %s\n" % spool.folder)
        cls.db = os.path.join(cls.dir, "db")
        subprocess.run([SGOODPUT, "ingest", "--config", cls.config, "--db", cls.db], check=True, stdout=subprocess.DEVNULL, timeout=60)

    @staticmethod
    def job(spool: Spool, job: int, submitted: int, first: int, saves: List[int]) -> None:
        """Steps of 10 s until 490 s after the submit."""
        spool.controller(submitted + 41, job=job, submit_s=submitted, eligible_s=submitted, start_s=submitted + 40)
        spool.node(submitted + 41, "job_prolog", job=job, opt={"run": "llm"})
        spool.node(submitted + 45, "task_start", job=job, slurm_step="0", task=0, pid=5)
        t, step = submitted + 60, first
        while t < submitted + 490:
            spool.node(t, "mark", mark="step", edge="begin", train_step=step, job=job, slurm_step="0", task=0)
            if step in saves:
                spool.node(t + 7, "mark", mark="checkpoint", edge="begin", train_step=step, job=job, slurm_step="0", task=0)
                spool.node(t + 9, "mark", mark="checkpoint", edge="end", train_step=step, job=job, slurm_step="0", task=0)
            t, step = t + 10, step + 1

    def setUp(self) -> None:
        self.cloud = test_google_cloud.Cloud(self, "monitoring_server.js", NPM)
        self.env = {"PATH": os.environ["PATH"], "GOODPUT_CONF": self.config, "GCE_METADATA_HOST": self.cloud.address,
                    "CLOUDSDK_API_ENDPOINT_OVERRIDES_MONITORING": "http://%s/" % self.cloud.address,
                    **FAULTS}

    def run_it(self, *args: str, project: str = PROJECT, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([SGOODPUT, *args, "--cloud-monitoring", project], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, universal_newlines=True, env=dict(self.env, **env), timeout=120)

    def write(self, *args: str, project: str = PROJECT, **env: str) -> "subprocess.CompletedProcess[str]":
        return self.run_it("metrics", "--db", self.db, "--no-refresh", "-a", "-S", "now-2hours", *args, project=project, **env)

    def ok(self, *args: str, **more: Any) -> str:
        done = self.write(*args, **more)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def incomplete(self, why: str, *args: str, status: int = 1, **env: str) -> None:
        done = self.write(*args, **env)
        self.assertEqual(done.returncode, status, done)
        self.assertRegex(done.stderr, r"\Asgoodput: [^\n]*%s[^\n]*\n\Z" % why)

    def points(self, workload: str) -> Dict[Tuple[Any, ...], Any]:
        """By name and labels but those of all series."""
        found = {}
        for series in self.cloud.state()["points"]:
            if series["resource"]["labels"]["workload_id"] != workload:
                continue
            labels = tuple(value for name, value in sorted(series["metric"]["labels"].items())
                           if name not in ("cluster_name", "accelerator_type"))
            value, = series["points"][0]["value"].values()
            found[(series["metric"]["type"].replace(WORKLOAD, ""), *labels)] = value
        return found


class Writing(MonitoringTest):
    def test_a_run_is_as_its_report_tells(self) -> None:
        said = self.ok()
        state = self.cloud.state()
        self.assertEqual((state["problems"], state["refused"]), ([], 0))
        self.assertEqual(said, "%d time series written to projects/lab-1\n" % len(state["points"]))
        self.assertEqual({series["resource"]["labels"]["workload_id"] for series in state["points"]}, {"c/nobody/llm", "c/9", "c/10"})
        self.assertEqual({series["resource"]["labels"]["location"] for series in state["points"]}, {"us-east5-a"})
        self.assertEqual(len({series["points"][0]["interval"]["endTime"] for series in state["points"]}), 1)
        shown = subprocess.run([SGOODPUT, "show", "--db", self.db, "--no-refresh", "--run", "llm", "--json"], check=True, env=self.env,
                               stdout=subprocess.PIPE, timeout=60)
        job, = json.loads(shown.stdout)["jobs"]
        ns = {bucket["name"]: bucket["ns"] for bucket in job["buckets"]}
        points = self.points("c/nobody/llm")
        badput = {key[1]: value for key, value in points.items() if key[0] == "badput_time"}
        self.assertAlmostEqual(points["goodput_time", "TOTAL"], ns["productive"] / 1e9, places=9)
        self.assertAlmostEqual(badput["WASTED_PROGRESS_FROM_DISRUPTION"], ns["lost_work"] / 1e9, places=9)
        self.assertGreater(ns["lost_work"], 0)
        self.assertAlmostEqual(badput["UNPRODUCTIVE_CHECKPOINT_SAVE_TIME"], 4)
        self.assertGreaterEqual(badput["INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION"], 100)
        self.assertAlmostEqual(badput["CUSTOM_BADPUT_EVENTS.QUEUE_OTHER"], 40)
        total = points["total_elapsed_time", "cumulative"]
        self.assertAlmostEqual(total, sum(ns.values()) / 1e9, places=6)
        self.assertAlmostEqual(points["goodput_time", "TOTAL"] + sum(badput.values()), total, places=6)
        # Google's dashboard divides goodput by both.
        self.assertAlmostEqual(points["goodput_time", "TOTAL"] / total, job["goodput"]["sg_rg"], places=9)
        self.assertEqual((points["disruptions", "cumulative"], points["max_productive_steps",]), ("1", "63"))
        self.assertAlmostEqual(points["performance",], 10)
        for window in ("86400", "259200", "432000"):
            self.assertAlmostEqual(points["interval_goodput", "TOTAL", window], 100 * points["goodput_time", "TOTAL"] / total, places=6)
            shares = [value for key, value in points.items() if key[0] == "interval_badput" and key[2] == window]
            self.assertAlmostEqual(points["interval_goodput", "TOTAL", window] + sum(shares), 100, places=6)

    def test_what_nobody_saw_is_badput_other(self) -> None:
        self.ok("-j", "9")
        points = self.points("c/9")
        self.assertEqual(points["goodput_time", "TOTAL"], 0)
        self.assertGreater(points["badput_time", "OTHER"] + points["badput_time", "CUSTOM_BADPUT_EVENTS.PROVISIONING"] +
                           points["badput_time", "CUSTOM_BADPUT_EVENTS.LAUNCH"], 90)
        self.assertEqual({key[0] for key in points} & {"performance", "max_productive_steps", "step_time_deviation"}, set())
        labels = [series["metric"]["labels"] for series in self.cloud.state()["points"]]
        self.assertEqual({one["accelerator_type"] for one in labels}, {"GPU"})

    def test_requests_have_at_most_200_series(self) -> None:
        self.ok()
        sizes = self.cloud.state()["sizes"]
        self.assertEqual(set(sizes[:-1]), {200})
        self.assertLessEqual(sizes[-1], 200)
        self.assertEqual(sum(sizes), len(self.cloud.state()["points"]))

    def test_points_too_close_are_refused_and_counted(self) -> None:
        self.ok("-j", "9")
        self.incomplete(r"(\d+) of \1 time series not written: points were written more frequently", "-j", "9")
        self.assertEqual(self.cloud.state()["problems"], [])

    def test_refused_points_are_counted(self) -> None:
        self.cloud.behave(refusedMetric="disruptions")
        done = self.write()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Asgoodput: 3 of \d+ time series not written: a metric that is not liked\n\Z")
        self.assertEqual(done.stdout, "%d time series written to projects/lab-1\n" % len(self.cloud.state()["points"]))

    def test_what_fails_is_not_repeated(self) -> None:
        for fault, why in (({"code": 500}, "500"), ({"code": 503}, "503"), ({"code": 429}, "429"), ({"cut": "before"}, "no answer"),
                           ({"cut": "after"}, "no answer")):
            self.cloud.behave(forget=True, faults=[fault])
            calls = self.cloud.state()["calls"]["timeSeries"]
            self.incomplete(r"(\d+) of \1 time series not written: [^\n]*" + why, "-j", "9")
            self.assertEqual(self.cloud.state()["calls"]["timeSeries"], calls + 1, fault)
        # The next minute's point is written.
        self.cloud.behave(forget=True)
        self.ok("-j", "9")

    def test_project_and_zone(self) -> None:
        self.ok("--location", "europe-west4-b", project="projects/-")
        state = self.cloud.state()
        self.assertEqual({series["project"] for series in state["points"]}, {"lab-1"})
        self.assertEqual({series["resource"]["labels"]["location"] for series in state["points"]}, {"europe-west4-b"})
        self.cloud.behave(**{"instance/zone": None, "forget": True})
        self.incomplete("name the zone with --location", status=2)

    def test_what_is_not_allowed_is_said(self) -> None:
        self.cloud.behave(role=False)
        self.incomplete("roles/monitoring.metricWriter", status=2)
        self.cloud.behave(role=True, scopes=[SCOPE + "logging.write"])
        self.incomplete("cloud-platform or monitoring.write", status=2)
        self.cloud.behave(hasAccount=False)
        self.incomplete("no service account", status=2)
        self.assertEqual(self.cloud.state()["points"], [])

    def test_nothing_selected_is_no_error(self) -> None:
        self.assertEqual(self.ok("-j", "12345"), "0 time series written to projects/lab-1\n")
        self.assertEqual(self.cloud.state()["calls"], {"timeSeries": 0, "token": 0})

    def test_usage(self) -> None:
        self.incomplete("not the name of a project", project="lab-1", status=2)
        self.incomplete("without -T", "-T", status=2)
        self.incomplete("needs the database", "--url", "http://far:1", status=2)
        self.incomplete("not a URL with https://", CLOUDSDK_API_ENDPOINT_OVERRIDES_MONITORING="http://far", status=2)
        for args in (["-a"], ["--location", "x"], ["-j", "7"]):
            done = subprocess.run([SGOODPUT, "metrics", "--db", self.db, *args], stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                                  universal_newlines=True, env=self.env, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertIn("--cloud-monitoring", done.stderr)
        self.assertEqual(self.cloud.state()["calls"]["timeSeries"], 0)


class StandIn(MonitoringTest):
    """The judge itself: it refuses what the service refuses."""

    def post(self, body: Any) -> Tuple[int, str]:
        request = urllib.request.Request("http://%s/computeMetadata/v1/instance/service-accounts/default/token" % self.cloud.address,
                                         headers={"Metadata-Flavor": "Google"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            token = json.load(answer)["access_token"]
        request = urllib.request.Request("http://%s/v3/projects/lab-1/timeSeries" % self.cloud.address, json.dumps(body).encode(),
                                         {"Content-Type": "application/json", "Authorization": "Bearer " + token})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.dumps(json.load(error)["error"])

    @staticmethod
    def series(at: float, name: str = "max_productive_steps", value: Optional[Dict[str, Any]] = None, **more: Any) -> Dict[str, Any]:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + ".%03dZ" % int(at % 1 * 1000)
        made = {"metric": {"type": WORKLOAD + name, "labels": {"accelerator_type": "GPU"}},
                "resource": {"type": "compute.googleapis.com/Workload", "labels": {"location": "x", "workload_id": "y", "replica_id": "0"}},
                "metricKind": "GAUGE", "valueType": "INT64",
                "points": [{"interval": {"endTime": stamp}, "value": value or {"int64Value": "5"}}]}
        return dict(made, **more)

    def test_it_takes_only_what_the_service_does(self) -> None:
        now = time.time()
        good = self.series(now)
        self.assertEqual(self.post({"timeSeries": [good]}), (200, "{}"))
        point = good["points"][0]
        for wrong, why in (
                ({"timeSeries": [good], "name2": ""}, "name2"), ({"timeseries": [good]}, "timeseries"), ({"timeSeries": []}, "no timeSeries"),
                ({"timeSeries": [good, good]}, "twice"), ({"timeSeries": [good] * 201}, "201"),
                ({"timeSeries": [self.series(now, value={"int64Value": 5})]}, "int64"),
                ({"timeSeries": [self.series(now, value={"doubleValue": 5})]}, "value"),
                ({"timeSeries": [self.series(now, points=[point, point])]}, "2 points"),
                ({"timeSeries": [self.series(now, metricKind="CUMULATIVE")]}, "CUMULATIVE"),
                ({"timeSeries": [self.series(now, metricKind="gauge")]}, "gauge"),
                ({"timeSeries": [self.series(now, name="goodput")]}, "metric"),
                ({"timeSeries": [self.series(now, resource={"type": "global", "labels": {}})]}, "resource"),
                ({"timeSeries": [self.series(now, points=[dict(point, interval={"end_time": "x"})])]}, "end_time")):
            code, message = self.post(wrong)
            self.assertEqual(code, 400, why)
            self.assertIn(why, message)
        for at, why in ((now, "in order"), (now - 1, "in order"), (now + 3, "more frequently"), (now + 3600, "too far")):
            code, message = self.post({"timeSeries": [self.series(at)]})
            self.assertEqual(code, 400, why)
            self.assertRegex(message, '"totalPointCount": 1.*%s' % why)
        self.assertEqual(self.post({"timeSeries": [self.series(now + 6)]})[0], 200)


class Doctor(MonitoringTest):
    def test_nothing_is_written_and_it_says_so(self) -> None:
        done = self.run_it("doctor", project="projects/-")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertEqual([line[:4] for line in done.stdout.splitlines()], ["ok  "] * 4 + ["--  "], done.stdout)
        self.assertIn("projects/lab-1: not tried, since nothing can be tried without writing", done.stdout)
        self.assertEqual(self.cloud.state()["calls"]["timeSeries"], 0)

    def test_what_is_missing_is_named(self) -> None:
        self.cloud.behave(scopes=[SCOPE + "logging.write"])
        done = self.run_it("doctor")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"!!  access scopes: this machine lacks monitoring.write\n      fix: ")
        self.cloud.behave(hasAccount=False)
        done = self.run_it("doctor")
        self.assertRegex(done.stdout, r"\A!!  [^\n]*no service account\n      fix: [^\n]*\n\Z")
        self.assertEqual(self.run_it("doctor", "--cloud-log", "projects/p/logs/l").returncode, 2)


if __name__ == "__main__":
    unittest.main()
