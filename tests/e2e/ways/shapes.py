"""What jobs are made of: sruns after and beside each other, restarts inside, shells, one node and several."""

from ..harness import truth as truths
from ..harness.checks import assert_interruptions
from ..harness.judge import seconds
from ..harness.truth import Truth
from ..harness.work import Outcome, Work
from . import Way


def restarts_inside(work: Work) -> Outcome:
    work.submit("while ! srun %s; do :; done" % work.trainer("--save-every 5 --steps 26 --crash-at-step 8,17,23"))
    return work.outcome()


def sruns_in_turn(work: Work) -> Outcome:
    """Each goes on where the one before stopped, as a script with phases does."""
    work.submit("\n".join("srun %s || exit 1" % work.trainer("--save-every 10 --steps %d" % steps)
                          for steps in (10, 20, 30)))
    return work.outcome()


def sruns_side_by_side(work: Work) -> Outcome:
    """Two sruns of one training, a node each, and a third that only watches."""
    folders = [work.folder + name for name in ("/left", "/right")]
    lines = ["srun --overlap -N2 -n2 sleep 1000 &"]
    lines += ["srun -N1 -n1 -w %s --gres=gpu:8 %s &\ntraining=\"$training $!\"" % (
        node, work.trainer("--save-every 10 --steps 20", folder=folder)) for node, folder in zip(work.nodes, folders)]
    work.submit("\n".join(lines + ["wait $training", "kill %1", "wait"]))
    work.site.settle(work.job)
    log = truths.side_by_side([truths.read_log(folder) for folder in folders])
    truth = Truth(log, work.site.cluster.wait_sacct(work.job, bool))
    return Outcome(work.site, work.job, work.folder, work.site.show_json(work.job), truth)


def salloc_by_hand(work: Work) -> Outcome:
    steps = work.trainer("--save-every 10 --steps 10"), work.trainer("--save-every 10 --steps 20")
    shell = work.by_hand(["salloc"] + work.options() + ["bash", "-c", "srun %s; sleep 2; srun %s; sleep 2" % steps])
    shell.communicate(timeout=90)
    return work.outcome()


def srun_alone(work: Work) -> Outcome:
    shell = work.by_hand(["srun"] + work.options() + work.trainer("--save-every 10 --steps 20").split())
    shell.communicate(timeout=90)
    return work.outcome()


def four_nodes(work: Work) -> Outcome:
    work.submit("srun -N4 -n4 " + work.trainer("--save-every 10 --steps 20"))
    return work.outcome()


class Shapes(Way):
    def test_each_restart_inside_the_allocation_is_an_interruption(self) -> None:
        outcome = self.outcome(restarts_inside)
        job = self.close(outcome)
        self.assertEqual(job["state"], "COMPLETED")
        self.assertEqual(len(job["attempts"]), 1)
        assert_interruptions(self, outcome.show, [("failed", False)] * 3)
        self.assertEqual(job["steps"]["count"], 26 + (8 - 5) + (17 - 15) + (23 - 20))
        for interruption in job["interruptions"]:
            self.assertEqual(interruption["t_re_s"], 0)

    def test_sruns_one_after_another_are_starts_of_one_program(self) -> None:
        outcome = self.outcome(sruns_in_turn)
        job = self.close(outcome)
        self.assertEqual(job["steps"]["lost"], 0)
        self.assertEqual(job["steps"]["kept"], 30)
        self.assertEqual(seconds(outcome.show, "lost_work"), 0)

    def test_sruns_side_by_side_are_one_program(self) -> None:
        outcome = self.outcome(sruns_side_by_side)
        job = self.close(outcome)
        self.assertEqual(job["steps"]["count"], 20)
        self.assertEqual(job["interruptions"], [])
        self.assertEqual(job["gpus"], 16)

    def test_salloc_and_srun_by_hand(self) -> None:
        outcome = self.outcome(salloc_by_hand)
        job = self.close(outcome)
        self.assertEqual(job["steps"]["kept"], 20)
        self.assertGreater(seconds(outcome.show, "launch"), 2)
        self.assertGreater(seconds(outcome.show, "teardown"), 1)

    def test_srun_without_a_batch_script(self) -> None:
        outcome = self.outcome(srun_alone)
        job = self.close(outcome)
        self.assertEqual(job["state"], "COMPLETED")
        self.assertEqual(job["steps"]["kept"], 20)
        self.assertEqual(job["interruptions"], [])

    def test_four_nodes(self) -> None:
        outcome = self.outcome(four_nodes)
        job = self.close(outcome)
        self.assertEqual((job["gpus"], job["attempts"][0]["nodes"]), (32, 4))
        self.assertEqual(job["steps"]["kept"], 20)
        for bucket in job["buckets"]:
            self.assertAlmostEqual(bucket["gpu_seconds"], 32 * bucket["seconds"], places=6)
