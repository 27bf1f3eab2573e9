#!/usr/bin/python3
"""sgoodput export --bigquery, against a stand-in for BigQuery with DuckDB behind it (npm), which fails where it may. The bodies of jobs
are checked with the service's own types.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_bigquery
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from typing import Any, List

from .harness.fleet_clusters import DAY, Cluster, accounted
from .harness.hand_written import FAULTS, SGOODPUT, TOP
from .test_google_cloud import Cloud

NPM = os.path.join(TOP, "out", "npm-bigquery")
PACKAGES = ("@duckdb/node-api@1.5.6-r.1", "@google-cloud/bigquery@8.3.1", "protobufjs@7.6.6", "typescript@7.0.2")
TYPES = os.path.join(NPM, "node_modules", "@google-cloud", "bigquery", "build", "src", "types.d.ts")
DATASET = "projects/lab-1/datasets/goodput"
CLOUD = os.path.join(os.path.dirname(os.path.dirname(SGOODPUT)), "google_cloud", "goodput-google-cloud")
# The rows, whatever the time at which they were sent.
ROWS = "SELECT * EXCLUDE (rev) FROM attempt_day ORDER BY ALL"


def setUpModule() -> None:
    if not os.path.exists(TYPES):
        os.makedirs(NPM, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix", NPM, *PACKAGES],
                       check=True, stdin=subprocess.DEVNULL, timeout=300)


class BigQueryTest(unittest.TestCase):
    maxDiff = 4000
    dir: str
    clusters: List[Cluster]

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-bigquery-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        cls.clusters = [Cluster(os.path.join(cls.dir, name), name, seed, 60) for seed, name in enumerate(["alpha", "beta"], 1)]

    def setUp(self) -> None:
        self.cloud = Cloud(self, "bigquery_server.js", NPM)
        self.env = {"PATH": os.environ["PATH"], "GCE_METADATA_HOST": self.cloud.address, "TZ": "UTC",
                    "CLOUDSDK_API_ENDPOINT_OVERRIDES_BIGQUERY": "http://%s/" % self.cloud.address,
                    **FAULTS}

    def tearDown(self) -> None:
        self.assertEqual(self.cloud.state()["problems"], [])

    def command(self, cluster: Cluster, *args: str) -> List[str]:
        return [SGOODPUT, "export", "--grain=attempt-day", "--bigquery=" + DATASET, "--no-refresh", "--config", cluster.conf, "--db",
                cluster.db, *args]

    def export(self, cluster: Cluster, *args: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(self.command(cluster, *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                              env=self.env, timeout=120)

    def sent(self, cluster: Cluster, *args: str) -> str:
        done = self.export(cluster, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def ask(self, sql: str) -> Any:
        return self.cloud.ask("ask", sql.encode())

    def nothing_is_left(self) -> None:
        self.assertEqual(self.ask("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE '%load%'"), [])

    def test_has_the_sums_of_the_reports(self) -> None:
        for cluster in self.clusters:
            self.assertRegex(self.sent(cluster), r"\A\d+ rows in the table attempt_day of %s\n\Z" % DATASET)
        for cluster in self.clusters:
            total = cluster.report("-S", "2026-09-01", "--by", "all")["total"]
            row, = self.ask("SELECT %s FROM attempt_day WHERE cluster = '%s'" % (", ".join(
                "sum(b_%s)::VARCHAR AS g%d, sum(w_%s)::VARCHAR AS w%d" % (bucket["name"], i, bucket["name"], i)
                for i, bucket in enumerate(total["buckets"])), cluster.name))
            for i, bucket in enumerate(total["buckets"]):
                self.assertEqual(int(row["w%d" % i] or 0), bucket["ns"], bucket["name"])
                self.assertEqual(float(row["g%d" % i] or 0) / 1e9, bucket["gpu_seconds"], bucket["name"])
            runs, = self.ask("SELECT count(DISTINCT unit)::INT AS n FROM attempt_day WHERE cluster = '%s'" % cluster.name)
            self.assertEqual(runs["n"], total["runs"])
        self.nothing_is_left()
        self.check_types()

    def check_types(self) -> None:
        """With the types that Google generates from the service's description."""
        folder = os.path.join(NPM, "check")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "jobs.ts")
        jobs = self.cloud.state()["jobs"]
        self.assertGreater(len(jobs), 6)
        with open(path, "w") as file:
            file.write('import bigquery from "@google-cloud/bigquery/build/src/types";\nexport const jobs: bigquery.IJob[] = %s;\n' % json.dumps(jobs))
        done = subprocess.run([os.path.join(NPM, "node_modules", ".bin", "tsc"), "--noEmit", "--skipLibCheck", path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, universal_newlines=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_names_and_numbers_arrive_as_they_are(self) -> None:
        self.sent(self.clusters[0])
        lake = os.path.join(self.dir, "lake")
        done = subprocess.run([SGOODPUT, "export", "--grain=attempt-day", "--format=csv", "-o", lake, "--no-refresh", "--config",
                               self.clusters[0].conf, "--db", self.clusters[0].db], stdout=subprocess.PIPE, env=self.env, timeout=60)
        self.assertEqual(done.returncode, 0)
        columns = [row["column_name"] for row in self.ask("SELECT column_name FROM duckdb_columns() WHERE table_name = 'attempt_day'")
                   if row["column_name"] not in ("rev", "month")]
        # DuckDB compares what it reads from the files with what came by JSON.
        files = ("read_csv('%s/*/*/attempt_day.csv', hive_partitioning = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"',"
                 " header = true, allow_quoted_nulls = false)" % lake)
        casts = ", ".join('CAST("%s" AS %s) AS "%s"' % (name, kind, name) for name, kind in self.kinds(columns))
        for one, other in ((casts + " FROM " + files, self.quoted(columns) + " FROM attempt_day"),
                           (self.quoted(columns) + " FROM attempt_day", casts + " FROM " + files)):
            self.assertEqual(self.ask("SELECT count(*)::INT AS n FROM ((SELECT %s) EXCEPT ALL (SELECT %s))" % (one, other)), [{"n": 0}], one)
        self.assertEqual(self.ask("SELECT count(*) > 50 AS many FROM attempt_day"), [{"many": True}])

    def kinds(self, columns: List[str]) -> List[Any]:
        known = {row["column_name"]: row["data_type"] for row in
                 self.ask("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'attempt_day'")}
        return [(name, known[name]) for name in columns]

    @staticmethod
    def quoted(columns: List[str]) -> str:
        return ", ".join('"%s"' % name for name in columns)

    def test_sent_again_changes_nothing(self) -> None:
        self.sent(self.clusters[0])
        before = self.ask(ROWS)
        self.assertGreater(len(before), 50)
        self.sent(self.clusters[0])
        self.sent(self.clusters[0], "-S", "2026-10-01", "-E", "2026-10-20")
        self.assertEqual(self.ask(ROWS), before)
        self.assertEqual(self.ask("SELECT count(DISTINCT rev)::INT AS n FROM attempt_day"), [{"n": 2}])

    def test_runs_that_changed_are_replaced(self) -> None:
        cluster = Cluster(os.path.join(self.dir, "gamma"), "gamma", 3, 0)
        spool = cluster.spool()
        times = {"submit_s": 5 * DAY, "eligible_s": 5 * DAY, "start_s": 5 * DAY + 10, "job": 21, "user": "eve"}
        other = dict(times, job=22, submit_s=6 * DAY, eligible_s=6 * DAY, start_s=6 * DAY + 10)
        spool.controller(5 * DAY + 11, **times)
        spool.controller(6 * DAY + 11, **other)
        cluster.ingest(spool)
        self.sent(cluster)
        self.assertEqual([row["unit"].split("@")[0] for row in self.ask("SELECT DISTINCT unit FROM attempt_day WHERE job_id >= 21 ORDER BY 1")],
                         ["21", "22"])
        spool = cluster.spool()
        for job, began in ((21, 5 * DAY), (22, 6 * DAY)):
            spool.node(began + 12, "job_prolog", job=job, opt={"run": "both"})
            spool.controller(began + 500, **(times if job == 21 else other), end_s=began + 500, state="COMPLETED")
        cluster.ingest(spool)
        self.sent(cluster)
        rows = self.ask("SELECT DISTINCT unit, run, state FROM attempt_day WHERE job_id >= 21 OR unit LIKE '22@%'")
        self.assertEqual([(row["unit"].split("@")[0], row["run"], row["state"]) for row in rows], [("21", "both", "COMPLETED")])

    def test_an_older_export_changes_nothing(self) -> None:
        self.sent(self.clusters[0])
        self.ask("UPDATE attempt_day SET rev = rev + 3600000000000, state = 'NEWER'")
        before = self.ask(ROWS)
        self.sent(self.clusters[0])
        self.assertEqual(self.ask(ROWS), before)

    def test_whatever_fails_nothing_is_lost_or_twice(self) -> None:
        self.sent(self.clusters[0])
        before = self.ask(ROWS)
        calls = sum(self.cloud.state()["calls"].values()) - 1
        self.assertGreater(calls, 8)
        # The connection is cut at each call, before the service has it and after.
        for at in range(calls):
            for cut in ("before", "after"):
                self.cloud.behave(faults=[{}] * at + [{"cut": cut}])
                self.sent(self.clusters[0])
                self.assertEqual(self.ask(ROWS), before)
        self.assertGreater(self.cloud.state()["known"], 3)
        self.cloud.behave(faults=[{"code": 503}, {}, {"code": 429}, {"code": 403, "reason": "rateLimitExceeded"}, {"code": 500}])
        self.sent(self.clusters[0])
        self.assertEqual(self.ask(ROWS), before)
        self.nothing_is_left()

    def test_another_transaction_at_the_same_time(self) -> None:
        self.cloud.behave(conflicts=2)
        self.sent(self.clusters[0])
        self.assertEqual(self.cloud.state()["ran"].count("BEGIN TRANSACTION"), 3)
        self.nothing_is_left()

    def test_killed_at_any_time(self) -> None:
        self.sent(self.clusters[0])
        before = self.ask(ROWS)
        self.cloud.behave(looks=3)
        for after_s in (0.05, 0.3, 0.6, 1.0, 1.6, 2.5):
            with subprocess.Popen(self.command(self.clusters[0]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env) as sender:
                time.sleep(after_s)
                sender.send_signal(signal.SIGKILL)
            self.assertEqual(self.ask(ROWS), before)
        self.sent(self.clusters[0])
        self.assertEqual(self.ask(ROWS), before)

    def test_a_part_of_the_rows_replaces_nothing(self) -> None:
        """sgoodput was killed while it wrote: a run's days that did not come are not gone."""
        self.sent(self.clusters[0])
        before = self.ask(ROWS)
        columns = [{"name": name, "type": kind} for name, kind in (("cluster", "STRING"), ("unit", "STRING"), ("attempt", "INT64"), ("rev", "INT64"))]
        part = [{"cluster": row["cluster"], "unit": row["unit"], "rev": str(time.time_ns())} for row in before[:1]]
        lines = [json.dumps(line) + "\n" for line in (columns, *part)]
        for ends, code in (([], 2), (["end\n"], 0)):
            done = subprocess.run([CLOUD, "load-rows", DATASET, "--rev", str(time.time_ns())], input="".join(lines + ends),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, env=self.env, timeout=60)
            self.assertEqual(done.returncode, code, done)
            self.assertEqual(self.ask(ROWS) == before, not ends)

    def test_many_rows_go_in_several_jobs(self) -> None:
        cluster = Cluster(os.path.join(self.dir, "big"), "big", 4, 0)
        cluster.add_accounted(accounted("big", 9, 4000))
        self.sent(cluster)
        loads = self.cloud.state()["ran"].count("load")
        self.assertGreater(loads, 1)
        self.assertLess(max(self.cloud.state()["uploads"]), 5 << 20)
        total = cluster.report("-S", "2026-09-01", "--by", "all")["total"]
        runs, = self.ask("SELECT count(DISTINCT unit)::INT AS n FROM attempt_day")
        self.assertEqual(runs["n"], total["runs"])

    def test_columns_of_a_newer_release_are_added(self) -> None:
        self.sent(self.clusters[0])
        before = self.ask(ROWS)
        self.ask("DROP VIEW IF EXISTS v; ALTER TABLE attempt_day DROP COLUMN b_stall")
        self.sent(self.clusters[0])
        order = ", ".join('"%s"' % name for name in before[0])
        self.assertEqual(self.ask("SELECT %s FROM attempt_day ORDER BY ALL" % order), before)

    def test_what_cannot_be_is_said_in_a_line(self) -> None:
        for how, word in (({"hasDataset": False}, "bq mk --location=US lab-1:goodput"), ({"hasDataset": True, "role": False}, "roles/bigquery.jobUser"),
                          ({"role": True, "scopes": ["https://www.googleapis.com/auth/logging.write"]}, "cloud-platform"),
                          ({"scopes": ["https://www.googleapis.com/auth/bigquery"], "failingJob": "BEGIN"}, "this fails"),
                          ({"failingJob": None, "hasAccount": False}, "service account")):
            self.cloud.behave(**how)
            done = self.export(self.clusters[0])
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertRegex(done.stderr, r"\Asgoodput: [^\n]*%s[^\n]*\n\Z" % word)
        for args, word in ((["12"], "JOB"), (["-o", "x"], "-o"), (["--format=csv"], "--format"), (["--bigquery=goodput"], "")):
            done = self.export(self.clusters[0], *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertIn(word, done.stderr)
        done = subprocess.run([SGOODPUT, "export", "--grain=attempt-day", "--bigquery=lab/goodput", "--config", "/dev/null", "--db",
                               self.clusters[0].db], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, env=self.env, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Asgoodput: not the name of a dataset: lab/goodput; write projects/PROJECT/datasets/DATASET\n\Z")

    def test_joins_slurm_gcp_s_table(self) -> None:
        """The view of the guide, with slurm-gcp's table of jobs: a row for each attempt that it has, with the attempt's sums."""
        self.sent(self.clusters[0])
        with open(os.path.join(TOP, "docs", "fleet.md")) as guide:
            view = guide.read().split("CREATE VIEW goodput.job_goodput AS\n")[1].split("```")[0].strip().rstrip(";")
        self.ask("CREATE SCHEMA alpha_job_data")
        self.ask("CREATE TABLE alpha_job_data.jobs_alpha (job_id_raw BIGINT, start_time TIMESTAMP, end_time TIMESTAMP, state VARCHAR, alloc_tres VARCHAR)")
        self.ask("INSERT INTO alpha_job_data.jobs_alpha SELECT DISTINCT job_id, make_timestamp((start_ns // 1000000000) * 1000000), NULL, state, ''"
                 " FROM attempt_day WHERE attempt >= 0 AND start_ns IS NOT NULL")
        view = (view.replace("goodput.attempt_day", "attempt_day").replace("DIV(start_ns, 1000000000)", "start_ns // 1000000000)")
                .replace("DATETIME(TIMESTAMP_SECONDS(", "(make_timestamp(1000000 * ("))
        joined = self.ask(view)
        self.assertIsInstance(joined, list, joined)
        self.assertEqual(len(joined), self.ask("SELECT count(*)::INT AS n FROM alpha_job_data.jobs_alpha")[0]["n"])
        self.assertAlmostEqual(sum(float(row["productive_gpu_hours"] or 0) for row in joined), float(self.ask(
            "SELECT (sum(b_productive) / 3.6e12)::DOUBLE AS h FROM attempt_day WHERE start_ns IS NOT NULL")[0]["h"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
