"""DIR/global_step42/, then "global_step42" in DIR/latest.

DeepSpeed: runtime/engine.py (save_checkpoint, _save_zero_checkpoint).
"""

import os
from typing import Dict, Optional, Tuple

from . import files


def save(folder: str, step: int, state: Dict, extra_seconds: float) -> None:
    tag = "global_step%d" % step
    made = os.path.join(folder, tag)
    os.makedirs(made, exist_ok=True)
    files.write(os.path.join(made, "mp_rank_00_model_states.pt"), files.torch_file(step, state), extra_seconds / 2)
    files.write(os.path.join(made, "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt"), b"tensor" * 100, extra_seconds / 2)
    files.write_text(os.path.join(folder, "latest"), tag)


def latest(folder: str) -> Optional[Tuple[int, Dict]]:
    try:
        with open(os.path.join(folder, "latest")) as file:
            tag = file.read().strip()
    except FileNotFoundError:
        return None
    return files.read_torch_file(os.path.join(folder, tag, "mp_rank_00_model_states.pt"))
