"""How late this machine is. Tests that compare two clocks, or wait for something, multiply what an idle machine is allowed by it.

Two things make a process late: other processes that are ready to run, which the load average counts, and a processor that is
slow or that a hypervisor gives to others, which shows only in how long a fixed computation takes.
"""

import collections
import os
import threading
import time
from typing import Deque

LOOPS = 500_000
IDLE_S = 0.015       # an idle x86 server needs 5 to 12 ms
EVERY_S = 2.0
REMEMBERED = 150     # samples: the scenarios of a module ran within these five minutes
IN_A_ROW = 5         # a single sample may be interrupted by chance

_samples: Deque[float] = collections.deque(maxlen=REMEMBERED)


def _take_samples() -> None:
    while True:
        began = time.monotonic()
        for _ in range(LOOPS):
            pass
        _samples.append((time.monotonic() - began) / IDLE_S)
        time.sleep(EVERY_S)


def slowness() -> float:
    """How much longer than on an idle machine a computation took lately: the largest mean of some samples in a row."""
    samples = list(_samples)
    rows = [samples[i:i + IN_A_ROW] for i in range(max(1, len(samples) - IN_A_ROW + 1))]
    return max(sum(row) / max(1, len(row)) for row in rows)


def lateness() -> float:
    """At least 1, its value on an idle machine."""
    last_minute, last_five, _ = os.getloadavg()
    return max(1.0, max(last_minute, last_five) / (os.cpu_count() or 1), slowness())


threading.Thread(target=_take_samples, daemon=True).start()
