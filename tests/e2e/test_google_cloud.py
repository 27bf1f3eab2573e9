#!/usr/bin/python3
"""sgoodput import, export and doctor with --cloud-log: against a stand-in for Cloud Logging, which checks every request with the
service's own protos (npm), has its limits, and fails where it may.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_google_cloud
"""

import json
import os
import pty
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from typing import Any, Dict, List, Optional, Tuple

from .harness.hand_written import FAULTS, SGOODPUT, TOP

HERE = os.path.dirname(os.path.abspath(__file__))
NPM = os.path.join(TOP, "out", "npm-google-logging")
PACKAGES = ("@google-cloud/logging-api@0.2.0", "protobufjs@7.6.6")
PROTOS = os.path.join(NPM, "node_modules", "@google-cloud", "logging-api", "build", "protos", "protos.json")
LOG = "projects/lab-1/logs/goodput"
EMAIL = "trainer@lab-1.iam.gserviceaccount.com"
Entry = Dict[str, Any]


def setUpModule() -> None:
    if not os.path.exists(PROTOS):
        os.makedirs(NPM, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", NPM, *PACKAGES],
                       check=True, stdin=subprocess.DEVNULL, timeout=300)


def a_run(began: float, steps: int, job: str = "llm") -> List[Entry]:
    """Saves every 100 steps, dies in the middle without an end, and resumes at its last save."""
    def entry(**members: Any) -> Entry:
        return dict({"job_name": job}, **members)

    def some(first: int, last: int, t: float) -> List[Entry]:
        made = []
        for n in range(first, last + 1):
            if n % 100 == 0:
                made.append(entry(event_type="save", step=n, checkpoint_manager_blocking_start_time=t,
                                  checkpoint_manager_blocking_duration_secs=0.7371))
                t += 0.75
            made.append(entry(step_count=n, step_start_time=t))
            t += 1.0371
        return made

    half = steps // 2 + 37
    again = began + 200 + half * 1.1
    return ([entry(job_start_time=began), entry(tpu_init_start_time=began + 1.123456), entry(tpu_init_end_time=began + 4.5)] +
            some(0, half, began + 10.001) +
            [entry(job_start_time=again), entry(custom_badput_event_type="eval", custom_badput_event_start_time=again + 3,
                                                custom_badput_event_end_time=again + 5.25)] +
            some(half // 100 * 100, steps, again + 11) + [entry(job_end_time=again + 60 + steps * 1.1)])


class Cloud:
    """The stand-in."""

    def __init__(self, test: unittest.TestCase, server: str = "logging_server.js", npm: str = NPM) -> None:
        self.server = subprocess.Popen(["node", os.path.join(HERE, "google_cloud", server), os.path.join(npm, "node_modules")],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, universal_newlines=True)
        test.addCleanup(self.stop)
        assert self.server.stdout is not None
        self.address = "127.0.0.1:%d" % int(self.server.stdout.readline())

    def stop(self) -> None:
        assert self.server.stdin is not None and self.server.stdout is not None
        self.server.stdin.close()
        self.server.wait(10)
        self.server.stdout.close()

    def ask(self, path: str, body: Optional[bytes] = None) -> Dict[str, Any]:
        with urllib.request.urlopen("http://%s/%s" % (self.address, path), body, timeout=30) as answer:
            return json.load(answer)

    def behave(self, **how: Any) -> None:
        self.ask("control", json.dumps(how).encode())

    def state(self) -> Dict[str, Any]:
        return self.ask("state")


class CloudTest(unittest.TestCase):
    maxDiff = 4000

    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-cloud-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.cloud = Cloud(self)
        self.cloud.behave(readsPerWindow=10 ** 6)
        config = os.path.join(self.dir, "goodput.conf")
        with open(config, "w"):
            pass
        self.env = {"PATH": os.environ["PATH"], "GOODPUT_CONF": config, "GCE_METADATA_HOST": self.cloud.address,
                    "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING": "http://%s/" % self.cloud.address,
                    "GOODPUT_CLOUD_READS_PER_MINUTE": "60000",
                    **FAULTS}

    def run_it(self, command: str, *args: str, db: str = "db", **env: str) -> "subprocess.CompletedProcess[str]":
        options = [] if command == "doctor" else ["--db", os.path.join(self.dir, db)]
        return subprocess.run([SGOODPUT, command, *options, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, universal_newlines=True, env=dict(self.env, **env), timeout=120)

    def ok(self, command: str, *args: str, db: str = "db", **env: str) -> str:
        done = self.run_it(command, *args, db=db, **env)
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def refused(self, command: str, *args: str, status: int = 2, db: str = "db", **env: str) -> str:
        done = self.run_it(command, *args, db=db, **env)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done)
        self.assertRegex(done.stderr, r"\Asgoodput: [^\n]+\n\Z", args)
        return done.stderr

    def have_run(self, entries: List[Entry], db: str = "db") -> None:
        path = os.path.join(self.dir, db + ".jsonl")
        with open(path, "w") as file:
            file.write("".join(json.dumps(one) + "\n" for one in entries))
        self.ok("import", path, db=db)

    def in_the_log(self, entries: List[Entry], log: str = LOG) -> None:
        """As Google's library writes them."""
        made = []
        for n, payload in enumerate(entries):
            t = next(value for key, value in payload.items() if key.endswith("_time"))
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t)) + ".%06dZ" % int(t % 1 * 1e6)
            made.append({"logName": log, "timestamp": stamp, "severity": "INFO", "insertId": "g%06d" % n, "jsonPayload": payload,
                         "resource": {"type": "k8s_container", "labels": {}}})
        self.cloud.behave(entries=made)

    def job(self, db: str, run: str = "llm") -> Dict[str, Any]:
        job, = json.loads(self.ok("show", "--no-refresh", "--json", "--run", run, db=db))["jobs"]
        return job

    def the_same(self, one: str, other: str) -> None:
        """Times in the cloud are doubles."""
        first, second = self.job(one), self.job(other)
        for these, those in zip(first["buckets"], second["buckets"]):
            self.assertEqual(these["name"], those["name"])
            self.assertAlmostEqual(these["ns"], those["ns"], delta=20_000, msg=these["name"])
        self.assertEqual(first["steps"]["kept"], second["steps"]["kept"])
        self.assertEqual(len(first["attempts"]), len(second["attempts"]))
        self.assertEqual([point["step"] for point in first["checkpoints"]], [point["step"] for point in second["checkpoints"]])

    def began(self) -> float:
        return float(int(time.time()) - 86400)

    def as_a_file(self, source: str, copy: str) -> None:
        path = os.path.join(self.dir, copy + "-file.jsonl")
        self.ok("export", "--no-refresh", "--run", "llm", "-o", path, db=source)
        self.ok("import", path, db=copy)


