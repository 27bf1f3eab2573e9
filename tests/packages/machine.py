"""A temporary Debian or Ubuntu machine: a root file system overlaid on a read-only base, with systemd as its first process.

Its processes, mounts and network, and all changes, end when it is closed or its creator exits.
"""

import os
import signal
import subprocess
import time
from typing import Callable, List

# each_group COMMAND: runs COMMAND NUMBER PATH MOUNT-OPTIONS for every cgroup hierarchy of this process that systemd uses.
_EACH_GROUP = r"""
each_group() {
    local number kinds path groups group
    mapfile -t groups </proc/self/cgroup
    for group in "${groups[@]}"; do
        IFS=: read -r number kinds path <<<"$group"
        case $kinds in
            cpuset | freezer) ;;
            '') "$1" "$number" "$path" -t cgroup2 ;;
            *) "$1" "$number" "$path" -t cgroup -o "$kinds" ;;
        esac
    done
}
"""

# The first process. $1: the read-only base, $2: an empty folder, $3: a name for the cgroup, or nothing without systemd. Changes
# are kept in memory.
_BEGIN = _EACH_GROUP + r"""
set -e
base=$1 place=$2 name=$3
mount -t tmpfs -o mode=755 tmpfs "$place"
mkdir "$place/up" "$place/work" "$place/root" "$place/cgroup"
root=$place/root
mount -t overlay -o lowerdir="$base",upperdir="$place/up",workdir="$place/work" overlay "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
hostname packages
cd "$root"
# systemd gives services their own roots, for which the root must be a mount point.
if [ -z "$name" ]; then
    pivot_root . mnt
    exec chroot . /bin/sh -c "umount -l /mnt; exec sleep infinity"
fi
mount -t sysfs -o ro sysfs "$root/sys"
# systemd manages all cgroup hierarchies from its own place in them, so it gets its own groups.
own_group() {
    local here=$place/cgroup/$1
    mkdir "$here"
    mount "${@:3}" cgroup "$here"
    mkdir "$here$2/$name"
    echo 0 >"$here$2/$name/cgroup.procs"
}
each_group own_group
pivot_root . mnt
exec unshare --cgroup chroot . /bin/sh -c "
    umount -l /mnt
    exec env -i container=goodput PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --show-status=no"
"""

# Removes the groups that systemd left; fails while they contain processes. $1: an empty folder, $2: their name.
_FORGET_CGROUPS = _EACH_GROUP + r"""
place=$1 name=$2 left=0
forget_group() {
    mount "${@:3}" cgroup "$place"
    [ ! -d "$place$2/$name" ] || find "$place$2/$name" -depth -type d -exec rmdir {} + || left=1
    umount "$place"
}
each_group forget_group
exit $left
"""


class Machine:
    def __init__(self, base: str, place: str, log: str, boots: bool) -> None:
        """base: the read-only root; place: an empty folder, which stays empty for other processes; boots: with systemd.
        Raises RuntimeError if this host does not allow it."""
        self._place = place
        self._cgroup = "goodput-packages-%d" % os.getpid() if boots else ""
        self._log = open(log, "wb")
        self._outer = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--ipc", "--uts", "--net", "--fork", "--kill-child", "--propagation", "private",
             "/bin/bash", "-c", _BEGIN, "begin", base, place, self._cgroup],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        try:
            self._wait_until_there(boots)
        except BaseException:
            self.close()
            raise

    def _wait_until_there(self, boots: bool) -> None:
        children = "/proc/%d/task/%d/children" % (self._outer.pid, self._outer.pid)
        wanted = "systemd" if boots else "sleep"
        deadline = time.monotonic() + 120
        while True:
            if self._outer.poll() is not None or time.monotonic() > deadline:
                with open(self._log.name, errors="replace") as log:
                    raise RuntimeError("the machine did not start: " + log.read()[-2000:])
            try:
                with open(children) as file:
                    self._first = int(file.read().split()[0])
                with open("/proc/%d/comm" % self._first) as file:
                    there = file.read().strip() == wanted
            except (OSError, IndexError):
                there = False
            if there and (not boots or self.run("systemctl is-system-running").stdout.strip() in ("running", "degraded")):
                return
            time.sleep(0.1)

    @property
    def root(self) -> str:
        """The path of its root on the host."""
        return "/proc/%d/root" % self._first

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        """Runs a script in its shell, as root."""
        inner: List[str] = ["nsenter", "--target", str(self._first), "--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup",
                            "--root=" + self.root, "--wd=" + self.root,
                            "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
                            "SYSTEMD_PAGER=", "SYSTEMD_COLORS=0", "/bin/sh", "-c", command]
        return subprocess.run(inner, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def say(self, command: str) -> str:
        """The output of a command that must succeed."""
        done = self.run(command)
        if done.returncode != 0:
            raise AssertionError("%s: exit status %d\n%s" % (command, done.returncode, done.stdout))
        return done.stdout.strip()

    def wait(self, until: Callable[[], bool]) -> None:
        """Waits until a condition holds, or fails after a time limit."""
        deadline = time.monotonic() + 90
        while not until():
            if time.monotonic() > deadline:
                raise AssertionError("it does not come; the daemons said:\n" + self.run("journalctl -n 40 --no-pager").stdout)
            time.sleep(0.2)

    def close(self) -> None:
        if self._outer.poll() is None:
            self._outer.send_signal(signal.SIGKILL)
        self._outer.wait()
        self._log.close()
        if self._cgroup:
            self._forget_cgroups()

    def _forget_cgroups(self) -> None:
        """Removes the cgroups after the last process has ended."""
        deadline = time.monotonic() + 60
        while subprocess.call(["unshare", "--mount", "--propagation", "private", "/bin/bash", "-c", _FORGET_CGROUPS, "forget", self._place,
                               self._cgroup], stderr=subprocess.DEVNULL) != 0 and time.monotonic() < deadline:
            time.sleep(0.2)
