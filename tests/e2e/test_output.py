#!/usr/bin/python3
"""Jobs that only print, on a real cluster: what goodputd reads from their output, compared with their own log.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_output
"""

import glob
import json
import os
import signal
import time
import unittest
from typing import Dict, List

from .harness import schemas
from .harness.goodput_site import BUILD, Site
from .harness.judge import assert_valid
from .harness.lateness import lateness
from .harness.reach import reachable
from .harness.stage import Plan, Stage
from .harness.work import Outcome, Work

HERE = os.path.dirname(os.path.abspath(__file__))
PRINTER = "/usr/bin/python3 " + os.path.join(reachable(os.path.join(HERE, "printing")), "printer.py")
NCCL_TESTS = "/usr/bin/python3 " + os.path.join(reachable(os.path.join(HERE, "printing")), "nccl_tests.py")
IMPORTER = reachable(os.path.join(BUILD, "tests", "spank", ".libs", "import_plugin.so"))
STAGE = Stage()
S = 1_000_000_000
# A line without a time has that of the look that finds it, and the first look of each of two starts waits for its helper.
UNDATED_S = 2.5


def truth_of(work: Work) -> str:
    return work.folder + ".truth"


def said(work: Work) -> List[Dict]:
    try:
        with open(truth_of(work)) as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []


def wait_steps(work: Work, start: int, count: int) -> None:
    deadline = time.monotonic() + 90
    while True:
        records = said(work)
        starts = [i for i, record in enumerate(records) if record["event"] == "start"]
        if len(starts) > start and sum(r["event"] == "step_end" for r in records[starts[start]:]) >= count:
            return
        if time.monotonic() > deadline:
            raise RuntimeError("start %d has not done %d steps: %s" % (start, count, records[-3:]))
        time.sleep(0.05)


def wait_followed(work: Work) -> None:
    """Until goodputd has read a step: on a busy machine it looks at a new job late, when the job may have ended or a requeue may have
    truncated its output."""
    deadline = time.monotonic() + 60
    while work.site.show_json(work.job)["jobs"][0]["attempts"][-1]["first_step"] is None and time.monotonic() < deadline:
        time.sleep(4)


def outcome(work: Work, followed: bool = True) -> Outcome:
    """followed: whether goodputd has read the output to its end, possibly a moment after the job's end."""
    work.site.settle(work.job, timeout=240)
    last = max(record["step"] for record in said(work))
    deadline = time.monotonic() + 60
    while True:
        show = work.site.show_json(work.job)
        if not followed or show["jobs"][0]["attempts"][-1]["last_step"] == last or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    return Outcome(work.site, work.job, work.folder, show, None, {"said": said(work)})  # type: ignore


def restarted(work: Work, style: str, profile: str, *options: str, srun: str = "srun", more: str = "") -> Outcome:
    """At least ten of 24 steps, then requeued; continues with step 6."""
    again = "--first $((SLURM_RESTART_COUNT > 0 ? 6 : 1))"
    requeued = truth_of(work) + ".requeued"
    work.submit("%s %s %s %s 24 %s --until %s %s" % (srun, PRINTER, truth_of(work), style, again, requeued, more),
                "--goodput-log-profile=" + profile, *options)
    wait_steps(work, 0, 11)
    wait_followed(work)
    work.control("requeue", str(work.job))
    with open(requeued, "w"):
        pass
    return outcome(work)


def truncated(work: Work) -> Outcome:
    return restarted(work, "undated", "megatron")


def appended(work: Work) -> Outcome:
    return restarted(work, "hf", "auto", "--open-mode=append")


def learned(work: Work) -> Outcome:
    """No profile knows these lines."""
    return restarted(work, "own", "auto", "--open-mode=append")


def redirected(work: Work) -> Outcome:
    """The script's shell appends to a file of which Slurm knows nothing, and no line has a time."""
    return restarted(work, "undated", "megatron", more=">> %s.log 2>&1" % work.folder)


def redirected_by_itself(work: Work) -> Outcome:
    """A program that the script starts without srun, with an output of its own, once from a subshell."""
    work.pause(45)  # until the jobs that are requeued have started again
    run = "%s %s own %%d > %s.%%s.log 2>&1" % (PRINTER, truth_of(work), work.folder)
    return trained_all(work, "%s; (cd /; %s)" % (run % (15, "a"), run % (12, "b")), "auto")


