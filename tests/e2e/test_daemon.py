#!/usr/bin/python3
"""goodputd on a real cluster: whose marks it accepts, what it refuses and counts, and that jobs are not affected by its absence.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_daemon
"""

import glob
import json
import os
import re
import signal
import statistics
import subprocess
import time
import unittest
from typing import Callable, Dict, List, Optional, Tuple

from .harness.goodput_site import GOODPUTD, SGOODPUT, TRAINER, Site
from .harness.lateness import lateness
from .harness.reach import reachable

# Sends the messages of a JSON array over one connection: strings unchanged, objects as JSON.
SEND = """
import json, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("\\0" + os.environ["GOODPUT_SOCKET"][1:])
for m in json.load(sys.stdin):
    s.send((m if isinstance(m, str) else json.dumps(m)).encode("latin-1"))
"""
# Opens connections until its input ends, or until they are no longer accepted.
FLOOD = """
import os, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
kept = []
for _ in range(int(sys.argv[1])):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try:
        s.connect("\\0" + os.environ["GOODPUT_SOCKET"][1:])
    except OSError as error:
        if error.errno != 11: raise
        break
    kept.append(s)
print(len(kept), flush=True)
sys.stdin.read()
"""


def mark(job: int, step: int, **more: object) -> Dict:
    message: Dict = {"v": 1, "mark": "step", "edge": "begin", "train_step": step, "job": job}
    message.update(more)
    return message


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class DaemonTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("cgroup", nodes=2, cred_expire_s=0, dbd=False)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        cls.jobs = {}
        for user in ("nobody", "games"):
            cls.jobs[user] = cls.site.cluster.sbatch("sleep 1000", user=user, options=["-N1", "--mem=100"])
        for job in cls.jobs.values():
            cls.site.cluster.wait_state(job, "RUNNING")
        deadline = time.monotonic() + 60
        while len([r for r in cls.records() if r["kind"] == "task_start"]) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)

    def setUp(self) -> None:
        if not self.site.daemon_runs():
            self.site.start_daemon()

    # --- helpers

    @classmethod
    def records(cls, job: Optional[int] = None, kind: str = "") -> List[Dict]:
        found = []
        for path in glob.glob(os.path.join(cls.site.spool, "*", "*.jsonl")):
            with open(path, "rb") as file:
                for line in file.read().split(b"\n"):
                    if line:
                        record = json.loads(line)
                        if job in (None, record.get("job")) and kind in ("", record["kind"]):
                            found.append(record)
        return sorted(found, key=lambda record: record["t"])

    def marks(self, job: int) -> List[Dict]:
        return self.records(job, "mark")

    def send(self, user: str, *messages: object) -> None:
        child = self.site.cluster.popen(["/usr/bin/python3", "-c", SEND], user=user, stdin=subprocess.PIPE,
                                        env={"GOODPUT_SOCKET": self.site.socket})
        child.communicate(json.dumps(messages))
        self.assertEqual(child.returncode, 0)

    def counts(self) -> Dict[str, int]:
        """The counts, as an administrator sees them."""
        line, = re.findall(r"marks: (.*)", self.site.sgoodput("doctor").stdout) or [""]
        return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", line)}

    def count_after(self, action: Callable[[], None], events: int) -> Dict[str, int]:
        """How much each count increased by so many events. goodputd writes its counts once a second, later on a busy machine."""
        before: Dict[str, int] = {}
        while before != self.counts():  # until earlier marks are recorded
            before = self.counts()
            time.sleep(1.2)
        action()
        deadline = time.monotonic() + 60
        while True:
            time.sleep(1.2)
            rises = {name: count - before.get(name, 0) for name, count in self.counts().items() if count != before.get(name, 0)}
            if sum(rises.values()) >= events or time.monotonic() > deadline:
                return rises

    def counted(self, name: str, more_than: int) -> None:
        deadline = time.monotonic() + 60
        while self.counts().get(name, 0) <= more_than:
            self.assertLess(time.monotonic(), deadline, (name, more_than, self.site.sgoodput("doctor")))
            time.sleep(0.3)

    def finish(self, script: str, user: str = "nobody", *options: str) -> int:
        job = self.site.cluster.sbatch(script, user=user, options=["--mem=100"] + list(options))
        self.site.settle(job)
        return job

    # --- owners of marks

    def test_only_a_job_s_own_user_marks_it(self) -> None:
        job = self.jobs["nobody"]
        before = len(self.marks(job))

        def others() -> None:
            self.send("games", mark(job, 1))
            self.send("root", mark(job, 2))
            # The kernel, not the message, identifies the sender.
            self.send("games", mark(job, 3, uid=65534, kind="mark", cluster="other"))
        self.assertEqual(self.count_after(others, 3), {"not_owner": 3})
        self.assertEqual(len(self.marks(job)), before)

    def test_what_makes_no_sense_is_counted(self) -> None:
        job = self.jobs["games"]
        bad = ["{", "[]", "null", "\x00\x01\x02", "\xff\xfe", "x" * 5000, '{"v":1,"mark":"step"', mark(job, -1),
               mark(job, 1 << 60), {**mark(job, 1), "v": 2}, {**mark(job, 1), "mark": "job_prolog"},
               {**mark(job, 1), "edge": "both"}, {"v": 1, "mark": "phase", "edge": "begin", "job": job},
               mark(job, 1, slurm_step="../0")]
        before = len(self.marks(job))
        self.assertEqual(self.count_after(lambda: self.send("games", *bad), len(bad)), {"malformed": len(bad)})
        self.assertEqual(self.count_after(lambda: self.send("games", mark(999999, 1), mark(999998, 1)), 2),
                         {"unknown_job": 2})
        self.assertEqual(len(self.marks(job)), before)

    def test_jobs_and_owners_come_from_the_plugin_s_records_alone(self) -> None:
        job = self.jobs["games"]
        forged = 'x"}\n{"v":1,"t":1,"m":1,"node":"n","stepd":1,"kind":"job_prolog","job":777777,"uid":5}\n'
        rises = self.count_after(lambda: self.send(
            "games", mark(job, 1, mark="phase", name=forged), mark(777777, 1), mark(job, 4, node="../../etc")), 3)
        self.assertEqual(rises, {"accepted": 2, "unknown_job": 1})
        phase, step = self.marks(job)[-2:]
        self.assertEqual(phase["name"], forged)
        self.assertIn(step["node"], self.site.cluster.nodes)
        self.assertEqual(self.records(777777), [])
        self.assertEqual(step["uid"], 5)

    def test_a_flood_of_connections_by_one_user_does_not_stop_another_s_marks(self) -> None:
        flood = self.site.cluster.popen(["/usr/bin/python3", "-c", FLOOD, "6000"], user="games",
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={"GOODPUT_SOCKET": self.site.socket})
        opened = int(flood.stdout.readline())  # type: ignore
        self.assertGreater(opened, 2000)
        before = len(self.marks(self.jobs["nobody"]))
        self.send("nobody", *[mark(self.jobs["nobody"], step) for step in range(10)])
        deadline = time.monotonic() + 60
        while len(self.marks(self.jobs["nobody"])) < before + 10 and time.monotonic() < deadline:
            time.sleep(0.3)
        self.assertEqual(len(self.marks(self.jobs["nobody"])), before + 10)
        self.counted("too_many", 0)
        flood.communicate()

    # --- from jobs

    def test_a_batch_script_s_marks_arrive_as_they_were_meant(self) -> None:
        tool = SGOODPUT + " mark"
        job = self.finish("""
{0} step 7; {0} checkpoint begin 7; {0} checkpoint end 7; {0} phase "my phase" begin; {0} phase "my phase" end
{0} restore begin 3; {0} restore end 3; {0} checkpoint begin
srun -N2 -n2 {0} step 8
srun -N1 -n1 {0} step 9
for what in mark --help; do
    for i in $(seq 40); do
        a=$(date +%s%N); if [ $what = mark ]; then {0} step $i; else {0} --help > /dev/null; fi; b=$(date +%s%N)
        echo $what $((b - a))
    done
done""".format(tool), "nobody", "-N2")
        marks = self.marks(job)
        batch_node = next(r["node"] for r in self.records(job, "task_start") if r["slurm_step"] == "batch")
        said = [(m["mark"], m["edge"], m.get("train_step"), m.get("name")) for m in marks[:8]]
        self.assertEqual(said, [("step", "begin", 7, None), ("checkpoint", "begin", 7, None),
                                ("checkpoint", "end", 7, None), ("phase", "begin", None, "my phase"),
                                ("phase", "end", None, "my phase"), ("restore", "begin", 3, None),
                                ("restore", "end", 3, None), ("checkpoint", "begin", None, None)])
        self.assertEqual({(m["slurm_step"], m["task"], m["node"]) for m in marks[:8]}, {("batch", 0, batch_node)})
        nodes = self.site.cluster.nodes
        self.assertEqual(sorted((m["slurm_step"], m["task"], m["node"]) for m in marks[8:10]),
                         [("0", 0, nodes[0]), ("0", 1, nodes[1])])
        self.assertEqual((marks[10]["slurm_step"], marks[10]["task"], marks[10]["train_step"]), ("1", 0, 9))
        self.assertEqual([m["train_step"] for m in marks[11:]], list(range(1, 41)))
        taken = re.findall(r"^(mark|--help) (\d+)$", self.site.cluster.output(job, "nobody"), re.M)
        median = {what: statistics.median(int(ns) for w, ns in taken if w == what) / 1e6 for what in ("mark", "--help")}
        print("sgoodput mark: median %.2f ms, of which %.2f ms process start" % (median["mark"], median["--help"]))

    def test_marks_arrive_from_namespaces_of_a_job_s_own(self) -> None:
        own = {"root": "unshare --mount --pid --fork", "nobody": "unshare --user --map-root-user --mount --pid --fork"}
        for user, unshare in own.items():
            with self.subTest(user=user):
                job = self.finish("%s true && %s %s mark --strict step 5; echo exit $?" % (unshare, unshare, SGOODPUT),
                                  user)
                output = self.site.cluster.output(job, user)
                if "unshare:" in output and user != "root":
                    self.skipTest("no user namespaces here")
                self.assertIn("exit 0", output)
                found, = self.marks(job)
                self.assertEqual((found["train_step"], found["uid"]), (5, 0 if user == "root" else 65534))

    def test_a_job_that_is_not_recorded_marks_nothing_and_runs(self) -> None:
        before = self.counts()
        job = self.finish(SGOODPUT + " mark step 1; echo exit $? ${GOODPUT_SOCKET-unset}", "nobody", "--goodput=off")
        self.assertEqual(self.site.cluster.output(job, "nobody"), "exit 0 unset\n")
        self.send("nobody", mark(job, 1))
        self.counted("unknown_job", before.get("unknown_job", 0))
        self.assertEqual([r for r in self.records(job) if r["node"] != "@controller"], [])

    def mark_in_time(self, *options: str) -> subprocess.CompletedProcess:
        begin = time.monotonic()
        answer = self.site.sgoodput("mark", *options, "step", "1", user="nobody", env={
            "SLURM_JOB_ID": str(self.jobs["nobody"]), "GOODPUT_SOCKET": self.site.socket})
        self.assertLess(time.monotonic() - begin, lateness())
        return answer

    def test_without_a_daemon_a_mark_neither_fails_nor_waits(self) -> None:
        self.assertEqual(self.site.stop_daemon(), 0)
        self.assertEqual((self.mark_in_time().returncode, self.mark_in_time().stderr), (0, ""))
        strict = self.mark_in_time("--strict")
        self.assertEqual(strict.returncode, 1)
        self.assertRegex(strict.stderr, r"\Asgoodput mark: cannot reach goodputd at [^\n]*\n\Z")
        job = self.finish("set -e\n%s mark step 1\n%s mark nonsense\necho done" % (SGOODPUT, SGOODPUT))
        self.assertIn("done", self.site.cluster.output(job, "nobody"))
        self.assertEqual(self.site.sgoodput("mark", "--strict", "nonsense").returncode, 2)
        self.assertEqual(self.site.sgoodput("mark", "--strict", "step", "1").returncode, 2, "outside a job")

    def test_a_daemon_that_hangs_holds_nobody_up(self) -> None:
        self.site.signal_daemon(signal.SIGSTOP)
        try:
            self.assertEqual(self.mark_in_time().returncode, 0)
            # Until its queue of connections is full.
            flood = self.site.cluster.popen(["/usr/bin/python3", "-c", FLOOD, "20000"], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, env={"GOODPUT_SOCKET": self.site.socket})
            opened = int(flood.stdout.readline())  # type: ignore
            self.assertEqual(self.mark_in_time().returncode, 0)
            if opened < 19000:
                self.assertEqual(self.mark_in_time("--strict").returncode, 1)
            flood.communicate()
        finally:
            self.site.signal_daemon(signal.SIGCONT)
        deadline = time.monotonic() + 60
        before = len(self.marks(self.jobs["nobody"]))
        while len(self.marks(self.jobs["nobody"])) == before:  # it accepts marks again
            self.assertLess(time.monotonic(), deadline)
            self.mark_in_time()
            time.sleep(0.2)

    def test_a_result_that_is_read_late_is_of_the_hosts_it_names(self) -> None:
        cluster = self.site.cluster
        nccl_tests = "/usr/bin/python3 " + reachable(os.path.join(os.path.dirname(os.path.abspath(__file__)), "printing", "nccl_tests.py"))
        ready, second = (os.path.join(cluster.jobdir(), name) for name in ("ready", "second"))
        job = cluster.sbatch("srun -N2 -n2 sh -c 'touch %s; sleep 3; exec %s 187.5'\nsrun -N1 -n1 -w %s sh -c 'touch %s; sleep 4'\nsleep 1.1" % (
            ready, nccl_tests, cluster.nodes[1], second), options=["-N2", "--goodput-log-profile=nccl-tests"])
        self.wait_for(ready)
        self.site.signal_daemon(signal.SIGSTOP)
        try:
            self.wait_for(second)
            time.sleep(1)
        finally:
            self.site.signal_daemon(signal.SIGCONT)
        self.site.settle(job)
        test, = self.site.show_json(job)["jobs"][0]["collectives"]
        self.assertEqual(test["nodes"], cluster.nodes)

    def wait_for(self, path: str) -> None:
        deadline = time.monotonic() + 180
        while not os.path.exists(path):
            self.assertLess(time.monotonic(), deadline, path)
            time.sleep(0.05)

    # --- stopping and restarting

    def test_told_to_stop_it_records_what_was_sent_and_exits_0(self) -> None:
        job = self.jobs["nobody"]
        before = len(self.marks(job))
        self.site.signal_daemon(signal.SIGSTOP)
        for connection in range(3):
            self.send("nobody", *[mark(job, 100 * connection + n) for n in range(100)])
        self.site.signal_daemon(signal.SIGTERM)
        self.site.signal_daemon(signal.SIGCONT)
        self.assertEqual(self.site.stop_daemon(), 0)
        self.assertEqual(len(self.marks(job)), before + 300)

    def test_killed_and_started_again_in_a_job_nothing_is_twice(self) -> None:
        folder = self.site.folder("killed", "nobody")
        job = self.site.cluster.sbatch("srun -n1 %s --dir %s --steps 300 --step-seconds 0.04 --marks" % (TRAINER, folder),
                                       user="nobody", options=["--mem=100"])
        counts = self.counts()
        gone: List[Tuple[int, int]] = []
        for step in (30, 150):
            self.site.wait_event(folder, "step_end", step=step)
            killed = time.time_ns()
            self.site.stop_daemon(signal.SIGKILL)
            self.site.start_daemon()
            gone.append((killed, time.time_ns()))
        self.site.settle(job)
        said = [(m["mark"], m["edge"], m.get("train_step")) for m in self.marks(job)]
        self.assertEqual(len(said), len(set(said)))
        steps = [n for what, _, n in said if what == "step"]
        self.assertEqual(steps, sorted(steps))
        # Marks that a killed daemon was processing may be lost, and so are those sent while there was no daemon, and during the
        # second in which the client does not try to connect again.
        late = int(lateness() * 5e8)
        lost = [(r["step"], r["t"]) for r in self.site.events(folder, "step_begin") if r["step"] not in steps]
        self.assertEqual([], [(step, t) for step, t in lost if not any(
            killed - late <= t <= back + 10**9 + late for killed, back in gone)], gone)
        self.counted("accepted", counts.get("accepted", 0))
        first = self.site.show_json(job)["jobs"][0]
        self.assertEqual(first["steps"]["count"], 300)
        again = self.site.sgoodput("ingest")
        self.assertEqual(again.returncode, 0)
        self.assertEqual(self.site.show_json(job)["jobs"][0]["steps"], first["steps"])

    def test_a_second_daemon_on_the_same_socket_says_so(self) -> None:
        second = self.site.cluster.run([GOODPUTD, "--config", self.site.conf], check=False, timeout=10)
        self.assertEqual(second.returncode, 1)
        self.assertIn("another goodputd", second.stderr)
        self.assertEqual(len(second.stderr.splitlines()), 1)


