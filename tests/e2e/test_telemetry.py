#!/usr/bin/python3
"""sgoodput telemetry against a server that reads OTLP with the messages of OpenTelemetry's own library (npm), with faults; and against
Prometheus, where it is new enough.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_telemetry

GOODPUT_PROMETHEUS=PATH uses this Prometheus instead of the installed one.
"""

import fcntl
import hashlib
import http.server
import json
import os
import pwd
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from typing import Any, Dict, List, Optional, Tuple

from .harness.fleet_clusters import BEGAN, BETWEEN, Cluster, accounted
from .harness.hand_written import FAULTS, SGOODPUT, TOP

HERE = os.path.dirname(os.path.abspath(__file__))
NPM = os.path.join(TOP, "out", "npm-otlp-server")
PACKAGE = "@opentelemetry/otlp-transformer@0.203.0"
ALL = "2026-09-01"
PROMETHEUS = os.environ.get("GOODPUT_PROMETHEUS", "prometheus")
NOBODY = pwd.getpwnam("nobody")
SPAN_KIND_INTERNAL = 1


def setUpModule() -> None:
    if not os.path.isdir(os.path.join(NPM, "node_modules", "@opentelemetry", "otlp-transformer")):
        os.makedirs(NPM, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", NPM, PACKAGE], check=True,
                       stdin=subprocess.DEVNULL, timeout=300)


