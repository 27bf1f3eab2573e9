#!/usr/bin/python3
"""The plugin on a real Slurm: its records match what happened, and its faults affect no job and no node.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_plugin

Needs root, Debian's Slurm packages and a build with its tests (`make check TESTS=`).
"""

import ctypes
import glob
import json
import os
import re
import shutil
import sys
import time
import unittest
from typing import Dict, List, Optional, Set, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "cluster"), os.path.join(ROOT, "tests", "spank")]
from cluster import Cluster  # noqa: E402
from fuse_folder import FuseFolder  # noqa: E402

from .harness.lateness import lateness  # noqa: E402
from .harness.reach import reachable  # noqa: E402
from .harness.variants import EVERY_VARIANT  # noqa: E402

BUILD = os.path.join(ROOT, os.environ.get("GOODPUT_BUILD", "build"))
PLUGIN = reachable(os.path.join(BUILD, "spank", ".libs", "spank_goodput.so"))
SGOODPUT = reachable(os.path.join(BUILD, "tools", "sgoodput", "sgoodput"))
FAULTS = reachable(os.path.join(BUILD, "spank", ".libs", "spank_goodput_faults.so"))
OTHER = reachable(os.path.join(BUILD, "tests", "spank", ".libs", "other_plugin.so"))

USERS = ("root", "nobody")
HOOKS = ("init", "init_post_opt", "task_post_fork", "task_exit", "exit", "job_prolog", "job_epilog")

# Prints from two nodes to both streams, with a failing task, a killed task, and an exit status. Output that arrives over several
# connections has no fixed order, so it is sorted.
SCRIPT = r"""
echo begin
srun -N2 -n2 bash -c 'echo "rank $SLURM_PROCID of $SLURM_NTASKS"; echo "$SLURM_PROCID to stderr" >&2' 2>&1 | sort
srun -N1 -n1 -w $SLURMD_NODENAME bash -c 'exit 3'; echo "failed step: $?"
srun -N1 -n1 -w $SLURMD_NODENAME bash -c 'kill -USR1 $$'; echo "killed step: $?"
exit 7
"""


def mount_tmpfs(path: str, options: str, flags: int = 0) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"none", path.encode(), b"tmpfs", flags, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")


def unmount(path: str) -> None:
    ctypes.CDLL(None).umount2(path.encode(), 2)


def whole_lines(path: str) -> bytes:
    """Reads a file that is being written: a record may be incomplete for a moment."""
    deadline = time.monotonic() + 60
    while True:
        with open(path, "rb") as file:
            data = file.read()
        if data.endswith(b"\n") or time.monotonic() > deadline:
            return data
        time.sleep(0.01)


def records(spool: str) -> List[Dict]:
    """Every record of a spool, in the order of its files; each line must be valid."""
    found = []
    for path in sorted(glob.glob(os.path.join(spool, "*", "*.jsonl"))):
        data = whole_lines(path)
        assert data.startswith(b"\n") and data.endswith(b"\n"), path
        for line in data.split(b"\n"):
            if line:
                record = json.loads(line)
                assert record["node"] == os.path.basename(os.path.dirname(path)), record
                found.append(record)
    return found


