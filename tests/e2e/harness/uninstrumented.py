"""Compares the report on a job that marks nothing with the trainer's own truth.

The rules, with the tolerance of a bucket as in checks.py, at least COARSE_S, plus LATE_S for each start of the program, but at
most three quarters of what the bucket truly has if that is more than SMALL_S:

- No bucket says more than the truth, and none says less by more than what is `unobserved`.
- `unobserved` is no more than the time of the buckets that this way cannot distinguish (`unknown`), and one save for each start,
  before whose first checkpoint it is not known how fast the steps were.
- Runtime goodput is right, or a range that contains the truth.
"""

import unittest
from typing import Dict

from .checks import describe, said_buckets, tolerance_ns
from .lateness import lateness
from .truth import S, Truth
from .work import Outcome

# Accounting has whole seconds, and a killed program's end is accounting's.
COARSE_S = 1.1
# Files and lines are read periodically: the begin of a program's work is seen this much late, times the machine's lateness.
LATE_S = 0.3
SMALL_S = 1.5
SCHEDULING = ("queue", "requeue_backoff", "resubmit_gap", "hold", "provisioning")


def seconds_of(sums: Dict[str, int]) -> Dict[str, float]:
    return {bucket: ns / S for bucket, ns in sums.items()}


def tolerance_s(truth: Truth, bucket: str) -> float:
    starts = sum(len(one) for one in truth.incarnations)
    allowed = max(COARSE_S, tolerance_ns(truth, bucket, COARSE_S) / S) + LATE_S * starts * lateness()
    true = truth.sums().get(bucket, 0) / S
    return min(allowed, 0.75 * true) if true > SMALL_S else allowed


def longest_save_s(truth: Truth) -> float:
    return max([0.0] + [(end - begin) / S for starts in truth.incarnations for one in starts for _, begin, end, _ in one.saves])


def assert_close(test: unittest.TestCase, outcome: Outcome, *unknown: str, inside: bool = False) -> None:
    """unknown: buckets that nothing distinguishes in this job. inside: their time is part of other buckets, since steps have
    times and what happens between them has not."""
    truth = outcome.truth
    true, said = seconds_of(truth.sums()), seconds_of(said_buckets(outcome.show))
    said.pop("queue", None), true.pop("queue", None)  # accounting's seconds on both sides
    hidden = said.pop("unobserved", 0)
    pool = sum(true.get(bucket, 0) for bucket in unknown)
    message = "\nsaid %s, unobserved %.3f\ntrue %s\n%s" % (said, hidden, true, describe(truth))
    for bucket in sorted((set(true) | set(said)) - set(unknown)):
        allowed = tolerance_s(truth, bucket)
        excess = said.get(bucket, 0) - true.get(bucket, 0)
        test.assertLessEqual(excess, allowed + (pool if inside else 0), bucket + " says too much" + message)
        test.assertGreaterEqual(excess, -allowed - hidden, bucket + " says too little" + message)
    starts = sum(len(one) for one in truth.incarnations)
    test.assertLessEqual(hidden, pool + starts * longest_save_s(truth) + COARSE_S + LATE_S * starts * lateness(),
                         "too much is unobserved" + message)
    assert_goodput(test, outcome, true["productive"], hidden, message)


def assert_goodput(test: unittest.TestCase, outcome: Outcome, productive_s: float, hidden_s: float, message: str) -> None:
    job = outcome.show["jobs"][0]
    up = sum(b["seconds"] for b in job["buckets"] if not b["name"].startswith(SCHEDULING))
    share, tolerance = productive_s / up, tolerance_s(outcome.truth, "productive") / up
    goodput = job["goodput"]
    low, high = goodput["runtime_range"] or [goodput["runtime"]] * 2
    test.assertLessEqual(low - tolerance, share, message)
    test.assertGreaterEqual(high + tolerance, share, message)
    test.assertLessEqual(high - low, hidden_s / up + 0.001, "the range is wider than what is unobserved" + message)
