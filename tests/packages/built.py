"""Builds the packages under test once."""

import functools
import os
import re
import shutil
import subprocess
import unittest
from typing import Tuple

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The results of tests/packages/build; PLACE/source is the unpacked and built tarball.
PLACE = os.path.join(TOP, "out", "packages")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


@functools.lru_cache()
def build() -> None:
    missing = [program for program in ("dpkg-buildpackage", "dh", "lintian", "rpmbuild", "rpmlint") if shutil.which(program) is None]
    if missing:
        raise unittest.SkipTest("%s: not here (tools/deps test)" % " ".join(missing))
    done = subprocess.run([os.path.join(TOP, "tests/packages/build"), PLACE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError("the packages were not built\n" + done.stdout)


def version() -> str:
    """The version of the sources."""
    with open(os.path.join(TOP, "configure.ac")) as text:
        found = re.search(r"AC_INIT\(\[slurm-goodput\], \[([^]]+)\]", text.read())
    assert found is not None
    return found.group(1)


def slurm_release() -> Tuple[int, int]:
    """The release (major.minor) of the Slurm that the packages are built against."""
    with open(os.path.join(PLACE, "source", "build-deb", "config.h")) as header:
        found = re.search(r'GOODPUT_SLURM_RELEASE "(\d+)\.(\d+)"', header.read())
    assert found is not None
    return int(found.group(1)), int(found.group(2))
