"""Compares the report on a job that marks nothing with the trainer's own truth."""

import unittest
from typing import Dict

from .checks import describe
from .lateness import lateness
from .truth import S, Truth
from .work import Outcome

# Tolerance per boundary on a machine that is slow by this factor: files and lines are observed only periodically, and the
# observation is late.
LATE_S = 0.3


def buckets(truth: Truth) -> Dict[str, float]:
    found: Dict[str, float] = {}
    for interval in truth.timeline:
        found[interval.bucket] = found.get(interval.bucket, 0) + (interval.end_ns - interval.begin_ns) / S
    return found


def assert_close(test: unittest.TestCase, outcome: Outcome, *unknown: str, boundaries: int = 1) -> None:
    """Asserts that every bucket equals the truth within 1 % of the job's time, or 1.1 s per boundary (because of Slurm's whole
    seconds), except those that no evidence distinguishes: `unknown` and unobserved are compared as a sum. Runtime goodput is
    right, or a range that contains it and is no wider than the unknown time."""
    truth = buckets(outcome.truth)
    shown = {b["name"]: b["seconds"] for b in outcome.show["jobs"][0]["buckets"]}
    tolerance = max(1.1 * boundaries, 0.01 * sum(truth.values())) + LATE_S * boundaries * (lateness() - 1)
    message = "%s\n%s\n%s" % (shown, truth, describe(outcome.truth))
    pooled = set(unknown) | {"unobserved", "queue", "launch", "provisioning"}
    for bucket in set(truth) | set(shown):
        if bucket not in pooled and not bucket.startswith("queue"):
            test.assertAlmostEqual(shown.get(bucket, 0), truth.get(bucket, 0), delta=tolerance, msg=bucket + ": " + message)
    pool = list(unknown) + ["unobserved"]
    test.assertAlmostEqual(sum(shown.get(b, 0) for b in pool), sum(truth.get(b, 0) for b in pool), delta=tolerance, msg=message)
    up = sum(shown.values()) - sum(v for name, v in shown.items() if name.startswith("queue") or name in (
        "requeue_backoff", "provisioning", "resubmit_gap", "hold"))
    true = truth["productive"] / up
    goodput = outcome.show["jobs"][0]["goodput"]
    low, high = goodput["runtime_range"] or [goodput["runtime"]] * 2
    test.assertLessEqual(low - tolerance / up, true, message)
    test.assertGreaterEqual(high + tolerance / up, true, message)
    test.assertLessEqual(high - low, (sum(truth.get(b, 0) for b in pool) + tolerance) / up, message)
