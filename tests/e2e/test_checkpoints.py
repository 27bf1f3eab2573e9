#!/usr/bin/python3
"""Watching checkpoint directories as the job's user on a real cluster: the records match what the trainer did, a directory
that hangs delays nothing else, and files of other users are not read.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_checkpoints
"""

import glob
import json
import os
import shutil
import signal
import time
import unittest
from typing import Dict, List, Tuple

from .harness.goodput_site import TRAINER, Site
from .harness.lateness import lateness

# Times the machine's lateness. The kernel's timestamps are ticks; a save's first file is created a moment after the trainer logs its
# begin.
TOLERANCE_NS = 100_000_000

# Frameworks of tests/trainer, and the layouts they write.
LAYOUTS = {"megatron": "megatron", "nemo": "nemo", "lightning": "lightning", "torchtitan": "torch-dcp", "maxtext": "orbax",
           "deepspeed": "deepspeed", "hf": "huggingface", "composer": "composer"}


def records(site: Site, job: int, kind: str = "checkpoint") -> List[Dict]:
    found = []
    for path in glob.glob(os.path.join(site.spool, "*", "*.jsonl")):
        with open(path) as file:
            found += [json.loads(line) for line in file if '"kind":"%s"' % kind in line and '"job":%d,' % job in line]
    # Without an edge: which processes see the directory.
    return sorted((record for record in found if kind != "checkpoint" or "edge" in record), key=lambda record: record["t"])


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class CheckpointTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("cgroup", nodes=3, cred_expire_s=0, dbd=False, conf=["checkpoint_scan = 500ms", "heartbeat = 500ms"])
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()

    def train(self, name: str, user: str, more: str = "", *options: str, directory: str = "") -> int:
        self.folder = self.site.folder(name, user)
        return self.site.cluster.sbatch(
            "srun -n2 %s --dir %s --layout megatron --step-seconds 0.1 --save-every 5 --save-seconds 0.4 %s" % (TRAINER, self.folder, more),
            user=user, options=["-N1", "--gres=gpu:8", "--goodput-checkpoint-dir=" + (directory or self.folder)] + list(options))

    def records(self, job: int, kind: str = "checkpoint") -> List[Dict]:
        return records(self.site, job, kind)

    def check(self, job: int, folder: str) -> None:
        told = {(event["step"], edge): event["t"] for edge, name in (("begin", "save_begin"), ("end", "save_end"))
                for event in self.site.events(folder, name)}
        deadline = time.monotonic() + 60
        while len(self.records(job)) < len(told) and time.monotonic() < deadline:
            time.sleep(0.2)
        seen = {(record["train_step"], record["edge"]): record["t"] for record in self.records(job)}
        self.assertEqual(sorted(seen), sorted(told))
        for key, t in told.items():
            self.assertLess(abs(seen[key] - t), TOLERANCE_NS * lateness(), key)
        self.assertEqual(len(self.records(job)), len(seen), "each once")
        self.assertEqual({record["layout"] for record in self.records(job)}, {"megatron"})

    def test_every_save_is_seen_where_a_path_expands(self) -> None:
        name = os.path.join(os.path.dirname(self.site.folder("x", "nobody")), "%u-%x-%%")
        folder = name.replace("%u", "nobody").replace("%x", "mega tron").replace("%%", "%")
        job = self.site.cluster.sbatch(
            "srun %s --dir '%s' --layout megatron --step-seconds 0.1 --save-every 5 --save-seconds 0.3 --steps 22" % (TRAINER, folder),
            user="nobody", options=["-N1", "--gres=gpu:8", "--job-name=mega tron", "--goodput-checkpoint-dir=" + name])
        self.site.settle(job)
        time.sleep(1)
        self.check(job, folder)

    def test_a_save_that_was_cut_off_is_begun_and_never_complete(self) -> None:
        job = self.train("cut", "nobody", "--steps 100 --save-every 3 --save-seconds 30")
        self.site.wait_event(self.folder, "save_begin")
        deadline = time.monotonic() + 60
        while not self.records(job) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.site.cluster.run(["scancel", str(job)], user="nobody")
        self.site.settle(job)
        time.sleep(1.5)
        self.assertEqual([(record["train_step"], record["edge"]) for record in self.records(job)], [(3, "begin")])

    def test_a_directory_of_somebody_else_is_not_read(self) -> None:
        secret = self.site.folder("secret", "root")
        os.makedirs(os.path.join(secret, "iter_0000009"))
        os.chmod(secret, 0o700)
        job = self.train("mine", "nobody", "--steps 8", directory=secret)
        self.site.settle(job)
        refused = "job %d: checkpoint directory %s: Permission denied (as the job's user)" % (job, secret)
        deadline = time.monotonic() + 60
        while refused not in self.site.daemon_log() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertIn(refused, self.site.daemon_log())
        self.assertEqual(self.records(job), [])
        link = self.site.folder("linked", "nobody")
        os.makedirs(link)
        os.symlink(secret, os.path.join(link, "iter_0000007"))
        os.chmod(link, 0o755)
        job = self.train("other", "nobody", "--steps 8", directory=link)
        self.site.settle(job)
        time.sleep(1)
        self.assertEqual(self.records(job), [])

    def test_a_directory_is_what_its_task_sees_by_that_name(self) -> None:
        # In a container with its own /mnt, which is empty on the node.
        inside = "/mnt/ckpt"
        job = self.train_inside("inside", inside, "mkdir %s && mount --bind $0 %s" % (inside, inside))
        self.assertFalse(os.path.exists(inside))
        self.check(job, self.folder)
        show = self.site.show_json(job)["jobs"][0]
        self.assertGreater([b["seconds"] for b in show["buckets"] if b["name"] == "productive"][0], 1)
        # The node has a directory of that name, in which another program saves.
        self.addCleanup(shutil.rmtree, "/dev/shm/gp-decoy", True)
        os.makedirs("/dev/shm/gp-decoy/iter_0000099")
        job = self.train_inside("decoy", "/dev/shm/gp-decoy", "mkdir /dev/shm/gp-decoy && mount --bind $0 /dev/shm/gp-decoy", over="/dev/shm")
        self.check(job, self.folder)

    def train_inside(self, name: str, directory: str, script: str, over: str = "/mnt") -> int:
        self.folder = self.site.folder(name, "nobody")
        argv = "--dir %s --layout megatron --step-seconds 0.1 --save-every 5 --save-seconds 0.4 --steps 22" % self.folder
        job = self.site.cluster.sbatch(
            "mkdir -p %s; srun -n1 unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none %s && %s && exec %s %s' %s" % (
                self.folder, over, script, TRAINER, argv, self.folder),
            user="nobody", options=["-N1", "--gres=gpu:8", "--goodput-checkpoint-dir=" + directory])
        self.site.settle(job)
        time.sleep(1)
        return job

    def test_a_directory_is_what_a_container_of_podman_sees_by_that_name(self) -> None:
        """The container's program is no child of the task, and the directory does not exist for the task."""
        self.folder = self.site.folder("podman", "nobody")
        home = os.path.dirname(self.folder)
        podman = self.podman(os.path.join(home, "podman-home"))
        trainer = os.path.dirname(TRAINER.split()[-1])
        variables = " ".join("--env=" + name for name in ("GOODPUT_SOCKET", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID"))
        job = self.site.cluster.sbatch(
            "mkdir -p %s; srun -n1 %s -v %s:/ckpt -v %s:/trainer:ro %s python3 /trainer/trainer.py --dir /ckpt --marks --layout megatron "
            "--step-seconds 0.1 --save-every 5 --save-seconds 0.4 --steps 22" % (self.folder, podman[0] + " " + variables, self.folder, trainer, podman[1]),
            user="nobody", options=["-N1", "--gres=gpu:8", "--goodput-checkpoint-dir=/ckpt"])
        self.site.settle(job)
        time.sleep(1)
        self.check(job, self.folder)
        self.assertEqual(len([r for r in self.records(job, "mark") if r["mark"] == "step"]), 22)

    def podman(self, home: str) -> Tuple[str, str]:
        """The command that starts a rootless container with this machine's /usr, and the prefix of its command."""
        if shutil.which("podman") is None:
            raise unittest.SkipTest("no podman here (apt-get install podman)")
        root = os.path.join(home, "root")
        self.site.cluster.run("mkdir -p -m 700 %s/run %s/usr %s/ckpt %s/trainer %s/etc && for at in bin lib lib64 sbin; do ln -sfn usr/$at %s/$at; done" % (
            home, root, root, root, root, root), user="nobody")
        said = ""
        # crun rejects machines with cgroups of both versions.
        for runtime in ("crun", "runc"):
            run = "env HOME=%s XDG_RUNTIME_DIR=%s/run podman --runtime=%s run --rm --network=host --ulimit=host -v /usr:/usr:ro" % (home, home, runtime)
            tried = self.site.cluster.run("%s --rootfs %s true" % (run, root), user="nobody", check=False)
            if tried.returncode == 0:
                return run, "--rootfs " + root
            said += tried.stderr
        raise unittest.SkipTest("podman does not run here: " + said[-500:])

    def test_steps_are_open_where_nobody_could_see_what_was_saved(self) -> None:
        secret = self.site.folder("closed", "root")
        os.makedirs(secret, 0o700)
        job = self.train("unseen", "nobody", "--steps 100 --marks --save-every 0", directory=secret)
        self.site.wait_steps(self.folder, 0, 25)
        self.site.cluster.run(["scancel", str(job)], user="nobody")
        self.site.settle(job)
        time.sleep(1)
        show = self.site.show_json(job)["jobs"][0]
        seconds = {b["name"]: b["seconds"] for b in show["buckets"]}
        self.assertGreater(seconds["at_risk"], 1)  # of 2.5 s: Slurm's end of the job is a whole second
        self.assertEqual(seconds["lost_work"], 0)
        self.assertIn("job %d: its checkpoint directory could not be read (Permission denied)" % job, " ".join(self.site.sgoodput("show", str(job)).stdout.split()))

    def test_a_directory_that_hangs_holds_up_nothing_else(self) -> None:
        stuck = self.train("stuck", "nobody", "--marks --steps 600 --on-signal USR1=ignore")
        stuck_folder = self.folder
        self.site.wait_event(stuck_folder, "save_end")
        deadline = time.monotonic() + 60
        # On a busy machine a helper that answers late is being replaced at times.
        helpers = self.helpers(stuck)
        while not (self.records(stuck) and len(helpers) == 1) and time.monotonic() < deadline:
            time.sleep(0.1)
            helpers = self.helpers(stuck)
        self.assertEqual(len(helpers), 1)
        os.kill(helpers[0], signal.SIGSTOP)
        # Meanwhile, its own marks and signals and all records of another job arrive.
        begin = time.time_ns()
        other = self.train("other", "root", "--marks --steps 22 --on-signal USR1=ignore")
        other_folder = self.folder
        self.site.wait_event(other_folder, "save_end")
        for job in (stuck, other):
            self.site.cluster.run(["scancel", "-s", "USR1", str(job)])
        self.site.settle(other)
        time.sleep(1)
        self.check(other, other_folder)
        for job, folder in ((stuck, stuck_folder), (other, other_folder)):
            told = self.site.events(folder, "signal")
            seen = [r for r in self.records(job, "signal") if r["signal"] == signal.SIGUSR1 and r.get("task") == 0]
            self.assertEqual((len(told), len(seen)), (1, 1))
            self.assertLess(abs(told[0]["t"] - seen[0]["t"]), 10_000_000 * lateness())
        steps = [event["step"] for event in self.site.events(stuck_folder, "step_begin") if event["t"] > begin]
        marked = {record.get("train_step") for record in self.records(stuck, "mark")}
        self.assertGreater(len(steps), 10)
        self.assertLessEqual(set(steps[:-3]), marked)
        # The helper was abandoned, and a new one reported what was missed.
        deadline = time.monotonic() + 60
        while len(self.records(stuck)) < 8 and time.monotonic() < deadline:
            time.sleep(0.5)
        self.assertNotIn(helpers[0], self.helpers(stuck))
        self.site.cluster.run(["scancel", str(stuck)])
        self.site.settle(stuck)
        self.assertGreaterEqual(len(self.records(stuck)), 8)

    def helpers(self, job: int) -> List[int]:
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid) as file:
                    words = file.read().split("\0")
            except OSError:
                continue
            if "scan-checkpoints" in words and str(job) in words:
                self.assertEqual(os.stat("/proc/" + pid).st_uid, 65534, "runs as the job's user")
                found.append(int(pid))
        return found

    def test_a_heartbeat_has_the_job_while_it_lives(self) -> None:
        job = self.train("beat", "nobody", "--steps 600")
        self.site.wait_event(self.folder, "step_begin", 3)
        path = os.path.join(self.site.spool, self.site.cluster.job(job)["NodeList"], "heartbeat")
        deadline = time.monotonic() + 60
        while (not os.path.exists(path) or job not in self.jobs_in(path)) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertIn(job, self.jobs_in(path))
        self.site.cluster.run(["scancel", str(job)], user="nobody")
        self.site.settle(job)
        deadline = time.monotonic() + 60
        while job in self.jobs_in(path) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertNotIn(job, self.jobs_in(path))

    @staticmethod
    def jobs_in(path: str) -> List[int]:
        with open(path) as file:
            return [job["job"] for job in json.load(file)["jobs"]]


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class LayoutsTest(unittest.TestCase):
    def test_every_frameworks_saves_are_seen_at_once(self) -> None:
        """The directories are scanned only on changes, because the interval is an hour."""
        with Site("cgroup", nodes=2, cred_expire_s=0, dbd=False, conf=["checkpoint_scan = 1h"]) as site:
            jobs = {}
            for framework in LAYOUTS:
                folder = site.folder(framework, "nobody")
                jobs[framework] = site.cluster.sbatch(
                    "srun %s --dir %s --framework %s --noise --steps 36 --step-seconds 0.25 --save-every 15 --save-seconds 0.8" % (
                        TRAINER, folder, framework),
                    user="nobody", options=["-N1", "--mem=64", "--gres=gpu:2", "--goodput-checkpoint-dir=" + folder])
            for framework, job in jobs.items():
                with self.subTest(framework):
                    folder = site.folder(framework, "nobody")
                    first = site.wait_event(folder, "save_end")["step"]
                    deadline = time.monotonic() + 60
                    while not self.seen(site, job).get((first, "end")) and time.monotonic() < deadline:
                        time.sleep(0.2)
                    self.assertIn((first, "end"), self.seen(site, job))
                    self.assertEqual(site.events(folder, "exit"), [], "while it runs")
            for framework, job in jobs.items():
                with self.subTest(framework):
                    folder = site.folder(framework, "nobody")
                    site.settle(job)
                    time.sleep(1.5)
                    told = {(event["step"], edge): event["t"] for edge, name in (("begin", "save_begin"), ("end", "save_end"))
                            for event in site.events(folder, name)}
                    seen = self.seen(site, job)
                    self.assertEqual(sorted(seen), sorted(told))
                    for key, t in told.items():
                        # Eight programs share the available processors.
                        self.assertLess(abs(seen[key] - t), 5 * TOLERANCE_NS * lateness(), key)
                    self.assertEqual({record["layout"] for record in records(site, job)}, {LAYOUTS[framework]})

    @staticmethod
    def seen(site: Site, job: int) -> Dict:
        """Lightning's last.ckpt counts as another save, and its name contains no number."""
        return {(record["train_step"], record["edge"]): record["t"] for record in records(site, job) if "train_step" in record}


if __name__ == "__main__":
    unittest.main()
