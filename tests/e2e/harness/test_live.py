#!/usr/bin/python3
"""The truth of a job that ran on a test cluster, was requeued, and resumed."""

import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(TESTS, "cluster"))
from cluster import Cluster  # noqa: E402
from lateness import lateness  # noqa: E402
from reach import reachable  # noqa: E402
from truth import of_job, read_log  # noqa: E402


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class LiveTest(unittest.TestCase):
    def wait_for_step(self, folder: str, step: int) -> None:
        deadline = time.monotonic() + 90
        while not any(r["event"] == "step_end" and r["step"] == step for r in read_log(folder)):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def test_a_requeued_job_s_seconds_are_each_in_one_bucket(self) -> None:
        for mode in ("cgroup", "linuxproc"):
            with self.subTest(mode=mode), Cluster(mode=mode, kill_wait_s=2, cred_expire_s=6) as cluster:
                folder = os.path.join(cluster.jobdir("nobody"), "run")
                job = cluster.sbatch(
                    "srun /usr/bin/python3 %s/trainer.py --dir %s --steps 40 --step-seconds 0.2 --save-every 15 --last-save 15 "
                    "--save-seconds 0.3 --init-seconds 1" % (reachable(os.path.join(TESTS, "trainer")), folder), user="nobody",
                    options=["-N4", "--gres=gpu:8"])
                cluster.wait_state(job, "RUNNING")
                self.wait_for_step(folder, 25)  # accounting truncates up to 1 s of the lost work
                cluster.run(["scontrol", "requeue", str(job)])
                cluster.wait_state(job, "COMPLETED")
                cluster.wait_sacct(job, lambda rows: [r["State"] for r in rows if r["JobID"] == str(job)] ==
                                   ["REQUEUED", "COMPLETED"])
                truth = of_job(cluster, job, folder)
                seconds = {bucket: ns / 1e9 for bucket, ns in truth.sums().items()}
                self.assertEqual(sum(truth.sums().values()), truth.wall_ns)
                # Accounting truncates each of the two ends to a whole second.
                self.assertAlmostEqual(seconds["productive"], 40 * 0.2, delta=2.2 * lateness())
                self.assertAlmostEqual(seconds["checkpoint_save"], 0.3, delta=0.2 * lateness())
                self.assertGreater(seconds["lost_work"], 0.2)
                self.assertGreater(seconds["requeue_backoff"], 6)
                self.assertGreater(seconds["startup"], 2)
                self.assertEqual({s.number for s in truth.kept}, set(range(1, 41)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
