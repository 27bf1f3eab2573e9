"""What is wrong now, of 10,000 running jobs: processor time of `sgoodput now`, and how often the page's answer is computed.

The reader spends at most a twentieth of a processor on it (tools/reader/answer_cache.h): 20 times as long an answer is kept.
"""

import os
import sys
import tempfile
from typing import List

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)

from tests.bench.fleet_database import TRIES, Line, sgoodput  # noqa: E402
from tests.e2e.harness.fleet_clusters import running_jobs  # noqa: E402

RUNNING = 10000
LEAST_S = 5
SHARE = 20


def used_s(*args: str) -> float:
    before = os.times()
    sgoodput(*args)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measure() -> List[Line]:
    with tempfile.TemporaryDirectory() as folder:
        cluster = running_jobs(folder, RUNNING)
        used = min(used_s("now", "-a", "--no-refresh", "--config", cluster.conf, "--db", cluster.db) for _ in range(TRIES))
    every_s = max(LEAST_S, SHARE * used)
    return [("now, of %d running jobs: %.2f s of a processor; the page's is computed every" % (RUNNING, used), "%.1f s" % every_s,
             "5 s", every_s <= LEAST_S)]