class ConfigurationTest(unittest.TestCase):
    def check(self, text: str) -> subprocess.CompletedProcess:
        path = os.path.join("/tmp", "goodput-check-%d.conf" % os.getpid())
        with open(path, "w") as file:
            file.write(text)
        try:
            return subprocess.run([GOODPUTD, "--check", "--config", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True)
        finally:
            os.unlink(path)

    def test_a_good_configuration_is_told_back(self) -> None:
        answer = self.check("# a comment\nspool = /x/spool\nsocket=@y  # why\nqueue_interval = 7s\nrole = node\n")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        for line in ("spool = /x/spool", "socket = @y", "queue_interval = 7s", "role = node", "spool_max = 268435456"):
            self.assertIn(line + "\n", answer.stdout)

    def test_a_bad_line_is_named(self) -> None:
        for line in ("spol = /x", "spool = relative", "queue_interval = soon", "role = king", "spool_max = -1", "socket = x",
                     "nonsense"):
            answer = self.check("# first\n\n%s\n" % line)
            self.assertEqual(answer.returncode, 2, line)
            self.assertRegex(answer.stderr, r"\A[^\n]*\.conf:3: [^\n]+\n\Z", line)

    def test_no_file_and_bad_flags(self) -> None:
        for arguments in (["--check", "--config", "/nonexistent"], ["--frobnicate"], ["extra"]):
            answer = subprocess.run([GOODPUTD] + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(answer.returncode, 2, arguments)
            self.assertEqual(answer.stdout, b"")


if __name__ == "__main__":
    unittest.main(verbosity=2)
