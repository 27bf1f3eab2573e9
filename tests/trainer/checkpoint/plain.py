"""DIR/step-00000042.json, written to a temporary file and renamed: not a framework's layout."""

import json
import os
import re
from typing import Dict, Optional, Tuple

from . import files

_NAME = re.compile(r"step-(\d{8})\.json$")


def save(folder: str, step: int, state: Dict, extra_seconds: float) -> None:
    final = os.path.join(folder, "step-%08d.json" % step)
    files.write(final + ".tmp", json.dumps({"step": step, "state": state}).encode(), extra_seconds)
    os.rename(final + ".tmp", final)


def latest(folder: str) -> Optional[Tuple[int, Dict]]:
    found = files.newest((int(match.group(1)), match.group()) for match in map(_NAME.match, files.names(folder)) if match)
    if found is None:
        return None
    with open(os.path.join(folder, found)) as file:
        data = json.load(file)
    return data["step"], data["state"]
