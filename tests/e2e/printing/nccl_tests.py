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
from typing import List


def meet(ranks: int) -> str:
    """Returns when all tasks of the step have come: the folder in which they met, with a file for each that has its host's name.

    All nodes are on this machine: Slurm's name of a node stands for the host's.
    """
    folder = "/tmp/nccl-tests-" + "-".join(os.environ.get("SLURM_" + name, "") for name in ("CLUSTER_NAME", "JOB_ID", "STEP_ID"))
    os.makedirs(folder, exist_ok=True)
    mine = os.path.join(folder, os.environ.get("SLURM_PROCID", "0"))
    with open(mine + ".new", "w") as file:
        file.write(os.environ.get("SLURMD_NODENAME", "localhost"))
    os.rename(mine + ".new", mine)
    deadline = time.monotonic() + 60
    while os.path.isdir(folder) and len(met(folder)) < ranks and time.monotonic() < deadline:
        time.sleep(0.05)
    return folder


def met(folder: str) -> List[str]:
    return sorted((name for name in os.listdir(folder) if name.isdigit()), key=int)


def print_devices(folder: str) -> None:
    print("# Using devices")
    for rank in met(folder):
        with open(os.path.join(folder, rank)) as file:
            print("#  Rank %2s Group  0 Pid %6d on %10s device %2d [0000:%02x:00] NVIDIA H100 80GB HBM3" % (
                rank, os.getpid(), file.read(), 0, 0x1b))


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
    print("#")
    print_devices(folder)
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
