"""The structure of jobs: consecutive and concurrent sruns, restarts inside a job, shells, one node and several."""

import json
from typing import List

from ..harness import truth as truths
from ..harness.checks import assert_buckets_close, assert_interruptions, said_buckets
from ..harness.judge import seconds
from ..harness.truth import Truth
from ..harness.work import Outcome, Work
from . import Way


def restarts_inside(work: Work) -> Outcome:
    work.submit("while ! srun %s; do :; done" % work.trainer("--save-every 5 --steps 26 --crash-at-step 8,17,23"))
    return work.outcome()


def started_anew_by_its_launcher(work: Work) -> Outcome:
    """Like torchrun with its workers: Slurm sees one task, which continues."""
    work.submit("srun bash -c 'until %s; do sleep 2; done'" % work.trainer("--save-every 5 --steps 26 --crash-at-step 18"))
    return work.outcome()


def sruns_in_turn(work: Work) -> Outcome:
    """Each step continues where the previous one stopped, as in a script with phases."""
    work.submit("\n".join("srun %s || exit 1" % work.trainer("--save-every 10 --steps %d" % steps)
                          for steps in (10, 20, 30)))
    return work.outcome()


def sruns_side_by_side(work: Work) -> Outcome:
    """Two sruns of one training with a node each, and a third one that does not train."""
    folders = [work.folder + name for name in ("/left", "/right")]
    lines = ["srun -N1 -n1 -w %s --gres=gpu:8 %s &\ntraining=\"$training $!\"" % (
        node, work.trainer("--save-every 10 --steps 40", folder=folder)) for node, folder in zip(work.nodes, folders)]
    # It begins later and ends before them: a step without marks contributes nothing.
    lines += ["sleep 2; srun --overlap -N2 -n2 sleep 4"]
    work.submit("\n".join(lines + ["wait $training"]))
    work.site.settle(work.job)
    logs = [truths.read_log(folder) for folder in folders]
    truth = Truth(truths.side_by_side(logs), work.site.cluster.wait_sacct(work.job, bool))
    truth.doubt_ns = dict.fromkeys(["checkpoint_save", "productive"], truths.saved_while_another_trained_ns(logs))
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


def _array(work: Work, spec: str, *options: str) -> List[int]:
    """The job ids of its tasks, by task; each trains in its own folder, unless they form a chain of one run."""
    folder = work.folder if "%1" in spec else work.folder + "/$SLURM_ARRAY_TASK_ID"
    body = "srun " + work.trainer("--save-every 5 --steps $((5 + $SLURM_ARRAY_TASK_ID * 5))", folder=folder)
    # Each task uses one of the scenario's nodes.
    others = [node for node in work.site.cluster.nodes if node not in work.nodes]
    work.job = work.site.cluster.sbatch(body, user=work.user, options=[
        "--exclude=" + ",".join(others), "-N1", "--gres=gpu:8", "--job-name=" + work.name, "--array=" + spec] + list(options))
    rows = work.site.settle_array(work.job)
    return [int(row["JobIDRaw"]) for row in sorted(rows, key=lambda row: int(row["JobID"].split("_")[1]))]


def _apart(work: Work, jobs: List[int]) -> List[Outcome]:
    """The outcomes of array tasks that trained independently."""
    outcomes = []
    for task, job in enumerate(jobs, 1):
        folder = "%s/%d" % (work.folder, task)
        rows = [row for row in work.site.cluster.sacct(job) if row["JobIDRaw"].split(".")[0] == str(job)]
        outcomes.append(Outcome(work.site, job, folder, work.site.show_json(job), Truth(truths.read_log(folder), rows)))
    return outcomes


def array_without_name(work: Work) -> List[Outcome]:
    return _apart(work, _array(work, "1-4"))


def array_at_once(work: Work) -> List[Outcome]:
    """Tasks with the same run name that ran at the same time."""
    return _apart(work, _array(work, "1-3", "--goodput-run=at once"))


def array_of_one_run(work: Work) -> Outcome:
    """One task after the other; each continues where the previous one stopped."""
    jobs = _array(work, "1-4%1", "--goodput-run=in-turn")
    return work.run_outcome("in-turn", jobs, {"chained": True})


def heterogeneous(work: Work) -> Outcome:
    """Two components of different size; the program runs in both."""
    one, other = (["-p", "a3mega", "-w", node, "-N1", "--gres=gpu:%d" % gpus] for node, gpus in zip(work.nodes, (8, 4)))
    script = "srun --het-group=0,1 " + work.trainer("--save-every 10 --steps 20")
    work.job = work.site.cluster.sbatch(one + ["--job-name=" + work.name, ":"] + other + ["--wrap", script],
                                        user=work.user)
    return work.outcome()


