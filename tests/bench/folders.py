"""The shared spool of 4,000 nodes with 24 files each: first ingest, a second one, and one after each node added a record."""

import os
import shutil
import subprocess
import tempfile
from typing import List, Tuple

from imports import SGOODPUT

BUILD = os.environ.get("GOODPUT_BUILD", os.path.join(os.path.dirname(SGOODPUT), "..", ".."))
MANY_FOLDERS = os.path.join(BUILD, "tests", "bench", "many_folders")
FOLDERS, FILES = 4000, 24
# The controller ingests every second, and should finish within that time.
BAR_S = 1.0


def measure() -> List[Tuple]:
    folder = tempfile.mkdtemp(prefix="goodput-bench-")
    try:
        shared = os.path.join(folder, "shared")
        os.mkdir(shared, 0o700)
        words = [MANY_FOLDERS, shared, os.path.join(folder, "goodput.db"), str(FOLDERS), str(FILES)]
        first, same, grown, anew = (float(word) for word in subprocess.check_output(words, universal_newlines=True).split())
        files = FOLDERS * FILES
        return [("%d folders, %d files of two events: taken in" % (FOLDERS, files), "%.2f s, %.0f files/s" % (first, files / first)),
                ("nothing new", "%.0f ms" % (same * 1000), "bar %.0f ms" % (BAR_S * 1000), same <= BAR_S),
                ("one event more of each node", "%.0f ms" % (grown * 1000), "bar %.0f ms" % (BAR_S * 1000), grown <= BAR_S),
                ("nothing new, for a process that has not looked before", "%.2f s" % anew)]
    finally:
        shutil.rmtree(folder)
