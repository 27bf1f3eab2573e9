#!/usr/bin/python3
"""The systemd units: they are valid, give the daemon few privileges, and these are sufficient.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_units

systemd itself does not run here: a stand-in speaks its protocols for passing and keeping sockets.
"""

import array
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Dict, List, Optional

from .harness.goodput_site import BUILD, GOODPUTD

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

UNITS = ("goodputd.socket", "goodputd-kernel.socket", "goodput-nvml.socket", "goodputd.service", "goodputd-controller.service", "goodput-cloud.service",
         "goodput-events.service", "goodput-fleet.service", "goodput-nvml@.service", "goodput-telemetry.service")
SERVICES = UNITS[3:]
# The exposure of a service from systemd-analyze, in tenths; systemd calls up to 5.0 medium, and a service without settings has
# 96.
EXPOSURE = "30"


class UnitFilesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="units.")
        self.addCleanup(shutil.rmtree, self.folder)
        subprocess.run(["make", "-s", "-C", BUILD, "install-nodist_systemdsystemunitDATA", "install-dist_systemdsystemunitDATA",
                        "DESTDIR=" + self.folder, "systemdsystemunitdir=/units"], check=True, stdout=subprocess.DEVNULL)
        self.folder = os.path.join(self.folder, "units")
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(UNITS))
        for name in UNITS:
            text = self.read(name)
            self.assertNotIn("bindir@", text)
            # Files that are not installed cannot be verified.
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(re.sub(r"ExecStart=\S+", "ExecStart=" + GOODPUTD, text))

    def read(self, name: str) -> str:
        with open(os.path.join(self.folder, name)) as file:
            return file.read()

    def analyze(self, *args: str) -> subprocess.CompletedProcess:
        return subprocess.run(["systemd-analyze"] + list(args), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=dict(os.environ, SYSTEMD_COLORS="0"))

    def verify(self) -> subprocess.CompletedProcess:
        return self.analyze("--man=no", "verify", *[os.path.join(self.folder, name) for name in UNITS])

    def test_units_are_well_formed(self) -> None:
        answer = self.verify()
        self.assertEqual((answer.returncode, answer.stdout), (0, ""))

    def test_a_misspelt_setting_would_be_noticed(self) -> None:
        path = os.path.join(self.folder, "goodputd.service")
        text = self.read("goodputd.service").replace("ProtectSystem=", "ProtectSytem=")
        with open(path, "w") as file:
            file.write(text)
        self.assertIn("ProtectSytem", self.verify().stdout)

    def test_services_are_little_exposed(self) -> None:
        for name in SERVICES:
            with self.subTest(unit=name):
                path = os.path.join(self.folder, name)
                answer = self.analyze("--no-pager", "security", "--offline=yes", "--threshold=" + EXPOSURE, path)
                self.assertEqual(answer.returncode, 0, answer.stdout[-400:])

    def test_a_service_without_its_sandbox_would_be_noticed(self) -> None:
        path = os.path.join(self.folder, "goodputd.service")
        text = re.sub(r"(?m)^(Protect|Private|Restrict|SystemCall|Capability|IPAddress)\S+=.*$", "", self.read("goodputd.service"))
        with open(path, "w") as file:
            file.write(text)
        self.assertNotEqual(self.analyze("--no-pager", "security", "--offline=yes", "--threshold=" + EXPOSURE, path).returncode, 0)

    def settings(self, name: str) -> Dict[str, List[str]]:
        """The settings of a unit, in order; keys may repeat."""
        found: Dict[str, List[str]] = {}
        for line in self.read(name).splitlines():
            if "=" in line and not line.startswith("#"):
                key, value = line.split("=", 1)
                found.setdefault(key, []).append(value)
        return found

    def assert_code_uses(self, words: str, *folders: str) -> None:
        """The code still does everything for which a unit must leave permissions."""
        for folder in folders:
            for path in glob.glob(os.path.join(TOP, folder, "**", "*.[ch]*"), recursive=True):
                with open(path) as file:
                    if words in file.read():
                        return
        self.fail("nothing in %s uses %s" % (", ".join(folders), words))

    def test_the_units_let_the_code_read_what_it_reads(self) -> None:
        # The boot id (in every spool file's name), sysctls and information about CPUs are outside /proc/PID.
        self.assert_code_uses("/proc/sys/kernel/random/boot_id", "spank", "tools/goodputd")
        self.assert_code_uses("/proc/sys/kernel/perf_event_paranoid", "tools/base")
        for name in SERVICES:
            with self.subTest(unit=name):
                self.assertNotIn("pid", self.settings(name).get("ProcSubset", ["all"]), "hides the boot id")
                # These make /proc/sys read-only, but still readable.
                self.assertEqual(self.settings(name)["ProtectKernelTunables"], ["yes"])
        node = self.settings("goodputd.service")
        # Processes of jobs belong to other users: their status, cgroup and output are read through /proc/PID.
        self.assert_code_uses("\"cgroup\"", "tools/goodputd")
        self.assertNotIn("ProtectProc", node)
        self.assertNotIn("PrivatePIDs", node)
        self.assertNotIn("PrivateUsers", node)
        # Marks arrive at an abstract name, which belongs to the host's network namespace.
        self.assertNotIn("PrivateNetwork", node)
        # Checkpoints and output of jobs may be below /home.
        self.assertEqual(node["ProtectHome"], ["read-only"])

    def test_the_units_give_the_powers_that_the_code_uses(self) -> None:
        node = set(self.settings("goodputd.service")["CapabilityBoundingSet"][0].split())
        # If kernel.perf_event_paranoid is above 2, as on Debian and Ubuntu, the second one is needed.
        self.assert_code_uses("perf_event_open", "tools/goodputd/signals")
        self.assertLessEqual({"CAP_PERFMON", "CAP_SYS_ADMIN"}, node)
        self.assertIn("perf_event_open", " ".join(self.settings("goodputd.service")["SystemCallFilter"]))
        for name in ("goodput-cloud.service", "goodput-events.service", "goodput-fleet.service", "goodput-telemetry.service"):
            self.assertEqual(self.settings(name)["CapabilityBoundingSet"], [""])
            self.assertEqual(self.settings(name)["User"], ["goodput"])
        for name in ("goodputd.service", "goodputd-controller.service"):
            with self.subTest(unit=name):
                # Helpers change to the user of the job or of the shared spool, and are killed if they hang.
                self.assertLessEqual({"CAP_SETUID", "CAP_SETGID", "CAP_KILL"}, set(self.settings(name)["CapabilityBoundingSet"][0].split()))

    def test_the_units_come_up_whatever_failed_before(self) -> None:
        for name in UNITS:
            with self.subTest(unit=name):
                self.assertEqual(self.settings(name)["StartLimitIntervalSec"], ["0"])
                # The daemons wait for no mount: a file server may be down for hours.
                self.assertFalse({"RequiresMountsFor", "WantsMountsFor"} & set(self.settings(name)))
                self.assertNotIn("remote-fs.target", self.read(name))
        # Each instance of goodput-nvml@.service answers one question.
        for name in set(SERVICES) - {"goodput-nvml@.service"}:
            with self.subTest(unit=name):
                self.assertEqual(self.settings(name)["Restart"], ["always"])
                self.assertRegex(self.settings(name)["RestartSec"][0], r"^[1-9]\d*s$")
        self.assertIn("goodputd.socket", self.settings("goodputd.service")["Requires"])

    def test_the_units_let_the_daemons_write_where_they_write(self) -> None:
        for name, folders in (("goodputd.service", {"/var/spool/slurm-goodput"}),
                              ("goodputd-controller.service", {"/var/spool/slurm-goodput", "/var/lib/slurm-goodput"})):
            with self.subTest(unit=name):
                paths = " ".join(self.settings(name)["ReadWritePaths"]).split()
                self.assertLessEqual(folders, {path.lstrip("-") for path in paths})
                # A path that is missing when the unit starts must not prevent the start.
                self.assertEqual([path for path in paths if not path.startswith("-")], [])
        # The documented setting for the shared spool has the dash everywhere.
        for told in ("docs/operators.md", "debian/goodputd.README.Debian", "tools/data/units/goodputd.service.in",
                     "tools/data/units/goodputd-controller.service.in", "docs/man/goodput.conf.5"):
            with open(os.path.join(TOP, told)) as file:
                paths = re.findall(r"ReadWritePaths=(\S+)", file.read())
            self.assertTrue(paths, told)
            self.assertEqual([path for path in paths if not path.startswith(("-", "\\-"))], [], told)
        # /run contains the path that containers mount; the socket's unit creates its folder.
        self.assertIn("ListenSequentialPacket=/run/slurm-goodput/mark.sock", self.read("goodputd.socket"))


