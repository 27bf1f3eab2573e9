"""Twenty clusters in one fleet database: 10^7 rows of attempts by day.

GOODPUT_BENCH_CLUSTERS=20 clusters of GOODPUT_BENCH_JOBS=100000 jobs each, which two at a time send their ended runs to an empty
database. Takes ten minutes and 16 GB below TMPDIR, so that `make bench` runs it only by name: BENCH=fleet.
"""

import os
import sys
import tempfile
import threading
import time
from typing import List

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from tests.bench.fleet_database import TABLES, Line, best, ended_runs, sgoodput  # noqa: E402
from tests.e2e.harness.postgres import Postgres  # noqa: E402

CLUSTERS = int(os.environ.get("GOODPUT_BENCH_CLUSTERS", "20"))
JOBS = int(os.environ.get("GOODPUT_BENCH_JOBS", "100000"))
SENDERS = 2
# The defaults are for a machine of 1 GB.
SERVER = ("shared_buffers=4GB", "max_wal_size=16GB")


def measure() -> List[Line]:
    with tempfile.TemporaryDirectory() as folder:
        postgres = Postgres(*SERVER)
        try:
            return measure_in(folder, postgres)
        finally:
            postgres.close()


def measure_in(folder: str, postgres: Postgres) -> List[Line]:
    owner = postgres.url("owner")
    sgoodput("fleet", "init", "--fleet-db", owner)
    clusters = [ended_runs(folder, "c%d" % n, n, JOBS) for n in range(1, CLUSTERS + 1)]
    for cluster in clusters:
        sgoodput("fleet", "add", cluster.name, "--fleet-db", owner)

    def send(lane: int) -> None:
        for cluster in clusters[lane::SENDERS]:
            sgoodput("fleet", "sync", "--once", "--config", cluster.conf, "--db", cluster.db, "--fleet-db",
                     postgres.url("goodput_writer_" + cluster.name))

    began = time.monotonic()
    senders = [threading.Thread(target=send, args=(lane,)) for lane in range(SENDERS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    loaded = time.monotonic() - began
    runs = int(postgres.ask("SELECT count(*) FROM unit"))
    if runs < CLUSTERS * JOBS:
        raise RuntimeError("only %d runs arrived" % runs)
    days, rows = (int(postgres.ask("SELECT " + " + ".join("(SELECT count(*) FROM %s)" % table for table in tables)))
                  for tables in (("attempt_day",), TABLES))
    postgres.ask("VACUUM ANALYZE")
    one = clusters[0]
    question = ["report", "-a", "-S", "2026-01-01", "--by", "account"]
    sqlite = best(*question, "--no-refresh", "--config", one.conf, "--db", one.db)
    ask = ["--fleet-db", owner]
    same = best(*ask, *question, "-M", one.name)
    everything = best(*ask, "report", "-a", "-S", "2026-01-01", "--by", "cluster,month")
    month = best(*ask, "report", "-a", "-S", "2026-10-01", "-E", "2026-11-01", "-T", "--by", "reservation")
    run = best(*ask, "show", "1500", "-M", one.name)
    scale = 1e7 / days
    return [
        ("%d clusters send %d ended runs: %d rows of attempts by day, %d in all" % (CLUSTERS, CLUSTERS * JOBS, days, rows), "%.0f s" % loaded, "",
         True),
        ("  for 10^7 rows of attempts by day", "%.0f s" % (loaded * scale), "300 s", loaded * scale <= 300),
        ("MPG by cluster and month", "%.2f s" % everything, "8 s", everything <= 8),
        ("a month by reservation", "%.2f s" % month, "2 s", month <= 2),
        ("one run", "%.0f ms" % (run * 1e3), "20 ms", run <= 0.02),
        ("sums of one cluster by account: SQLite / the fleet database", "%.1f" % (sqlite / same), "10", sqlite / same >= 10),
    ]
