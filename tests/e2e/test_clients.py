#!/usr/bin/python3
"""Programs that mark with goodput.h (as C99 and as C++) and goodput.py, as root and as an ordinary user, on a real cluster:
from a plain srun, from their own mount and PID namespaces, and from their own network namespace. Also a script with
goodput-mark, in a root file system with nothing else.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_clients

The truth is the program's own log, with the time before and after each call.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import unittest
from typing import Dict, List, NamedTuple, Tuple

from .harness.goodput_site import BUILD, SGOODPUT, TESTS, Site
from .harness.judge import assert_valid
from .harness.lateness import lateness
from .harness.reach import reachable

SOURCES = os.path.join(TESTS, "clients")
CLIENTS = reachable(os.path.join(os.path.dirname(TESTS), "tools", "clients"))
MARK = os.path.join(BUILD, "tools", "clients", "goodput-mark")
# A record's time is computed from the daemon's two clocks, which are read a moment apart.
TOLERANCE_NS = 1_000_000

# The socket's path as mounted in a container, unless the site uses another one; everything else in /run belongs to the namespace.
MOUNTED = "unset GOODPUT_SOCKET_PATH; mount -t tmpfs none /run && mkdir /run/slurm-goodput && mount --bind %s /run/slurm-goodput && exec %s"


class Span(NamedTuple):
    before: int
    after: int


def waited(steps: List[List[Span]]) -> Tuple[float, float]:
    """The least and the most that four ranks waited for the last of them, in seconds of a rank."""
    least = sum(max(t.before for t in times) - sum(t.after for t in times) / 4 for times in steps)
    most = sum(max(t.after for t in times) - sum(t.before for t in times) / 4 for times in steps)
    return least / 1e9, most / 1e9


def inside(user: str, options: str, command: str) -> str:
    """The command in separate namespaces; an ordinary user needs a user namespace for that."""
    return "unshare %s --fork %s sh -c '%s'" % ("" if user == "root" else "--user --map-root-user", options, command)


def namespaces_of(user: str, socket_folder: str, command: str) -> Dict[str, str]:
    """The command as a job would run it: directly, and in separate namespaces."""
    return {
        "srun": command,
        "unshare --mount --pid": inside(user, "--mount --pid", command),
        "unshare --net": inside(user, "--net --mount", MOUNTED % (socket_folder, command)),
        "unshare --net, socket_path": inside(user, "--net", command),
    }


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ClientsTest(unittest.TestCase):
    site: Site
    jobs: Dict[Tuple[str, str, str], int] = {}  # by language, user, namespaces
    alone: Dict[str, int] = {}
    ranks: Dict[str, int] = {}
    labelled: Dict[str, int] = {}

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("cgroup", nodes=3, cred_expire_s=0, dbd=False, daemon=False, plugin="socket_path={dir}/goodput/run/mark.sock")
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        cls.programs = cls.build()
        folder = cls.site.path("goodput", "run")
        os.mkdir(folder, 0o755)
        with open(cls.site.conf, "a") as conf:
            conf.write("socket_path = %s/mark.sock\n" % folder)
        cls.site.start_daemon()
        for user in ("root", "nobody"):
            for language, program in cls.programs.items():
                for where, command in namespaces_of(user, folder, program + " " + cls.log_name(user)).items():
                    cls.jobs[language, user, where] = cls.submit(user, command)
            for language in ("c99", "python"):
                cls.alone[language + user] = cls.submit(user, inside(user, "--net", "env -u GOODPUT_SOCKET_PATH %s %s" % (cls.programs[language], cls.log_name(user))))
            # Two tasks, of which the first reports for the job.
            cls.ranks[user] = cls.submit_ranks(user, "ranks", "srun", "")
            cls.labelled[user] = cls.submit_ranks(user, "labelled", "srun --label", " print", "--goodput-log-profile=torchtitan",
                                                  "--output=%s/labelled.out" % cls.site.cluster.jobdir(user))
            cls.jobs["python", user, "two tasks"] = cls.submit(user, "bash -c '%s %s$SLURM_PROCID'" % (
                cls.programs["python"], cls.log_name(user)), tasks=2)

    @classmethod
    def build(cls) -> Dict[str, str]:
        """The commands that run the program, by language."""
        programs = {"python": "env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=%s /usr/bin/python3 %s" % (
            CLIENTS, os.path.join(reachable(SOURCES), "program.py"))}
        for language, compiler in (("c99", ["cc", "-std=c99"]), ("c++", ["c++", "-std=c++11", "-x", "c++"])):
            programs[language] = os.path.join(cls.site.cluster.jobdir(), "program-" + language)
            subprocess.run(compiler + ["-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", CLIENTS, "-o", programs[language],
                                       os.path.join(SOURCES, "program.c")], check=True)
        return programs

    @classmethod
    def submit_ranks(cls, user: str, name: str, srun: str, arguments: str, *options: str) -> int:
        meeting = os.path.join(cls.site.cluster.jobdir(user), name)
        os.mkdir(meeting)
        shutil.chown(meeting, user)
        return cls.site.cluster.sbatch(
            "%s env PYTHONDONTWRITEBYTECODE=1 GOODPUT_RANKS=all PYTHONPATH=%s /usr/bin/python3 %s %s%s && sleep 1.1" % (
                srun, CLIENTS, os.path.join(reachable(SOURCES), "ranks.py"), meeting, arguments),
            user=user, options=["-N2", "-n4"] + list(options))

    @classmethod
    def log_name(cls, user: str) -> str:
        return cls.site.cluster.jobdir(user) + "/log.$SLURM_JOB_ID"

    @classmethod
    def submit(cls, user: str, command: str, tasks: int = 1) -> int:
        # Slurm's end of a job is truncated to a second, and the program ran until the end.
        return cls.site.cluster.sbatch("srun -n%d %s && sleep 1.1" % (tasks, command), user=user, options=["-N1", "-n%d" % tasks])

    def log(self, user: str, job: int, suffix: str = "") -> Tuple[Dict[str, Span], int]:
        """The program's log, and the number of marks that it reports as dropped."""
        self.site.cluster.wait_state(job, "COMPLETED")
        told: Dict[str, Span] = {}
        with open(os.path.join(self.site.cluster.jobdir(user), "log.%d%s" % (job, suffix))) as file:
            for line in file:
                what, before, after = line.split()
                told[what] = Span(int(before), int(after))
        return told, told.pop("dropped").before

    def marks(self, job: int) -> List[Dict]:
        found = []
        for path in glob.glob(os.path.join(self.site.spool, "*", "*.jsonl")):
            with open(path) as file:
                found += [json.loads(line) for line in file if '"kind":"mark"' in line and '"job":%d,' % job in line]
        return sorted(found, key=lambda mark: mark["t"])

    def check(self, user: str, job: int, suffix: str = "") -> Dict[str, Span]:
        told, dropped = self.log(user, job, suffix)
        seen = self.marks(job)
        words = ["-".join(str(mark[key]) for key in ("mark", "edge", "name", "train_step", "world", "wanted") if key in mark) for mark in seen]
        self.assertEqual((words, dropped), (list(told), 0))
        for word, mark in zip(words, seen):
            self.assertGreater(mark["t"], told[word].before - TOLERANCE_NS, word)
            self.assertLess(mark["t"], told[word].after + TOLERANCE_NS, word)
            self.assertEqual((mark["slurm_step"], mark["task"]), ("0", 0))
            self.assertEqual(mark["uid"], 0 if user == "root" else 65534)
        return told

    def test_every_mark_arrives_wherever_the_program_is(self) -> None:
        for (language, user, where), job in self.jobs.items():
            with self.subTest(language=language, user=user, where=where):
                self.check(user, job, "0" if where == "two tasks" else "")

    def test_a_script_marks_in_an_image_that_has_nothing(self) -> None:
        for user in ("root", "nobody"):
            with self.subTest(user=user):
                image = os.path.join(self.site.cluster.jobdir(user), "image")
                os.makedirs(image)
                shutil.copy(MARK, os.path.join(image, "sgoodput"))
                enter = "unshare %s chroot %s /sgoodput mark" % ("" if user == "root" else "--user --map-root-user", image)
                job = self.site.cluster.sbatch("srun -n1 %s step 7; srun -n1 %s phase evaluation begin; %s checkpoint end 7; %s world 5 of 8 spares 1 tokens 9; %s step 8 failed; %s step x; %s step 8 lost" % (
                    (enter,) * 7), user=user, options=["-N1", "-n1"])
                self.site.cluster.wait_state(job, "COMPLETED")
                marks = self.marks(job)
                seen = [(mark["slurm_step"], mark["mark"], mark.get("train_step"), mark.get("name")) for mark in marks]
                self.assertEqual(seen, [("0", "step", 7, None), ("1", "phase", None, "evaluation"), ("batch", "checkpoint", 7, None),
                                        ("batch", "world", None, None), ("batch", "step", 8, "failed")])
                self.assertEqual([marks[-2][key] for key in ("world", "wanted", "spares", "tokens")], [5, 8, 1, 9])

    def test_buckets_are_what_the_program_did(self) -> None:
        for (language, user, where), job in self.jobs.items():
            if where == "two tasks":
                continue
            with self.subTest(language=language, user=user, where=where):
                told = self.check(user, job)
                self.site.settle(job)
                show = self.site.show_json(job)
                assert_valid(show)
                answer = show["jobs"][0]
                self.assertEqual([answer["steps"][name] for name in ("count", "kept", "lost", "failed")], [21, 20, 1, 1])
                attempt = answer["attempts"][0]
                self.assertEqual((attempt["first_step"], attempt["last_step"]), (6, 25))
                self.assertEqual([(save["step"], save["evidence"]) for save in answer["checkpoints"]], [(15, "mark"), (25, "mark")])
                buckets = {bucket["name"]: bucket for bucket in answer["buckets"]}
                parts = {part["name"]: part for part in buckets["startup"]["parts"]}
                self.holds(parts["init"], told, ("phase-begin-init", "phase-end-init"))
                self.holds(parts["restore"], told, ("restore-begin", "restore-end-5"))
                self.holds(buckets["checkpoint_save"], told, ("checkpoint-begin-15", "checkpoint-end-15"),
                           ("checkpoint-begin-25", "checkpoint-end-25"))
                evaluation = {part["name"]: part for part in buckets["overhead"]["parts"]}["evaluation"]
                self.holds(evaluation, told, ("phase-begin-evaluation", "phase-end-evaluation"))
                self.assertEqual([part["name"] for part in buckets["lost_work"]["parts"]], ["failed_step"])
                self.holds(buckets["lost_work"], told, ("step-begin-10", "step-end-failed-10"))

    def begins_of(self, user: str, name: str) -> Dict[int, List[Span]]:
        """By step: when each rank began it."""
        begins: Dict[int, List[Span]] = {}
        for path in glob.glob(os.path.join(self.site.cluster.jobdir(user), name, "log-*")):
            with open(path) as file:
                for step, before, after in map(lambda line: map(int, line.split()), file):
                    begins.setdefault(step, []).append(Span(before, after))
        self.assertEqual({len(times) for times in begins.values()}, {4})
        return begins

    def test_labelled_output_names_the_rank_that_others_wait_for(self) -> None:
        for user, job in self.labelled.items():
            with self.subTest(user=user):
                self.site.cluster.wait_state(job, "COMPLETED")
                begins = self.begins_of(user, "labelled")
                self.site.settle(job)
                show = self.site.show_json(job)
                assert_valid(show)
                wait = show["jobs"][0]["rank_wait"]
                self.assertIsNotNone(wait, show["jobs"][0]["rank_wait_why"])
                # The first step has no line before it, the first line of a rank is not compared, and the third step is the first of all ranks.
                measured = [times for step, times in begins.items() if step > 3]
                self.assertEqual((wait["ranks"], wait["measured_steps"], wait["kept_steps"]), (4, len(measured), len(begins)))
                least, most = waited(measured)
                self.assertTrue(least - 0.02 < wait["gpu_seconds"] < most + 0.02, (wait, least, most))
                late, = wait["late"]
                with open(os.path.join(self.site.cluster.jobdir(user), "labelled", "node-3")) as file:
                    self.assertEqual((late["rank"], late["node"], late["wait_share"]), (3, file.read(), 1))

    def test_show_names_the_rank_that_others_wait_for(self) -> None:
        for user, job in self.ranks.items():
            with self.subTest(user=user):
                self.site.cluster.wait_state(job, "COMPLETED")
                begins = self.begins_of(user, "ranks")
                self.site.settle(job)
                show = self.site.show_json(job)
                assert_valid(show)
                wait = show["jobs"][0]["rank_wait"]
                # Not the first step.
                self.assertEqual((wait["ranks"], wait["ranks_left_out"], wait["late_steps"]), (4, 0, len(begins) - 1))
                self.assertEqual((wait["measured_steps"], wait["kept_steps"]), (len(begins) - 1, len(begins)))
                measured = [times for step, times in begins.items() if step > 1]
                least, most = waited(measured)
                self.assertLess(wait["gpu_seconds"], most + 0.02)
                # Of two estimates the smaller counts: on a busy machine, where all ranks are late, less than there was.
                self.assertGreater(wait["gpu_seconds"], least - 0.02 if lateness() < 2 else 0.7 * least)
                longest = max(max(t.before for t in times) - min(t.after for t in times) for times in measured) / 1e9
                self.assertGreater(wait["longest_s"], longest - 0.005)
                longest = max(max(t.after for t in times) - min(t.before for t in times) for times in measured) / 1e9
                self.assertLess(wait["longest_s"], longest + 0.005)
                late, = wait["late"]
                with open(os.path.join(self.site.cluster.jobdir(user), "ranks", "node-3")) as file:
                    node = file.read()
                self.assertEqual((late["rank"], late["node"], late["slurm_step"], late["wait_share"]), (3, node, "0", 1))
                text = " ".join(self.site.sgoodput("show", str(job)).stdout.split())
                said = re.search(r"(\d+\.\d)%% of productive time waiting for the last of 4 ranks to begin a step, up to (0\.\d\d\d) s; 100%% of it "
                                 r"for rank 3 on %s \(measured in 11 of 12 kept steps\)" % node, text)
                assert said, text
                productive, = [b["seconds"] for b in show["jobs"][0]["buckets"] if b["name"] == "productive"]
                self.assertAlmostEqual(float(said[1]), 100 * wait["gpu_seconds"] / productive, delta=0.06)
                self.assertAlmostEqual(float(said[2]), wait["longest_s"], delta=0.0006)

    def holds(self, bucket: Dict, told: Dict[str, Span], *edges: Tuple[str, str]) -> None:
        """Its time is between the shortest and the longest time that the log allows."""
        shortest = sum(told[end].before - told[begin].after for begin, end in edges)
        longest = sum(told[end].after - told[begin].before for begin, end in edges)
        slack = 2 * TOLERANCE_NS * len(edges)
        self.assertTrue(shortest - slack <= bucket["ns"] <= longest + slack, (bucket, shortest, longest))

    def test_doctor_says_what_plugin_and_daemon_are_told_otherwise(self) -> None:
        def doctor(conf: str) -> str:
            return self.site.cluster.run([SGOODPUT, "doctor", "--config", conf], check=False).stdout

        said = doctor(self.site.conf)
        self.assertIn("the plugin ", said)
        self.assertNotIn("the plugin's ", said)
        other = self.site.path("goodput", "other.conf")
        with open(self.site.conf) as ours, open(other, "w") as theirs:
            theirs.write(ours.read() + "socket = @elsewhere\nsocket_path = /elsewhere.sock\n")
        said = doctor(other)
        self.assertRegex(said, "!!  the plugin's socket is %s .*, but goodputd's is @elsewhere" % self.site.socket)
        self.assertRegex(said, r"!!  the plugin's socket_path is \S+/mark.sock .*, but goodputd's is /elsewhere.sock")
        self.assertIn("fix: set socket_path=/elsewhere.sock in ", said)
        self.assertNotIn("the plugin's spool", said)

    def test_where_the_daemon_cannot_be_reached_the_job_goes_on(self) -> None:
        for name, job in self.alone.items():
            user = "nobody" if name.endswith("nobody") else "root"
            told, dropped = self.log(user, job)
            self.assertEqual(dropped, len(told))
            self.assertEqual(self.marks(job), [])


if __name__ == "__main__":
    unittest.main()
