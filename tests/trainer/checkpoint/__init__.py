"""Checkpoints as frameworks write them: the same names, in the same order, with the same last operation.

A layout is a module with two functions:
  save(folder, step, state, extra_seconds)  saves the state after `step` steps; a kill at any moment leaves the previous one intact
  latest(folder)                            (step, state) of the newest complete one, found as the framework finds it
"""

import importlib
from typing import Any, Dict, Optional, Tuple

LAYOUTS = ("plain", "megatron", "nemo", "lightning", "orbax", "dcp", "deepspeed", "hf", "composer")


def module_of(layout: str) -> Any:
    """Imported when it is used, so that jobs of a few steps begin soon."""
    return importlib.import_module("." + layout, __name__)


def save(folder: str, step: int, state: Dict, extra_seconds: float = 0.0, layout: str = "plain") -> None:
    module_of(layout).save(folder, step, state, extra_seconds)


def latest(folder: str, layout: str = "plain") -> Optional[Tuple[int, Dict]]:
    return module_of(layout).latest(folder)
