"""What is wrong now, of 10,000 running jobs and 500,000 ended ones: processor time of `sgoodput now`, and of the page's answer.

The reader spends at most a twentieth of a processor on it (tools/reader/answer_cache.h): 20 times as long an answer is kept.
"""

import json
import os
import sqlite3
import sys
import tempfile
import time
from typing import List

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from tests.bench.fleet_database import TRIES, Line, sgoodput  # noqa: E402
from tests.e2e.harness.fleet_clusters import DAY, running_jobs  # noqa: E402

RUNNING = 10000
ENDED = 500000
LEAST_S = 5
SHARE = 20


def used_s(*args: str) -> float:
    before = os.times()
    sgoodput(*args)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def add_ended(path: str) -> None:
    """Jobs that ended one every five seconds until the day before yesterday, each a copy of a running one's row, and what goodputd
    keeps of having read them from slurmdbd."""
    db = sqlite3.connect(path)
    columns = [row[1] for row in db.execute("PRAGMA table_info(accounting)")]
    a_row = db.execute("SELECT * FROM accounting WHERE end_s IS NULL").fetchone()
    like = dict(zip(columns, a_row))
    now = int(time.time())
    times = [(10 ** 6 + i, now - 2 * DAY - 5 * (ENDED - i)) for i in range(ENDED)]
    db.executemany("INSERT INTO accounting VALUES (%s)" % ", ".join("?" * len(columns)), (
        [dict(like, job_id=job, job_id_text=str(job), submit_s=end - 5000, eligible_s=end - 5000, start_s=end - 4000, end_s=end,
              state="COMPLETED")[column] for column in columns] for job, end in times))
    db.executemany("INSERT INTO job_seen (job_id, cluster, run, first_t_s, last_t_s) VALUES (?, ?, '', ?, ?)",
                   ((job, like["cluster"], end - 4000, end) for job, end in times))
    db.execute("INSERT INTO backfilled VALUES (?, ?, ?)", (like["cluster"], now - 5 * ENDED - 3 * DAY, now))
    db.commit()
    db.close()


def measure_one(what: str, train: bool, state: str) -> Line:
    with tempfile.TemporaryDirectory() as folder:
        cluster = running_jobs(folder, RUNNING, train)
        add_ended(cluster.db)
        ask = ("now", "-a", "--wrong", "--json", "--no-refresh", "--config", cluster.conf, "--db", cluster.db)
        used = min(used_s(*ask) for _ in range(TRIES))
        states = json.loads(cluster.ok(*ask[:-4]))["states"]
    assert states[state]["runs"] == RUNNING, states
    every_s = max(LEAST_S, SHARE * used)
    return ("now, of %d running jobs that %s, and %d ended: %.2f s of a processor; the page's is computed every" % (RUNNING, what, ENDED, used),
            "%.1f s" % every_s, "5 s", every_s <= LEAST_S)


def measure() -> List[Line]:
    return [measure_one("train", True, "training"), measure_one("were silent for a day", False, "unobserved")]
