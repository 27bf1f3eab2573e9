"""Checkpoints as frameworks write them: the same names, in the same order, with the same last operation.

A layout is a module with two functions:
  save(folder, step, state, extra_seconds)  saves the state after `step` steps; a kill at any moment leaves the previous one intact
  latest(folder)                            (step, state) of the newest complete one, found as the framework finds it
"""

from typing import Dict, Optional, Tuple

from . import composer, dcp, deepspeed, hf, lightning, megatron, nemo, orbax, plain

LAYOUTS = {"plain": plain, "megatron": megatron, "nemo": nemo, "lightning": lightning, "orbax": orbax, "dcp": dcp,
           "deepspeed": deepspeed, "hf": hf, "composer": composer}


def save(folder: str, step: int, state: Dict, extra_seconds: float = 0.0, layout: str = "plain") -> None:
    LAYOUTS[layout].save(folder, step, state, extra_seconds)


def latest(folder: str, layout: str = "plain") -> Optional[Tuple[int, Dict]]:
    return LAYOUTS[layout].latest(folder)
