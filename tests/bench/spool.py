"""Ingesting a spool, compared with SQLite's bulk insertion; goodput of its steps, compared with json.loads; one more step, reported again."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Callable, Iterator, List, Tuple

from imports import LOADS, SGOODPUT, SIZES, TRIES, best, run, size_of

BUILD = os.environ.get("GOODPUT_BUILD", os.path.join(os.path.dirname(SGOODPUT), "..", ".."))
ONE_MORE_STEP = os.path.join(BUILD, "tests", "bench", "one_more_step")
EVENTS = 300_000
BAR_RATE, BAR_PEER, BAR_REPORT, BAR_KIB, BAR_BYTES, BAR_ASK_US = 300_000, 0.5, 0.04, 30 * 1024, 4.5, 1000
# A separate program, because this one's memory would count as that of its children. One row per record, into a table without
# a key or an index; only the insertion is timed.
PLAIN_INSERTION = """
import json, os, sqlite3, sys, time
db, tries, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
rows, took = [], []
for source, path in enumerate(files):
    offset = 0
    for line in open(path):
        if line != "\\n":
            record = json.loads(line)
            rows.append((source, offset, record["t"], record["kind"], record["job"], line[:-1]))
        offset += len(line)
for _ in range(tries):
    for end in ("", "-wal", "-shm"):
        if os.path.exists(db + end): os.unlink(db + end)
    connection = sqlite3.connect(db)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE event (source INTEGER, offset INTEGER, t INTEGER, kind TEXT, job INTEGER, record TEXT)")
    began = time.monotonic()
    with connection: connection.executemany("INSERT INTO event VALUES (?, ?, ?, ?, ?, ?)", rows)
    took.append(time.monotonic() - began)
    connection.close()
