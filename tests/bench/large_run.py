"""54 days of 16,384 GPUs with 466 interruptions (419 of them unexpected), ingested and reported.

This is the size of the pre-training of Llama 3, according to its authors. The records are the minimum of such a run: with
one task per node (torchrun) and without extern steps, six records per node and attempt, the marks of rank 0, and the
controller's records, in hourly files. GOODPUT_BENCH_NODES=2048 sets the number of nodes.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Dict, Iterator, List, NamedTuple, Tuple

from imports import SGOODPUT, run, size_of
from spool import BEGAN_S, HEAD, S, SAVE, STEP, WATCH, Bench

NODES = int(os.environ.get("GOODPUT_BENCH_NODES", "2048"))
ATTEMPTS, PLANNED, DAYS = 467, 47, 54
STEP_NS, SAVE_NS, SAVE_EVERY = 4_500_000_000, 1_000_000_000, 100
REQUEUED_S, PROGRAM_S, RESTORED_S = 131, 10, 90  # end to next start; start to program; program to its first step
BAR_S = 10.0
JOB, RUN = 4711, "large"
NODE_LIST = "n[1-%d]" % NODES
OPT = ',"opt":{"run":"%s","precision":"bf16"}' % RUN


class Attempt(NamedTuple):
    number: int
    start_s: int
    end_s: int
    planned: bool

    @property
    def submit_s(self) -> int:
        return self.start_s - (REQUEUED_S - 10 if self.number else 60)


def attempts() -> List[Attempt]:
    """Times between random failures, but each long enough for a save."""
    rng = random.Random(1)
    rest = DAYS * 86400 - (ATTEMPTS - 1) * (REQUEUED_S + 1500) - 1500
    weights = [rng.expovariate(1) for _ in range(ATTEMPTS)]
    planned = set(rng.sample(range(ATTEMPTS - 1), PLANNED))
    made, at = [], BEGAN_S
    for number, weight in enumerate(weights):
        end = at + 1500 + int(rest * weight / sum(weights))
        made.append(Attempt(number, at, end, number in planned))
        at = end + REQUEUED_S
    return made


def marks(of: List[Attempt]) -> Tuple[List[Tuple[int, str]], int]:
    """Rank 0's records by time, and the number of kept steps. A restart continues after the last save."""
    made: List[Tuple[int, str]] = []
    step = saved = 0
    for attempt in of:
        t, end = (attempt.start_s + PROGRAM_S + RESTORED_S) * S, attempt.end_s * S
        step = saved
        while t + STEP_NS + SAVE_NS < end:
            step += 1
            made.append((t, STEP % (t, t - BEGAN_S * S, "n1", "mark", JOB, step)))
            t += STEP_NS + step * 7919 % 10_007 * 500
            # Before a planned stop, there is a save.
            if step % SAVE_EVERY == 0 or (attempt.planned and t + 2 * (STEP_NS + SAVE_NS) >= end):
                for edge, at in (("begin", t), ("end", t + SAVE_NS)):
                    made.append((at, SAVE % (at, at - BEGAN_S * S, "n1", "mark", JOB, edge, step)))
                t += SAVE_NS
                saved = step
                if attempt.planned and t + STEP_NS + SAVE_NS >= end:
                    break
    return made, step


def watched(of: List[Attempt]) -> Iterator[Tuple[int, str]]:
    for attempt in of:
        times = (attempt.number, attempt.submit_s, attempt.submit_s + 1, attempt.start_s)
        seen = [(attempt.start_s, "RUNNING", "")]
        # For a job requeued by a user, the queue watch only sees that it is pending again.
        if not attempt.planned:
            last = "COMPLETED" if attempt.number == ATTEMPTS - 1 else "NODE_FAIL"
            seen.append((attempt.end_s, last, ',"end_s":%d' % attempt.end_s))
        for at, state, end in seen:
            yield at * S, WATCH % (at * S, (at - BEGAN_S) * S, JOB, state, *times, end, NODES, NODES * 8, NODE_LIST)


def template(kind: str, rest: str, node: str) -> str:
    """A record in which only t and m are missing."""
    return HEAD.replace("%s", node, 1).replace("%s", kind, 1).replace('"job":%d', '"job":%d' % JOB) + rest + "}\n"


