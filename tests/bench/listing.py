"""Listing, JSON and sums of many attempts, compared with sacct on the same records in slurmdbd and MariaDB.

GOODPUT_BENCH_ATTEMPTS=200000 sets their number; sums use five times as many and are compared with a script that adds up
sacct's text.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Optional, Tuple

from cluster import Cluster
from imports import SGOODPUT

ATTEMPTS = int(os.environ.get("GOODPUT_BENCH_ATTEMPTS", "200000"))
# Without JobName: import refuses it between "|", for a user chooses it.
FIELDS = "Cluster,JobIDRaw,JobID,Submit,Eligible,Start,End,State,ExitCode,User,Account,Partition,QOS,NNodes,NodeList,AllocTRES"
EVERYTHING = ["-a", "-S", "2001-01-01"]
# A straightforward script for comparison: GPU-hours by user.
BY_HAND = """
import csv, sys, time
hours = {}
with open(sys.argv[1]) as file:
    for row in csv.DictReader(file, delimiter="|"):
        gpus = [int(word.split("=")[1]) for word in row["AllocTRES"].split(",") if word.startswith("gres/gpu=")]
        begin, end = (time.mktime(time.strptime(row[key], "%Y-%m-%dT%H:%M:%S")) for key in ("Start", "End"))
        hours[row["User"]] = hours.get(row["User"], 0) + (gpus[0] if gpus else 0) * (end - begin) / 3600
for user in sorted(hours): print(user, hours[user])
"""


def timed(args: List[str], out: str, env: Optional[Dict[str, str]] = None) -> float:
    with open(out, "w") as file:
        began = time.monotonic()
        subprocess.run(args, stdout=file, check=True, env=env)
        return time.monotonic() - began


def fill_accounting(cluster: Cluster) -> None:
    """Many copies of Slurm's own row of a finished job."""
    job = cluster.sbatch("#!/bin/bash\ntrue\n")
    cluster.wait_state(job, "COMPLETED")
    cluster.wait_sacct(job, lambda rows: bool(rows))
    socket = next(os.path.join(folder, name) for folder, _, names in os.walk(cluster.dir) for name in names
                  if name.endswith(".sock") and ("maria" in name or "mysql" in name or "db" in name))

    def sql(query: str) -> str:
        return subprocess.check_output(["mysql", "-S", socket, "-N", "-D", "slurm_acct_db", "-e", query], universal_newlines=True)

    table = next(name for name in sql("SHOW TABLES").split() if name.endswith("_job_table"))
    names = sql("SELECT column_name FROM information_schema.columns WHERE table_schema = 'slurm_acct_db' AND table_name = '%s'"
                % table).split()
    own = ("job_db_inx", "id_job", "mod_time", "time_submit", "time_eligible", "time_start", "time_end", "job_name")
    rest = ",".join("`%s`" % name for name in names if name not in own)
    begin = int(time.time()) - ATTEMPTS * 30 - 5000
    sql("CREATE TABLE bench_seq (i INT PRIMARY KEY)")
    sql("INSERT INTO bench_seq SELECT seq FROM seq_1_to_%d" % ATTEMPTS)
    sql("INSERT INTO `{table}` (id_job, mod_time, time_submit, time_eligible, time_start, time_end, job_name, {rest})"
        " SELECT 1000 + s.i, {begin}, {begin} + s.i * 30, {begin} + s.i * 30, {begin} + s.i * 30 + 100,"
        " {begin} + s.i * 30 + 4000, concat('train-', s.i), {rest}"
        " FROM bench_seq s JOIN (SELECT * FROM `{table}` LIMIT 1) j".format(table=table, rest=rest, begin=begin))
    # slurmdbd may still be busy with earlier work until it has answered once.
    cluster.run(["sacct", "-X", "-n", "-j", "1001"])


def listing(folder: str) -> List[Tuple]:
    out, config = os.path.join(folder, "out"), os.path.join(folder, "conf")
    with open(config, "w") as file:
        file.write("database = %s\nspool = %s\n" % (os.path.join(folder, "db"), os.path.join(folder, "none")))
    ours = [SGOODPUT, "--config", config, "--no-refresh"]
    with Cluster() as cluster:
        fill_accounting(cluster)
        env = cluster.env()
        theirs = ["sacct", "-a", "-D", "-S", "2001-01-01", "-E", "now"]
        plain = timed(theirs + ["-P"], out, env)
        jobs_only = timed(theirs + ["-X", "-P"], out, env)
        as_json = timed(theirs + ["-X", "--json"], out, env)
        text = os.path.join(folder, "sacct")
        timed(theirs + ["-X", "-P", "-o", FIELDS], text, env)
    subprocess.run([SGOODPUT, "import", "--config", config, text], check=True, stdout=subprocess.DEVNULL)
    listed = min(timed(ours + EVERYTHING + ["-P"], out) for _ in range(3))
    with open(out) as file:
        rows = sum(1 for _ in file) - 1
    if rows < ATTEMPTS:
        raise RuntimeError("sgoodput listed %d of %d attempts" % (rows, ATTEMPTS))
    our_json = timed(ours + EVERYTHING + ["--json"], out)
    one = min(timed([SGOODPUT, "show", "--config", config, "--no-refresh", str(1000 + ATTEMPTS // 2)], out) for _ in range(5))
    return [("%d attempts: list -P / sacct -P" % ATTEMPTS, "%.3f (%.2f s)" % (listed / plain, listed), "bar 0.10", listed <= plain / 10),
            ("the same / sacct -X -P (no steps)", "%.3f" % (listed / jobs_only)),
            ("the same, --json / sacct -X --json", "%.3f (%.1f s)" % (our_json / as_json, our_json)),
            ("one job of them", "%.1f ms" % (one * 1000), "bar 15 ms", one <= 0.015)]


def sums(folder: str) -> List[Tuple]:
    count, rng, t = ATTEMPTS * 5, random.Random(2), 1_600_000_000
    text, config, out = (os.path.join(folder, name) for name in ("text", "conf", "out"))
    with open(config, "w") as file:
        file.write("database = %s\nspool = %s\ncluster = c\n" % (os.path.join(folder, "db"), os.path.join(folder, "none")))

    def when(seconds: int) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(seconds))

    with open(text, "w") as file:
        file.write(FIELDS.replace(",", "|") + "\n")
        for job in range(1, count + 1):
            t += rng.randint(0, 60)
            begin = t + rng.randint(0, 3000)
            nodes = rng.randint(1, 16)
            file.write("c|%d|%d|%s|%s|%s|%s|COMPLETED|0:0|user%d|acc|a3|normal|%d|n[1-%d]|gres/gpu=%d\n" %
                       (job, job, when(t), when(t), when(begin), when(begin + rng.randint(1, 90000)), job % 50, nodes, nodes,
                        nodes * 8))
    by_hand = timed([sys.executable, "-c", BY_HAND, text], out)
    subprocess.run([SGOODPUT, "import", "--config", config, text], check=True, stdout=subprocess.DEVNULL)
    ours = timed([SGOODPUT, "report", "--config", config, "--no-refresh", "-a", "-S", "2001-01-01", "--by", "user"], out)
    return [("%d attempts: report --by user / a script over sacct's text" % count, "%.3f (%.1f s)" % (ours / by_hand, ours))]


def measure() -> List[Tuple]:
    lines: List[Tuple] = []
    for part in (listing, sums):
        folder = tempfile.mkdtemp(prefix="goodput-bench-")
        try:
            lines += part(folder)
        finally:
            shutil.rmtree(folder)
    return lines
