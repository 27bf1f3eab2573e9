#!/usr/bin/python3
"""The plugin's file changes under running jobs, or does not fit: no job and no node is affected, and doctor names the problem.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_upgrade

Needs root, Debian's Slurm packages and a build with its tests (`make check TESTS=`).
"""

import os
import re
import shutil
import signal
import struct
import subprocess
import time
import unittest
from typing import List, Tuple

from .harness.goodput_site import PLUGIN, Site
from .test_plugin import FAULTS, records

USERS = ("root", "nobody")
# The output and the results of jobs of every kind do not depend on the plugin's file.
SCRIPT = r"""
echo begin
srun -N2 -n2 bash -c 'echo "rank $SLURM_PROCID"' | sort
srun -N1 -n1 -w $SLURMD_NODENAME bash -c 'exit 3'; echo "failed step: $?"
exit 7
"""


def with_release(plugin: str, copy: str, number: int) -> None:
    """A copy for another release: Slurm compares the symbol plugin_version."""
    symbols = subprocess.check_output(["readelf", "-sW", "--dyn-syms", plugin], text=True)
    sections = subprocess.check_output(["readelf", "-SW", plugin], text=True)
    match = re.search(r"([0-9a-f]{16})\s+4 OBJECT\s+GLOBAL DEFAULT\s+(\d+) plugin_version", symbols)
    assert match is not None, symbols
    value, index = int(match.group(1), 16), int(match.group(2))
    section = re.search(r"\[\s*%d\] \S+\s+\S+\s+([0-9a-f]+) ([0-9a-f]+)" % index, sections)
    assert section is not None, sections
    offset = value - int(section.group(1), 16) + int(section.group(2), 16)
    shutil.copyfile(plugin, copy)
    with open(copy, "r+b") as file:
        file.seek(offset)
        file.write(struct.pack("I", number))


class UpgradeTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("cgroup", nodes=2, cred_expire_s=0, dbd=False)
        # The tests replace an installed copy. The harness expects it in PLUGIN; plugstack.conf is read again.
        cls.site.start()
        cls.installed = cls.site.path("lib", "spank_goodput.so")
        os.mkdir(cls.site.path("lib"), 0o755)
        cls.install(PLUGIN)
        cls.stack("optional %s spool=%s socket=%s" % (cls.installed, cls.site.spool, cls.site.socket))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.site.stop()

    @classmethod
    def stack(cls, *lines: str) -> None:
        path = cls.site.path("etc", "plugstack.conf")
        with open(path + ".new", "w") as file:
            file.write("".join(line + "\n" for line in lines))
        os.rename(path + ".new", path)

    @classmethod
    def install(cls, plugin: str) -> None:
        """Replaces a file by rename, as packages and `make install` do."""
        shutil.copyfile(plugin, cls.installed + ".new")
        os.rename(cls.installed + ".new", cls.installed)

    def setUp(self) -> None:
        self.install(PLUGIN)

    # --- helpers

    def finish(self, job: int, user: str) -> Tuple[str, str]:
        deadline = time.monotonic() + 60
        while self.site.cluster.state(job) not in ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL"):
            self.assertLess(time.monotonic(), deadline, self.site.cluster.job(job))
            time.sleep(0.05)
        self.wait_idle()
        text = re.sub(r"srun: (Job \d+ step creation temporarily disabled|Step created for ).*\n", "",
                      self.site.cluster.output(job, user))
        return self.site.cluster.job(job)["ExitCode"], text

    def wait_idle(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            states = self.site.cluster.run(["sinfo", "-h", "-N", "-p", "a3mega", "-o", "%T"]).stdout.split()
            if set(states) == {"idle"}:
                return
            self.assertFalse([s for s in states if "drain" in s or "down" in s or "fail" in s], states)
            self.assertLess(time.monotonic(), deadline, states)
            time.sleep(0.05)

    def run_job(self, user: str) -> Tuple[str, str]:
        return self.finish(self.site.cluster.sbatch(SCRIPT, user=user, options=["-N2"]), user)

    def assert_jobs_go_as_ever(self, slurm_says: str = "", newer_says: str = "") -> None:
        """slurm_says: two lines that Slurm prints for every srun about a plugin that it cannot load. newer_says: the same since
        25.11.1, in one line, which is missing if the plugin is optional and does not exist."""
        if self.site.cluster.release() >= (25, 11):
            slurm_says = newer_says
        for user in USERS:
            code, text = self.run_job(user)
            if slurm_says:
                text, complaints = re.subn(r"srun: (?:error: )?plugin_load_from_file: .*\n(?:srun: error: spank: .*\n)?", "",
                                           text)
                self.assertEqual(complaints, 2, text)
            self.assertEqual(code, "7:0", text)
            self.assertRegex(text, r"\Abegin\nrank 0\nrank 1\n(srun: error: .*\n)?failed step: 3\n\Z")
            direct = self.site.cluster.run(["srun", "-N2", "-n2", "bash", "-c", "exit $((SLURM_PROCID * 5))"], user=user,
                                           check=False)
            self.assertEqual(direct.returncode, 5, direct.stderr)
            self.assertIn(slurm_says, direct.stderr)
            if not slurm_says:
                self.assertNotIn("goodput", direct.stderr)
            self.wait_idle()

    def kinds(self, job: int) -> List[str]:
        return [r["kind"] for r in records(self.site.spool) if r.get("job") == job]

    def recorded(self) -> int:
        """The number of the plugin's records so far; the daemon writes other kinds."""
        return len([r for r in records(self.site.spool) if r["kind"].startswith(("job_", "step_", "task_"))])

    def doctor(self) -> str:
        return self.site.sgoodput("doctor").stdout

    # --- replaced while jobs run

    def test_replaced_while_jobs_run(self) -> None:
        for user in USERS:
            gate = os.path.join(self.site.cluster.jobdir(user), "gate")
            for newer in (PLUGIN, FAULTS):
                self.install(PLUGIN)
                job = self.site.cluster.sbatch(
                    "srun -N2 -n2 bash -c 'while [ ! -e %s ]; do sleep 0.1; done'\nsrun -N2 -n2 true\nexit 7" % gate,
                    user=user, options=["-N2"])
                self.wait_kind(job, "task_start", 3)  # the batch script and both tasks
                before = os.stat(self.installed).st_ino
                self.install(newer)
                self.assertNotEqual(os.stat(self.installed).st_ino, before)
                with open(gate, "w"):
                    pass
                self.assertEqual(self.finish(job, user), ("7:0", ""))
                os.unlink(gate)
                kinds = self.kinds(job)
                # Every step that began also ended, on both nodes, whichever file it had loaded.
                for begin, end in (("step_start", "step_end"), ("task_start", "task_exit"), ("job_prolog", "job_epilog")):
                    self.assertEqual(kinds.count(begin), kinds.count(end), kinds)
                self.assertEqual(kinds.count("task_start"), 5)

    def wait_kind(self, job: int, kind: str, count: int) -> None:
        deadline = time.monotonic() + 60
        while self.kinds(job).count(kind) < count:
            self.assertLess(time.monotonic(), deadline, self.kinds(job))
            time.sleep(0.05)

    def test_replaced_by_one_that_does_not_fit_while_jobs_run(self) -> None:
        gate = os.path.join(self.site.cluster.jobdir("nobody"), "gate")
        job = self.site.cluster.sbatch("srun -N2 -n2 bash -c 'while [ ! -e %s ]; do sleep 0.1; done'\nexit 7" % gate,
                                       user="nobody", options=["-N2"])
        self.wait_kind(job, "task_start", 3)
        with_release(PLUGIN, self.installed + ".other", 0x631400)
        self.install(self.installed + ".other")
        with open(gate, "w"):
            pass
        self.assertEqual(self.finish(job, "nobody"), ("7:0", ""))
        kinds = self.kinds(job)
        self.assertEqual(kinds.count("task_start"), kinds.count("task_exit"))
        self.assertEqual(kinds.count("job_epilog"), 0, "the new file was loaded after all")

    # --- incompatible or damaged plugins

    def test_built_for_another_release(self) -> None:
        for number, release in ((0x631400, "99.20"), (0x150800, "21.08")):
            with_release(PLUGIN, self.installed + ".other", number)
            self.install(self.installed + ".other")
            before = self.recorded()
            self.assert_jobs_go_as_ever("Incompatible plugin version", "Incompatible Slurm plugin")
            self.assertEqual(self.recorded(), before)
            said = self.doctor()
            self.assertIn("the plugin %s was built for Slurm %s, but this is Slurm " % (self.installed, release), said)
            self.assertIn("fix: rebuild it for this Slurm (--with-slurm=PREFIX) and run `make install`", said)
        self.install(PLUGIN)
        self.assert_jobs_go_as_ever()
        self.assertGreater(self.recorded(), before)
        self.assertIn("ok  the plugin %s is built for Slurm" % self.installed, self.doctor())

    def test_half_written_empty_or_no_plugin_at_all(self) -> None:
        with open(PLUGIN, "rb") as file:
            whole = file.read()
        for size in (0, 100):
            with open(self.installed + ".cut", "wb") as file:
                file.write(whole[:size])
            self.install(self.installed + ".cut")
            self.assert_jobs_go_as_ever("Dlopen of plugin file failed")
            self.assertIn("Slurm cannot load the plugin: " + self.installed, self.doctor())

    def test_the_line_is_taken_out_while_jobs_wait_and_run(self) -> None:
        """After removal, jobs that were submitted with our options start and continue, and new submissions get an error."""
        line = "optional %s spool=%s socket=%s" % (self.installed, self.site.spool, self.site.socket)
        for user in USERS:
            gate = os.path.join(self.site.cluster.jobdir(user), "gate")
            waits = self.site.cluster.sbatch(SCRIPT, user=user, options=["-N2", "--hold", "--goodput-run=waits"])
            runs = self.site.cluster.sbatch(
                "srun -N2 -n2 bash -c 'while [ ! -e %s ]; do sleep 0.1; done'\nsrun -N2 -n2 true\nexit 7" % gate,
                user=user, options=["-N2", "--goodput-run=runs"])
            self.wait_kind(runs, "task_start", 3)
            self.stack()
            try:
                with open(gate, "w"):
                    pass
                self.assertEqual(self.finish(runs, user), ("7:0", ""))
                os.unlink(gate)
                self.site.cluster.run(["scontrol", "release", str(waits)])
                code, text = self.finish(waits, user)
                self.assertEqual(code, "7:0", text)
                self.assertIn("failed step: 3", text)
                self.assertEqual([kind for kind in self.kinds(waits) if kind.startswith(("job_", "step_", "task_"))], [], "no plugin was loaded")
                refused = subprocess.run(["sbatch", "--goodput-run=anew", "--wrap=true"], env=self.site.cluster.env(), timeout=60,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn("unrecognized option '--goodput-run=anew'", refused.stderr)
            finally:
                self.stack(line)

    def test_why_it_is_installed_by_rename(self) -> None:
        """A file truncated in its mapped part kills sbatch before our code or Slurm's could help."""
        with open(PLUGIN, "rb") as file:
            start = file.read(8192)
        with open(self.installed + ".cut", "wb") as file:
            file.write(start)
        self.install(self.installed + ".cut")
        for user in USERS:
            done = self.site.cluster.run(["sbatch", "--wrap", "true"], user=user, check=False)
            self.assertEqual(done.returncode, -signal.SIGBUS, done.stderr)

    def test_doctor_on_plugstack_conf(self) -> None:
        line = "optional %s spool=%s socket=%s" % (self.installed, self.site.spool, self.site.socket)
        try:
            self.stack()
            self.assertIn("does not load spank_goodput.so", self.doctor())
            self.stack(line, line)
            self.assertIn("loads the plugin 2 times", self.doctor())
            self.stack(line.replace("optional", "required"))
            self.assertIn("makes the plugin `required`", self.doctor())
        finally:
            self.stack(line)
        said = self.doctor()
        self.assertNotIn("plugstack.conf", said)
        self.assertNotIn("required", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
