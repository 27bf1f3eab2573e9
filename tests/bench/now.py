"""What is wrong now, of 10,000 running jobs: processor time of `sgoodput now`, as a share of a core if it is asked every 5 s."""

import os
import sys
import tempfile
from typing import List

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from tests.bench.fleet_database import TRIES, Line, sgoodput  # noqa: E402
from tests.e2e.harness.fleet_clusters import running_jobs  # noqa: E402

RUNNING = 10000
EVERY_S = 5


def used_s(*args: str) -> float:
    before = os.times()
    sgoodput(*args)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measure() -> List[Line]:
    with tempfile.TemporaryDirectory() as folder:
        cluster = running_jobs(folder, RUNNING)
        used = min(used_s("now", "-a", "--no-refresh", "--config", cluster.conf, "--db", cluster.db) for _ in range(TRIES))
    share = used / EVERY_S
    return [("now, of %d running jobs: %.2f s of a processor; every %d s, share of a core" % (RUNNING, used, EVERY_S), "%.1f %%" % (100 * share),
             "5 %", share <= 0.05)]
