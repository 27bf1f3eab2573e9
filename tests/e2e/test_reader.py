#!/usr/bin/python3
"""Queries over HTTP and a Unix socket on a real cluster: the same answers as from the database, restricted by PrivateData, and
resistant to malicious clients.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_reader
"""

import base64
import contextlib
import datetime
import hashlib
import hmac
import http.client
import json
import os
import pwd
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from prometheus_client.openmetrics import parser as openmetrics

from .harness import goodput_site
from .harness.goodput_site import BUILD, TRAINER, Site
from .harness.lateness import lateness
from .harness.reach import reachable

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
READER = "daemon"        # answers queries
USERS = ("nobody", "games", "lp")
COORDINATOR = "mail"     # coordinator of research, which does not contain nobody and games
OPERATOR = "man"
PATIENCE_S = 90

site: Site
jobs: Dict[str, int] = {}
port = 0
keys = ""


def keep_midnight_away() -> None:
    """A list without -S begins at midnight of the local day. In a zone where it is about noon, that is not while these tests run."""
    hours = 12 - time.gmtime().tm_hour
    unittest.addModuleCleanup(os.environ.update, {"TZ": os.environ.get("TZ", "UTC")})
    os.environ["TZ"] = "Etc/GMT%+d" % -hours
    time.tzset()


def setUpModule() -> None:
    if os.geteuid() != 0:
        raise unittest.SkipTest("needs root")
    global site, port, keys
    keep_midnight_away()
    keys = tempfile.mkdtemp(prefix="gpjwt-")
    unittest.addModuleCleanup(shutil.rmtree, keys)
    with open(os.path.join(keys, "key"), "wb") as file:
        file.write(os.urandom(32))
    os.chmod(os.path.join(keys, "key"), 0o600)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    site = Site("linuxproc", nodes=2, cred_expire_s=0, daemon=False, conf=["listen = 127.0.0.1:%d" % port],
                slurm_conf=["AuthAltTypes=auth/jwt", "AuthAltParameters=jwt_key=%s/key" % keys])
    unittest.addModuleCleanup(site.stop)
    site.start()
    with open(site.conf, "a") as file:
        file.write("query_socket = %s\n" % query_socket())
    # The owner of the database's folder is the reader's user, as an administrator would set it up.
    reader = pwd.getpwnam(READER)
    os.chown(os.path.dirname(site.database), reader.pw_uid, reader.pw_gid)
    for line in ("add account other", "add user lp account=other", "add user %s account=other AdminLevel=Operator" % OPERATOR,
                 "add user %s account=research" % COORDINATOR, "add coordinator account=research names=" + COORDINATOR):
        site.cluster.run(["sacctmgr", "-i"] + line.split())
    site.start_daemon()
    # A run of another user with the same name.
    train = "srun %s --dir %s --steps 8 --step-seconds 0.2 --save-seconds 0.1 --save-every 4 --init-seconds 0.2 --marks" % (
        TRAINER, site.folder("train", "nobody"))
    jobs["nobody"] = site.cluster.sbatch(train, user="nobody", options=["-N1", "--goodput-run=same", "--mem=100", "--gres=gpu:2"])
    for user in ("games", "lp"):
        jobs[user] = site.cluster.sbatch("srun sleep 1", user=user, options=["-N1", "--goodput-run=same", "--mem=100"])
    for job in jobs.values():
        site.settle(job)
    wait(lambda: sorted(users_in(direct("--json", "-a").stdout)) == sorted(USERS), "all three runs in the database")


def query_socket() -> str:
    return site.path("goodput", "query.sock")


def urls() -> Tuple[str, str]:
    return "unix:" + query_socket(), "http://127.0.0.1:%d" % port


