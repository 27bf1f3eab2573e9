"""One query for all jobs, shared by the threads that wait for jobs.

Dozens of scenarios wait at the same time; separate `scontrol` calls several times a second would keep the machine busy. An
answer is never older than the request: a request during a running query gets the next one. Queries begin EVERY_S apart.
"""

import re
import threading
import time
from typing import Callable, Dict

EVERY_S = 0.3
_RECORD = re.compile(r"^JobId=(\d+) ", re.M)


class Snapshot:
    def __init__(self, look: Callable[[], str]) -> None:
        """look: the text of `scontrol -o -d show job`."""
        self._look, self._lock = look, threading.Lock()
        self._began, self._records = -1.0, {}  # type: float, Dict[int, str]

    def record(self, job: int) -> str:
        """The job's line; "" if the controller does not know the job."""
        asked = time.monotonic()
        with self._lock:
            if self._began < asked:
                time.sleep(max(0.0, self._began + EVERY_S - time.monotonic()))
                self._began = time.monotonic()
                text = self._look()
                starts = [(match.start(), int(match.group(1))) for match in _RECORD.finditer(text)]
                ends = [begin for begin, _ in starts[1:]] + [len(text)]
                self._records = {number: text[begin:end] for (begin, number), end in zip(starts, ends)}
            return self._records.get(job, "")
