#!/usr/bin/python3
"""sgoodput otlp on a private cluster: the real SDK of OpenTelemetry (npm) sends a trainer's spans to it while the job runs, and the
report is compared with the trainer's own truth. And the receiver alone: what it answers, whom it refuses, and that it never keeps a
program from running.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_otlp
"""

import glob
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest
from typing import Any, Dict, List, Tuple

from .harness import schemas
from .harness.checks import assert_attempts, assert_buckets_close, describe
from .harness.goodput_site import SGOODPUT, Site
from .harness.hand_written import FAULTS
from .harness.judge import Judge, seconds
from .harness.lateness import lateness
from .harness.stage import Stage
from .harness.truth import S, Truth
from .harness.work import Outcome, Work

HERE = os.path.dirname(os.path.abspath(__file__))
NPM = os.path.join(os.path.dirname(os.path.dirname(HERE)), "out", "npm-otel")
PACKAGES = ("@opentelemetry/api@1.9.1", "@opentelemetry/sdk-trace-base@2.12.1", "@opentelemetry/resources@2.12.1",
            "@opentelemetry/exporter-trace-otlp-proto@0.223.1", "@opentelemetry/exporter-trace-otlp-http@0.223.1")
STAGE = Stage()
PROGRAM = "--framework megatron-otel --eval-every 12 --eval-seconds 0.4 --save-every 10 "


def relayed(work: Work, options: str, protocol: str) -> str:
    """The trainer, whose spans the SDK sends."""
    relay = "node %s %s/node_modules %s" % (os.path.join(HERE, "otlp", "relay.js"), NPM, protocol)
    return "bash -c 'set -o pipefail; trap : TERM; %s | %s'" % (work.trainer(PROGRAM + options, marks=False), relay)


# Spans pass through two batches, the trainer's and the SDK's, of this many milliseconds. A save takes longer, so that the steps from
# which a killed program resumes were told.
DELAY = "export OTEL_BSP_SCHEDULE_DELAY=200"


def through_srun(work: Work) -> Outcome:
    """One receiver for each task; TERM, a save and the queue."""
    work.submit(DELAY + "; srun %s otlp -- %s" % (SGOODPUT, relayed(work, "--steps 57", "proto")))
    work.steps(0, 25)
    work.preempt()
    return work.outcome()


def through_the_script(work: Work) -> Outcome:
    """One receiver for the script, JSON, saves in the background, and a requeue that kills the program."""
    work.submit("\n".join([
        "trap : TERM", DELAY, "%s otlp --port 14318 &" % SGOODPUT, "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:14318",
        "sleep 0.5",
        "srun " + relayed(work, "--steps 56 --async-save --save-seconds 1 --on-signal USR1=save", "http")]))
    work.steps(0, 36)
    work.control("requeue", str(work.job))
    return work.outcome()


def several_ranks(work: Work) -> Outcome:
    """As with torchrun: a receiver for each of two nodes, and two ranks that send to it."""
    meeting = os.path.join(work.folder, "ranks")
    os.makedirs(meeting)
    shutil.chown(meeting, work.user)
    rank = "node %s %s/node_modules %s" % (os.path.join(HERE, "otlp", "ranks.js"), NPM, meeting)
    work.submit(DELAY + "; srun -n2 %s otlp -- bash -c '(LOCAL_RANK=0 %s) & LOCAL_RANK=1 %s; wait'; sleep 1.1" % (SGOODPUT, rank, rank))
    rows = work.site.settle(work.job, timeout=240)
    report = work.site.sgoodput("report", "-j", str(work.job), "--by", "node", "--json")
    table = work.site.sgoodput("report", "-j", str(work.job), "--by", "node")
    text = work.site.sgoodput("show", str(work.job))
    return Outcome(work.site, work.job, meeting, work.site.show_json(work.job), Truth([], rows),
                   {"report": report.stdout, "table": table.stdout, "text": text.stdout})


SCENARIOS = ((several_ranks, 2), (through_srun, 1), (through_the_script, 1))


