"""checkpoints/41.orbax-checkpoint-tmp/, renamed to checkpoints/41/ when complete. The label is counted from 0, as in MaxText.

Orbax: checkpoint/_src/path/atomicity.py (AtomicRenameTemporaryPath), _src/metadata/checkpoint.py; MaxText:
common/checkpointing.py (save_checkpoint after step `step`, the item "items").
"""

import json
import os
import re
import shutil
import time
from typing import Dict, Optional, Tuple

from . import files

BELOW = "checkpoints"
TEMPORARY = ".orbax-checkpoint-tmp"
_NAME = re.compile(r"(\d+)$")


def save(folder: str, step: int, state: Dict, extra_seconds: float) -> None:
    place = os.path.join(folder, BELOW)
    final = os.path.join(place, str(step - 1))
    made = final + TEMPORARY
    os.makedirs(made)
    metadata = {"item_handlers": {"items": "orbax.checkpoint"}, "init_timestamp_nsecs": time.time_ns(),
                "commit_timestamp_nsecs": None}
    files.write_text(os.path.join(made, "_CHECKPOINT_METADATA"), json.dumps(metadata))
    items = os.path.join(made, "items")
    os.makedirs(os.path.join(items, "ocdbt.process_0", "d"))
    files.write(os.path.join(items, "_METADATA"), json.dumps({"step": step, "state": state}).encode())
    files.write(os.path.join(items, "ocdbt.process_0", "d", "8f2c"), b"tensor" * 100, extra_seconds)
    files.write(os.path.join(items, "manifest.ocdbt"), b"manifest")
    metadata["commit_timestamp_nsecs"] = time.time_ns()
    files.write_text(os.path.join(made, "_CHECKPOINT_METADATA"), json.dumps(metadata))
    files.write_text(os.path.join(made, "commit_success.txt"), "Checkpoint commit was successful to " + final)
    os.rename(made, final)


def latest(folder: str) -> Optional[Tuple[int, Dict]]:
    place = os.path.join(folder, BELOW)
    for name in [entry for entry in files.names(place) if TEMPORARY in entry] if files.cleans_up() else []:
        shutil.rmtree(os.path.join(place, name))
    found = files.newest((int(match.group(1)), match.group()) for match in map(_NAME.match, files.names(place)) if match)
    if found is None:
        return None
    with open(os.path.join(place, found, "items", "_METADATA")) as file:
        data = json.load(file)
    return data["step"], data["state"]
