#!/usr/bin/python3
"""The fleet database: the runs of several clusters in a real PostgreSQL, with faults.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_fleet_database

GOODPUT_KILLS=500 kills the sync that often.
"""

import collections
import contextlib
import csv
import datetime
import json
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
from typing import Any, Dict, Iterator, List, Optional, Tuple

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from .harness import schemas
from .harness.fleet_clusters import BEGAN, DAY, HOSTILE, Cluster, accounted, refused, watched
from .harness.hand_written import FAULTS, SGOODPUT, TOP
from .harness.postgres import CuttingProxy, Postgres, offers_citus
from .harness.variants import EVERY_VARIANT

KILLS = int(os.environ.get("GOODPUT_KILLS") or (40 if EVERY_VARIANT else 15))
# Everything in the clusters' databases, and UTC midnights within.
ALL = "2026-09-01"
MONTHS = ["2026-09-01", "2026-10-01", "2026-11-01", "2026-12-01"]
ENVIRONMENT = {"PATH": os.environ["PATH"], "GOODPUT_CONF": "/nonexistent", "TZ": "UTC",
               **FAULTS}
# What the rows of a cluster are, without its revisions.
STATE = ("SELECT md5(string_agg(t::text, E'\\n' ORDER BY t::text)) FROM (SELECT d::text AS t FROM attempt_day d WHERE cluster = '%s'"
         " UNION ALL SELECT i::text FROM interruption i WHERE cluster = '%s'"
         " UNION ALL SELECT n::text FROM attempt_nodes n WHERE cluster = '%s'"
         " UNION ALL SELECT n::text FROM node_day n WHERE cluster = '%s'"
         " UNION ALL SELECT (to_jsonb(c) - 'rev')::text FROM cluster_day c WHERE cluster = '%s'"
         " UNION ALL SELECT (to_jsonb(u) - 'rev')::text FROM unit u WHERE cluster = '%s') x")

RUNS_STATE = "SELECT md5(string_agg((to_jsonb(u) - 'rev')::text, E'\n' ORDER BY unit)) FROM unit u WHERE cluster = 'alpha'"

# Rows of usage_day that attempt_day does not add up to, and the other way round.
USAGE_KEYS = "cluster, day, month, cause, user_name, account, partition, provision, gpu_type, has_gpus"
USAGE_COLUMNS = ("SELECT string_agg(attname, ',' ORDER BY attname) FROM pg_attribute WHERE attrelid = 'usage_day'::regclass"
                 " AND (attname LIKE 'b\\_%' OR attname LIKE 'w\\_%' OR attname LIKE 'gap%')")

# In which groups each of its columns counts a run once.
USAGE_RUNS = {"runs": "", "runs_month": ", month", "runs_day": ", day", "runs_provision": ", provision", "runs_cause": ", cause",
              "runs_month_provision": ", month, provision", "runs_month_cause": ", month, cause"}