def setUpModule() -> None:
    if not os.path.isdir(os.path.join(NPM, "node_modules", "@opentelemetry", "sdk-trace-base")):
        os.makedirs(NPM, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", NPM, *PACKAGES], check=True,
                       stdin=subprocess.DEVNULL, timeout=300)
    unittest.addModuleCleanup(STAGE.stop)
    STAGE.start({"": (Site("cgroup", nodes=sum(nodes for _, nodes in SCENARIOS), kill_wait_s=30), list(SCENARIOS))})


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class LiveTest(Judge):
    STAGE = STAGE

    def told(self, outcome: Outcome) -> Dict:
        truth, job = outcome.truth, outcome.show["jobs"][0]
        assert_attempts(self, outcome.show, truth)
        self.resumes(job)
        self.assertEqual(job["steps"]["kept"], len(truth.kept), describe(truth))
        evidence = {bucket["name"]: bucket["evidence"] for bucket in job["buckets"] if bucket["ns"]}
        self.assertEqual(evidence["productive"], "mark")
        return job

    def said(self, text: str, pattern: str, *numbers: Tuple[float, float]) -> None:
        """numbers: what each group of the pattern is, and how much of it rounding may take."""
        match = re.search(pattern, " ".join(text.split()))
        self.assertIsNotNone(match, text)
        for one, (number, delta) in zip(match.groups(), numbers):  # type: ignore
            self.assertAlmostEqual(float(one), number, delta=delta)

    def test_around_the_program(self) -> None:
        outcome = self.outcome(through_srun)
        self.told(outcome)
        assert_buckets_close(self, outcome.show, outcome.truth, 1.1)

    def test_beside_the_program(self) -> None:
        outcome = self.outcome(through_the_script)
        job = self.told(outcome)
        # The steps count as the script's, whose start is the program's, too.
        true = outcome.truth.sums()
        for bucket in ("productive", "checkpoint_save", "overhead", "lost_work"):
            self.assertAlmostEqual(seconds(outcome.show, bucket), true.get(bucket, 0) / S, delta=0.8 * lateness(), msg=describe(outcome.truth))
        for one in job["checkpoints"]:
            self.assertTrue(one["complete_ns"] is None or one["complete_ns"] - one["begin_ns"] > 9e8, job["checkpoints"])


    def test_ranks_that_others_wait_for(self) -> None:
        outcome = self.outcome(several_ranks)
        job = outcome.show["jobs"][0]
        begins: Dict[int, List[float]] = {}
        for path in glob.glob(os.path.join(outcome.folder, "log-*")):
            with open(path) as file:
                for step, ms in (line.split() for line in file):
                    begins.setdefault(int(step), []).append(int(ms) / 1000)
        self.assertEqual({len(times) for times in begins.values()}, {4})
        self.assertEqual(job["steps"]["kept"], len(begins))
        wait = job["rank_wait"]
        # Not the first step.
        self.assertEqual((wait["ranks"], wait["ranks_left_out"], wait["measured_steps"], wait["late_steps"]), (4, 0) + 2 * (len(begins) - 1,))
        late, = wait["late"]
        with open(os.path.join(outcome.folder, "node-3")) as file:
            node = file.read()
        self.assertEqual((late["rank"], late["node"], late["wait_share"]), (3, node, 1))
        waits = [max(times) - sum(times) / 4 for step, times in begins.items() if step > 1]
        # 16 GPUs.
        self.assertAlmostEqual(wait["gpu_seconds"] / 16, sum(waits), delta=0.1 * lateness())
        self.assertEqual(wait["most_gpu_seconds"], wait["gpu_seconds"], "no clock is in doubt")
        self.assertAlmostEqual(wait["longest_s"], max(max(times) - min(times) for step, times in begins.items() if step > 1),
                               delta=0.02 * lateness())
        productive = sum(bucket["gpu_seconds"] for bucket in job["buckets"] if bucket["name"] == "productive")
        share = wait["gpu_seconds"] / productive
        self.said(outcome.more["text"], r"(\S+)%% of productive time waiting for the last of 4 ranks to begin a step, up to (\S+) s; 100%% of it for "
                  r"rank 3 on %s \(measured in %d of %d kept steps\)" % (node, len(begins) - 1, len(begins)), (100 * share, 0.051), (wait["longest_s"], 0.00051))
        report = json.loads(outcome.more["report"])
        schemas.check(report, "report")
        rows = {row["group"]: row["rank_wait"] for row in report["rows"] if row["group"] != "-"}
        self.assertEqual(len(rows), 2)
        self.assertAlmostEqual(rows[node]["gpu_seconds"], wait["gpu_seconds"], places=6)
        self.assertEqual([rank_wait["gpu_seconds"] for name, rank_wait in rows.items() if name != node], [0])
        self.assertAlmostEqual(rows[node]["share"], share, places=4)
        self.said(outcome.more["table"], r"\AOthers waited for ranks to begin a step: %s \((\S+)%% of the productive time of its runs\) .*Awaited" % node,
                  (100 * share, 0.051))


