#!/usr/bin/python3
"""Two clusters in a federation, with one slurmdbd: each has a goodputd and a database of its own.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_federation
"""

import json
import os
import time
import unittest
from typing import Any, Callable, Dict, List

from .harness.goodput_site import TRAINER, Site

SECOND = 1_000_000_000
WAIT_S = 60
STEPS = 40
FORMAT = ("Cluster,JobIDRaw,JobID,Submit,Eligible,Start,End,State,ExitCode,User,Account,Partition,QOS,NNodes,NodeList,AllocTRES,ReqTRES,"
          "Reason,JobName")


def seconds(job: Dict[str, Any], *names: str) -> float:
    """The time in these buckets."""
    return sum(bucket["ns"] for bucket in job["buckets"] if bucket["name"].startswith(names)) / SECOND


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class FederationTest(unittest.TestCase):
    here: Site
    there: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.here = Site("linuxproc", nodes=1)
        cls.addClassCleanup(cls.here.stop)
        cls.here.start()
        cls.there = Site("linuxproc", nodes=1, joins=cls.here)
        cls.addClassCleanup(cls.there.stop)
        cls.there.start()
        names = [site.cluster.name for site in (cls.here, cls.there)]
        cls.here.cluster.run(["sacctmgr", "-i", "add", "federation", "both", "clusters=" + ",".join(names)])
        for site in (cls.here, cls.there):
            cls.wait_until(lambda site=site: "PersistConnSend/Recv:Yes/Yes Synced:Yes" in  # type: ignore
                           site.cluster.run(["scontrol", "show", "federation"]).stdout)

    def setUp(self) -> None:
        for site in (self.here, self.there):
            self.drain(site)

    @staticmethod
    def wait_until(what: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not what():
            if time.monotonic() > deadline:
                raise AssertionError("not within %d s" % WAIT_S)
            time.sleep(0.1)

    def drain(self, site: Site) -> None:
        site.cluster.run(["scontrol", "update", "nodename=" + site.cluster.nodes[0], "state=drain", "reason=test"])

    def resume(self, site: Site) -> None:
        site.cluster.run(["scontrol", "update", "nodename=" + site.cluster.nodes[0], "state=resume"])

    def submit(self, name: str) -> int:
        folder = self.here.folder(name, "nobody")
        return self.here.cluster.sbatch(
            "srun %s --dir %s --steps %d --step-seconds 0.3 --save-every 10 --save-seconds 0.2 --init-seconds 0.5 --marks" % (
                TRAINER, folder, STEPS), user="nobody", options=["-N1", "--gres=gpu:8", "--requeue"])

    def wait_pending_in_both(self, job: int) -> None:
        for site in (self.here, self.there):
            site.wait_watched(job, ["PENDING"])

    def rows(self, site: Site, job: int, *states: str) -> List[Dict[str, Any]]:
        """Its attempts in accounting, once they are these."""
        def ready(rows: List[Dict[str, Any]]) -> bool:
            return [row["State"].split()[0] for row in rows if "." not in row["JobID"]] == list(states)
        found = site.cluster.wait_sacct(job, ready)
        return [row for row in found if "." not in row["JobID"]]

    def show(self, site: Site, job: int, state: str) -> Dict[str, Any]:
        """Once it is in this state; every second is in one bucket."""
        found: Dict[str, Any] = {}

        def ready() -> bool:
            found.update(site.show_json(job)["jobs"][0])
            return bool(found["state"] == state)
        self.wait_until(ready)
        self.assertEqual(sum(bucket["ns"] for bucket in found["buckets"]), found["wall_ns"])
        return found

    def test_each_cluster_counts_what_a_job_did_there(self) -> None:
        job = self.submit("requeued")
        self.wait_pending_in_both(job)
        self.resume(self.there)
        self.here.wait_steps(self.here.folder("requeued", "nobody"), 0, 12)

        # The job runs elsewhere, and waited only there.
        self.here.wait_watched(job, ["REVOKED"])
        revoked, = self.rows(self.here, job, "REVOKED")
        shown = self.show(self.here, job, "REVOKED")
        self.assertEqual(seconds(shown, ""), revoked["End"] - revoked["Submit"])
        self.assertEqual(seconds(shown, "hold"), seconds(shown, ""))
        self.assertEqual(shown["interruptions"], [])
        self.assertIn("no steps seen here: another cluster of the federation ran the job", self.here.sgoodput("show", str(job)).stdout)

        # It is requeued there, and continues here.
        self.resume(self.here)
        self.drain(self.there)
        self.there.cluster.run(["scontrol", "requeue", str(job)])
        self.here.cluster.wait_state(job, {"COMPLETED"})
        first, given_up = self.rows(self.there, job, "REQUEUED", "REVOKED")
        revoked, second = self.rows(self.here, job, "REVOKED", "COMPLETED")

        there = self.show(self.there, job, "REVOKED")
        self.assertEqual(seconds(there, "queue_"), first["Start"] - first["Submit"])
        self.assertEqual(seconds(there, "hold"), given_up["End"] - first["End"])
        self.assertEqual(seconds(there, "requeue_backoff"), 0)
        self.assertEqual([i["cause"] for i in there["interruptions"]], ["admin_requeue"], there["interruptions"])
        here = self.show(self.here, job, "COMPLETED")
        self.assertEqual(seconds(here, "hold"), second["Submit"] - revoked["Submit"])
        self.assertEqual(seconds(here, "requeue_backoff"), second["Eligible"] - second["Submit"])
        self.assertEqual(seconds(here, "queue_"), second["Start"] - second["Eligible"])
        self.assertEqual(here["interruptions"], [])
        restored, = [record["step"] for record in self.here.events(self.here.folder("requeued", "nobody"), "restore_end")]
        self.assertEqual((there["steps"]["kept"], here["steps"]["kept"]), (restored, STEPS - restored))

        # slurmctld 22.05 keeps its first attempt without a job id for a while: it is no job.
        if self.there.cluster.release() < (23, 2, 0):
            self.assertIn("JobId=4294967294", self.there.cluster.run(["scontrol", "-o", "show", "job"]).stdout)
        listed = json.loads(self.there.sgoodput("--json", "-a").stdout)["jobs"]
        self.assertIn(job, [each["job_id"] for each in listed])
        self.assertNotIn(4294967294, [each["job_id"] for each in listed])

        # In one database of both clusters, it waited once.
        exported = self.here.path("goodput", "sacct.txt")
        with open(exported, "w") as file:
            file.write(self.here.cluster.run(["sacct", "-L", "-a", "-D", "-P", "-X", "--delimiter=4f1c9a52-8f0d", "-o", FORMAT]).stdout)
        database = self.here.path("goodput", "both.db")
        said = self.here.sgoodput("import", "--db", database, exported)
        self.assertEqual(said.returncode, 0, said.stderr)
        waited = 0.0
        for site in (self.here, self.there):
            answer = self.here.sgoodput("show", str(job), "-M", site.cluster.name, "--db", database, "--no-refresh", "--json")
            shown, = json.loads(answer.stdout)["jobs"]
            self.assertEqual(sum(bucket["ns"] for bucket in shown["buckets"]), shown["wall_ns"])
            waited += seconds(shown, "queue_", "requeue_backoff")
        self.assertEqual(waited, first["Start"] - first["Submit"] + second["Start"] - second["Submit"])

    def test_the_sibling_of_a_job_that_ran_where_it_was_submitted_is_no_run(self) -> None:
        job = self.submit("stayed")
        self.wait_pending_in_both(job)
        self.resume(self.here)
        self.here.cluster.wait_state(job, {"COMPLETED"})
        sibling, = self.rows(self.there, job, "REVOKED")
        shown = self.show(self.there, job, "REVOKED")
        self.assertEqual(seconds(shown, "hold"), sibling["End"] - sibling["Submit"])
        self.assertEqual((seconds(shown, ""), shown["interruptions"]), (seconds(shown, "hold"), []))
        row, = self.rows(self.here, job, "COMPLETED")
        shown = self.show(self.here, job, "COMPLETED")
        self.assertEqual(seconds(shown, "queue_"), row["Start"] - row["Submit"])
        self.assertEqual((shown["steps"]["kept"], seconds(shown, "hold")), (STEPS, 0))

    def test_a_job_that_was_cancelled_while_pending_waited_once(self) -> None:
        job = self.submit("cancelled")
        self.wait_pending_in_both(job)
        self.here.cluster.run(["scancel", str(job)])
        row, = self.rows(self.here, job, "CANCELLED")
        shown = self.show(self.here, job, "CANCELLED")
        self.assertEqual(seconds(shown, "queue_"), row["End"] - row["Submit"])
        shown = self.show(self.there, job, "REVOKED")
        self.assertEqual(seconds(shown, ""), seconds(shown, "hold"))


if __name__ == "__main__":
    unittest.main()