def wait(what: Callable[[], bool], name: str, timeout: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + timeout
    while not what():
        if time.monotonic() > deadline:
            raise AssertionError("not within %g s: %s\n%s" % (timeout, name, site.daemon_log()[-2000:]))
        time.sleep(0.1)


def direct(*args: str) -> subprocess.CompletedProcess:
    """The answer for root, directly from the database."""
    return site.sgoodput(*args)


def remote(url: str, *args: str, user: Optional[str] = None, env: Dict[str, str] = {}) -> subprocess.CompletedProcess:
    ask = reachable(os.path.join(BUILD, "tools", "ask", "goodput-ask"))
    return site.sgoodput("--url", url, *args, user=user, env=dict(env, GOODPUT_ASK=ask)) if not args or args[0].startswith("-") \
        else site.sgoodput(args[0], "--url", url, *args[1:], user=user, env=dict(env, GOODPUT_ASK=ask))


def said(answer: subprocess.CompletedProcess) -> Tuple[int, str, str]:
    return answer.returncode, answer.stdout, answer.stderr


def users_in(listing: str) -> List[str]:
    return [job["user"] for job in json.loads(listing)["jobs"]]


def get(target: str, headers: Dict[str, str] = {}, method: str = "GET", body: Optional[bytes] = None) -> Tuple[int, Dict[str, str], str]:
    """Over TCP: status, headers, body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request(method, target, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()


def memory_of_reader() -> int:
    with open("/proc/%d/status" % reader_pid()) as status:
        return int(re.findall(r"VmRSS:\s*(\d+) kB", status.read())[0]) << 10


def open_metrics(text: str) -> list:
    return list(openmetrics.text_string_to_metric_families(text))


def answers() -> bool:
    try:
        return get("/v1/list")[0] in (200, 401)
    except (OSError, http.client.HTTPException):
        return False


def reader_pid() -> int:
    """0 if there is none."""
    daemon = site._daemon
    assert daemon is not None
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/%s/stat" % entry) as file:
                    pid, comm, rest = re.match(r"(\d+) \((.*)\) (.*)", file.read()).groups()  # type: ignore
            except OSError:
                continue
            if comm == "goodput-reader" and int(rest.split()[1]) == daemon.pid and rest.split()[0] != "Z":
                return int(pid)
    return 0


def alive(pid: int) -> bool:
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False


def set_private(what: str) -> None:
    """Sets PrivateData of the cluster, and waits until the reader knows it."""
    with open(site.cluster.conf) as file:
        text = re.sub(r"(?m)^PrivateData=.*\n", "", file.read())
    with open(site.cluster.conf, "w") as file:
        file.write(text + ("PrivateData=%s\n" % what if what else ""))
    site.cluster.run(["scontrol", "reconfigure"])
    wait(lambda: get("/v1/list")[0] == (401 if what else 200), "PrivateData=%s is known" % what)


class SameAnswersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        set_private("")

    def questions(self) -> Iterator[List[str]]:
        one, other = str(jobs["nobody"]), str(jobs["games"])
        today = ["-S", time.strftime("%Y-%m-%d", time.localtime(time.time() - 86400)),
                 "-E", time.strftime("%Y-%m-%d", time.localtime(time.time() + 86400))]
        for json_too in ([], ["--json"]):
            for words in (["-a"], ["-a"] + today, ["-u", "nobody"], ["-u", "no-such-user"], ["-s", "CD", "-a"], ["-s", "F", "-a"],
                          ["-j", one], ["-j", one + "," + other], ["-A", "other", "-a"], ["-r", "a3mega", "-a"], ["-T", "-a"] + today,
                          ["-S", "yesterday-not-a-time"]):
                yield words + json_too
            for words in (["show", one], ["show", one, "--sensitivity"], ["show", "999"], ["show", "no-number"],
                          ["show", "--run", "same"], ["show", "--run", "same", "-u", "lp"], ["show", "--run", "none"],
                          ["attempts", one], ["report", "-a"] + today, ["report", "-a", "--by", "partition", "--gpu-hour=2"],
                          ["report", "-a", "--window=1h"] + today, ["advise", one], ["diff", one, other]):
                yield words + json_too
        yield ["-a", "-P"]
        yield ["-a", "-p", "-n", "-o", "JobID,User%12,Goodput,lost_work"]
        yield ["-a", "-o", "nonsense"]
        yield ["show", one, "--color=always"]
        yield ["show", one, "--explain", "productive"]
        yield ["attempts", one, "-P"]
        yield ["export", one]
        yield ["export", one, "--format=spool"]

    def test_what_is_asked_by_url_is_what_the_database_says(self) -> None:
        count = 0
        for words in self.questions():
            plain = words + ["--no-refresh"]
            wanted = said(direct(*plain))
            for url in urls():
                with self.subTest(words=words, url=url):
                    self.assertEqual(said(remote(url, *words)), wanted)
                    count += 1
        self.assertGreater(count, 100)

    def test_a_user_s_own_are_meant_where_nobody_is_named(self) -> None:
        for url in urls():
            for user in USERS:
                answer = remote(url, "--json", user=user)
                self.assertEqual((answer.returncode, users_in(answer.stdout)), (0, [user]), answer.stderr)

    def test_times_are_of_the_zone_of_whoever_asks(self) -> None:
        for zone in ("Asia/Tokyo", "America/Los_Angeles"):
            wanted = site.sgoodput("-a", "-P", "-o", "Submit", "--no-refresh", "-j", str(jobs["lp"]), env={"TZ": zone}).stdout
            self.assertEqual(remote(urls()[1], "-a", "-P", "-o", "Submit", "-j", str(jobs["lp"]), env={"TZ": zone}).stdout, wanted)

    def test_goodput_conf_may_name_the_url(self) -> None:
        path = site.path("goodput", "login.conf")
        with open(path, "w") as file:
            file.write("url = %s\ndatabase = /nonexistent/db\n" % urls()[0])
        os.chmod(path, 0o644)
        ask = reachable(os.path.join(BUILD, "tools", "ask", "goodput-ask"))
        login = {"GOODPUT_CONF": path, "GOODPUT_ASK": ask}
        answer = site.sgoodput("show", str(jobs["nobody"]), user="games", env=login)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertEqual(answer.stdout, direct("show", str(jobs["nobody"]), "--no-refresh").stdout)
        refused = site.sgoodput("ingest", env=login)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("is not available from " + urls()[0], refused.stderr)

    def test_who_may_not_read_the_database_asks_this_machine_s_socket(self) -> None:
        ask = {"GOODPUT_ASK": reachable(os.path.join(BUILD, "tools", "ask", "goodput-ask"))}
        for words in (["--json"], ["show", str(jobs["games"])], ["report", "--csv"]):
            with self.subTest(words=words):
                plain = site.sgoodput(*words, user="games", env=ask)
                self.assertEqual(said(plain), said(remote(urls()[0], *words, user="games")))
                self.assertEqual(plain.returncode, 0)
        # Whoever may read it does so, and where nothing is, nothing is asked.
        self.assertEqual(direct("-a", "--no-refresh").returncode, 0)
        missing = site.sgoodput("--db", "/nonexistent/db", user="games", env=ask)
        self.assertIn("there is no database /nonexistent/db", missing.stderr)

    def test_a_user_imports_into_a_database_of_its_own(self) -> None:
        log = site.folder("print.log", "games")
        with open(log, "w") as file:
            # Within the job, which slept for a second.
            start = site.cluster.sacct(jobs["games"], steps=False)[0]["Start"]
            for step in range(1, 40):
                at = datetime.datetime.fromtimestamp(start + 0.02 * step)
                file.write("%s step %d loss 2.5\n" % (at.isoformat(sep=" ", timespec="milliseconds"), step))
        refused = site.sgoodput("import", "--run", "old", log, user="games")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertEqual(refused.stderr.count("\n"), 1)
        self.assertIn("your own with --db FILE", refused.stderr)
        own = site.folder("my.db", "games")
        for words in (["import", "--db", own, "--run", "old", log], ["show", "--db", own, "--run", "old"],
                      # What sacct says about the job goes into the same file.
                      ["import", "--db", own, "-j", str(jobs["games"]), log], ["show", "--db", own, str(jobs["games"])]):
            with self.subTest(words=words):
                answer = site.sgoodput(*words, user="games")
                self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("39 executed", answer.stdout)

    def test_nobody_there_is_one_line(self) -> None:
        for url in ("http://127.0.0.1:1", "unix:/nonexistent/socket", "unix:relative", "ftp://x"):
            answer = remote(url, "-a")
            self.assertEqual((answer.returncode, answer.stdout, answer.stderr.count("\n")), (2, "", 1), answer.stderr)
            self.assertIn(url, answer.stderr)

    def test_json_and_statuses_for_programs(self) -> None:
        status, headers, body = get("/v1/show?job=%d" % jobs["nobody"])
        self.assertEqual((status, headers["content-type"], headers["x-content-type-options"]), (200, "application/json", "nosniff"))
        self.assertEqual(json.loads(body)["jobs"][0]["user"], "nobody")
        # Anything that is not a number is a run's name, even if it looks like an option.
        self.assertEqual([get(target)[0] for target in (
            "/v1/show?job=999", "/v1/show?job=x", "/v1/nothing", "/v1/list?db=/etc/passwd", "/v1/list?config=/etc/passwd",
            "/v1/show?job=--db=/etc/passwd", "/v1/list?starttime=--help", "/v1/list?tz=/etc/passwd", "/v1/list?format=%00",
            "/v1/import?file=x")], [404, 404, 404, 400, 400, 404, 400, 400, 400, 404])
        self.assertEqual(sorted(users_in(get("/v1/list")[2])), sorted(USERS))
        status, headers, body = get("/v1/list", method="HEAD")
        self.assertEqual((status, body), (200, ""))

    def test_a_long_list_comes_in_pages(self) -> None:
        for how in ([], ["--reverse"]):
            whole = json.loads(direct("-a", "--json", "--no-refresh", *how).stdout)["jobs"]
            self.assertEqual(len(whole), 3)
            got: List[Dict] = []
            after: List[str] = []
            for _ in range(3):
                page = json.loads(remote(urls()[1], "-a", "--json", "--limit=1", *(how + after)).stdout)
                got += page["jobs"]
                after = ["--after=" + page.get("next", "")]
            self.assertNotIn("next", page)
            self.assertEqual(got, whole)
        said_more = remote(urls()[0], "-a", "--limit=2")
        self.assertRegex(said_more.stderr, r"^sgoodput: more runs follow: continue with --after \S+\n$")
        self.assertEqual(said_more.stdout.count("\n"), 4)
        self.assertEqual([remote(url, "-a", "--after=nonsense").returncode for url in urls()], [2, 2])

    def test_metrics_are_what_prometheus_reads(self) -> None:
        status, headers, text = get("/metrics", {"Accept": "application/openmetrics-text; version=1.0.0"})
        self.assertEqual((status, headers["content-type"].split(";")[0]), (200, "application/openmetrics-text"), text)
        families = {family.name: family for family in open_metrics(text)}
        runs = {sample.labels["partition"]: sample.value for sample in families["slurm_goodput_runs"].samples}
        self.assertEqual(runs, {"a3mega": 3})
        # The same GPU-seconds as in the report.
        total = sum(sample.value for sample in families["slurm_goodput_bucket_gpu_seconds"].samples
                    if sample.labels["bucket"] == "productive")
        show = json.loads(direct("show", str(jobs["nobody"]), "--json", "--no-refresh").stdout)["jobs"][0]
        said, = [bucket["gpu_seconds"] for bucket in show["buckets"] if bucket["name"] == "productive"]
        self.assertGreater(said, 0)
        self.assertAlmostEqual(total, said, places=6)
        status, headers, text = get("/metrics")
        self.assertEqual((status, headers["content-type"].split(";")[0]), (200, "text/plain"))
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((checked.returncode, checked.stdout), (0, ""))

    def test_the_dashboard_asks_for_what_is_there(self) -> None:
        with open(os.path.join(TOP, "tools", "data", "grafana", "slurm-goodput.json")) as file:
            dashboard = json.load(file)
        asked = set(re.findall(r"slurm_goodput_\w+", " ".join(
            target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", []))))
        self.assertGreater(len(asked), 8)
        text = get("/metrics", {"Accept": "application/openmetrics-text"})[2]
        known = {re.match(r"\w+", line).group() for line in text.splitlines() if not line.startswith("#")}  # type: ignore
        for family in open_metrics(text):
            if family.type == "counter":
                known.add(family.name + "_total")
        self.assertEqual(asked - known, set())

    def test_the_alerts_ask_for_what_is_there_and_fire_when_they_should(self) -> None:
        rules = os.path.join(TOP, "tools", "data", "prometheus", "slurm-goodput.rules.yml")
        tests = [os.path.join(TOP, "tests", "e2e", "prometheus_%s_test.yml" % name) for name in ("rules", "days")]
        for words in (["check", "rules", rules], ["test", "rules"] + tests):
            done = subprocess.run(["promtool"] + words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)
        with open(rules) as file:
            asked = set(re.findall(r"slurm_goodput_\w+", "".join(line for line in file if not line.startswith("#"))))
        text = get("/metrics", {"Accept": "application/openmetrics-text"})[2]
        known = {family.name + ("_total" if family.type == "counter" else "") for family in open_metrics(text)}
        self.assertEqual(asked - known, set())

    def test_the_page_and_what_it_loads(self) -> None:
        for target in ("/", "/index.html"):
            status, headers, body = get(target)
            self.assertEqual((status, headers["content-type"]), (200, "text/html; charset=utf-8"))
            self.assertIn("default-src 'none'", headers["content-security-policy"])
            self.assertNotIn("access-control-allow-origin", headers)
        parts = re.findall(r'(?:src|href)="([\w.]+)"', body)
        self.assertGreater(len(parts), 2)
        for part in parts:
            self.assertEqual(get("/" + part)[0], 200, part)
        self.assertEqual([get(target)[0] for target in ("/nothing.js", "//", "/../etc/passwd")], [404, 404, 404])

    def test_what_the_page_asks_is_answered(self) -> None:
        for target in ("/v1/list?starttime=now-7days&allusers=1&reverse=1&limit=2", "/v1/list?allusers=1&reverse=1&limit=2&after=",
                       "/v1/show?job=%d&timeline=1" % jobs["nobody"], "/v1/report?fleet=1&by=partition&starttime=now-1days"):
            status, _headers, body = get(target)
            self.assertEqual(status, 200, body)
            json.loads(body)

    def test_the_first_screen_of_many_browsers_is_computed_once_in_five_seconds(self) -> None:
        def times(target: str) -> List[int]:
            return [json.loads(get(target)[2])["time_ns"] for _ in range(6)]

        with open(os.path.join(TOP, "tools/web/now.js")) as script:
            self.assertIn('data.ask("/v1/now", {allusers: 1, wrong: 1})', script.read(), "what the reader takes for the page's question")
        began = time.monotonic()
        shared = times("/v1/now?allusers=1&wrong=1")
        self.assertLessEqual(len(set(shared)), 1 + (time.monotonic() - began) / 5, shared)
        # Whoever asks something else gets an answer of their own.
        self.assertEqual(len(set(times("/v1/now?allusers=1"))), 6)
        wait(lambda: times("/v1/now?allusers=1&wrong=1")[0] > shared[-1], "the next one")

    def test_health(self) -> None:
        status, _headers, body = get("/healthz")
        self.assertEqual((status, json.loads(body)["status"]), (200, "ok"), body)

    def test_the_reader_is_nobody_special(self) -> None:
        with open("/proc/%d/status" % reader_pid()) as file:
            status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        uid = str(pwd.getpwnam(READER).pw_uid)
        self.assertEqual(set(status["Uid"].split()), {uid})
        self.assertEqual((status["CapEff"], status["CapPrm"], status["NoNewPrivs"], status["Groups"].strip()),
                         ("0" * 16, "0" * 16, "1", ""))
        for suffix in ("", "-wal", "-shm"):
            self.assertEqual(os.stat(site.database + suffix).st_uid, int(uid), suffix)

    def test_jobs_of_two_users_are_not_one_run(self) -> None:
        listing = json.loads(direct("-a", "--json").stdout)["jobs"]
        self.assertEqual([len(run["attempts"]) for run in listing], [1, 1, 1])
        answer = direct("show", "--run", "same")
        self.assertEqual(answer.returncode, 2)
        self.assertIn("games and lp and nobody", answer.stderr)
        answer = remote(urls()[0], "show", "--run", "same", "--json", user="lp")
        self.assertEqual(users_in(answer.stdout), ["lp"])
        self.assertIn("showing yours", answer.stderr)


class PrivateDataTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        set_private("jobs")
        cls.addClassCleanup(set_private, "")

    SEES = {"nobody": ["nobody"], "games": ["games"], "lp": ["lp"], COORDINATOR: ["games", "nobody"],
            OPERATOR: sorted(USERS), "root": sorted(USERS)}

    def check_what_is_seen(self, url: str, token: bool = False) -> None:
        for user, visible in self.SEES.items():
            env = {"SLURM_JWT": self.token(user)} if token else {}
            with self.subTest(user=user, url=url, token=token):
                self.assertEqual(sorted(users_in(remote(url, "-a", "--json", user=user, env=env).stdout)), visible)
                unknown = said(remote(url, "show", "999", user=user, env=env))
                for owner, job in jobs.items():
                    shown = said(remote(url, "show", str(job), user=user, env=env))
                    if owner in visible:
                        self.assertEqual(shown[0], 0, shown)
                    else:
                        # The same answer as for a job that does not exist.
                        self.assertEqual(shown, tuple(word.replace("999", str(job)) if isinstance(word, str) else word for word in unknown))
                    named = remote(url, "show", "--run", "same", "-u", owner, "--json", user=user, env=env)
                    self.assertEqual(named.returncode, 0 if owner in visible else 1, named.stderr)
                rows = json.loads(remote(url, "report", "-a", "--by", "user", "--json", user=user, env=env).stdout)["rows"]
                self.assertEqual(sorted(row["group"] for row in rows), visible)

    def token(self, user: str, lifespan: int = 600) -> str:
        out = site.cluster.run(["scontrol", "token", "username=" + user, "lifespan=%d" % lifespan]).stdout
        return out.strip().split("=", 1)[1]

    def credential(self, target: str, user: str) -> str:
        return site.cluster.run(["munge", "--socket=" + site.cluster.dir + "/munge/socket", "-s", "slurm-goodput GET " + target],
                                user=user).stdout.strip()

    def test_by_the_socket(self) -> None:
        self.check_what_is_seen(urls()[0])

    def test_by_munge(self) -> None:
        self.check_what_is_seen(urls()[1])

    def test_by_token(self) -> None:
        self.check_what_is_seen(urls()[1], token=True)

    def test_differences_and_sums_over_the_cluster_are_hidden_too(self) -> None:
        for url in urls():
            mine, other = str(jobs["nobody"]), str(jobs["games"])
            self.assertEqual(remote(url, "diff", mine, other, user="nobody").returncode, 1)
            self.assertEqual(remote(url, "diff", mine, other, user=COORDINATOR).returncode, 0)
        status, _headers, _body = get("/v1/report?fleet=1", {"Authorization": "MUNGE " + self.credential("/v1/report?fleet=1", "nobody")})
        self.assertEqual(status, 403)

    def test_without_proof_nothing_is_said(self) -> None:
        for target in ("/v1/list", "/v1/show?job=%d" % jobs["lp"], "/v1/show?job=999", "/v1/report", "/v1/now?allusers=1&wrong=1", "/metrics"):
            status, headers, body = get(target)
            self.assertEqual((status, "MUNGE" in headers.get("www-authenticate", "")), (401, True), target)
            self.assertNotIn("lp", body)

    def test_metrics_are_of_what_one_sees(self) -> None:
        for user, visible in self.SEES.items():
            status, _headers, text = get("/metrics", {"Authorization": "MUNGE " + self.credential("/metrics", user)})
            self.assertEqual(status, 200, text)
            self.assertIn('\nslurm_goodput_runs_total{partition="a3mega"} %d\n' % len(visible), text, user)

    def test_a_credential_counts_once_for_what_it_was_made_for(self) -> None:
        target = "/v1/list?allusers=1"
        credential = self.credential(target, "nobody")
        other = get("/v1/report?allusers=1", {"Authorization": "MUNGE " + self.credential(target, "nobody")})
        self.assertEqual(other[0], 401)
        first = get(target, {"Authorization": "MUNGE " + credential})
        self.assertEqual((first[0], users_in(first[2])), (200, ["nobody"]))
        again = get(target, {"Authorization": "MUNGE " + credential})
        self.assertEqual(again[0], 401)
        self.assertIn("eplayed", again[2])

    def test_forgeries_are_refused(self) -> None:
        target = "/v1/list?allusers=1"
        credential = self.credential(target, "nobody")
        middle = len(credential) // 2
        swapped = credential[:middle] + ("A" if credential[middle] != "A" else "B") + credential[middle + 1:]
        token = self.token("nobody")
        head, _payload, signature = token.split(".")

        def encoded(value: Dict) -> str:
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        claims = encoded({"exp": int(time.time()) + 600, "iat": int(time.time()), "sun": "root"})
        signed = head + "." + claims
        wrong_key = base64.urlsafe_b64encode(hmac.new(b"x" * 32, signed.encode(), hashlib.sha256).digest()).decode().rstrip("=")
        forged = ["MUNGE " + swapped, "MUNGE x", "MUNGE " + "M" * 8000, "Basic cm9vdDo=", "Bearer x", "Bearer " + signed + "." + signature,
                  "Bearer " + signed + "." + wrong_key, "Bearer " + encoded({"alg": "none", "typ": "JWT"}) + "." + claims + ".",
                  "Bearer ; rm -rf /", "Negotiate"]
        for header in forged:
            with self.subTest(header=header[:40]):
                self.assertEqual(get(target, {"Authorization": header})[0], 401)
        self.assertEqual(get(target, {"Authorization": "Bearer " + token})[0], 200)


class HardClientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        set_private("")

    def setUp(self) -> None:
        wait(answers, "the reader answers")
        self.pid = reader_pid()

    def still_there(self) -> None:
        wait(answers, "the reader answers again")
        self.assertEqual(reader_pid(), self.pid, site.daemon_log()[-2000:])

    def raw(self, data: bytes) -> bytes:
        """Everything that arrives until the other side closes the connection."""
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
            got = b""
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while True:
                    piece = connection.recv(65536)
                    if not piece:
                        return got
                    got += piece
            except OSError:
                return got  # closed while data was being sent

    def test_other_methods_and_bodies_are_refused(self) -> None:
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            self.assertEqual(get("/v1/list", method=method)[0], 405, method)
        self.assertEqual(get("/v1/list", method="POST", body=b"x" * 1000)[0], 405)
        self.assertEqual(get("/v1/list", body=b"x" * 1000)[0], 413)
        self.still_there()

    def test_too_much_is_refused(self) -> None:
        self.assertEqual(get("/v1/list?" + "&".join("user=u%d" % i for i in range(200)))[0], 400)
        self.assertEqual(get("/v1/list?user=" + "x" * 5000)[0], 400)
        for request in (b"GET /v1/list?user=" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                        b"GET /v1/list HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
                        b"GET /v1/list HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 20_000 + b"\r\n"):
            answer = self.raw(request)
            self.assertNotIn(b" 200 ", answer[:20])
        self.still_there()

    def test_nonsense_is_no_question(self) -> None:
        for data in (b"\0" * 1000, b"\r\n" * 1000, os.urandom(4000), b"GET\r\n\r\n", b"GET /v1/list HTTP/9.9\r\n\r\n",
                     b"GET /v1/list HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                     b"GET /v1/list HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"):
            self.assertNotIn(b" 200 ", self.raw(data)[:20])
        self.still_there()

    def test_who_drips_is_cut_and_holds_up_nobody(self) -> None:
        drips = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
        with contextlib.ExitStack() as stack:
            for drip in drips:
                stack.callback(drip.close)
                drip.sendall(b"GET /v1/list HTTP/1.1\r\n")
            cut = set()

            def drip_on() -> bool:
                for drip in drips:
                    try:
                        drip.sendall(b"X: y\r\n")
                    except OSError:
                        cut.add(drip)
                wait(answers, "others are answered meanwhile")
                time.sleep(0.5)
                return len(cut) == len(drips)
            wait(drip_on, "slow clients are cut")
        self.still_there()

    def test_idle_connections_have_an_end_and_a_number(self) -> None:
        kept = []
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                connection = socket.socket()
                stack.callback(connection.close)
                connection.settimeout(PATIENCE_S)
                connection.connect(("127.0.0.1", port))
                kept.append(connection)
            # Meanwhile over the other socket.
            self.assertEqual(remote(urls()[0], "-a").returncode, 0)
            wait(answers, "idle connections make room")
        kept = []
        with contextlib.ExitStack() as stack:
            for _ in range(100):
                connection = socket.socket(socket.AF_UNIX)
                stack.callback(connection.close)
                connection.connect(query_socket())
                kept.append(connection)
            # Too many queries of one user affect only that user.
            self.assertEqual(remote(urls()[0], "-a", user="games").returncode, 0)
        self.still_there()

    def test_many_at_once_are_answered_or_told(self) -> None:
        with ThreadPoolExecutor(40) as pool:
            codes = list(pool.map(lambda _: get("/v1/show?job=%d" % jobs["nobody"])[0], range(40)))
        self.assertLessEqual(set(codes), {200, 503})
        self.assertGreaterEqual(codes.count(200), 3)
        self.still_there()

    def job_with_a_long_name(self, size: int) -> int:
        """Slurm has none: this stands for any big answer."""
        job = 900001
        with contextlib.closing(sqlite3.connect(site.database, timeout=30)) as db:
            columns = [row[1] for row in db.execute("PRAGMA table_info(accounting)")]
            changed = {"job_id": str(job), "job_id_text": "'%d'" % job, "name": "hex(zeroblob(%d))" % (size // 2)}
            db.execute("INSERT INTO accounting SELECT %s FROM accounting WHERE job_id = %d" % (
                ", ".join(changed.get(column, column) for column in columns), jobs["games"]))
            db.commit()
        self.addCleanup(self.forget, job)
        return job

    @staticmethod
    def forget(job: int) -> None:
        with contextlib.closing(sqlite3.connect(site.database, timeout=30)) as db:
            db.execute("DELETE FROM accounting WHERE job_id = ?", (job,))
            db.commit()

    def test_who_does_not_read_big_answers_fills_no_memory_and_holds_up_nobody(self) -> None:
        target = "/v1/list?jobs=%d" % self.job_with_a_long_name(4 << 20)
        self.assertGreater(len(get(target)[2]), 4 << 20)
        with contextlib.ExitStack() as stack:
            for i in range(200):
                client = socket.socket()
                stack.callback(client.close)
                # An address may have 48 connections.
                client.bind(("127.0.1.%d" % (1 + i // 40), 0))
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", port))
                client.sendall(("GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (target, port)).encode())
            most, answered, began = 0, 0, time.monotonic()
            while time.monotonic() - began < 8 or answered <= 5 and time.monotonic() - began < 8 * lateness():
                asked = time.monotonic()
                if get("/v1/show?job=%d" % jobs["nobody"])[0] == 200:
                    answered += 1
                    self.assertLess(time.monotonic() - asked, 5 * lateness())
                most = max(most, memory_of_reader())
                time.sleep(0.2)
            self.assertGreater(answered, 5)
            self.assertLess(most, 300 << 20)
        self.still_there()

    def test_a_query_that_costs_too_much_is_refused_before_the_work(self) -> None:
        began = time.monotonic()
        code, _, body = get("/v1/report?window=600s&starttime=2025-01-01&endtime=2026-11-22")
        self.assertEqual(code, 400, body)
        self.assertIn("windows", body)
        self.assertLess(time.monotonic() - began, 10)

    def test_years_of_runs_are_refused_before_the_work(self) -> None:
        many = 340_000
        with contextlib.closing(sqlite3.connect(site.database, timeout=30)) as db:
            numbers = "WITH RECURSIVE n (i) AS (SELECT 1000001 UNION ALL SELECT i + 1 FROM n WHERE i < %d) " % (1000000 + many)
            columns = [row[1] for row in db.execute("PRAGMA table_info(accounting)")]
            changed = {"job_id": "i", "job_id_text": "i", "submit_s": "1600000000", "start_s": "1600000000", "end_s": "1600000100"}
            db.execute(numbers + "INSERT INTO accounting SELECT %s FROM accounting, n WHERE job_id = %d" % (
                ", ".join(changed.get(column, column) for column in columns), jobs["games"]))
            db.execute(numbers + "INSERT INTO job_seen SELECT i, ?, '', 1600000000, 1600000100 FROM n", (site.cluster.name,))
            db.commit()
            try:
                for target in ("/v1/report?starttime=2020-01-01", "/v1/list?starttime=2020-01-01"):
                    began = time.monotonic()
                    code, _, body = get(target)
                    self.assertEqual(code, 400, body)
                    self.assertIn("this selects 340003 runs, too many", body)
                    # They are counted, which is seconds; the work would be minutes.
                    self.assertLess(time.monotonic() - began, 10 * lateness())
                # A page of them, and what is newer, is answered.
                self.assertEqual(get("/v1/list?starttime=2020-01-01&limit=2&reverse=1")[0], 200)
                self.assertEqual(get("/v1/report")[0], 200)
            finally:
                db.execute("DELETE FROM job_seen WHERE job_id > 1000000")
                db.execute("DELETE FROM accounting WHERE job_id > 1000000")
                db.commit()

    def test_whether_it_is_healthy_does_not_wait_for_queries(self) -> None:
        with ThreadPoolExecutor(40) as pool:
            asked = [pool.submit(get, "/v1/report?window=3600s&starttime=2026-10-01&endtime=2026-11-22") for _ in range(40)]
            time.sleep(0.2)
            began = time.monotonic()
            self.assertIn(get("/healthz")[0], (200, 503))
            self.assertLess(time.monotonic() - began, 2 * lateness())
            self.assertLessEqual({one.result()[0] for one in asked}, {200, 503})
        self.still_there()

    def test_a_page_of_a_stranger_cannot_ask_by_its_own_name(self) -> None:
        """DNS rebinding: the stranger's name leads here, and the browser sends it."""
        for own in ("127.0.0.1:%d" % port, "localhost", "[::1]:%d" % port, socket.gethostname()):
            self.assertIn(get("/healthz", {"Host": own})[0], (200, 503), own)
        for other in ("evil.example", "evil.example:%d" % port, "localhost.evil.example"):
            code, _, body = get("/v1/list", {"Host": other})
            self.assertEqual(code, 421, body)
            self.assertIn("listen_names", body)
        self.still_there()

    def test_a_socket_that_was_removed_is_made_again(self) -> None:
        os.unlink(query_socket())
        wait(lambda: os.path.exists(query_socket()), "the socket is there again")
        wait(lambda: remote(urls()[0], "-a", user="nobody").returncode == 0, "it answers")
        self.assertIn("was removed; making it again", site.daemon_log())

    def test_a_killed_reader_is_replaced(self) -> None:
        for _ in range(2):
            before = reader_pid()
            os.kill(before, signal.SIGKILL)
            wait(lambda: reader_pid() not in (0, before), "another reader")
            wait(answers, "it answers")
        self.assertIn("killed by signal 9", site.daemon_log())

    def test_a_killed_goodputd_leaves_no_reader_and_comes_back(self) -> None:
        reader = reader_pid()
        site.stop_daemon(signal.SIGKILL)
        wait(lambda: not alive(reader), "the reader goes with its parent")
        site.start_daemon()
        wait(answers, "answers again")
        self.assertEqual(remote(urls()[0], "-a").returncode, 0)


class UnderTheUnitTest(unittest.TestCase):
    def test_the_unit_s_powers_are_enough(self) -> None:
        with open(os.path.join(TOP, "tools", "data", "units", "goodputd-controller.service.in")) as unit:
            powers, = re.findall(r"(?m)^CapabilityBoundingSet=(.*)$", unit.read())
        wrapper = os.path.join(keys, "goodputd")
        with open(wrapper, "w") as file:
            file.write('#!/bin/sh\nexec setpriv --bounding-set=-all%s --inh-caps=-all --no-new-privs -- %s --role controller "$@"\n' % (
                "".join(",+" + power[len("CAP_"):].lower() for power in powers.split()), goodput_site.GOODPUTD))
        os.chmod(wrapper, 0o755)
        site.stop_daemon()
        # As after a first start, when ownership has not been set up.
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(site.database + suffix):
                os.chown(site.database + suffix, 0, 0)
        with mock.patch.object(goodput_site, "GOODPUTD", wrapper):
            site.start_daemon()
        try:
            with open("/proc/%d/status" % site._daemon.pid) as status:  # type: ignore
                self.assertEqual(int(re.findall(r"CapEff:\s*(\w+)", status.read())[0], 16) >> 21 & 1, 0, "CAP_SYS_ADMIN")
            wait(answers, "it answers with the unit's powers")
            for url in urls():
                self.assertEqual(sorted(users_in(remote(url, "-a", "--json").stdout)), sorted(USERS))
        finally:
            site.stop_daemon()
            site.start_daemon()
            wait(answers, "answers as before")


if __name__ == "__main__":
    unittest.main()
