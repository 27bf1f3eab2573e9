"""checkpoint/step-42/__0_0.distcp ..., and finally checkpoint/step-42/.metadata, renamed from .metadata.tmp.

PyTorch: torch/distributed/checkpoint/filesystem.py (FileSystemWriter.finish); torchtitan: components/checkpointer/dcp.py
(_find_load_step: a folder without .metadata is not a checkpoint).
"""

import os
import re
from typing import Dict, Optional, Tuple

from . import files

BELOW = "checkpoint"
_NAME = re.compile(r"step-(\d+)$")


def save(folder: str, step: int, state: Dict, extra_seconds: float) -> None:
    made = os.path.join(folder, BELOW, "step-%d" % step)
    os.makedirs(made, exist_ok=True)
    files.write(os.path.join(made, "__0_0.distcp"), files.torch_file(step, state), extra_seconds / 2)
    files.write(os.path.join(made, "__1_0.distcp"), b"tensor" * 100, extra_seconds / 2)
    files.write(os.path.join(made, ".metadata.tmp"), b"\x80\x04metadata.")
    os.rename(os.path.join(made, ".metadata.tmp"), os.path.join(made, ".metadata"))


def latest(folder: str) -> Optional[Tuple[int, Dict]]:
    place = os.path.join(folder, BELOW)
    found = files.newest((int(match.group(1)), match.group()) for match in map(_NAME.match, files.names(place))
                         if match and os.path.isfile(os.path.join(place, match.group(), ".metadata")))
    return None if found is None else files.read_torch_file(os.path.join(place, found, "__0_0.distcp"))
