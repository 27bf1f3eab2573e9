#!/usr/bin/python3
"""One rank of a synchronous training: `ranks.py FOLDER [print]`, started by srun, with PYTHONPATH set to the folder of goodput.py.

The last rank needs longer for its input. All ranks meet in each step, through files in the folder. Each writes the times before
and after it marked the begin of a step; with `print` it sends no marks, but prints as torchtitan does that the step before is done.
"""

import os
import sys
import time

import goodput

STEPS = 12


def meet(folder: str, what: str, ranks: int) -> None:
    for rank in range(ranks):
        while not os.path.exists(os.path.join(folder, "%s-%d" % (what, rank))):
            time.sleep(0.001)


def say_done(step: int) -> None:
    now = time.time_ns() // 1_000_000
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now // 1000))
    print("[titan] %s,%03d - root - INFO - step: %2d  loss:  7.12345  memory: 30.00GiB(38.00%%)" % (stamp, now % 1000, step), flush=True)


def main(folder: str, prints: bool) -> None:
    rank, ranks = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    with open(os.path.join(folder, "node-%d" % rank), "w") as node:
        node.write(os.environ["SLURMD_NODENAME"])
    with open(os.path.join(folder, "log-%d" % rank), "w") as log:
        for step in range(1, STEPS + 1):
            time.sleep(0.35 if rank == ranks - 1 else 0.05)
            before = time.time_ns()
            if not prints:
                goodput.step(step)
            elif step > 1:
                say_done(step - 1)
            log.write("%d %d %d\n" % (step, before, time.time_ns()))
            with open(os.path.join(folder, "step%d-%d" % (step, rank)), "w"):
                pass
            meet(folder, "step%d" % step, ranks)
            time.sleep(0.1)
        if prints:
            say_done(STEPS)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] == ["print"])
