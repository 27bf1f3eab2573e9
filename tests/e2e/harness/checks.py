"""Compares the output of `sgoodput show JOB --json` with the truth.

The rule, per bucket:

    |said - true| <= tolerance_s x coarse + (FINE_S x fine + FLAT_S x starts) x lateness

`coarse` counts the ends of the bucket's true intervals that come from accounting: accounting has whole seconds and the
product's node events nanoseconds, so either may be off by up to a second. `fine` counts the other ends, which trainer and
product both know to a few milliseconds. An end where two intervals of the same bucket meet, and the two ends of the whole
timeline, move no time between buckets and do not count. A program knows when it was forked and when it reached its first
line, but not when slurmstepd released it in between, which is its start: launch and startup may differ from the truth by
that much. starts: how often the program started, if the machine is late; else 1. lateness is 1 on an idle machine.

In addition, the buckets partition the wall time exactly, and at most 1 % of it, times lateness, but never over 20 %, is unobserved.
"""

import json
from typing import Dict, Sequence, Tuple
from unittest import TestCase

try:
    from .lateness import lateness
    from .truth import BEFORE_TASKS, QUEUE, S, Truth
except ImportError:  # run from this directory
    from lateness import lateness  # type: ignore
    from truth import BEFORE_TASKS, QUEUE, S, Truth  # type: ignore

FINE_S = 0.02   # reading a mark takes time, and a tick of /proc is 10 ms
FLAT_S = 0.15   # an interpreter starts and ends without the trainer logging it

BUCKETS = ("hold", "requeue_backoff", "resubmit_gap") + QUEUE + (
    "suspended", "provisioning", "launch", "startup", "productive", "at_risk", "checkpoint_save", "overhead", "stall",
    "lost_work", "drain", "teardown", "unobserved")
# GPU time of elastic programs alone; an instant is in one of the others.
WITHOUT_SECONDS = ("missing", "standby", "idle_member")


def said_buckets(show: Dict) -> Dict[str, int]:
    """Nanoseconds by bucket of jobs[0], summed into `queue` and `launch` if the truth does not distinguish them."""
    sums: Dict[str, int] = {}
    for bucket in show["jobs"][0]["buckets"]:
        name = "queue" if bucket["name"] in QUEUE else "launch" if bucket["name"] in BEFORE_TASKS else bucket["name"]
        sums[name] = sums.get(name, 0) + bucket["ns"]
    return sums


def assert_partition(testcase: TestCase, show: Dict) -> None:
    """Checks that every nanosecond is in exactly one bucket, and each bucket occurs once, is known, not negative, and has the
    same seconds."""
    job = show["jobs"][0]
    names = [bucket["name"] for bucket in job["buckets"]]
    testcase.assertEqual(len(names), len(set(names)), "a bucket occurs twice: %s" % names)
    testcase.assertEqual([], [name for name in names if name not in BUCKETS + WITHOUT_SECONDS], "unknown buckets")
    for bucket in job["buckets"]:
        if bucket["name"] in WITHOUT_SECONDS:
            testcase.assertEqual(bucket["ns"], 0, bucket)
        testcase.assertIsInstance(bucket["ns"], int, bucket)
        testcase.assertGreaterEqual(bucket["ns"], 0, bucket)
        testcase.assertAlmostEqual(bucket["seconds"], bucket["ns"] / S, places=6, msg=str(bucket))
    testcase.assertEqual(sum(bucket["ns"] for bucket in job["buckets"]), job["wall_ns"], "buckets do not sum to wall_ns")


def tolerance_ns(truth: Truth, bucket: str, tolerance_s: float) -> int:
    coarse, fine = truth.boundaries(bucket)
    doubt = truth.doubt_ns.get(bucket, 0) + (truth.start_doubt_ns() if bucket in ("startup", "launch") else 0)
    late = lateness()
    starts = max(1, sum(map(len, truth.incarnations))) if late > 2 else 1
    return int((tolerance_s * coarse + (FINE_S * fine + FLAT_S * starts) * late) * S) + doubt


def unobserved_limit_ns(truth: Truth) -> int:
    return int(truth.wall_ns * min(0.01 * lateness(), 0.2))


def assert_buckets_close(testcase: TestCase, show: Dict, truth: Truth, tolerance_s: float = 1.1,
                         unobserved: bool = False) -> None:
    """Applies the rule above to every bucket on either side; a failure prints the whole table. unobserved: the truth itself
    contains time that cannot be observed."""
    assert_partition(testcase, show)
    job = show["jobs"][0]
    said, true = said_buckets(show), truth.sums()
    testcase.assertLessEqual(abs(job["wall_ns"] - truth.wall_ns), int(tolerance_s * S) if truth.running else 0,
                             "wall_ns: accounting gives both ends\n%s\n%s" % (
                                 json.dumps(job["attempts"], indent=1), "\n".join(map(str, truth.attempts))))
    table, wrong = ["%-16s %12s %12s %9s" % ("bucket", "true s", "said s", "allowed")], []
    for bucket in sorted(set(said) | set(true)):
        allowed = tolerance_ns(truth, bucket, tolerance_s)
        if bucket == "unobserved" and not unobserved:
            allowed = max(allowed, unobserved_limit_ns(truth))
        difference = said.get(bucket, 0) - true.get(bucket, 0)
        bad = abs(difference) > allowed
        table.append("%-16s %12.3f %12.3f %9.3f%s" % (bucket, true.get(bucket, 0) / S, said.get(bucket, 0) / S,
                                                       allowed / S, "  <--" if bad else ""))
        if bad:
            wrong.append(bucket)
    testcase.assertEqual([], wrong, "\n" + "\n".join(table) + "\ntrue timeline:\n" + describe(truth))
    if not unobserved:
        testcase.assertLessEqual(said.get("unobserved", 0), unobserved_limit_ns(truth), "too much is unobserved")
    provisioning = sum(bucket["ns"] for bucket in job["buckets"] if bucket["name"] == "provisioning")
    testcase.assertLessEqual(provisioning, truth.provisioning_limit_ns(tolerance_s),
                             "provisioning goes on after Slurm's first step started")


def assert_attempts(testcase: TestCase, show: Dict, truth: Truth) -> None:
    """Checks that there is one attempt per row of accounting, with the same times (in accounting's seconds)."""
    said = show["jobs"][0]["attempts"]
    testcase.assertEqual(len(said), len(truth.attempts))
    for one, other in zip(said, truth.attempts):
        for name, value in (("start_ns", other.start_ns), ("end_ns", other.end_ns)):
            if value is not None:
                testcase.assertLessEqual(abs(one[name] - value), int(1.1 * S), name)


def assert_interruptions(testcase: TestCase, show: Dict, causes: Sequence[Tuple[str, bool]]) -> None:
    """Checks that the interruptions are exactly these, in order: (cause, planned). Each must name its evidence."""
    said = show["jobs"][0]["interruptions"]
    testcase.assertEqual([(one["cause"], one["planned"]) for one in said], list(causes), json.dumps(said, indent=1))
    for one in said:
        testcase.assertTrue(one["evidence"], "an interruption without evidence: %s" % one)


def describe(truth: Truth) -> str:
    """The timeline in seconds since the submit, one interval per line."""
    return "\n".join("%10.3f %10.3f %-16s" % ((i.begin_ns - truth.begin_ns) / S, (i.end_ns - truth.begin_ns) / S, i.bucket)
                     for i in truth.timeline)