def labelled(work: Work) -> Outcome:
    """Two ranks that print the same, with colours and labels, and a separate file for errors."""
    return restarted(work, "titan", "torchtitan", "-n2", "--error=" + work.folder + ".err", srun="srun --label")


def through_srun(work: Work) -> Outcome:
    """As with NeMo-Run: no %t in the name, and srun itself writes the file."""
    return restarted(work, "megatron", "megatron", srun="srun -n2 --label --output=%s.log_%%j_${SLURM_RESTART_COUNT:-0}.out" % work.folder)


def noisy(work: Work) -> Outcome:
    """Megabytes without a newline before the first step."""
    work.submit("srun %s %s megatron 12 --noise" % (PRINTER, truth_of(work)), "--goodput-log-profile=megatron")
    return outcome(work)


def unfollowed(work: Work) -> Outcome:
    """Its lines go through a pipe to /dev/null."""
    work.submit("srun %s %s megatron 4 2>&1 | cat > /dev/null" % (PRINTER, truth_of(work)), "--goodput-log-profile=megatron")
    return outcome(work, followed=False)


def told_while_set_up(work: Work) -> Outcome:
    """A checkpoint is requested while its image is imported, as with proctrack/cgroup: the task receives the signal."""
    wait_set_up(work)
    os.kill(task_pids(work)[0], signal.SIGUSR1)
    return told(work)


def told_what_sets_up(work: Work) -> Outcome:
    """With proctrack/linuxproc, Slurm does not signal processes named slurmstepd: the commands that import the image receive the
    signal."""
    wait_set_up(work)
    work.site.cluster.run(["scancel", "-s", "USR1", "%d.0" % work.job])
    return told(work)


def wait_set_up(work: Work) -> None:
    # The signal ends the import, which otherwise takes longer than a busy machine needs to send it.
    work.submit("IMPORT_SECONDS=60 srun %s %s megatron 4; true" % (PRINTER, truth_of(work)), "--goodput-log-profile=megatron")
    deadline = time.monotonic() + 60
    while not task_pids(work) and time.monotonic() < deadline:
        time.sleep(0.1)
    # goodputd looks at tasks once a second, later on a busy machine. What it never saw is unobserved.
    time.sleep(4 * min(lateness(), 2.5))


def told(work: Work) -> Outcome:
    work.site.settle(work.job)
    # goodputd checks once a second for tasks that ended like this.
    deadline = time.monotonic() + 60
    while not task_pids(work, "task_exec") and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2)
    return Outcome(work.site, work.job, work.folder, work.site.show_json(work.job), None, {"tasks": task_records(work, "task_")})  # type: ignore


def task_records(work: Work, kind: str) -> List[Dict]:
    """Of srun's tasks, from the plugin and goodputd; those kinds that begin so."""
    records: List[Dict] = []
    for path in glob.glob(os.path.join(work.site.spool, "*", "*.jsonl")):
        with open(path) as file:
            records += [json.loads(line) for line in file if '"kind":"%s' % kind in line and '"job":%d,' % work.job in line]
    return [record for record in records if record["slurm_step"] == "0"]


def task_pids(work: Work, kind: str = "task_start") -> List[int]:
    return [record["pid"] for record in task_records(work, kind)]


def network_tested(work: Work) -> Outcome:
    """All three nodes, then two of them, then one alone; then it trains."""
    nodes = work.nodes
    work.submit("srun -N3 -n3 {0} 187.5\nsrun -N2 -n2 -w {1},{2} {0} 92.25\nsrun -N1 -n1 -w {2} {0} 430\nsrun -N1 -n1 {3} {4} megatron 6".format(
        NCCL_TESTS, nodes[0], nodes[2], PRINTER, truth_of(work)), "--goodput-log-profile=megatron")
    return outcome(work)


def buffered(work: Work) -> Outcome:
    """Python keeps the lines until 8 KiB have come together: nearly 200 of them."""
    work.pause(20)
    work.submit("srun %s %s own 700 --seconds 0.05 --buffered" % (PRINTER, truth_of(work)), "--goodput-log-profile=auto")
    return outcome(work)


