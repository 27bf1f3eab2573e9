"""The cost of a mark for the program that sends it, in C and in Python, while goodputd runs, is absent, and is stopped (SIGSTOP).

The reference, in the same program and at the same pace, sends the same bytes to a socket of its own that a thread reads; only
the call is timed. Most of the time of marks 0.2 ms apart is the processor waking up with cold caches; 50 in a row, every 5 ms,
show the client itself.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Tuple

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIENTS = os.path.join(TOP, "tools", "clients")
GOODPUTD = os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"), "tools", "goodputd", "goodputd")
MARKS = 10000
BAR_US = 20.0

C_PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include "goodput.h"
static int pair[2];
static void* Read(void* unused) { char bytes[4096]; while (recv(pair[1], bytes, sizeof(bytes), 0) > 0) {} return unused; }
static int Longer(const void* a, const void* b) { long x = *(const long*)a, y = *(const long*)b; return x < y ? -1 : x > y; }
static void Measure(int mark, int row, const char* name) {
  static long took[%(marks)d];
  static const char message[] = "{\"v\":1,\"mark\":\"step\",\"edge\":\"begin\",\"train_step\":12345,\"m\":12345678901234,\"job\":7,\"slurm_step\":\"0\",\"task\":0}";
  int i;
  for (i = 0; i < %(marks)d; ++i) {
    struct timespec a, b, pause = {0, row == 1 ? 150000 : 5000000};
    clock_gettime(CLOCK_MONOTONIC, &a);
    if (mark) goodput_step(i); else send(pair[0], message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    took[i] = (b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec;
    if ((i + 1) %% row == 0) nanosleep(&pause, NULL);
  }
  qsort(took, %(marks)d, sizeof(long), Longer);
  printf("\"%%s\": [%%ld, %%ld, %%ld], ", name, took[%(marks)d / 2], took[%(marks)d * 99 / 100], took[%(marks)d - 1]);
}
int main(void) {
  pthread_t reader;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0 || pthread_create(&reader, NULL, Read, NULL) != 0) return 1;
  goodput_step(0);
  printf("{");
  Measure(0, 1, "peer");
  Measure(1, 1, "mark");
  Measure(0, 50, "peer_row");
  Measure(1, 50, "mark_row");
  printf("\"dropped\": %%llu}\n", goodput_dropped());
  return 0;
}
""" % {"marks": MARKS}

PYTHON_PROGRAM = r"""
import json, socket, threading, time
import goodput
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
def read():
    while theirs.recv(4096): pass
threading.Thread(target=read, daemon=True).start()
def send(step):
    ours.send(json.dumps({"v": 1, "mark": "step", "edge": "begin", "train_step": step, "m": time.monotonic_ns(), "job": 7,
                          "slurm_step": "0", "task": 0}).encode(), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
def measure(call, row):
    took = []
    for i in range(%(marks)d):
        begin = time.perf_counter_ns()
        call(i)
        took.append(time.perf_counter_ns() - begin)
        if (i + 1) %% row == 0: time.sleep(0.00015 if row == 1 else 0.005)
    took.sort()
    return [took[len(took) // 2], took[len(took) * 99 // 100], took[-1]]
goodput.step(0)
print(json.dumps({"peer": measure(send, 1), "mark": measure(goodput.step, 1), "peer_row": measure(send, 50),
                  "mark_row": measure(goodput.step, 50), "dropped": goodput.dropped()}))
""" % {"marks": MARKS}


def measure() -> List[Tuple]:
    lines: List[Tuple] = []
    with tempfile.TemporaryDirectory(prefix="gpmarks-") as folder:
        source, program = os.path.join(folder, "marks.c"), os.path.join(folder, "marks")
        with open(source, "w") as file:
            file.write(C_PROGRAM)
        subprocess.run(["cc", "-O2", "-pthread", "-I", CLIENTS, "-o", program, source], check=True)
        name = "@goodput-bench-%d" % os.getpid()
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": CLIENTS, "PYTHONDONTWRITEBYTECODE": "1", "GOODPUT_SOCKET": name,
               "SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_STEP_ID": "0", "SLURMD_NODENAME": "n1"}
        for language, command in (("C", [program]), ("Python", [sys.executable, "-c", PYTHON_PROGRAM])):
            for state in ("runs", "is not there", "is stopped"):
                daemon = _daemon(folder, name) if state != "is not there" else None
                if daemon and state == "is stopped":
                    daemon.send_signal(signal.SIGSTOP)
                try:
                    said: Dict = json.loads(subprocess.run(command, env=env, stdout=subprocess.PIPE, check=True).stdout)
                finally:
                    if daemon:
                        daemon.send_signal(signal.SIGCONT)
                        daemon.terminate()
                        daemon.wait()
                for apart, what in (("", "0.2 ms apart"), ("_row", "50 in a row")):
                    mark, peer = said["mark" + apart], said["peer" + apart]
                    lines.append(("%s, goodputd %s, %s: median, of the peer's" % (language, state, what), "%.1f us, %.2f" % (
                        mark[0] / 1e3, mark[0] / peer[0]), "bar %.0f us" % BAR_US, mark[0] / 1e3 < BAR_US))
                    lines.append(("  99 of 100, longest", "%.1f us, %.1f ms" % (mark[1] / 1e3, mark[2] / 1e6)))
                lines.append(("  dropped of %d" % (2 * MARKS + 1), "%d" % said["dropped"]))
    return lines


def _daemon(folder: str, name: str) -> subprocess.Popen:
    """A node's daemon that knows job 7."""
    spool = os.path.join(folder, "spool")
    node = os.path.join(spool, "n1")
    os.makedirs(node, mode=0o700, exist_ok=True)
    os.chmod(spool, 0o700)
    with open("/proc/sys/kernel/random/boot_id") as file:
        boot = file.read().strip()
    with open(os.path.join(node, "%s.%sZ.jsonl" % (boot, time.strftime("%Y%m%d%H", time.gmtime()))), "a") as file:
        file.write("\n%s\n" % json.dumps({"v": 1, "t": time.time_ns(), "m": time.monotonic_ns(), "node": "n1", "stepd": 1,
                                          "kind": "job_prolog", "cluster": "c", "job": 7, "uid": os.getuid()}, separators=(",", ":")))
    conf = os.path.join(folder, "goodput.conf")
    with open(conf, "w") as file:
        file.write("role = node\nspool = %s\ndatabase = %s/db\nsocket = %s\nhost_notices = off\n" % (spool, folder, name))
    daemon = subprocess.Popen([GOODPUTD, "--config", conf], stderr=subprocess.PIPE, text=True)
    assert daemon.stderr is not None
    while "goodputd: ready" not in daemon.stderr.readline():
        pass
    return daemon
