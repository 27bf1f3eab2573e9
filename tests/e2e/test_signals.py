#!/usr/bin/python3
"""Signals on a real cluster: each one that reached a task is recorded at the time when the task's own handler ran.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_signals

Needs root and a kernel that permits tracing. GOODPUT_SCENARIOS=NAME,NAME runs only those.
"""

import glob
import json
import os
import re
import signal
import subprocess
import time
import unittest
from typing import Dict, List, Tuple

from .harness.goodput_site import FINAL, GOODPUTD, Site
from .harness.lateness import lateness
from .harness.stage import Plan, Stage
from .harness.work import Work
from .signals.seen import Seen, pairs_missing, seen

STAGE = Stage()
MODES = ("cgroup", "linuxproc")

# Sends `count` signals to itself or to a process, at most `rate` per second, and writes how many it sent.
STORM = r"""
import os, signal, sys, time
folder, target, count, rate = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
signal.signal(signal.SIGUSR2, lambda *_: None)
pid = os.getpid() if target == "self" else int(target)
begin, sent = time.monotonic(), 0
while sent < count:
    due = min(count, int((time.monotonic() - begin) * rate) + 1)
    while sent < due:
        os.kill(pid, signal.SIGUSR2)
        sent += 1
    time.sleep(0.001)
with open(os.path.join(folder, "storm"), "w") as file:
    file.write("%d %d\n" % (os.getpid(), sent))
"""
# Logs when its trap ran, in microseconds, and continues to wait: its children may have died of a TERM before the script receives
# its own.
TRAPPING = r"""
trap 'echo USR1 $EPOCHREALTIME >> %(folder)s/trap' USR1
trap 'echo TERM $EPOCHREALTIME >> %(folder)s/trap' TERM
mkdir -p %(folder)s
%(command)s &
touch %(folder)s/ready
while kill -0 $! 2> /dev/null; do wait $!; done
until grep -qs TERM %(folder)s/trap; do sleep 1 & wait $!; done
"""


def submit(work: Work, body: str, *options: str, partition: str = "a3mega") -> None:
    """Submits without checking Slurm's state ten times per second as Work.submit does, which would disturb the measurement."""
    work.job = work.site.cluster.sbatch(body, user=work.user, options=work.options(partition) + list(options))


def over(work: Work, ranks: int = 1) -> Seen:
    work.site.cluster.wait_state(work.job, FINAL, 240)
    time.sleep(1.5)  # until the last second of a storm is recorded
    return seen(work, ranks)


def ready(work: Work) -> None:
    deadline = time.monotonic() + 60
    while not os.path.exists(os.path.join(work.folder, "ready")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)


# --- scenarios

def signal_at(work: Work) -> Seen:
    """--signal reaches every process of the step; TERM follows at the limit, and KILL after KillWait."""
    submit(work, "srun -n4 " + work.trainer("--on-signal 'USR1=save|TERM=ignore'"), "-t1", "--signal=USR1@40", "--no-requeue")
    return over(work, 4)


def signal_at_batch(work: Work) -> Seen:
    body = TRAPPING % {"folder": work.folder, "command": "srun -n2 " + work.trainer("--on-signal 'USR1=save|TERM=exit:0'")}
    submit(work, body, "-t1", "--signal=B:USR1@40", "--no-requeue")
    return over(work, 2)


def scancel_signal(work: Work) -> Seen:
    """Steps only, not the script. The handlers do nothing, because a handler would be delayed while its process waits for a
    disk."""
    submit(work, "srun -n4 bash -c 'sleep 1000 & exec %s'" % work.trainer("--on-signal \"USR1=ignore|TERM=exit:0\""))
    work.steps(0, 3)
    for _ in range(3):
        work.site.cluster.run(["scancel", "-s", "USR1", str(work.job)], user=work.user)
        time.sleep(0.7)
    work.site.cluster.run(["scancel", str(work.job)], user=work.user)
    return over(work, 4)


