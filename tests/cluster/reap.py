"""Removes a cluster completely, knowing only its directory: processes, mounts, cgroups, files.

Does not rely on pid files: processes that were killed, restarted or orphaned are found in /proc.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from typing import Dict, List, Set

# Set only in the environment of processes that the harness starts: a shell that evaluated `up`'s exports also has SLURM_CONF,
# and must survive `down`.
MEMBER = "GOODPUT_CLUSTER_MEMBER"

_PROGRAMS = {"munged", "sackd", "mariadbd", "slurmdbd", "slurmctld", "slurmd", "slurmstepd",
             "srun", "sbatch", "salloc", "sattach", "sacct", "sacctmgr", "scontrol", "squeue", "sinfo"}


def description(top: str) -> Dict:
    """The description of the cluster from its starter; {} if the starter died before it wrote one."""
    try:
        with open(os.path.join(top, "cluster.json")) as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def sack_folder(name: str) -> str:
    """The path of the socket of this cluster's sackd. Slurm's commands always expect it in /run."""
    return "/run/slurm-" + name


def _nodes(about: Dict) -> List[str]:
    return about.get("nodes", []) + about.get("cloud_nodes", [])


def start_time(pid: int) -> int:
    """The start time of a live process in clock ticks since boot, which with the pid identifies it; 0 if there is none."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _parent(pid: int) -> int:
    fields = _read("/proc/%d/stat" % pid).rsplit(b")", 1)[-1].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _state(pid: int) -> str:
    """Its letter in /proc/PID/stat, as R for running and T for stopped; "" if there is none."""
    return _read("/proc/%d/stat" % pid).rsplit(b")", 1)[-1].decode()[1:2]


def _folder(pid: int) -> str:
    """Its working directory, even if that was removed."""
    try:
        return os.readlink("/proc/%d/cwd" % pid).replace(" (deleted)", "")
    except OSError:
        return ""


def _belongs(pid: int, top: str, name: str, nodes: List[str]) -> bool:
    environ = _read("/proc/%d/environ" % pid).split(b"\0")
    inside = os.fsencode(top) + b"/"
    if os.fsencode(MEMBER + "=" + top) in environ:
        return True
    # Processes of a job, whose environment comes from its submitter.
    if name and os.fsencode("SLURM_CLUSTER_NAME=" + name) in environ:
        return True
    # Daemons and client commands started manually.
    argv = _read("/proc/%d/cmdline" % pid).split(b"\0")
    program = os.path.basename(argv[0].split(b":")[0]).decode(errors="replace")
    if program in _PROGRAMS:
        if any(inside in word for word in argv) or any(v.startswith(b"SLURM_CONF=" + inside) for v in environ):
            return True
    # Newer releases overwrite the environment of slurmstepd, but not its working directory.
    if program == "slurmstepd" and (_folder(pid) + "/").startswith(top + "/"):
        return True
    # cgroup mode: a process that emptied its environment is still in its job's cgroup.
    groups = _read("/proc/%d/cgroup" % pid).decode(errors="replace")
    return any("/slurm_%s/" % node in groups or "/%s_slurmstepd" % node in groups for node in nodes)


def _spared() -> Set[int]:
    pids, pid = set(), os.getpid()
    while pid > 0:
        pids.add(pid)
        pid = _parent(pid)
    return pids


def processes(top: str) -> List[int]:
    """Live processes of the cluster with their descendants, except this process and its ancestors."""
    about = description(top)
    name, nodes = about.get("name", ""), _nodes(about)
    alive = [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and start_time(int(entry))]
    parents = {pid: _parent(pid) for pid in alive}
    spared = _spared()
    found = {pid for pid in alive if pid not in spared and _belongs(pid, top, name, nodes)}
    grew = True
    while grew:
        more = {pid for pid in alive if parents[pid] in found} - found - spared
        grew = bool(more)
        found |= more
    return sorted(found)


