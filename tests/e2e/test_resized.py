#!/usr/bin/python3
"""Jobs whose nodes Slurm does not list completely, without GPUs and without slurmdbd: one that gave a node back, and a
heterogeneous one. Records of their nodes count, although records of nodes that a job did not have do not.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_resized
"""

import os
import unittest
from typing import Dict, List

from .harness.goodput_site import TRAINER, Site


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ResizedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("linuxproc", nodes=2, cred_expire_s=0, dbd=False, conf=["heartbeat = 1s"])
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()

    def trainer(self, folder: str, steps: int) -> str:
        return "%s --dir %s --steps %d --step-seconds 0.2 --init-seconds 0.2 --marks" % (TRAINER, self.site.folder(folder, "nobody"), steps)

    def show(self, job: int) -> Dict:
        self.site.settle(job)
        text = self.site.sgoodput("show", str(job)).stdout
        self.assertNotIn("ignored", text)
        answer: Dict = self.site.show_json(job)["jobs"][0]
        return answer

    def test_a_node_that_was_given_back_said_what_it_saw(self) -> None:
        nodes: List[str] = self.site.cluster.nodes
        # The first program trains on the node that is given back; the second one is another training.
        script = "srun -N1 -n1 -w %s %s\nscontrol update jobid=$SLURM_JOB_ID numnodes=1\n" % (nodes[1], self.trainer("shrinks", 10))
        script += ". slurm_job_${SLURM_JOB_ID}_resize.sh\nsrun -N1 -n1 -w %s %s" % (nodes[0], self.trainer("shrinks", 20))
        job = self.site.cluster.sbatch(script, user="nobody", options=["-N2", "-w", ",".join(nodes)])
        self.site.wait_steps(self.site.folder("shrinks", "nobody"), 1, 3)
        self.assertEqual(self.site.cluster.job(job)["NodeList"], nodes[0])
        steps = self.show(job)["steps"]
        self.assertEqual((steps["count"], steps["kept"]), (10 + 20, 10 + 20))

    def test_components_of_a_heterogeneous_job_say_what_they_saw(self) -> None:
        nodes = self.site.cluster.nodes
        script = "srun --het-group=1 " + self.trainer("het", 10)
        job = self.site.cluster.sbatch(["-N1", "-w", nodes[0], ":", "-N1", "-w", nodes[1], "--wrap", script], user="nobody")
        self.assertEqual(self.show(job)["steps"]["kept"], 10)


if __name__ == "__main__":
    unittest.main()
