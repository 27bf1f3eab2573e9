"""goodputd in the role of a node without Slurm: the records that the plugin would write are written by hand, and a job's
task is any process. Needs root, since jobs are those of ordinary users.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Callable, Dict, List, Optional, Sequence

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"))
GOODPUTD = os.path.join(BUILD, "tools", "goodputd", "goodputd")
SGOODPUT = os.path.join(BUILD, "tools", "sgoodput", "sgoodput")
UNIT = os.path.join(TOP, "tools", "data", "units", "goodputd.service.in")
NODE = "n1"
S = 1_000_000_000


def unit_setting(name: str) -> int:
    """TasksMax=64 or MemoryMax=512M of goodputd's unit."""
    with open(UNIT) as file:
        value, unit = re.search(r"^%s=(\d+)([KMG]?)$" % name, file.read(), re.M).groups()  # type: ignore
    return int(value) << {"": 0, "K": 10, "M": 20, "G": 30}[unit]


class ControlGroup:
    """With the limits of goodputd's unit, in either version of cgroups."""

    def __init__(self) -> None:
        root = "/sys/fs/cgroup"
        name = "goodput-test-%d-%x" % (os.getpid(), time.monotonic_ns())
        v2 = os.path.exists(root + "/cgroup.controllers")
        self.folders = [os.path.join(root, name)] if v2 else [os.path.join(root, kind, name) for kind in ("pids", "memory")]
        memory = ["memory.max", "memory.high"] if v2 else ["memory.limit_in_bytes", "memory.soft_limit_in_bytes"]
        limits = {"pids.max": unit_setting("TasksMax"), memory[0]: unit_setting("MemoryMax"), memory[1]: unit_setting("MemoryHigh")}
        for folder in self.folders:
            os.mkdir(folder)
        for file, value in limits.items():
            self._write(file, str(value))

    def _write(self, file: str, text: str) -> None:
        paths = [os.path.join(folder, file) for folder in self.folders]
        path = next(path for path in paths if os.path.exists(path))
        with open(path, "w") as out:
            out.write(text)

    def enter(self) -> None:
        """Called by the process that is to be in it."""
        for folder in self.folders:
            with open(os.path.join(folder, "cgroup.procs"), "w") as out:
                out.write(str(os.getpid()))

    def read(self, file: str) -> int:
        for folder in self.folders:
            path = os.path.join(folder, file)
            if os.path.exists(path):
                with open(path) as text:
                    return int(text.read())
        raise FileNotFoundError(file)

    def remove(self) -> None:
        for folder in self.folders:
            for _ in range(100):
                try:
                    os.rmdir(folder)
                    break
                except OSError:
                    time.sleep(0.05)


class Task:
    """The only task of a job."""

    def __init__(self, job: int, uid: int, process: "subprocess.Popen", stepd: int) -> None:
        self.job, self.uid, self.process, self.stepd = job, uid, process, stepd


