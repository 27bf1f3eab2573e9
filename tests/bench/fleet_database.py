"""The fleet database, compared with psql's \\copy of the same rows, and with SQLite for the same question.

GOODPUT_BENCH_JOBS=50000 sets the number of jobs of the cluster whose runs are sent; 19 copies of its rows, as other clusters, are
added in the server before the questions.
"""

import os
import subprocess
import sys
import tempfile
import time
from typing import List, Tuple

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from tests.e2e.harness.fleet_clusters import Cluster, accounted, running_jobs  # noqa: E402
from tests.e2e.harness.hand_written import SGOODPUT  # noqa: E402
from tests.e2e.harness.postgres import Postgres  # noqa: E402

JOBS = int(os.environ.get("GOODPUT_BENCH_JOBS", "50000"))
COPIES = 19
TRIES = 3
TABLES = ("unit", "attempt_day", "interruption", "attempt_nodes", "cluster_day", "node_day")
ENV = {"PATH": os.environ["PATH"], "TZ": "UTC"}
Line = Tuple[str, str, str, bool]


def sgoodput(*args: str) -> float:
    began = time.monotonic()
    done = subprocess.run([SGOODPUT, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, env=ENV)
    took = time.monotonic() - began
    if done.returncode or done.stderr:
        raise RuntimeError("%s: %s%s" % (args, done.stdout[-500:], done.stderr))
    return took


def best(*args: str) -> float:
    return min(sgoodput(*args) for _ in range(TRIES))


def copy_rows(postgres: Postgres, folder: str) -> float:
    """Seconds to \\copy the same rows into the same tables of another database."""
    for table in TABLES:
        with open(os.path.join(folder, table), "w") as file:
            subprocess.run(psql(postgres, "postgres") + ["-c", "COPY (SELECT * FROM goodput.%s) TO STDOUT" % table], stdout=file, check=True, env=ENV)
    postgres.ask("CREATE DATABASE copied")
    sgoodput("fleet", "init", "--fleet-db", postgres.url("owner", "copied"))
    months = postgres.ask("SELECT string_agg(DISTINCT format('fleet_month(%L)', month), ', ') FROM attempt_day")
    postgres.ask("SELECT " + months, "copied")
    began = time.monotonic()
    for table in TABLES:
        subprocess.run(psql(postgres, "copied") + ["-c", "\\copy goodput.%s FROM '%s'" % (table, os.path.join(folder, table))], check=True,
                       stdout=subprocess.DEVNULL, env=ENV)
    took = time.monotonic() - began
    postgres.ask("DROP DATABASE copied")
    return took


def psql(postgres: Postgres, database: str) -> List[str]:
    return ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", postgres.dir, "-p", str(postgres.port), "-U", "owner", database]


def ended_runs(folder: str, name: str, seed: int, jobs: int) -> Cluster:
    """A cluster whose database has so many ended jobs, from accounting."""
    cluster = Cluster(os.path.join(folder, name), name, 1, 0)
    text = accounted(name, seed, jobs)
    # Who preempted a job is searched among those that started then; here, all of them are on the same nodes.
    for state in ("PREEMPTED", "NODE_FAIL", "REQUEUED"):
        text = text.replace(state, "FAILED")
    cluster.add_accounted(text)
    return cluster


def measure() -> List[Line]:
    with tempfile.TemporaryDirectory() as folder:
        postgres = Postgres()
        try:
            return measure_in(folder, postgres)
        finally:
            postgres.close()


def measure_in(folder: str, postgres: Postgres) -> List[Line]:
    cluster = ended_runs(folder, "alpha", 2, JOBS)
    owner = postgres.url("owner")
    sgoodput("fleet", "init", "--fleet-db", owner)
    sgoodput("fleet", "add", "alpha", "--fleet-db", owner)
    send = ["--config", cluster.conf, "--db", cluster.db, "--fleet-db", postgres.url("goodput_writer_alpha")]
    sent = sgoodput("fleet", "sync", "--once", *send)
    rows = int(postgres.ask("SELECT " + " + ".join("(SELECT count(*) FROM %s)" % table for table in TABLES)))
    days = int(postgres.ask("SELECT count(*) FROM attempt_day"))
    size = int(postgres.ask("SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'attempt_day'::regclass"))
    copied = copy_rows(postgres, folder)
    nothing = best("fleet", "verify", *send)
    again = sgoodput("fleet", "resend", *send)
    sqlite = best("report", "-a", "-S", "2026-01-01", "--by", "account", "--no-refresh", "--config", cluster.conf, "--db", cluster.db)
    question = ["--fleet-db", owner, "report", "-a"]
    postgres.ask("ANALYZE")
    same = best(*question, "-S", "2026-01-01", "--by", "account")
    add_copies(postgres)
    total = int(postgres.ask("SELECT count(*) FROM attempt_day"))
    everything = best(*question, "-S", "2026-01-01", "--by", "cluster,month")
    month = best(*question, "-S", "2026-10-01", "-E", "2026-11-01", "-T", "--by", "reservation")
    one = best("--fleet-db", owner, "show", "1500", "-M", "alpha")
    return [
        ("sending %d ended runs, %d rows" % (JOBS + 4, rows), "%.0f rows/s" % (rows / sent), "", True),
        ("  against \\copy of the same rows (%.0f rows/s)" % (rows / copied), "%.2f" % (copied / sent), "0.5", copied / sent >= 0.5),
        ("sending them again, each replaced", "%.0f rows/s" % (rows / again), "", True),
        ("comparing them all, nothing sent", "%.2f s" % nothing, "", True),
        ("bytes a row of attempt_day, with its key", "%.0f" % (size / days), "", True),
        ("sums by account: SQLite / the fleet database, %d rows" % days, "%.1f" % (sqlite / same), "10", sqlite / same >= 10),
        ("MPG by cluster and month, %d rows" % total, "%.2f s" % everything, "", True),
        ("  for 10^7 rows, if it grows with the rows", "%.1f s" % (everything * 1e7 / total), "8 s", everything * 1e7 / total <= 8),
        ("a month by reservation, the same", "%.1f s" % (month * 1e7 / total), "2 s", month * 1e7 / total <= 2),
        ("one run", "%.0f ms" % (one * 1e3), "20 ms", one <= 0.02),
        measure_running(folder, postgres),
    ]


def measure_running(folder: str, postgres: Postgres) -> Line:
    """Processor time of a pass over jobs that run, as a share of a core: passes are 20 to 75 s apart, or 50 times what one takes."""
    running = 10000
    cluster = running_jobs(folder, running)
    sgoodput("fleet", "add", "busy", "--fleet-db", postgres.url("owner"))
    send = ["fleet", "sync", "--once", "--config", cluster.conf, "--db", cluster.db, "--fleet-db", postgres.url("goodput_writer_busy")]
    sgoodput(*send)
    before = os.times()
    took = sgoodput(*send)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    share = used / min(max(50 * took, 20), 75)
    return ("a pass over %d running jobs: %.1f s; share of a core" % (running, took), "%.1f %%" % (100 * share), "2 %", share <= 0.02)


def add_copies(postgres: Postgres) -> None:
    for table in TABLES:
        columns = postgres.ask("SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = '%s'::regclass AND"
                               " attnum > 0 AND NOT attisdropped" % table)
        chosen = columns.replace("shard", "(shard + k) & x'7fffffffffffffff'::bigint", 1).replace("cluster", "'copy' || k", 1)
        postgres.ask("INSERT INTO %s (%s) SELECT %s FROM %s, generate_series(1, %d) k" % (table, columns, chosen, table, COPIES))
    postgres.ask("INSERT INTO cluster (cluster, as_of_ns) SELECT 'copy' || n, (SELECT as_of_ns FROM cluster) FROM generate_series(1, %d) n"
                 % COPIES)
    postgres.ask("VACUUM ANALYZE")
