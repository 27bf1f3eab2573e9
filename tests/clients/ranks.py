#!/usr/bin/python3
"""One rank of a synchronous training: `ranks.py FOLDER`, started by srun, with PYTHONPATH set to the folder of goodput.py.

The last rank needs longer for its input. All ranks meet in each step, through files in the folder. Each writes when it marked the
begins of its steps.
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


def main(folder: str) -> None:
    rank, ranks = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    with open(os.path.join(folder, "node-%d" % rank), "w") as node:
        node.write(os.environ["SLURMD_NODENAME"])
    with open(os.path.join(folder, "log-%d" % rank), "w") as log:
        for step in range(1, STEPS + 1):
            time.sleep(0.35 if rank == ranks - 1 else 0.05)
            goodput.step(step)
            log.write("%d %d\n" % (step, time.time_ns()))
            with open(os.path.join(folder, "step%d-%d" % (step, rank)), "w"):
                pass
            meet(folder, "step%d" % step, ranks)
            time.sleep(0.1)


if __name__ == "__main__":
    main(sys.argv[1])
