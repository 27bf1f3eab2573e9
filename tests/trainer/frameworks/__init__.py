"""What training frameworks print: the same words, numbers, times and habits as theirs, of a training run that is ours.

Each module names the sources it follows. Steps are counted from 1 by the trainer; a framework prints its own number.
"""

from . import composer, deepspeed, hf, lightning, maxtext, megatron, nemo, torchtitan
from .framework import Framework, Run, Say, Stream

FRAMEWORKS = {module.NAME: module.Printer for module in (megatron, nemo, lightning, torchtitan, maxtext, deepspeed, hf,
                                                         composer)}

__all__ = ["FRAMEWORKS", "Framework", "Run", "Say", "Stream"]
