#!/usr/bin/python3
"""Runs unittest and prints the slowest tests at the end: python3 tests/timed.py [-v] MODULE_OR_TEST ...

A class's set-up counts as a test of its own. tests/suites.py reads the lines "took 12.3 s NAME".
"""

import sys
import time
import unittest
from typing import Any, List, Tuple

MOST = 10


class TimedResult(unittest.TextTestResult):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.took: List[Tuple[float, str]] = []
        self.since = time.monotonic()

    def startTest(self, test: unittest.TestCase) -> None:  # pylint: disable=invalid-name
        self.note("%s (set-up)" % unittest.util.strclass(test.__class__))
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:  # pylint: disable=invalid-name
        super().stopTest(test)
        self.note(test.id())

    def note(self, name: str) -> None:
        now = time.monotonic()
        self.took.append((now - self.since, name))
        self.since = now


class TimedRunner(unittest.TextTestRunner):
    resultclass = TimedResult

    def run(self, test: Any) -> Any:
        result = super().run(test)
        for seconds, name in sorted(result.took, reverse=True)[:MOST]:
            self.stream.writeln("took %.1f s %s" % (seconds, name))
        return result


if __name__ == "__main__":
    sys.path.insert(0, "")
    unittest.main(module=None, testRunner=TimedRunner)
