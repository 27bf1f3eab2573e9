"""The plugins compared: ours, and one that has every hook and does nothing."""

import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from typing import Dict, Iterator

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "tests", "cluster"), os.path.join(TOP, "tests", "e2e", "harness")]
from reach import reachable  # noqa: E402

BUILD = os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"))
OURS = reachable(os.path.join(BUILD, "spank", ".libs", "spank_goodput.so"))
NOTHING = reachable(os.path.join(BUILD, "tests", "spank", ".libs", "other_plugin.so"))
HOOK_COST = os.path.join(BUILD, "tests", "bench", "hook_cost")


@contextmanager
def spool() -> Iterator[str]:
    """A folder of its own on a local disk, as the plugin wants it."""
    folder = tempfile.mkdtemp(prefix="goodput-bench-", dir="/var/tmp")
    try:
        yield os.path.join(folder, "spool")
    finally:
        shutil.rmtree(folder)


def parse(output: str) -> Dict[str, float]:
    """hook_cost's lines: the median of each hook in microseconds."""
    return {line.split()[0]: float(line.split()[1]) for line in output.splitlines()}
