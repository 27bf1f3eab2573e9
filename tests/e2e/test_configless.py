#!/usr/bin/python3
"""Nodes that have no files of Slurm, and fetch slurm.conf and plugstack.conf from slurmctld (slurmd --conf-server).

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_configless

The plugin is loaded as plugstack.conf of the controller says, and what runs in a job finds the configuration that slurmd fetched.
"""

import os
import re
import unittest
from typing import Dict

from .harness.goodput_site import SGOODPUT, Site
from .harness.judge import assert_valid


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ConfiglessTest(unittest.TestCase):
    site: Site
    jobs: Dict[str, int]

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("linuxproc", nodes=2, dbd=False, cred_expire_s=0, configless=True)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        script = """echo conf=$SLURM_CONF
unset SLURM_CONF
srun -n1 sh -c '%s mark step 5; sleep 1'
%s doctor --config %s
sleep 1.1""" % (SGOODPUT, SGOODPUT, cls.site.conf)
        cls.jobs = {user: cls.site.cluster.sbatch(script, user=user, options=["-N1", "--goodput-run=by-" + user]) for user in ("root", "nobody")}

    def test_the_plugin_is_loaded_and_its_options_are_known(self) -> None:
        for user, job in self.jobs.items():
            with self.subTest(user=user):
                self.site.settle(job)
                show = self.site.show_json(job)
                assert_valid(show)
                answer = show["jobs"][0]
                self.assertEqual((answer["run"], answer["steps"]["kept"]), ("by-" + user, 1))
                evidence = {bucket["name"]: bucket["evidence"] for bucket in answer["buckets"] if bucket["seconds"] > 0}
                self.assertEqual(evidence["productive"], "mark")
                self.assertNotIn("unobserved", evidence)

    def test_doctor_finds_the_configuration_that_was_fetched(self) -> None:
        job = self.jobs["root"]
        self.site.settle(job)
        said = self.site.cluster.output(job)
        fetched, = re.findall(r"^conf=(.*)", said, re.M)
        self.assertNotEqual(fetched, self.site.cluster.conf)
        self.assertRegex(said, r"ok  the plugin \S+/spank_goodput.so is built for Slurm")


if __name__ == "__main__":
    unittest.main()
