#!/usr/bin/python3
"""Debian packages: their contents, and their effect on a machine from installation to purging.

    GOODPUT_BUILD=build python3 -m unittest tests.packages.test_packages

They are built from the release's tarball. The machine has this host's release, debootstrapped once into out/packages/base,
with systemd as its first process; all changes to it are discarded.
"""

import glob
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from typing import Dict, List, Set

from .built import PLACE, TOP, build, output, slurm_release, version
from .machine import Machine

BASE = os.path.join(PLACE, "base")
NAMES = ("slurm-goodput-plugin", "goodputd", "sgoodput")
UNITS = ("goodputd.socket", "goodputd.service", "goodputd-controller.service")

FILES: Dict[str, Set[str]] = {
    "slurm-goodput-plugin": {
        "PLUGINS/spank_goodput.so",
        "usr/share/man/man8/spank_goodput.8.gz",
    },
    "goodputd": {
        "etc/slurm-goodput/goodput.conf",
        "UNITS/goodput-cloud.service",
        "UNITS/goodput-events.service",
        "UNITS/goodput-fleet.service",
        "UNITS/goodput-nvml.socket",
        "UNITS/goodput-nvml@.service",
        "UNITS/goodput-telemetry.service",
        "UNITS/goodputd-controller.service",
        "UNITS/goodputd-kernel.socket",
        "UNITS/goodputd.service",
        "UNITS/goodputd.socket",
        "usr/lib/sysusers.d/slurm-goodput.conf",
        "usr/lib/tmpfiles.d/slurm-goodput.conf",
        "usr/libexec/slurm-goodput/goodput-nvml",
        "usr/libexec/slurm-goodput/goodput-reader",
        "usr/sbin/goodputd",
        "usr/share/man/man5/goodput.conf.5.gz",
        "usr/share/man/man8/goodputd.8.gz",
        "usr/share/slurm-goodput/apparmor/goodputd",
        "usr/share/slurm-goodput/grafana/slurm-goodput-fleet.json",
        "usr/share/slurm-goodput/grafana/slurm-goodput.json",
        "usr/share/slurm-goodput/prometheus/slurm-goodput.rules.yml",
        "usr/share/slurm-goodput/selinux/goodputd.cil",
    },
    "sgoodput": {
        "usr/bin/sgoodput",
        "usr/include/slurm-goodput/goodput.h",
        "usr/libexec/slurm-goodput/goodput-ask",
        "usr/libexec/slurm-goodput/goodput-otlp",
        "usr/libexec/slurm-goodput/goodput-fleet-database",
        "usr/libexec/slurm-goodput/goodput-google-cloud",
        "usr/libexec/slurm-goodput/goodput-mark",
        "usr/libexec/slurm-goodput/goodput-post",
        "usr/libexec/slurm-goodput/goodput-telemetry",
        "usr/share/bash-completion/completions/sgoodput",
        "usr/share/fish/vendor_completions.d/sgoodput.fish",
        "usr/share/zsh/vendor-completions/_sgoodput",
        "usr/share/man/man1/sgoodput.1.gz",
        "usr/share/slurm-goodput/advise.schema.json",
        "usr/share/slurm-goodput/clients/goodput.py",
        "usr/share/slurm-goodput/diff.schema.json",
        "usr/share/slurm-goodput/event.schema.json",
        "usr/share/slurm-goodput/now.schema.json",
        "usr/share/lintian/overrides/sgoodput",
        "usr/share/slurm-goodput/report.schema.json",
        "usr/share/slurm-goodput/sgoodput.schema.json",
        "usr/share/slurm-goodput/sql.schema.json",
    },
}


def deb(name: str) -> str:
    (path,) = glob.glob(os.path.join(PLACE, name + "_*.deb"))
    return path


def setUpModule() -> None:
    build()