class FleetTest(unittest.TestCase):
    dir: str
    postgres: Postgres
    clusters: List[Cluster]

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-fleet-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        cls.postgres = Postgres()
        cls.addClassCleanup(cls.postgres.close)
        cls.clusters = [Cluster(os.path.join(cls.dir, name), name, seed, 150) for seed, name in enumerate(["alpha", "beta"], 1)]
        cls.said(cls.owner("fleet", "init"))
        for cluster in cls.clusters:
            cls.said(cls.owner("fleet", "add", cluster.name))
            cls.said(cls.send(cluster))

    # --- programs

    @staticmethod
    def run_it(*args: str, url: str, env: Optional[Dict[str, str]] = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([SGOODPUT, *args, "--fleet-db", url], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, env=dict(ENVIRONMENT, **(env or {})), timeout=120)

    @classmethod
    def owner(cls, *args: str, database: str = "postgres") -> "subprocess.CompletedProcess[str]":
        return cls.run_it(*args, url=cls.postgres.url("owner", database))

    @staticmethod
    def said(done: "subprocess.CompletedProcess[str]", status: int = 0) -> str:
        assert (done.returncode, done.stderr) == (status, ""), done
        return done.stdout

    @classmethod
    def writer(cls, cluster: Cluster, database: str = "postgres") -> str:
        return cls.postgres.url("goodput_writer_" + cluster.name, database)

    @classmethod
    def send(cls, cluster: Cluster, command: str = "sync", *more: str, db: Optional[str] = None, url: str = "",
             database: str = "postgres") -> "subprocess.CompletedProcess[str]":
        args = ["fleet", command, *(["--once"] if command == "sync" else []), "--config", cluster.conf, "--db", db or cluster.db, *more]
        return cls.run_it(*args, url=url or cls.writer(cluster, database))

    @classmethod
    def start_sending(cls, cluster: Cluster, command: str, db: str = "") -> "subprocess.Popen[str]":
        return subprocess.Popen([SGOODPUT, "fleet", command, "--config", cluster.conf, "--db", db or cluster.db, "--fleet-db",
                                 cls.writer(cluster)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT,
                                universal_newlines=True)

    def report(self, *args: str, database: str = "postgres") -> Dict[str, Any]:
        answer: Dict[str, Any] = json.loads(self.said(self.owner("report", "-a", *args, "--json", database=database)))
        schemas.check(answer, "report")
        return answer

    def state(self, cluster: Cluster, database: str = "postgres") -> str:
        return self.postgres.ask(STATE % ((cluster.name,) * 6), database)

    def verified(self, *clusters: Cluster, database: str = "postgres") -> None:
        for cluster in clusters:
            said = " ".join(self.said(self.send(cluster, "verify", database=database)).split())
            self.assertIn("lacks 0, has 0 with other rows, and 0 that", said)
            self.assertIn("lacks 0 of them, and has 0 with other rows", said)
        checks = [self.usage(database),
                  ("SELECT cluster, day, month, nodes FROM cluster_day",
                   "SELECT cluster, day, month, count(*) FROM node_day GROUP BY cluster, day, month")]
        for column, keys in USAGE_RUNS.items():
            checks.append(("SELECT cluster%s, sum(%s) FROM usage_day WHERE n > 0 GROUP BY cluster%s" % (keys, column, keys),
                           "SELECT cluster%s, count(DISTINCT unit) FROM attempt_day GROUP BY cluster%s" % (keys, keys)))
        self.same_rows(checks, database)

    def same_rows(self, checks: List[Tuple[str, str]], database: str) -> None:
        """Both queries of each check give the same rows."""
        differences = ["SELECT %d, %d, count(*) FROM ((%s) EXCEPT ALL (%s)) x HAVING count(*) > 0" % (i, j, one, other)
                       for i, (a, b) in enumerate(checks) for j, (one, other) in enumerate(((a, b), (b, a)))]
        found = [line.split("|") for line in self.postgres.ask(" UNION ALL ".join(differences), database).splitlines()]
        self.assertEqual([(rows, checks[int(i)][int(j)]) for i, j, rows in found], [], "rows that only this query gives")

    def usage(self, database: str) -> Tuple[str, str]:
        """The sums of usage_day, and what they should be."""
        columns = self.postgres.ask(USAGE_COLUMNS, database).split(",")
        self.assertEqual(len(columns), 46)
        return ("SELECT %s, n, %s FROM usage_day WHERE n > 0" % (USAGE_KEYS, ", ".join(columns)),
                "SELECT %s, count(*), %s FROM attempt_day GROUP BY %s" % (
                    USAGE_KEYS, ", ".join("coalesce(sum(%s), 0)" % column for column in columns), USAGE_KEYS))

    def forget_columns(self, name: str, columns: str) -> None:
        """As in tables of a release that did not have them."""
        self.postgres.ask("UPDATE fleet_schema SET columns = regexp_replace(columns, '\\m%s ?', '', 'g')" % columns, name)

    @contextlib.contextmanager
    def another_database(self, name: str, template: str = "") -> Iterator[str]:
        self.postgres.ask("CREATE DATABASE %s %s" % (name, "TEMPLATE " + template if template else ""))
        try:
            yield name
        finally:
            self.postgres.ask("DROP DATABASE %s WITH (FORCE)" % name)


class SumsTest(FleetTest):
    """Every sum equals the clusters' own reports."""

    def same(self, ours: Dict[str, Any], theirs: Dict[str, Any], where: str) -> None:
        self.assertEqual(len(ours["rows"]), len(theirs["rows"]), where)
        for mine, other in zip(ours["rows"] + [ours["total"]], theirs["rows"] + [theirs["total"]]):
            for key in ("program", "program_share", "mpg"):
                mine.pop(key)
            self.assertEqual(mine, other, where)

    def test_equal_the_reports_of_each_cluster(self) -> None:
        for cluster in self.clusters:
            for by in ("all", "user", "account", "partition", "reservation", "run", "cause", "day", "tag:team", "user,cause",
                       "reservation,cause", "day,reservation", "day,partition"):
                self.same(self.report("-S", ALL, "--by", by, "-M", cluster.name), self.utc_report(cluster, "-S", ALL, "--by", by),
                          "%s %s" % (cluster.name, by))

    def test_equal_them_of_one_user_account_or_partition(self) -> None:
        for cluster in self.clusters:
            runs = 0
            for select in (["-u", "eve"], ["-A", "acc-ada,acc-kim"], ["-r", "spot"], ["-u", "eve", "-r", "spot"]):
                for by in ("all", "user", "cause"):
                    ours = self.report("-S", ALL, *select, "--by", by, "-M", cluster.name)
                    self.same(ours, self.utc_report(cluster, "-S", ALL, *select, "--by", by), "%s %s %s" % (cluster.name, select, by))
                    runs += ours["total"]["interruptions"]
            self.assertGreater(runs, 0)

    def test_equal_them_by_consumption(self) -> None:
        """But for what says how machines were obtained, which the fleet does not have."""
        for cluster in self.clusters:
            for more in (["-S", ALL, "--by", "consumption"], ["-S", ALL, "--by", "consumption,user"], ["-S", ALL, "--by", "consumption,cause"],
                         ["-S", MONTHS[1], "-E", MONTHS[2], "-T", "--by", "consumption"], ["-S", MONTHS[0], "-E", MONTHS[3], "-T", "--by", "day,consumption"]):
                theirs = self.utc_report(cluster, *more)
                for row in theirs["rows"] + [theirs["total"]]:
                    row.pop("told_by")
                    for key in ("program", "program_share", "mpg"):
                        row.pop(key)
                ours = self.report(*more, "-M", cluster.name)
                self.assertEqual([row.pop("told_by") for row in ours["rows"] + [ours["total"]]], [{}] * (len(ours["rows"]) + 1))
                self.same(ours, theirs, "%s %s" % (cluster.name, more))
            kinds = {row["group"]: row["runs"] for row in self.report("-S", ALL, "--by", "consumption", "-M", cluster.name)["rows"]}
            self.assertEqual(kinds["reserved"], 2, "one of them in two reservations, one in one")
            self.assertIn("spot", kinds)

    def test_equal_them_by_stockout(self) -> None:
        cluster = Cluster(os.path.join(self.dir, "gamma"), "gamma", 3, 20)
        spool = cluster.spool()
        refused(spool, 21, 3600)
        cluster.ingest(spool)
        self.said(self.owner("fleet", "add", "gamma"))
        # Tables of releases before stockouts.
        with self.another_database("stockouts", "postgres") as name:
            self.postgres.ask("ALTER TABLE attempt_day DROP COLUMN stockout; ALTER TABLE interruption DROP COLUMN stockout;"
                              " ALTER TABLE attempt_day ADD PRIMARY KEY (cluster, unit, day, attempt, cause, month, shard)", name)
            self.forget_columns(name, "(attempt_day|interruption)[.]stockout")
            for done in (self.owner("report", "-a", database=name), self.send(cluster, database=name)):
                self.assertEqual(done.returncode, 2)
                self.assertIn("without attempt_day.stockout, interruption.stockout; its owner upgrades them with sgoodput fleet migrate", done.stderr)
            for _ in range(2):
                self.said(self.owner("fleet", "migrate", database=name))
            self.said(self.send(cluster, database=name))
            self.verified(cluster, database=name)
            for by in ("stockout", "cluster,stockout", "stockout,cause", "day,stockout"):
                for more in ([], ["-S", "2026-09-22", "-E", "2026-09-23", "-T"]):
                    if "cause" in by and more:
                        continue  # with -T a cluster does not see later interruptions
                    question = [*(more or ["-S", ALL]), "--by", by]
                    ours = self.report(*question, "-M", "gamma", database=name)
                    theirs = self.utc_report(cluster, *question[:-1], by.replace("cluster,", ""))
                    for row in ours["rows"]:
                        row["groups"] = [group for group in row["groups"] if group != "gamma"]
                        row["group"] = row["group"].replace("gamma,", "")
                    ours["total"]["groups"] = theirs["total"]["groups"]
                    self.same(ours, theirs, str(question))
            waited = {row["group"]: row["waited_s"] for row in self.report("-S", ALL, "--by", "stockout", "-M", "gamma", database=name)["rows"]}
            # From each allocation in vain until the next, or until there were machines.
            self.assertEqual((waited["us-central1-a"], waited["us-east4-b"]), (1000, DAY + 4000 - 1000))

    @staticmethod
    def utc_report(cluster: Cluster, *args: str) -> Dict[str, Any]:
        done = subprocess.run([SGOODPUT, "report", "-a", *args, "--no-refresh", "--json", "--config", cluster.conf, "--db", cluster.db],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, env=ENVIRONMENT, timeout=60)
        assert done.stderr == "", done
        answer: Dict[str, Any] = json.loads(done.stdout)
        return answer

    def test_equal_them_month_by_month(self) -> None:
        for cluster in self.clusters:
            for begin, end in zip(MONTHS, MONTHS[1:]):
                for by in ("user", "day", "account,reservation"):
                    window = ["-S", begin, "-E", end, "-T", "--by", by]
                    self.same(self.report(*window, "-M", cluster.name), self.utc_report(cluster, *window),
                              "%s %s %s" % (cluster.name, by, begin))
                # Several months: runs that go on are counted once.
                window = ["-S", MONTHS[0], "-E", end, "-T", "--by", "account,reservation"]
                self.same(self.report(*window, "-M", cluster.name), self.utc_report(cluster, *window), cluster.name + end)
                # With -T a cluster does not see an interruption after the month. The fleet knows what the whole run was lost to,
                # as the cluster does with windows.
                window = ["-S", begin, "-E", end, "--by", "cause"]
                days = (datetime.date.fromisoformat(end) - datetime.date.fromisoformat(begin)).days
                theirs = self.utc_report(cluster, *window, "--window", "%dd" % days)
                ours = self.report(*window, "-T", "-M", cluster.name)
                self.assertEqual(*({row["group"]: row["buckets"] for row in answer["rows"] if row["runs"]} for answer in (ours, theirs)))

    def test_equal_them_by_window(self) -> None:
        for cluster in self.clusters:
            for length in ("1d", "7d"):
                window = ["-S", "2026-09-20", "-E", "2026-10-20", "--window", length]
                for by in ("all", "partition"):
                    self.same(self.report(*window, "--by", by, "-M", cluster.name), self.utc_report(cluster, *window, "--by", by),
                              cluster.name + length)

    def test_equal_them_by_node(self) -> None:
        """To the nanosecond, but for the remainders: a cluster divides each interval among its nodes, the fleet an attempt."""
        for cluster in self.clusters:
            for more in ([], ["-S", MONTHS[1], "-E", MONTHS[2], "-T"], ["-N", "n[2-3]"], ["-u", "eve"]):
                question = [*(more if "-S" in more else ["-S", ALL, *more]), "--by", "node"]
                ours, theirs = self.report(*question, "-M", cluster.name), self.utc_report(cluster, *question)
                self.assertEqual(ours["total"]["buckets"], theirs["total"]["buckets"])
                self.assertEqual([row["groups"] for row in ours["rows"]], [[cluster.name, *row["groups"]] for row in theirs["rows"]])
                self.assertGreater(len(ours["rows"]), 3)
                for mine, other in zip(ours["rows"], theirs["rows"]):
                    for key in ("runs", "interruptions", "node_failures", "chance"):
                        self.assertEqual(mine[key], other[key], (key, mine["group"]))
                    for bucket, same in zip(mine["buckets"], other["buckets"]):
                        self.assertLess(abs(bucket["ns"] - same["ns"]), 2000, bucket["name"])
                        self.assertLess(abs(bucket["gpu_seconds"] - same["gpu_seconds"]), 2e-6, bucket["name"])
                for i, bucket in enumerate(ours["total"]["buckets"]):
                    self.assertEqual(sum(row["buckets"][i]["ns"] for row in ours["rows"]), bucket["ns"])
            windows = ["-S", "2026-10-01", "-E", "2026-10-15", "--window", "7d", "--by", "node"]
            ours, theirs = self.report(*windows, "-M", cluster.name), self.utc_report(cluster, *windows)
            self.assertEqual(*([(row["begin_ns"], row["groups"][-1], row["runs"], row["interruptions"], row["node_failures"], row["chance"])
                                for row in answer["rows"]] for answer in (ours, theirs)))

    def test_of_nodes_are_those_of_their_cluster(self) -> None:
        """A node is judged among the nodes of its cluster, and all nodes of the answer count as chances."""
        fleet = self.report("-S", ALL, "--by", "node")
        self.assertEqual(fleet["by"], "cluster,node")
        alone = {cluster.name: self.report("-S", ALL, "--by", "node", "-M", cluster.name)["rows"] for cluster in self.clusters}
        self.assertEqual([row["groups"] for row in fleet["rows"]], [row["groups"] for rows in alone.values() for row in rows])
        held = {name: sum(row["groups"][1] != "-" for row in rows) for name, rows in alone.items()}
        for row, of_cluster in zip(fleet["rows"], [row for rows in alone.values() for row in rows]):
            self.assertEqual(row["buckets"], of_cluster["buckets"])
            if row["chance"] is not None and row["chance"] < 1:
                self.assertAlmostEqual(row["chance"] / sum(held.values()), of_cluster["chance"] / held[row["groups"][0]], delta=1e-12)
        said = self.postgres.ask("SELECT sum(held_ns) FROM v_node_time WHERE cluster = 'alpha' AND node = 'n1'")
        # Both are exact: every attempt holds n1, so the time of n1 is that of all attempts.
        self.assertEqual(said, self.postgres.ask("SELECT sum(x.ns) FROM attempt_day d CROSS JOIN LATERAL (VALUES %s) x (ns)"
                                                 " WHERE cluster = 'alpha' AND attempt >= 0" % ", ".join(
                                                     "(w_%s)" % bucket["name"] for bucket in fleet["total"]["buckets"]
                                                     if bucket["side"] not in ("excluded", "scheduling") or bucket["name"] in ("provisioning", "suspended"))))

    def test_equal_them_for_selected_runs(self) -> None:
        for more in (["-u", "eve"], ["-u", HOSTILE[5]], ["-A", "acc-ada,acc-kim"], ["-r", "spot"], ["-s", "NODE_FAIL"], ["-s", "nf,CD"], ["--name", "eval"],
                     ["-j", "12,1003"], ["-E", "2026-10-02"], ["--gpu-hour", "2.5"]):
            for cluster in self.clusters:
                question = ["-S", "2026-09-25", "--by", "user", *more]
                self.same(self.report(*question, "-M", cluster.name), self.utc_report(cluster, *question), str(more))

    def test_of_the_fleet_are_those_of_its_clusters(self) -> None:
        fleet = self.report("-S", ALL, "--by", "cluster")
        self.assertEqual([row["group"] for row in fleet["rows"]], ["alpha", "beta"])
        totals = [self.utc_report(cluster, "-S", ALL)["total"] for cluster in self.clusters]
        for i, bucket in enumerate(fleet["total"]["buckets"]):
            self.assertEqual(bucket["ns"], sum(total["buckets"][i]["ns"] for total in totals), bucket["name"])
            in_database = int(self.postgres.ask("SELECT coalesce(sum(b_%s), 0) FROM attempt_day" % bucket["name"]))
            self.assertEqual(in_database, sum(round(total["buckets"][i]["gpu_seconds"] * 10**9) for total in totals), bucket["name"])
        for key in ("runs", "interruptions"):
            self.assertEqual(fleet["total"][key], sum(total[key] for total in totals))
        self.assertGreater(fleet["total"]["interruptions"], 50)

    def test_have_program_goodput_where_it_is_known(self) -> None:
        for cluster in self.clusters:
            own = json.loads(cluster.ok("show", "12", "--no-refresh", "--json"))["jobs"][0]["goodput"]
            row = self.report("-S", ALL, "--by", "cluster", "-j", "12", "-M", cluster.name)["rows"][0]
            self.assertAlmostEqual(row["program"], own["program"], places=8)
            self.assertAlmostEqual(row["mpg"], own["mpg"], places=8)
            self.assertEqual(row["program_share"], 1)
            everything = self.report("-S", ALL, "--by", "cluster", "-M", cluster.name)["rows"][0]
            self.assertIsNone(everything["mpg"])
            self.assertLess(everything["program_share"], 1)
        self.assertIn("MPG", self.said(self.owner("report", "-a", "-S", ALL)))

    def test_of_views_are_the_same(self) -> None:
        fleet = self.report("-S", ALL, "--by", "month")
        for row in fleet["rows"]:
            said = self.postgres.ask("SELECT sum(up_gpu_ns) / sum(wanted_gpu_ns), sum(productive_gpu_ns) FROM v_mpg WHERE month = '%s-01'"
                                     % row["group"]).split("|")
            productive = sum(b["gpu_seconds"] for b in row["buckets"] if b["name"] == "productive")
            self.assertAlmostEqual(int(said[1]) / 10**9, productive, places=6)
            wanted = sum(b["gpu_seconds"] for b in row["buckets"] if b["name"] != "hold")
            up = sum(b["gpu_seconds"] for b in row["buckets"] if b["side"] not in ("excluded", "scheduling"))
            self.assertAlmostEqual(float(said[0]), up / wanted, places=9)
        lost = self.postgres.ask("SELECT sum(gpu_ns) FROM v_badput WHERE bucket = 'lost_work'")
        self.assertEqual(lost, self.postgres.ask("SELECT sum(lost_work_gpu_ns) FROM v_users"))
        self.assertEqual(self.postgres.ask("SELECT sum(wanted_gpu_ns) FROM v_finance"),
                         self.postgres.ask("SELECT sum(wanted_gpu_ns) FROM v_users"))
        self.assertEqual(self.postgres.ask("SELECT interruptions FROM v_nodes WHERE node = 'n2' AND cluster = 'alpha' LIMIT 1").isdigit(), True)


class NodeTimeTest(FleetTest):
    """What became of the time of all nodes: the fleet's sums are those of its clusters."""

    USES = ["allocated", "completing", "idle", "down", "drained", "off", "unknown"]
    WHEN = ["-S", "2026-07-01", "-E", "2026-10-01"]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        for seed, name in enumerate(["north", "south"], 3):
            cluster = Cluster(os.path.join(cls.dir, name), name, seed, 20)
            spool = cluster.spool()
            watched(spool)
            cluster.ingest(spool)
            cls.clusters.append(cluster)
            cls.said(cls.owner("fleet", "add", name))
            cls.said(cls.send(cluster))

    def used(self, *args: str) -> Dict[str, Any]:
        return self.report("--fleet", *args)

    def of_cluster(self, cluster: Cluster, *args: str) -> Dict[str, Any]:
        answer = SumsTest.utc_report(cluster, "--fleet", *args)
        schemas.check(answer, "report")
        return answer

    def test_of_each_cluster_is_its_own(self) -> None:
        for cluster in self.clusters:
            for by in ("node", "day", "month", "node,day", "day,node", "node,month"):
                theirs = self.of_cluster(cluster, *self.WHEN, "--by", by)
                ours = self.used(*self.WHEN, "--by", by, "-M", cluster.name)
                self.assertEqual(ours["rows"], theirs["rows"], (cluster.name, by))
                self.assertEqual(ours["total"], theirs["total"], (cluster.name, by))
                self.assertGreater(len(theirs["rows"]), by != "month")
            some = ["-S", "2026-09-22", "-E", "2026-09-24", "--by", "node"]
            self.assertEqual(self.used(*some, "-M", cluster.name)["rows"], self.of_cluster(cluster, *some)["rows"])
            self.assertEqual(self.used(*some, "-M", cluster.name, "-N", "n[2-3]")["rows"],
                             [row for row in self.of_cluster(cluster, *some)["rows"] if row["groups"][0] in ("n2", "n3")])

    def test_of_the_fleet_adds_up(self) -> None:
        fleet = self.used(*self.WHEN)
        self.assertEqual([row["groups"] for row in fleet["rows"]], [["alpha"], ["beta"], ["north"], ["south"]])
        for row, cluster in zip(fleet["rows"], self.clusters):
            own = self.of_cluster(cluster, *self.WHEN, "--by", "month")["total"]
            self.assertEqual([row[key] for key in ("nodes", "node_ns", "gpu_ns")], [own[key] for key in ("nodes", "node_ns", "gpu_ns")])
        self.assertEqual(fleet["total"]["nodes"], sum(row["nodes"] for row in fleet["rows"]))
        for use in self.USES:
            for column, key in (("n_", "node_ns"), ("g_", "gpu_ns")):
                total = fleet["total"][key][use]
                self.assertEqual(sum(row[key][use] for row in fleet["rows"]), total)
                self.assertEqual(str(total), self.postgres.ask("SELECT sum(%s) FROM v_node_use WHERE day < '2026-10-01'" % (column + use)))
        self.assertEqual(self.used(*self.WHEN, "--by", "all")["rows"][0]["node_ns"], fleet["total"]["node_ns"])
        for line in self.said(self.owner("report", "--fleet", *self.WHEN)).splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_is_what_was_recorded(self) -> None:
        after = int(datetime.datetime(2026, 10, 1, tzinfo=datetime.timezone.utc).timestamp()) - BEGAN - 9 * DAY  # the watch ended
        true = {
            "m1": ({"allocated": 2.5 * DAY - 1000, "idle": 5 * DAY + 1000, "unknown": 1.5 * DAY + after},
                   {"allocated": 6 * (2 * DAY - 1000) + 4 * DAY, "idle": 44 * DAY + 6000, "unknown": 8 * (1.5 * DAY + after)}),
            "m3": ({"allocated": 5000, "drained": 2200, "idle": 7 * DAY - 7200, "unknown": 2 * DAY + after},
                   {"allocated": 3 * 3000 + 2 * 3000, "drained": 6 * 1410 + 8 * 2200,
                    "idle": 8 * (7 * DAY - 7200) + 8 * 3590 - 15000 + 2 * 1410, "unknown": 8 * (2 * DAY + after)}),
            "m4": ({"idle": 3 * DAY - 17, "down": 2 * DAY + 17, "unknown": 2 * DAY},
                   {"idle": 8 * (3 * DAY - 17), "down": 8 * (2 * DAY + 17), "unknown": 16 * DAY}),
            "m5": ({"allocated": 1000, "idle": 7 * DAY - 1000, "unknown": 2 * DAY + after}, {}),
            "m6": ({"idle": DAY, "off": 3 * DAY}, {"idle": 8 * DAY, "off": 24 * DAY}),
            # Before the first watch, only the job is known, and not how many GPUs the node had.
            "old1": ({"allocated": DAY}, {}),
        }
        for name in ("north", "south"):
            for row in self.used(*self.WHEN, "--by", "node", "-M", name, "-N", ",".join(true))["rows"]:
                for said, seconds in zip((row["node_ns"], row["gpu_ns"]), true[row["groups"][1] if len(row["groups"]) > 1 else row["groups"][0]]):
                    self.assertEqual({use: ns / 10**9 for use, ns in said.items() if ns}, seconds, row["groups"])
        days = self.used("-S", "2026-09-22", "-E", "2026-10-01", "--by", "node,day", "-M", "north", "-N", "m1,m2,m3,m5")["rows"]
        self.assertEqual(len(days), 4 * 9)
        self.assertEqual({sum(row["node_ns"].values()) for row in days}, {DAY * 10**9})

    def days(self, cluster: Cluster) -> str:
        """Of the time that the tests look at; later rows grow."""
        return self.postgres.ask("SELECT md5(string_agg(n::text, ';' ORDER BY n::text)) FROM node_day n WHERE cluster = '%s'"
                                 " AND day < '2026-10-01'" % cluster.name)

    def test_a_day_is_replaced_as_a_whole(self) -> None:
        north = self.clusters[2]
        before = self.days(north)
        self.assertIn("lacks 0 of them, and has 0 with", " ".join(self.said(self.send(north, "verify")).split()))
        self.postgres.ask("UPDATE cluster_day SET digest = md5('other')::uuid WHERE cluster = 'north' AND day = '2026-09-22';"
                          "UPDATE node_day SET n_idle = 5 WHERE cluster = 'north' AND day = '2026-09-22';"
                          "DELETE FROM cluster_day WHERE cluster = 'north' AND day = '2026-09-24';"
                          "DELETE FROM node_day WHERE cluster = 'north' AND day = '2026-09-24'")
        self.assertIn("lacks 1 of them, and has 1 with other rows", " ".join(self.said(self.send(north, "verify"), status=1).split()))
        self.assertNotEqual(self.days(north), before, "a comparison changes nothing")
        self.said(self.send(north))
        self.assertEqual(self.days(north), before)
        self.assertIn("lacks 0 of them, and has 0 with", " ".join(self.said(self.send(north, "verify")).split()))
        self.said(self.send(north, "resend"))
        self.assertEqual(self.days(north), before)

    def forget(self, cluster: str) -> None:
        for table in ("node_day", "cluster_day", "attempt_day", "attempt_nodes", "interruption", "unit", "cluster"):
            self.postgres.ask("DELETE FROM %s WHERE cluster = '%s'" % (table, cluster))

    def test_today_is_not_compared(self) -> None:
        """A job runs: its node's row of today grows all the time."""
        west = Cluster(os.path.join(self.dir, "west"), "west", 3, 0)
        began = int(time.time()) - BEGAN - 50
        spool = west.spool()
        spool.controller(began + 1, job=61, submit_s=began, eligible_s=began, start_s=began, nodes="m1", nnodes=1)
        west.ingest(spool)
        self.said(self.owner("fleet", "add", "west"))
        self.addCleanup(self.forget, "west")
        self.said(self.send(west))
        ask = "SELECT sum(n_allocated) FROM node_day WHERE cluster = 'west' AND node = 'm1' AND day >= current_date - 1"
        before = int(self.postgres.ask(ask))
        self.assertGreaterEqual(before, 50 * 10**9)
        self.assertIn("lacks 0 of them, and has 0 with", " ".join(self.said(self.send(west, "verify")).split()))
        self.said(self.send(west))
        self.assertGreater(int(self.postgres.ask(ask)), before)

    def test_a_database_that_knows_nothing_of_a_day_changes_nothing(self) -> None:
        """A controller was restored from a copy of the second day."""
        known = Cluster(os.path.join(self.dir, "east"), "east", 3, 0)
        spool = known.spool()
        watched(spool)
        known.ingest(spool)
        self.said(self.owner("fleet", "add", "east"))
        self.addCleanup(self.forget, "east")
        self.said(self.send(known))
        before = self.days(known)
        restored = Cluster(os.path.join(self.dir, "east-restored"), "east", 3, 0)
        spool = restored.spool()
        spool.cluster(0, "watch", edge="begin")
        for node in ("m1", "m2", "m3", "m4"):
            spool.cluster(0, "node_state", node_name=node, state="IDLE", flags=[], gpus=8, partitions="a3")
        spool.cluster(DAY, "watch", edge="still")
        restored.ingest(spool)
        self.said(self.send(restored))
        after = self.used("-S", "2026-09-25", "-E", "2026-09-26", "--by", "node", "-M", "east", "-N", "m4")["rows"][0]["node_ns"]
        self.assertEqual(after["idle"], DAY * 10**9)
        self.said(self.send(known))
        self.assertEqual(self.days(known), before)

    def test_what_is_recorded_late_arrives(self) -> None:
        south = self.clusters[3]
        ask = ["-S", "2026-09-21", "-E", "2026-09-23", "--by", "node", "-M", "south", "-N", "m2"]
        before = self.used(*ask)["rows"][0]["node_ns"]
        self.assertEqual((before["drained"], before["idle"] > 0), (0, True))
        spool = south.spool()
        spool.cluster(200, "node_state", node_name="m2", state="IDLE", flags=["DRAIN"], gpus=8, partitions="a3")
        south.ingest(spool)
        self.said(self.send(south, "verify"), status=1)
        self.said(self.send(south))
        after = self.used(*ask)["rows"][0]["node_ns"]
        self.assertEqual(after["drained"], 800 * 10**9, "until a job held it; its drain ended no job")
        self.assertEqual(after["drained"] + after["idle"], before["idle"])
        self.assertEqual(after["allocated"], before["allocated"])

    def test_what_it_cannot_answer_is_refused(self) -> None:
        for args, word in ((["-u", "eve"], "-M, -N"), (["--by", "user"], "--by"), (["--by", "cluster,node,day"], "--by"), (["--window", "1d"], "-M, -N")):
            done = self.owner("report", "--fleet", "-S", ALL, *args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertRegex(done.stderr, r"\Asgoodput: .*%s.*\n\Z" % word, args)
        self.assertEqual(self.owner("report", "--fleet", "-S", "2020-01-01", "-E", "2020-02-01").returncode, 1)

    def test_for_scripts(self) -> None:
        rows = list(csv.DictReader(self.said(self.owner("report", "--fleet", *self.WHEN, "--by", "cluster,month", "--csv")).splitlines()))
        self.assertGreater(len(rows), 4)
        for row in rows:
            for kind in ("NodeHours", "GPUHours"):
                parts = [float(row[use.capitalize() + kind]) for use in self.USES if use != "off"]
                self.assertAlmostEqual(sum(parts), float(row["Reported" + kind]), places=3)


class StatementTest(FleetTest):
    PRICES = ("price = * spot 2026-01-01 1.5\nprice = * * 2026-01-01 4\nprice = * * 2026-10-12 3\ncurrency = EUR\n")

    def config(self, more: str) -> str:
        path = os.path.join(self.dir, "prices.conf")
        with open(path, "w") as file:
            file.write(more)
        return path

    def of_cluster(self, cluster: Cluster, *args: str) -> str:
        with open(cluster.conf) as file:
            conf = self.config(file.read() + self.PRICES)
        done = subprocess.run([SGOODPUT, "statement", "-a", *args, "--no-refresh", "--config", conf, "--db", cluster.db],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, env=ENVIRONMENT, timeout=60)
        return self.said(done)

    def of_fleet(self, *args: str) -> str:
        return self.said(self.owner("statement", "-a", *args, "--config", self.config(self.PRICES)))

    def test_is_that_of_each_cluster(self) -> None:
        for cluster in self.clusters:
            for args in (["--month", "2026-10", "--csv"], ["--month", "2026-10"], ["--month", "2026-10", "--html"],
                         ["--month", "2026-09", "--by", "user", "--csv"], ["--month", "2026-10", "--by", "reservation", "--csv"],
                         ["--month", "2026-10", "--by", "consumption", "--csv"],
                         ["--month", "2026-10", "-A", "acc-eve", "--by", "run", "--csv"]):
                theirs = self.of_cluster(cluster, *args)
                self.assertEqual(self.of_fleet(*args, "-M", cluster.name), theirs, args)
                self.assertGreater(len(theirs.splitlines()), 1)

    def test_of_clusters_adds_up(self) -> None:
        rows = list(csv.DictReader(self.of_fleet("--month", "2026-10", "--by", "cluster", "--csv").splitlines()))
        self.assertEqual({row["Cluster"] for row in rows}, {"alpha", "beta"})
        for row in rows:
            cluster = next(cluster for cluster in self.clusters if cluster.name == row["Cluster"])
            accounts = list(csv.DictReader(self.of_cluster(cluster, "--month", "2026-10", "--csv").splitlines()))
            for column in ("GPUHours", "Paid", "ProgressGPUHours", "LostGPUHours", "UnknownGPUHours", "LostMoney"):
                self.assertAlmostEqual(float(row[column]), sum(float(account[column]) for account in accounts), delta=0.01 * len(accounts))
        for line in self.of_fleet("--month", "2026-10", "--by", "cluster").splitlines():
            self.assertLessEqual(len(line), 80)
        nothing = self.owner("statement", "-a", "--month", "2020-01", "--config", self.config(self.PRICES))
        self.assertEqual((nothing.returncode, nothing.stdout), (1, "2020-01: no GPU was allocated.\n\n"))


class DashboardTest(FleetTest):
    def test_every_query_of_grafana_has_an_answer(self) -> None:
        with open(os.path.join(TOP, "tools", "data", "grafana", "slurm-goodput-fleet.json")) as file:
            panels = json.load(file)["panels"]
        self.postgres.ask("CREATE ROLE grafana LOGIN IN ROLE goodput_reader")
        for panel in panels:
            sql = panel["targets"][0]["rawSql"].replace("$__timeFrom()", "'2026-09-25T10:00:00Z'").replace("$__timeTo()", "'2026-11-20T10:00:00Z'")
            done = self.postgres.psql(sql, "grafana")
            self.assertEqual((done.returncode, done.stderr), (0, ""), panel["title"])
            self.assertGreaterEqual(len(done.stdout.splitlines()), 2, panel["title"])
        whole = self.report("-S", "2026-10-01", "-E", "2026-10-02", "-T", "--by", "cluster", "-M", "alpha")["rows"][0]
        said = self.postgres.ask("SELECT productive_gpu_ns / wanted_gpu_ns FROM v_day WHERE day = '2026-10-01' AND cluster = 'alpha'")
        buckets = {bucket["name"]: bucket["gpu_seconds"] for bucket in whole["buckets"]}
        self.assertAlmostEqual(float(said), buckets["productive"] / sum(s for name, s in buckets.items() if name != "hold"), places=9)


class ExportTest(FleetTest):
    """sgoodput export --grain=attempt-day."""

    def export(self, *args: str) -> "subprocess.CompletedProcess[str]":
        cluster = self.clusters[0]
        return subprocess.run([SGOODPUT, "export", "--grain=attempt-day", "--no-refresh", "--config", cluster.conf, "--db", cluster.db, *args],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, env=ENVIRONMENT, timeout=60)

    def test_has_the_rows_of_the_fleet(self) -> None:
        lake = os.path.join(self.dir, "lake")
        self.assertRegex(self.said(self.export("--format=csv", "-o", lake)), r"\A\d+ runs in \d files below ")
        self.assertEqual(os.listdir(lake), ["cluster=alpha"])
        rows: List[Dict[str, str]] = []
        for month in sorted(os.listdir(os.path.join(lake, "cluster=alpha"))):
            self.assertEqual(os.listdir(os.path.join(lake, "cluster=alpha", month)), ["attempt_day.csv"])
            with open(os.path.join(lake, "cluster=alpha", month, "attempt_day.csv"), newline="") as file:
                rows += [dict(row, month=month) for row in csv.DictReader(file)]
        self.assertEqual(len(rows), int(self.postgres.ask("SELECT count(*) FROM attempt_day WHERE cluster = 'alpha'")))
        for column in ("b_productive", "b_lost_work", "w_queue_other", "b_unobserved", "gap_gpu_ns"):
            for month in {row["month"] for row in rows}:
                self.assertEqual(sum(int(row[column] or 0) for row in rows if row["month"] == month), int(self.postgres.ask(
                    "SELECT coalesce(sum(%s), 0) FROM attempt_day WHERE cluster = 'alpha' AND month = '%s-01'" % (column, month[6:]))))
        users = self.postgres.ask("SELECT json_agg(DISTINCT user_name) FROM attempt_day WHERE cluster = 'alpha'")
        self.assertEqual({row["user_name"] for row in rows}, set(json.loads(users)))
        october = os.path.join(self.dir, "october")
        self.said(self.export("--format=csv", "-o", october, "-S", "2026-10-01", "-E", "2026-11-01"))
        path = os.path.join("cluster=alpha", "month=2026-10", "attempt_day.csv")
        self.assertEqual(os.listdir(os.path.join(october, "cluster=alpha")), ["month=2026-10"])
        with open(os.path.join(october, path)) as part, open(os.path.join(lake, path)) as whole:
            self.assertEqual(sorted(part), sorted(whole))

    def test_refuses_what_would_be_wrong(self) -> None:
        lake = os.path.join(self.dir, "never")
        for args, word in ((["--format=csv"], "-o"), (["-o", lake], "--format=csv"), (["--format=parquet", "-o", lake], "Parquet"),
                           (["--format=csv", "-o", lake, "12"], "JOB"), (["--format=csv", "-o", lake, "-S", "2026-10-02"], "first of a month"),
                           (["--grain=day", "--format=csv", "-o", lake], "grain"), (["--format=csv", "-o", "/proc/no"], "cannot")):
            done = self.export(*args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done)
            self.assertRegex(done.stderr, r"\Asgoodput: .*%s.*\n\Z" % word)
        self.assertFalse(os.path.exists(lake))
        done = subprocess.run([SGOODPUT, "export", "12", "--format=csv", "--config", "/dev/null"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, env=ENVIRONMENT, timeout=60)
        self.assertIn("--grain=attempt-day", done.stderr)


class QuestionsTest(FleetTest):
    def test_fit_a_terminal(self) -> None:
        for args in (["report", "-a", "-S", ALL], ["report", "-a", "-S", ALL, "--by", "cluster,account"], ["report", "-a", "-S", ALL, "--by", "month"],
                     ["report", "-a", "-S", ALL, "--gpu-hour", "2"], ["-a", "-S", ALL], ["show", "12", "-M", "alpha"], ["fleet", "status"],
                     ["report", "-a", "-S", ALL, "--by", "user"], ["report", "-a", "-S", ALL, "--by", "consumption"], ["report", "-a", "-S", ALL, "--by", "node"],
                     ["report", "-a", "-S", ALL, "--by", "node", "--suspects"],
                     ["report", "-a", "-S", "2026-10-01", "-E", "2026-11-01", "--window", "7d", "--by", "all"]):
            for line in self.said(self.owner(*args)).splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_for_scripts(self) -> None:
        rows = list(csv.reader(self.said(self.owner("report", "-a", "-S", ALL, "--by", "user", "--csv")).splitlines()))
        self.assertEqual(len({len(row) for row in rows}), 1)
        self.assertIn("o'brien", [row[0] for row in rows])
        listed = self.said(self.owner("-a", "-S", ALL, "-P", "-n")).splitlines()
        self.assertEqual(len(listed), int(self.postgres.ask("SELECT count(*) FROM unit")))
        self.assertEqual({line.count("|") for line in listed}, {10})

    def test_listed_runs_have_the_hours_of_all_their_months(self) -> None:
        listed: Dict[str, float] = collections.defaultdict(float)
        for row in csv.DictReader(self.said(self.owner("-a", "-S", ALL, "-M", "alpha", "-P")).splitlines(), delimiter="|"):
            listed[row["Run"] or row["JobID"]] += float(row["GPUh"].replace("-", "0"))
        rows = csv.DictReader(self.said(self.owner("report", "-a", "-S", ALL, "-M", "alpha", "--by", "run", "--csv")).splitlines())
        true = {row["Run"]: float(row["GPUh"]) for row in rows}
        self.assertEqual(set(listed), set(true))
        for run, hours in true.items():
            self.assertAlmostEqual(listed[run], hours, delta=5, msg=run)  # whole hours of up to five uses of the job's id
        self.assertNotEqual(self.postgres.ask("SELECT count(*) FROM (SELECT FROM attempt_day GROUP BY cluster, unit HAVING"
                                              " count(DISTINCT month) > 1 AND sum(b_unobserved) > 1e14) crossing"), "0")

    def test_a_long_list_says_that_there_is_more(self) -> None:
        done = self.owner("-a", "-S", ALL, "--limit", "3", "-P", "-n")
        self.assertEqual(len(done.stdout.splitlines()), 3)
        self.assertIn("more than 3 runs", done.stderr)

    def test_doctor_and_metrics_say_whether_rows_arrive(self) -> None:
        conf = os.path.join(self.dir, "doctor.conf")
        self.postgres.ask("UPDATE cluster SET as_of_ns = as_of_ns - 400 * 1000000000::bigint WHERE cluster = 'beta'")
        self.addCleanup(lambda: self.said(self.send(self.clusters[1])))
        for role, word in (("goodput_writer_alpha", "ok  the fleet database has the runs"), ("nobody_like_this", "!!  cannot connect"),
                           ("goodput_writer_beta", "!!  the fleet database is more than five minutes behind")):
            with open(conf, "w") as file:
                file.write("cluster = alpha\ndatabase = %s\nfleet = %s\n" % (self.clusters[0].db, self.postgres.url(role)))
            done = subprocess.run([SGOODPUT, "doctor", "--config", conf], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  universal_newlines=True, env=ENVIRONMENT, timeout=60)
            self.assertIn(word, done.stdout)
        text = self.said(self.owner("fleet", "status", "--metrics"))
        samples = {sample.labels["cluster"]: sample.value for family in text_string_to_metric_families(text) for sample in family.samples
                   if sample.name == "goodput_fleet_lag_seconds"}
        self.assertLess(samples["alpha"], 300)
        self.assertGreater(samples["beta"], 400)
        self.assertIn("beta: complete up to", " ".join(self.said(self.owner("report", "-a", "-S", ALL)).split()))

    def test_show_says_where_the_rest_is(self) -> None:
        said = self.said(self.owner("show", "run12", "-M", "beta"))
        self.assertIn("--url http://beta.example.com:9645", " ".join(said.split()))
        self.assertIn("select one with -M", self.owner("show", "12").stderr)
        self.assertEqual(self.owner("show", "999999").returncode, 1)

    def test_what_the_fleet_cannot_answer_is_refused(self) -> None:
        for args, word in ((["report", "--by", "node,user"], "cluster"), (["report", "--by", "cluster", "--suspects"], "--by node"),
                           (["statement", "--by", "node"], "--by"), (["statement", "--month", "November"], "2026-10"),
                           (["statement", "--csv", "--html"], "--csv"), (["statement", "-S", ALL], "-S"), (["report", "--by", "nonsense"], "no group"),
                           (["report", "--by", "recovery"], "ask each cluster: sgoodput report --by recovery"),
                           (["report", "--by", "user,recovery"], "ask each cluster"), (["report", "--exclude", "a/b"], "exclude"),
                           (["report", "-T", "-S", "2026-10-01T12:00"], "midnight UTC"), (["report", "--window", "1h", "-S", ALL], "whole days"),
                           (["report", "--window", "1d", "-S", ALL], "-E"), (["report", "--by", "all,user"], "combined"),
                           (["advise", "12"], "advise"), (["--limit", "3", "report"], "--limit"), (["report", "--sort", "Nonsense", "-S", ALL, "-a"], "Nonsense"),
                           (["report", "-P", "--csv"], "--csv"), (["-a", "-s", "BOGUS"], "BOGUS"), (["report", "-s", "CD,BOGUS"], "BOGUS")):
            done = self.owner(*args)
            self.assertEqual((done.returncode, done.stdout), (2, ""), args)
            self.assertRegex(done.stderr, r"\Asgoodput: .*%s.*\n\Z" % word, args)

    def test_nothing_matched(self) -> None:
        self.assertEqual(self.owner("report", "-a", "-S", ALL, "-u", "nobody-like-this").returncode, 1)
        self.assertEqual(self.owner("-a", "-S", ALL, "-A", "nothing").returncode, 1)

    def test_without_a_database(self) -> None:
        done = subprocess.run([SGOODPUT, "fleet", "status", "--config", "/dev/null"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                              env=ENVIRONMENT, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--fleet-db", done.stderr)
        with self.another_database("empty") as name:
            done = self.owner("report", "-a", database=name)
            self.assertIn("sgoodput fleet init", done.stderr)
            self.assertEqual(done.returncode, 2)
        for url, word in (("postgresql://owner@/postgres?host=/nonexistent", "cannot connect"), ("mysql://x", "postgresql://"),
                          ("postgresql://a:secret@host/db", "password"), ("postgresql://[", "cannot be read")):
            done = self.run_it("fleet", "status", url=url)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"\Asgoodput: .*%s.*\n\Z" % word)
            self.assertNotIn("secret", done.stderr)
        done = self.run_it("fleet", "status", url=self.postgres.url("owner"), env={"PGPASSWORD": "secret"})
        self.assertIn("PGPASSWORD", done.stderr)

    def test_a_server_over_tcp_must_show_a_certificate(self) -> None:
        done = self.run_it("fleet", "status", url="postgresql://owner@127.0.0.1:%d/postgres" % self.postgres.port)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "(?i)ssl|certificate")
        self.said(self.run_it("fleet", "status", url="postgresql://owner@127.0.0.1:%d/postgres?sslmode=disable" % self.postgres.port))

    def test_a_newer_fleet_is_not_written_to(self) -> None:
        with self.another_database("newer") as name:
            self.said(self.owner("fleet", "init", database=name))
            self.postgres.ask("ALTER TABLE attempt_day DROP COLUMN b_stall CASCADE", name)
            self.forget_columns(name, "attempt_day[.]b_stall")
            done = self.owner("report", "-a", database=name)
            self.assertIn("b_stall", done.stderr)
            self.assertIn("fleet migrate", done.stderr)
            self.said(self.owner("fleet", "migrate", database=name))
            self.postgres.ask("UPDATE fleet_schema SET version = 99", name)
            for args in (["report", "-a"], ["fleet", "init"], ["fleet", "migrate"]):
                self.assertIn("newer release", self.owner(*args, database=name).stderr)

    def test_older_tables_get_the_days_of_nodes(self) -> None:
        with self.another_database("before_days", "postgres") as name:
            self.postgres.ask("DROP TABLE node_day, cluster_day CASCADE", name)
            self.forget_columns(name, "(node|cluster)_day[.][a-z_]+")
            for done in (self.owner("report", "-a", database=name), self.send(self.clusters[0], database=name)):
                self.assertEqual(done.returncode, 2)
                self.assertIn("without cluster_day.shard, cluster_day.cluster, cluster_day.day", done.stderr)
            self.said(self.owner("fleet", "migrate", database=name))
            self.said(self.send(self.clusters[0], database=name))
            self.assertEqual(self.state(self.clusters[0], name), self.state(self.clusters[0]))

    def test_tables_that_do_not_list_their_columns_are_older(self) -> None:
        with self.another_database("unlisted", "postgres") as name:
            self.postgres.ask("ALTER TABLE fleet_schema DROP COLUMN columns", name)
            for done in (self.owner("report", "-a", database=name), self.send(self.clusters[0], database=name)):
                self.assertEqual(done.returncode, 2)
                self.assertIn("has tables of an older release, without unit.", done.stderr)
                self.assertIn("its owner upgrades them with sgoodput fleet migrate", done.stderr)
            self.said(self.owner("fleet", "migrate", database=name))
            self.said(self.send(self.clusters[0], database=name))

    def test_older_interruptions_get_their_users(self) -> None:
        with self.another_database("nameless", "postgres") as name:
            question = ["-S", ALL, "--by", "account,user"]
            self.assertNotEqual(self.postgres.ask("SELECT count(*) FROM interruption WHERE account <> ''", name), "0")
            self.postgres.ask("ALTER TABLE interruption DROP COLUMN user_name, DROP COLUMN account, DROP COLUMN partition", name)
            self.forget_columns(name, "interruption[.](user_name|account|partition)")
            done = self.owner("report", "-a", *question, database=name)
            self.assertIn("without interruption.user_name, interruption.account, interruption.partition; its owner", done.stderr)
            self.said(self.owner("fleet", "migrate", database=name))
            self.assertEqual(self.report(*question, database=name)["rows"], self.report(*question)["rows"])
            self.assertEqual(self.state(self.clusters[0], name), self.state(self.clusters[0]))

    def test_older_tables_get_their_sums(self) -> None:
        with self.another_database("older", "postgres") as name:
            self.postgres.ask("DROP TABLE usage_day CASCADE; DROP FUNCTION usage_changed() CASCADE", name)
            self.said(self.owner("fleet", "migrate", database=name))
            self.same_rows([self.usage(name)], name)
            question = ["-S", ALL, "--by", "month"]
            self.assertEqual(self.report(*question, database=name)["rows"], self.report(*question)["rows"])
            self.postgres.ask("DELETE FROM attempt_day WHERE cluster = 'alpha' AND attempt = 0", name)
            self.same_rows([self.usage(name)], name)


class SyncTest(FleetTest):
    """The fleet has the runs of the clusters, whatever happened while they were sent."""

    def setUp(self) -> None:
        self.alpha = self.clusters[0]
        self.before = self.state(self.alpha)

    def tearDown(self) -> None:
        self.verified(*self.clusters)

    def test_sends_nothing_twice(self) -> None:
        revision = self.postgres.ask("SELECT rev FROM cluster WHERE cluster = 'alpha'")
        self.assertIn("sent 0", self.said(self.send(self.alpha)))
        self.assertEqual(self.postgres.ask("SELECT rev FROM cluster WHERE cluster = 'alpha'"), revision)

    def test_killed_at_any_time(self) -> None:
        """The rows are sent again and again by processes that are killed; at every moment they are the same."""
        started = time.monotonic()
        self.said(self.send(self.alpha, "resend"))
        took = time.monotonic() - started
        chance = random.Random(7)
        for _ in range(KILLS):
            sender = self.start_sending(self.alpha, "resend")
            time.sleep(chance.uniform(0, took * 1.1))
            sender.kill()
            sender.communicate(timeout=60)
            self.assertEqual(self.state(self.alpha), self.before)

    def test_killed_while_the_fleet_is_empty(self) -> None:
        with self.another_database("fresh") as name:
            self.said(self.owner("fleet", "init", database=name))
            self.said(self.owner("fleet", "add", "alpha", database=name))
            chance = random.Random(8)
            for _ in range(max(10, KILLS // 4)):
                sender = subprocess.Popen([SGOODPUT, "fleet", "sync", "--once", "--config", self.alpha.conf, "--db", self.alpha.db, "--fleet-db",
                                           self.writer(self.alpha, name)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
                time.sleep(chance.uniform(0, 0.1))
                sender.kill()
                sender.wait()
            self.said(self.send(self.alpha, database=name))
            self.verified(self.alpha, database=name)
            self.assertEqual(self.state(self.alpha, name), self.before)

    def test_cut_after_the_commit_was_sent(self) -> None:
        for cut in (1, 2, 3):
            proxy = CuttingProxy(self.postgres.port, cut)
            try:
                url = "postgresql://goodput_writer_alpha@127.0.0.1:%d/postgres?sslmode=disable" % proxy.address
                done = self.send(self.alpha, "resend", url=url)
                if cut < 3:
                    self.assertEqual(proxy.cuts, 1)
                    self.assertEqual(done.returncode, 2, done)
            finally:
                proxy.close()
            time.sleep(0.2)
            self.assertEqual(self.state(self.alpha), self.before)
            self.assertIn("sent 0", self.said(self.send(self.alpha)))

    def test_the_server_restarts(self) -> None:
        sender = self.start_sending(self.alpha, "sync")
        try:
            self.assertIn("alpha", sender.stdout.readline())
            self.postgres.stop()
            self.alpha.add_accounted(accounted("alpha", 77, 5, 5000))
            time.sleep(22)
            self.postgres.start()
            self.until(lambda: int(self.postgres.ask("SELECT count(DISTINCT job_id) FROM unit WHERE cluster = 'alpha' AND job_id BETWEEN 5000 AND 5999")) == 5)
            self.assertIsNone(sender.poll())
        finally:
            sender.kill()
            sender.communicate(timeout=60)
        # Days of nodes follow within the hour.
        self.said(self.send(self.alpha))

    def until(self, condition: Any) -> None:
        deadline = time.monotonic() + 90
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.5)

    def test_two_senders_and_one_with_an_older_database(self) -> None:
        older = os.path.join(self.dir, "older")
        shutil.copy(self.alpha.db, older)
        self.alpha.add_accounted(accounted("alpha", 78, 20, 6000))
        for _ in range(4):
            senders = [self.start_sending(self.alpha, "resend"), self.start_sending(self.alpha, "resend", older),
                       self.start_sending(self.alpha, "resend")]
            for sender in senders:
                said = sender.communicate(timeout=60)[0]
                self.assertTrue(sender.returncode == 0 or "another process" in said, said)
        self.said(self.send(self.alpha))

    def test_an_older_database_of_the_cluster(self) -> None:
        """What the older one lacks stays at the fleet; what differs is as in the database that sent last."""
        older = os.path.join(self.dir, "restored")
        shutil.copy(self.alpha.db, older)
        self.alpha.add_accounted(accounted("alpha", 79, 10, 7000))
        self.said(self.send(self.alpha))
        after, runs = self.state(self.alpha), self.postgres.ask(RUNS_STATE)
        self.assertNotEqual(after, self.before)
        # Days of nodes are those of the database that sent last.
        self.assertIn(", removed 0", self.said(self.send(self.alpha, db=older)))
        self.assertEqual(self.postgres.ask(RUNS_STATE), runs)
        self.said(self.send(self.alpha))
        self.assertEqual(self.state(self.alpha), after)

    def test_a_cluster_that_begins_anew(self) -> None:
        """A controller that lost everything uses the ids of its first jobs again: the fleet keeps the old ones."""
        old = Cluster(os.path.join(self.dir, "old"), "delta", 6, 10)
        self.said(self.owner("fleet", "add", "delta"))
        self.said(self.send(old))
        before = self.state(old)
        anew = Cluster(os.path.join(self.dir, "anew"), "delta", 6, 0)
        spool = anew.spool()
        for job in (11, 12, 1003):
            times = {"job": job, "user": "eve", "submit_s": 70 * DAY, "eligible_s": 70 * DAY, "start_s": 70 * DAY + 10}
            spool.controller(70 * DAY + 11, **times)
            spool.controller(70 * DAY + 500, **times, end_s=70 * DAY + 500, state="COMPLETED")
        os.remove(anew.db)
        anew.ingest(spool)
        self.assertRegex(self.said(self.send(anew)), "sent 3 .*removed 0")
        self.assertRegex(self.said(self.send(old)), "sent 0 .*removed 0")
        self.postgres.ask("DELETE FROM unit WHERE cluster = 'delta' AND begin_ns >= %d; DELETE FROM attempt_day WHERE cluster = 'delta' AND"
                          " start_ns >= %d; DELETE FROM attempt_nodes n WHERE cluster = 'delta' AND NOT EXISTS"
                          " (SELECT FROM unit u WHERE u.unit = n.unit)" % ((BEGAN + 70 * DAY) * 10**9, (BEGAN + 70 * DAY) * 10**9))
        self.assertEqual(self.state(old), before)

    def test_an_older_fleet_database(self) -> None:
        with self.another_database("saved", "postgres") as name:
            self.alpha.add_accounted(accounted("alpha", 80, 10, 8000))
            self.said(self.send(self.alpha))
            self.said(self.send(self.alpha, database=name))
            self.assertEqual(self.state(self.alpha, name), self.state(self.alpha))

    def test_the_clock_goes_back(self) -> None:
        ask = "SELECT rev FROM cluster WHERE cluster = 'alpha'"
        self.said(self.send(self.alpha, "resend"))
        before = int(self.postgres.ask(ask))
        done = subprocess.run(["faketime", "-f", "-1h", SGOODPUT, "fleet", "resend", "--config", self.alpha.conf, "--db", self.alpha.db,
                               "--fleet-db", self.writer(self.alpha)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT,
                              timeout=120)
        self.assertEqual(done.returncode, 0, done)
        self.assertGreater(int(self.postgres.ask(ask)), before)
        self.assertEqual(self.state(self.alpha), self.before)

    def test_jobs_that_become_one_run(self) -> None:
        spool = self.alpha.spool()
        for job in (21, 22):
            t = job * 1000
            times = {"submit_s": t, "eligible_s": t, "start_s": t + 10, "job": job, "user": "eve"}
            spool.controller(t + 11, **times)
            spool.controller(t + 500, **times, end_s=t + 500, state="COMPLETED")
        self.alpha.ingest(spool)
        self.said(self.send(self.alpha))
        units = "SELECT string_agg(split_part(unit, '@', 1), ',' ORDER BY unit) FROM unit WHERE cluster = 'alpha' AND job_id IN (21, 22)"
        self.assertEqual(self.postgres.ask(units), "21,22")
        later = self.alpha.spool()
        for job in (21, 22):
            later.node(job * 1000 + 10, "job_prolog", job=job, user="eve", opt={"run": "joined"})
        self.alpha.ingest(later)
        self.assertIn("and 1 that are now part", " ".join(self.said(self.send(self.alpha, "verify"), status=1).split()))
        self.assertEqual(self.postgres.ask(units), "21,22", "a comparison changes nothing")
        self.assertIn("removed 1", self.said(self.send(self.alpha)))
        self.assertEqual(self.postgres.ask(units), "21")
        self.assertEqual(self.postgres.ask("SELECT count(*) FROM attempt_day WHERE unit LIKE '22@%' AND cluster = 'alpha'"), "0")

    def test_a_running_job_is_seen_soon(self) -> None:
        sender = self.start_sending(self.alpha, "sync")
        try:
            self.assertIn("alpha", sender.stdout.readline())
            now = int(time.time()) - BEGAN
            times = {"job": 31, "user": "eve", "submit_s": now - 100, "eligible_s": now - 100, "start_s": now - 60}
            spool = self.alpha.spool()
            spool.controller(now - 50, **times)
            self.alpha.ingest(spool)
            self.until(lambda: self.postgres.ask("SELECT final FROM unit WHERE cluster = 'alpha' AND unit LIKE '31@%'") == "f")
            end = "SELECT end_ns FROM unit WHERE cluster = 'alpha' AND unit LIKE '31@%'"
            first = int(self.postgres.ask(end))
            self.until(lambda: int(self.postgres.ask(end)) > first)
            self.assertLess(time.time() - int(self.postgres.ask(end)) / 1e9, 90)
        finally:
            sender.kill()
            sender.communicate(timeout=60)
        self.assertRegex(self.owner("fleet", "status").stdout, r"(?m)^alpha +\d+ +1 +0 .* \d+\.\ds ")
        spool = self.alpha.spool()
        spool.controller(now, **times, end_s=now, state="COMPLETED")
        self.alpha.ingest(spool)
        self.said(self.send(self.alpha))
        self.assertEqual(self.postgres.ask("SELECT final FROM unit WHERE cluster = 'alpha' AND unit LIKE '31@%'"), "t")

    def test_verify_and_resend(self) -> None:
        self.postgres.ask("UPDATE unit SET digest = md5('other')::uuid WHERE cluster = 'alpha' AND job_id = 1003;"
                          "DELETE FROM unit WHERE cluster = 'alpha' AND job_id = 1004; DELETE FROM attempt_day WHERE cluster = 'alpha' AND unit LIKE '1004@%';"
                          "DELETE FROM interruption WHERE cluster = 'alpha' AND unit LIKE '1004@%';"
                          "DELETE FROM attempt_nodes WHERE cluster = 'alpha' AND unit LIKE '1004@%'")
        said = " ".join(self.said(self.send(self.alpha, "verify"), status=1).split())
        self.assertIn("lacks 1, has 1 with other rows", said)
        self.assertIn("sent 2 ", self.said(self.send(self.alpha)))
        self.assertEqual(self.state(self.alpha), self.before)
        sent = self.said(self.send(self.alpha, "resend", "-S", "2026-09-25", "-E", "2026-09-26"))
        self.assertRegex(sent, r"sent [1-9]")
        self.assertNotIn("sent %s " % self.postgres.ask("SELECT count(*) FROM unit WHERE cluster = 'alpha'"), sent)

    def test_a_run_that_cannot_be_sent_stops_no_other(self) -> None:
        folder = os.path.join(self.dir, "wrong-clock")
        gamma = Cluster(folder, "gamma", 3, 0)
        spool = gamma.spool()
        spool.controller(0, job=41, submit_s=-BEGAN + 5, eligible_s=-BEGAN + 5, start_s=10)
        spool.controller(100, job=41, submit_s=-BEGAN + 5, eligible_s=-BEGAN + 5, start_s=10, end_s=100, state="COMPLETED")
        gamma.ingest(spool)
        self.said(self.owner("fleet", "add", "gamma"))
        done = self.send(gamma)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(" ".join(done.stdout.split()), r"1 run cannot be sent; the first: job 41: it spans \d+ days")
        self.assertEqual(self.postgres.ask("SELECT count(*), (SELECT refused FROM cluster WHERE cluster = 'gamma') FROM unit WHERE cluster = 'gamma'"), "4|1")
        status = self.owner("fleet", "status")
        self.assertEqual(status.returncode, 1)
        self.assertIn("gamma cannot send 1 run", status.stdout)


class RightsTest(FleetTest):
    def test_a_writer_reaches_only_its_cluster(self) -> None:
        before = self.state(self.clusters[1])
        writer = "goodput_writer_alpha"
        for table in ("unit", "attempt_day", "interruption", "attempt_nodes", "cluster_day", "node_day", "cluster"):
            for sql in ("DELETE FROM %s WHERE cluster = 'beta'", "SELECT count(*) FROM %s WHERE cluster = 'beta'"):
                done = self.postgres.psql(sql % table, writer)
                self.assertEqual((done.returncode, done.stdout.strip()), (0, "0" if "SELECT" in sql else ""), done)
            done = self.postgres.psql("CREATE TEMP TABLE mine AS SELECT * FROM %s; UPDATE mine SET cluster = 'beta';"
                                      "INSERT INTO %s SELECT * FROM mine" % (table, table), writer)
            self.assertIn("row-level security", done.stderr)
            # Rows are replaced, not changed.
            if table != "cluster":
                self.assertIn("permission denied", self.postgres.psql("UPDATE %s SET cluster = 'alpha'" % table, writer).stderr)
        done = self.postgres.psql("UPDATE cluster SET url = 'x' WHERE cluster = 'beta' RETURNING cluster", writer)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, ""), done)
        done = self.postgres.psql("BEGIN; UPDATE cluster SET cluster = 'beta' WHERE cluster = 'alpha'", writer)
        self.assertIn("row-level security", done.stderr)
        for sql in ("INSERT INTO cluster (cluster) VALUES ('delta')", "UPDATE writer SET cluster = 'beta'", "TRUNCATE unit", "DROP TABLE unit",
                    "CREATE TABLE goodput.mine (i int)", "SELECT * FROM v_mpg", "SELECT * FROM usage_day", "DELETE FROM usage_day",
                    "UPDATE usage_day SET n = 0", "SELECT usage_changed()", "UPDATE fleet_schema SET version = 9",
                    "DELETE FROM attempt_day_202610", "SELECT * FROM attempt_day_202610", "SET ROLE goodput_writer_beta", "SET ROLE owner"):
            self.assertNotEqual(self.postgres.psql(sql, writer).returncode, 0, sql)
        self.assertNotEqual(self.postgres.psql("SELECT fleet_month('2200-01-01')", writer).returncode, 0)
        self.assertNotEqual(self.postgres.psql("SELECT fleet_month('2026-10-02')", writer).returncode, 0)
        self.assertEqual(self.state(self.clusters[1]), before)
        done = self.send(self.clusters[0], "sync", "-M", "beta")
        self.assertEqual(done.returncode, 2)
        self.assertIn("fleet add beta", done.stderr)
        self.assertEqual(self.state(self.clusters[1]), before)

    def test_readers(self) -> None:
        self.postgres.ask("CREATE ROLE reader LOGIN IN ROLE goodput_reader; CREATE ROLE finance LOGIN IN ROLE goodput_finance;"
                          "CREATE ROLE stranger LOGIN")
        reader = self.run_it("report", "-a", "-S", ALL, "--by", "cluster", url=self.postgres.url("reader"))
        self.assertEqual(self.said(reader), self.said(self.owner("report", "-a", "-S", ALL, "--by", "cluster")))
        self.said(self.run_it("fleet", "status", url=self.postgres.url("reader")))
        for sql in ("DELETE FROM unit", "DELETE FROM usage_day", "INSERT INTO cluster (cluster) VALUES ('x')", "SELECT fleet_month('2026-12-01')"):
            self.assertIn("denied", self.postgres.psql(sql, "reader").stderr)
        self.assertEqual(self.postgres.psql("SELECT sum(wanted_gpu_ns) > 0 FROM v_finance", "finance").stdout.strip(), "t")
        for table in ("unit", "attempt_day", "interruption", "attempt_nodes", "usage_day", "cluster_day", "node_day", "v_users", "v_mpg", "v_badput", "v_nodes",
                      "v_node_use"):
            self.assertIn("denied", self.postgres.psql("SELECT * FROM " + table, "finance").stderr, table)
        columns = self.postgres.ask("SELECT string_agg(attname, ',') FROM pg_attribute WHERE attrelid = 'v_finance'::regclass AND attnum > 0")
        self.assertNotIn("user", columns)
        done = self.run_it("report", "-a", url=self.postgres.url("stranger"))
        self.assertIn("denied", done.stderr)

    def test_hostile_names_harm_nobody(self) -> None:
        before = [self.state(cluster) for cluster in self.clusters]
        name = "x'); DROP TABLE goodput.unit; --\""
        evil = Cluster(os.path.join(self.dir, "evil"), name, 5, 0)
        spool = evil.spool()
        for job, user in enumerate(HOSTILE + ["line\nbreak", "nul\x00byte", "lone\udcffbyte", "x" * 4000], 51):
            times = {"job": job, "submit_s": 0, "eligible_s": 0, "start_s": 10, "user": user, "account": user, "name": user, "partition": user}
            spool.node(9, "job_prolog", job=job, user=user, opt={"run": user, "tags": {user: user}})
            spool.controller(11, **times)
            spool.controller(500, **times, end_s=500, state="COMPLETED")
        evil.ingest(spool)
        self.said(self.owner("fleet", "add", name))
        done = self.run_it("fleet", "sync", "--once", "--config", evil.conf, "--db", evil.db,
                           url="postgresql:///postgres?host=%s&port=%d" % (self.postgres.dir, self.postgres.port),
                           env={"PGUSER": "goodput_writer_" + name})
        self.assertIn("0 running", self.said(done))
        self.assertEqual([self.state(cluster) for cluster in self.clusters], before)
        # The ingest refuses the last two.
        self.assertEqual(self.postgres.ask("SELECT count(*) FROM unit WHERE cluster LIKE 'x%'"), str(4 + len(HOSTILE) + 2))
        for by in ("user", "account", "run", "cluster,user"):
            answer = self.report("-S", ALL, "--by", by, "-M", name)
            own = SumsTest.utc_report(evil, "-S", ALL, "--by", by) if "," not in by else answer
            self.assertEqual(answer["total"]["buckets"], own["total"]["buckets"])
            text = self.said(self.owner("report", "-a", "-S", ALL, "--by", by, "-M", name))
            self.assertEqual([c for c in text if ord(c) < 32 and c != "\n"], [])
        # A comma separates users.
        for user in (name for name in HOSTILE if "," not in name):
            self.assertEqual(self.report("-S", ALL, "-u", user, "-M", name)["total"]["runs"], 2 if user == HOSTILE[0] else 1, user)

    def test_a_name_that_is_too_long_for_a_role(self) -> None:
        done = self.owner("fleet", "add", "c" * 60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("fleet add CLUSTER ROLE", done.stderr)
        self.said(self.owner("fleet", "add", "c" * 60, "long_writer"))
        self.assertIn("alpha", self.owner("fleet", "add", "other", "goodput_writer_alpha").stderr)


@unittest.skipUnless(offers_citus(), "this PostgreSQL does not offer Citus")
class CitusTest(SumsTest):
    """The same sums from a coordinator without shards and its workers."""

    workers: List[Postgres]

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-fleet-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        servers = []
        for _ in range(4):
            server = Postgres("shared_preload_libraries=citus", "wal_level=logical", "citus.local_hostname=127.0.0.1",
                              "citus.node_conninfo=sslmode=prefer")
            cls.addClassCleanup(server.close)
            server.ask("CREATE EXTENSION citus WITH SCHEMA pg_catalog")
            servers.append(server)
        cls.postgres, cls.workers = servers[0], servers[1:]
        cls.postgres.ask("SELECT citus_set_coordinator_host('127.0.0.1', %d)" % cls.postgres.port)
        for worker in cls.workers[:2]:
            cls.postgres.ask("SELECT citus_add_node('127.0.0.1', %d)" % worker.port)
        cls.postgres.ask("SELECT citus_set_node_property('127.0.0.1', %d, 'shouldhaveshards', false)" % cls.postgres.port)
        cls.clusters = [Cluster(os.path.join(cls.dir, name), name, seed, 150) for seed, name in enumerate(["alpha", "beta"], 1)]
        assert "distributed by Citus" in cls.said(cls.owner("fleet", "init"))
        for cluster in cls.clusters:
            cls.said(cls.owner("fleet", "add", cluster.name))
            cls.said(cls.send(cluster))

    def test_equal_them_by_stockout(self) -> None:
        self.skipTest("Citus copies no database")

    def test_of_views_are_the_same(self) -> None:
        self.skipTest("its questions compare in forms that Citus refuses")

    def shards(self) -> Dict[str, int]:
        rows = self.postgres.ask("SELECT nodeport, count(*) FROM pg_dist_shard_placement GROUP BY 1")
        return {port: int(count) for port, count in (row.split("|") for row in rows.splitlines())}

    def test_every_table_of_rows_is_on_the_workers(self) -> None:
        self.assertEqual(self.postgres.ask("SELECT count(*) FROM pg_dist_partition JOIN pg_class ON oid = logicalrelid"
                                           " WHERE partmethod = 'h' AND NOT relispartition"), "6")
        for worker in self.workers[:2]:
            self.assertGreater(self.shards()[str(worker.port)], 6 * 10)

    def test_a_stopped_worker_is_an_error_and_no_smaller_sum(self) -> None:
        before = [self.state(cluster) for cluster in self.clusters]
        self.workers[0].stop()
        for done in (self.owner("report", "-a", "-S", ALL, "--by", "cluster"), self.owner("-a", "-S", ALL), self.send(self.clusters[0])):
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("connection to the remote node", done.stderr)
        self.workers[0].start()
        self.assertEqual([self.state(cluster) for cluster in self.clusters], before)

    def test_a_writer_adds_no_rows_of_another_cluster(self) -> None:
        for table in ("unit", "attempt_day", "interruption", "attempt_nodes", "cluster_day", "node_day"):
            done = self.postgres.psql("CREATE TEMP TABLE mine AS SELECT * FROM %s; UPDATE mine SET cluster = 'beta';"
                                      "INSERT INTO %s SELECT * FROM mine" % (table, table), "goodput_writer_alpha")
            self.assertIn("row-level security", done.stderr)

    def test_shards_move_to_a_new_worker_while_runs_are_sent(self) -> None:
        before = [self.state(cluster) for cluster in self.clusters]
        self.postgres.ask("SELECT citus_add_node('127.0.0.1', %d)" % self.workers[2].port)
        over = threading.Event()
        sent: List["subprocess.CompletedProcess[str]"] = []

        def send() -> None:
            while not over.is_set():
                sent.append(self.send(self.clusters[0], "resend", "-S", ALL))
        sending = threading.Thread(target=send)
        sending.start()
        try:
            self.postgres.ask("SELECT rebalance_table_shards(shard_transfer_mode => 'block_writes')")
        finally:
            over.set()
            sending.join()
        self.assertGreater(self.shards()[str(self.workers[2].port)], 6 * 5)
        self.assertEqual({(done.returncode, done.stderr) for done in sent}, {(0, "")})
        self.assertEqual([self.state(cluster) for cluster in self.clusters], before)


if __name__ == "__main__":
    unittest.main()
