#!/usr/bin/python3
"""Which jobs may preempt which, with preempt/qos on a real Slurm: a job's QOS names those that its own may preempt.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_preemption
"""

import os
import time
import unittest
from typing import Dict

from .harness.goodput_site import Site

SITE = Site("cgroup", nodes=1, slurm_conf=["PreemptType=preempt/qos"])
NODE = ["--nodes=1", "--exclusive", "--no-kill"]


def setUpModule() -> None:
    unittest.addModuleCleanup(SITE.stop)
    # goodputd reads the QOS of slurmdbd when it starts.
    SITE.cluster.start()
    for line in ("add qos urgent Priority=10 Preempt=normal", "add qos curious Priority=10",
                 "modify user nobody,games set QOS=normal,urgent,curious DefaultQOS=normal"):
        SITE.cluster.run(["sacctmgr", "-i"] + line.split())
    SITE.start_goodput()


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class PreemptionTest(unittest.TestCase):
    def run_beside(self, qos: str, requeue: bool) -> Dict:
        """The interruption of a job that loses its node to a pending job of that QOS."""
        job = SITE.cluster.sbatch("sleep 60", user="nobody", options=NODE + ["--qos=normal", "--requeue"])
        SITE.wait_watched(job, ["RUNNING"])
        rival = SITE.cluster.sbatch("sleep 1", user="games", options=NODE + ["--qos=" + qos])
        if requeue:
            SITE.wait_watched(rival, ["PENDING"])
            SITE.cluster.run(["scontrol", "requeue", str(job)], user="nobody")
        SITE.wait_watched(rival, ["COMPLETED"])
        SITE.cluster.run(["scancel", str(job)])
        SITE.wait_watched(job, ["CANCELLED"])
        interruption = SITE.show_json(job)["jobs"][0]["interruptions"][0]
        self.assertIsInstance(interruption, dict)
        return interruption

    def output_of_a_preempted(self, script: str) -> str:
        """Of a job whose program prints a line two seconds after TERM."""
        program = "bash -c 'trap \"sleep 2; echo saved; exit\" TERM; echo trains; while sleep 0.1; do :; done'"
        output = os.path.join(SITE.cluster.jobdir("nobody"), "%j.out")
        job = SITE.cluster.sbatch(script % program, user="nobody",
                                  options=NODE + ["--qos=normal", "--no-requeue", "--output=" + output])
        path = output.replace("%j", str(job))

        def text() -> str:
            with open(path) as file:
                return file.read()
        SITE.wait_watched(job, ["RUNNING"])
        deadline = time.monotonic() + 60
        while not (os.path.exists(path) and "trains" in text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertIn("trains", text())
        SITE.cluster.sbatch("sleep 1", user="games", options=NODE + ["--qos=urgent"])
        SITE.wait_watched(job, ["PREEMPTED"])
        return text()

    def test_what_a_program_prints_after_term_is_lost_with_the_script_s_shell(self) -> None:
        self.assertNotIn("saved", self.output_of_a_preempted("srun %s"))
        self.assertIn("saved", self.output_of_a_preempted("exec srun %s"))
        self.assertIn("saved", self.output_of_a_preempted("trap : TERM\nsrun %s"))

    def test_a_qos_that_may_preempt_it_did(self) -> None:
        interruption = self.run_beside("urgent", requeue=False)
        self.assertEqual(interruption["cause"], "preempted", interruption)

    def test_one_that_may_not_only_took_its_node(self) -> None:
        interruption = self.run_beside("curious", requeue=True)
        self.assertEqual(interruption["cause"], "user_requeue", interruption)


if __name__ == "__main__":
    unittest.main()
