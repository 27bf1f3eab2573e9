"""What is wrong now, of 10,000 running jobs and 500,000 ended ones: processor time of `sgoodput now`, and of the page's answer.

The reader spends at most a twentieth of a processor on it (tools/reader/answer_cache.h): 20 times as long an answer is kept.
"""

import json
import os
import sqlite3
import sys
import tempfile
import time
from typing import Iterable, Iterator, List

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from tests.bench.fleet_database import TRIES, Line, sgoodput  # noqa: E402
from tests.e2e.harness.fleet_clusters import BETWEEN, DAY, FIELDS, Cluster, running_jobs  # noqa: E402

RUNNING = 10000
JOBS = range(20000, 20000 + RUNNING)
HOUR = 3600
HOURS = 12
STEPS = 30  # an hour
ENDED = 500000
LEAST_S = 5
SHARE = 20


def used_s(*args: str) -> float:
    before = os.times()
    sgoodput(*args)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


class TrainingJobs:
    """Jobs that began half a day ago on one node, with a step every two minutes and a save every ten: five million records."""

    def __init__(self, folder: str) -> None:
        self.cluster = Cluster(os.path.join(folder, "trains"), "busy", 1, 0)
        self.spool = os.path.join(self.cluster.dir, "spool")
        self.begin = int(time.time()) - HOURS * HOUR
        begins = [self.begin - 70, self.begin - 70, self.begin - 60]
        self.write("@controller", 0, [self.record("@controller", self.begin, "attempt", job, '"state":"RUNNING","user":"eve",'
                                                  '"submit_s":%d,"eligible_s":%d,"start_s":%d' % tuple(begins)) for job in JOBS])
        for hour in range(HOURS):
            self.write("n1", hour, self.records_of(hour))
            if hour == HOURS - 2:
                self.cluster.ok("ingest", "--spool", self.spool)
        # What took the most time is done: the newest steps are new.
        self.cluster.ok("ingest", "--spool", self.spool)
        self.cluster.add_accounted("".join(BETWEEN.join(str(value) for value in row) + "\n" for row in [FIELDS] + [
            ["busy", job, job, *begins, "Unknown", "RUNNING", "0:0", "eve", "lab", "a3", "normal", 2, "n[1-2]", "gres/gpu=16", "", "", "train"]
            for job in JOBS]))

    def records_of(self, hour: int) -> Iterator[str]:
        # The newest steps began in the last two minutes.
        end = int(time.time()) if hour == HOURS - 1 else self.begin + (hour + 1) * HOUR
        for job in JOBS:
            if hour == 0:
                yield self.record("n1", self.begin - 50, "task_start", job, '"slurm_step":"0","task":0,"pid":5')
            for step in range(STEPS):
                t = end - (STEPS - step) * HOUR // STEPS + job % (HOUR // STEPS)
                yield self.mark(t, job, "step", "begin", hour * STEPS + step)
                if step % 5 == 2:
                    yield self.mark(t + 50, job, "checkpoint", "begin", hour * STEPS + step)
                    yield self.mark(t + 52, job, "checkpoint", "end", hour * STEPS + step)

    def mark(self, t: int, job: int, what: str, edge: str, step: int) -> str:
        return self.record("n1", t, "mark", job, '"slurm_step":"0","task":0,"pid":5,"mark":"%s","edge":"%s","train_step":%d' % (what, edge, step))

    def record(self, node: str, t: int, kind: str, job: int, more: str) -> str:
        return '\n{"v":1,"t":%d000000000,"m":%d000000000,"node":"%s","stepd":1,"kind":"%s","cluster":"busy","job":%d,%s}\n' % (
            t, t - self.begin + 9000, node, kind, job, more)

    def write(self, node: str, hour: int, records: Iterable[str]) -> None:
        os.makedirs(os.path.join(self.spool, node), exist_ok=True)
        with open(os.path.join(self.spool, node, "boot.20260922%02dZ.jsonl" % hour), "w") as file:
            file.writelines(records)


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


def measure_one(what: str, state: str, cluster: Cluster) -> Line:
    ask = ("now", "-a", "--wrong", "--json", "--no-refresh")
    add_ended(cluster.db)
    used = min(used_s(*ask, "--config", cluster.conf, "--db", cluster.db) for _ in range(TRIES))
    states = json.loads(cluster.ok(*ask))["states"]
    assert states[state]["runs"] == RUNNING, states
    every_s = max(LEAST_S, SHARE * used)
    return ("now, of %d running jobs that %s, and %d ended: %.2f s of a processor; the page's is computed every" % (RUNNING, what, ENDED, used),
            "%.1f s" % every_s, "5 s", every_s <= LEAST_S)


def measure() -> List[Line]:
    with tempfile.TemporaryDirectory() as folder:
        return [measure_one("train", "training", TrainingJobs(folder).cluster),
                measure_one("were silent for a day", "unobserved", running_jobs(folder, RUNNING))]
