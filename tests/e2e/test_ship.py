#!/usr/bin/python3
"""From the nodes to the controller, by the real programs: what was recorded arrives once, whatever is done to them.

    GOODPUT_BUILD=build python3 -m unittest -v tests.e2e.test_ship

GOODPUT_SEED repeats a run's choices. Needs root, for mounts of its own; no Slurm. `make soak` does the same for an hour.
"""

import multiprocessing
import os
import random
import unittest

from tests.soak import ship

SEED = int(os.environ.get("GOODPUT_SEED", random.SystemRandom().randrange(1 << 31)))
MINUTES = 0.6


def in_own_mounts(seed: int, answer: "multiprocessing.Queue[str]") -> None:
    try:
        ship.own_mounts()
        answer.put("passed: " + ship.soak(MINUTES, seed))
    except BaseException as error:  # whatever it is, the test is to say it
        answer.put("%s: %s" % (type(error).__name__, error))


class ShipTest(unittest.TestCase):
    def test_every_event_of_four_nodes_arrives_once_whatever_is_done_to_them(self) -> None:
        print("seed %d" % SEED, flush=True)
        answer: "multiprocessing.Queue[str]" = multiprocessing.Queue()
        child = multiprocessing.Process(target=in_own_mounts, args=(SEED, answer))
        child.start()
        said = answer.get(timeout=600)
        child.join(60)
        self.assertTrue(said.startswith("passed: "), said)
        print(said, flush=True)


if __name__ == "__main__":
    unittest.main()
