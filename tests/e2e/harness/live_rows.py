"""Accounting's rows of a job, read live from the controller: for a cluster without slurmdbd."""

import threading
import time
from typing import Dict, Optional

from .goodput_site import Site


class LiveRows(threading.Thread):
    def __init__(self, site: Site, job: int) -> None:
        super().__init__(daemon=True)
        self.site, self.job, self.over = site, job, threading.Event()
        self.rows: Dict[str, Dict] = {}

    def run(self) -> None:
        last: Optional[Dict] = None
        while not self.over.wait(0.1):
            fields = self.site.cluster.job(self.job)
            if not fields or fields["JobState"] == "COMPLETING":
                continue
            at = {name: self._seconds(fields.get(name + "Time", "")) for name in ("Submit", "Eligible", "Start", "End")}
            started = fields["JobState"] != "PENDING"
            row = {"JobID": str(self.job), "State": fields["JobState"], "Submit": at["Submit"],
                   "Eligible": at["Eligible"], "Start": at["Start"] if started else None,
                   "End": at["End"] if started and fields["JobState"] != "RUNNING" else None}
            if last is not None and last["Submit"] != row["Submit"] and last["End"] is None:
                last.update(End=row["Submit"], State="REQUEUED")
            self.rows[str(row["Submit"])] = last = row

    @staticmethod
    def _seconds(text: str) -> Optional[int]:
        try:
            return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))
        except ValueError:
            return None
