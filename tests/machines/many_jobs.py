#!/usr/bin/python3
"""500 jobs at once on a node whose goodputd runs as its systemd unit: run there as root, beside a copy of bare_node.py.

Each job of two users has a checkpoint directory and a log profile. The records of the plugin are written by hand, because 500 real
jobs need more memory than a virtual machine has; the tasks are real processes. Prints how many jobs had their step and their save
recorded, and after how many seconds. Exit status 1: not all.
"""

import os
import shutil
import socket
import sys
import time
from typing import Dict

import bare_node

SPOOL = "/var/spool/slurm-goodput"
FOLDER = "/srv/many"
FIRST, JOBS = 900_000, 500
LINE = " iteration        1/     100 | elapsed time per iteration (ms): 200.0 |\n"


class UnitNode(bare_node.BareNode):
    def __init__(self) -> None:
        bare_node.NODE = socket.gethostname()
        self.dir, self.spool, self.socket = FOLDER, SPOOL, "/run/slurm-goodput/mark.sock"
        with open("/proc/sys/kernel/random/boot_id") as boot:
            hour = time.strftime("%Y%m%d%HZ", time.gmtime())
            self._file = os.path.join(SPOOL, bare_node.NODE, "%s.%s.jsonl" % (boot.read().strip(), hour))
        with open("/etc/slurm/slurm.conf") as conf:
            self.cluster = next(line.split("=")[1].strip() for line in conf if line.startswith("ClusterName="))
        self.group = self.daemon = None
        self.tasks = []
        os.makedirs(FOLDER, 0o755)
        # As the plugin does for the first job of a node.
        os.makedirs(os.path.dirname(self._file), 0o700, exist_ok=True)

    def _record(self, kind: str, stepd: int, **keys: object) -> None:
        # The plugin's records name no cluster: they belong to the one that the file names elsewhere.
        super()._record(kind, stepd, **dict(keys, cluster=self.cluster))

    def stop(self) -> None:
        for task in self.tasks:
            task.process.kill()
            self.finish(task)
        shutil.rmtree(FOLDER)

    def seen(self, kind: str) -> Dict[int, bool]:
        return {record["job"]: True for record in self.records(kind=kind) if record.get("job", 0) >= FIRST}


def main(users: Dict[str, int]) -> int:
    node = UnitNode()
    try:
        for job in range(FIRST, FIRST + JOBS):
            uid = users["ada"] if job % 5 else users["bob"]
            node.job(job, uid, ["sleep", "3600"], output="%s/%d.out" % (FOLDER, job), log_profile="megatron",
                     checkpoint_dir=node.folder("c%d" % job, uid))
        for job in range(FIRST, FIRST + JOBS):
            with open("%s/%d.out" % (FOLDER, job), "a") as file:
                file.write(LINE)
            os.mkdir("%s/c%d/iter_0000001" % (FOLDER, job))
            with open("%s/c%d/latest_checkpointed_iteration.txt" % (FOLDER, job), "w") as file:
                file.write("1")
        began = time.monotonic()
        while True:
            steps, saves = node.seen("mark"), node.seen("checkpoint")
            done = len(set(steps) & set(saves))
            if done == JOBS or time.monotonic() - began > 900:
                break
            time.sleep(2)
        print("%d of %d jobs have their step and their save after %.0f s (steps %d, saves %d)" %
              (done, JOBS, time.monotonic() - began, len(steps), len(saves)))
        return 0 if done == JOBS else 1
    finally:
        node.stop()


if __name__ == "__main__":
    sys.exit(main({"ada": 2001, "bob": 2002}))