class PluginTests:
    """Tests for each configuration of a site: see the two classes at the end."""

    MODE = ""
    cluster: Cluster

    @classmethod
    def setUpClass(cls) -> None:
        for path in (PLUGIN, FAULTS, OTHER):
            if not os.path.exists(path):
                raise RuntimeError("%s is not built: run `make check TESTS=` in %s" % (path, BUILD))
        # slurmd reads plugstack.conf once to find prolog and epilog hooks; other uses read it each time.
        cls.cluster = Cluster(mode=cls.MODE, nodes=2, dbd=False, cred_expire_s=5,
                              plugstack=["optional %s spool=/nonexistent/x" % PLUGIN])
        cls.cluster.start()
        cls.mounts: List[str] = []
        cls.serial = 0
        cls.plain = {}

    @classmethod
    def tearDownClass(cls) -> None:
        for path in cls.mounts:
            unmount(path)
        cls.cluster.stop()

    # --- helpers

    def stack(self, *lines: str) -> None:
        path = os.path.join(self.cluster.dir, "etc", "plugstack.conf")
        with open(path + ".new", "w") as file:
            file.write("".join(line + "\n" for line in lines))
        os.rename(path + ".new", path)

    def new_spool(self) -> str:
        type(self).serial += 1
        return os.path.join(self.cluster.dir, "goodput-%d" % self.serial)

    def new_folder(self) -> str:
        path = self.new_spool()
        os.mkdir(path, 0o700)
        return path

    def plugin(self, spool: str, *arguments: str, so: str = PLUGIN) -> str:
        return " ".join(["optional", so, "spool=" + spool] + list(arguments))

    def finish(self, job: int, user: str) -> Tuple[str, str]:
        """Waits for a job and its epilog. Returns the exit code and the output without parts that differ between jobs."""
        deadline = time.monotonic() + 120
        while True:
            fields = self.cluster.job(job)
            state = fields.get("JobState", "")
            if state in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"):
                break
            self.assertLess(time.monotonic(), deadline, "job %d is %s" % (job, state))
            time.sleep(0.03)
        self.wait_idle()
        return fields["ExitCode"], self.plain_text(self.cluster.output(job, user))

    def wait_task(self, spool: str) -> None:
        deadline = time.monotonic() + 60
        while "task_start" not in {r["kind"] for r in records(spool)}:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.03)

    def wait_idle(self) -> None:
        """Waits until every node accepts jobs again: neither drained nor down, with its epilogs done."""
        deadline = time.monotonic() + 60
        while True:
            states = self.cluster.run(["sinfo", "-h", "-N", "-p", "a3mega", "-o", "%T"]).stdout.split()
            if set(states) == {"idle"}:
                return
            self.assertFalse([s for s in states if "drain" in s or "down" in s or "fail" in s], states)
            self.assertLess(time.monotonic(), deadline, states)
            time.sleep(0.03)

    @staticmethod
    def plain_text(text: str) -> str:
        text = re.sub(r"job\d{5}", "jobN", text)
        # On a busy machine, an srun may start before the controller knows that the previous step has ended; it waits and prints a
        # message, with or without the plugin.
        text = re.sub(r"srun: (Job \d+ step creation temporarily disabled|Step created for ).*\n", "", text)
        return re.sub(r"StepId=\d+", "StepId=N", text)

    def batch(self, user: str, script: str = SCRIPT, options: Tuple[str, ...] = ("-N2",), **how) -> Tuple[str, str]:
        return self.finish(self.cluster.sbatch(script, user=user, options=options, **how), user)

    def direct(self, user: str) -> Tuple[int, str, str]:
        """Runs srun without a batch job: (exit code, stdout, stderr)."""
        done = self.cluster.run(["srun", "-N2", "-n2", "bash", "-c",
                                 "echo $SLURM_PROCID; exit $((SLURM_PROCID * 5))"], user=user, check=False)
        self.wait_idle()
        return done.returncode, "".join(sorted(self.plain_text(done.stdout).splitlines(True))), self.plain_text(done.stderr)

    def without_plugin(self, user: str):
        if user not in self.plain:
            self.stack()
            self.plain[user] = (self.batch(user), self.direct(user))
            self.assertEqual(self.plain[user][0][0], "7:0")
            self.assertEqual(self.plain[user][1][0], 5)
        return self.plain[user]

    def assert_unnoticed(self, *lines: str, users: Tuple[str, ...] = USERS) -> None:
        """Jobs end and print as without the plugin."""
        for user in users:
            batch, direct = self.without_plugin(user)
            self.stack(*lines)
            self.assertEqual(self.batch(user), batch)
            self.assertEqual(self.direct(user), direct)

    def logs(self) -> str:
        return "".join(self.cluster.log("slurmd-" + node) for node in self.cluster.nodes)

    # --- records

    def test_records_are_what_the_job_saw(self) -> None:
        spool = self.new_spool()
        self.stack(self.plugin(spool))
        report = (r"echo step $SLURM_STEP_ID $SLURM_PROCID $SLURM_LOCALID $SLURMD_NODENAME $$ $EPOCHREALTIME; "
                  r"sleep 0.1; echo end $SLURM_STEP_ID $SLURM_PROCID $EPOCHREALTIME; ")
        script = ("srun -N2 -n4 bash -c '%s [ $SLURM_PROCID = 2 ] && kill -KILL $$; exit $SLURM_PROCID'\n"
                  "srun -N1 -n1 bash -c '%s'\necho batch $$ $SLURMD_NODENAME $EPOCHREALTIME; exit 9") % (report, report)
        begin = time.time()
        job = self.cluster.sbatch(script, user="nobody", options=["-N2", "--gres=gpu:3"])
        self.finish(job, "nobody")
        end = time.time()
        said = [line.split() for line in self.cluster.output(job, "nobody").splitlines()]
        starts = {(w[1], int(w[2])): w[3:] for w in said if w[0] == "step"}
        ends = {(w[1], int(w[2])): float(w[3]) for w in said if w[0] == "end"}
        batch = [w for w in said if w[0] == "batch"][0]
        self.assertEqual(len(starts), 5)

        seen = records(spool)
        for record in seen:
            self.assertEqual(record["v"], 1)
            self.assertEqual((record["job"], record["uid"], record["cluster"]), (job, 65534, self.cluster.name))
            self.assertTrue(begin <= record["t"] / 1e9 <= end, record)
            self.assertAlmostEqual(record["t"] - record["m"], time.time_ns() - time.monotonic_ns(), delta=2e9)
            self.assertNotIn("trunc", record)
        for node in self.cluster.nodes:
            here = [r for r in seen if r["node"] == node]
            kinds = [r["kind"] for r in here]
            self.assertEqual((kinds[0], kinds[-1]), ("job_prolog", "job_epilog"))
            self.assertEqual((kinds.count("job_prolog"), kinds.count("job_epilog")), (1, 1))
            self.assertEqual([r["t"] for r in here], sorted(r["t"] for r in here))
            self.assertEqual(here[0].get("gpus"), 3)
            self.assertRegex(here[0].get("gpu_ids"), r"^[0-7]([,-][0-7]){1,2}$")
            self.assertTrue(all(r["gpus"] == 3 for r in here if r["kind"] == "step_start"))
        steps = {(r["node"], r["slurm_step"]) for r in seen if r["kind"] == "step_start"}
        first, second = self.cluster.nodes
        expected = {(first, "batch"), (first, "0"), (second, "0"), (first, "1")}
        if self.MODE == "cgroup":
            expected |= {(first, "extern"), (second, "extern")}
        self.assertEqual(steps, expected)
        self.assertEqual(steps, {(r["node"], r["slurm_step"]) for r in seen if r["kind"] == "step_end"})
        for record in seen:
            if record["kind"] == "step_start" and record["slurm_step"] == "0":
                self.assertEqual((record["nnodes"], record["ntasks"], record["local_tasks"]), (2, 4, 2))

        tasks = {(r["slurm_step"], r["task"]): r for r in seen if r["kind"] == "task_start"}
        exits = {(r["slurm_step"], r["task"]): r for r in seen if r["kind"] == "task_exit"}
        self.assertEqual(set(tasks), set(starts) | {("batch", 0)})
        self.assertEqual(set(exits), set(tasks))
        for task, (local, node, pid, at) in starts.items():
            record, gone = tasks[task], exits[task]
            for one in (record, gone):
                self.assertEqual((one["local_task"], one["node"], one["pid"]), (int(local), node, int(pid)))
            self.assertLessEqual(record["t"] / 1e9, float(at))
            self.assertLess(float(at) - record["t"] / 1e9, 0.25 * lateness(), "bash takes milliseconds to say so, more when busy")
            self.assertLessEqual(ends[task], gone["t"] / 1e9)
            self.assertLess(gone["t"] / 1e9 - ends[task], 0.5 * lateness(), "slurmstepd may reap a later task 0.1 s after its end")
            status = {"signal": 9} if task == ("0", 2) else {"exit_code": 0 if task[0] == "1" else task[1]}
            self.assertEqual({k: gone[k] for k in ("exit_code", "signal") if k in gone}, status)
        self.assertEqual(tasks[("batch", 0)]["pid"], int(batch[1]))
        self.assertEqual(exits[("batch", 0)]["exit_code"], 9)
        self.assertLess(abs(exits[("batch", 0)]["t"] / 1e9 - float(batch[3])), 0.25 * lateness())
        self.assertEqual(self.leftover_notes(spool), [])

    def leftover_notes(self, spool: str) -> List[str]:
        return [p for p in glob.glob(spool + "/*/*") if not p.endswith((".jsonl", "/dropped", "/cluster"))]

    def test_a_step_s_end_has_what_it_used(self) -> None:
        """Without cgroups of version 2 (this cluster): of the processes that were waited for."""
        spool = self.new_spool()
        self.stack(self.plugin(spool))
        burn = "import time\nblob = bytearray(200 << 20)\nwhile time.process_time() < 1.5: pass"
        job = self.cluster.sbatch("srun -n1 /usr/bin/python3 -c '%s'\n" % burn, user="nobody", options=["-N1", "-n1"])
        self.finish(job, "nobody")
        ends = {record["slurm_step"]: record for record in records(spool) if record["kind"] == "step_end"}
        self.assertTrue(1_400_000 < ends["0"]["waited_cpu_us"] < 4_000_000, ends)
        self.assertTrue(200 << 20 < ends["0"]["waited_rss"] < 1 << 30, ends)
        self.assertLess(ends["batch"]["waited_cpu_us"], 1_400_000)
        self.assertNotIn("waited_cpu_us", ends.get("extern", {}))

    def test_array_task_knows_its_array(self) -> None:
        spool = self.new_spool()
        self.stack(self.plugin(spool))
        job = self.cluster.sbatch("true", user="nobody", options=["-N1", "--array=3"])
        self.finish(job, "nobody")
        step = [r for r in records(spool) if r["kind"] == "step_start"][-1]
        self.assertEqual((step["array_job"], step["array_task"]), (job, 3))

    def test_a_requeued_job_counts_its_restarts(self) -> None:
        spool = self.new_spool()
        self.stack(self.plugin(spool))
        job = self.cluster.sbatch('[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || sleep 60', user="nobody")
        self.wait_task(spool)
        self.cluster.run(["scontrol", "requeue", str(job)])
        self.cluster.wait_state(job, {"PENDING"})
        self.finish(job, "nobody")
        prologs = [r for r in records(spool) if r["kind"] == "job_prolog"]
        self.assertEqual([r.get("restart") for r in prologs], [0, 1])
        self.assertEqual({r.get("restart") for r in records(spool) if r["kind"] == "task_start"}, {0, 1})
        self.assertEqual({r.get("cluster") for r in records(spool)}, {self.cluster.name})

    def test_an_attempt_without_a_prolog_is_recorded_too(self) -> None:
        """slurmd remembers the job's credential for a while after its end, and starts no second prolog meanwhile."""
        spool = self.new_spool()
        self.stack(self.plugin(spool))
        job = self.cluster.sbatch('[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || sleep 60', user="nobody")
        self.wait_task(spool)
        self.cluster.run(["scontrol", "requeue", str(job)])
        self.cluster.wait_state(job, {"PENDING"})
        # slurmd rejects a credential made in the second in which it revoked the job's last one: the attempt fails with 1:0.
        requeued = time.time()
        while time.time() < requeued + 2.1:
            time.sleep(0.1)
        self.cluster.run(["scontrol", "update", "job", str(job), "starttime=now"])
        self.finish(job, "nobody")
        exits = [r for r in records(spool) if r["kind"] == "task_exit"]
        # TERM goes to the script's shell and to its sleep: the shell dies of it, or exits with 128 + 15 after its child.
        self.assertIn([r.get("exit_code") for r in exits], ([None, 0], [143, 0]),
                      "%s\n%s\n%s" % (self.cluster.job(job), records(spool), self.logs()[-3000:]))
        self.assertEqual({r["cluster"] for r in exits}, {self.cluster.name})

    # --- options

    OPTIONS = ("-N1", "--goodput-run=llama 70b", "--goodput-checkpoint-dir=ckpt/%j", "--goodput-checkpoint-signal=SIGUSR1",
               "--goodput-log-profile=nemo", "--goodput-flops-per-step=1.76e18", "--goodput-precision=FP8",
               "--goodput-tags=team=nlp,phase=pretrain", "--goodput-spares=8", "--goodput-hang-evidence=py-spy")
    SAID = {"run": "llama 70b", "checkpoint_dir": "ckpt/%j", "checkpoint_signal": "USR1", "log_profile": "nemo",
            "flops_per_step": 1.76e18, "precision": "fp8", "spares": 8, "hang_evidence": "py-spy", "tags": {"team": "nlp", "phase": "pretrain"}}

    def opts(self, spool: str, kind: str, step: Optional[str] = None) -> List[Optional[Dict]]:
        return [r.get("opt") for r in records(spool) if r["kind"] == kind and step in (None, r.get("slurm_step"))]

    def test_options_reach_the_node(self) -> None:
        spool = self.new_spool()
        self.stack(self.plugin(spool, "precision=bf16"))
        self.assertEqual(self.batch("nobody", "true", self.OPTIONS)[0], "0:0")
        self.assertEqual(self.opts(spool, "job_prolog"), [self.SAID])
        self.assertEqual(self.opts(spool, "step_start", "batch"), [self.SAID])

    def test_environment_twins_and_the_site_speak_where_options_do_not(self) -> None:
        spool = self.new_spool()
        self.stack(self.plugin(spool, "precision=bf16", "log_profile=megatron"))
        twins = {"GOODPUT_RUN": "from the twin", "GOODPUT_LOG_PROFILE": "nemo"}
        self.batch("nobody", "true", ("-N1", "--goodput-run=from the option"), env=twins)
        said = {"run": "from the option", "log_profile": "nemo", "precision": "bf16"}
        self.assertEqual(self.opts(spool, "job_prolog"), [said])
        self.assertEqual(self.opts(spool, "step_start", "batch"), [said])

    def test_a_bad_option_is_refused_in_one_clear_line(self) -> None:
        self.stack(self.plugin(self.new_spool()))
        bad = {"": "maybe", "-run": "", "-checkpoint-dir": "/ckpt/%q", "-checkpoint-signal": "HELLO",
               "-log-profile": "../etc", "-flops-per-step": "-1", "-model": "params=7", "-precision": "fp9",
               "-tags": "team", "-spares": "two", "-hang-evidence": "gdb"}
        for user in USERS:
            for tail, value in bad.items():
                option = "--goodput%s=%s" % (tail, value)
                for command in (["sbatch", option, "--wrap=true"], ["srun", option, "true"],
                                ["salloc", option, "true"]):
                    if command[0] != "sbatch" and tail != "-precision":
                        continue  # these use the same code as the others; two of each are enough
                    done = self.cluster.run(command, user=user, check=False)
                    self.assertEqual(done.returncode, 255, command)
                    lines = done.stderr.splitlines()
                    self.assertTrue(lines[0].startswith("goodput: %s " % option), lines)
                    self.assertIn("; ", lines[0] + "; ")
                    self.assertEqual(lines[1:], ["%s: error: Invalid --goodput%s argument: %s" % (command[0], tail, value)])
        self.assertEqual(self.cluster.run(["squeue", "-h"]).stdout, "")

    def test_a_bad_twin_warns_and_is_ignored(self) -> None:
        spool = self.new_spool()
        self.stack(self.plugin(spool))
        done = self.cluster.run(["srun", "true"], user="nobody", env={"GOODPUT_PRECISION": "fp9"})
        self.assertEqual(done.stderr, "goodput: GOODPUT_PRECISION=fp9 is not a precision; use one of bf16, fp16, fp8, "
                                      "fp4, tf32, fp32, fp64, int8; it is ignored\n")
        self.assertEqual(self.opts(spool, "job_prolog"), [None])

    def test_a_bad_site_setting_is_one_line_in_slurmds_log(self) -> None:
        self.stack(self.plugin(self.new_spool(), "spool_max=lots"))
        node = self.cluster.nodes[0]
        self.cluster.stop_daemon("slurmd-" + node)
        self.cluster.start_daemon("slurmd-" + node)
        line = "goodput: plugstack.conf: spool_max=lots is not a size; write e.g. 256M; it is ignored"
        deadline = time.monotonic() + 60
        while line not in self.cluster.log("slurmd-" + node):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.assertEqual(self.cluster.log("slurmd-" + node).count(line), 1)
        self.wait_idle()

    def test_off_leaves_no_record_of_any_step_on_any_node(self) -> None:
        script = 'srun -N2 -n2 bash -c "echo socket=$GOODPUT_SOCKET"'
        for how in ({"options": ("-N2", "--goodput=off")}, {"options": ("-N2",), "env": {"GOODPUT": "off"}}):
            spool = self.new_spool()
            self.stack(self.plugin(spool))
            self.assertEqual(self.batch("nobody", script, **how), ("0:0", "socket=\nsocket=\n"))
            self.assertEqual(records(spool), [])
            self.assertEqual(self.leftover_notes(spool), [])

    def test_a_site_that_is_off_records_only_who_asks(self) -> None:
        script = "srun -N2 -n2 true"
        spool = self.new_spool()
        self.stack(self.plugin(spool, "default=off"))
        self.batch("nobody", script)
        self.assertEqual(records(spool), [])
        self.batch("nobody", script, ("-N2", "--goodput=on"))
        for node in self.cluster.nodes:
            kinds = [r["kind"] for r in records(spool) if r["node"] == node]
            self.assertEqual((kinds[0], kinds[-1]), ("job_prolog", "job_epilog"))
            self.assertIn("task_start", kinds)

    # --- effects on jobs

    def test_a_job_sees_the_socket_and_nothing_else(self) -> None:
        show = "env | cut -d= -f1 | grep -v SLURM_TASK_PID | sort; ls /proc/self/fd"
        seen = {}
        for name, lines in (("without", []), ("with", [self.plugin(self.new_spool(), "socket=@here")])):
            self.stack(*lines)
            seen[name] = self.cluster.run(["srun", "bash", "-c", show], user="nobody").stdout.splitlines()
        self.assertEqual(sorted(set(seen["with"]) - set(seen["without"])), ["GOODPUT_SOCKET"])
        self.assertEqual(sorted(set(seen["without"]) - set(seen["with"])), [])
        run = ["srun", "printenv", "GOODPUT_SOCKET"]
        self.assertEqual(self.cluster.run(run, user="nobody").stdout, "@here\n")
        self.assertEqual(self.cluster.run(run, env={"GOODPUT_SOCKET": "/mine"}).stdout, "/mine\n")
        self.assertEqual(self.batch("nobody", "echo $GOODPUT_SOCKET", ("-N1",)), ("0:0", "@here\n"))

    # --- faults

    def test_beside_another_plugin(self) -> None:
        spool = self.new_spool()
        ours = self.plugin(spool)
        self.assert_unnoticed("optional " + OTHER, ours, users=("nobody",))
        self.assert_unnoticed(ours, "required " + OTHER, users=("root",))
        self.stack(ours, "optional " + OTHER)
        self.cluster.run(["srun", "--other=word", "--goodput-run=x", "true"], user="nobody")
        self.assertIn({"run": "x"}, self.opts(spool, "job_prolog"))

    def test_listed_twice_is_silent_and_records_once(self) -> None:
        copy = os.path.join(self.cluster.dir, "copy-of-spank_goodput.so")
        shutil.copy(PLUGIN, copy)
        for second in (PLUGIN, copy):
            spool, ignored = self.new_spool(), self.new_spool()
            self.assert_unnoticed(self.plugin(spool), self.plugin(ignored, so=second), users=("nobody",))
            seen = [(r["node"], r["job"], r["kind"], r.get("slurm_step"), r.get("task")) for r in records(spool)]
            self.assertEqual(len(seen), len(set(seen)), "an event is there twice")
            self.assertIn("task_exit", {event[2] for event in seen})
            self.assertFalse(os.path.exists(ignored))

    def test_spool_that_cannot_be_made(self) -> None:
        self.assert_unnoticed(self.plugin("/nonexistent/a/b"))
        self.assertIn("goodput: spool /nonexistent/a/b: cannot create it", self.logs())

    def test_spool_that_is_not_a_folder(self) -> None:
        spool = self.new_spool()
        with open(spool, "w"):
            pass
        self.assert_unnoticed(self.plugin(spool))
        self.assertIn("goodput: spool %s: is a symbolic link or not a folder" % spool, self.logs())

    def test_spool_that_is_read_only(self) -> None:
        spool = self.new_folder()
        mount_tmpfs(spool, "mode=0700", flags=1)  # MS_RDONLY
        self.mounts.append(spool)
        self.assert_unnoticed(self.plugin(spool))
        self.assertIn("Read-only file system", self.logs())

    def test_spool_that_is_full(self) -> None:
        spool = self.new_folder()
        mount_tmpfs(spool, "mode=0700,size=64k")
        self.mounts.append(spool)
        self.stack(self.plugin(spool))
        self.cluster.run(["srun", "-N2", "true"])
        self.wait_idle()
        whole = len(records(spool))
        with open(os.path.join(spool, "ballast"), "wb", buffering=0) as file:
            while True:
                try:
                    file.write(b"x" * 4096)
                except OSError:
                    break
        self.assert_unnoticed(self.plugin(spool))
        lost = 0
        for path in glob.glob(spool + "/*/dropped"):
            with open(path, "rb") as file:
                lost += int.from_bytes(file.read(8), sys.byteorder)
        self.assertGreater(whole, 0)
        self.assertGreater(lost, 10, "what a full disk loses is counted")

    def test_spool_on_a_fuse_file_system(self) -> None:
        spool = self.new_folder()
        try:
            folder = FuseFolder(spool)
        except OSError as error:
            self.skipTest("no FUSE here: %s" % error)
        try:
            self.assert_unnoticed(self.plugin(spool))
            self.assertFalse(folder.written_to())
        finally:
            folder.close()
        self.assertIn("goodput: spool %s: is on a network or FUSE file system" % spool, self.logs())

    def test_kill_switch(self) -> None:
        spool = self.new_folder()
        with open(os.path.join(spool, "disabled"), "w"):
            pass
        self.assert_unnoticed(self.plugin(spool))
        self.assertEqual(os.listdir(spool), ["disabled"])
        self.assertEqual(self.cluster.run(["srun", "printenv", "GOODPUT_SOCKET"], check=False).stdout, "")

    def test_a_crash_or_throw_in_any_hook(self) -> None:
        script = "srun -N2 -n2 bash -c 'echo $SLURM_PROCID' | sort; exit 7"
        self.stack()
        plain = self.batch("nobody", script)
        for hook in HOOKS:
            for fault in ("crash", "throw", "abort", "overflow") if hook in ("task_exit", "job_epilog") else (
                    "crash", "throw"):
                with self.subTest(hook=hook, fault=fault):
                    spool = self.new_spool()
                    before = len(self.logs())
                    self.stack(self.plugin(spool, "fault=%s:%s" % (fault, hook), so=FAULTS))
                    # The hooks of the submission are affected, too.
                    self.assertEqual(self.batch("nobody" if fault != "throw" else "root", script), plain)
                    if hook in ("job_prolog", "job_epilog", "task_exit"):
                        self.assertIn("%s was contained" % hook, self.logs()[before:])

    def test_a_crash_of_slurmds_own_hook(self) -> None:
        node = self.cluster.nodes[1]
        self.stack(self.plugin(self.new_spool(), "fault=crash:init", so=FAULTS))
        self.cluster.stop_daemon("slurmd-" + node)
        self.cluster.start_daemon("slurmd-" + node)
        deadline = time.monotonic() + 60
        while "signal 11 in init was contained" not in self.cluster.log("slurmd-" + node):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.assertEqual(self.cluster.run(["srun", "-w", node, "echo", "alive"]).stdout, "alive\n")
        self.wait_idle()


