"""Checkpoint files that are either complete or not there, in one of these layouts:

plain     DIR/step-00000042.json, written beside it and renamed
megatron  DIR/iter_0000042/, then its number in DIR/latest_checkpointed_iteration.txt, as Megatron-LM does it
"""

import json
import os
import re
import time
from typing import Dict, Optional, Tuple

_NAME = re.compile(r"step-(\d{8})\.json$")


_TRACKER = "latest_checkpointed_iteration.txt"
LAYOUTS = ("plain", "megatron")


def save(folder: str, step: int, state: Dict, extra_seconds: float = 0.0, layout: str = "plain") -> None:
    """A kill at any moment leaves the last one whole."""
    text = json.dumps({"step": step, "state": state}).encode()
    if layout == "megatron":
        made = os.path.join(folder, "iter_%07d" % step)
        os.makedirs(made, exist_ok=True)
        _write_slowly(os.path.join(made, "model_optim_rng.pt"), text, extra_seconds)
        with open(os.path.join(folder, _TRACKER), "w") as file:
            file.write(str(step))
        return
    final = os.path.join(folder, "step-%08d.json" % step)
    _write_slowly(final + ".tmp", text, extra_seconds)
    os.rename(final + ".tmp", final)


def _write_slowly(path: str, text: bytes, extra_seconds: float) -> None:
    """Half the file, the extra time, the other half, fsync."""
    with open(path, "wb") as file:
        file.write(text[:len(text) // 2])
        file.flush()
        time.sleep(extra_seconds)
        file.write(text[len(text) // 2:])
        file.flush()
        os.fsync(file.fileno())


def latest(folder: str, layout: str = "plain") -> Optional[Tuple[int, Dict]]:
    """(step, state) of the newest complete checkpoint."""
    if layout == "megatron":
        try:
            with open(os.path.join(folder, _TRACKER)) as file:
                step = int(file.read())
        except FileNotFoundError:
            return None
        with open(os.path.join(folder, "iter_%07d" % step, "model_optim_rng.pt")) as file:
            data = json.load(file)
        return data["step"], data["state"]
    steps = sorted(int(match.group(1)) for match in map(_NAME.match, os.listdir(folder)) if match)
    if not steps:
        return None
    with open(os.path.join(folder, "step-%08d.json" % steps[-1])) as file:
        data = json.load(file)
    return data["step"], data["state"]
