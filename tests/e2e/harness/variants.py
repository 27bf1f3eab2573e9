"""Which variants of a scenario run: `tests/run` runs one of those that differ only in Slurm's configuration, or in the framework that
trains, where the others never found anything else. `tests/run --all` and `--slurm` (GOODPUT_EVERY_VARIANT=1) run every one."""

import os

EVERY_VARIANT = os.environ.get("GOODPUT_EVERY_VARIANT") == "1"
