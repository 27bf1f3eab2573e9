"""A launch in a container by pyxis, with the plugin and without: 50 rounds in random order, as an ordinary user.

Needs enroot on PATH, pyxis' spank_pyxis.so as $GOODPUT_PYXIS, and an image in a file (.sqsh) with `true` as $GOODPUT_IMAGE.
Without these it says so.
"""

import os
from typing import List, Tuple

import rounds
from cluster import Cluster
from plugins import OURS

ROUNDS = 50


def measure() -> List[Tuple]:
    plugin, image = os.environ.get("GOODPUT_PYXIS"), os.environ.get("GOODPUT_IMAGE")
    if not plugin or not image:
        return [("not measured", "", "set GOODPUT_PYXIS and GOODPUT_IMAGE")]
    pyxis = "required %s runtime_path={dir}/pyxis execute_entrypoint=0" % plugin
    ours = "optional %s spool={dir}/spool-goodput" % OURS
    clusters = {name: Cluster(mode="cgroup", nodes=1, dbd=False, plugstack=stack, debug="error")
                for name, stack in {"without": [pyxis], "ours": [ours, pyxis]}.items()}
    measured = rounds.run(clusters, ["srun", "--container-image=" + image, "true"], ROUNDS, "nobody")
    difference, error = rounds.over(measured, "ours", "without")
    return [("srun --container-image=... true, median of %d" % ROUNDS, "%.0f ms" % (rounds.median(measured, "without") * 1e3)),
            ("ours against without", "%+.1f ms +- %.1f" % (difference * 1e3, error * 1e3))]
