#!/usr/bin/python3
"""The demo of tools/demo: one training job on a private Slurm cluster, with every kind of interruption.

It saves at a checkpoint signal and requeues itself, is preempted, is requeued by hand, loses a node, and finishes; then
`sgoodput show` prints where the time went.
"""

import os
import sys
import time
from typing import Optional

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP)
from tests.e2e.harness.goodput_site import TRAINER, Site  # noqa: E402

USER = "nobody"
STEPS = 240
STEP_S = 0.25
SAVED_AND_STOPPED = 85  # the trainer's exit code after a requested save
STARTED = time.monotonic()

SCRIPT = """#!/bin/bash
#SBATCH --job-name=pretrain --nodes=4 --gres=gpu:8 --time=1 --signal=USR1@50
#SBATCH --goodput-run=pretrain-7b
srun %(trainer)s --dir %(folder)s --steps %(steps)d --step-seconds %(step_s)g --init-seconds 1 --restore-seconds 0.5 \\
     --save-every 20 --save-seconds 0.4 --eval-every 60 --eval-seconds 0.6 --on-signal USR1=save-exit:%(code)d --marks
status=$?
[ $status -eq %(code)d ] && exec scontrol requeue $SLURM_JOB_ID
exit $status
"""


def say(text: str) -> None:
    print("[%4.0f s] %s" % (time.monotonic() - STARTED, text), flush=True)


def last_step(site: Site, folder: str) -> int:
    """The highest step in the trainer's own log."""
    begun = site.events(folder, "step_begin")
    return begun[-1]["step"] if begun else 0


def train_on(site: Site, job: int, folder: str, restart: int, steps: int) -> None:
    """Waits until attempt `restart` has done this many steps."""
    deadline = time.monotonic() + 60
    while site.cluster.job(job).get("Restarts") != str(restart) or site.cluster.state(job) != "RUNNING":
        if time.monotonic() > deadline:
            raise SystemExit("tools/demo: the job did not start again: %s" % site.cluster.job(job))
        time.sleep(0.2)
    say("attempt %d runs" % (restart + 1))
    first: Optional[int] = None
    seen = last_step(site, folder)
    while first is None or last_step(site, folder) < first + steps:
        if first is None and last_step(site, folder) != seen:
            first = last_step(site, folder)
        if time.monotonic() > deadline:
            raise SystemExit("tools/demo: the job makes no progress:\n" + site.cluster.output(job, USER))
        time.sleep(0.1)


def live(site: Site, job: int, folder: str) -> None:
    cluster = site.cluster
    say("attempt 1 runs; Slurm sends USR1 before the time limit (it looks at limits every 30 s) ...")
    while cluster.job(job).get("Restarts", "0") == "0":
        time.sleep(0.2)
    say("USR1: the trainer saved at step %d, and its script requeued the job" % last_step(site, folder))
    # Later attempts must not reach the time limit again: they run for less than a minute, but Slurm may check early.
    cluster.run(["scontrol", "update", "jobid=%d" % job, "timelimit=30"])

    train_on(site, job, folder, restart=1, steps=26)
    urgent = cluster.sbatch("sleep 2", options=["-N2", "--gres=gpu:8", "--partition=high", "--job-name=urgent"])
    say("job %d of partition high preempts it, without grace" % urgent)

    train_on(site, job, folder, restart=2, steps=26)
    say("scontrol requeue")
    cluster.run(["scontrol", "requeue", str(job)])

    train_on(site, job, folder, restart=3, steps=26)
    node = cluster.nodes[1]
    say("node %s fails" % node)
    cluster.run(["scontrol", "update", "nodename=" + node, "state=down", "reason=Xid 79: GPU has fallen off the bus"])
    time.sleep(3)
    cluster.run(["scontrol", "update", "nodename=" + node, "state=resume"], check=False)

    train_on(site, job, folder, restart=4, steps=1)
    say("the rest of the %d steps ..." % STEPS)
    cluster.wait_state(job, "COMPLETED", timeout=90)
    say("completed")


def main() -> int:
    if "-h" in sys.argv[1:] or "--help" in sys.argv[1:]:
        print("Usage: tools/demo [--keep-json FILE] [--keep-html FILE]\n\n"
              "Runs for about two and a half minutes after the build; keeps the report as JSON or as a page.")
        return 0
    say("starting a private Slurm cluster: slurmctld, slurmdbd, 4 x slurmd with 8 fake GPUs each")
    # With Slurm's defaults a requeued job waits 121 s; Site shortens the credential lifetime that determines it.
    with Site(mode="cgroup", kill_wait_s=2) as site:
        folder = os.path.join(site.cluster.jobdir(USER), "run")
        script = SCRIPT % {"trainer": TRAINER, "folder": folder, "steps": STEPS, "step_s": STEP_S,
                           "code": SAVED_AND_STOPPED}
        job = site.cluster.sbatch(script, user=USER)
        say("job %d submitted: 4 nodes, 32 GPUs, %d steps of %g s" % (job, STEPS, STEP_S))
        live(site, job, folder)
        site.settle(job)
        print("\n$ sgoodput show %d\n" % job, flush=True)
        print(site.sgoodput("show", str(job), "--color", "always" if sys.stdout.isatty() else "never").stdout, flush=True)
        print("$ sgoodput -o JobID,Run,User,State,Wall,Attempts,Scheduling,Runtime,Goodput\n", flush=True)
        print(site.sgoodput("-o", "JobID,Run,User,State,Wall,Attempts,Scheduling,Runtime,Goodput").stdout, flush=True)
        for option, words in (("--keep-json", ["--json"]), ("--keep-html", ["--html", "/dev/stdout"])):
            if option in sys.argv:
                with open(sys.argv[sys.argv.index(option) + 1], "w") as file:
                    file.write(site.sgoodput("show", str(job), *words).stdout)
    say("the cluster is stopped and removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
