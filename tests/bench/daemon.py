"""goodputd on a node: its processor time and memory while idle, while 64 tasks mark 10 times a second, and in a storm of
10,000 signals a second; and launches with it running, absent and stopped (SIGSTOP), compared with each other.

For marks, the reference is the process that sends them; for the storm, the process that signals itself: the daemon's
processor time divided by theirs. A launch is `srun -N4 -n32 true` on one private cluster with our plugin; a round has one
launch in each state of the daemon, in random order.
"""

import json
import os
import random
import signal
import statistics
import sys
import time
from typing import Dict, List, Tuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from tests.e2e.harness.goodput_site import Site  # noqa: E402

SECONDS = 20
ROUNDS = 40
TICKS = os.sysconf("SC_CLK_TCK")
SRUN = ["srun", "-N4", "-n32", "true"]

# Opens 64 connections, like 64 tasks, and prints its own processor time.
MARKER = r"""
import json, os, socket, sys, time
name, seconds = os.environ["GOODPUT_SOCKET"], float(sys.argv[1])
tasks = []
for _ in range(64):
    tasks.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
    tasks[-1].connect("\0" + name[1:])
job, begin, step = int(os.environ["SLURM_JOB_ID"]), time.monotonic(), 0
while time.monotonic() - begin < seconds:
    for rank, task in enumerate(tasks):
        task.send(json.dumps({"v": 1, "mark": "step", "edge": "begin", "train_step": step, "job": job, "slurm_step": "0",
                              "task": rank, "m": time.monotonic_ns()}).encode())
    step += 1
    time.sleep(max(0, begin + step * 0.1 - time.monotonic()))
print(json.dumps({"cpu_s": time.process_time(), "count": 64 * step}))
"""
STORM = r"""
import json, os, signal, sys, time
signal.signal(signal.SIGUSR2, lambda *_: None)
begin, sent, seconds = time.monotonic(), 0, float(sys.argv[1])
while time.monotonic() - begin < seconds:
    due = int((time.monotonic() - begin) * 10000) + 1
    while sent < due:
        os.kill(os.getpid(), signal.SIGUSR2)
        sent += 1
    time.sleep(0.001)
print(json.dumps({"cpu_s": time.process_time(), "count": sent}))
"""


class Daemon:
    def __init__(self, site: Site) -> None:
        assert site._daemon is not None
        self.pid = site._daemon.pid

    def cpu_s(self) -> float:
        with open("/proc/%d/stat" % self.pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def rss_mib(self) -> float:
        with open("/proc/%d/status" % self.pid) as file:
            return int([line for line in file if line.startswith("VmRSS")][0].split()[1]) / 1024


def _share(site: Site, program: str) -> Tuple[Dict, float, float]:
    """The job's output, the daemon's processor seconds meanwhile, and its memory at the end."""
    daemon = Daemon(site)
    path = site.path("jobs", "program.py")
    with open(path, "w") as file:
        file.write(program)
    before = daemon.cpu_s()
    said = site.cluster.run(["srun", "-N1", "-n1", "/usr/bin/python3", path, str(SECONDS)], timeout=SECONDS + 60).stdout
    time.sleep(1)
    return json.loads(said), daemon.cpu_s() - before, daemon.rss_mib()


def _launches(site: Site) -> Dict[str, List[float]]:
    took: Dict[str, List[float]] = {"up": [], "down": [], "stopped": []}
    for number in range(ROUNDS + 1):
        states = list(took)
        random.shuffle(states)
        for state in states:
            if state == "down" and site.daemon_runs():
                site.stop_daemon()
            elif state != "down" and not site.daemon_runs():
                site.start_daemon()
            if state == "stopped":
                site.signal_daemon(signal.SIGSTOP)
            begin = time.monotonic()
            site.cluster.run(SRUN)
            if number > 0:  # the first one loads files that the others find in memory
                took[state].append(time.monotonic() - begin)
            if state == "stopped":
                site.signal_daemon(signal.SIGCONT)
            while set(site.cluster.run(["sinfo", "-h", "-p", "a3mega", "-o", "%T"]).stdout.split()) != {"idle"}:
                time.sleep(0.02)
    return took


def measure() -> List[Tuple]:
    lines: List[Tuple] = []
    with Site("cgroup", nodes=4, dbd=False, conf=["role = node"]) as site:
        site.cluster.run(["srun", "-N4", "true"])
        daemon = Daemon(site)
        time.sleep(2)
        before = daemon.cpu_s()
        time.sleep(SECONDS)
        lines.append(("idle, four nodes: processor, memory", "%.2f %%, %.1f MiB" % (
            100 * (daemon.cpu_s() - before) / SECONDS, daemon.rss_mib())))
        for what, program in (("64 tasks marking 10 times a second", MARKER), ("a storm of 10,000 signals a second", STORM)):
            said, cpu_s, rss = _share(site, program)
            lines.append((what, "%.1f %%, %.1f MiB" % (100 * cpu_s / SECONDS, rss)))
            lines.append(("  of its sender's processor time; one in", "%.2f; %.1f us" % (
                cpu_s / said["cpu_s"], 1e6 * cpu_s / said["count"])))
        with open(os.path.join(site.spool, "signals")) as file:
            lines.append(("  signals lost", dict(word.split("=") for word in file.read().split())["lost"], "bar 0"))
        took = _launches(site)
    base = statistics.median(took["down"])
    lines.append(("launch without a daemon, median of %d" % ROUNDS, "%.1f ms" % (1e3 * base)))
    for state in ("up", "stopped"):
        differences = [a - b for a, b in zip(took[state], took["down"])]
        middle = statistics.median(differences)
        error = 1.2533 * 1.4826 * statistics.median(abs(d - middle) for d in differences) / len(differences) ** 0.5
        lines.append(("  with it %s" % state, "%+.2f %% +- %.2f" % (100 * middle / base, 100 * error / base), "bar +1 %",
                      middle / base <= 0.01))
    return lines
