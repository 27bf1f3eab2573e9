"""A launch with the plugin, compared with one without and one with an empty plugin: 50 rounds in random order.

Three private clusters of four nodes run side by side, identical but for plugstack.conf. A round runs `srun -N4 -n32 true`
once on each, in random order, each on a quiet machine: a cluster's nodes are idle again before the next begins. The
differences within rounds are compared; single slow launches do not affect their median.
"""

import random
import statistics
import time
from typing import Dict, List, Tuple

from cluster import Cluster
from plugins import NOTHING, OURS

ROUNDS = 50
BAR = 0.01
SRUN = ["srun", "-N4", "-n32", "true"]


def _idle(cluster: Cluster) -> None:
    while set(cluster.run(["sinfo", "-h", "-p", "a3mega", "-o", "%T"]).stdout.split()) != {"idle"}:
        time.sleep(0.02)


def _timed(cluster: Cluster) -> float:
    begin = time.monotonic()
    cluster.run(SRUN)
    took = time.monotonic() - begin
    _idle(cluster)
    return took


def _clusters() -> Dict[str, Cluster]:
    stacks = {"without": [], "nothing": ["optional " + NOTHING], "ours": ["optional %s spool={dir}/spool-goodput" % OURS]}
    return {name: Cluster(mode="cgroup", nodes=4, dbd=False, plugstack=stack, debug="error")
            for name, stack in stacks.items()}


def measure() -> List[Tuple]:
    clusters = _clusters()
    try:
        for cluster in clusters.values():
            cluster.start()
            for _ in range(3):
                _timed(cluster)  # the first one loads files that the others find in memory
        rounds: List[Dict[str, float]] = []
        for _ in range(ROUNDS):
            order = list(clusters)
            random.shuffle(order)
            rounds.append({name: _timed(clusters[name]) for name in order})
    finally:
        for cluster in clusters.values():
            cluster.stop()
    base = statistics.median(r["without"] for r in rounds)

    def over(name: str, peer: str) -> Tuple[float, float]:
        """The median difference as a share of the plain launch, and the half-width of its 68 % confidence interval."""
        differences = sorted(r[name] - r[peer] for r in rounds)
        middle = statistics.median(differences)
        spread = statistics.median(abs(d - middle) for d in differences) * 1.4826
        return middle / base, 1.2533 * spread / len(differences) ** 0.5 / base

    lines: List[Tuple] = [("srun -N4 -n32 true, median of %d" % ROUNDS, "%.1f ms" % (base * 1e3))]
    for what, name, peer, bar in (("ours against without", "ours", "without", BAR),
                                  ("nothing against without", "nothing", "without", None),
                                  ("ours against nothing", "ours", "nothing", None)):
        share, error = over(name, peer)
        lines.append((what, "%+.2f %% +- %.2f" % (100 * share, 100 * error),
                      "bar %+.0f %%" % (100 * bar) if bar else "", not bar or share <= bar))
    return lines
