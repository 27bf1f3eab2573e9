"""Compares goodputd's records of a job's signals with what the processes that received them logged themselves."""

import glob
import json
import os
from typing import Any, Dict, List, NamedTuple

from ..harness import truth as truths
from ..harness.lateness import lateness
from ..harness.work import Work

# A handler runs when its process gets a processor; the kernel's time is when the signal was generated. On an idle machine, half
# of the handlers run within this time, and none runs this late.
USUALLY_NS = 10_000_000
NEVER_NS = 100_000_000


class Seen(NamedTuple):
    work: Work
    records: List[Dict[str, Any]]  # of kind `signal`, by time
    truth: List[Dict[str, Any]]  # `rank`, `signo`, `t`: logged by the handlers, by time


def records(work: Work) -> List[Dict[str, Any]]:
    found = []
    for path in glob.glob(os.path.join(work.site.spool, "*", "*.jsonl")):
        with open(path) as file:
            for line in file:
                if '"kind":"signal"' in line and '"job":%d,' % work.job in line and line.endswith("\n"):
                    found.append(json.loads(line))
    return sorted(found, key=lambda record: record["t"])


def seen(work: Work, ranks: int = 1) -> Seen:
    """Collects them after the job has ended."""
    truth = [dict(record, rank=rank) for rank in range(ranks) for record in truths.read_log(work.folder, rank)
             if record["event"] == "signal"]
    return Seen(work, records(work), sorted(truth, key=lambda record: record["t"]))


def pairs_missing(found: Seen) -> List[str]:
    """Every signal a handler told of has a record of its task, from before it and not long before, and the other way round.

    Slurm may send one twice within a millisecond; what comes before the handler ran is one signal for it.
    """
    of_tasks = [record for record in found.records
                if record["target"] == "task" and record["slurm_step"] != "batch" and record["signal"] != 9]

    late = lateness()

    def late_by(told: Dict, record: Dict) -> int:
        return told["t"] - record["t"]

    def same(told: Dict, record: Dict) -> bool:
        return record["task"] == told["rank"] and record["signal"] == told["signo"]

    def paired(told: Dict, record: Dict) -> bool:
        return same(told, record) and 0 <= late_by(told, record) <= NEVER_NS * late

    trouble = ["no record of signal %d of rank %d; others off by ns: %s" % (
        told["signo"], told["rank"], [late_by(told, record) for record in of_tasks if same(told, record)])
        for told in found.truth if not any(paired(told, record) for record in of_tasks)]
    trouble += ["the handler of rank %d did not tell of %s" % (record["task"], record) for record in of_tasks
                if record.get("handled") == 1 and not any(paired(told, record) for told in found.truth)]
    delays = sorted(min(late_by(told, record) for record in of_tasks if paired(told, record))
                    for told in found.truth if any(paired(told, record) for record in of_tasks))
    if delays and delays[len(delays) // 2] > USUALLY_NS * late:
        trouble.append("handlers ran so many ns after the signals recorded: %s" % delays)
    # There are not more handler logs than signals.
    for task in {record["task"] for record in of_tasks}:
        told = len([t for t in found.truth if t["rank"] == task])
        seen_of = len([r for r in of_tasks if r["task"] == task])
        if told > seen_of:
            trouble.append("rank %d was told of %d signals, and %d were recorded" % (task, told, seen_of))
    return trouble
