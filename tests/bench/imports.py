"""Importing a goodput log, compared with json.loads of the same lines; also its size on disk, its memory, and a report on it."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from typing import List, Tuple

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SGOODPUT = os.path.join(os.environ.get("GOODPUT_BUILD", os.path.join(TOP, "build")), "tools", "sgoodput", "sgoodput")
SIZES = (1_000, 10_000, 100_000, 1_000_000)
TRIES = 3
BAR_IMPORT, BAR_REPORT, BAR_KIB, BAR_BYTES = 0.20, 0.04, 30 * 1024, 4.5
LOADS = "import json, sys\nfor line in open(sys.argv[1]): json.loads(line)"


def write_log(path: str, steps: int, save_every: int) -> int:
    """Writes steps of 1.5 s with jitter, and a save every few steps (0: none). Returns the number of entries."""
    rng = random.Random(1)
    entries, t = 1, 1_735_000_000.0
    with open(path, "w") as file:
        file.write(json.dumps({"job_name": "bench", "job_start_time": t}) + "\n")
        for step in range(steps):
            t += 1.5 + rng.random() * 0.02
            file.write(json.dumps({"job_name": "bench", "step_count": step, "step_start_time": t}) + "\n")
            entries += 1
            if save_every and step % save_every == save_every - 1:
                file.write(json.dumps({"job_name": "bench", "event_type": "save", "step": step, "directory": "gs://bucket/run",
                                       "checkpoint_manager_blocking_start_time": t + 1.2,
                                       "checkpoint_manager_blocking_duration_secs": 0.2}) + "\n")
                entries += 1
    return entries


def run(args: List[str], out: str = os.devnull) -> Tuple[float, int]:
    """Seconds, and peak memory in KiB."""
    with open(out, "w") as file:
        began = time.monotonic()
        child = subprocess.Popen(args, stdout=file)
        _, status, usage = os.wait4(child.pid, 0)
    took = time.monotonic() - began
    child.returncode = status
    if status != 0:
        raise subprocess.CalledProcessError(status, args)
    return took, usage.ru_maxrss


def best(args: List[str], before=lambda: None) -> Tuple[float, int]:
    tries = []
    for _ in range(TRIES):
        before()
        tries.append(run(args))
    return min(took for took, _ in tries), max(kib for _, kib in tries)


def size_of(db: str) -> int:
    return sum(os.path.getsize(db + end) for end in ("", "-wal") if os.path.exists(db + end))


def measure() -> List[Tuple]:
    lines: List[Tuple] = []
    with tempfile.TemporaryDirectory(prefix="goodput-bench-") as folder:
        log, db, config = (os.path.join(folder, name) for name in ("log.jsonl", "goodput.db", "goodput.conf"))
        with open(config, "w"):
            pass

        def forget() -> None:
            for end in ("", "-wal", "-shm"):
                if os.path.exists(db + end):
                    os.unlink(db + end)

        common = ["--config", config, "--db", db]
        for save_every in (0, 100, 10):
            for steps in SIZES:
                entries = write_log(log, steps, save_every)
                loads, _ = best([sys.executable, "-c", LOADS, log])
                python, _ = best([sys.executable, "-c", "import json, sys"])
                took, kib = best([SGOODPUT, "import", *common, log], forget)
                reported, report_kib = best([SGOODPUT, "show", *common, "--no-refresh", "--run", "bench"])
                what = "%d steps%s" % (steps, ", a save in every %d" % save_every if save_every else "")
                barred = steps == SIZES[-1]
                bar = lambda text: text if barred else ""
                loads = max(loads - python, 1e-6)
                each = size_of(db) / entries
                lines += [(what + ": import / json.loads", "%.3f (%.3f s)" % (took / loads, took), bar("bar %.2f" % BAR_IMPORT),
                           took <= BAR_IMPORT * loads),
                          (what + ": report / json.loads", "%.3f (%.3f s)" % (reported / loads, reported),
                           bar("bar %.2f" % BAR_REPORT), reported <= BAR_REPORT * loads),
                          (what + ": memory", "%d, %d KiB" % (kib, report_kib), bar("bar %d KiB" % BAR_KIB),
                           max(kib, report_kib) <= BAR_KIB),
                          (what + ": on disk", "%.2f bytes an entry" % each, bar("bar %.1f" % BAR_BYTES), each <= BAR_BYTES)]
    return lines