def mounts(top: str) -> List[str]:
    """Mount points below the directory, deepest first."""
    points = []
    for line in _read("/proc/self/mountinfo").decode(errors="replace").splitlines():
        point = line.split()[4].encode().decode("unicode_escape")
        if point == top or point.startswith(top + "/"):
            points.append(point)
    return sorted(points, key=len, reverse=True)


def cgroups(top: str) -> List[str]:
    """Cgroup directories of the cluster's nodes, deepest first."""
    nodes = _nodes(description(top))
    wanted = {"slurm_" + node for node in nodes} | {node + "_slurmstepd.scope" for node in nodes}
    found = []
    for root, folders, _ in os.walk("/sys/fs/cgroup"):
        for folder in list(folders):
            if folder in wanted:
                for inner, _, _ in os.walk(os.path.join(root, folder)):
                    found.append(inner)
                folders.remove(folder)
        if root.count("/") >= 7:
            folders[:] = []
    return sorted(found, key=len, reverse=True)


def _thaw(top: str) -> None:
    """Thaws the cgroups: the processes of a suspended job cannot even be killed while they are frozen."""
    for folder in cgroups(top):
        for file, value in (("freezer.state", "THAWED"), ("cgroup.freeze", "0")):
            path = os.path.join(folder, file)
            if os.path.exists(path):
                try:
                    with open(path, "w") as control:
                        control.write(value)
                except OSError:
                    pass  # it has been removed meanwhile


def _stop_all(top: str, timeout_s: float = 2) -> None:
    """Stops its processes, so that none forks a child that the next look misses: the child of a killed process has no parent to
    be known by. Frozen processes do not stop, and do not fork either."""
    deadline = time.monotonic() + timeout_s
    stopped: Set[int] = set()
    while time.monotonic() < deadline:
        victims = set(processes(top))
        for pid in victims - stopped:
            _signal(pid, signal.SIGSTOP)
        if victims <= stopped and not any(_state(pid) in ("R", "S") for pid in victims):
            return
        stopped |= victims


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _kill_all(top: str, timeout_s: float) -> None:
    _stop_all(top)
    deadline = time.monotonic() + timeout_s
    while True:
        victims = processes(top)
        if not victims:
            return
        for pid in victims:
            _signal(pid, signal.SIGKILL)
        _thaw(top)
        if time.monotonic() > deadline:
            raise RuntimeError("still alive in %s: %s" % (top, victims))
        time.sleep(0.02)


def destroy(top: str, timeout_s: float = 20) -> None:
    """Removes everything of the cluster. Idempotent; raises RuntimeError with everything that could not be removed."""
    if not os.path.isdir(top):
        return
    _kill_all(top, timeout_s)
    for point in mounts(top):
        subprocess.run(["umount", "-l", point], check=False)
    deadline = time.monotonic() + timeout_s
    while cgroups(top):
        for folder in cgroups(top):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                time.sleep(0.02)  # the kernel empties a cgroup shortly after its last process dies
        if time.monotonic() > deadline:
            raise RuntimeError("cgroups remain: %s" % cgroups(top))
    name = description(top).get("name")
    if name:
        shutil.rmtree(sack_folder(name), ignore_errors=True)
    # cluster.json is removed last, with a rename, so that an interrupted removal can continue later.
    for entry in os.listdir(top):
        path = os.path.join(top, entry)
        if entry == "cluster.json":
            continue
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)
    shutil.rmtree(top, ignore_errors=True)
    if os.path.exists(top):
        raise RuntimeError("%s cannot be removed: %s" % (top, os.listdir(top)))


def owner_alive(top: str) -> bool:
    """Whether the process that owns the cluster lives. A manually started cluster has no owner, but counts as owned."""
    about = description(top)
    if not about:
        # It is being created, or its starter has died: decided after a minute.
        try:
            return time.time() - os.stat(top).st_mtime < 60
        except OSError:
            return False
    owner = about.get("owner")
    return owner is None or start_time(owner["pid"]) == owner["start_time"]
