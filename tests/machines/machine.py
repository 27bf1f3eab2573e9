"""One virtual machine: Debian in QEMU without KVM, controlled over ssh."""

import contextlib
import os
import signal
import subprocess
import time
from typing import Callable, Optional, Tuple

NUMBERS = {"ctl": 1, "n1": 2, "n2": 3}
_FIRST_PORT = 22200
_KERNEL = "root=/dev/vda rw console=ttyS0 net.ifnames=0 systemd.hostname=%s mitigations=off tsc=reliable random.trust_cpu=on quiet"
# Prints the time on "q"; otherwise sets the clock forward by the given amount.
_CLOCK = """
import sys, time
for line in sys.stdin:
    if line == "q\\n":
        print(repr(time.time()), flush=True)
    else:
        time.clock_settime(time.CLOCK_REALTIME, time.time() + float(line))
        print("set", flush=True)
"""


def wait(what: str, until: Callable[[], bool], timeout_s: float, every_s: float = 1.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not until():
        if time.monotonic() > deadline:
            raise AssertionError("%s: not so after %g s" % (what, timeout_s))
        time.sleep(every_s)


class Machine:
    def __init__(self, name: str, image: str, place: str) -> None:
        """image: the folder made by `image`; place: the folder for its disk, its console and its connection."""
        self.name = name
        self._image, self._place = image, place
        self._disk = os.path.join(place, name + ".qcow2")
        self._control = os.path.join(place, name + ".ssh")
        self._qemu: Optional[subprocess.Popen] = None
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", os.path.join(image, "base.ext4"), "-F", "raw", self._disk], check=True)

    def start(self) -> None:
        number = NUMBERS[self.name]
        self._qemu = subprocess.Popen(
            ["qemu-system-x86_64", "-name", self.name, "-accel", "tcg,thread=multi,tb-size=384", "-cpu", "max,la57=off", "-smp", "2",
             "-m", "2560" if self.name == "ctl" else "3072", "-nodefaults", "-display", "none", "-no-reboot",
             "-serial", "file:" + os.path.join(self._place, self.name + ".console"),
             "-kernel", os.path.join(self._image, "vmlinuz"), "-initrd", os.path.join(self._image, "initrd"),
             "-append", _KERNEL % self.name, "-drive", "file=%s,if=virtio,cache=writeback,discard=unmap" % self._disk,
             "-netdev", "user,id=ours,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22" % (_FIRST_PORT + number),
             "-device", "virtio-net-pci,netdev=ours,mac=52:54:00:66:00:%02d,romfile=" % number,
             "-netdev", "socket,id=cluster,mcast=230.77.0.1:17700,localaddr=127.0.0.1",
             "-device", "virtio-net-pci,netdev=cluster,mac=52:54:00:77:00:%02d,romfile=" % number,
             "-device", "virtio-rng-pci"], stdin=subprocess.DEVNULL)

    def cut_power(self) -> None:
        if self._qemu:
            self._qemu.send_signal(signal.SIGKILL)
            self._qemu.wait()
            self._qemu = None
        self._forget_connection()

    def shut_down(self) -> None:
        """Shuts it down as an operator does, stopping its services. With -no-reboot, a reboot also ends QEMU, and `start` completes it."""
        self.run("systemctl reboot", check=False)
        if self._qemu:
            self._qemu.wait(600)
            self._qemu = None
        self._forget_connection()

    def _forget_connection(self) -> None:
        subprocess.run(["ssh", "-q", "-o", "ControlPath=" + self._control, "-O", "exit", "x"], stderr=subprocess.DEVNULL)
        with contextlib.suppress(FileNotFoundError):  # ssh may remove it itself, a little later
            os.unlink(self._control)

    def _ssh(self, *command: str) -> Tuple[str, ...]:
        return ("ssh", "-q", "-i", os.path.join(self._image, "key"), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                "-o", "ConnectTimeout=10", "-o", "ControlMaster=auto", "-o", "ControlPersist=yes", "-o", "ControlPath=" + self._control,
                "-p", str(_FIRST_PORT + NUMBERS[self.name]), "root@127.0.0.1") + command

    def run(self, command: str, check: bool = True, stdin: str = "", timeout_s: float = 600) -> "subprocess.CompletedProcess[str]":
        """Runs a script in its shell, as root."""
        done = subprocess.run(self._ssh("export LC_ALL=C.UTF-8 SYSTEMD_PAGER= DEBIAN_FRONTEND=noninteractive; " + command), input=stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=timeout_s)
        if check and done.returncode != 0:
            raise AssertionError("%s: %s: exit status %d\n%s" % (self.name, command, done.returncode, done.stdout))
        return done

    def say(self, command: str) -> str:
        return self.run(command).stdout.strip()

    def write(self, path: str, text: str) -> None:
        self.run("mkdir -p '%s' && cat >'%s'" % (os.path.dirname(path), path), stdin=text)

    def wait_up(self, timeout_s: float = 1200) -> None:
        """Waits until systemd has started all units."""
        def is_up() -> bool:
            try:
                return self.run("systemctl is-system-running", check=False, timeout_s=60).stdout.strip() in ("running", "degraded")
            except subprocess.TimeoutExpired:
                return False
        wait(self.name + " is up", is_up, timeout_s)

    def clock(self) -> float:
        """How far its clock is ahead of this host's."""
        return self._with_clock(None)

    def set_clock(self, ahead_s: float = 0.0) -> None:
        """Sets its clock to this host's, or ahead of it."""
        self._with_clock(ahead_s)

    def _with_clock(self, ahead_s: Optional[float]) -> float:
        """How far its clock was ahead, measured with the fastest of several round trips."""
        with subprocess.Popen(self._ssh("python3 -uc '%s'" % _CLOCK), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
            assert peer.stdin and peer.stdout

            def ask(text: str) -> str:
                peer.stdin.write(text + "\n")
                peer.stdin.flush()
                return peer.stdout.readline()
            trips = []
            for _ in range(30):
                before = time.time()
                there = float(ask("q"))
                trips.append((time.time() - before, (before + time.time()) / 2 - there))
            behind = min(trips)[1]
            if ahead_s is not None:
                ask(repr(behind + ahead_s))
            peer.stdin.close()
            return -behind