# Moves descriptors from 200 on to the numbers where services expect them, and executes a shell. (bash itself would close some of
# them.)
HAND_OVER = """
import os, sys
many, command = int(sys.argv[1]), sys.argv[2]
for i in range(many): os.dup2(200 + i, 3 + i)
os.closerange(200, 200 + many)
os.execvpe("sh", ["sh", "-c", command], dict(os.environ, LISTEN_PID=str(os.getpid())))
"""


class Manager:
    """Does systemd's part: holds the listening sockets, keeps the descriptors that the daemon stores, and starts the daemon with
    all of them."""

    def __init__(self, folder: str, conf: str, powers: List[str]) -> None:
        self.folder, self.conf, self.powers = folder, conf, powers
        self.name = "@gp-units-%d-%x" % (os.getpid(), time.monotonic_ns())
        self.path = os.path.join(folder, "mark.sock")
        self.listening = []
        for address in ("\0" + self.name[1:], self.path):
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(address)
            listener.listen(64)
            self.listening.append(listener)
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(os.path.join(folder, "notify"))
        self.states: List[str] = []
        self.stored: List[int] = []
        # As goodputd-kernel.socket does (ListenSpecial=).
        self.kernel = [os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)] if os.path.exists("/dev/kmsg") else []
        self.daemon: Optional[subprocess.Popen] = None
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            data, control, _flags, _address = self.notify.recvmsg(4096, socket.CMSG_SPACE(4))
            self.states.append(data.decode())
            for level, kind, payload in control:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    fds = array.array("i")
                    fds.frombytes(payload[:4])
                    self.stored.append(fds[0])

    def start(self) -> None:
        self.states.clear()
        fds = [listener.fileno() for listener in self.listening] + self.kernel + self.stored
        # Above their final numbers, so that none is overwritten before it is moved.
        high = [os.dup2(fd, 200 + i, inheritable=True) for i, fd in enumerate(fds)]
        # systemd mounts tracefs at boot.
        command = "mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null; exec setpriv --bounding-set=-all%s --inh-caps=-all --no-new-privs -- %s --config %s --role node" % (
            "".join(",+" + power for power in self.powers), GOODPUTD, self.conf)
        env = dict(os.environ, LISTEN_FDS=str(len(fds)), NOTIFY_SOCKET=os.path.join(self.folder, "notify"))
        with open(os.path.join(self.folder, "log"), "ab") as log:
            # Each command executes the next one, so that the pid stays the same.
            self.daemon = subprocess.Popen(["unshare", "--mount", "--propagation", "private", sys.executable, "-c", HAND_OVER, str(len(fds)), command], env=env, stdout=log, stderr=log, pass_fds=high)
        for fd in high:
            os.close(fd)
        self.wait(lambda: "READY=1" in self.states)

    def wait(self, what: "object", timeout: float = 20) -> None:
        deadline = time.monotonic() + timeout
        while not what():  # type: ignore
            assert self.daemon is not None
            if self.daemon.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(self.folder, "log")) as log:
                    raise AssertionError("goodputd: status %s, said %s\n%s" % (self.daemon.poll(), self.states, log.read()))
            time.sleep(0.02)

    def stop(self, signo: int = signal.SIGTERM) -> int:
        assert self.daemon is not None
        self.daemon.send_signal(signo)
        status = self.daemon.wait(60)
        # Datagrams keep their order: once this one is read, all that the daemon sent before it exited is.
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"EXITED", os.path.join(self.folder, "notify"))
        deadline = time.monotonic() + 60
        while "EXITED" not in self.states and time.monotonic() < deadline:
            time.sleep(0.01)
        self.states.remove("EXITED")
        return status


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class UnderTheUnitTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="units.")
        self.addCleanup(shutil.rmtree, self.folder)
        self.spool = os.path.join(self.folder, "spool")
        os.makedirs(os.path.join(self.spool, "n1"), 0o700)
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        # A job with this process as its task.
        self.records = os.path.join(self.spool, "n1", boot + ".2026010100Z.jsonl")
        mono = time.monotonic_ns()
        with open(self.records, "w") as file:
            for kind, more in (("job_prolog", {}), ("step_start", {"slurm_step": "0"}),
                               ("task_start", {"slurm_step": "0", "task": 0, "pid": os.getpid()})):
                file.write(json.dumps(dict({"v": 1, "t": time.time_ns(), "m": mono, "node": "n1", "stepd": 1, "kind": kind,
                                            "job": 7, "uid": 0}, **more), separators=(",", ":")) + "\n")
        with open(os.path.join(os.path.dirname(GOODPUTD), "..", "data", "units", "goodputd.service")) as unit:
            powers = re.findall(r"CAP_(\w+)", re.findall(r"(?m)^CapabilityBoundingSet=(.*)$", unit.read())[0])
        conf = os.path.join(self.folder, "goodput.conf")
        with open(conf, "w") as file:
            file.write("spool = %s\nheartbeat = 200ms\n" % self.spool)
        self.manager = Manager(self.folder, conf, [power.lower() for power in powers])
        self.manager.start()
        self.addCleanup(self.manager.stop, signal.SIGKILL)

    def of_kind(self, kind: str) -> List[Dict]:
        found = []
        for name in os.listdir(os.path.dirname(self.records)):
            if name.endswith(".jsonl"):
                with open(os.path.join(os.path.dirname(self.records), name)) as file:
                    found += [json.loads(line) for line in file if '"kind":"%s"' % kind in line]
        return found

    def mark(self, connection: socket.socket, step: int) -> None:
        connection.send(json.dumps({"v": 1, "mark": "step", "edge": "begin", "train_step": step, "job": 7}).encode())

    def all_stopped(self) -> bool:
        threads = glob.glob("/proc/%d/task/*/stat" % self.manager.daemon.pid)  # type: ignore
        states = []
        for path in threads:
            with open(path) as file:
                states.append(file.read().rsplit(")", 1)[1].split()[0])
        return bool(states) and set(states) == {"T"}

    def connect(self, address: str) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(address)
        self.addCleanup(connection.close)
        return connection

    def watching(self) -> bool:
        """Signals are recorded from shortly after READY on."""
        path = os.path.join(self.spool, "signals")
        if not os.path.exists(path):
            return False
        with open(path) as file:
            return re.search(r"\bwatching=[1-9]", file.read()) is not None

    def test_the_unit_s_powers_are_enough(self) -> None:
        handled = []
        self.manager.wait(self.watching)
        before = signal.signal(signal.SIGUSR1, lambda *_: handled.append(1))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        os.kill(os.getpid(), signal.SIGUSR1)
        self.manager.wait(lambda: self.of_kind("signal"))
        record = self.of_kind("signal")[0]
        self.assertEqual((record["pid"], record["sender"], record["handled"], record["target"]), (os.getpid(), "self", 1, "task"))
        heartbeat = os.path.join(self.spool, "n1", "heartbeat")
        self.manager.wait(lambda: os.path.exists(heartbeat))
        with open(heartbeat) as file:
            self.assertEqual([job["job"] for job in json.load(file)["jobs"]], [7])
        with open("/proc/%d/status" % self.manager.daemon.pid) as status:  # type: ignore
            powers = int(re.findall(r"CapEff:\s*(\w+)", status.read())[0], 16)
        self.assertEqual(powers >> 21 & 1, 0, "CAP_SYS_ADMIN")
        self.assertEqual(self.manager.stop(), 0)
        self.assertIn("STOPPING=1", self.manager.states)

    def kernel_counts(self) -> Dict[str, int]:
        path = os.path.join(self.spool, "kernel")
        if not os.path.exists(path):
            return {}
        with open(path) as file:
            return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", file.read())}

    def test_the_kernels_log_is_read_through_the_descriptor_that_systemd_opens(self) -> None:
        if not self.manager.kernel:
            self.skipTest("this machine has no /dev/kmsg")
        self.manager.wait(lambda: self.kernel_counts().get("reading") == 1)
        self.manager.wait(lambda: [record["value"] for record in self.of_kind("host") if record["notice"] == "kernel_log"] == ["read"])
        # A reload keeps the descriptor, and the marks their sockets.
        os.unlink(os.path.join(self.spool, "kernel"))
        self.manager.states.clear()
        self.manager.daemon.send_signal(signal.SIGHUP)  # type: ignore
        self.manager.wait(lambda: self.kernel_counts().get("reading") == 1)
        self.mark(self.connect(self.manager.path), 1)
        self.manager.wait(lambda: len(self.of_kind("mark")) == 1)
        self.assertEqual(self.manager.stop(), 0)
        with open("/proc/sys/kernel/dmesg_restrict") as file:
            if file.read().strip() != "1":
                return
        # Without it, the unit's powers are not enough, and that is said.
        os.close(self.manager.kernel.pop())
        os.unlink(os.path.join(self.spool, "kernel"))
        self.manager.start()
        self.manager.wait(lambda: (self.kernel_counts().get("reading"), self.kernel_counts().get("refused")) == (0, 1))
        doctor = subprocess.run([os.path.join(BUILD, "tools/sgoodput/sgoodput"), "doctor", "--config", self.manager.conf], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        self.assertIn("kernel messages are not read on this node", " ".join(doctor.stdout.split()))
        self.assertIn("systemctl restart goodputd-kernel.socket goodputd", " ".join(doctor.stdout.split()))

    def test_both_sockets_take_marks(self) -> None:
        for step, address in enumerate(("\0" + self.manager.name[1:], self.manager.path)):
            self.mark(self.connect(address), step)
        self.manager.wait(lambda: len(self.of_kind("mark")) == 2)

    def test_a_job_that_connects_as_the_daemon_stops_is_connected_to_the_next(self) -> None:
        self.mark(self.connect("\0" + self.manager.name[1:]), 1)
        self.manager.wait(lambda: len(self.of_kind("mark")) == 1)
        # More than the manager's queue can hold.
        connections = [self.connect("\0" + self.manager.name[1:]) for _ in range(40)]
        self.assertEqual(self.manager.stop(), 0)
        self.manager.start()
        for step, connection in enumerate(connections):
            self.mark(connection, 2 + step)
        self.manager.wait(lambda: len(self.of_kind("mark")) == 1 + len(connections))

    def test_a_killed_daemon_loses_no_mark_that_waits(self) -> None:
        kept = self.connect("\0" + self.manager.name[1:])
        self.mark(kept, 1)
        self.manager.wait(lambda: len(self.manager.stored) == 1)
        self.manager.wait(self.watching)
        self.manager.daemon.send_signal(signal.SIGSTOP)  # type: ignore
        # A mark that it is processing when it is killed does not count.
        self.manager.wait(self.all_stopped)
        # Into an accepted connection, and into a new one.
        for step in range(2, 6):
            self.mark(kept, step)
        fresh = self.connect("\0" + self.manager.name[1:])
        for step in range(6, 9):
            self.mark(fresh, step)
        self.manager.stop(signal.SIGKILL)
        os.unlink(os.path.join(self.spool, "signals"))  # it states that the first daemon traces signals
        self.manager.start()
        self.manager.wait(lambda: len(self.of_kind("mark")) >= 8)
        for step in range(9, 11):
            self.mark(kept, step)
        self.manager.wait(lambda: len(self.of_kind("mark")) >= 10)
        self.assertEqual(sorted(record["train_step"] for record in self.of_kind("mark")), list(range(1, 11)))
        # It also knows the owners of processes, as before.
        self.manager.wait(self.watching)
        self.addCleanup(signal.signal, signal.SIGUSR2, signal.signal(signal.SIGUSR2, lambda *_: None))
        os.kill(os.getpid(), signal.SIGUSR2)
        self.manager.wait(lambda: self.of_kind("signal"))
        self.assertEqual([(r["job"], r["slurm_step"], r["task"]) for r in self.of_kind("signal")], [(7, "0", 0)])


if __name__ == "__main__":
    unittest.main()
