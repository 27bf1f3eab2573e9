"""What tests/mutants needs in the environment of every program."""

import os

FAULTS = {name: value for name, value in os.environ.items() if name.startswith("GOODPUT_FAULT")}
