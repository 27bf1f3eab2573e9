"""A private Slurm cluster on one machine, in one temporary directory.

    with Cluster(mode="cgroup", plugstack=["optional /path/spank_goodput.so"]) as cluster:
        job = cluster.sbatch("srun hostname", user="nobody", options=["-N4", "--gres=gpu:8"])
        cluster.wait_state(job, {"COMPLETED"})
        print(cluster.sacct(job))

Needs root and Debian's Slurm packages. Several clusters can run at once. The cluster ends with the `with` block, or when
the process dies, however it dies.
"""

import glob
import json
import os
import pwd
import random
import re
import shutil
import signal
import socket
import string
import subprocess
import sys
import threading
import time
from typing import Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple, Union

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cloud  # noqa: E402
import config  # noqa: E402
import mariadb  # noqa: E402
import ports as free_ports  # noqa: E402
import reap  # noqa: E402
from faults import FAULTS  # noqa: E402
from snapshot import Snapshot  # noqa: E402

# Short, because the paths of Unix sockets below it are limited to 108 bytes.
PARENT, PREFIX = "/tmp", "gp-"

SACCT_FIELDS = ["JobID", "JobIDRaw", "JobName", "User", "Account", "Partition", "QOS", "State", "Reason", "Submit",
                "Eligible", "Start", "End", "ElapsedRaw", "Suspended", "ExitCode", "DerivedExitCode",
                "NNodes", "NodeList", "NTasks", "AllocTRES", "ReqTRES", "Flags", "TimelimitRaw", "Priority",
                "AdminComment", "Comment", "SystemComment"]
_SACCT_TIMES = ("Submit", "Eligible", "Start", "End", "ElapsedRaw")


# Scenarios in threads may create the same directory at the same time.
_JOBDIRS = threading.Lock()


