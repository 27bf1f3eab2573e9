"""The output of training frameworks: the same text, numbers, times and order, for our own training run.

Each module names the sources it follows. The trainer counts steps from 1; a framework prints its own number.
"""

from . import composer, deepspeed, hf, lightning, maxtext, megatron, megatron_otel, nemo, torchtitan
from .framework import Framework, Run, Say, Stream

FRAMEWORKS = {module.NAME: module.Printer for module in (megatron, megatron_otel, nemo, lightning, torchtitan, maxtext,
                                                         deepspeed, hf, composer)}

__all__ = ["FRAMEWORKS", "Framework", "Run", "Say", "Stream"]