def resized(work: Work) -> Outcome:
    work.submit("srun -N1 -n1 -w %s %s" % (work.nodes[0], work.trainer("--save-every 10 --steps 30")))
    work.steps(0, 12)
    work.control("update", "jobid=%d" % work.job, "numnodes=1")
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

    def test_a_worker_started_anew_begins_with_its_process(self) -> None:
        outcome = self.outcome(started_anew_by_its_launcher)
        _, worker = outcome.truth.incarnations[0]
        job, = outcome.show["jobs"]
        self.assertEqual((job["steps"]["count"], job["steps"]["kept"]), (26 + 18 - 15, 26))
        interruption, = job["interruptions"]
        self.assertAlmostEqual(interruption["time_ns"], worker.begin_ns, delta=truths.S // 50)
        self.assertIn("a new process replaced it in the same task, as with torchrun", interruption["evidence"])
        # From its process to its first step: the trainer logs its own 0.5 s of it.
        self.assertGreater(interruption["t_rm_s"], 0.5)
        # How long the old one still lived was not observed.
        pooled = ("launch", "stall", "lost_work")
        said, true = said_buckets(outcome.show), outcome.truth.sums()
        self.assertAlmostEqual(sum(said.get(name, 0) for name in pooled) / truths.S,
                               sum(true.get(name, 0) for name in pooled) / truths.S, delta=1.3)

    def test_sruns_one_after_another_are_starts_of_one_program(self) -> None:
        outcome = self.outcome(sruns_in_turn)
        job = self.close(outcome)
        self.assertEqual(job["steps"]["lost"], 0)
        self.assertEqual(job["steps"]["kept"], 30)
        self.assertEqual(seconds(outcome.show, "lost_work"), 0)

    def test_sruns_side_by_side_are_one_program(self) -> None:
        outcome = self.outcome(sruns_side_by_side)
        job = self.close(outcome)
        self.assertEqual(job["steps"]["count"], 40)
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

    def test_array_tasks_without_a_run_name_are_runs_of_their_own(self) -> None:
        outcomes = self.outcome(array_without_name)
        self.assertEqual(len(outcomes), 4)
        for task, outcome in enumerate(outcomes, 1):
            with self.subTest(task=task):
                job = self.close(outcome)
                self.assertEqual(len(job["attempts"]), 1)
                self.assertEqual(job["steps"]["kept"], 5 + 5 * task)
        shown = outcomes[1].site.sgoodput("show", "%d_2" % outcomes[3].site.array_of(outcomes[1].job), "--json")
        self.assertEqual(json.loads(shown.stdout)["jobs"], outcomes[1].show["jobs"])

    def test_array_tasks_one_after_another_are_one_run(self) -> None:
        outcome = self.outcome(array_of_one_run)
        job = self.close(outcome)
        self.assertEqual(len(job["attempts"]), 4)
        self.resumes(job)
        self.assertEqual((job["steps"]["kept"], job["steps"]["lost"]), (25, 0))
        self.assertEqual(job["run"], "in-turn")
        # A task becomes eligible up to a second after the one before ended: it waits for the run.
        self.assertEqual(seconds(outcome.show, "hold"), 0)

    def test_array_tasks_at_once_are_several_runs_whatever_they_are_called(self) -> None:
        outcomes = self.outcome(array_at_once)
        site = outcomes[0].site
        for outcome in outcomes:
            self.close(outcome)
        by_job = {outcome.job: outcome.show["jobs"][0] for outcome in outcomes}
        names = ["at once", "at once#2", "at once#3"]
        shown = [json.loads(site.sgoodput("show", "--run", name, "--json").stdout)["jobs"] for name in names]
        self.assertEqual([job["run"] for job, in shown], names)
        self.assertEqual({job["job_id"] for job, in shown}, set(by_job))
        for job, in shown:
            self.assertEqual(dict(job, run="at once"), by_job[job["job_id"]])
        text = site.sgoodput("show", "--run", "at once#3").stdout
        self.assertIn("they are 3 runs, at once to at once#3", " ".join(text.split()))
        self.assertEqual(site.sgoodput("show", "--run", "at once#4").returncode, 1)
        listed = site.sgoodput("-P", "-n", "-o", "Run", "-j", ",".join(str(job) for job in by_job)).stdout
        self.assertEqual(sorted(listed.splitlines()), names)

    def test_components_of_a_heterogeneous_job_are_one_attempt(self) -> None:
        outcome = self.outcome(heterogeneous)
        assert_buckets_close(self, outcome.show, outcome.truth)
        job, = outcome.show["jobs"]
        self.assertEqual(len(job["attempts"]), 1)
        self.assertEqual((job["gpus"], job["attempts"][0]["nodes"]), (12, 2))
        self.assertEqual(job["job_id"], outcome.job)
        self.assertEqual(job["steps"]["kept"], 20)
        self.assertEqual(job["interruptions"], [])
        listed = outcome.site.sgoodput("-P", "-n", "-o", "JobID,GPUs", "-j", str(outcome.job)).stdout
        self.assertEqual(listed, "%d|12\n" % outcome.job)

    def test_giving_a_node_back_splits_the_weight_only(self) -> None:
        outcome = self.outcome(resized)
        job = self.close(outcome)
        self.assertEqual(job["interruptions"], [])
        rows = [row for row in outcome.site.cluster.sacct(outcome.job, steps=False)]
        self.assertEqual([row["State"] for row in rows], ["RESIZING", "COMPLETED"])
        begin, change, end = rows[0]["Start"], rows[0]["End"], rows[1]["End"]
        waited = begin - rows[0]["Submit"]
        # In accounting's seconds; the time before the start counts with the requested resources.
        expected = 16 * (change - begin + waited) + 8 * (end - change)
        self.assertAlmostEqual(sum(bucket["gpu_seconds"] for bucket in job["buckets"]), expected, places=3)

    def test_four_nodes(self) -> None:
        outcome = self.outcome(four_nodes)
        job = self.close(outcome)
        self.assertEqual((job["gpus"], job["attempts"][0]["nodes"]), (32, 4))
        self.assertEqual(job["steps"]["kept"], 20)
        for bucket in job["buckets"]:
            self.assertAlmostEqual(bucket["gpu_seconds"], 32 * bucket["seconds"], places=6)
