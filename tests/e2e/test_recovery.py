#!/usr/bin/python3
"""How runs go on after interruptions: a job whose comment asks NVIDIA's Autonomous Job Recovery to requeue it, one that does not, and
two jobs of one run, on a real cluster. Nobody but this test requeues them, as that service would: by scontrol requeue.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_recovery

The service itself, and Slurm's expedited requeue (25.11 and newer), are not here.
"""

import json
import os
import unittest
from typing import Dict

from .harness.goodput_site import Site
from .harness.judge import assert_valid
from .harness.work import Work

AJR = '{"APS": {"auto_resume_mode": "requeue", "max_requeue_times": 1}}'


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class RecoveryTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("cgroup", nodes=2)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()

    def requeued(self, name: str, node: int, *options: str) -> Work:
        work = Work(self.site, name, "nobody", [self.site.cluster.nodes[node]])
        work.submit("srun " + work.trainer("--save-every 5 --steps-after-restore 5"), *options)
        work.steps(0, 8)
        self.site.cluster.run(["scontrol", "requeue", str(work.job)])
        return work

    def interruption(self, job: int) -> Dict:
        show = self.site.show_json(job)
        assert_valid(show)
        self.assertEqual(len(show["jobs"][0]["interruptions"]), 1)
        return show["jobs"][0]["interruptions"][0]

    def test_a_requeue_that_the_job_asks_a_service_for(self) -> None:
        asks = self.requeued("asks", 0, "--comment=" + AJR)
        plain = self.requeued("plain", 1, "--comment=requeue me")
        for work in (asks, plain):
            self.site.settle(work.job)
        found = self.interruption(asks.job)
        self.assertEqual(found["recovery"], "ajr")
        self.assertTrue([line for line in found["evidence"] if "Autonomous Job Recovery" in line], found)
        self.assertEqual(self.interruption(plain.job)["recovery"], "requeue")
        answer = self.site.sgoodput("report", "-a", "--by", "cause,recovery", "--json")
        rows = {row["group"]: row for row in json.loads(answer.stdout)["rows"]}
        wanted = {row["group"]: row["interruptions"] for row in rows.values() if row["interruptions"]}
        self.assertEqual(sorted(wanted.values()), [1, 1], wanted)
        by = {row["group"]: row for row in json.loads(self.site.sgoodput("report", "-a", "--by", "recovery", "--json").stdout)["rows"]}
        self.assertEqual((by["ajr"]["interruptions"], by["requeue"]["interruptions"]), (1, 1))
        # What the requeue cost each of them: the work it undid, the wait and the start.
        for name, work in (("ajr", asks), ("requeue", plain)):
            job = self.site.show_json(work.job)["jobs"][0]
            lost = next(bucket["gpu_seconds"] for bucket in job["buckets"] if bucket["name"] == "lost_work")
            row = {bucket["name"]: bucket["gpu_seconds"] for bucket in by[name]["buckets"]}
            self.assertAlmostEqual(row["lost_work"], lost, places=3)
            self.assertGreater(row["requeue_backoff"], 8)


if __name__ == "__main__":
    unittest.main()