class SlurmdTest(unittest.TestCase):
    """A slurmd that runs when the plugin is added to plugstack.conf, as on the nodes of a cluster that is in use."""

    def test_it_calls_prolog_and_epilog_after_a_restart_and_doctor_says_so(self) -> None:
        with Cluster(mode="linuxproc", nodes=1, dbd=False) as cluster:
            spool = os.path.join(cluster.dir, "goodput")

            def hooks() -> Set[str]:
                job = cluster.sbatch("srun true", user="nobody")
                cluster.wait_state(job, "COMPLETED")
                deadline = time.monotonic() + 60
                while cluster.node_state(cluster.nodes[0]) != "IDLE" and time.monotonic() < deadline:
                    time.sleep(0.05)
                return {record["kind"] for record in records(spool) if record["job"] == job}

            def doctor() -> str:
                return " ".join(cluster.run([SGOODPUT, "doctor"], check=False).stdout.split())

            with open(os.path.join(cluster.dir, "etc", "plugstack.conf"), "w") as stack:
                stack.write("optional %s spool=%s\n" % (PLUGIN, spool))
            for again in (False, True):
                if again:
                    cluster.run(["scontrol", "reconfigure"])
                    time.sleep(2)
                kinds = hooks()
                self.assertIn("step_start", kinds)
                if not again or cluster.release() < (23, 11, 0):
                    self.assertFalse(kinds & {"job_prolog", "job_epilog"})
                    self.assertRegex(doctor(), r"!! slurmd \(process %d\) has not loaded the plugin, .* fix: systemctl restart slurmd"
                                     % cluster.pid("slurmd-" + cluster.nodes[0]))
            cluster.stop_daemon("slurmd-" + cluster.nodes[0])
            cluster.start_daemon("slurmd-" + cluster.nodes[0])
            self.assertLessEqual({"step_start", "job_prolog", "job_epilog"}, hooks())
            self.assertNotIn("slurmd (process", doctor())


class PluginWithCgroupsAndContain(PluginTests, unittest.TestCase):
    MODE = "cgroup"


if EVERY_VARIANT:
    class PluginWithoutCgroups(PluginTests, unittest.TestCase):
        MODE = "linuxproc"


if __name__ == "__main__":
    unittest.main()