class Server:
    """The OTLP server in server.js."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(["node", os.path.join(HERE, "telemetry", "server.js"), os.path.join(NPM, "node_modules")],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, universal_newlines=True)
        assert self.process.stdout is not None
        self.url = "http://127.0.0.1:%d" % int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def admin(self, path: str, method: str, body: Optional[Any] = None) -> Any:
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def fails(self, *faults: Dict[str, Any]) -> None:
        self.admin("/faults", "PUT", list(faults))

    def got(self, path: str = "/v1/") -> List[Dict[str, Any]]:
        return [one for one in self.admin("/got", "GET") if one["path"].startswith(path)]

    def spans(self) -> List[Dict[str, Any]]:
        """Every span that it accepted, as often as it came."""
        return [span for one in self.got("/v1/traces") if one["code"] == 200 for resource in one["message"]["resourceSpans"]
                for scope in resource["scopeSpans"] for span in scope["spans"]]

    def points(self, name: str) -> List[List[Tuple[Dict[str, str], Dict[str, Any]]]]:
        """By request: labels and points of a metric."""
        requests = []
        for one in self.got("/v1/metrics"):
            if one["code"] != 200:
                continue
            metrics = [metric for resource in one["message"]["resourceMetrics"] for scope in resource["scopeMetrics"]
                       for metric in scope["metrics"] if metric["name"] == name]
            requests.append([(attributes(point), point) for metric in metrics
                             for point in metric["sum" if "sum" in metric else "gauge"]["dataPoints"]])
        return requests


def attributes(of: Dict[str, Any]) -> Dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in of["attributes"]}


class TelemetryTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-telemetry-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.server = Server()
        self.addCleanup(self.server.close)
        self.cluster = Cluster(os.path.join(self.dir, "cluster"), "alpha", 1, self.jobs())
        self.state = os.path.join(self.dir, "cluster", "telemetry.state")
        self.configure("otlp = %s" % self.server.url)
        self.give_away()

    @staticmethod
    def jobs() -> int:
        return 60

    def give_away(self) -> None:
        if os.geteuid() == 0:
            for folder, _, files in os.walk(self.dir):
                for name in [folder] + [os.path.join(folder, file) for file in files]:
                    os.chown(name, NOBODY.pw_uid, NOBODY.pw_gid)

    def configure(self, *lines: str) -> None:
        with open(self.cluster.conf, "w") as conf:
            conf.write("cluster = alpha\n" + "".join(line + "\n" for line in lines))

    def command(self, *args: str) -> List[str]:
        as_owner = ["setpriv", "--reuid=nobody", "--regid=%d" % NOBODY.pw_gid, "--clear-groups"] if os.geteuid() == 0 else []
        return as_owner + [SGOODPUT, "telemetry", *args, "--config", self.cluster.conf, "--db", self.cluster.db]

    @staticmethod
    def environment(**more: str) -> Dict[str, str]:
        return {"PATH": os.environ["PATH"], "TZ": "UTC", **FAULTS, **more}

    def run_it(self, *args: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(self.command(*args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                              env=self.environment(**env), timeout=120)

    def send(self, *args: str, status: int = 0, **env: str) -> str:
        done = self.run_it("send", "--once", *(args or ("-S", ALL)), **env)
        self.assertEqual(done.returncode, status, done)
        return " ".join((done.stdout + done.stderr).split())

    def sums(self) -> List[Dict[Tuple[str, str, str], float]]:
        return [{(labels["bucket"], labels["account"], labels["partition"]): point["asDouble"] for labels, point in request}
                for request in self.server.points("goodput.gpu_seconds")]


class SentTest(TelemetryTest):
    """What arrives, and that it is what the reports say."""

    def test_gpu_seconds_are_those_of_the_report(self) -> None:
        self.send()
        (sums,) = self.sums()
        report = self.cluster.report("-S", ALL, "--by", "account,partition")
        for row in report["rows"]:
            for bucket in row["buckets"]:
                account, partition = row["groups"][0], row["groups"][1]
                if bucket["gpu_seconds"]:
                    self.assertEqual(sums.pop((bucket["name"], account, partition)), bucket["gpu_seconds"])
        self.assertEqual(sums, {})
        for labels, point in self.server.points("goodput.gpu_seconds")[0]:
            self.assertEqual(set(labels), {"bucket", "side", "account", "partition"})
            self.assertLess(int(point["startTimeUnixNano"]), int(point["timeUnixNano"]))
        sides = {labels["bucket"]: labels["side"] for labels, _ in self.server.points("goodput.gpu_seconds")[0]}
        self.assertEqual(sides, {bucket["name"]: bucket["side"] for bucket in report["total"]["buckets"] if bucket["name"] in sides})
        metric = self.server.got("/v1/metrics")[0]["message"]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]
        self.assertEqual((metric["unit"], metric["sum"]["isMonotonic"], metric["sum"]["aggregationTemporality"]), ("s", True, 2))

    def test_ratios_are_those_of_the_runs_of_a_day(self) -> None:
        """A run that ended within a day, alone."""
        spool = self.cluster.spool()
        begin = int(time.time()) - BEGAN - 20_000
        more = {"job": 77, "user": "eve", "account": "new", "gpus": 8, "submit_s": begin, "eligible_s": begin, "start_s": begin + 10}
        spool.controller(begin + 11, **more)
        opt = {"flops_per_step": 1e16, "precision": "bf16"}
        spool.node(begin + 10, "job_prolog", job=77, opt=opt)
        spool.node(begin + 12, "task_start", slurm_step="0", task=0, local_task=0, pid=5, job=77)
        for k in range(10):
            spool.node(begin + 20 + k * 100, "mark", mark="step", edge="begin", train_step=k, slurm_step="0", task=0, job=77)
        spool.node(begin + 1020, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, job=77, exit_code=0)
        spool.controller(begin + 1021, end_s=begin + 1021, state="COMPLETED", **more)
        self.cluster.ingest(spool)
        self.give_away()
        self.send()
        job = json.loads(self.cluster.ok("show", "77", "--no-refresh", "--json"))["jobs"][0]
        expected = {name: job["goodput"][name] for name in ("mpg", "scheduling", "runtime", "program", "sg_rg")}
        expected.update({name: value for name, value in job["definitions"].items() if value is not None})
        ratios = {labels["definition"]: point["asDouble"] for labels, point in self.server.points("goodput.ratio")[0]}
        self.assertIn("mpg", ratios)
        self.assertEqual(set(ratios), set(expected))
        for name, value in expected.items():
            self.assertAlmostEqual(ratios[name], value, places=9, msg=name)

    def test_a_trace_is_the_run_and_its_resource_names_the_cluster(self) -> None:
        self.send(OTEL_RESOURCE_ATTRIBUTES="gcp.project_id=p%2D1,service.name=no")
        resource = attributes(self.server.got("/v1/traces")[0]["message"]["resourceSpans"][0]["resource"])
        self.assertEqual((resource["service.name"], resource["slurm.cluster"], resource["gcp.project_id"]), ("slurm-goodput", "alpha", "p-1"))
        job = json.loads(self.cluster.ok("show", "12", "--no-refresh", "--json"))["jobs"][0]
        spans = self.server.spans()
        (run,) = [span for span in spans if span["name"] == "run" and attributes(span).get("goodput.run") == "run12"]
        mine = [span for span in spans if span["traceId"] == run["traceId"]]
        self.assertEqual(sorted(span["name"] for span in mine), ["attempt", "attempt", "interruption", "program", "program", "run"])
        by_id = {span["spanId"]: span for span in mine}
        self.assertEqual(len(by_id), len(mine))
        for span in mine:
            self.assertEqual(span["kind"], SPAN_KIND_INTERNAL)
            if span is not run:
                parent = by_id[span["parentSpanId"]]
                self.assertEqual((parent["name"], span["name"]) in
                                 {("run", "attempt"), ("attempt", "program"), ("program", "interruption")}, True)
                self.assertLessEqual(int(parent["startTimeUnixNano"]), int(span["startTimeUnixNano"]))
        told = attributes(run)
        for bucket in job["buckets"]:
            if bucket["ns"]:
                self.assertAlmostEqual(told["goodput.gpu_seconds." + bucket["name"]], bucket["gpu_seconds"], places=6)
        (interruption,) = [span for span in mine if span["name"] == "interruption"]
        self.assertEqual(attributes(interruption)["error.type"], job["interruptions"][0]["cause"])

    def test_both_encodings_and_the_exported_file_say_the_same(self) -> None:
        self.send()
        protobuf = self.server.spans()
        os.unlink(self.state)
        self.server.admin("/got", "DELETE")
        self.send(OTEL_EXPORTER_OTLP_PROTOCOL="http/json", OTEL_EXPORTER_OTLP_COMPRESSION="none")
        self.assertEqual({one["type"] for one in self.server.got()}, {"application/json"})
        self.assertEqual(protobuf, self.server.spans())
        exported = self.cluster.ok("export", "--format=otlp", "12", "--no-refresh")
        self.server.admin("/got", "DELETE")
        request = urllib.request.Request(self.server.url + "/v1/traces", data=exported.encode(), headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            self.assertEqual(answer.status, 200)
        for span in self.server.spans():
            self.assertIn(span, protobuf)

    def test_no_span_comes_twice_and_a_lost_file_sends_the_same_ids(self) -> None:
        self.send()
        first = self.server.spans()
        self.send()
        self.assertEqual(self.server.spans(), first)
        self.assertEqual(len({span["spanId"] for span in first}), len(first))
        sums = self.sums()
        self.assertEqual(sums[0], sums[1])
        for damage in ("", "slurm-goodput telemetry 1\nend\tno\n", "half"):
            with open(self.state) as file:
                whole = file.read()
            with open(self.state, "w") as file:
                file.write(whole[:len(whole) // 2] if damage == "half" else damage)
            self.server.admin("/got", "DELETE")
            self.assertIn("is damaged", self.send())
            self.assertEqual(self.server.spans(), first)
            self.assertEqual(self.sums()[0], sums[0])

    def test_only_the_last_day_is_sent_at_first(self) -> None:
        self.assertIn(" and 0 spans", self.send("-M", "alpha"))
        self.assertGreater(len(self.sums()[0]), 20)

    def test_a_running_run_sends_the_attempts_that_ended(self) -> None:
        spool = self.cluster.spool()
        now = int(time.time()) - BEGAN
        for begin, end in ((now - 9000, now - 5000), (now - 4000, None)):
            more = {"job": 88, "user": "eve", "account": "open", "gpus": 8, "submit_s": begin, "eligible_s": begin, "start_s": begin + 10}
            spool.controller(begin + 11, **more)
            if end:
                spool.controller(end, end_s=end, state="NODE_FAIL", **more)
        self.cluster.ingest(spool)
        self.give_away()
        self.send()
        mine = [span for span in self.server.spans() if attributes(span).get("slurm.job.id") == "88"]
        self.assertEqual([span["name"] for span in mine], ["attempt"])
        self.assertIn("parentSpanId", mine[0])
        self.assertEqual([series for series in self.sums()[0] if series[1] == "open"], [])

    def test_large_requests_are_split(self) -> None:
        spool = self.cluster.spool()
        for job in range(5000, 5003):
            begin = 1000 * job
            more = {"job": job, "user": "eve", "gpus": 8, "submit_s": begin, "eligible_s": begin, "start_s": begin + 1}
            spool.controller(begin + 2, **more)
            spool.node(begin + 2, "task_start", slurm_step="0", task=0, local_task=0, pid=5, job=job)
            for k in range(6000):
                spool.node(begin + 3 + k * 0.1, "mark", mark="checkpoint", edge="begin", train_step=k, slurm_step="0", task=0, job=job)
                spool.node(begin + 3.05 + k * 0.1, "mark", mark="checkpoint", edge="end", train_step=k, slurm_step="0", task=0, job=job)
            spool.node(begin + 700, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, job=job, exit_code=0)
            spool.controller(begin + 701, end_s=begin + 701, state="COMPLETED", **more)
        self.cluster.ingest(spool)
        self.give_away()
        self.send("-S", ALL, OTEL_EXPORTER_OTLP_PROTOCOL="http/json")
        sizes = [one["size"] for one in self.server.got("/v1/traces")]
        self.assertGreater(len(sizes), 1)
        self.assertLess(max(sizes), 4_000_000)
        saves = [span for span in self.server.spans() if span["name"] == "checkpoint"]
        self.assertEqual(len(saves), 18_000)
        self.assertEqual(len({span["spanId"] for span in saves}), 18_000)

    def test_sums_never_fall_when_a_report_is_corrected(self) -> None:
        """Records of the program arrive late: what was unobserved becomes productive."""
        begin = 30 * 86400
        more = {"job": 66, "user": "eve", "account": "late", "gpus": 8, "submit_s": begin, "eligible_s": begin, "start_s": begin + 10}
        early, late = self.cluster.spool(), self.cluster.spool()
        early.controller(begin + 11, **more)
        early.controller(begin + 2000, end_s=begin + 2000, state="COMPLETED", **more)
        late.node(begin + 12, "task_start", slurm_step="0", task=0, local_task=0, pid=5, job=66)
        for k in range(19):
            late.node(begin + 20 + k * 100, "mark", mark="step", edge="begin", train_step=k, slurm_step="0", task=0, job=66)
        late.node(begin + 1990, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, job=66, exit_code=0)
        for spool in (early, late):
            self.cluster.ingest(spool)
            self.give_away()
            self.send()
        before, after = self.sums()
        unobserved, productive = ("unobserved", "late", "a3"), ("productive", "late", "a3")
        self.assertNotIn(productive, before)
        self.assertGreater(after[productive], 8 * 1800)
        self.assertEqual(before[unobserved], after[unobserved])
        for series, value in before.items():
            self.assertGreaterEqual(after[series], value, series)


class ContinuousTest(TelemetryTest):
    """What the service does, minute after minute."""

    @staticmethod
    def jobs() -> int:
        return 5

    def test_it_sends_again_after_a_minute_and_says_a_problem_once(self) -> None:
        """Runs that ended long ago, among them a heterogeneous job, are not looked at again, and count once each time."""
        rows = accounted("alpha", 3, 1, first=9000).splitlines()
        last = [field.split(BETWEEN) for field in rows][-1]
        component = ["9001" if i == 1 else "9000+1" if i == 2 else field for i, field in enumerate(last)]
        whole = ["9000+0" if i == 2 else field for i, field in enumerate(last)]
        self.cluster.add_accounted("\n".join([rows[0], BETWEEN.join(whole), BETWEEN.join(component)]) + "\n")
        self.give_away()
        self.server.fails({"rejected": 1}, {"rejected": 2})
        sender = subprocess.Popen(self.command("send"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(),
                                  universal_newlines=True)
        for _ in range(1500):
            if len(self.server.got("/v1/metrics")) == 3:
                break
            time.sleep(0.1)
        sender.terminate()
        said, problems = sender.communicate(timeout=20)
        times = [one["t"] for one in self.server.got("/v1/metrics")]
        self.assertEqual(len(times), 3)
        for before, after in zip(times, times[1:]):
            self.assertAlmostEqual(after - before, 60_000, delta=3_000)
        self.assertEqual(problems.count("not everything was accepted"), 1, problems)
        self.assertEqual(said.count("Cluster alpha"), 1, said)
        first, second, third = self.sums()
        self.assertEqual(first, second)
        self.assertEqual(first, third)
        total = self.cluster.report("-S", ALL)["total"]["buckets"]
        self.assertAlmostEqual(sum(first.values()), sum(bucket["gpu_seconds"] for bucket in total), delta=1e-3)


class FaultsTest(TelemetryTest):
    """Servers that are away, slow, full or of another opinion."""

    @staticmethod
    def jobs() -> int:
        return 10

    def test_what_may_be_retried_is(self) -> None:
        self.server.fails({"code": 429, "headers": {"Retry-After": "2"}}, {"code": 503}, {}, {"code": 502}, {"code": 504})
        self.send()
        times = [one["t"] for one in self.server.got("/v1/metrics")]
        self.assertGreaterEqual(times[1] - times[0], 1990)
        self.assertEqual([one["code"] for one in self.server.got()], [429, 503, 200, 502, 504, 200])
        self.assertEqual(len({span["spanId"] for span in self.server.spans()}), len(self.server.spans()))

    def test_a_server_that_asks_for_no_wait_is_not_asked_in_a_loop(self) -> None:
        self.configure("otlp = %s" % self.server.url, "otlp_signals = traces")
        self.server.fails(*[{"code": 429, "headers": {"Retry-After": "0"}}] * 3)
        self.send()
        times = [one["t"] for one in self.server.got()]
        self.assertEqual(len(times), 4)
        for i, (before, after) in enumerate(zip(times, times[1:])):
            self.assertGreater(after - before, 480 * 2 ** i)

    def test_a_long_retry_after_ends_the_pass_and_nothing_is_lost(self) -> None:
        self.server.fails({}, {"code": 503, "headers": {"Retry-After": "600"}})
        said = self.send(status=1)
        self.assertIn("HTTP status 503: busy", said)
        self.assertNotIn("waiting 0", said)
        self.assertEqual(self.server.spans(), [])
        self.assertIn("waiting 0", self.send())
        self.assertGreater(len(self.server.spans()), 10)

    def test_what_is_refused_is_counted_and_stops_nothing(self) -> None:
        self.server.fails({"code": 400}, {"code": 400})
        said = self.send(status=1)
        self.assertEqual(said.count("HTTP status 400"), 2, said)
        self.assertRegex(said, r"refused [1-9]\d+, waiting 0")
        self.send()
        self.assertEqual(self.server.spans(), [])
        self.assertEqual(len(self.sums()), 1)
        status = self.run_it("status")
        self.assertRegex(" ".join(status.stdout.split()), r"Traces to http\S+: spans sent 0, rejected 0, refused [1-9]")

    def test_what_is_rejected_of_a_request_is_counted(self) -> None:
        for protocol in ("http/protobuf", "http/json"):
            with self.subTest(protocol):
                if os.path.exists(self.state):
                    os.unlink(self.state)
                self.server.fails({}, {"rejected": 3})
                said = self.send(status=1, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)
                self.assertIn("too old", said)
                self.assertIn("rejected 3", said)
                status = " ".join(self.run_it("status").stdout.split())
                self.assertIn("rejected 3", status)

    def test_a_connection_that_breaks_after_the_server_kept_it_gives_the_same_ids(self) -> None:
        self.server.fails({"cut": True}, {}, {"cut": True})
        self.send()
        spans = self.server.spans()
        ids = [span["spanId"] for span in spans]
        self.assertEqual(len(ids), 2 * len(set(ids)))
        self.assertEqual(spans[:len(ids) // 2], spans[len(ids) // 2:])
        self.assertEqual(*self.sums())

    def test_killed_before_it_notes_what_was_sent(self) -> None:
        self.send("-M", "alpha", "-S", "now")
        self.server.admin("/got", "DELETE")
        for _ in range(5):
            self.server.fails({}, {"slow": 3000})
            sender = subprocess.Popen(self.command("send", "-S", ALL), stdout=subprocess.DEVNULL, env=self.environment())
            for _ in range(200):
                if self.server.spans():
                    break
                time.sleep(0.02)
            sender.kill()
            sender.wait()
            killed = self.server.spans()
            self.assertTrue(killed)
            self.server.fails()
            self.send()
            both = self.server.spans()
            self.assertEqual(both, killed + killed)
            os.unlink(self.state)
            self.server.admin("/got", "DELETE")

    def test_a_server_that_is_away_is_no_loss(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = "http://127.0.0.1:%d" % free.getsockname()[1]
        began = time.monotonic()
        self.configure("otlp = %s" % url, "otlp_signals = traces")
        self.assertIn(url + "/v1/traces", self.send(status=1))
        self.assertLess(time.monotonic() - began, 60)
        self.configure("otlp = %s" % self.server.url)
        self.send()
        self.assertGreater(len(self.server.spans()), 10)


class RightsTest(TelemetryTest):
    """Who may send, and what others see."""

    @staticmethod
    def jobs() -> int:
        return 0

    def one_line(self, done: "subprocess.CompletedProcess[str]", what: str) -> None:
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done)
        self.assertIn(what, done.stderr)

    def test_nothing_is_sent_by_default(self) -> None:
        self.configure()
        self.one_line(self.run_it("send", "--once"), "nothing is sent: set `otlp")
        self.one_line(self.run_it("status"), "nothing is sent: set `otlp")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_root_and_strangers_are_told_in_one_line(self) -> None:
        as_root = self.command("send", "--once")
        as_root = as_root[as_root.index(SGOODPUT):]
        self.one_line(subprocess.run(as_root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                                     env=self.environment(), timeout=60), "not run it as root")
        os.chmod(self.cluster.db, 0o600)
        os.chown(self.cluster.db, 0, 0)
        os.chown(os.path.dirname(self.cluster.db), 0, 0)
        self.one_line(self.run_it("send", "--once"), "denied")

    def test_the_database_is_not_written(self) -> None:
        def digest() -> str:
            with open(self.cluster.db, "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()
        before = digest()
        self.send()
        self.assertEqual(digest(), before)

    def test_secrets_are_sent_and_shown_to_nobody(self) -> None:
        secret = os.path.join(self.dir, "headers")
        with open(secret, "w") as file:
            file.write("# of the collector\nAuthorization: Bearer s3cret\n")
        self.configure("otlp = %s/" % self.server.url, "otlp_headers_file = %s" % secret)
        self.give_away()
        os.chmod(secret, 0o644)
        self.one_line(self.run_it("send", "--once"), "others may read it")
        os.chmod(secret, 0o600)
        self.server.fails({"slow": 1500})
        sender = subprocess.Popen(self.command("send", "--once", "-S", ALL), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env=self.environment(), universal_newlines=True)
        time.sleep(1)
        for name in ("cmdline", "environ"):
            with open("/proc/%d/%s" % (sender.pid, name), "rb") as file:
                self.assertNotIn(b"s3cret", file.read())
        said = sender.communicate(timeout=60)[0]
        with open(self.state) as file:
            self.assertNotIn("s3cret", said + file.read())
        self.assertEqual({one["headers"].get("authorization") for one in self.server.got()}, {"Bearer s3cret"})

    @unittest.skipUnless(shutil.which("openssl"), "needs openssl")
    def test_a_server_over_https_must_show_a_certificate(self) -> None:
        key, certificate = os.path.join(self.dir, "key"), os.path.join(self.dir, "certificate")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL, timeout=60)
        got: List[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                got.append(self.path)

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.configure("otlp = https://127.0.0.1:%d" % server.server_address[1], "otlp_signals = metrics")
        self.assertIn("certificate", self.send(status=1))
        self.assertEqual(got, [])

    def test_variables_of_the_specification_come_first(self) -> None:
        self.configure("otlp = http://127.0.0.1:1")
        self.send(OTEL_EXPORTER_OTLP_ENDPOINT=self.server.url, OTEL_EXPORTER_OTLP_HEADERS="x-a=1%202,x-b=3",
                  OTEL_EXPORTER_OTLP_TRACES_HEADERS="x-c=4")
        headers = {one["path"]: one["headers"] for one in self.server.got()}
        self.assertEqual((headers["/v1/metrics"]["x-a"], headers["/v1/metrics"]["x-b"]), ("1 2", "3"))
        self.assertEqual((headers["/v1/traces"]["x-c"], "x-a" in headers["/v1/traces"]), ("4", False))
        self.server.admin("/got", "DELETE")
        os.unlink(self.state)
        self.configure()
        self.send(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=self.server.url + "/v1/traces")
        self.assertEqual({one["path"] for one in self.server.got()}, {"/v1/traces"})
        self.one_line(self.run_it("send", "--once", OTEL_EXPORTER_OTLP_ENDPOINT="http://u:pass@h"), "must not contain a user")

    def test_two_do_not_send_at_once(self) -> None:
        with open(self.state + ".lock", "w") as lock:
            self.give_away()
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.one_line(self.run_it("send", "--once"), "another sgoodput telemetry send")
        self.assertEqual(self.server.got(), [])
        self.send()

    def test_status_says_what_was_sent_and_whether_it_is_new(self) -> None:
        self.assertEqual(self.run_it("status").returncode, 1)
        self.send()
        done = self.run_it("status")
        said = " ".join(done.stdout.split())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(said, r"Metrics to %s/v1/metrics: points sent \d+, rejected 0, refused 0; last delivery \d" % self.server.url)
        self.assertIn("not sent yet: 0", said)

    def test_doctor_says_whether_it_is_delivered(self) -> None:
        self.configure("otlp = %s" % self.server.url, "database = %s" % self.cluster.db)

        def doctor() -> str:
            done = subprocess.run([SGOODPUT, "doctor", "--config", self.cluster.conf], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  universal_newlines=True, env=self.environment(), timeout=120)
            return " ".join(done.stdout.split())

        self.assertIn("telemetry is not delivered", doctor())
        self.send()
        self.assertIn("telemetry was delivered", doctor())


def prometheus_release() -> Tuple[int, ...]:
    if shutil.which(PROMETHEUS) is None:
        return (0, 0)
    done = subprocess.run([PROMETHEUS, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=60)
    found = re.search(r"version (\d+)\.(\d+)", done.stdout)
    return tuple(int(part) for part in found.groups()) if found else (0, 0)


@unittest.skipUnless(prometheus_release() >= (2, 47), "this Prometheus has no OTLP receiver (2.47 or newer has)")
class PrometheusTest(TelemetryTest):
    def test_it_stores_the_sums(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with open(os.path.join(self.dir, "prometheus.yml"), "w") as file:
            file.write("scrape_configs: []\n")
        flag = "--web.enable-otlp-receiver" if prometheus_release() >= (3, 0) else "--enable-feature=otlp-write-receiver"
        prometheus = subprocess.Popen([PROMETHEUS, "--config.file=%s/prometheus.yml" % self.dir, "--storage.tsdb.path=%s/tsdb" % self.dir,
                                       "--web.listen-address=127.0.0.1:%d" % port, flag], stderr=subprocess.DEVNULL)
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.kill)
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        self.configure("otlp = http://127.0.0.1:%d/api/v1/otlp" % port, "otlp_signals = metrics")
        with self.assertRaises(urllib.error.HTTPError) as none:
            urllib.request.urlopen("http://127.0.0.1:%d/api/v1/otlp/v1/metrics" % port, data=b"no", timeout=20)
        if none.exception.code == 404:
            self.skipTest("this Prometheus was built without its OTLP receiver, as Debian builds it")
        self.send()
        self.send()
        query = "http://127.0.0.1:%d/api/v1/query?query=sum(goodput_gpu_seconds_total)by(bucket)" % port
        with urllib.request.urlopen(query, timeout=20) as answer:
            stored = {one["metric"]["bucket"]: float(one["value"][1]) for one in json.load(answer)["data"]["result"]}
        self.assertGreater(stored["productive"], 0)
        for bucket in self.cluster.report("-S", ALL)["total"]["buckets"]:
            self.assertAlmostEqual(stored.get(bucket["name"], 0), bucket["gpu_seconds"], delta=1e-3, msg=bucket["name"])


if __name__ == "__main__":
    unittest.main()
