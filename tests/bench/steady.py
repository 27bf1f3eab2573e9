"""A cluster of 2,048 nodes that trains steadily: the cost of its controller's goodputd, and how far the database lags behind.

Every node replaces its heartbeat each 10 s, rank 0 marks a step per second and a save per minute, and now and then a node
records a signal. This program writes to the shared spool what the nodes' daemons would write, at that rate; there is no
slurmctld.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
from typing import List, Tuple

from imports import SGOODPUT

GOODPUTD = os.path.join(os.path.dirname(SGOODPUT), "..", "goodputd", "goodputd")
NODES, SECONDS = 2048, int(os.environ.get("STEADY_SECONDS", "60"))
NO_SLURM = ("ClusterName=c\nSlurmctldHost=localhost\nSlurmctldPort=1\nAuthType=auth/none\nMessageTimeout=2\nNodeName=n1\n"
            "PartitionName=p Nodes=n1\n")


class Cluster:
    """Writes the records of the nodes."""

    def __init__(self, shared: str) -> None:
        self.shared, self.over = shared, threading.Event()
        self.names = ["n%04d" % i for i in range(NODES)]
        os.makedirs(os.path.join(shared, "@heartbeat"), 0o700)
        self.marked = 0  # the last step marked
        begin = time.time_ns()
        for name in self.names:
            os.mkdir(os.path.join(shared, name), 0o700)
            self.append(name, begin, kind="job_prolog", job=1, uid=0, gid=0, restart=0)
            self.append(name, begin + 10**9, kind="task_start", job=1, slurm_step="0", task=0, pid=5)

    def append(self, name: str, t: int, **more: object) -> None:
        record = {"v": 1, "t": t, "m": t - 10**18, "node": name, "stepd": 1, "cluster": "c"}
        record.update(more)
        hour = time.strftime("%Y%m%d%H", time.gmtime(t / 1e9))
        with open(os.path.join(self.shared, name, "boot.%sZ.jsonl" % hour), "ab", buffering=0) as file:
            file.write(b"\n" + json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def heartbeat(self, name: str, since: int) -> None:
        now = time.time_ns()
        text = {"v": 1, "node": name, "boot": "boot", "t": now, "m": now - 10**18, "jobs": [{"job": 1, "cluster": "c", "since": since}]}
        path = os.path.join(self.shared, "@heartbeat", name)
        with open(path + ".new", "w") as file:
            file.write(json.dumps(text) + "\n")
        os.rename(path + ".new", path)

    def live(self) -> None:
        since = time.time_ns()
        began = time.monotonic()
        turn = 0
        while not self.over.is_set():
            # The heartbeats of a tenth of a second.
            for name in self.names[turn % 100::100]:
                self.heartbeat(name, since)
            if turn % 10 == 0:
                step = turn // 10 + 1
                mark = {"kind": "mark", "mark": "step", "edge": "begin", "train_step": step, "job": 1, "slurm_step": "0", "task": 0}
                self.append(self.names[0], time.time_ns(), **mark)
                self.marked = step
                if step % 60 == 0:
                    self.append(self.names[0], time.time_ns(), **dict(mark, mark="checkpoint"))
                self.append(self.names[step * 37 % NODES], time.time_ns(), kind="signal", job=1, slurm_step="0", task=0, signal=10, pid=5,
                            sender="slurmstepd", sender_pid=4, target="task", comm="python3", handled=1)
            turn += 1
            time.sleep(max(0.0, began + turn / 10 - time.monotonic()))


def cpu_s(pid: int) -> float:
    """Of the process and its children, including those that have ended."""
    total = 0.0
    for child in [pid] + [int(word) for word in subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.PIPE, text=True).stdout.split()]:
        try:
            with open("/proc/%d/stat" % child) as file:
                words = file.read().rsplit(")", 1)[1].split()
        except FileNotFoundError:
            continue
        total += sum(int(word) for word in words[11:15 if child == pid else 13])
    return total / os.sysconf("SC_CLK_TCK")


def last_step(database: str) -> int:
    try:
        with sqlite3.connect("file:%s?mode=ro" % database, uri=True, timeout=5) as db:
            return int(db.execute("SELECT coalesce(max(last_step), 0) FROM step_block").fetchone()[0])
    except sqlite3.Error:
        return 0


def measure() -> List[Tuple]:
    folder = tempfile.mkdtemp(prefix="goodput-bench-")
    shared, database, conf = (os.path.join(folder, name) for name in ("shared", "goodput.db", "goodput.conf"))
    with open(os.path.join(folder, "slurm.conf"), "w") as file:
        file.write(NO_SLURM)
    with open(conf, "w") as file:
        file.write("spool = %s/spool\nshared_spool = %s\ndatabase = %s\nrole = controller\nlisten = off\nquery_socket = off\ncluster = c\n" % (
            folder, shared, database))
    os.mkdir(shared, 0o700)
    cluster = Cluster(shared)
    daemon = subprocess.Popen([GOODPUTD, "--config", conf], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=dict(os.environ, SLURM_CONF=os.path.join(folder, "slurm.conf")))
    nodes = threading.Thread(target=cluster.live)
    nodes.start()
    try:
        while last_step(database) < 3:
            time.sleep(0.1)
        lags: List[float] = []
        begin, before = time.monotonic(), cpu_s(daemon.pid)
        while time.monotonic() < begin + SECONDS:
            step, marked = cluster.marked, time.monotonic()
            while cluster.marked == step:
                time.sleep(0.005)
            step, marked = cluster.marked, time.monotonic()
            while last_step(database) < step:
                time.sleep(0.01)
            lags.append(time.monotonic() - marked)
        share = (cpu_s(daemon.pid) - before) / (time.monotonic() - begin)
    finally:
        cluster.over.set()
        nodes.join()
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(60)
        shutil.rmtree(folder)
    lags.sort()
    return [("%d nodes, %d s: goodputd's share of a core" % (NODES, SECONDS), "%.1f %%" % (100 * share)),
            ("a mark is in the database after: median, longest", "%.2f, %.2f s" % (lags[len(lags) // 2], lags[-1]))]