def shared(work: Work) -> Outcome:
    """Two programs that train, far apart, print to the same file."""
    work.pause(20)  # until the other jobs of this module have started
    run = "srun --overlap -n1 %s %s.%s undated %d --first %d"
    work.submit("%s & %s & wait" % (run % (PRINTER, truth_of(work), "a", 40, 21), run % (PRINTER, truth_of(work), "b", 40, 1)),
                "--goodput-log-profile=megatron")
    work.site.settle(work.job)
    return Outcome(work.site, work.job, work.folder, work.site.show_json(work.job), None, {})  # type: ignore


def trained_all(work: Work, script: str, profile: str) -> Outcome:
    """A script that trains several times; goodputd has read all its steps, as far as it ever will."""
    work.submit(script, "--goodput-log-profile=" + profile)
    work.site.settle(work.job, timeout=240)
    done = sum(record["event"] == "step_end" for record in said(work))
    deadline = time.monotonic() + 60
    while work.site.show_json(work.job)["jobs"][0]["steps"]["count"] < done and time.monotonic() < deadline:
        time.sleep(0.2)
    return Outcome(work.site, work.job, work.folder, work.site.show_json(work.job), None, {"said": said(work)})  # type: ignore


def folds(work: Work) -> Outcome:
    work.pause(45)
    return trained_all(work, "for fold in 1 2 3; do srun %s %s total 15; done" % (PRINTER, truth_of(work)), "auto")


def stages(work: Work) -> Outcome:
    work.pause(45)
    run = "srun %s %s hf %%d" % (PRINTER, truth_of(work))
    return trained_all(work, "; ".join(run % steps for steps in (12, 20, 8)), "hf")


def without_srun(work: Work) -> Outcome:
    work.pause(45)
    return trained_all(work, "for fold in 1 2 3; do %s %s own 15; done" % (PRINTER, truth_of(work)), "auto")


def unknown_profile(work: Work) -> Outcome:
    work.submit("srun %s %s megatron 4" % (PRINTER, truth_of(work)), "--goodput-log-profile=megatorn")
    return outcome(work, followed=False)


def started_slowly(work: Work) -> Outcome:
    """Its image import takes 3 s, the compilation in its first step 4 s, and the removal of its container 4 s."""
    work.submit("IMPORT_SECONDS=3 REMOVE_SECONDS=4 srun %s %s megatron 10 --compile-seconds 4" % (PRINTER, truth_of(work)), "--goodput-log-profile=megatron")
    return outcome(work)


def started_quickly(work: Work) -> Outcome:
    """Its image is cached: half a second."""
    work.submit("IMPORT_SECONDS=0.5 srun %s %s megatron 10" % (PRINTER, truth_of(work)), "--goodput-log-profile=megatron", "--goodput-run=quick")
    return outcome(work)


SCENARIOS = [(started_slowly, 1), (started_quickly, 1), (truncated, 1), (appended, 1), (learned, 1), (redirected, 1), (redirected_by_itself, 1), (labelled, 1), (through_srun, 1), (noisy, 1), (shared, 1), (buffered, 1), (folds, 1), (stages, 1), (without_srun, 1), (unknown_profile, 1), (unfollowed, 1), (told_while_set_up, 1), (told_what_sets_up, 1), (network_tested, 3)]


