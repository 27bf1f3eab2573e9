"""DIR/checkpoint-42/, its trainer_state.json last.

Hugging Face transformers: trainer.py (_save_checkpoint), trainer_callback.py (TrainerState.save_to_json).
"""

import json
import os
import re
from typing import Dict, Optional, Tuple

from . import files

_NAME = re.compile(r"checkpoint-(\d+)$")


def save(folder: str, step: int, state: Dict, extra_seconds: float) -> None:
    made = os.path.join(folder, "checkpoint-%d" % step)
    os.makedirs(made, exist_ok=True)
    files.write_text(os.path.join(made, "config.json"), "{}\n")
    files.write(os.path.join(made, "model.safetensors"), b"tensor" * 100, extra_seconds / 2)
    files.write(os.path.join(made, "training_args.bin"), b"arguments")
    files.write(os.path.join(made, "optimizer.pt"), files.torch_file(step, state), extra_seconds / 2)
    files.write(os.path.join(made, "scheduler.pt"), files.torch_file(step, {}))
    files.write(os.path.join(made, "rng_state.pth"), files.torch_file(step, {}))
    told = {"global_step": step, "log_history": [{"loss": 1.0, "step": number} for number in range(1, step + 1)]}
    files.write_text(os.path.join(made, "trainer_state.json"), json.dumps(told, indent=2, sort_keys=True) + "\n")


def latest(folder: str) -> Optional[Tuple[int, Dict]]:
    found = files.newest((int(match.group(1)), match.group()) for match in map(_NAME.match, files.names(folder))
                         if match and os.path.isfile(os.path.join(folder, match.group(), "trainer_state.json")))
    return None if found is None else files.read_torch_file(os.path.join(folder, found, "optimizer.pt"))
