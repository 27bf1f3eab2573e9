"""One scenario: its site, the job it submits, what is done to the job, and the outcome."""

import json
import subprocess
import time
from typing import Any, Dict, List, NamedTuple, Optional

from . import truth as truths
from .goodput_site import TRAINER, Site
from .live_rows import LiveRows
from .truth import Truth


class Outcome(NamedTuple):
    site: Site
    job: int
    folder: str
    show: Dict
    truth: Truth
    more: Dict[str, Any] = {}


class Work:
    """A site, nodes that no other scenario uses, and a user."""

    def __init__(self, site: Site, name: str, user: str, nodes: List[str]) -> None:
        self.site, self.name, self.user, self.nodes = site, name, user, nodes
        self.folder = site.folder(name, user)
        self.job = 0
        self.rows: Optional[LiveRows] = None

    # --- submitting

    def options(self, partition: str = "a3mega") -> List[str]:
        """Options that give a job of any command the scenario's nodes."""
        return ["-p", partition, "-w", ",".join(self.nodes), "-N%d" % len(self.nodes), "--gres=gpu:8",
                "--job-name=" + self.name]

    def submit(self, body: str, *options: str, partition: str = "a3mega") -> int:
        self.job = self.site.cluster.sbatch(body, user=self.user, options=self.options(partition) + list(options))
        if not self.site.cluster.dbd:
            self.rows = LiveRows(self.site, self.job)
            self.rows.start()
        return self.job

    def trainer(self, options: str = "", marks: bool = True, folder: str = "") -> str:
        return "%s --dir %s --steps 1000 --step-seconds 0.3 --save-seconds 0.3 --init-seconds 0.5 %s %s" % (
            TRAINER, folder or self.folder, "--marks" if marks else "", options)

    def by_hand(self, command: List[str]) -> "subprocess.Popen":
        """Runs salloc or srun as in a terminal; the job id is known after the trainer has started."""
        shell = self.site.cluster.popen(command, user=self.user, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.job = self.site.wait_event(self.folder, "start")["job"]
        return shell

    # --- waiting and interfering

    def steps(self, incarnation: int, count: int) -> None:
        self.site.wait_steps(self.folder, incarnation, count)

    @staticmethod
    def pause(seconds: float) -> None:
        """Waits, so that there is time to measure."""
        time.sleep(seconds)

    def occupy(self) -> int:
        """Submits another user's job that holds the nodes until it is cancelled."""
        blocker = self.site.cluster.sbatch("sleep 600", user="games", options=self.options() + ["--job-name=blocker"])
        self.site.cluster.wait_state(blocker, "RUNNING")
        return blocker

    def preempt(self, seconds: float = 2) -> int:
        """Submits a job of the partition `high` that takes the nodes."""
        return self.site.cluster.sbatch("sleep %g" % seconds, user="games", options=[
            "-p", "high", "-w", ",".join(self.nodes), "-N%d" % len(self.nodes), "--gres=gpu:8"])

    def preempt_for_good(self) -> int:
        """The same, if the scenario's job does not return: goodputd must have seen the other job run by then."""
        high = self.preempt()
        self.site.wait_watched(high, ["RUNNING", "COMPLETED"])
        return high

    def control(self, *words: str, user: Optional[str] = None) -> None:
        self.site.cluster.run(["scontrol"] + list(words), user=user or self.user)

    def node_fails(self, node: str) -> None:
        self.control("update", "nodename=" + node, "state=down", "reason=power supply", user="root")
        self.site.cluster.wait_state(self.job, "PENDING")
        time.sleep(2)
        self.control("update", "nodename=" + node, "state=resume", user="root")

    # --- judging

    def outcome(self, known: Dict[str, Any] = {}, **more: Any) -> Outcome:
        """known: arguments for Truth. more: additional results for the test."""
        self.site.settle(self.job, timeout=240)
        show = self.site.show_json(self.job)
        if self.rows:
            self.rows.over.set()
            truth = Truth(truths.read_log(self.folder), list(self.rows.rows.values()))
        else:
            truth = self.site.truth(self.job, self.folder, **known)
        return Outcome(self.site, self.job, self.folder, show, truth, more)

    def run_outcome(self, run: str, jobs: List[int], known: Dict[str, Any] = {}, **more: Any) -> Outcome:
        """The outcome of jobs, in order, that form one run and trained in the scenario's folder."""
        # For an array, sacct lists all tasks, and one task has the array's number.
        rows = [row for job in jobs for row in self.site.settle(job, timeout=240)
                if row["JobIDRaw"].split(".")[0] == str(job)]
        answer = self.site.sgoodput("show", "--run", run, "--json")
        if answer.returncode != 0:
            raise RuntimeError("sgoodput show --run %s exited with %d: %s" % (run, answer.returncode, answer.stderr))
        truth = Truth(truths.read_log(self.folder), rows, **known)
        return Outcome(self.site, jobs[-1], self.folder, json.loads(answer.stdout), truth, more)