def setUpModule() -> None:
    unittest.addModuleCleanup(STAGE.stop)
    site = Site("linuxproc", nodes=sum(nodes for _, nodes in SCENARIOS), cred_expire_s=6, conf=["busbw = 185"])
    site.cluster.plugstack.append("required " + IMPORTER)
    plan: Plan = {"": (site, SCENARIOS)}
    STAGE.start(plan)


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class OutputTest(unittest.TestCase):
    def judge(self, came: Outcome, within_s: float = 1.1) -> Dict:
        """Checks that every step of every start occurs once, with the duration that the program logs."""
        assert_valid(came.show)
        job = came.show["jobs"][0]
        starts: List[List[Dict]] = []
        for record in came.more["said"]:
            if record["event"] == "start":
                starts.append([])
            starts[-1].append(record)
        message = "%s\n%s\n%s" % (json.dumps(job["attempts"], indent=1), json.dumps(job["buckets"], indent=1), came.site.daemon_log()[-3000:])
        self.assertEqual(len(job["attempts"]), len(starts), message)
        for number, (attempt, start) in enumerate(zip(job["attempts"], starts)):
            begun = [r["step"] for r in start if r["event"] == "step_begin"]
            done = [r["step"] for r in start if r["event"] == "step_end"]
            self.assertEqual(attempt["first_step"], begun[0], message)
            # The step in which the program was killed is recognized if at least half of it was executed.
            self.assertIn(attempt["last_step"], {done[-1], begun[-1]}, message)
            self.assertEqual(attempt["last_step"] == done[-1] or number + 1 < len(starts), True, message)
        # The executed work, except the part that the next start repeated.
        kept = [r["t"] for i, start in enumerate(starts) for r in start if r["event"] == "step_end"
                and not (i + 1 < len(starts) and r["step"] >= 6)]
        begins = [r["t"] for i, start in enumerate(starts) for r in start if r["event"] == "step_begin"
                  and not (i + 1 < len(starts) and r["step"] >= 6)]
        true = (sum(kept) - sum(begins)) / S
        shown = {b["name"]: b["seconds"] for b in job["buckets"]}
        self.assertAlmostEqual(shown["productive"], true, delta=within_s * lateness(), msg=message)
        evidence = {b["name"]: b["evidence"] for b in job["buckets"]}
        self.assertEqual(evidence["productive"], "log", message)
        return job

    def test_a_requeue_that_truncates_the_output(self) -> None:
        job = self.judge(STAGE.outcome("", truncated), UNDATED_S)
        self.assertEqual(job["attempts"][0]["kept_step"], 5)

    def test_a_requeue_that_appends_to_it_with_a_bar_that_has_no_time(self) -> None:
        # Each start of a bar is known to the second.
        job = self.judge(STAGE.outcome("", appended), within_s=2.2)
        self.assertEqual(job["attempts"][0]["kept_step"], 5)

    def test_a_loop_that_no_profile_knows_is_learned_from_its_lines(self) -> None:
        job = self.judge(STAGE.outcome("", learned), UNDATED_S)
        self.assertEqual(job["attempts"][0]["kept_step"], 5)

    def test_a_script_that_appends_to_a_file_of_its_own(self) -> None:
        job = self.judge(STAGE.outcome("", redirected), UNDATED_S)
        self.assertEqual(job["attempts"][0]["kept_step"], 5)

    def test_several_ranks_with_labels_and_colours_in_a_file_of_errors(self) -> None:
        job = self.judge(STAGE.outcome("", labelled))
        self.assertEqual(job["attempts"][0]["kept_step"], 5)

    def test_a_file_that_srun_writes(self) -> None:
        job = self.judge(STAGE.outcome("", through_srun))
        self.assertEqual(job["attempts"][0]["kept_step"], 5)

    def test_noise_changes_nothing(self) -> None:
        self.judge(STAGE.outcome("", noisy))

    def test_a_signal_while_a_container_is_set_up_is_handled_by_nobody(self) -> None:
        came = STAGE.outcome("", told_while_set_up)
        signals = [s for s in came.show["jobs"][0]["signals"] if s["signal"] == "USR1" and s["slurm_step"] == "0"]
        self.assertEqual([(s["set_up"], s["handled"], s["died"]) for s in signals], [(True, False, True)])
        self.assertRegex(came.site.sgoodput("show", str(came.job), "--all").stdout, r"USR1 +\S+ +1 task.* +set up ")
        self.set_up_until_its_end(came)

    def test_a_signal_to_what_sets_a_container_up_is_handled_by_nobody(self) -> None:
        came = STAGE.outcome("", told_what_sets_up)
        signals = [s for s in came.show["jobs"][0]["signals"] if s["signal"] == "USR1" and s["slurm_step"] == "0"]
        self.assertEqual([(s["set_up"], s["handled"], s["died"]) for s in signals], [(True, False, False)])
        self.set_up_until_its_end(came)

    def set_up_until_its_end(self, came: Outcome) -> None:
        shown = {b["name"]: b["seconds"] for b in came.show["jobs"][0]["buckets"]}
        message = "%s\n%s" % (shown, json.dumps(came.more["tasks"], indent=1))
        # Accounting truncates up to a second at the end.
        self.assertGreater(shown["launch"], 1, message)
        self.assertLess(shown["unobserved"], 0.5, message)

    def test_output_that_cannot_be_followed_is_said_once_with_what_to_change(self) -> None:
        came = STAGE.outcome("", unfollowed)
        self.assertEqual(came.show["jobs"][0]["state"], "COMPLETED")
        said = " ".join(came.site.sgoodput("show", str(came.job)).stdout.split())
        self.assertEqual(said.count("goodputd read no line of the job's output that matches log profile 'megatron': let sbatch or srun write the output to a file"), 1, said)
        followed = STAGE.outcome("", truncated)
        self.assertNotIn("no line of the job's output", followed.site.sgoodput("show", str(followed.job)).stdout)

    def test_what_nccl_tests_measured_is_kept_with_its_nodes(self) -> None:
        came = STAGE.outcome("", network_tested)
        job = self.judge(came)
        nodes = job["collectives"][0]["nodes"]
        self.assertEqual(len(nodes), 3)
        self.assertEqual([(test["nodes"], test["bytes"], test["busbw"]) for test in job["collectives"]],
                         [(nodes, 8 << 30, 187_500_000_000), ([nodes[0], nodes[2]], 8 << 30, 92_250_000_000), ([nodes[2]], 8 << 30, 430_000_000_000)])
        site, number = came.site, str(came.job)
        said = site.sgoodput("show", number).stdout
        self.assertIn("Network  92.25 GB/s between 2 nodes, messages of 8 GiB (busbw from nccl-tests)\n         below the 185 GB/s", said)
        report = json.loads(site.sgoodput("report", "-j", number, "--by", "node", "--json").stdout)
        schemas.check(report, "report")
        self.assertEqual({row["group"]: row["network"]["busbw"] / 1e9 for row in report["rows"] if row["group"] in nodes},
                         {nodes[0]: 92.25, nodes[1]: 187.5, nodes[2]: 92.25})
        table = site.sgoodput("report", "-j", number, "--by", "node").stdout
        self.assertRegex(table, r"(?m)^%s .* 92\.[23]$" % nodes[0])
        self.assertIn("Busbw is below 185 GB/s (busbw in goodput.conf): %s, %s\n" % (nodes[0], nodes[2]), table)
        self.assertLessEqual(max(map(len, table.splitlines())), 80, table)
        self.assertIn("find the slow node among %s, %s:" % (nodes[0], nodes[2]), " ".join(site.sgoodput("advise", number).stdout.split()))

    def test_lines_that_come_in_blocks_are_dated_by_their_pace(self) -> None:
        self.judge(STAGE.outcome("", buffered), within_s=2.5)

    def test_trainings_one_after_another_are_all_kept(self) -> None:
        for scenario, trainings in ((folds, 3), (stages, 3), (without_srun, 3), (redirected_by_itself, 2)):
            with self.subTest(scenario.__name__):
                came = STAGE.outcome("", scenario)
                assert_valid(came.show)
                job = came.show["jobs"][0]
                message = json.dumps([job["steps"], job["ledger"], job["interruptions"], job["buckets"]], indent=1)
                done = [r for r in came.more["said"] if r["event"] == "step_end"]
                self.assertEqual((job["steps"]["count"], job["steps"]["kept"]), (len(done), len(done)), message)
                true = sum(r["t"] * (1 if r["event"] == "step_end" else -1) for r in came.more["said"] if r["event"].startswith("step_")) / S
                shown = {b["name"]: b["seconds"] for b in job["buckets"]}
                # Each of the three bars is known to the second.
                self.assertAlmostEqual(shown["productive"], true, delta=3.3 * lateness(), msg=message)
                self.assertEqual((job["interruptions"], len(job["ledger"]["trainings"]), job["ledger"]["holds"]), ([], trainings, True), message)
                self.assertIn("%d trainings, one after another" % trainings, came.site.sgoodput("show", str(came.job)).stdout)

    def test_steps_of_programs_that_share_an_output_are_not_read(self) -> None:
        came = STAGE.outcome("", shared)
        self.assertIn("job %d: output: several programs print their steps at the same time" % came.job, came.site.daemon_log())
        steps = []
        for path in glob.glob(os.path.join(came.site.spool, "*", "*.log.jsonl")):
            with open(path) as file:
                steps += [line for line in file if '"mark":"step"' in line and '"job":%d,' % came.job in line]
        self.assertLess(len(steps), 25, "begins and ends, of 60 steps")

    def test_a_profile_that_is_none_is_said_and_hurts_nobody(self) -> None:
        came = STAGE.outcome("", unknown_profile)
        self.assertEqual(came.show["jobs"][0]["state"], "COMPLETED")
        self.assertIn("job %d: output: unknown log profile megatorn; known: megatron, nemo" % came.job,
                      came.site.daemon_log())
        self.assertIsNone(came.show["jobs"][0]["attempts"][0]["first_step"])

    def test_an_image_and_a_compile_cache_show_in_a_difference(self) -> None:
        late = lateness()
        slow, quick = STAGE.outcome("", started_slowly), STAGE.outcome("", started_quickly)
        site = slow.site
        answer = site.sgoodput("diff", str(slow.job), "quick", "--json")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        difference = json.loads(answer.stdout)
        schemas.check(difference, "diff")
        parts = {(bucket["name"], part["name"]): part for bucket in difference["buckets"] for part in bucket["parts"]}
        setup, compiling = parts["launch", "step_setup"], parts["startup", "compile"]
        # Until the program is executed; slurmd forks a task within a tenth of a second.
        self.assertGreater(setup["a_s"], 3)
        self.assertLess(setup["a_s"], 3 + 0.4 * late)
        # The job ends with it, and accounting truncates up to a second.
        self.assertGreater(parts["teardown", "step"]["a_s"], 2.9)
        self.assertLess(parts["teardown", "step"]["a_s"], 4 + 0.6 * late)
        self.assertGreater(setup["b_s"], 0.5)
        self.assertLess(setup["b_s"], 0.5 + 0.4 * late)
        begun, done = [next(r["t"] for r in slow.more["said"] if r["event"] == event) for event in ("step_begin", "step_end")]
        self.assertAlmostEqual(compiling["a_s"], (done - begun) / S - 0.4, delta=0.6 * late)
        self.assertAlmostEqual(compiling["change_s"], -4, delta=0.8 * late)
        self.assertAlmostEqual(sum(b["a_s"] for b in difference["buckets"]), slow.show["jobs"][0]["wall_s"], delta=1e-6)
        self.assertEqual((difference["a"]["starts"], difference["b"]["run"]), (1, "quick"))
        said = site.sgoodput("diff", "job:%d" % slow.job, "run:quick").stdout
        self.assertRegex(said, r"\n  step_setup +\d\.\d+s +\d\.\d+s +-\d\.\d+s ")
        self.assertRegex(said, r"Average per start of the program\n  launch  \d")
        for args, status, error in ((("1", "nobody-knows"), 1, "nobody-knows"), (("1",), 2, "B is required")):
            answer = site.sgoodput("diff", *args)
            self.assertEqual(answer.returncode, status, answer.stderr)
            self.assertIn(error, answer.stderr)

    def test_zz_a_daemon_that_is_killed_goes_on_where_it_was(self) -> None:
        for scenario, _ in SCENARIOS:
            STAGE.outcome("", scenario)  # no other scenario needs the daemon
        site = STAGE.outcome("", truncated).site
        work = Work(site, "survivor", "nobody", site.cluster.nodes[-1:])
        work.submit("srun %s %s megatron 26" % (PRINTER, truth_of(work)), "--goodput-log-profile=megatron")
        for steps in (6, 13):
            wait_steps(work, 0, steps)
            site.stop_daemon(signal.SIGKILL)
            time.sleep(1)
            site.start_daemon()
        self.judge(outcome(work))


if __name__ == "__main__":
    unittest.main()