class BareNode:
    def __init__(self, settings: str = "") -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-node-")
        os.chmod(self.dir, 0o755)
        self.spool = os.path.join(self.dir, "spool")
        self.socket = "@gp-node-%d-%x" % (os.getpid(), time.monotonic_ns())
        self.conf = os.path.join(self.dir, "goodput.conf")
        with open(self.conf, "w") as file:
            file.write("spool = %s\ndatabase = %s/goodput.db\nsocket = %s\nrole = node\nheartbeat = 1s\nhost_notices = off\nkernel_log = off\n%s" %
                       (self.spool, self.dir, self.socket, settings))
        os.makedirs(os.path.join(self.spool, NODE), 0o700)
        with open("/proc/sys/kernel/random/boot_id") as boot:
            self._file = os.path.join(self.spool, NODE, boot.read().strip() + ".2026010100Z.jsonl")
        self.group: Optional[ControlGroup] = None
        self.daemon: Optional[subprocess.Popen] = None
        self.tasks: List[Task] = []

    def start(self, limited: bool = False) -> None:
        """limited: by what its unit sets."""
        self.group = ControlGroup() if limited else None
        self.log = os.path.join(self.dir, "goodputd.log")
        with open(self.log, "ab") as output:
            self.daemon = subprocess.Popen([GOODPUTD, "--config", self.conf], stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/",
                                           preexec_fn=self.group.enter if self.group else None)
        self.wait("goodputd is ready", lambda: "goodputd: ready" in self.read_log())

    def stop(self) -> None:
        for task in self.tasks:
            try:
                os.killpg(task.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            task.process.wait()
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait(30)
        if self.group:
            self.group.remove()
        shutil.rmtree(self.dir, ignore_errors=True)

    def read_log(self) -> str:
        with open(self.log, errors="replace") as file:
            return file.read()

    def wait(self, what: str, is_so: Callable[[], bool], timeout_s: float = 60) -> None:
        deadline = time.monotonic() + timeout_s
        pause_s = 0.02
        while not is_so():
            assert self.daemon is None or self.daemon.poll() is None, "goodputd ended: " + self.read_log()[-2000:]
            assert time.monotonic() < deadline, "%s: not so after %g s\n%s" % (what, timeout_s, self.read_log()[-2000:])
            time.sleep(pause_s)
            pause_s = min(1.2 * pause_s, 0.5)  # asking often takes the processor from goodputd

    def folder(self, name: str, uid: int) -> str:
        path = os.path.join(self.dir, name)
        os.mkdir(path)
        os.chown(path, uid, uid)
        return path

    def _record(self, kind: str, stepd: int, **keys: object) -> None:
        whole: Dict[str, object] = {"v": 1, "t": time.time_ns(), "m": time.clock_gettime_ns(time.CLOCK_MONOTONIC), "node": NODE, "stepd": stepd,
                                    "kind": kind, "cluster": "c"}
        whole.update(keys)
        with open(self._file, "ab", buffering=0) as file:
            file.write(b"\n" + json.dumps(whole).encode() + b"\n")
        os.chmod(self._file, 0o600)

    def job(self, job: int, uid: int, command: Sequence[str], output: str = "/dev/null", **options: str) -> Task:
        """options: of sbatch, as the plugin records them: checkpoint_dir, log_profile, checkpoint_signal."""
        stepd = 3_000_000 + job
        self._record("job_prolog", stepd, job=job, uid=uid, gid=uid, opt=options)
        self._record("step_start", stepd, job=job, uid=uid, gid=uid, slurm_step="0", opt=options)

        def become() -> None:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
        with open(output, "ab") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/", preexec_fn=become, start_new_session=True,
                                       env={"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": str(job), "GOODPUT_SOCKET": self.socket})
        self._record("task_start", stepd, job=job, uid=uid, slurm_step="0", task=0, pid=process.pid)
        task = Task(job, uid, process, stepd)
        self.tasks.append(task)
        return task

    def finish(self, task: Task, timeout_s: float = 60) -> None:
        """Waits for its program, and records its end as the plugin does."""
        task.process.wait(timeout_s)
        self._record("task_exit", task.stepd, job=task.job, uid=task.uid, slurm_step="0", task=0, pid=task.process.pid, exit_code=0)
        self._record("step_end", task.stepd, job=task.job, uid=task.uid, slurm_step="0")

    def records(self, job: Optional[int] = None, kind: str = "") -> List[Dict]:
        """What is in the spool, of one job and of one kind."""
        found = []
        for path in sorted(glob.glob(os.path.join(self.spool, "*", "*.jsonl"))):
            with open(path, "rb") as file:
                for line in file.read().split(b"\n"):
                    if line and (job is None or b'"job":%d,' % job in line) and (not kind or b'"kind":"%s"' % kind.encode() in line):
                        found.append(json.loads(line))
        return found

    def counts(self, name: str) -> Dict[str, int]:
        """The counts that doctor reads: marks, signals, watches."""
        try:
            with open(os.path.join(self.spool, name)) as file:
                return {key: int(value) for key, value in (word.split("=") for word in file.read().split())}
        except FileNotFoundError:
            return {}

    def tasks_of_daemon(self) -> int:
        """Its threads, its helpers, and their threads."""
        assert self.daemon
        pids = [self.daemon.pid] + [int(pid) for pid in subprocess.run(["pgrep", "-P", str(self.daemon.pid)], stdout=subprocess.PIPE,
                                                                       text=True).stdout.split()]
        threads = 0
        for pid in pids:
            try:
                threads += len(os.listdir("/proc/%d/task" % pid))
            except FileNotFoundError:
                pass
        return threads

    def sgoodput(self, command: str, *words: str) -> str:
        """What it prints, of this node's records."""
        return subprocess.run([SGOODPUT, command, "--config", self.conf] + list(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60).stdout
