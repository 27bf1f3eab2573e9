"""DIR/iter_0000042/, then its number in DIR/latest_checkpointed_iteration.txt.

Megatron-LM: megatron/training/checkpointing.py, save_checkpoint with --ckpt-format torch_dist.
"""

import os
from typing import Dict, Optional, Tuple

from . import files

_TRACKER = "latest_checkpointed_iteration.txt"


def save(folder: str, step: int, state: Dict, extra_seconds: float) -> None:
    made = os.path.join(folder, "iter_%07d" % step)
    os.makedirs(made, exist_ok=True)
    files.write(os.path.join(made, "common.pt"), files.torch_file(step, state))
    files.write(os.path.join(made, "__0_0.distcp"), b"tensor" * 100, extra_seconds)
    files.write(os.path.join(made, ".metadata.tmp"), b"\x80\x04metadata.")
    os.rename(os.path.join(made, ".metadata.tmp"), os.path.join(made, ".metadata"))
    files.write_text(os.path.join(made, "metadata.json"), '{"sharded_backend": "torch_dist"}')
    files.write_text(os.path.join(folder, _TRACKER), str(step))


def latest(folder: str) -> Optional[Tuple[int, Dict]]:
    try:
        with open(os.path.join(folder, _TRACKER)) as file:
            step = int(file.read())
    except FileNotFoundError:
        return None
    return files.read_torch_file(os.path.join(folder, "iter_%07d" % step, "common.pt"))
