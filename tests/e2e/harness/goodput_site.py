"""A private Slurm cluster with slurm-goodput installed: the plugin in plugstack.conf, goodput.conf, one goodputd.

    with Site(mode="cgroup") as site:
        job = site.train("--steps 20 --save-every 5", user="nobody", options=["-N4", "--gres=gpu:8"])
        site.settle(job)
        print(site.show_json(job), site.truth(job))

Everything is below the cluster's directory and is removed with it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any, Dict, Iterable, List, Optional, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [path for path in (os.path.join(TESTS, "cluster"),) if path not in sys.path]
from cluster import Cluster, ClusterError  # noqa: E402

from . import truth as truths  # noqa: E402
from .reach import reachable  # noqa: E402

BUILD = os.path.join(os.path.dirname(TESTS), os.environ.get("GOODPUT_BUILD", "build"))
PLUGIN = reachable(os.path.join(BUILD, "spank", ".libs", "spank_goodput.so"))
GOODPUTD = os.path.join(BUILD, "tools", "goodputd", "goodputd")
SGOODPUT = reachable(os.path.join(BUILD, "tools", "sgoodput", "sgoodput"))
TRAINER = "/usr/bin/python3 %s" % os.path.join(reachable(os.path.join(TESTS, "trainer")), "trainer.py")

FINAL = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "DEADLINE"}


class Site:
    def __init__(self, mode: str = "cgroup", nodes: int = 4, dbd: bool = True, cred_expire_s: int = 12,
                 queue_interval_s: Optional[float] = 0.5, daemon: bool = True, conf: Iterable[str] = (), kill_wait_s: int = 5,
                 grace_s: int = 30, slurm_conf: Iterable[str] = (), cgroup_conf: Iterable[str] = (), cloud: int = 0,
                 plugin: str = "", configless: bool = False, joins: Optional["Site"] = None) -> None:
        """cred_expire_s: with 12 a requeued job waits 13 s, and a machine that stalls that long fails steps; with 0 Slurm's own 121 s.
        queue_interval_s: None: the default. conf: more lines of goodput.conf. plugin:
        more arguments for the plugin; {dir} is the cluster's folder. configless, joins: see Cluster."""
        for path in (PLUGIN, GOODPUTD, SGOODPUT):
            if not os.path.exists(path):
                raise RuntimeError("%s is not built" % path)
        self.queue_interval_s = queue_interval_s
        self._wants_daemon, self._conf = daemon, list(conf)
        self.daemon_env: Dict[str, str] = {}  # more variables for goodputd
        self._daemon: Optional[subprocess.Popen] = None
        self.socket = "@gp-%d-%x" % (os.getpid(), time.monotonic_ns())
        self.cluster = Cluster(mode=mode, nodes=nodes, dbd=dbd, cred_expire_s=cred_expire_s, kill_wait_s=kill_wait_s,
                               grace_s=grace_s, debug="info", slurm_conf=slurm_conf, cgroup_conf=cgroup_conf, cloud=cloud,
                               configless=configless, joins=joins.cluster if joins else None, plugstack=[
                                   "optional %s spool={dir}/goodput/spool socket=%s %s" % (PLUGIN, self.socket, plugin)])

    def __enter__(self) -> "Site":
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> "Site":
        self.cluster.start()
        return self.start_goodput()

    def start_goodput(self) -> "Site":
        """Starts a database and the daemon on a running cluster."""
        try:
            os.mkdir(self.path("goodput"), 0o755)
            os.mkdir(self.path("goodput", "db"), 0o750)
            with open(self.conf, "w") as file:
                interval = [] if self.queue_interval_s is None else ["queue_interval = %dms" % (1000 * self.queue_interval_s)]
                file.write("".join(line + "\n" for line in [
                    "spool = " + self.spool, "database = " + self.database, "socket = " + self.socket,
                    # Not what this machine's kernel says; test_hang has a log of its own.
                    "kernel_log = off"] + interval + self._conf))
            if self._wants_daemon:
                self.start_daemon()
            else:
                self.sgoodput("ingest")  # creates the database; there may be no spool yet
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        if self.daemon_runs():
            self.stop_daemon(signal.SIGKILL)
        self.cluster.stop()

    def path(self, *names: str) -> str:
        return os.path.join(self.cluster.dir, *names)

    @property
    def conf(self) -> str:
        return self.path("goodput", "goodput.conf")

    @property
    def spool(self) -> str:
        return self.path("goodput", "spool")

    @property
    def database(self) -> str:
        return self.path("goodput", "db", "goodput.db")

    # --- goodputd

    def start_daemon(self) -> None:
        """Starts goodputd, and returns when it accepts marks."""
        log = open(self.path("log", "goodputd.out"), "ab")
        with log:
            begin = log.tell()
            self._daemon = subprocess.Popen([GOODPUTD, "--config", self.conf], env=dict(self.cluster.env(), **self.daemon_env), cwd="/",
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while "goodputd: ready" not in self.daemon_log(begin):
            if self._daemon.poll() is not None or time.monotonic() > deadline:
                raise ClusterError("goodputd did not become ready:\n" + self.daemon_log())
            time.sleep(0.02)

    def daemon_log(self, begin: int = 0) -> str:
        with open(self.path("log", "goodputd.out"), errors="replace") as file:
            file.seek(begin)
            return file.read()

    def daemon_runs(self) -> bool:
        return self._daemon is not None and self._daemon.poll() is None

    def daemon_pid(self) -> int:
        assert self._daemon is not None
        return self._daemon.pid

    def signal_daemon(self, signo: int) -> None:
        assert self._daemon is not None
        self._daemon.send_signal(signo)

    def stop_daemon(self, signo: int = signal.SIGTERM, timeout_s: float = 15) -> int:
        """Stops goodputd. Returns its exit status, or minus the signal that killed it."""
        assert self._daemon is not None
        self._daemon.send_signal(signo)
        if signo == signal.SIGKILL:
            self._daemon.send_signal(signal.SIGCONT)
        return self._daemon.wait(timeout_s)

    # --- sgoodput

    def sgoodput(self, *args: str, user: Optional[str] = None, env: Optional[Dict[str, str]] = None,
                 timeout: float = 60) -> subprocess.CompletedProcess:
        """Its status, stdout and stderr; never raises because of the status."""
        full = {"GOODPUT_CONF": self.conf}
        full.update(env or {})
        return self.cluster.run([SGOODPUT] + list(args), user=user, check=False, env=full, timeout=timeout)

    def show_json(self, job: int, *args: str, user: Optional[str] = None) -> Dict:
        answer = self.sgoodput("show", str(job), "--json", *args, user=user)
        if answer.returncode != 0:
            raise ClusterError("sgoodput show %d exited with %d: %s" % (job, answer.returncode, answer.stderr))
        return json.loads(answer.stdout)

    # --- jobs

    def folder(self, name: str, user: str = "root") -> str:
        """The folder of a trainer of this name, for its checkpoints and its log."""
        return os.path.join(self.cluster.jobdir(user), name)

    def events(self, folder: str, event: str, rank: int = 0) -> List[Dict]:
        return [record for record in truths.read_log(folder, rank) if record["event"] == event]

    def wait_event(self, folder: str, event: str, count: int = 1, step: int = 0, timeout: float = 180) -> Dict:
        """Waits for the count-th record of this event, of at least this training step."""
        deadline = time.monotonic() + timeout
        log = truths.GrowingLog(folder)
        while True:
            self.cluster.check_runs()
            found = [r for r in log.records() if r["event"] == event and r.get("step", 0) >= step]
            if len(found) >= count:
                return found[count - 1]
            if time.monotonic() > deadline:
                raise ClusterError("no %s (%d., step %d) in %s after %g s; it has %s" % (
                    event, count, step, folder, timeout, log.records()[-3:]))
            time.sleep(0.05)

    def wait_steps(self, folder: str, incarnation: int, count: int, timeout: float = 180) -> None:
        """Waits until the trainer's incarnation-th start (from 0) has done this many steps."""
        deadline = time.monotonic() + timeout
        log = truths.GrowingLog(folder)
        while True:
            self.cluster.check_runs()
            records = log.records()
            starts = [i for i, record in enumerate(records) if record["event"] == "start"]
            if len(starts) > incarnation:
                done = [r for r in records[starts[incarnation]:] if r["event"] == "step_end"]
                if len(done) >= count:
                    return
            if time.monotonic() > deadline:
                raise ClusterError("start %d in %s has not done %d steps after %g s: %s" % (
                    incarnation, folder, count, timeout, records[-3:]))
            time.sleep(0.05)

    def wait_watched(self, job: int, states: Sequence[str], reasons: Sequence[str] = (), timeout: float = 180) -> None:
        """Until goodputd has seen the job in one of the states, with one of the reasons if they matter, and, if that is its
        end, not completing any more. It looks again after 50 times as long as a look took, which may be a second on a busy
        machine."""
        deadline = time.monotonic() + timeout
        while not self.was_watched(job, states, reasons):
            if time.monotonic() > deadline:
                raise ClusterError("goodputd has not seen job %d as any of %s for %s" % (job, list(states), list(reasons)))
            time.sleep(0.1)

    def was_watched(self, job: int, states: Sequence[str], reasons: Sequence[str] = ()) -> bool:
        folder = os.path.join(self.spool, "@controller")
        # goodputd makes the folder with its first record.
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), errors="replace") as file:
                for line in file:
                    if '"job":%d,' % job in line and line.endswith("\n"):
                        record = json.loads(line)
                        if (record["state"] in states and "COMPLETING" not in record.get("flags", []) and
                                (not reasons or record.get("reason") in reasons)):
                            return True
        return False

    def settle(self, job: int, timeout: float = 180, states: Sequence[str] = ()) -> List[Dict]:
        """Waits until the job has ended for the controller, for goodputd's queue watch if there is one, and, with slurmdbd, in
        all its rows of accounting."""
        fields = self.cluster.wait_state(job, states or FINAL, timeout)
        if self.daemon_runs():
            self.wait_watched(job, list(states or FINAL))
        if not self.cluster.dbd:
            time.sleep(1.2)  # until the records are ingested
            return []
        wanted = int(fields.get("Restarts", "0")) + 1

        def final(rows: List[Dict]) -> bool:
            attempts = [row for row in rows if "." not in row["JobID"]]
            return len(attempts) >= wanted and all(row["End"] is not None for row in rows)
        return self.cluster.wait_sacct(job, final)

    def settle_array(self, job: int, timeout: float = 180) -> List[Dict]:
        """The rows of an array's tasks, after all of them have ended."""
        self.cluster.wait_no_jobs_of(job, timeout)
        rows = self.cluster.wait_sacct(job, lambda rows: all(row["End"] is not None for row in rows))
        tasks = [row for row in rows if "." not in row["JobID"]]
        for row in tasks:
            self.settle(int(row["JobIDRaw"]))
        return tasks

    def array_of(self, job: int) -> int:
        """The array of a task's job id."""
        return int(self.cluster.job(job)["ArrayJobId"])

    def truth(self, job: int, folder: str, now_ns: int = 0, **more: Any) -> "truths.Truth":
        """more: see Truth."""
        return truths.of_job(self.cluster, job, folder, now_ns, **more)
