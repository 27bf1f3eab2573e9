#!/usr/bin/python3
"""Runs end-to-end suites on a sanitized build: tests/sanitize/e2e.py BUILD SUITE...   (as unittest names them)

Reports of sanitizers about any process go to BUILD/reports and fail the run. Leaks are not checked, since libslurm has
some; the unit tests check for them.
"""

import glob
import os
import shutil
import sys
import unittest
from typing import Dict, List

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [TOP, os.path.join(TOP, "tests", "cluster")]
from cluster import Cluster  # noqa: E402


def sanitizer_env(reports: str) -> Dict[str, str]:
    to = "log_path=" + os.path.join(reports, "report")
    return {"ASAN_OPTIONS": "detect_leaks=0:" + to, "TSAN_OPTIONS": to, "UBSAN_OPTIONS": "print_stacktrace=1:" + to}


def give_to_every_process(more: Dict[str, str]) -> None:
    make, env = Cluster.__init__, Cluster.env

    def __init__(self: Cluster, *args: object, **kwargs: object) -> None:
        make(self, *args, **kwargs)
        self.daemon_env = {**self.daemon_env, **more}
    Cluster.__init__ = __init__
    Cluster.env = lambda self, user="root": {**env(self, user), **more}


def main(build: str, names: List[str]) -> int:
    build = os.path.abspath(build)
    reports = os.path.join(build, "reports")
    shutil.rmtree(reports, ignore_errors=True)
    os.makedirs(reports)
    os.chmod(reports, 0o777)  # jobs of ordinary users write reports, too
    os.environ["GOODPUT_BUILD"] = build
    give_to_every_process(sanitizer_env(reports))
    outcome = unittest.main(module=None, argv=["e2e", "-v"] + names, exit=False).result
    found = sorted(glob.glob(os.path.join(reports, "*")))
    for path in found:
        with open(path, errors="replace") as text:
            print("%s:\n%s" % (path, text.read(20000)))
    print("%d reports" % len(found))
    return 0 if outcome.wasSuccessful() and not found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