class ReceiverTest(unittest.TestCase):
    """Without Slurm: a socket in the place of goodputd's."""

    def setUp(self) -> None:
        name = "goodput-otlp-%d-%s" % (os.getpid(), self.id().split(".")[-1])
        self.marks: List[Dict[str, Any]] = []
        daemon = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        daemon.bind("\0" + name)
        daemon.listen(8)
        self.addCleanup(daemon.close)
        threading.Thread(target=self.listen, args=(daemon,), daemon=True).start()
        self.env = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "3",
                    "SLURMD_NODENAME": "n1", "GOODPUT_SOCKET": "@" + name, **FAULTS}

    def listen(self, daemon: socket.socket) -> None:
        while True:
            try:
                client, _ = daemon.accept()
            except OSError:
                return
            threading.Thread(target=self.read, args=(client,), daemon=True).start()

    def read(self, client: socket.socket) -> None:
        with client:
            while True:
                message = client.recv(5000)
                if not message:
                    return
                self.marks.append(json.loads(message))

    def serve(self, **env: str) -> int:
        """The port of a receiver."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        self.receiver = subprocess.Popen([SGOODPUT, "otlp", "--port", str(port)], env=dict(self.env, **env), stderr=subprocess.PIPE,
                                         universal_newlines=True)
        self.addCleanup(self.receiver.communicate)
        self.addCleanup(self.receiver.kill)
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return port
            time.sleep(0.05)
        raise RuntimeError("it does not listen")

    @staticmethod
    def post(port: int, path: str, body: bytes, kind: str = "application/json", method: str = "POST",
             **headers: str) -> Tuple[int, bytes, str]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request(method, path, body, dict({"Content-Type": kind}, **headers))
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body, answer.headers["Content-Type"]

    @staticmethod
    def steps(first: int, count: int) -> bytes:
        began = time.time_ns() - count * 10 ** 8

        def attribute(key: str, value: Dict[str, Any]) -> Dict[str, Any]:
            return {"key": key, "value": value}
        spans = [{"name": "megatron.train.iteration", "startTimeUnixNano": str(began + n * 10 ** 8),
                  "endTimeUnixNano": str(began + (n + 1) * 10 ** 8), "attributes": [
                      attribute("megatron.iteration", {"intValue": str(first + n)}),
                      attribute("megatron.skipped", {"boolValue": False})]} for n in range(count)]
        resource = {"attributes": [attribute("slurm.job.id", {"stringValue": "666"})]}
        return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}).encode()

    def test_it_answers_as_the_protocol_says(self) -> None:
        port = self.serve()
        proto = "application/x-protobuf"
        packed = {"Content-Encoding": "gzip"}
        for expected, answer in (
                ((200, b"{}", "application/json"), self.post(port, "/v1/traces", self.steps(0, 2))),
                ((200, b"{}", "application/json"), self.post(port, "/v1/traces", gzip.compress(self.steps(2, 1)), **packed)),
                ((200, b"", proto), self.post(port, "/v1/traces", b"", proto)),
                ((200, b"", proto), self.post(port, "/v1/metrics", b"anything", proto)),
                ((200, b"{}", "application/json"), self.post(port, "/v1/logs", b"anything", "application/json; charset=utf-8"))):
            self.assertEqual(answer, expected)
        for expected_code, refused in (
                (400, self.post(port, "/v1/traces", b"\xff\xff", proto)),
                (400, self.post(port, "/v1/traces", b"[")),
                (400, self.post(port, "/v1/traces", gzip.compress(self.steps(0, 9))[:-9], **packed)),
                (413, self.post(port, "/v1/traces", gzip.compress(b" " * (17 << 20)), **packed)),
                (413, self.post(port, "/v1/traces", b" " * (17 << 20))),
                (415, self.post(port, "/v1/traces", b"x", "text/plain")),
                (415, self.post(port, "/v1/traces", b"x", **{"Content-Encoding": "zstd"})),
                (404, self.post(port, "/", b"{}")),
                (405, self.post(port, "/v1/traces", b"", method="GET"))):
            self.assertEqual(refused[0], expected_code, refused)
            self.assertIn("error", json.loads(refused[1]))
        self.receiver.send_signal(signal.SIGTERM)
        self.assertEqual(self.receiver.wait(10), 0)
        begins = [mark["train_step"] for mark in self.marks if mark["mark"] == "step" and mark["edge"] == "begin"]
        self.assertEqual(begins, [1, 2, 3])
        self.assertEqual({(mark["job"], mark["slurm_step"], mark["task"], mark["node"]) for mark in self.marks},
                         {(7, "0", 3, "n1")}, "what spans say of jobs is not believed")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_another_users_programs_are_refused(self) -> None:
        port = self.serve()
        code = "import http.client; c = http.client.HTTPConnection('127.0.0.1', %d); c.request('POST', '/v1/traces', %r, " \
               "{'Content-Type': 'application/json'}); print(c.getresponse().status)" % (port, self.steps(0, 1))
        said = subprocess.run(["setpriv", "--reuid=nobody", "--clear-groups", "/usr/bin/python3", "-c", code],
                              stdout=subprocess.PIPE, universal_newlines=True, check=True)
        self.assertEqual(said.stdout, "403\n")
        self.assertEqual(self.marks, [])

    def around(self, *command: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([SGOODPUT, "otlp", "--", *command], env=dict(self.env, **env), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=30)

    def test_the_command_is_as_without_it(self) -> None:
        done = self.around("sh", "-c", "echo $OTEL_EXPORTER_OTLP_PROTOCOL $OTEL_EXPORTER_OTLP_ENDPOINT; exit 42")
        self.assertEqual((done.returncode, done.stderr), (42, ""))
        self.assertRegex(done.stdout, r"\Ahttp/protobuf http://127.0.0.1:\d+\n\Z")
        self.assertEqual(self.around("sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        self.assertEqual(self.around("/nowhere").returncode, 127)
        self.assertEqual(self.around("sh", "-c", "echo $OTEL_EXPORTER_OTLP_ENDPOINT", GOODPUT="off").stdout, "\n")

    def test_whatever_goes_wrong_the_command_runs(self) -> None:
        for env, why in (({"SLURM_JOB_ID": ""}, "not in a Slurm job"), ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, "is set"),
                         ({"GOODPUT_OTLP": "/nowhere"}, "cannot execute")):
            done = self.around("echo", "ran", **env)
            self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), env)
            self.assertRegex(done.stderr, r"\Asgoodput: otlp: [^\n]*%s[^\n]*\n\Z" % why)
        self.assertEqual(self.around("echo", "ran", GOODPUT_SOCKET="@nobody").stdout, "ran\n")

    def test_usage_is_one_line(self) -> None:
        for arguments in (["--port", "0"], ["--port=x"], ["python"], ["--"]):
            done = subprocess.run([SGOODPUT, "otlp", *arguments], env=self.env, stderr=subprocess.PIPE, universal_newlines=True,
                                  timeout=10)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"\Asgoodput: otlp: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
