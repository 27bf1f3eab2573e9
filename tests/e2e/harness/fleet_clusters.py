"""Databases of clusters that have run training for months, made without Slurm, for tests of the fleet database."""

import json
import os
import random
import time
from typing import Any, Dict, List, Tuple

from .hand_written import BEGAN, Spool, run_it

# What `sacct --delimiter=...` prints between fields.
BETWEEN = "9c5e2c6a-5cf0-4d3a-9c39-6b9f3f5d3f21"
FIELDS = ("Cluster JobIDRaw JobID Submit Eligible Start End State ExitCode User Account Partition QOS NNodes NodeList AllocTRES "
          "ReqTRES Reason JobName").split()
DAY = 86400
# Names that SQL, COPY, arrays or a terminal would take for something else.
HOSTILE = ["o'brien", 'say "hi"', "{a,b}", "\\N", "tab\there", "'); DROP TABLE goodput.unit; --", "na\u00efve", "\u202eevil", "a|b", "%s%n"]


class ClusterSpool(Spool):
    """Records of one cluster."""

    def __init__(self, folder: str, cluster: str, number: int) -> None:
        super().__init__(folder)
        self.cluster_name = cluster
        # A file is only read from where it ended before.
        self.file = "boot.20260921%02dZ.jsonl" % number

    def say(self, node: str, t: float, record: Dict[str, Any]) -> None:
        super().say(node, t, dict(record, cluster=self.cluster_name))

    def write(self, compact: bool = False) -> None:
        for node, records in self.lines.items():
            os.makedirs(os.path.join(self.folder, node), mode=0o700)
            with open(os.path.join(self.folder, node, self.file), "w") as file:
                for record in sorted(records, key=lambda r: r["t"]):
                    file.write("\n" + json.dumps(record, separators=(",", ":")) + "\n")


def instrumented(spool: Spool, job: int, begin: float, user: str, gpus: int, opt: Dict[str, Any]) -> None:
    """Two attempts over two days, the first killed by its node after some steps."""
    more = {"job": job, "user": user, "account": "acc-" + user, "gpus": gpus, "nnodes": 3, "nodes": "n[1-3]"}
    for attempt in range(2):
        t = begin + attempt * 70000
        # One run has machines of two reservations, another one of none and then of one.
        reservation = {"reservation": "res-%d" % attempt} if job == 11 or (job == 12 and attempt) else {}
        times = {"submit_s": t, "eligible_s": t, "start_s": t + 137, **reservation}
        spool.controller(t + 140, **times, **more)
        spool.node(t + 137, "job_prolog", job=job, opt=opt)
        spool.node(t + 138, "step_start", slurm_step="extern", job=job)
        spool.node(t + 140, "task_start", slurm_step="0", task=0, local_task=0, pid=5, job=job)
        for k in range(20):
            spool.node(t + 160 + k * 1000.5, "mark", mark="step", edge="begin", train_step=attempt * 10 + k, slurm_step="0", task=0,
                       job=job)
        end = {"signal": 9} if attempt == 0 else {"exit_code": 0}
        spool.node(t + 20170, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, job=job, **end)
        state = "NODE_FAIL" if attempt == 0 else "COMPLETED"
        spool.controller(t + 20172, **times, end_s=t + 20172, state=state, failed_node="n2" if attempt == 0 else "", **more)


def refused(spool: Spool, job: int, begin: float) -> None:
    """Two allocations whose machines the cloud did not have, in two zones, the second until after midnight; then a day of training."""
    more = {"job": job, "user": "adam", "account": "acc-adam", "gpus": 16, "nnodes": 2, "nodes": "n[1-2]"}
    for submit, start, end, zone in ((begin, begin, begin + 300, "us-central1-a"), (begin + 300, begin + 1000, begin + DAY, "us-east4-b")):
        spool.controller(end, submit_s=submit, eligible_s=submit, start_s=start, end_s=end, state="NODE_FAIL", admin_comment=(
            "GCP Error: ZONE_RESOURCE_POOL_EXHAUSTED: The zone 'projects/mine/zones/%s' does not have enough resources available" % zone), **more)
    t = begin + DAY + 4000
    times = {"submit_s": begin + DAY, "eligible_s": t - 60, "start_s": t}
    spool.controller(t + 1, **times, **more)
    spool.node(t + 1, "job_prolog", job=job, opt={"run": "run%d" % job})
    spool.node(t + 2, "task_start", slurm_step="0", task=0, local_task=0, pid=5, job=job)
    for k in range(20):
        spool.node(t + 10 + k * 1000.5, "mark", mark="step", edge="begin", train_step=k, slurm_step="0", task=0, job=job)
    spool.node(t + DAY, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, job=job, exit_code=0)
    spool.controller(t + DAY + 1, **times, end_s=t + DAY + 1, state="COMPLETED", **more)


