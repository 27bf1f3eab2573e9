"""Compares private clusters that run side by side: each round runs one command once on each of them, in random order.

Before the next command, the nodes are idle again, so that each one has a quiet machine. The differences within rounds are
compared: single slow commands do not affect their median.
"""

import random
import statistics
import time
from typing import Dict, List, Optional, Sequence, Tuple

from cluster import Cluster

Rounds = List[Dict[str, float]]  # seconds by cluster


def _idle(cluster: Cluster) -> None:
    while set(cluster.run(["sinfo", "-h", "-p", "a3mega", "-o", "%T"]).stdout.split()) != {"idle"}:
        time.sleep(0.02)


def _timed(cluster: Cluster, command: Sequence[str], user: Optional[str]) -> float:
    begin = time.monotonic()
    cluster.run(command, user)
    took = time.monotonic() - begin
    _idle(cluster)
    return took


def run(clusters: Dict[str, Cluster], command: Sequence[str], rounds: int, user: Optional[str] = None) -> Rounds:
    """Starts the clusters, and stops them at the end."""
    try:
        for cluster in clusters.values():
            cluster.start()
            for _ in range(3):
                _timed(cluster, command, user)  # the first one loads files that the others find in memory
        out: Rounds = []
        for _ in range(rounds):
            order = list(clusters)
            random.shuffle(order)
            out.append({name: _timed(clusters[name], command, user) for name in order})
        return out
    finally:
        for cluster in clusters.values():
            cluster.stop()


def median(rounds: Rounds, name: str) -> float:
    return statistics.median(one[name] for one in rounds)


def over(rounds: Rounds, name: str, peer: str) -> Tuple[float, float]:
    """The median difference in seconds, and the half-width of its 68 % confidence interval."""
    differences = sorted(one[name] - one[peer] for one in rounds)
    middle = statistics.median(differences)
    spread = statistics.median(abs(d - middle) for d in differences) * 1.4826
    return middle, 1.2533 * spread / len(differences) ** 0.5
