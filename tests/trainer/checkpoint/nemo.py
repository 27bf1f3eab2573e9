"""EXP/VERSION/checkpoints/NAME-step=41-consumed_samples=1344.0/, with NAME...-unfinished next to it while it is written, and
NAME...-last, a link to the newest. The step in the name is counted from 0: it was logged before it was done.

NeMo 2: nemo/lightning/pytorch/callbacks/model_checkpoint.py (_save_checkpoint, set_checkpoint_unfinished_marker,
_link_checkpoint, _remove_unfinished_checkpoints), nemo/lightning/io/pl.py, nemo/collections/llm/recipes/log/default.py.
"""

import os
import re
import shutil
from typing import Dict, Optional, Tuple

from . import files

BELOW = os.path.join("default", "2026-08-22_10-00-00", "checkpoints")
_NAME = re.compile(r".*-step=(\d+)-consumed_samples=[\d.]+$")


def name(step: int) -> str:
    return "model_name=0--val_loss=0.00-step=%d-consumed_samples=%.1f" % (step - 1, step * 32)


def save(folder: str, step: int, state: Dict, extra_seconds: float) -> None:
    place = os.path.join(folder, BELOW)
    os.makedirs(place, exist_ok=True)
    made = os.path.join(place, name(step))
    open(made + "-unfinished", "w").close()
    weights = os.path.join(made, "weights")
    os.makedirs(weights, exist_ok=True)
    files.write(os.path.join(weights, "common.pt"), files.torch_file(step, state))
    files.write(os.path.join(weights, "__0_0.distcp"), b"tensor" * 100, extra_seconds)
    files.write(os.path.join(weights, ".metadata.tmp"), b"\x80\x04metadata.")
    os.rename(os.path.join(weights, ".metadata.tmp"), os.path.join(weights, ".metadata"))
    files.write_text(os.path.join(weights, "metadata.json"), '{"sharded_backend": "torch_dist"}')
    os.makedirs(os.path.join(made, "context"), exist_ok=True)
    files.write_text(os.path.join(made, "context", "io.json"), "{}")
    files.write_text(os.path.join(made, "context", "model.yaml"), "_target_: model\n")
    os.remove(made + "-unfinished")
    for last in [entry for entry in files.names(place) if entry.endswith("-last")]:
        os.remove(os.path.join(place, last))
    os.symlink(name(step), made + "-last")


def latest(folder: str) -> Optional[Tuple[int, Dict]]:
    place = os.path.join(folder, BELOW)
    unfinished = [entry for entry in files.names(place) if entry.endswith("-unfinished")]
    for marker in unfinished if files.cleans_up() else []:
        shutil.rmtree(os.path.join(place, marker[:-len("-unfinished")]), ignore_errors=True)
        os.remove(os.path.join(place, marker))
    found = files.newest((int(match.group(1)), match.group()) for match in map(_NAME.match, files.names(place))
                         if match and match.group() + "-unfinished" not in unfinished)
    return None if found is None else files.read_torch_file(os.path.join(place, found, "weights", "common.pt"))