# States that only a requeue changes, and how long one may take until the job shows it.
ENDED = {"", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE", "BOOT_FAIL"}
ENDED_FOR_GOOD_S = 30


class ClusterError(RuntimeError):
    pass


def _new_directory() -> str:
    """/tmp/gp-XXXX. The letters also make the node names and the cluster's name unique on the machine."""
    while True:
        tag = "".join(random.SystemRandom().choice(string.ascii_lowercase) for _ in range(4))
        top = os.path.join(PARENT, PREFIX + tag)
        try:
            os.mkdir(top, 0o755)
        except FileExistsError:
            continue
        os.chmod(top, 0o755)
        return top


def directories() -> List[str]:
    """All clusters of this checkout."""
    found = []
    for entry in sorted(os.listdir(PARENT)):
        top = os.path.join(PARENT, entry)
        if entry.startswith(PREFIX) and os.path.isdir(top) and os.stat(top).st_uid == 0:
            if reap.description(top).get("checkout", mariadb.CHECKOUT) == mariadb.CHECKOUT:
                found.append(top)
    return found


class Cluster:
    def __init__(self, mode: str = "cgroup", plugstack: Iterable[str] = (), dbd: bool = True, nodes: int = 4,
                 kill_wait_s: int = 5, grace_s: int = 30, debug: str = "verbose", cred_expire_s: int = 0,
                 slurm_conf: Iterable[str] = (), daemon_env: Optional[Dict[str, str]] = None,
                 owned: bool = True, cgroup_conf: Iterable[str] = (), cloud: int = 0, boot_s: float = 4,
                 auth: str = "", configless: bool = False, joins: Optional["Cluster"] = None) -> None:
        """mode: "cgroup" or "linuxproc". plugstack: lines of plugstack.conf; {dir} is the cluster's directory.
        slurm_conf: more lines, which replace ours where they set the same key. cred_expire_s: 0 leaves Slurm's 120 s,
        which is what a requeued job waits (plus one); Slurm ignores less than 6. daemon_env: for slurmctld, slurmdbd
        and slurmd. owned: dies with this process. cgroup_conf: more lines of cgroup.conf. cloud: so many nodes
        besides, in the partition `cloud`, that Slurm boots when a job needs them; booting takes boot_s. auth: "munge" or
        "slurm" (since 25.05), by default $GOODPUT_TEST_AUTH, otherwise munge. configless: nodes have no files of Slurm, and fetch
        them from slurmctld. joins: a running cluster whose slurmdbd and credentials this one uses, instead of its own."""
        if mode not in ("cgroup", "linuxproc"):
            raise ValueError("mode is cgroup or linuxproc, not " + mode)
        self.mode, self.dbd, self.owned = mode, dbd, owned
        self.auth = auth or os.environ.get("GOODPUT_TEST_AUTH") or "munge"
        if self.auth not in ("munge", "slurm"):
            raise ValueError("auth, or $GOODPUT_TEST_AUTH, is munge or slurm, not " + self.auth)
        self.plugstack = list(plugstack)
        self.count, self.kill_wait_s, self.grace_s, self.debug = nodes, kill_wait_s, grace_s, debug
        self.configless, self.joins = configless, joins
        self.cred_expire_s, self.slurm_conf = cred_expire_s, list(slurm_conf)
        if configless:
            self.slurm_conf.append("SlurmctldParameters=enable_configless")
        self.cgroup_conf, self.boot_s = list(cgroup_conf), boot_s
        self.cloud_nodes = [""] * cloud
        self.daemon_env = dict(daemon_env or {})
        self.dir = self.name = ""
        self.nodes: List[str] = []
        self._children: Dict[str, subprocess.Popen] = {}
        self._stopped = False
        self._jobs = Snapshot(lambda: self.run(["scontrol", "-o", "-d", "show", "job"], check=False).stdout)

    @classmethod
    def attach(cls, top: str) -> "Cluster":
        """A cluster that is already running, such as one started by `up`."""
        about = reap.description(top)
        if not about:
            raise ClusterError("%s is no test cluster" % top)
        self = cls(mode=about["mode"], dbd=about["dbd"], nodes=len(about["nodes"]), owned=False)
        self.dir, self.name, self.nodes = top, about["name"], about["nodes"]
        self.daemon_env = about["daemon_env"]
        return self

    # --- life

    def __enter__(self) -> "Cluster":
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> "Cluster":
        if os.geteuid() != 0:
            raise ClusterError("a test cluster needs root (it starts jobs as other users)")
        if self.dbd and not self.joins:
            mariadb.template()
        self._stopped = False
        self.dir = _new_directory()
        tag = self.dir[len(PARENT) + 1 + len(PREFIX):]
        self.name = "gp" + tag
        self.nodes = ["%s-n%d" % (tag, index + 1) for index in range(self.count)]
        self.cloud_nodes = ["%s-c%d" % (tag, index + 1) for index in range(len(self.cloud_nodes))]
        self._describe()
        try:
            if self.owned:
                self._watch()
            self._start_all()
        except BaseException:
            logs = "" if not os.path.isdir(self.dir) else self._log_tails()
            self.stop()
            sys.stderr.write(logs)
            raise
        return self

    def stop(self) -> None:
        # Other threads may still run commands on it; each would be one more process to end.
        self._stopped = True
        if self.dir:
            reap.destroy(self.dir)
        for child in self._children.values():
            child.wait()
        self._children = {}

    def check_runs(self) -> None:
        """Raises an exception after the cluster was told to stop, so that waiting ends."""
        if self._stopped:
            raise ClusterError("the cluster in %s was stopped" % self.dir)

    def _describe(self) -> None:
        pid = os.getpid()
        about = {"name": self.name, "nodes": self.nodes, "cloud_nodes": self.cloud_nodes, "mode": self.mode, "dbd": self.dbd,
                 "checkout": mariadb.CHECKOUT, "daemon_env": self.daemon_env,
                 "owner": {"pid": pid, "start_time": reap.start_time(pid)} if self.owned else None}
        path = os.path.join(self.dir, "cluster.json")
        with open(path + ".new", "w") as file:
            json.dump(about, file)
        os.rename(path + ".new", path)

    def _watch(self) -> None:
        here = os.path.dirname(os.path.abspath(__file__))
        pid = os.getpid()
        # Not part of the cluster, because it must outlive everything that it kills.
        self._children["watchdog"] = subprocess.Popen(
            [sys.executable, os.path.join(here, "watchdog.py"), self.dir, str(pid), str(reap.start_time(pid))],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def _start_all(self) -> None:
        numbers, lock = free_ports.reserve(2 + self.count + len(self.cloud_nodes))
        if self.joins:
            numbers[1] = self.joins.port("AccountingStoragePort")
        with lock:
            config.write_all(self.dir, self.name, self.nodes, numbers, self.mode, self.dbd, self.auth,
                             [line.replace("{dir}", self.dir) for line in self.plugstack],
                             self.kill_wait_s, self.grace_s, self.debug, self.cred_expire_s, self.slurm_conf,
                             self.cgroup_conf, cloud.Cloud(self.cloud_nodes, self.boot_s))
            if self.joins:
                self._share(self.joins)
            if self.auth != "munge":
                self.start_daemon("sackd")
            elif not self.joins:
                self.start_daemon("munged")
            if self.dbd and not self.joins:
                mariadb.make_datadir(self.dir)
                self.start_daemon("mariadbd")
            self._until(lambda: os.path.exists(self._auth_socket()), 90, "the socket that gives credentials")
            if self.dbd and not self.joins:
                self._until(lambda: _connects(os.path.join(self.dir, "run", "mariadb.sock")), 90, "mariadbd's socket")
                self.start_daemon("slurmdbd")
                self._until(lambda: _listens(numbers[1]), 90, "slurmdbd's port")
            if self.dbd:
                # Registered before slurmctld starts, so that slurmdbd never rejects its messages.
                self.run(["sacctmgr", "-i", "add", "cluster", self.name])
                self.run(["sacctmgr", "-i", "add", "account", "research", "Description=research",
                          "Organization=test"])
                self.run(["sacctmgr", "-i", "add", "user", "nobody,games", "account=research"])
            self.start_daemon("slurmctld")
            self._until(lambda: _listens(numbers[0]), 90, "slurmctld's port")
            for node in self.nodes:
                self.start_daemon("slurmd-" + node)
            self._until(self._all_idle, 90, "all nodes idle")

    def _share(self, other: "Cluster") -> None:
        """Takes the other cluster's munged, or its key, in place of what was just written."""
        if self.auth == "munge":
            shutil.rmtree(os.path.join(self.dir, "munge"))
            os.symlink(os.path.join(other.dir, "munge"), os.path.join(self.dir, "munge"))
        else:
            shutil.copy2(os.path.join(other.dir, "etc", "slurm.key"), os.path.join(self.dir, "etc", "slurm.key"))

    def _all_idle(self) -> bool:
        states = self.run(["sinfo", "-h", "-N", "-p", "a3mega", "-o", "%N %t"], check=False).stdout.split()
        return states[1::2] == ["idle"] * self.count

    def _auth_socket(self) -> str:
        if self.auth == "munge":
            return os.path.join(self.dir, "munge", "socket")
        return os.path.join(reap.sack_folder(self.name), "sack.socket")

    def _until(self, ready: Callable[[], bool], timeout_s: float, what: str) -> None:
        deadline = time.monotonic() + timeout_s
        while not ready():
            for name, child in self._children.items():
                if child.poll() is not None:
                    raise ClusterError("%s exited with %s while waiting for %s" % (name, child.returncode, what))
            if time.monotonic() > deadline:
                raise ClusterError("no %s within %g s" % (what, timeout_s))
            time.sleep(0.05)

    def _log_tails(self) -> str:
        folder = os.path.join(self.dir, "log")
        text = ""
        for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, entry), errors="replace") as file:
                text += "--- %s\n%s" % (entry, "".join(file.readlines()[-15:]))
        return text

    # --- daemons: munged or sackd, mariadbd, slurmdbd, slurmctld, slurmd-NODE

    def _command(self, daemon: str) -> List[str]:
        if daemon == "munged":
            base = os.path.join(self.dir, "munge")
            return ["munged", "--foreground", "--force", "--key-file=" + base + "/key", "--socket=" + base + "/socket",
                    "--pid-file=" + base + "/pid", "--log-file=" + self.dir + "/log/munged.log",
                    "--seed-file=" + base + "/seed", "--num-threads=4"]
        if daemon == "sackd":
            return ["sackd", "-D", "-f", self.conf]
        if daemon == "mariadbd":
            return mariadb.command(self.dir + "/mariadb", self.dir + "/run/mariadb.sock")
        if daemon.startswith("slurmd-"):
            node = daemon[len("slurmd-"):]
            return self._configless_slurmd(node) if self.configless else ["slurmd", "-D", "-N", node, "-f", self.conf]
        if daemon == "slurmctld":
            return ["slurmctld", "-D", "-f", self.conf]
        if daemon == "slurmdbd":
            return ["slurmdbd", "-D"]
        raise ValueError("no daemon " + daemon)

    def _configless_slurmd(self, node: str) -> List[str]:
        """With a /var/spool and a /run/slurm of its own, as on another host, and with what auth/munge or auth/slurm needs."""
        port = self.port("SlurmctldPort")
        if self.auth == "munge":
            own = ["/run"]
            have = ["mkdir /run/munge", "touch /run/munge/munge.socket.2", "mount --bind %s /run/munge/munge.socket.2" % self._auth_socket()]
        else:
            own = ["/run/slurm", "/etc/slurm"]  # the cluster's sackd is in /run, too
            have = ["cp %s/etc/slurm.key /etc/slurm/" % self.dir]
        steps = ["mkdir -p %s && mount -t tmpfs none %s" % (path, path) for path in ["/var/spool"] + own] + have + [
            "mkdir -p /run/slurm /var/spool/slurmd", "unset SLURM_CONF", "exec slurmd -D -N %s --conf-server 127.0.0.1:%d" % (node, port)]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", " && ".join(steps)]

    def start_daemon(self, daemon: str) -> None:
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
               "HOME": "/root", "SLURM_CONF": self.conf, reap.MEMBER: self.dir,
               "MYSQL_UNIX_PORT": self.dir + "/run/mariadb.sock", **FAULTS}
        if daemon.startswith("slurm"):
            env.update(self.daemon_env)
        if daemon == "sackd":
            env["RUNTIME_DIRECTORY"] = reap.sack_folder(self.name)
        with open(os.path.join(self.dir, "log", daemon + ".out"), "ab") as out:
            self.check_runs()
            child = subprocess.Popen(self._command(daemon), env=env, cwd=self.dir, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=out, start_new_session=True)
        self._children[daemon] = child
        with open(os.path.join(self.dir, "run", daemon + ".pid"), "w") as file:
            file.write("%d\n" % child.pid)

    def pid(self, daemon: str) -> int:
        with open(os.path.join(self.dir, "run", daemon + ".pid")) as file:
            return int(file.read())

    def stop_daemon(self, daemon: str, signo: int = signal.SIGTERM, timeout_s: float = 30) -> None:
        """Sends a daemon a signal and waits until it has ended; `start_daemon` starts it again."""
        pid = self.pid(daemon)
        started = reap.start_time(pid)
        if started:
            os.kill(pid, signo)
            deadline = time.monotonic() + timeout_s
            while reap.start_time(pid) == started:
                if time.monotonic() > deadline:
                    raise ClusterError("%s did not stop within %g s" % (daemon, timeout_s))
                time.sleep(0.02)
        child = self._children.pop(daemon, None)
        if child:
            child.wait()

    # --- use

    @staticmethod
    def release() -> Tuple[int, int, int]:
        """The installed release of Slurm: (22, 5, 8), (25, 11, 4)."""
        said = subprocess.run(["slurmctld", "-V"], stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
        major, minor, patch = re.findall(r"\d+", said.split()[-1])[:3]
        return int(major), int(minor), int(patch)

    @property
    def conf(self) -> str:
        return os.path.join(self.dir, "etc", "slurm.conf")

    def port(self, key: str) -> int:
        """The port that a line of slurm.conf sets, such as SlurmctldPort."""
        with open(self.conf) as file:
            return int(re.findall(r"^%s=(\d+)" % key, file.read(), re.M)[0])

    def log(self, daemon: str) -> str:
        """A daemon's log so far."""
        with open(os.path.join(self.dir, "log", daemon + ".log"), errors="replace") as file:
            return file.read()

    def jobdir(self, user: str = "root") -> str:
        """A directory that the user can write to, below directories that all users can enter."""
        path = os.path.join(self.dir, "jobs", user)
        with _JOBDIRS:
            if not os.path.isdir(path):
                os.mkdir(path, 0o755)
                entry = pwd.getpwnam(user)
                os.chown(path, entry.pw_uid, entry.pw_gid)
        return path

    def env(self, user: str = "root") -> Dict[str, str]:
        """The environment of commands: small, so that jobs do not depend on the user who runs the test."""
        return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "USER": user,
                "LOGNAME": user, "HOME": self.jobdir(user), "SHELL": "/bin/bash", "SLURM_CONF": self.conf,
                "GOODPUT_TEST_CLUSTER": self.dir, reap.MEMBER: self.dir, **FAULTS}

    def popen(self, cmd: Union[str, Sequence[str]], user: Optional[str] = None, env: Optional[Dict[str, str]] = None,
              **how: object) -> subprocess.Popen:
        """Starts a command (a string is run by bash) as the user, in the user's jobdir."""
        self.check_runs()
        argv = ["bash", "-c", cmd] if isinstance(cmd, str) else list(cmd)
        user = user or "root"
        if user != "root":
            entry = pwd.getpwnam(user)
            argv = ["setpriv", "--reuid=%d" % entry.pw_uid, "--regid=%d" % entry.pw_gid, "--clear-groups", "--"] + argv
        full = self.env(user)
        full.update(env or {})
        how.setdefault("cwd", self.jobdir(user))
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("errors", "replace")  # a job's name may be any bytes
        return subprocess.Popen(argv, env=full, universal_newlines=True, **how)  # type: ignore

    def run(self, cmd: Union[str, Sequence[str]], user: Optional[str] = None, check: bool = True,
            env: Optional[Dict[str, str]] = None, timeout: float = 120, **how: object) -> subprocess.CompletedProcess:
        """Runs a command to its end, and captures stdout and stderr as text. check: raise an exception if it fails."""
        child = self.popen(cmd, user, env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            raise
        if check and child.returncode != 0:
            raise ClusterError("%s exited with %d\n%s%s" % (cmd, child.returncode, out, err))
        return subprocess.CompletedProcess(cmd, child.returncode, out, err)

    def sbatch(self, script: Union[str, Sequence[str]], user: Optional[str] = None, options: Sequence[str] = (),
               env: Optional[Dict[str, str]] = None) -> int:
        """Submit a script's text (a missing #! line is added) or, given a list, sbatch's own arguments: the job id.

        Output goes to slurm-%j.out in the user's jobdir, and a requeue truncates it, unless options say otherwise.
        """
        user = user or "root"
        argv = ["sbatch", "--parsable"]
        if user == "nobody" and self.dbd:
            # Newer releases always map that name to uid 99, which has no default account.
            argv.append("--account=research")
        argv += options
        if isinstance(script, str):
            text = script if script.startswith("#!") else "#!/bin/bash\n" + script
            path = os.path.join(self.jobdir(user), "script-%d.sh" % time.time_ns())
            with open(path, "w") as file:
                file.write(text + "\n")
            os.chmod(path, 0o755)
            argv.append(path)
        else:
            argv += list(script)
        return int(self.run(argv, user, env=env).stdout.split(";")[0])

    def output(self, job: int, user: str = "root") -> str:
        """The output so far of a job submitted with sbatch: of its last attempt, unless that appended to it."""
        try:
            with open(os.path.join(self.jobdir(user), "slurm-%d.out" % job), errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def sacct(self, job: int, duplicates: bool = True, steps: bool = True) -> List[Dict]:
        """Rows of accounting, with attempts in order. Times are seconds since the epoch, None if sacct has none."""
        delimiter = "\x1f%x\x1f" % random.SystemRandom().getrandbits(64)  # random, because a job's name may contain any fixed delimiter
        argv = ["sacct", "-P", "-n", "-j", str(job), "--format=" + ",".join(SACCT_FIELDS), "--delimiter=" + delimiter]
        argv += ["-D"] if duplicates else []
        argv += [] if steps else ["-X"]
        rows = []
        text = ""
        for line in self.run(argv, env={"SLURM_TIME_FORMAT": "%s", "TZ": "UTC"}).stdout.split("\n"):
            text += ("\n" if text else "") + line
            values = text.split(delimiter)
            if len(values) < len(SACCT_FIELDS):
                continue  # a newline in the job's name
            text = ""
            row: Dict = dict(zip(SACCT_FIELDS, values))
            for field in _SACCT_TIMES:
                row[field] = int(row[field]) if row[field].isdigit() else None
            rows.append(row)
        return rows

    def job(self, job: int) -> Dict[str, str]:
        """`scontrol show job` as a dictionary; {} if the controller no longer has the job."""
        fields: Dict[str, str] = {}
        last = ""
        for word in self._jobs.record(job).split():
            name, equals, value = word.partition("=")
            if equals and name not in fields:
                fields[name] = value
                last = name
            elif not equals and last:
                fields[last] += " " + word  # a value with a blank, such as AdminComment
        return fields

    def time_of(self, job: int, field: str) -> int:
        """A time from `scontrol show job`, such as SuspendTime, in nanoseconds since the epoch."""
        return self.time_in(self.job(job), field)

    @staticmethod
    def time_in(fields: Dict[str, str], field: str) -> int:
        return int(time.mktime(time.strptime(fields[field], "%Y-%m-%dT%H:%M:%S"))) * 1_000_000_000

    def state(self, job: int) -> str:
        return self.job(job).get("JobState", "")

    def wait_state(self, job: int, states: Union[str, Iterable[str]], timeout: float = 180) -> Dict[str, str]:
        """Waits until the job is in one of the states, and returns its `job` fields. Raises, with its present state and what the
        logs say of it, after the timeout, or sooner if it has ended otherwise and no requeue follows."""
        wanted: Set[str] = {states} if isinstance(states, str) else set(states)
        began = time.monotonic()
        alive = began  # when it was last seen alive
        while True:
            fields = self.job(job)
            state, now = fields.get("JobState", ""), time.monotonic()
            if state in wanted:
                return fields
            if state not in ENDED:
                alive = now
            if now > began + timeout or now > alive + ENDED_FOR_GOOD_S:
                raise ClusterError("job %d is %s (%s), not %s, after %.0f s\n%s" % (
                    job, state or "unknown", fields.get("Reason"), sorted(wanted), now - began, self._logs_about(job)))
            time.sleep(0.1)

    def _logs_about(self, job: int) -> str:
        """The last lines of each log of Slurm that name the job, and of its own output."""
        said = re.compile(r"(?i)\bjob(id)?[ =]?%d\b|\[%d\." % (job, job))
        files = glob.glob(os.path.join(self.dir, "log", "slurm*.log"))
        text = ""
        for path in sorted(files) + glob.glob(os.path.join(self.dir, "jobs", "*", "slurm-%d.out" % job)):
            with open(path, errors="replace") as file:
                lines = [line for line in file if path.endswith(".out") or said.search(line)]
            if lines:
                text += "--- %s\n%s" % (os.path.basename(path), "".join(lines[-15:]))
        return text

    def wait_no_jobs_of(self, array: int, timeout: float = 180) -> None:
        """Waits until every task of an array has ended."""
        deadline = time.monotonic() + timeout
        while True:
            left = self.run(["squeue", "-h", "-j", str(array), "-o", "%i %T"], check=False).stdout
            if not left.strip():
                return
            if time.monotonic() > deadline:
                raise ClusterError("array %d is not over after %g s: %s" % (array, timeout, left))
            time.sleep(0.2)

    def wait_sacct(self, job: int, ready: Callable[[List[Dict]], bool], timeout: float = 180) -> List[Dict]:
        """Wait until accounting, which lags a few seconds, satisfies `ready`.

        A short job's row is at first a stub (no partition, no eligible time, name "allocation"), for up to 5 s.
        """
        def complete(rows: List[Dict]) -> bool:
            return bool(rows) and all(row["Partition"] for row in rows if "." not in row["JobID"])

        deadline = time.monotonic() + timeout
        while True:
            rows = self.sacct(job)
            if complete(rows) and ready(rows):
                return rows
            if time.monotonic() > deadline:
                raise ClusterError("sacct of job %d is not as expected after %g s: %s" % (job, timeout, rows))
            time.sleep(0.2)

    def node_state(self, node: str) -> str:
        """Such as "IDLE" or "DOWN+DRAIN"."""
        for word in self.run(["scontrol", "-o", "show", "node", node]).stdout.split():
            if word.startswith("State="):
                return word[len("State="):]
        return ""


def _connects(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _listens(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
