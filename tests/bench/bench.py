#!/usr/bin/python3
"""Measures everything for which the design sets limits, as ratios to a reference in the same run, and prints a table.

    make bench                        everything but fleet, which takes long
    make bench BENCH="hooks launch"   these

A missed limit is marked but not a failure: the exit status is 0 if everything could be measured. Needs root; launch needs
Debian's Slurm packages, instructions needs valgrind.
"""

import importlib
import os
import sys
from typing import List, NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(TESTS, "cluster"), os.path.join(TESTS, "e2e", "harness")]

EVERY = ("containers", "daemon", "fleet_database", "folders", "follow", "hooks", "imports", "instructions", "large_run", "launch", "listing", "marks", "now", "queue", "spool", "steady")
LONG = ("fleet",)


class Line(NamedTuple):
    what: str
    value: str
    bar: str = ""
    met: bool = True


def table(lines: List[Line]) -> str:
    wide = max(len(line.what) for line in lines)
    return "\n".join("%-*s  %18s  %s" % (wide, line.what, line.value,
                                         line.bar + ("" if line.met else "  <-- missed") if line.bar else "")
                     for line in lines)


def main(names: List[str]) -> int:
    unknown = [name for name in names if name not in EVERY + LONG]
    if unknown:
        print("bench: there is no bench %s; there are: %s" % (" ".join(unknown), " ".join(EVERY + LONG)), file=sys.stderr)
        return 2
    for name in names or EVERY:
        module = importlib.import_module(name)
        print("\n%s: %s" % (name, (module.__doc__ or "").split("\n")[0]), flush=True)
        print(table([Line(*line) for line in module.measure()]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
