"""DIR/ep0-ba42-rank0.pt, written in place, then DIR/latest-rank0.pt, a link to it.

Composer: callbacks/checkpoint_saver.py (_save_checkpoint), utils/checkpoint.py (_write_checkpoint_file).
"""

import os
from typing import Dict, Optional, Tuple

from . import files


def save(folder: str, step: int, state: Dict, extra_seconds: float) -> None:
    name = "ep%d-ba%d-rank0.pt" % ((step - 1) // 50, step)
    files.write(os.path.join(folder, name), files.torch_file(step, state), extra_seconds)
    link = os.path.join(folder, "latest-rank0.pt")
    try:
        os.remove(link)
    except FileNotFoundError:
        pass
    os.symlink(name, link)


def latest(folder: str) -> Optional[Tuple[int, Dict]]:
    try:
        return files.read_torch_file(os.path.join(folder, "latest-rank0.pt"))
    except FileNotFoundError:
        return None
