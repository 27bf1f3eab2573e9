"""A launch with the plugin, compared with one without and one with an empty plugin: 50 rounds in random order.

Three private clusters of four nodes, identical but for plugstack.conf.
"""

from typing import List, Tuple

import rounds
from cluster import Cluster
from plugins import NOTHING, OURS

ROUNDS = 50
BAR = 0.01
SRUN = ["srun", "-N4", "-n32", "true"]


def measure() -> List[Tuple]:
    stacks = {"without": [], "nothing": ["optional " + NOTHING], "ours": ["optional %s spool={dir}/spool-goodput" % OURS]}
    clusters = {name: Cluster(mode="cgroup", nodes=4, dbd=False, plugstack=stack, debug="error")
                for name, stack in stacks.items()}
    measured = rounds.run(clusters, SRUN, ROUNDS)
    base = rounds.median(measured, "without")
    lines: List[Tuple] = [("srun -N4 -n32 true, median of %d" % ROUNDS, "%.1f ms" % (base * 1e3))]
    for what, name, peer, bar in (("ours against without", "ours", "without", BAR),
                                  ("nothing against without", "nothing", "without", None),
                                  ("ours against nothing", "ours", "nothing", None)):
        share, error = (part / base for part in rounds.over(measured, name, peer))
        lines.append((what, "%+.2f %% +- %.2f" % (100 * share, 100 * error),
                      "bar %+.0f %%" % (100 * bar) if bar else "", not bar or share <= bar))
    return lines
