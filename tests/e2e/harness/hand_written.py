"""Runs from a hand-written spool, for tests that need no Slurm."""

import json
import os
import subprocess
from typing import Any, Dict, List

from tests.cluster.faults import FAULTS

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
SGOODPUT = os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"), "tools", "sgoodput", "sgoodput")
BEGAN = 1_790_000_000


def run_it(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([SGOODPUT, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          env={"PATH": os.environ["PATH"], "GOODPUT_CONF": "/nonexistent", **FAULTS}, timeout=60)


class Spool:
    """The records that the queue watch and a node would have written about a job, in seconds since BEGAN."""

    def __init__(self, folder: str) -> None:
        self.lines: Dict[str, List[Dict[str, Any]]] = {"@controller": [], "n1": []}
        self.folder = folder

    def controller(self, t: float, **more: Any) -> None:
        record = {"kind": "attempt", "state": "RUNNING", "user": "nobody", "partition": "a3", "name": "train",
                  "nnodes": 2, "gpus": 16, "gpu_type": "h100", "nodes": "n[1-2]"}
        record.update(more)
        for key in ("submit_s", "eligible_s", "start_s", "end_s"):
            if key in record:
                record[key] += BEGAN
        self.say("@controller", t, record)

    def cluster(self, t: float, kind: str, **more: Any) -> None:
        """Writes a record without a job."""
        self.say("@controller", t, dict(kind=kind, **more))
        del self.lines["@controller"][-1]["job"]

    def node(self, t: float, kind: str, **more: Any) -> None:
        self.say("n1", t, dict(kind=kind, **more))

    def mark(self, t: float, mark: str, step: int, edge: str = "begin") -> None:
        self.node(t, "mark", mark=mark, edge=edge, train_step=step, slurm_step="0", task=0)

    def say(self, node: str, t: float, record: Dict[str, Any]) -> None:
        ns = int((BEGAN + t) * 1e9)
        self.lines[node].append({"v": 1, "t": ns, "m": ns - BEGAN * 10**9 + 10**12, "node": node, "stepd": 1, "cluster": "c",
                                 "job": 7, **record})

    def write(self, compact: bool = False) -> None:
        """`compact`: without spaces, like the plugin's records."""
        separators = (",", ":") if compact else (", ", ": ")
        for node, records in self.lines.items():
            os.makedirs(os.path.join(self.folder, node), mode=0o700)
            with open(os.path.join(self.folder, node, "boot.2026092100Z.jsonl"), "w") as file:
                for record in sorted(records, key=lambda r: r["t"]):
                    file.write("\n" + json.dumps(record, separators=separators) + "\n")
