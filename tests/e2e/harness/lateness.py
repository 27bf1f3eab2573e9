"""How late this machine is: tests that compare two clocks allow for this when other suites run.

A process that is ready to run waits longer the more others are ready: with twice as many as processors, twice as long. What
a test allows on an idle machine is multiplied by that factor, which is 1 on an idle machine.
"""

import os


def lateness() -> float:
    """At least 1."""
    last_minute, last_five, _ = os.getloadavg()
    return max(1.0, max(last_minute, last_five) / (os.cpu_count() or 1))
