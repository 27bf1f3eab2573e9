"""Invariants of the report on any job, whatever happened to it."""

import unittest
from typing import Any, Dict

from . import schemas
from .checks import BUCKETS, WITHOUT_SECONDS, assert_attempts, assert_buckets_close, describe
from .lateness import lateness
from .stage import Scenario, Stage
from .truth import S, Truth
from .work import Outcome


def seconds(show: Dict, bucket: str) -> float:
    return sum(b["ns"] for b in show["jobs"][0]["buckets"] if b["name"] == bucket) / S


def assert_valid(show: Dict) -> None:
    schemas.check(show, "sgoodput")


class Judge(unittest.TestCase):
    STAGE: Stage
    SITE = ""

    def outcome(self, scenario: Scenario) -> Any:
        """The result of the scenario: an Outcome, or several."""
        outcome = self.STAGE.outcome(self.SITE, scenario)
        for one in outcome if isinstance(outcome, list) else [outcome]:
            assert_valid(one.show)
        return outcome

    def close(self, outcome: Outcome, slack_s: float = 0.0) -> Dict:
        """Compares the job's report with the trainer's log and Slurm's records. Returns the job's element of the answer."""
        show, truth = outcome.show, outcome.truth
        assert_buckets_close(self, show, truth, 1.1 + slack_s)
        job = show["jobs"][0]
        self.assertEqual(len(job["buckets"]), len(BUCKETS + WITHOUT_SECONDS))
        if not slack_s:
            assert_attempts(self, show, truth)
        self.assertAlmostEqual(job["steps"]["count"], len(truth.kept) + len(truth.lost) + len(truth.open),
                               delta=self.on_the_way(truth), msg=describe(truth))
        self.assertEqual(job["steps"]["kept"], len(truth.kept), describe(truth))
        self.assertEqual(job["steps"]["lost"], len(truth.lost), describe(truth))
        for attempt in job["attempts"]:
            self.assertEqual(attempt["gpus"], 8 * attempt["nodes"])
        return job

    @staticmethod
    def on_the_way(truth: Truth) -> int:
        """How many steps a report may lack: in that of a running job, those of the last moment may not have been ingested yet."""
        return round(lateness()) if truth.running else 0

    def resumes(self, job: Dict) -> None:
        """Checks that each attempt continues at the step after the last one kept before it."""
        kept = None
        for attempt in job["attempts"]:
            if kept is not None:
                self.assertEqual(attempt["first_step"], kept + 1, job["attempts"])
            kept = attempt["kept_step"]