class BuiltTest(unittest.TestCase):
    def test_each_file_is_in_the_package_it_belongs_to(self) -> None:
        plugins = "usr/lib/%s/slurm-wlm" % output("dpkg-architecture", "-qDEB_HOST_MULTIARCH")
        for name in NAMES:
            with self.subTest(package=name):
                lines = output("dpkg-deb", "-c", deb(name)).splitlines()
                files = {line.split(" ./", 1)[1] for line in lines if not line.startswith("d")}
                # /lib is /usr/lib, and debhelper's releases use different ones.
                files = {re.sub("^lib/systemd/", "usr/lib/systemd/", path) for path in files}
                wanted = {path.replace("PLUGINS", plugins).replace("UNITS", "usr/lib/systemd/system") for path in FILES[name]}
                self.assertEqual({path for path in files if not path.startswith("usr/share/doc/")}, wanted)

    def test_the_plugin_is_for_the_slurm_it_was_built_for(self) -> None:
        major, minor = slurm_release()
        self.assertIn("slurm-wlm-basic-plugins (>= %d.%02d), slurm-wlm-basic-plugins (<< %d.%02d~)" % (major, minor, major, minor + 1),
                      output("dpkg-deb", "-f", deb("slurm-goodput-plugin"), "Depends"))

    def test_the_packages_have_the_version_of_the_sources(self) -> None:
        for name in NAMES:
            self.assertEqual(output("dpkg-deb", "-f", deb(name), "Version"), version())

    def test_the_unit_may_trace_on_a_kernel_as_it_comes(self) -> None:
        # kernel.perf_event_paranoid is above 2 on these, and CAP_PERFMON is not enough.
        unit = subprocess.run("dpkg-deb --fsys-tarfile '%s' | tar -xO --wildcards '*/goodputd.service'" % deb("goodputd"), shell=True,
                              check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assertRegex(unit, r"(?m)^CapabilityBoundingSet=.*\bCAP_SYS_ADMIN\b")

    def test_lintian_has_nothing_to_say(self) -> None:
        done = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", "--fail-on", "error,warning"] + [deb(name) for name in NAMES],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


def newer(folder: str) -> None:
    """A later version of the packages in FOLDER, which differs only in the plugin's bytes."""
    for path in glob.glob(os.path.join(folder, "*.deb")):
        tree = path + ".tree"
        subprocess.check_call(["dpkg-deb", "-R", path, tree])
        control = os.path.join(tree, "DEBIAN", "control")
        with open(control) as file:
            text = file.read()
        version = re.search(r"(?m)^Version: (.*)$", text)
        assert version is not None
        with open(control, "w") as file:
            file.write(text.replace("Version: " + version.group(1), "Version: %s+next" % version.group(1))
                       .replace("(= %s)" % version.group(1), "(= %s+next)" % version.group(1)))
        for plugin in glob.glob(os.path.join(tree, "usr/lib/*/slurm-wlm/spank_goodput.so")):
            with open(plugin, "ab") as file:
                file.write(b"next")
        os.unlink(path)
        subprocess.check_call(["dpkg-deb", "-Zgzip", "-z1", "-b", tree, path], stdout=subprocess.DEVNULL)
        shutil.rmtree(tree)


def make_base() -> None:
    """The read-only root of all machines: this host's release with the packages' dependencies."""
    wanted = {"systemd", "slurm-client"}
    for name in NAMES:
        for one in output("dpkg-deb", "-f", deb(name), "Depends").split(","):
            wanted.add(re.sub(r"[ (|].*", "", one.strip()))
    names = " ".join(sorted(wanted - set(NAMES)))
    with open("/etc/os-release") as file:
        release = re.search(r"(?m)^VERSION_CODENAME=(\S+)", file.read())
    assert release is not None
    script = r"""
        set -eu
        top=$1 base=$2 release=$3 names=$4
        . "$top/tests/matrix/roots.sh"
        make_root "$release" "$base"
        if [ "$(cat "$base/.has" 2>/dev/null)" != "$names" ]; then
            inside "$base" "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq && apt-get install -y -qq --no-install-recommends $names" \
                >"$base.install.log" 2>&1 || { tail -n 5 "$base.install.log"; exit 1; }
            echo "$names" >"$base/.has"
        fi"""
    done = subprocess.run(["/bin/bash", "-c", script, "base", TOP, BASE, release.group(1), names], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise unittest.SkipTest("no root of %s to install into: %s" % (release.group(1), done.stdout.strip()))


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class MachineTest(unittest.TestCase):
    boots = True

    @classmethod
    def setUpClass(cls) -> None:
        make_base()

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="packages.")
        self.addCleanup(shutil.rmtree, self.folder)
        place = os.path.join(self.folder, "machine")
        os.mkdir(place)
        try:
            self.machine = Machine(BASE, place, os.path.join(self.folder, "log"), self.boots)
        except RuntimeError as error:
            # A limit of the host, not of the packages: in a container, mounts may be forbidden or cgroups missing.
            raise unittest.SkipTest("no machine of its own can be had here: %s" % error)
        self.addCleanup(self.machine.close)
        self.say = self.machine.say
        for version in ("now", "next"):
            os.makedirs(self.path("/root", version))
            for name in NAMES:
                shutil.copy(deb(name), self.path("/root", version))

    def path(self, *parts: str) -> str:
        """The path on the host of a file of the machine."""
        return os.path.join(self.machine.root, *[part.lstrip("/") for part in parts])

    def there(self, path: str) -> bool:
        return os.path.lexists(self.path(path))

    def plugin(self) -> str:
        return "/usr/lib/%s/slurm-wlm/spank_goodput.so" % output("dpkg-architecture", "-qDEB_HOST_MULTIARCH")

    def install(self, *names: str) -> None:
        self.say("cd /root/now && dpkg -i " + " ".join(name + "_*.deb" for name in names or NAMES))

    def upgrade(self) -> None:
        newer(self.path("/root/next"))
        self.say("dpkg -i /root/next/*.deb")

    def property(self, unit: str, name: str) -> str:
        return self.say("systemctl show --value -p %s %s" % (name, unit))

    def states(self, what: str) -> List[str]:
        return self.machine.run("systemctl %s %s" % (what, " ".join(UNITS))).stdout.split()

    def owner_and_mode(self, path: str) -> str:
        return self.say("stat -c '%U:%G %a' " + path)

    def daemons(self) -> str:
        return self.machine.run("cat /proc/[0-9]*/comm | grep -c goodput").stdout.strip()

    def configure_slurm(self) -> None:
        """A minimal slurm.conf for Slurm's programs; no daemon of Slurm runs."""
        self.say("mkdir -p /etc/slurm")
        with open(self.path("/etc/slurm/slurm.conf"), "w") as file:
            file.write("ClusterName=c\nSlurmctldHost=localhost\nAuthType=auth/munge\n")

    def assert_user_and_folders(self) -> None:
        self.assertRegex(self.say("getent passwd goodput"), r"^goodput:x:\d{1,3}:\d{1,3}:.*:/usr/sbin/nologin$")
        self.assertEqual(self.owner_and_mode("/run/slurm-goodput"), "root:root 755")
        self.assertEqual(self.owner_and_mode("/var/spool/slurm-goodput"), "root:root 700")
        self.assertEqual(self.owner_and_mode("/var/lib/slurm-goodput"), "goodput:goodput 750")

    def connect(self) -> socket.socket:
        """Runs a command like a job that sends marks."""
        job = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(job.close)
        job.connect(self.path("/run/slurm-goodput/mark.sock"))
        return job


class Training:
    """A job of root that marks a step five times a second, on one connection: goodputd drops one without marks after 10 s."""

    JOB = 7

    def __init__(self, spool: str, connection: socket.socket) -> None:
        self.step = 0
        self.error = ""
        self._spool = os.path.join(spool, socket.gethostname().split(".")[0])
        self._connection = connection
        self._ends = threading.Event()
        # What the plugin records when the job begins.
        os.makedirs(self._spool, 0o700, exist_ok=True)
        with open("/proc/sys/kernel/random/boot_id") as boot, \
                open(os.path.join(self._spool, boot.read().strip() + ".2026010100Z.jsonl"), "wb") as file:
            file.write(b"\n" + json.dumps({"v": 1, "t": time.time_ns(), "m": time.monotonic_ns(), "node": "n", "stepd": 1, "kind": "job_prolog",
                                           "cluster": "c", "job": self.JOB, "uid": 0, "gid": 0, "opt": {}}).encode() + b"\n")
        os.chmod(file.name, 0o600)
        self._thread = threading.Thread(target=self._train)
        self._thread.start()

    def _train(self) -> None:
        while not self._ends.wait(0.2):
            mark = {"v": 1, "mark": "step", "edge": "begin", "train_step": self.step + 1, "job": self.JOB}
            try:
                self._connection.send(json.dumps(mark).encode())
            except OSError as error:
                self.error = "step %d: %s" % (self.step + 1, error)
                return
            self.step += 1

    def recorded_step(self) -> int:
        """The last one in the spool, 0 if there is none."""
        steps = [0]
        for path in glob.glob(os.path.join(self._spool, "*.jsonl")):
            with open(path, errors="replace") as file:
                steps += [int(step) for step in re.findall(r'"train_step": ?(\d+)', file.read())]
        return max(steps)

    def end(self) -> None:
        self._ends.set()
        self._thread.join()


class LifeTest(MachineTest):
    def test_installed_a_node_s_daemon_runs_and_the_controller_s_waits_for_its_operator(self) -> None:
        self.install()
        self.assert_user_and_folders()
        self.assertEqual(self.states("is-enabled"), ["enabled", "enabled", "disabled"])
        self.assertEqual(self.states("is-active"), ["active", "active", "inactive"])
        self.connect()
        self.assertEqual(self.say("systemd-analyze --man=no verify " + " ".join(UNITS)), "")
        self.assertEqual(self.say("dpkg-query -W -f '${Conffiles}' goodputd sgoodput slurm-goodput-plugin | cut -d' ' -f2").split(),
                         ["/etc/slurm-goodput/goodput.conf"])
        self.assertIn("database = /var/lib/slurm-goodput/goodput.db", self.say("goodputd --check"))
        self.assertRegex(self.say("sgoodput --version"), r"^sgoodput \d")
        # The packages do not change Slurm.
        self.assertEqual(self.say("grep -rl goodput /etc/slurm || true"), "")

    def test_the_controller_s_daemon_answers_as_the_package_s_user(self) -> None:
        self.configure_slurm()
        self.install()
        self.say("systemctl enable --now goodputd-controller")
        self.machine.wait(lambda: self.there("/run/slurm-goodput/query.sock"))
        self.machine.wait(lambda: "JobID" in self.machine.run("sgoodput --url unix:/run/slurm-goodput/query.sock").stdout)
        self.assertEqual(self.owner_and_mode("/var/lib/slurm-goodput/goodput.db"), "goodput:root 640")
        # A user of this machine may not read it, and needs no option to ask goodputd. No slurmctld runs here that knows the user's rights.
        self.assertEqual(self.machine.run("runuser -u nobody -- sgoodput").stdout,
                         "sgoodput: unix:/run/slurm-goodput/query.sock: access rights are not known: slurmctld does not answer\n")

    def test_slurm_loads_the_plugin_by_its_name_alone(self) -> None:
        self.install()
        self.configure_slurm()
        self.assertNotIn("goodput", self.say("srun --help"))
        line = self.say(r"sed -n 's/^ *\(optional .*\)/\1/p' /usr/share/doc/slurm-goodput-plugin/README.Debian")
        self.assertEqual(len(line.splitlines()), 1)
        self.say("echo '%s' >/etc/slurm/plugstack.conf.d/goodput.conf" % line)
        said = self.say("srun --help")
        self.assertIn("--goodput-run", said)
        self.assertNotIn("srun: error", said)

    def test_an_upgrade_keeps_sockets_connections_settings_and_data(self) -> None:
        self.install()
        self.say("echo 'heartbeat = 20s' >>/etc/slurm-goodput/goodput.conf")
        self.say("touch /var/lib/slurm-goodput/goodput.db /var/spool/slurm-goodput/some && chown daemon: /var/lib/slurm-goodput")
        job = Training(self.path("/var/spool/slurm-goodput"), self.connect())
        self.addCleanup(job.end)
        before = {unit: self.property(unit, "InvocationID") for unit in UNITS}
        running = os.open(self.path(self.plugin()), os.O_RDONLY)
        self.addCleanup(os.close, running)
        with open(self.path(self.plugin()), "rb") as file:
            old = file.read()

        self.upgrade()
        self.assertEqual(self.say("dpkg-query -W -f '${Version}' goodputd")[-5:], "+next")
        self.assertEqual(self.states("is-active"), ["active", "active", "inactive"])
        self.assertEqual(self.property("goodputd.socket", "InvocationID"), before["goodputd.socket"])
        self.assertNotEqual(self.property("goodputd.service", "InvocationID"), before["goodputd.service"])
        # The job's connection stays open, and leads to the new daemon.
        marked = job.step
        self.machine.wait(lambda: job.recorded_step() > marked)
        job.end()
        self.assertEqual(job.error, "")
        self.assertIn("heartbeat = 20s", self.say("cat /etc/slurm-goodput/goodput.conf"))
        self.say("test -e /var/lib/slurm-goodput/goodput.db && test -e /var/spool/slurm-goodput/some")
        self.assertEqual(self.owner_and_mode("/var/lib/slurm-goodput"), "daemon:daemon 750")
        # Processes that have loaded the plugin keep the old file; a new file replaces it.
        self.assertEqual(os.pread(running, len(old) + 1, 0), old)
        self.assertEqual(os.fstat(running).st_nlink, 0)
        self.assertNotEqual(os.stat(self.path(self.plugin())).st_size, len(old))

    def test_an_upgrade_restarts_a_controller_s_daemon_and_starts_none_that_is_off(self) -> None:
        self.configure_slurm()
        self.install()
        self.say("systemctl enable --now goodputd-controller && systemctl disable --now goodputd.service goodputd.socket")
        before = self.property("goodputd-controller", "InvocationID")
        self.upgrade()
        self.assertEqual(self.states("is-enabled"), ["disabled", "disabled", "enabled"])
        self.assertEqual(self.states("is-active"), ["inactive", "inactive", "active"])
        self.assertNotEqual(self.property("goodputd-controller", "InvocationID"), before)

    def test_removed_nothing_runs_and_what_was_recorded_stays(self) -> None:
        self.install()
        self.say("touch /var/lib/slurm-goodput/goodput.db /var/spool/slurm-goodput/some")
        self.say("dpkg -r " + " ".join(NAMES))
        self.assertEqual(self.daemons(), "0")
        for path in ("/usr/sbin/goodputd", "/usr/bin/sgoodput", self.plugin(), "/run/slurm-goodput/mark.sock"):
            self.assertFalse(self.there(path), path)
        for path in ("/etc/slurm-goodput/goodput.conf", "/var/lib/slurm-goodput/goodput.db", "/var/spool/slurm-goodput/some"):
            self.assertTrue(self.there(path), path)
        # After reinstallation the state is as before.
        self.install()
        self.assertEqual(self.states("is-active"), ["active", "active", "inactive"])

    def test_purged_only_the_database_and_its_owner_stay(self) -> None:
        self.install()
        self.say("touch /var/lib/slurm-goodput/goodput.db /var/spool/slurm-goodput/some")
        self.assertIn("/var/lib/slurm-goodput is kept", self.say("dpkg -P " + " ".join(NAMES)))
        for path in ("/etc/slurm-goodput", "/var/spool/slurm-goodput", "/run/slurm-goodput"):
            self.assertFalse(self.there(path), path)
        self.assertTrue(self.there("/var/lib/slurm-goodput/goodput.db"))
        self.say("getent passwd goodput")
        self.assertEqual(self.say("find /etc/systemd /usr/lib/systemd /var/lib/systemd -name '*goodput*'"), "")

    def test_the_spool_goes_with_the_last_who_writes_there(self) -> None:
        for order in (NAMES, tuple(reversed(NAMES))):
            with self.subTest(order=order):
                self.install()
                self.say("touch /var/spool/slurm-goodput/some")
                plugin = order.index("slurm-goodput-plugin")
                daemon = order.index("goodputd")
                for i, name in enumerate(order):
                    self.say("dpkg -P --force-depends " + name)
                    self.assertEqual(self.there("/var/spool/slurm-goodput/some"), i < max(plugin, daemon), name)
                # Without a database, its folder is not kept.
                self.assertFalse(self.there("/var/lib/slurm-goodput"))


class ImageTest(MachineTest):
    """Installation into a root without a running systemd, as in image builds."""

    boots = False

    def test_all_is_there_and_nothing_is_started(self) -> None:
        self.install()
        self.assert_user_and_folders()
        self.assertEqual(self.states("is-enabled"), ["enabled", "enabled", "disabled"])
        self.assertEqual(self.daemons(), "0")
        self.say("dpkg -P " + " ".join(NAMES))
        self.assertFalse(self.there("/var/spool/slurm-goodput"))


del MachineTest  # it has no tests itself

if __name__ == "__main__":
    unittest.main()