def watched(spool: Spool) -> None:
    """Nine days of six nodes and their jobs: idle, drained, down, powered down, gone, and two days without a watch."""
    def node(t: float, name: str, state: str, *flags: str, **more: Any) -> None:
        spool.cluster(t, "node_state", node_name=name, state=state, flags=list(flags), **{"gpus": 8, "partitions": "a3", **more})

    def look(t: float, *names: str) -> None:
        spool.cluster(t, "watch", edge="begin")
        for name in names:
            node(t, name, "IDLE", gpus=0 if name == "m5" else 8)

    look(0, "m1", "m2", "m3", "m4", "m5", "m6")
    node(3600, "m3", "IDLE", "DRAIN", reason_s=BEGAN + 3590)
    node(7200, "m3", "IDLE")
    node(DAY, "m4", "DOWN", "DOWN")
    node(3 * DAY + 17, "m4", "IDLE")
    node(DAY, "m6", "IDLE", "POWERED_DOWN")
    node(4 * DAY, "m6", "GONE")
    spool.cluster(5 * DAY, "watch", edge="still")
    look(7 * DAY, "m1", "m2", "m3", "m5")
    spool.cluster(9 * DAY, "watch", edge="end")
    for job, gpus, nodes, begin, end in ((71, 12, "m[1-2]", 1000, 2 * DAY), (72, 3, "m3", 0.25, 3000), (73, 2, "m3", 2000, 5000),
                                         (74, 0, "m5", 500, 1500), (75, 8, "m1", 6 * DAY, 6.5 * DAY), (76, 4, "old1", -50 * DAY, -49 * DAY)):
        times = {"job": job, "submit_s": int(begin), "eligible_s": int(begin), "start_s": int(begin), "gpus": gpus, "nodes": nodes, "nnodes": 1}
        spool.controller(begin + 1, **times)
        spool.controller(end, **times, end_s=int(end), state="COMPLETED")


def accounted(cluster: str, seed: int, jobs: int, first: int = 1000) -> str:
    """sacct's text: jobs of some months, with requeues, node failures, arrays, preemptions, and names of every kind."""
    chance = random.Random(seed)
    rows: List[Tuple[Any, ...]] = []
    for job in range(first, first + jobs):
        user = chance.choice(["ada", "eve", "noah", "kim"] + HOSTILE)
        t = BEGAN + chance.randrange(0, 55 * DAY)
        gpus = chance.choice([0, 8, 8, 16, 64, 1024])
        attempts = chance.choice([1, 1, 1, 2, 3])
        for attempt in range(attempts):
            submit, wait, length = t, chance.randrange(0, 90000), chance.randrange(1, 3 * DAY)
            last = attempt == attempts - 1
            state = chance.choice(["COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"]) if last else chance.choice(
                ["NODE_FAIL", "PREEMPTED", "REQUEUED"])
            rows.append((cluster, job, job, submit, submit + chance.randrange(0, 60), submit + wait, submit + wait + length, state,
                         "0:0", user, "acc-" + user, chance.choice(["a3", "spot", "cpu"]), "normal", max(1, gpus // 8),
                         "n[1-%d]" % max(1, gpus // 8), "gres/gpu=%d" % gpus if gpus else "cpu=4", "", "", chance.choice(["train", "eval"])))
            t = submit + wait + length
    return "".join(BETWEEN.join(str(value) for value in row) + "\n" for row in [FIELDS] + rows)


class Cluster:
    """A cluster's database, with its configuration."""

    def __init__(self, folder: str, name: str, seed: int, jobs: int) -> None:
        self.name = name
        self.dir = folder
        os.makedirs(folder)
        self.db = os.path.join(folder, "db")
        self.conf = os.path.join(folder, "conf")
        with open(self.conf, "w") as conf:
            conf.write("cluster = %s\ncluster_url = http://%s.example.com:9645\n" % (name, name.split("'")[0]))
        self.spools = 0
        spool = self.spool()
        for job, user, gpus in ((11, "adam", 16), (12, "eve", 8), (13, "eve", 0), (14, HOSTILE[0], 24)):
            opt: Dict[str, Any] = {"run": "run%d" % job, "tags": {"team": "vision" if job < 13 else HOSTILE[1]}}
            if job == 12:
                opt.update({"flops_per_step": 1e15, "precision": "bf16"})
            instrumented(spool, job, job * 3600 * (1 + seed % 5), user, gpus, opt)
        self.ingest(spool)
        if jobs:
            self.add_accounted(accounted(name, seed, jobs))

    def spool(self) -> ClusterSpool:
        self.spools += 1
        return ClusterSpool(os.path.join(self.dir, "spool%d" % self.spools), self.name, self.spools)

    def ingest(self, spool: Spool) -> None:
        spool.write()
        self.ok("ingest", "--spool", spool.folder)

    def add_accounted(self, text: str) -> None:
        path = os.path.join(self.dir, "sacct.txt")
        with open(path, "w") as file:
            file.write(text)
        self.ok("import", path)

    def ok(self, *args: str) -> str:
        done = run_it(*args, "--config", self.conf, "--db", self.db)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def report(self, *args: str) -> Dict[str, Any]:
        answer: Dict[str, Any] = json.loads(self.ok("report", "-a", *args, "--no-refresh", "--json"))
        return answer


def running_jobs(folder: str, running: int) -> Cluster:
    """A cluster with jobs that run: each of a queue's look, an accounting row, a task and ten steps."""
    cluster = Cluster(os.path.join(folder, "busy"), "busy", 1, 0)
    spool = cluster.spool()
    now = int(time.time()) - BEGAN
    rows: List[Tuple[Any, ...]] = [tuple(FIELDS)]
    for job in range(20000, 20000 + running):
        began = now - DAY - job % 3000
        spool.controller(began + 11, job=job, user="eve", submit_s=began, eligible_s=began, start_s=began + 10)
        spool.node(began + 12, "task_start", job=job, slurm_step="0", task=0, pid=5)
        for step in range(10):
            spool.node(began + 20 + step * 100, "mark", mark="step", edge="begin", train_step=step, job=job, slurm_step="0", task=0)
        rows.append(("busy", job, job, BEGAN + began, BEGAN + began, BEGAN + began + 10, "Unknown", "RUNNING", "0:0", "eve", "lab", "a3", "normal", 2,
                     "n[1-2]", "gres/gpu=16", "", "", "train"))
    cluster.ingest(spool)
    cluster.add_accounted("".join(BETWEEN.join(str(value) for value in row) + "\n" for row in rows))
    return cluster
