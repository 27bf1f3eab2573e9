"""goodputd on a controller with 10,000 jobs in the queue: the cost of its watch for slurmctld and itself, compared with a loop
of `squeue` that people would write instead.

Three periods of the same length on one private cluster: no queries; goodputd at its usual interval; a shell that runs
`squeue` and `sinfo` at that interval for the same data. slurmctld's usage in the first period is subtracted.
"""

import os
import re
import subprocess
import sys
import time
from typing import Dict, List, Tuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from tests.e2e.harness.goodput_site import Site  # noqa: E402

JOBS = 10_000
SECONDS = 60
INTERVAL_S = 5
TICKS = os.sysconf("SC_CLK_TCK")
SQUEUE = """while :; do
    squeue -h -a -r -O JobID,State,Reason,RestartCnt,SubmitTime,EligibleTime,StartTime,NodeList,tres-alloc,Dependency
    sinfo -h -N -O NodeList,StateLong,Reason
    sleep %d
done >/dev/null""" % INTERVAL_S


def _cpu_s(pid: int, children: bool = False) -> float:
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15 if children else 13]) / TICKS


def _rpcs(site: Site) -> int:
    """The number of queries to slurmctld about jobs, nodes and partitions."""
    text = site.cluster.run(["sdiag"]).stdout
    return sum(int(count) for count in
               re.findall(r"REQUEST_(?:JOB_INFO|NODE_INFO|PARTITION_INFO)\w*\s*\(\s*\d+\) count:(\d+)", text))


def _fill(site: Site) -> None:
    """Creates pending jobs, each with its own record: an array has a single record until its tasks are changed
    individually; its first task stays for the rest."""
    array = site.cluster.sbatch(["--begin=now+1day", "--array=0-%d" % JOBS, "--wrap", "true"])
    for first in range(1, JOBS + 1, 1000):
        site.cluster.run(["scontrol", "update", "jobid=%d_[%d-%d]" % (array, first, first + 999), "nice=%d" % first], timeout=600)


def _recorded(site: Site) -> int:
    """The number of pending jobs that goodputd found."""
    jobs = set()
    folder = os.path.join(site.spool, "@controller")
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), errors="replace") as file:
            jobs.update(re.findall(r'"job":(\d+),', "".join(line for line in file if '"kind":"queue"' in line)))
    return len(jobs)


def _stretch(site: Site, watched: Dict[str, Tuple[int, bool]]) -> Dict[str, float]:
    """Processor seconds of these processes (optionally with children), and the number of queries to slurmctld."""
    watched = dict(watched, slurmctld=(site.cluster.pid("slurmctld"), False))
    before = {name: _cpu_s(*which) for name, which in watched.items()}
    rpcs = _rpcs(site)
    time.sleep(SECONDS)
    used = {name: _cpu_s(*which) - before[name] for name, which in watched.items()}
    used["rpcs"] = _rpcs(site) - rpcs
    return used


def measure() -> List[Tuple]:
    slurm_conf = ["MaxJobCount=%d" % (2 * JOBS), "MaxArraySize=%d" % (JOBS + 2),
                  "SchedulerParameters=batch_sched_delay=10,sched_interval=600,bf_interval=600"]
    with Site("linuxproc", nodes=1, dbd=False, queue_interval_s=INTERVAL_S, daemon=False, slurm_conf=slurm_conf,
              conf=["role = controller"]) as site:
        _fill(site)
        nobody = _stretch(site, {})
        shell = subprocess.Popen(["bash", "-c", SQUEUE], env=site.cluster.env(), stdin=subprocess.DEVNULL)
        try:
            by_hand = _stretch(site, {"loop": (shell.pid, True)})
        finally:
            shell.kill()
            shell.wait()
        site.start_daemon()
        assert site._daemon is not None
        # The first query records everything.
        deadline = time.monotonic() + 120
        while _recorded(site) < JOBS:
            if time.monotonic() > deadline:
                raise RuntimeError("goodputd has recorded %d of %d jobs" % (_recorded(site), JOBS))
            time.sleep(0.5)
        ours = _stretch(site, {"goodputd": (site._daemon.pid, False)})
    minute = 60 / SECONDS
    controller = max(0.0, ours["slurmctld"] - nobody["slurmctld"])
    by_hand_controller = max(0.0, by_hand["slurmctld"] - nobody["slurmctld"])
    return [
        ("%d jobs wait: questions of goodputd, of the loop" % JOBS,
         "%.0f, %.0f a minute" % (ours["rpcs"] * minute, by_hand["rpcs"] * minute)),
        ("slurmctld answers goodputd", "%.2f %% of a core" % (100 * controller / SECONDS)),
        ("slurmctld answers the loop", "%.2f %% of a core" % (100 * by_hand_controller / SECONDS)),
        ("goodputd itself", "%.2f %% of a core" % (100 * ours["goodputd"] / SECONDS)),
        ("the loop itself", "%.2f %% of a core" % (100 * by_hand["loop"] / SECONDS)),
        ("both sides, goodputd / loop",
         "%.2f" % ((controller + ours["goodputd"]) / max(0.01, by_hand_controller + by_hand["loop"]))),
    ]
