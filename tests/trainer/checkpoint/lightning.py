"""lightning_logs/version_0/checkpoints/epoch=0-step=42.ckpt, written to a temporary folder and moved: renamed on the same
file system, otherwise copied. Then the same as last.ckpt.

PyTorch Lightning: pytorch/callbacks/model_checkpoint.py, fabric/utilities/cloud_io.py (_atomic_save, a transaction of
fsspec's local files: implementations/local.py, LocalFileOpener.commit).
"""

import os
import re
import shutil
import tempfile
from typing import Dict, Optional, Tuple

from . import files

BELOW = os.path.join("lightning_logs", "version_0", "checkpoints")
_NAME = re.compile(r"epoch=\d+-step=(\d+)\.ckpt$")


def save(folder: str, step: int, state: Dict, extra_seconds: float) -> None:
    place = os.path.join(folder, BELOW)
    os.makedirs(place, exist_ok=True)
    for name in ("epoch=%d-step=%d.ckpt" % ((step - 1) // 50, step), "last.ckpt"):
        handle, temporary = tempfile.mkstemp(dir=folder if name == "last.ckpt" else None)
        os.close(handle)
        files.write(temporary, files.torch_file(step, state), extra_seconds if name != "last.ckpt" else 0)
        shutil.move(temporary, os.path.join(place, name))


def latest(folder: str) -> Optional[Tuple[int, Dict]]:
    place = os.path.join(folder, BELOW)
    found = sorted((int(match.group(1)), match.group()) for match in map(_NAME.match, files.names(place)) if match)
    for _, name in reversed(found):
        try:
            return files.read_torch_file(os.path.join(place, name))
        except Exception:  # interrupted while being copied
            continue
    return None
