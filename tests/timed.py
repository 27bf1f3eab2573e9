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

    # At once: a suite that is killed has said why its tests failed.
    def addError(self, test: unittest.TestCase, err: Any) -> None:  # pylint: disable=invalid-name
        super().addError(test, err)
        self.show(self.errors)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:  # pylint: disable=invalid-name
        super().addFailure(test, err)
        self.show(self.failures)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: Any) -> None:  # pylint: disable=invalid-name
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.show(self.failures if issubclass(err[0], test.failureException) else self.errors)

    def show(self, problems: List[Tuple[unittest.TestCase, str]]) -> None:
        test, told = problems[-1]
        self.stream.writeln("%s\n%s" % (self.getDescription(test), told))
        self.stream.flush()

    def printErrors(self) -> None:  # pylint: disable=invalid-name
        for flavour, problems in (("ERROR", self.errors), ("FAIL", self.failures)):
            for test, _ in problems:
                self.stream.writeln("%s: %s" % (flavour, self.getDescription(test)))

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
