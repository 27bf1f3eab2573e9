#!/usr/bin/python3
"""A program that loses a member, goes on with fewer GPUs, promotes a spare, waits with one of its ranks and grows again, on a real
cluster: the GPU time of each bucket is what the ranks' own logs say.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_elastic
"""

import json
import os
import time
import unittest
from typing import Dict, List, Tuple

from .harness.goodput_site import TRAINER, Site
from .harness.lateness import lateness
from .harness.judge import assert_valid

GPUS_A_RANK = 8
RANKS = 4
STEP_S = 0.5
# Ranks 0, 1 and 2 train, 3 is a spare. Rank 2 is lost at step 5 and replaced at step 8. Rank 1 waits from step 11 to 13.
PLAN = "1:012+3|5:01+3|8:013|11:03.1|14:013"
STEPS = 18
FAILS = 9  # at first, on all ranks: they try it again


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ElasticTest(unittest.TestCase):
    site: Site
    job: int
    show: Dict

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("cgroup", nodes=RANKS, cred_expire_s=0)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        cls.folder = cls.site.folder("elastic", "nobody")
        train = "%s --dir %s --steps %d --step-seconds %g --save-every %d --marks --members '%s' --fail-at-step %d --rank-gpus %d --wanted-gpus %d" % (
            TRAINER, cls.folder, STEPS, STEP_S, STEPS, PLAN, FAILS, GPUS_A_RANK, 3 * GPUS_A_RANK)
        cls.job = cls.site.cluster.sbatch("srun -n%d --kill-on-bad-exit=0 %s" % (RANKS, train), user="nobody",
                                          options=["-N%d" % RANKS, "-n%d" % RANKS, "--gres=gpu:%d" % GPUS_A_RANK])
        cls.site.settle(cls.job)
        cls.show = cls.site.show_json(cls.job)

    def members(self) -> List[Dict]:
        return self.site.events(self.folder, "members")

    def told(self) -> Tuple[float, Dict[str, float]]:
        """GPU-seconds by bucket while the program trained, according to rank 0's log, and how long it did."""
        changes = self.members()
        end = self.site.events(self.folder, "exit")[0]["t"]
        sums = {"stepping": 0.0, "standby": 0.0, "idle_member": 0.0}
        for change, until in zip(changes, [one["t"] for one in changes[1:]] + [end]):
            seconds = (until - change["t"]) / 1e9 * GPUS_A_RANK
            sums["stepping"] += seconds * len(change["stepping"])
            sums["standby"] += seconds * len(change["spares"])
            # Those that wait, and those that are lost but still allocated.
            sums["idle_member"] += seconds * (RANKS - len(change["stepping"]) - len(change["spares"]))
        return (end - changes[0]["t"]) / 1e9, sums

    def gpu_seconds(self) -> Dict[str, float]:
        return {bucket["name"]: bucket["gpu_seconds"] for bucket in self.show["jobs"][0]["buckets"]}

    def test_the_ranks_did_what_was_planned(self) -> None:
        self.assertEqual([(one["step"], one["stepping"], one["idle"], one["spares"]) for one in self.members()], [
            (1, [0, 1, 2], [], [3]), (5, [0, 1], [], [3]), (8, [0, 1, 3], [], []), (11, [0, 3], [1], []), (14, [0, 1, 3], [], [])])
        self.assertEqual(len(self.site.events(self.folder, "lost", 2)), 1)
        self.assertEqual([one["step"] for one in self.site.events(self.folder, "step_begin", 3)], [8, 9, 9, 10] + list(range(11, STEPS + 1)))
        self.assertEqual([one["step"] for rank in range(RANKS) for one in self.site.events(self.folder, "step_failed", rank)], [FAILS] * 3)

    def test_the_answer_is_valid_and_the_steps_were_kept(self) -> None:
        assert_valid(self.show)
        job = self.show["jobs"][0]
        self.assertEqual([job["steps"][name] for name in ("count", "kept", "lost", "failed")], [STEPS + 1, STEPS, 1, 1], job["interruptions"])
        self.assertTrue(job["ledger"]["holds"])
        self.assertTrue(job["accounting"]["agrees"], job["accounting"])

    def test_each_world_is_what_the_program_told(self) -> None:
        worlds = self.show["jobs"][0]["worlds"]
        self.assertEqual([(one["stepping"], one["wanted"], one["spares"], one["evidence"]) for one in worlds], [
            (24, 24, 8, "mark"), (16, 24, 8, "mark"), (24, 24, 0, "mark"), (16, 24, 0, "mark"), (24, 24, 0, "mark")])
        for world, told in zip(worlds, self.members()):
            self.assertAlmostEqual(world["begin_ns"] / 1e9, told["t"] / 1e9, delta=0.05 * lateness())

    def test_gpu_time_is_what_the_logs_tell(self) -> None:
        _, told = self.told()
        seen = self.gpu_seconds()
        # Rank 0's exit is seen some milliseconds after it wrote its log, and the lost rank's node holds its GPUs until the end.
        # Accounting's end is a whole second.
        slack = 1.1 * GPUS_A_RANK * RANKS * lateness()
        self.assertAlmostEqual(seen["standby"], told["standby"], delta=slack)
        self.assertAlmostEqual(seen["idle_member"], told["idle_member"], delta=slack)
        self.assertEqual(seen["missing"], 0)
        trained = sum(seen[name] for name in ("productive", "checkpoint_save", "lost_work", "at_risk"))
        self.assertAlmostEqual(trained, told["stepping"], delta=slack)
        ranks = sum(len(self.site.events(self.folder, "step_end", rank)) for rank in range(RANKS))
        self.assertAlmostEqual(seen["productive"], ranks * STEP_S * GPUS_A_RANK, delta=0.1 * lateness() * ranks * STEP_S * GPUS_A_RANK + slack)

    def test_the_step_that_failed_is_lost_work(self) -> None:
        lost = next(bucket for bucket in self.show["jobs"][0]["buckets"] if bucket["name"] == "lost_work")
        begin = next(one["t"] for one in self.site.events(self.folder, "step_begin") if one["step"] == FAILS)
        failed, = self.site.events(self.folder, "step_failed")
        self.assertAlmostEqual(lost["seconds"], (failed["t"] - begin) / 1e9, delta=0.05 * lateness())
        self.assertAlmostEqual(lost["gpu_seconds"], 3 * GPUS_A_RANK * lost["seconds"], places=3)
        self.assertEqual([part["name"] for part in lost["parts"]], ["failed_step"])
        explained = self.site.sgoodput("show", str(self.job), "--explain", "lost_work").stdout
        self.assertIn("the step failed and was tried again", " ".join(explained.split()))

    def test_definitions_that_count_seconds_do_not_see_it(self) -> None:
        job = self.show["jobs"][0]
        seconds, told = self.told()
        share = told["stepping"] / (seconds * GPUS_A_RANK * RANKS)
        self.assertLess(share, 0.75)
        productive = next(bucket for bucket in job["buckets"] if bucket["name"] == "productive")
        self.assertAlmostEqual(productive["gpu_seconds"] / (productive["seconds"] * GPUS_A_RANK * RANKS), share, delta=0.05)
        # google_api takes for compilation what the first step needs beyond the others: here its ranks wait for the last to begin.
        first = (self.site.events(self.folder, "step_end")[0]["t"] - self.site.events(self.folder, "step_begin")[0]["t"]) / 1e9
        allocated = (job["end_ns"] - job["attempts"][0]["start_ns"]) / 1e9
        productive_share = job["definitions"]["google_api"] + max(0.0, first - STEP_S) / allocated
        self.assertGreater(productive_share, job["definitions"]["rg"] / 0.75)

    def test_a_person_is_told(self) -> None:
        text = self.site.sgoodput("show", str(self.job)).stdout
        self.assertRegex(text, r"Elastic  trained with 16 of 24 GPUs for [23]\.\ds\n")
        self.assertRegex(text, r"\n  standby +0\.0\dh +\d+\.\d%  spare GPUs")
        self.assertRegex(text, r"\n  idle_member +0\.0\dh +\d+\.\d%  allocated GPUs")

    def test_sums_over_runs_agree(self) -> None:
        report = json.loads(self.site.sgoodput("report", "-a", "--json", "--by", "node").stdout)
        seen = self.gpu_seconds()
        for name in ("productive", "standby", "idle_member"):
            sums = sum(bucket["gpu_seconds"] for row in report["rows"] for bucket in row["buckets"] if bucket["name"] == name)
            self.assertAlmostEqual(sums, seen[name], places=3)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class NodeLostTest(unittest.TestCase):
    """Spares that are declared at submission; and a node that fails and that Slurm takes out of the job (--no-kill): its GPUs are
    missing."""

    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("cgroup", nodes=3, cred_expire_s=0)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()

    def test_declared_spares_stand_by_while_a_program_without_such_marks_runs(self) -> None:
        folder = self.site.folder("spares", "nobody")
        job = self.site.cluster.sbatch("srun -n1 %s --dir %s --steps 30 --step-seconds 0.2 --marks" % (TRAINER, folder), user="nobody",
                                       options=["-N1", "-w", self.site.cluster.nodes[0], "--gres=gpu:8", "--goodput-spares=2"])
        self.site.settle(job)
        answer = self.site.show_json(job)["jobs"][0]
        self.assertEqual([(one["stepping"], one["spares"], one["evidence"]) for one in answer["worlds"]], [(None, 2, "scheduler")])
        buckets = {bucket["name"]: bucket for bucket in answer["buckets"]}
        self.assertAlmostEqual(buckets["productive"]["gpu_seconds"], 6 * buckets["productive"]["seconds"], places=3)
        steps = self.site.events(folder, "step_end")
        begin = self.site.events(folder, "start")[0]["exec_t"]
        # Accounting has whole seconds.
        self.assertAlmostEqual(buckets["standby"]["gpu_seconds"], 2 * (steps[-1]["t"] - begin) / 1e9, delta=2 * (1 + 0.1 * lateness()))
        self.assertEqual(buckets["idle_member"]["gpu_seconds"], 0)

    def test_gpus_that_slurm_took_away_are_missing(self) -> None:
        site = self.site
        folder = site.folder("lost", "nobody")
        train = "%s --dir %s --steps 20 --step-seconds %g --save-every 20 --marks --members '1:012|12:01' --rank-gpus 8 --wanted-gpus 24" % (
            TRAINER, folder, STEP_S)
        job = site.cluster.sbatch("srun -n3 --no-kill --kill-on-bad-exit=0 %s" % train, user="nobody",
                                  options=["-N3", "-n3", "--no-kill", "--gres=gpu:8"])
        site.wait_event(folder, "step_begin", step=6)
        # Rank 2 is on the last node.
        before = time.time()
        site.cluster.run(["scontrol", "update", "nodename=" + site.cluster.nodes[2], "state=down", "reason=power supply"])
        site.settle(job)
        show = site.show_json(job)
        assert_valid(show)
        answer = show["jobs"][0]
        self.assertEqual((answer["gpus"], len(answer["attempts"])), (16, 1))
        self.assertEqual((answer["steps"]["count"], answer["steps"]["kept"]), (20, 20), answer["interruptions"])
        self.assertTrue(answer["accounting"]["agrees"], answer["accounting"])
        seen = {bucket["name"]: bucket["gpu_seconds"] for bucket in answer["buckets"]}
        missing = (site.events(folder, "exit")[0]["t"] / 1e9 - before) * 8
        # Slurm accounts for the change in whole seconds.
        self.assertAlmostEqual(seen["missing"], missing, delta=8 * 1.5 * lateness())
        self.assertLess(seen["idle_member"], 8 * 1.5 * lateness())
        self.assertLess(answer["goodput"]["scheduling"], 1 - 0.8 * missing / (24 * answer["wall_s"]))


if __name__ == "__main__":
    unittest.main()
