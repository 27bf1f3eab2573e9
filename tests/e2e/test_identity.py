#!/usr/bin/python3
"""Job ids shared by several jobs: reused after the controller lost its state, and used on two clusters in one database.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_identity

Needs root and Debian's Slurm packages.
"""

import json
import os
import shutil
import time
import unittest
from typing import Dict, List

from .harness.checks import assert_buckets_close
from .harness.goodput_site import TRAINER, Site
from .harness import truth as truths
from .harness.truth import Truth


def train(site: Site, user: str, name: str, steps: int) -> int:
    job = site.cluster.sbatch("srun %s --dir %s --steps %d --step-seconds 0.2 --save-every 5 --init-seconds 0.3 --marks" % (
        TRAINER, site.folder(name, user), steps), user=user, options=["-N1", "--job-name=" + name, "--goodput-run=" + name])
    site.settle(job)
    return job


def truth(site: Site, job: int, user: str, name: str) -> Truth:
    rows = [row for row in site.cluster.sacct(job) if row["JobName"] in (name, "batch", "extern", "python3")]
    begin = [i for i, row in enumerate(rows) if row["JobName"] == name][0]
    end = [i for i, row in enumerate(rows) if i > begin and "." not in row["JobID"]]
    return Truth(truths.read_log(site.folder(name, user)), rows[begin:end[0] if end else None])


class IdentityTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("cgroup", nodes=1, cred_expire_s=0)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()

    def ask(self, site: Site, *args: str, status: int = 0) -> str:
        answer = site.sgoodput(*args)
        self.assertEqual(answer.returncode, status, "%s\n%s%s" % (args, answer.stdout, answer.stderr))
        self.stderr = answer.stderr
        return answer.stdout

    def lines(self, site: Site, *args: str) -> List[List[str]]:
        text = self.ask(site, "-P", "-n", "-o", "JobID,JobName,User,Cluster", *args)
        return sorted(line.split("|") for line in text.splitlines())

    def show(self, site: Site, *args: str) -> Dict:
        return json.loads(self.ask(site, "show", *args, "--json"))

    def lose_state(self) -> None:
        """As if the disk of StateSaveLocation were lost: job ids start again."""
        cluster = self.site.cluster
        cluster.stop_daemon("slurmctld")
        state = os.path.join(cluster.dir, "state")
        shutil.rmtree(state)
        os.mkdir(state, 0o755)
        cluster.start_daemon("slurmctld")
        deadline = time.monotonic() + 60
        while "idle" not in cluster.run(["sinfo", "-h", "-p", "a3mega", "-o", "%T"], check=False).stdout:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def test_an_id_used_again_after_the_controller_lost_its_state(self) -> None:
        site = self.site
        first = train(site, "nobody", "before", 12)
        again = time.strftime("%Y-%m-%dT%H:%M:%S")
        self.lose_state()
        second = train(site, "games", "after", 6)
        self.assertEqual(first, second, "Slurm did not begin again")
        job = str(first)

        self.assertEqual([line[1:3] for line in self.lines(site, "-j", job)], [["after", "games"], ["before", "nobody"]])
        answer = self.show(site, job)
        self.assertIn("job id %s was used 2 times" % job, self.stderr)
        self.assertEqual((answer["jobs"][0]["name"], answer["jobs"][0]["steps"]["kept"]), ("after", 6))
        assert_buckets_close(self, answer, truth(site, second, "games", "after"))

        answer = self.show(site, job, "--submitted", again)
        self.assertEqual(self.stderr, "")
        self.assertEqual((answer["jobs"][0]["name"], answer["jobs"][0]["steps"]["kept"]), ("before", 12))
        assert_buckets_close(self, answer, truth(site, first, "nobody", "before"))
        self.assertEqual(self.show(site, "--run", "before")["jobs"][0]["name"], "before")

    def test_two_clusters_in_one_database(self) -> None:
        with Site("linuxproc", nodes=1, cred_expire_s=0) as other:
            shared = self.site.path("shared.db")
            one = train(self.site, "nobody", "here", 8)
            for _ in range(one - 1):
                other.cluster.sbatch("true")
            # The same job id on the other cluster, with the same name and user.
            self.assertEqual(train(other, "nobody", "here", 5), one)
            for site in (self.site, other):
                self.assertEqual(site.sgoodput("ingest", "--db", shared).returncode, 0)
                self.ask(site, "--db", shared, "-j", str(one))
            names = [self.site.cluster.name, other.cluster.name]
            self.assertEqual([line[3] for line in self.lines(other, "--db", shared, "-j", str(one))], sorted(names))
            self.assertEqual([line[3] for line in self.lines(other, "--db", shared, "-j", str(one), "-M", names[0])], names[:1])
            self.ask(other, "show", str(one), "--db", shared, status=2)
            self.assertRegex(self.stderr, r"job %d: clusters \S+ and \S+ each have it; select one with -M CLUSTER" % one)
            self.ask(other, "show", "--run", "here", "--db", shared, status=2)
            for site, steps in ((self.site, 8), (other, 5)):
                answer = self.show(other, str(one), "--db", shared, "-M", site.cluster.name)
                self.assertEqual(answer["jobs"][0]["cluster"], site.cluster.name)
                self.assertEqual(answer["jobs"][0]["steps"]["kept"], steps)
                assert_buckets_close(self, answer, truth(site, one, "nobody", "here"))
            self.ask(other, "show", str(one), "--db", shared, "-M", "nowhere", status=1)

    def test_ids_that_begin_again_after_the_highest(self) -> None:
        # MinJobAge: slurmctld does not use an id again while it remembers the job.
        with Site("linuxproc", nodes=1, cred_expire_s=0, slurm_conf=["FirstJobId=50", "MaxJobId=53", "MinJobAge=2"]) as site:
            first = train(site, "nobody", "before", 12)
            others = [site.cluster.sbatch("true", user="games") for _ in range(2)]
            self.assertEqual([first] + others, [50, 51, 52])
            second, deadline = 0, time.monotonic() + 90
            while second != first:
                self.assertLess(time.monotonic(), deadline, second)
                second = site.cluster.sbatch("srun %s --dir %s --steps 6 --step-seconds 0.2 --init-seconds 0.3 --marks" % (
                    TRAINER, site.folder("after-%d" % second, "games")), user="games", options=["-N1", "--job-name=after"])
            site.settle(second)
            job = str(first)
            self.assertEqual([line[1:3] for line in self.lines(site, "-a", "-j", job)], [["after", "games"], ["before", "nobody"]])
            answer = self.show(site, job)
            self.assertIn("job id %s was used 2 times" % job, self.stderr)
            self.assertEqual((answer["jobs"][0]["user"], answer["jobs"][0]["steps"]["kept"]), ("games", 6))
            answer = self.show(site, "--run", "before")
            self.assertEqual((answer["jobs"][0]["user"], answer["jobs"][0]["steps"]["kept"]), ("nobody", 12))
            assert_buckets_close(self, answer, truth(site, first, "nobody", "before"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
