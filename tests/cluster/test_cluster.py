#!/usr/bin/python3
"""The test cluster itself: it starts, runs jobs, affects nothing else, and leaves nothing behind."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
from typing import List

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import reap  # noqa: E402
from cluster import Cluster, ClusterError, directories  # noqa: E402


def left_behind(top: str, about: dict) -> list:
    """Everything that remains of a cluster, even if its directory has been removed."""
    found = [path for path in (top, reap.sack_folder(about["name"])) if os.path.exists(path)]
    found += reap.mounts(top)
    for root, folders, _ in os.walk("/sys/fs/cgroup"):
        found += [os.path.join(root, f) for f in folders if any(node in f for node in about["nodes"])]
    for entry in os.listdir("/proc"):
        if entry.isdigit() and reap.start_time(int(entry)) and int(entry) != os.getpid():
            if (reap._folder(int(entry)) + "/").startswith(top + "/"):
                found.append("pid %s is there: %r" % (entry, reap._read("/proc/%s/cmdline" % entry)))
            for file in ("cmdline", "environ"):
                text = reap._read("/proc/%s/%s" % (entry, file))
                if os.fsencode(top) in text or os.fsencode("SLURM_CLUSTER_NAME=" + about["name"]) in text:
                    found.append("pid %s: %r" % (entry, reap._read("/proc/%s/cmdline" % entry)))
    return found


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ClusterTest(unittest.TestCase):
    def runs_jobs(self, mode: str, auth: str = "") -> None:
        with Cluster(mode=mode, auth=auth) as cluster:
            top, about = cluster.dir, reap.description(cluster.dir)
            for user in ("root", "nobody"):
                job = cluster.sbatch("srun -N4 bash -c 'echo $SLURMD_NODENAME $USER $CUDA_VISIBLE_DEVICES'",
                                     user=user, options=["-N4", "--gres=gpu:8"])
                cluster.wait_state(job, "COMPLETED")
                self.assertEqual(sorted(cluster.output(job, user).splitlines()),
                                 ["%s %s 0,1,2,3,4,5,6,7" % (node, user) for node in cluster.nodes])
                rows = cluster.wait_sacct(job, lambda rows: bool(rows) and rows[0]["State"] == "COMPLETED")
                self.assertEqual(rows[0]["User"], user)
                self.assertIn("gres/gpu:h100=32", rows[0]["AllocTRES"])
                names = [row["JobID"] for row in rows]
                self.assertIn("%d.batch" % job, names)
                self.assertEqual("%d.extern" % job in names, mode == "cgroup")
            # A remaining process with an empty environment must be ended, too.
            cluster.sbatch("exec env -i bash -c 'trap \"\" TERM; env -i sleep 1000; sleep 1'", user="nobody")
            time.sleep(1)
        self.assertEqual(left_behind(top, about), [])

    def test_cgroup_mode_runs_jobs_of_root_and_of_users(self) -> None:
        self.runs_jobs("cgroup")

    def test_linuxproc_mode_runs_jobs_of_root_and_of_users(self) -> None:
        self.runs_jobs("linuxproc")

    @unittest.skipUnless(shutil.which("sackd"), "this Slurm has no sackd")
    def test_without_munge(self) -> None:
        self.runs_jobs("cgroup", auth="slurm")

    def test_without_slurmdbd(self) -> None:
        with Cluster(mode="cgroup", dbd=False, nodes=1) as cluster:
            job = cluster.sbatch("true", user="nobody", options=["--gres=gpu:1"])
            cluster.wait_state(job, "COMPLETED")

    def test_preemption_by_the_high_partition_requeues(self) -> None:
        with Cluster(mode="cgroup", kill_wait_s=1, cred_expire_s=6) as cluster:
            low = cluster.sbatch("srun sleep 100", user="nobody", options=["-N4", "--gres=gpu:8"])
            cluster.wait_state(low, "RUNNING")
            high = cluster.sbatch("srun sleep 1", user="games", options=["-N4", "--gres=gpu:8", "-p", "high"])
            cluster.wait_state(high, {"RUNNING", "COMPLETED"}, timeout=90)
            self.assertEqual(cluster.job(low)["Restarts"], "1")
            cluster.wait_state(low, "RUNNING", timeout=90)
            rows = cluster.wait_sacct(low, lambda rows: len([r for r in rows if r["JobID"] == str(low)]) == 2)
            self.assertEqual([row["State"] for row in rows if row["JobID"] == str(low)], ["PREEMPTED", "RUNNING"])

    def test_a_daemon_may_be_killed_and_started_again(self) -> None:
        with Cluster(mode="linuxproc", nodes=2, plugstack=[]) as cluster:
            job = cluster.sbatch("srun sleep 4", user="nobody", options=["-N2"])
            cluster.wait_state(job, "RUNNING")
            time.sleep(1)
            # slurmctld saves its state every few seconds: if killed at once, it would lose the job's start.
            for daemon, signo in (("slurmctld", signal.SIGTERM), ("slurmd-" + cluster.nodes[1], signal.SIGKILL)):
                cluster.stop_daemon(daemon, signo)
                cluster.start_daemon(daemon)
            time.sleep(1)
            cluster.wait_state(job, "COMPLETED")

    def test_who_still_asks_it_does_not_keep_it_from_stopping(self) -> None:
        cluster = Cluster(mode="linuxproc", dbd=False, nodes=1).start()
        ended: List[str] = []

        def asks() -> None:
            try:
                while True:
                    cluster.run(["scontrol", "show", "config"], check=False)
            except ClusterError as error:
                ended.append(str(error))

        threads = [threading.Thread(target=asks) for _ in range(8)]
        for thread in threads:
            thread.start()
        cluster.stop()
        for thread in threads:
            thread.join(60)
        self.assertEqual(ended, ["the cluster in %s was stopped" % cluster.dir] * len(threads))
        self.assertFalse(os.path.exists(cluster.dir))

    def test_two_clusters_at_once_do_not_meet(self) -> None:
        with Cluster(mode="cgroup") as one, Cluster(mode="cgroup") as two:
            self.assertNotEqual(one.nodes, two.nodes)
            jobs = [(c, c.sbatch("srun -N4 sleep 1", user="nobody", options=["-N4", "--gres=gpu:8"]))
                    for c in (one, two)]
            for cluster, job in jobs:
                cluster.wait_state(job, "COMPLETED")
            one.stop()
            two.run(["srun", "-N4", "true"], user="nobody")

    def test_killing_the_owner_leaves_nothing(self) -> None:
        for mode in ("cgroup", "linuxproc"):
            with self.subTest(mode=mode):
                owner = subprocess.Popen(
                    [sys.executable, "-c", "import sys, time; sys.path.insert(0, %r)\n"
                     "from cluster import Cluster\n"
                     "c = Cluster(mode=%r).start()\n"
                     "j = c.sbatch('srun bash -c \"sleep 1000 & setsid sleep 1000\"', user='nobody', "
                     "options=['-N4', '--gres=gpu:8'])\n"
                     "c.wait_state(j, 'RUNNING'); time.sleep(1); print(c.dir, flush=True); time.sleep(1000)\n"
                     % (HERE, mode)], stdout=subprocess.PIPE, universal_newlines=True)
                top = owner.stdout.readline().strip()
                about = reap.description(top)
                self.assertTrue(reap.processes(top))
                owner.kill()
                owner.wait()
                owner.stdout.close()
                deadline = time.monotonic() + 60
                while left_behind(top, about) and time.monotonic() < deadline:
                    time.sleep(0.2)
                self.assertEqual(left_behind(top, about), [])

    def test_a_suspended_job_goes_too(self) -> None:
        with Cluster(mode="cgroup", dbd=False, nodes=1) as cluster:
            top, about = cluster.dir, reap.description(cluster.dir)
            job = cluster.sbatch("srun sleep 1000", user="nobody")
            cluster.wait_state(job, "RUNNING")
            cluster.run(["scontrol", "suspend", str(job)])
            # slurmctld reports it before slurmstepd has frozen the processes.
            deadline = time.monotonic() + 60
            while not any(b"FROZEN" in reap._read(folder + "/freezer.state") or b"1" in reap._read(folder + "/cgroup.freeze")
                          for folder in reap.cgroups(top)):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
        self.assertEqual(left_behind(top, about), [])

    def test_down_all_takes_what_owner_and_watchdog_left(self) -> None:
        owner = subprocess.Popen(
            [sys.executable, "-c", "import sys, time; sys.path.insert(0, %r)\nfrom cluster import Cluster\n"
             "c = Cluster(mode='cgroup', dbd=False, nodes=1).start()\n"
             "print(c.dir, c._children['watchdog'].pid, flush=True); time.sleep(1000)\n" % HERE],
            stdout=subprocess.PIPE, universal_newlines=True)
        top, watchdog = owner.stdout.readline().split()
        about = reap.description(top)
        os.kill(int(watchdog), signal.SIGKILL)
        owner.kill()
        owner.wait()
        owner.stdout.close()
        self.assertTrue(reap.processes(top))
        subprocess.run([os.path.join(HERE, "down"), "--all"], stdout=subprocess.DEVNULL, check=True)
        self.assertEqual(left_behind(top, about), [])

    def test_killed_while_starting_leaves_nothing(self) -> None:
        for wait_s in (0.05, 0.3, 0.6, 1.0, 2.0):
            with self.subTest(wait_s=wait_s):
                owner = subprocess.Popen(
                    [sys.executable, "-c", "import sys; sys.path.insert(0, %r)\nimport cluster, os\n"
                     "c = cluster.Cluster(mode='cgroup')\n"
                     "describe = c._describe\n"
                     "c._describe = lambda: (describe(), print(c.dir, flush=True))\n"
                     "c.start()\n" % HERE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
                top = owner.stdout.readline().strip()
                about = reap.description(top)
                time.sleep(wait_s)
                owner.kill()
                owner.wait()
                owner.stdout.close()
                deadline = time.monotonic() + 60
                while left_behind(top, about) and time.monotonic() < deadline:
                    time.sleep(0.2)
                if wait_s < 0.1:  # possibly before the watchdog started
                    subprocess.run([os.path.join(HERE, "down"), top], check=True)
                self.assertEqual(left_behind(top, about), [])

    def test_up_stays_until_down_and_down_takes_everything(self) -> None:
        up = subprocess.run([os.path.join(HERE, "up"), "--mode", "cgroup", "--no-dbd", "--nodes", "2"],
                            stdout=subprocess.PIPE, universal_newlines=True, check=True)
        exports = dict(line[len("export "):].split("=", 1) for line in up.stdout.splitlines())
        top = exports["GOODPUT_TEST_CLUSTER"]
        about = reap.description(top)
        self.assertEqual(exports["SLURM_CONF"], top + "/etc/slurm.conf")
        cluster = Cluster.attach(top)
        job = cluster.sbatch("sleep 1000", user="nobody")
        cluster.wait_state(job, "RUNNING")
        os.kill(cluster.pid("slurmd-" + cluster.nodes[0]), signal.SIGKILL)
        subprocess.run([os.path.join(HERE, "down"), "--all"], stdout=subprocess.DEVNULL, check=True)
        self.assertIn(top, directories())  # started manually: not a leftover
        # The shell that evaluated the exports survives.
        down = subprocess.run(["bash", "-c", "%s/down; echo alive" % HERE], env=dict(os.environ, **exports),
                              stdout=subprocess.PIPE, universal_newlines=True)
        self.assertEqual(down.stdout, "alive\n")
        self.assertEqual(left_behind(top, about), [])

    def test_down_refuses_what_is_not_a_test_cluster(self) -> None:
        down = subprocess.run([os.path.join(HERE, "down"), "/etc"], stderr=subprocess.PIPE)
        self.assertEqual(down.returncode, 2)
        self.assertTrue(os.path.isdir("/etc"))

    def test_a_cluster_that_cannot_start_says_why_and_leaves_nothing(self) -> None:
        before = directories()
        with self.assertRaises(ClusterError):
            Cluster(mode="linuxproc", dbd=False, slurm_conf=["SelectType=select/none_such"]).start()
        self.assertEqual([top for top in directories() if top not in before and not reap.owner_alive(top)], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