class Templates:
    def __init__(self, node: str, rank: int) -> None:
        step = '"slurm_step":"0","restart":%d,"job_start":%d'
        task = step + ',"task":%d,"local_task":0,"pid":4242' % rank
        self.begin = "".join((template("job_prolog", '"restart":%d,"job_start":%d,"gpus":8' + OPT, node),
                              template("step_start", step + ',"nnodes":%d,"ntasks":%d,"local_tasks":1,"gpus":8' % (NODES, NODES) + OPT,
                                       node),
                              template("task_start", task, node)))
        self.end = "".join((template("task_exit", task + "%s", node), template("step_end", step, node),
                            template("job_epilog", '"restart":%d,"job_start":%d,"gpus":8', node)))

    def texts(self, attempt: Attempt, rank: int) -> Iterator[Tuple[int, str]]:
        """The records of a node at the begin and the end of an attempt."""
        late = rank * 1_009_001 % 2_000_000_000  # no two nodes at the same time
        who = (attempt.number, attempt.start_s)
        values: List[object] = []
        for after in (0, PROGRAM_S - 4, PROGRAM_S - 2):
            t = (attempt.start_s + after) * S + late
            values += [t, t - BEGAN_S * S, *who]
        yield attempt.start_s, self.begin % tuple(values)
        code = ',"exit_code":0' if attempt.number == ATTEMPTS - 1 else ',"exit_code":85' if attempt.planned else ',"signal":9'
        values = []
        for after in (0, 1, 4):
            # The last one ends with the job.
            t = (attempt.end_s + after) * S - S + late // 4
            values += [t, t - BEGAN_S * S, *who, *([code] if after == 0 else [])]
        yield attempt.end_s, self.end % tuple(values)


def write(root: str) -> Tuple[int, int, int]:
    """The numbers of records, files and kept steps."""
    all_attempts = attempts()
    rank0, kept = marks(all_attempts)
    records, files = len(rank0), 0
    names: Dict[int, str] = {}

    def keep(node: str, texts: List[Tuple[int, str]]) -> int:
        folder = os.path.join(root, node)
        os.makedirs(folder, 0o700)
        hours: Dict[int, List[str]] = {}
        for second, text in texts:
            hours.setdefault(second // 3600, []).append(text)
        for hour, parts in hours.items():
            if hour not in names:
                names[hour] = time.strftime("/boot.%Y%m%d%HZ.jsonl", time.gmtime(hour * 3600))
            fd = os.open(folder + names[hour], os.O_WRONLY | os.O_CREAT, 0o600)
            os.write(fd, "".join(parts).encode())
            os.close(fd)
        return len(hours)

    for rank in range(NODES):
        templates = Templates("n%d" % (rank + 1), rank)
        texts = [text for attempt in all_attempts for text in templates.texts(attempt, rank)]
        records += len(texts) * 3
        if rank == 0:
            texts = sorted(texts + [(t // S, text) for t, text in rank0], key=lambda one: one[0])
        files += keep("n%d" % (rank + 1), texts)
    seen = [(t // S, text) for t, text in watched(all_attempts)]
    return records + len(seen), files + keep("@controller", seen), kept


def measure() -> List[Tuple]:
    # Writing a million small files takes a third of a minute in memory, and minutes on a disk.
    memory = "/dev/shm"
    roomy = os.path.isdir(memory) and shutil.disk_usage(memory).free > 12 * 10**9
    folders = [tempfile.mkdtemp(prefix="goodput-bench-", dir=place) for place in (None, memory if roomy else None)]
    try:
        bench = Bench(folders[0], spool=os.path.join(folders[1], "spool"))
        # In another process, because a parent's memory would count as that of its children.
        written = subprocess.check_output([sys.executable, os.path.abspath(__file__), bench.root])
        records, files, kept = (int(word) for word in written.split())
        ingested, ingest_kib = run([SGOODPUT, "ingest", *bench.common])
        out = os.path.join(folders[0], "out")
        reported, show_kib = run([SGOODPUT, "show", *bench.common, "--no-refresh", "--json", "--run", RUN], out)
        with open(out) as file:
            job = json.load(file)["jobs"][0]
        stops, steps = job["interruptions"], job["steps"]
        if (len(stops), sum(stop["planned"] for stop in stops), steps["kept"]) != (ATTEMPTS - 1, PLANNED, kept):
            raise RuntimeError("%d interruptions, %d planned, %d steps kept of %d" %
                               (len(stops), sum(stop["planned"] for stop in stops), steps["kept"], kept))
        took = ingested + reported
        return [("%d GPUs, %d days, %d interruptions: ingest and report" % (NODES * 8, DAYS, len(stops)), "%.1f s" % took,
                 "bar %d s" % BAR_S, took <= BAR_S),
                ("of that ingest: %d events in %d files" % (records, files), "%.1f s (%d KiB)" % (ingested, ingest_kib)),
                ("the same, events a second", "%.0f /s" % (records / ingested)),
                ("of that report: %d steps, %d of them kept" % (steps["count"], steps["kept"]),
                 "%.1f s (%d KiB)" % (reported, show_kib)),
                ("database", "%.2f GB" % (size_of(bench.db) / 1e9))]
    finally:
        for folder in folders:
            shutil.rmtree(folder)


if __name__ == "__main__":
    print(*write(sys.argv[1]))
