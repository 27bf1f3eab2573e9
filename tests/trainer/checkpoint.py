"""Checkpoint files that are either complete or not there: DIR/step-00000042.json."""

import json
import os
import re
import time
from typing import Dict, Optional, Tuple

_NAME = re.compile(r"step-(\d{8})\.json$")


def save(folder: str, step: int, state: Dict, extra_seconds: float = 0.0) -> None:
    """Half the file, the extra time, the other half, fsync, rename: a kill at any moment leaves the last one whole."""
    text = json.dumps({"step": step, "state": state}).encode()
    final = os.path.join(folder, "step-%08d.json" % step)
    with open(final + ".tmp", "wb") as file:
        file.write(text[:len(text) // 2])
        file.flush()
        time.sleep(extra_seconds)
        file.write(text[len(text) // 2:])
        file.flush()
        os.fsync(file.fileno())
    os.rename(final + ".tmp", final)


def latest(folder: str) -> Optional[Tuple[int, Dict]]:
    """(step, state) of the newest complete checkpoint."""
    steps = sorted(int(match.group(1)) for match in map(_NAME.match, os.listdir(folder)) if match)
    if not steps:
        return None
    with open(os.path.join(folder, "step-%08d.json" % steps[-1])) as file:
        data = json.load(file)
    return data["step"], data["state"]