class WritingAndReading(CloudTest):
    def test_a_run_comes_back_as_from_a_file(self) -> None:
        self.have_run(a_run(self.began(), 2400))
        said = self.ok("export", "--no-refresh", "--run", "llm", "--cloud-log", LOG)
        state = self.cloud.state()
        self.assertEqual(state["problems"], [])
        self.assertEqual(said, "%d entries written to %s\n" % (len(state["entries"]), LOG))
        self.assertEqual(state["most"]["entries"], 1000)
        self.assertEqual(state["received"], len(state["entries"]))
        stamps = [int(entry["ns"]) for entry in state["entries"]]
        self.assertEqual(stamps, sorted(stamps))
        ids = [(entry["ns"], entry["insertId"]) for entry in state["entries"]]
        self.assertEqual(ids, sorted(ids), "entries of one time are read in the order of their ids")
        for entry in state["entries"]:
            self.assertEqual((entry["severity"], entry["jsonPayload"]["job_name"]), ("INFO", "llm"))
        said = self.ok("import", "--cloud-log", LOG, "--job-name", "llm", db="cloud")
        self.assertEqual(said, "%d entries, 2 attempts of run llm, 0 lines quarantined\n" % len(state["entries"]))
        self.as_a_file("db", "file")
        self.the_same("file", "cloud")
        self.the_same("db", "cloud")
        self.assertEqual(self.ok("import", "--cloud-log", LOG, "--job-name", "llm", db="cloud"), said[:-1] + "; unchanged\n")

    def test_requests_of_long_entries_are_shorter(self) -> None:
        job = "long" * 1500
        self.have_run(a_run(self.began(), 1900, job))
        self.ok("export", "--no-refresh", "--run", job, "--cloud-log", LOG)
        state = self.cloud.state()
        self.assertEqual(state["problems"], [])
        self.assertLess(state["most"]["entries"], 1000)
        self.assertTrue(4_900_000 < state["most"]["bytes"] <= 5_000_000, state["most"])
        self.ok("import", "--cloud-log", LOG, "--job-name", job, db="cloud")
        self.assertEqual(self.job("cloud", job)["steps"]["kept"], 1901)

    def test_what_fails_is_repeated_and_nothing_is_there_twice(self) -> None:
        self.have_run(a_run(self.began(), 2400))
        write = {"method": "entries:write"}
        self.cloud.behave(faults=[dict(write, **how) for how in (
            {"code": 503}, {"cut": "after"}, {"code": 429}, {"cut": "before"}, {"code": 500}, {"cut": "after"}, {"code": 504})])
        self.ok("export", "--no-refresh", "--run", "llm", "--cloud-log", LOG)
        state = self.cloud.state()
        self.assertEqual(state["problems"], [])
        self.assertGreater(state["received"], len(state["entries"]), "a request was stored twice")
        self.ok("export", "--no-refresh", "--run", "llm", "--cloud-log", LOG)
        self.assertEqual(len(self.cloud.state()["entries"]), len(state["entries"]), "writing again changes nothing")
        read = {"method": "entries:list"}
        self.cloud.behave(mostPage=300, faults=[dict(read, **how) for how in (
            {"code": 503}, {"cut": "before"}, {"code": 429}, {"cut": "after"}, {"code": 500})])
        said = self.ok("import", "--cloud-log", LOG, db="cloud")
        self.assertEqual(said, "%d entries, 2 attempts of run llm, 0 lines quarantined\n" % len(state["entries"]))
        self.the_same("db", "cloud")

    def test_reads_keep_to_the_quota_of_the_project(self) -> None:
        self.in_the_log(a_run(self.began(), 400))
        self.cloud.behave(mostPage=25, readsPerWindow=10, windowMs=950)
        # Half the quota, since a read that arrives late is close to the next.
        started = time.monotonic()
        self.ok("import", "--cloud-log", LOG, GOODPUT_CLOUD_READS_PER_MINUTE="300")
        took = time.monotonic() - started
        state = self.cloud.state()
        self.assertGreater(state["calls"]["entries:list"], 15)
        self.assertGreaterEqual(took, 0.2 * (state["calls"]["entries:list"] - 1))
        self.assertEqual((state["quotaExceeded"], state["problems"]), (0, []))
        # Faster than the quota: later, but complete.
        self.ok("import", "--cloud-log", LOG, db="fast")
        self.assertGreater(self.cloud.state()["quotaExceeded"], 0)
        self.the_same("db", "fast")

    def test_lost_page_tokens_and_empty_pages(self) -> None:
        entries = a_run(self.began(), 700)
        self.have_run(entries)
        self.in_the_log(entries)
        self.cloud.behave(mostPage=100, pageTokensLiveMs=-1)
        said = self.ok("import", "--cloud-log", LOG, "--job-name", "llm", db="cloud")
        self.assertIn("%d entries, " % len(entries), said)
        self.the_same("db", "cloud")
        state = self.cloud.state()
        self.assertTrue(all("page_token" in problem for problem in state["problems"]), state["problems"])
        self.assertTrue(any("insertId >" in text for text in state["filters"]))
        self.cloud.behave(pageTokensLiveMs=10 ** 6, emptyPages=True)
        self.ok("import", "--cloud-log", LOG, "--job-name", "llm", db="empty")
        self.the_same("db", "empty")

    def test_a_kept_file_continues_where_it_ended(self) -> None:
        entries = a_run(self.began(), 700)
        self.have_run(entries)
        self.in_the_log(entries[:-200])
        self.cloud.behave(mostPage=100, faults=[{"method": "entries:list", "code": code} for code in (500, 503, 429, 403)])
        # Three pages, then it is stopped; the last line may be incomplete.
        kept = os.path.join(self.dir, "kept.jsonl")
        arguments = ("import", "--cloud-log", LOG, "--job-name", "llm", "--keep", kept)
        self.refused(*arguments, db="cloud")
        self.cloud.behave(faults=[])
        self.ok(*arguments, db="cloud")
        with open(kept) as file:
            lines = file.read()
        calls = self.cloud.state()["calls"]["entries:list"]
        with open(kept, "w") as file:
            file.write(lines[:len(lines) // 2])
        self.ok(*arguments, db="cloud")
        self.assertLess(self.cloud.state()["calls"]["entries:list"] - calls, calls - 4)
        with open(kept) as file:
            self.assertEqual(file.read(), lines)
        self.in_the_log(entries)
        self.ok(*arguments, db="cloud")
        self.the_same("db", "cloud")
        with open(kept) as file:
            ids = [json.loads(line)["insertId"] for line in file]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(len(ids), len(entries))
        self.assertEqual(os.stat(kept).st_mode & 0o777, 0o600)
        self.assertIn("of the job llm", self.refused("import", "--cloud-log", LOG, "--job-name", "other", "--keep", kept))
        self.assertIn("of the log", self.refused("import", "--cloud-log", LOG + "2", "--keep", kept))

    def test_two_imports_do_not_write_to_one_file(self) -> None:
        self.in_the_log(a_run(self.began(), 300))
        self.cloud.behave(mostPage=100)
        kept = os.path.join(self.dir, "kept")
        options = ["--cloud-log", LOG, "--keep", kept]
        with subprocess.Popen([SGOODPUT, "import", "--db", os.path.join(self.dir, "one"), *options], stdout=subprocess.PIPE,
                              env=dict(self.env, GOODPUT_CLOUD_READS_PER_MINUTE="60")) as first:
            while not (os.path.exists(kept) and os.path.getsize(kept)):
                time.sleep(0.05)
            self.assertIn("in use", self.refused("import", *options, db="two"))
            self.assertIn(b"attempts of run llm", first.communicate(timeout=60)[0])
        self.ok("import", *options, db="two")
        self.the_same("one", "two")

    def test_the_database_may_be_elsewhere(self) -> None:
        """What goodputd answers is written from here."""
        self.have_run(a_run(self.began(), 300))
        answer, ask = os.path.join(self.dir, "answer"), os.path.join(self.dir, "ask")
        self.ok("export", "--no-refresh", "--run", "llm", "-o", answer)
        with open(ask, "w") as file:
            file.write('#!/bin/sh\necho "$@" > %s.asked\ncat %s\n' % (answer, answer))
        os.chmod(ask, 0o755)
        self.ok("export", "--url", "http://far:1", "--run", "llm", "--cloud-log", LOG, GOODPUT_ASK=ask)
        with open(answer + ".asked") as file:
            self.assertRegex(file.read(), r"\Ahttp://far:1 /v1/export\?\S*run=llm\n")
        with open(answer) as file:
            self.assertEqual(len(self.cloud.state()["entries"]), len(file.readlines()))
        with open(ask, "w") as file:
            file.write("#!/bin/sh\necho 'sgoodput: no such run' >&2\nexit 1\n")
        self.assertIn("no such run", self.refused("export", "--url", "http://far:1", "--run", "x", "--cloud-log", LOG, status=1,
                                                  GOODPUT_ASK=ask))

    def test_one_job_of_a_log_of_several(self) -> None:
        began = self.began()
        self.in_the_log(a_run(began, 300))
        other = a_run(began + 0.5, 200, job='odd "name"\\')
        self.in_the_log(other, LOG + "%2Fdeep")
        self.assertIn("attempts of run llm", self.ok("import", "--cloud-log", LOG))
        said = self.ok("import", "--cloud-log", LOG + "/deep", "--job-name", 'odd "name"\\')
        self.assertIn("%d entries" % len(other), said)
        self.assertIn("no entries of job nobody of the last 7 days",
                      self.refused("import", "--cloud-log", LOG, "--job-name", "nobody", status=1))
        self.assertIn("no entries of this time", self.refused("import", "--cloud-log", LOG, "-S", "2020-01-01", "-E", "2020-02-01", status=1))

    def test_old_entries_are_not_sent_and_said(self) -> None:
        self.have_run(a_run(time.time() - 86400 * 31 - 300, 400))
        done = self.run_it("export", "--no-refresh", "--run", "llm", "--cloud-log", LOG)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\A0 entries written")
        self.assertRegex(done.stderr, r"not written: older than 30 days[^\n]*\nsgoodput: [^\n]*incomplete\n\Z")
        self.assertEqual((self.cloud.state()["received"], self.cloud.state()["dropped"]), (0, 0))
        self.cloud.behave(retentionDays=60)
        self.ok("export", "--no-refresh", "--run", "llm", "--cloud-log", LOG, "--retention", "60")
        self.ok("import", "--cloud-log", LOG, "-S", "now-40days", db="cloud")
        self.the_same("db", "cloud")

    def test_entries_that_the_service_refuses_are_counted(self) -> None:
        self.have_run(a_run(self.began(), 300))
        self.cloud.behave(refusedStep=17)
        done = self.run_it("export", "--no-refresh", "--run", "llm", "--cloud-log", LOG)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("1 entries not written: a step that is not liked", done.stderr)
        self.assertIn("%d entries written" % len(self.cloud.state()["entries"]), done.stdout)

    def test_progress_on_a_terminal_after_two_seconds(self) -> None:
        self.in_the_log(a_run(self.began(), 300))
        self.cloud.behave(mostPage=25)
        for pace, drawn in (("240", True), ("60000", False)):
            master, slave = pty.openpty()
            child = subprocess.Popen([SGOODPUT, "import", "--db", os.path.join(self.dir, "db" + pace), "--cloud-log", LOG], stdin=slave,
                                     stdout=subprocess.DEVNULL, stderr=slave,
                                     env=dict(self.env, TERM="xterm", GOODPUT_CLOUD_READS_PER_MINUTE=pace))
            os.close(slave)
            text = b""
            while True:
                try:
                    text += os.read(master, 65536)
                except OSError:  # the other end is closed
                    break
            os.close(master)
            self.assertEqual(child.wait(60), 0)
            self.assertEqual(bool(re.search(rb"sgoodput: %s: \d+ entries, until 20" % LOG.encode(), text)), drawn, text)

    def test_usage(self) -> None:
        for args in (["import", "--cloud-log", LOG, "file"], ["import", "--job-name", "x", "file"], ["import", "--cloud-log", "goodput"],
                     ["import", "--cloud-log", LOG, "--format", "otel"], ["import", "--cloud-log", LOG, "-S", "now", "-E", "now-1day"],
                     ["import"], ["import", "--cloud-log", "projects/../logs/x"],
                     ["import", "--cloud-log", LOG, "--keep", self.dir]):
            self.refused(*args)
        self.have_run(a_run(self.began(), 100))
        for args in (["-o", "x"], ["--format", "trace"], ["--grain", "attempt-day"], ["--retention", "0"]):
            self.refused("export", "--no-refresh", "--run", "llm", "--cloud-log", LOG, *args)
        self.assertEqual(self.cloud.state()["calls"], {"entries:list": 0, "entries:write": 0, "token": 0})


class StandIn(CloudTest):
    """The judge itself: it refuses what the service refuses."""

    def post(self, method: str, body: Any, token: str = "") -> Tuple[int, str]:
        request = urllib.request.Request("http://%s/computeMetadata/v1/instance/service-accounts/default/token" % self.cloud.address,
                                         headers={"Metadata-Flavor": "Google"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            token = token or json.load(answer)["access_token"]
        request = urllib.request.Request("http://%s/v2/%s" % (self.cloud.address, method), json.dumps(body).encode(),
                                         {"Content-Type": "application/json", "Authorization": "Bearer " + token})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)["error"]["message"]

    def test_it_takes_only_what_the_protos_know(self) -> None:
        entry = {"timestamp": "2026-09-21T00:00:00.5Z", "severity": "INFO", "insertId": "a", "jsonPayload": {"job_name": "llm"}}
        good = {"logName": LOG, "resource": {"type": "global", "labels": {"project_id": "lab-1"}}, "partialSuccess": True, "entries": [entry]}
        self.assertEqual(self.post("entries:write", good)[0], 200)
        for wrong, why in ((dict(good, entrys=[]), "entrys"), (dict(good, entries=[dict(entry, insert_id="a")]), "insert_id"),
                           (dict(good, partialSuccess="true"), "partialSuccess"), (dict(good, resource={"kind": "x"}), "kind"),
                           (dict(good, entries=[dict(entry, severity="info")]), "severity"), (dict(good, labels={"a": 1}), "labels.a"),
                           (dict(good, entries=[dict(entry, timestamp="2026-09-21 00:00:00")]), "not a time"),
                           (dict(good, entries=[dict(entry, jsonPayload="text")]), "jsonPayload"), (dict(good, entries=entry), "entries"),
                           (dict(good, entries=[entry] * 1001), "1001 entries"), (dict(good, logName="projects/x/logs/a b"), "logName"),
                           (dict(good, entries=[dict(entry, jsonPayload={"x": "y" * 262144})]), "too long"),
                           (dict(good, labels={"x": "y" * 10_000_000}), "longer than 10 MB")):
            code, message = self.post("entries:write", wrong)
            self.assertEqual(code, 400, why)
            self.assertIn(why, message)

    def test_it_reads_as_the_service_does(self) -> None:
        self.in_the_log(a_run(self.began(), 100))
        good = {"resourceNames": ["projects/lab-1"], "filter": 'logName="%s"' % LOG, "orderBy": "timestamp asc", "pageSize": 10}
        code, text = self.post("entries:list", good)
        page = json.loads(text)
        self.assertEqual((code, len(page["entries"])), (200, 10))
        self.assertEqual(self.post("entries:list", dict(good, pageToken=page["nextPageToken"]))[0], 200)
        for wrong, why in ((dict(good, pageToken="x"), "page_token"), (dict(good, pageToken=page["nextPageToken"], pageSize=11), "page_token"),
                           (dict(good, filter="severity=DEBUG"), "not understood"), (dict(good, filter="x" * 20001), "too long"),
                           (dict(good, pageSize="10"), "pageSize"), (dict(good, page_size=10), "page_size")):
            code, message = self.post("entries:list", wrong)
            self.assertEqual(code, 400, why)
            self.assertIn(why, message)
        self.assertEqual(self.post("entries:list", good, token="forged")[0], 401)
        self.assertEqual(self.post("entries:delete", good)[0], 404)
        self.cloud.behave(readsPerWindow=60)
        codes = [self.post("entries:list", good)[0] for _ in range(61)]
        self.assertEqual(codes[-1], 429)


class Credentials(CloudTest):
    def key(self, name: str, **more: Any) -> str:
        pem = subprocess.run(["openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                             stdout=subprocess.PIPE, check=True, universal_newlines=True, timeout=60).stdout
        public = subprocess.run(["openssl", "pkey", "-pubout"], input=pem, stdout=subprocess.PIPE, check=True, universal_newlines=True,
                                timeout=60).stdout
        path = os.path.join(self.dir, name)
        with open(path, "w") as file:
            json.dump(dict({"type": "service_account", "client_email": EMAIL, "private_key_id": "key-1", "private_key": pem}, **more), file)
        self.cloud.behave(publicKey=public, email=EMAIL, keyId="key-1")
        return path

    def test_a_token_that_expires_is_renewed(self) -> None:
        self.in_the_log(a_run(self.began(), 700))
        self.cloud.behave(mostPage=100, tokenLivesMs=200)
        self.ok("import", "--cloud-log", LOG, GOODPUT_CLOUD_READS_PER_MINUTE="1000")
        self.assertGreater(self.cloud.state()["tokenExpired"], 0)
        calls = self.cloud.state()["calls"]["token"]
        # The metadata server says how long: a new one 225 s before.
        self.cloud.behave(tokenLivesMs=10 ** 6, tokenValidS=226)
        self.ok("import", "--cloud-log", LOG, db="again", GOODPUT_CLOUD_READS_PER_MINUTE="150")
        self.assertGreater(self.cloud.state()["calls"]["token"], calls + 1)
        self.assertEqual(self.cloud.state()["problems"], [])

    def test_a_key_signs_its_own_token(self) -> None:
        self.have_run(a_run(self.began(), 300))
        key = self.key("key.json")
        self.ok("export", "--no-refresh", "--run", "llm", "--cloud-log", LOG, GOOGLE_APPLICATION_CREDENTIALS=key)
        self.ok("import", "--cloud-log", LOG, db="cloud", GOOGLE_APPLICATION_CREDENTIALS=key)
        self.the_same("db", "cloud")
        self.assertEqual(self.cloud.state()["calls"]["token"], 0, "no other service is asked")
        other = self.key("other.json")
        self.key("third.json")
        said = self.refused("import", "--cloud-log", LOG, GOOGLE_APPLICATION_CREDENTIALS=other)
        self.assertIn("401", said)
        self.assertIn(other, said)

    def test_other_credentials_are_refused_with_a_hint(self) -> None:
        secret = "c2VjcmV0"
        for name, content, why in (
                ("external.json", {"type": "external_account", "audience": secret}, "external_account"),
                ("user.json", {"type": "authorized_user", "refresh_token": secret}, "authorized_user"),
                ("bad.json", {"type": "service_account", "client_email": EMAIL, "private_key": secret}, "private_key"),
                ("empty.json", {}, "not a service account key"), ("long.json", {"x": "y" * 70000}, "longer than 65536 bytes")):
            path = os.path.join(self.dir, name)
            with open(path, "w") as file:
                json.dump(content, file)
            said = self.refused("import", "--cloud-log", LOG, GOOGLE_APPLICATION_CREDENTIALS=path)
            self.assertIn(why, said)
            self.assertNotIn(secret, said)
        self.assertIn("No such file", self.refused("import", "--cloud-log", LOG, GOOGLE_APPLICATION_CREDENTIALS="/nowhere"))
        self.assertIn("no service account", self.no_account())

    def no_account(self) -> str:
        self.cloud.behave(hasAccount=False)
        return self.refused("import", "--cloud-log", LOG)

    def test_what_is_not_allowed_is_said_at_once(self) -> None:
        self.cloud.behave(role="none")
        self.assertIn("roles/logging.viewer", self.refused("import", "--cloud-log", LOG))
        self.cloud.behave(role="all", scopes=["https://www.googleapis.com/auth/devstorage.read_only"])
        self.assertRegex(self.refused("import", "--cloud-log", LOG), "scope cloud-platform or logging.read")
        self.assertEqual(self.cloud.state()["calls"]["entries:list"], 2, "not repeated")

    def test_a_token_does_not_travel_in_clear_text(self) -> None:
        for url in ("http://logging.example.com", "http://127.0.0.1@example.com/", "ftp://127.0.0.1", "http://localhost.example.com:80"):
            self.assertIn("not a URL with https://", self.refused("import", "--cloud-log", LOG, CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING=url))
        self.assertEqual(self.cloud.state()["calls"]["token"], 0)


class Doctor(CloudTest):
    def findings(self, status: int) -> str:
        done = self.run_it("doctor", "--cloud-log", LOG)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done)
        return done.stdout

    def test_all_is_well_and_nothing_was_written(self) -> None:
        self.in_the_log(a_run(self.began(), 100))
        said = self.findings(0)
        self.assertEqual([line[:4] for line in said.splitlines()], ["ok  "] * 4, said)
        state = self.cloud.state()
        self.assertEqual((state["dryRuns"], state["received"], state["problems"]), (1, 0, []))

    def test_what_is_missing_is_named(self) -> None:
        self.cloud.behave(role="read", scopes=["https://www.googleapis.com/auth/logging.read",
                                               "https://www.googleapis.com/auth/logging.write"])
        said = self.findings(1)
        self.assertIn("no entries of the last 30 days", said)
        self.assertRegex(said, r"!!  [^\n]*403[^\n]*\n      fix: give [^\n]* roles/logging.logWriter")
        self.cloud.behave(scopes=["https://www.googleapis.com/auth/logging.read"])
        said = self.findings(1)
        self.assertRegex(said, r"!!  access scopes: this machine lacks logging.write\n      fix: ")
        self.assertEqual(len(re.findall(r"(?m)^ok  reading", said)), 1)
        self.cloud.behave(hasAccount=False)
        self.assertRegex(self.findings(1), r"\A!!  [^\n]*no service account\n      fix: [^\n]*\n\Z")


if __name__ == "__main__":
    unittest.main()