def scancel_batch(work: Work) -> Seen:
    submit(work, TRAPPING % {"folder": work.folder, "command": "sleep 1000"})
    ready(work)
    work.site.cluster.run(["scancel", "--batch", "-s", "USR1", str(work.job)], user=work.user)
    time.sleep(0.5)
    work.site.cluster.run(["scancel", str(work.job)], user=work.user)
    return over(work)


def preempted_with_grace(work: Work) -> Seen:
    submit(work, "srun -n2 " + work.trainer("--steps-after-restore 3 --on-signal=TERM=save-exit"), partition="a3grace")
    work.steps(0, 3)
    work.preempt()
    return over(work, 2)


def preempted_without_grace(work: Work) -> Seen:
    submit(work, "srun -n2 " + work.trainer("--steps-after-restore 3 --save-every 3 --on-signal=TERM=save-exit:1"))
    work.steps(0, 3)
    work.preempt()
    return over(work, 2)


def requeued(work: Work) -> Seen:
    """The program ignores TERM: KILL follows after KillWait."""
    submit(work, "srun -n2 " + work.trainer("--steps-after-restore 3 --save-every 3 --on-signal=TERM=ignore"))
    work.steps(0, 4)
    work.control("requeue", str(work.job))
    return over(work, 2)


def storm_at_itself(work: Work) -> Seen:
    submit(work, "mkdir -p %s; srun -n1 /usr/bin/python3 -c '%s' %s self 20000 10000" % (work.folder, STORM, work.folder))
    return over(work)


SCENARIOS = [(signal_at, 2), (signal_at_batch, 1), (scancel_signal, 2), (scancel_batch, 1), (preempted_with_grace, 1),
             (preempted_without_grace, 1), (requeued, 1), (storm_at_itself, 1)]


def setUpModule() -> None:
    unittest.addModuleCleanup(STAGE.stop)
    plan: Plan = {mode: (Site(mode, nodes=sum(n for _, n in SCENARIOS), dbd=False, grace_s=8), SCENARIOS)
                  for mode in MODES}
    STAGE.start(plan)
    # Raises the priority, because the test compares the times of handlers. Tasks inherit it from their slurmd.
    for site, _ in plan.values():
        for path in glob.glob(site.path("run", "slurmd-*.pid")):
            with open(path) as file:
                os.setpriority(os.PRIO_PROCESS, int(file.read()), -15)


