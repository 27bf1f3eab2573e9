"""Following a job's output: processor time of goodputd and its child while a job prints 1,000 lines a second, every hundredth
about a step. The reference is what people do by hand: `tail -f | grep` of the same file at the same time.
"""

import os
import signal
import subprocess
import sys
import time
from typing import List, Tuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from tests.e2e.harness.goodput_site import Site  # noqa: E402

SECONDS = 20
TICKS = os.sysconf("SC_CLK_TCK")
PRINTER = r"""
import sys, time
begin, number, seconds = time.monotonic(), 0, float(sys.argv[1])
noise = "[rank3]: /usr/local/lib/python3.12/dist-packages/torch/utils/checkpoint.py:87: UserWarning: None of the inputs have " \
        "requires_grad=True, step 7 of the deprecation plan | consumed samples: none | loss is fine\n"
while time.monotonic() - begin < seconds:
    due = int((time.monotonic() - begin) * 1000)
    while number < due:
        number += 1
        if number % 100:
            sys.stdout.write(noise)
        else:
            sys.stdout.write(" [%s] iteration %8d/ 1000000 | consumed samples: 7 | elapsed time per iteration (ms): 100.0 | lr: 1 |\n" % (
                time.strftime("%%Y-%%m-%%d %%H:%%M:%%S"), number // 100))
    sys.stdout.flush()
    time.sleep(0.01)
""".replace("%%", "%")


def _cpu_s(pids: List[int]) -> float:
    total = 0
    for pid in pids:
        try:
            with open("/proc/%d/stat" % pid) as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except FileNotFoundError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def _children(pid: int, word: str) -> List[int]:
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name) as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            with open("/proc/%s/cmdline" % name) as file:
                if parent == pid and word in file.read():
                    found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _share(site: Site, profile: str) -> Tuple[float, float, int]:
    """Processor seconds of goodputd and of tail and grep during SECONDS of printing, and the number of recorded steps."""
    path, out = site.path("jobs", "printer.py"), site.path("jobs", "printed-" + profile)
    with open(path, "w") as file:
        file.write(PRINTER)
    assert site._daemon is not None
    job = site.cluster.sbatch("exec /usr/bin/python3 %s %d" % (path, SECONDS + 6),
                              options=["-N1", "--output=" + out, "--goodput-log-profile=" + profile])
    site.cluster.wait_state(job, "RUNNING")
    while not _children(site._daemon.pid, "follow-output"):
        time.sleep(0.05)
    shell = subprocess.Popen("tail -n +1 -f %s | grep -c -E 'iteration +[0-9]+/ *[0-9]+ .*elapsed time per iteration'" % out, shell=True,
                             stdout=subprocess.DEVNULL, start_new_session=True)
    time.sleep(2)
    ours = [site._daemon.pid] + _children(site._daemon.pid, "follow-output")
    peers = _children(shell.pid, "")
    before = _cpu_s(ours), _cpu_s(peers)
    time.sleep(SECONDS)
    after = _cpu_s(ours), _cpu_s(peers)
    os.killpg(shell.pid, signal.SIGTERM)
    site.settle(job)
    steps = site.show_json(job)["jobs"][0]["steps"]["count"]
    return after[0] - before[0], after[1] - before[1], steps


def measure() -> List[Tuple]:
    lines: List[Tuple] = []
    with Site("linuxproc", nodes=1, dbd=False) as site:
        assert site._daemon is not None
        time.sleep(2)
        before = _cpu_s([site._daemon.pid])
        time.sleep(SECONDS)
        idle = _cpu_s([site._daemon.pid]) - before
        lines.append(("goodputd with the controller's part, idle", "%.2f %%" % (100 * idle / SECONDS)))
        for profile in ("megatron", "auto"):
            ours, peer, steps = _share(site, profile)
            share = (ours - idle) / SECONDS
            lines.append(("1,000 lines a second, profile %s: above idle" % profile, "%.2f %%, %d steps" % (100 * share, steps),
                          "bar 1 % of a core", share <= 0.01))
            lines.append(("  of tail -f | grep", "%.2f" % ((ours - idle) / peer if peer else float("nan"))))
    return lines
