"""How late this machine is: what a test that compares two clocks' words has to allow for beside other suites.

A process that is ready to run waits for a processor the longer the more others are ready: with twice as many as there are
processors, twice as long. What a test allows on an idle machine is multiplied by that, and by nothing on an idle one.
"""

import os


def lateness() -> float:
    """At least 1."""
    last_minute, last_five, _ = os.getloadavg()
    return max(1.0, max(last_minute, last_five) / (os.cpu_count() or 1))
