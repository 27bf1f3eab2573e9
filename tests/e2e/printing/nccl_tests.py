#!/usr/bin/python3
"""Prints output in the format of nccl-tests' all_gather_perf, from its source: nccl_tests.py BUSBW [--max BYTES].

BUSBW, in GB/s, is that of the largest message; smaller ones reach less. As in the original, task 0 prints, after a second of
setup in which all tasks meet, and before one of teardown.
"""

import argparse
import os
import shutil
import sys
import time


def meet(ranks: int) -> str:
    """Returns when all tasks of the step have come: the folder in which they met. All nodes are on this machine."""
    folder = "/tmp/nccl-tests-" + "-".join(os.environ.get("SLURM_" + name, "") for name in ("CLUSTER_NAME", "JOB_ID", "STEP_ID"))
    os.makedirs(folder, exist_ok=True)
    open(os.path.join(folder, os.environ.get("SLURM_PROCID", "0")), "w").close()
    deadline = time.monotonic() + 60
    while os.path.isdir(folder) and len(os.listdir(folder)) < ranks and time.monotonic() < deadline:
        time.sleep(0.05)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("busbw", type=float)
    parser.add_argument("--max", type=int, default=8 << 30)
    options = parser.parse_args()
    ranks = int(os.environ.get("SLURM_NTASKS", "1"))
    folder = meet(ranks)
    time.sleep(1)
    if os.environ.get("SLURM_PROCID", "0") != "0":
        time.sleep(3)
        return
    print("# nThread 1 nGpus 1 minBytes 1048576 maxBytes %d step: 2(factor) warmup iters: 5 iters: 100 agg iters: 1 validation: 1 graph: 0" % options.max)
    print("#\n#%12s  %12s  %8s  %6s  %6s  %7s  %6s  %6s %6s" % ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong"))
    size = 1 << 20
    while size <= options.max:
        busbw = options.busbw * (0.3 + 0.7 * size / options.max)
        algbw = busbw * ranks / max(1, ranks - 1)
        columns = "  %7.1f  %6.2f  %6.2f  %5g" % (size / algbw / 1000, algbw, busbw, 0)
        print("%12i  %12i  %8s  %6s  %6i%s%s" % (size, size // 4 // ranks, "float", "none", -1, columns, columns))
        sys.stdout.flush()
        size *= 2
    time.sleep(3)
    shutil.rmtree(folder, ignore_errors=True)
    print("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %g \n#" % (options.busbw / 2))


main()