def by_task(found: Seen, signo: int, **more: object) -> Dict[int, List[Dict]]:
    tasks: Dict[int, List[Dict]] = {}
    for record in found.records:
        if record["signal"] == signo and record["target"] == "task" and all(record.get(k) == v for k, v in more.items()):
            tasks.setdefault(record["task"], []).append(record)
    return tasks


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class SignalsTest(unittest.TestCase):
    def each(self, scenario: object) -> List[Seen]:
        return [STAGE.outcome(mode, scenario) for mode in MODES]

    def check_traps(self, found: Seen, names: List[str]) -> None:
        with open(os.path.join(found.work.folder, "trap")) as file:
            told = [line.split() for line in file]
        self.assertEqual([name for name, _ in told], names)
        batch = [r for r in found.records if r["slurm_step"] == "batch" and r["target"] == "task" and r["signal"] != 9]
        for name, at in told:
            ns = int(float(at) * 1e9)
            near = [ns - r["t"] for r in batch if r["signal"] == getattr(signal, "SIG" + name)]
            # The shell logs when its trap ran, in whole microseconds, which Python rounds to a double: never before the signal.
            self.assertTrue([d for d in near if -2000 <= d <= 100_000_000 * lateness()], "%s: off by %s ns" % (name, near))

    def check_common(self, found: Seen) -> None:
        self.assertEqual(pairs_missing(found), [])
        uid = {"root": 0, "nobody": 65534}[found.work.user]
        for record in found.records:
            self.assertEqual(record["uid"], uid)
            self.assertIn(record["node"], found.work.nodes)

    def test_signal_option_reaches_every_task_before_the_limit(self) -> None:
        for found in self.each(signal_at):
            self.check_common(found)
            for signo in (signal.SIGUSR1, signal.SIGTERM, signal.SIGKILL):
                tasks = by_task(found, signo, slurm_step="0")
                self.assertEqual(sorted(tasks), [0, 1, 2, 3], "signal %d" % signo)
                self.assertEqual({r["sender"] for records in tasks.values() for r in records}, {"slurmstepd"})
            usr1, term = (by_task(found, s, slurm_step="0")[0][0]["t"] for s in (signal.SIGUSR1, signal.SIGTERM))
            self.assertGreater(term - usr1, 20e9)
            self.assertEqual({r["handled"] for r in found.records if r["signal"] == signal.SIGUSR1 and r["target"] == "task"}, {1})

    def test_signal_option_with_b_reaches_the_script_alone(self) -> None:
        for found in self.each(signal_at_batch):
            self.check_common(found)
            self.check_traps(found, ["USR1", "TERM"])
            usr1 = [r for r in found.records if r["signal"] == signal.SIGUSR1]
            self.assertEqual([(r["slurm_step"], r["target"], r["sender"], r["handled"]) for r in usr1],
                             [("batch", "task", "slurmstepd", 1)])

    def test_scancel_signal_reaches_helpers_where_slurm_follows_them_by_linuxproc(self) -> None:
        for found in self.each(scancel_signal):
            self.check_common(found)
            tasks = by_task(found, signal.SIGUSR1, slurm_step="0")
            self.assertEqual({task: len(records) for task, records in tasks.items()}, {0: 3, 1: 3, 2: 3, 3: 3})
            helpers = [r for r in found.records if r["target"] == "child" and r["comm"] == "sleep" and r["slurm_step"] == "0" and
                       r["signal"] == signal.SIGUSR1]
            # With proctrack/cgroup, Slurm signals the processes that it started, and only KILL reaches the others.
            died = 0 if found.work.site.cluster.mode == "cgroup" else 4
            self.assertEqual(len(helpers), died, "each died of the first")
            self.assertEqual([r for r in helpers if r.get("handled") == 1], [])

    def test_scancel_batch_reaches_the_script_alone(self) -> None:
        for found in self.each(scancel_batch):
            self.check_traps(found, ["USR1", "TERM"])
            self.assertEqual(len([r for r in found.records if r["signal"] == signal.SIGUSR1]), 1)

    def test_preemption_with_grace_sends_term_and_the_program_leaves(self) -> None:
        for found in self.each(preempted_with_grace):
            self.check_common(found)
            self.assertEqual(sorted(by_task(found, signal.SIGTERM, slurm_step="0")), [0, 1])

    def test_preemption_without_grace_ends_in_kill(self) -> None:
        for found in self.each(preempted_without_grace):
            self.check_common(found)
            self.assertEqual(sorted(by_task(found, signal.SIGTERM, slurm_step="0")), [0, 1])

    def test_requeue_sends_term_and_kill_after_killwait(self) -> None:
        for found in self.each(requeued):
            self.check_common(found)
            term, kill = by_task(found, signal.SIGTERM, slurm_step="0"), by_task(found, signal.SIGKILL, slurm_step="0")
            self.assertEqual((sorted(term), sorted(kill)), ([0, 1], [0, 1]))
            waited = kill[0][0]["t"] - term[0][0]["t"]
            self.assertGreater(waited, 3e9)
            self.assertLess(waited, 20e9)

    def test_a_storm_is_counted_to_the_last_signal_in_few_records(self) -> None:
        for found in self.each(storm_at_itself):
            with open(os.path.join(found.work.folder, "storm")) as file:
                pid, sent = map(int, file.read().split())
            storm = [r for r in found.records if r["signal"] == signal.SIGUSR2]
            self.assertEqual(sum(r.get("count", 1) for r in storm), sent)
            self.assertEqual({(r["sender"], r["sender_pid"], r["pid"], r["task"], r["target"]) for r in storm},
                             {("self", pid, pid, 0, "task")})
            # A busy machine needs more seconds to send them.
            took_s = (storm[-1].get("last_m", storm[-1]["m"]) - storm[0]["m"]) / 1e9
            self.assertLessEqual(len(storm), 11 * (int(took_s) + 2))

    def test_nothing_was_lost_and_no_other_process_recorded(self) -> None:
        for mode in MODES:
            for scenario, _ in SCENARIOS:
                STAGE.outcome(mode, scenario)
        for found in (STAGE.outcome(mode, scancel_batch) for mode in MODES):
            site = found.work.site
            outsider = subprocess.Popen(["/usr/bin/sleep", "100"])
            outsider.send_signal(signal.SIGUSR1)
            outsider.wait()
            time.sleep(0.5)
            pids = set()
            for path in glob.glob(os.path.join(site.spool, "*", "*.jsonl")):
                with open(path) as file:
                    pids |= {json.loads(line).get("pid") for line in file if '"kind":"signal"' in line}
            self.assertTrue(pids)
            self.assertNotIn(outsider.pid, pids)
            with open(os.path.join(site.spool, "signals")) as file:
                counts = dict(word.split("=") for word in file.read().split())
            self.assertEqual((counts["watching"], counts["lost"], counts["not_stored"]), ("1", "0", "0"))
            self.assertIn("signals: %s recorded for jobs" % counts["recorded"], site.sgoodput("doctor").stdout)

    def not_watching(self, name: str, command: str) -> Tuple[List[str], str]:
        """Starts a daemon like this, and returns its log about signals and doctor's output."""
        site = STAGE.outcome(MODES[0], scancel_batch).work.site
        folder = os.path.join(site.path("goodput"), name)
        os.makedirs(os.path.join(folder, "n1"), 0o700)
        conf = os.path.join(folder, "goodput.conf")
        with open(conf, "w") as file:
            file.write("spool = %s\nsocket = %s-%s\nrole = node\ndatabase = %s/db\n" % (folder, site.socket, name, folder))
        log = os.path.join(folder, "log")
        with open(log, "w") as output:
            daemon = subprocess.Popen(["unshare", "--mount", "bash", "-c", command % ("exec %s --config %s" % (GOODPUTD, conf))],
                                      stderr=output, start_new_session=True)
        try:
            deadline = time.monotonic() + 60
            while not os.path.exists(os.path.join(folder, "signals")) and time.monotonic() < deadline:
                time.sleep(0.05)
            doctor = site.sgoodput("doctor", env={"GOODPUT_CONF": conf})
        finally:
            os.killpg(daemon.pid, signal.SIGTERM)
        self.assertEqual(daemon.wait(60), 0)
        with open(log) as file:
            return [line for line in file if "signals" in line], doctor.stdout

    def test_where_tracing_is_not_permitted_one_line_says_so(self) -> None:
        # Without the capability to trace, but with tracefs.
        said, doctor = self.not_watching("untraced", "mount -t tracefs nodev /sys/kernel/tracing 2> /dev/null; "
                                         "exec setpriv --bounding-set=-perfmon,-sys_admin -- bash -c '%s'")
        self.assertEqual(len(said), 1, said)
        with open("/proc/sys/kernel/perf_event_paranoid") as file:
            sysctl = "kernel.perf_event_paranoid is " + file.read().strip()
        self.assertRegex(said[0], r"cannot trace signals on CPU 0: perf_event_open: not permitted: .*CAP_PERFMON")
        self.assertIn(sysctl, said[0])
        self.assertRegex(doctor, r"!!  signals are not recorded on this node: the kernel does not permit it: .*%s.*\n"
                         r"      fix: give goodputd CAP_" % re.escape(sysctl))

    def test_in_a_pid_namespace_of_its_own_one_line_says_that_ids_are_others(self) -> None:
        said, doctor = self.not_watching("contained", "exec unshare --pid --fork --mount-proc bash -c '%s'")
        self.assertEqual(len(said), 1, said)
        self.assertIn("cannot trace signals: goodputd runs in its own PID namespace", said[0])
        self.assertIn("--pid=host", said[0])
        self.assertRegex(doctor, r"!!  signals are not recorded on this node: goodputd runs in its own PID namespace.*\n"
                         r"      fix: run goodputd in the host's PID namespace \(docker run --pid=host, hostPID: true\)\n")


if __name__ == "__main__":
    unittest.main()