print(len(rows), min(took))
"""
BEGAN_S = 1_767_225_600
S = 1_000_000_000

HEAD = '\n{"v":1,"t":%d,"m":%d,"node":"%s","stepd":4211,"kind":"%s","cluster":"c1","job":%d,"uid":1001,"gid":1001,'
STEP = HEAD + '"slurm_step":"0","task":0,"mark":"step","edge":"begin","train_step":%d,"pid":4242}\n'
SAVE = HEAD + '"slurm_step":"0","task":0,"mark":"checkpoint","edge":"%s","train_step":%d,"pid":4242}\n'
TASK = HEAD + '"slurm_step":"0","restart":0,"job_start":%d,"task":%d,"local_task":%d,"pid":%d%s}\n'
WATCH = ('\n{"v":1,"t":%d,"m":%d,"node":"@controller","stepd":901,"kind":"attempt","cluster":"c1","job":%d,"uid":1001,"state":"%s",'
         '"restart":%d,"submit_s":%d,"eligible_s":%d,"start_s":%d%s,"nnodes":%d,"gpus":%d,"gpu_type":"h100","user":"u","account":"a",'
         '"partition":"p","qos":"normal","nodes":"%s","name":"train"}\n')


class Spool:
    """Writes records as plugin and daemons do: one folder per node, one file per hour."""

    def __init__(self, root: str) -> None:
        self.root = root

    def write(self, node: str, records: Iterator[Tuple[int, str]]) -> None:
        """`records`: with their times in ns, ascending."""
        folder = os.path.join(self.root, node)
        os.makedirs(folder, 0o700)
        hour, file = -1, None
        for t, record in records:
            if t // (3600 * S) != hour:
                if file:
                    file.close()
                hour = t // (3600 * S)
                file = open(os.path.join(folder, time.strftime("boot.%Y%m%d%HZ.jsonl", time.gmtime(hour * 3600))), "a")
            file.write(record)
        if file:
            file.close()

    def files(self) -> List[str]:
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names)


def tasks(count: int, job: int) -> Iterator[Tuple[int, str]]:
    """Starts and exits of short tasks, eight per step."""
    t = BEGAN_S * S
    for i in range(count // 2):
        for kind, rest in (("task_start", ""), ("task_exit", ',"exit_code":0')):
            t += 50_000_000
            yield t, TASK % (t, t - BEGAN_S * S, "n1", kind, job + i // 8, BEGAN_S, i % 8, i % 8, 5000 + i % 8, rest)


def steps(count: int, job: int, saves: bool = False) -> Iterator[Tuple[int, str]]:
    """A step every half second, with jitter; with `saves`, a checkpoint in every tenth."""
    t = BEGAN_S * S + 20 * S
    for step in range(count):
        t += 500_000_000 + (step * 7919 % 10_007) * 500
        yield t, STEP % (t, t - BEGAN_S * S, "n1", "mark", job, step)
        if saves and step % 10 == 9:
            for edge, after in (("begin", 400_000_000), ("end", 450_000_000)):
                yield t + after, SAVE % (t + after, t + after - BEGAN_S * S, "n1", "mark", job, edge, step)


def one_attempt(job: int, seconds: int) -> Iterator[Tuple[int, str]]:
    for state, at, end in (("RUNNING", 0, ""), ("COMPLETED", seconds, ',"end_s":%d' % (BEGAN_S + seconds))):
        t = (BEGAN_S + at) * S
        yield t, WATCH % (t, at * S, job, state, 0, BEGAN_S - 60, BEGAN_S - 60, BEGAN_S, end, 1, 8, "n1")


class Bench:
    def __init__(self, folder: str, spool: str = "") -> None:
        self.root = spool or os.path.join(folder, "spool")
        self.db, config = (os.path.join(folder, name) for name in ("goodput.db", "goodput.conf"))
        with open(config, "w") as file:
            file.write("spool = %s\ncluster = c1\n" % self.root)
        self.common = ["--config", config, "--db", self.db]

    def spool(self) -> Spool:
        shutil.rmtree(self.root, ignore_errors=True)
        return Spool(self.root)

    def forget(self) -> None:
        for end in ("", "-wal", "-shm"):
            if os.path.exists(self.db + end):
                os.unlink(self.db + end)

    def ingest(self) -> Tuple[float, int]:
        return best([SGOODPUT, "ingest", *self.common], self.forget)

    def report(self, job: int) -> Tuple[float, int]:
        return best([SGOODPUT, "show", *self.common, "--no-refresh", str(job)])

    def kept(self, job: int) -> int:
        text = subprocess.check_output([SGOODPUT, "show", *self.common, "--no-refresh", "--json", str(job)])
        return json.loads(text)["jobs"][0]["steps"]["kept"]


def ingestion(bench: Bench) -> List[Tuple]:
    lines: List[Tuple] = []
    for what, records in (("%d task starts and exits" % EVENTS, tasks(EVENTS, 1)), ("%d step marks" % EVENTS, steps(EVENTS, 1))):
        spool = bench.spool()
        spool.write("n1", records)
        took, _ = bench.ingest()
        bench.forget()
        out = subprocess.check_output([sys.executable, "-c", PLAIN_INSERTION, bench.db, str(TRIES), *spool.files()])
        rows, theirs = int(out.split()[0]), float(out.split()[1])
        rate = rows / took
        lines += [(what + ": ingested", "%.0f /s" % rate, "bar %d /s" % BAR_RATE, rate >= BAR_RATE),
                  (what + ": speed / SQLite's bulk insertion", "%.2f (%.3f s)" % (theirs / took, took), "bar %.1f" % BAR_PEER,
                   theirs >= BAR_PEER * took)]
    return lines


def one_job(bench: Bench) -> List[Tuple]:
    lines: List[Tuple] = []
    for saves in (False, True):
        for count in SIZES:
            spool = bench.spool()
            spool.write("n1", steps(count, 7, saves))
            marks = spool.files()
            joined = bench.root + ".jsonl"
            with open(joined, "w") as out:
                for path in marks:
                    with open(path) as file:
                        out.writelines(line for line in file if line != "\n")
            records = count + (count // 10 * 2 if saves else 0)
            spool.write("@controller", one_attempt(7, 30 + count * 51 // 100))
            loads, _ = best([sys.executable, "-c", LOADS, joined])
            python, _ = best([sys.executable, "-c", "import json, sys"])
            loads = max(loads - python, 1e-6)
            bench.forget()
            ingested, ingest_kib = run([SGOODPUT, "ingest", *bench.common])
            reported, kib = bench.report(7)
            if bench.kept(7) != count:
                raise RuntimeError("%d steps kept, %d written" % (bench.kept(7), count))
            each = size_of(bench.db) / records
            what = "%d steps%s" % (count, ", every tenth saves" if saves else "")
            barred = count == SIZES[-1]
            bar: Callable[[str], str] = lambda text: text if barred else ""
            lines += [(what + ": ingest / json.loads", "%.3f (%.3f s)" % (ingested / loads, ingested)),
                      (what + ": report / json.loads", "%.3f (%.4f s)" % (reported / loads, reported), bar("bar %.2f" % BAR_REPORT),
                       reported <= BAR_REPORT * loads),
                      (what + ": memory", "%d, %d KiB" % (ingest_kib, kib), bar("bar %d KiB" % BAR_KIB),
                       max(ingest_kib, kib) <= BAR_KIB),
                      (what + ": on disk", "%.2f bytes a mark" % each, bar("bar %.1f" % BAR_BYTES), each <= BAR_BYTES)]
    return lines


def asked_again(bench: Bench) -> List[Tuple]:
    lines: List[Tuple] = []
    for count in SIZES:
        bench.forget()
        bench.spool()
        out = subprocess.check_output([ONE_MORE_STEP, bench.root, bench.db, str(count)], universal_newlines=True)
        ingest_us, report_us = (float(word) for word in out.split())
        lines.append(("%d steps: one more taken in, and the report anew" % count, "%.0f + %.0f us" % (ingest_us, report_us),
                      "bar %d us" % BAR_ASK_US, ingest_us + report_us <= BAR_ASK_US))
    return lines


def measure() -> List[Tuple]:
    folder = tempfile.mkdtemp(prefix="goodput-bench-")
    try:
        bench = Bench(folder)
        return ingestion(bench) + one_job(bench) + asked_again(bench)
    finally:
        shutil.rmtree(folder)
