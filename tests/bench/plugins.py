"""The plugins to compare: ours, and one with every hook that does nothing."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import Dict, Iterator

from reach import reachable

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

BUILD = os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"))
OURS = reachable(os.path.join(BUILD, "spank", ".libs", "spank_goodput.so"))
NOTHING = reachable(os.path.join(BUILD, "tests", "spank", ".libs", "other_plugin.so"))
HOOK_COST = os.path.join(BUILD, "tests", "bench", "hook_cost")


@contextmanager
def spool() -> Iterator[str]:
    """A separate folder on a local disk, as the plugin requires."""
    folder = tempfile.mkdtemp(prefix="goodput-bench-", dir="/var/tmp")
    try:
        yield os.path.join(folder, "spool")
    finally:
        shutil.rmtree(folder)


def parse(output: str) -> Dict[str, float]:
    """hook_cost's lines: the median of each hook in microseconds."""
    return {line.split()[0]: float(line.split()[1]) for line in output.splitlines()}
