#!/usr/bin/python3
"""The job scripts of blueprints/jobs on a private cluster, with the GPU program replaced by one that needs no GPU: options,
signals, requeues and chains are real.

    GOODPUT_BUILD=build python3 -m unittest tests.blueprints.test_jobs
"""

import json
import os
import shutil
import time
import unittest
from typing import Dict, List

from ..e2e.harness.goodput_site import SGOODPUT, TRAINER, Site
from ..e2e.test_plugin import records
from .readme_table import TOP

JOBS = os.path.join(TOP, "blueprints", "jobs")
WAIT_S = 120
# The output of nccl-tests, without a network.
ALL_GATHER = """#!/bin/sh
[ "$SLURM_PROCID" = 0 ] || exit 0
echo "# nThread 1 nGpus 1 minBytes 8388608 maxBytes 8589934592 step: 2(factor)"
sleep 2
echo "# Avg bus bandwidth    : 187.3"
"""


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class JobsTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        cls.site = Site("cgroup", nodes=2)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        cls.home = cls.site.cluster.jobdir("nobody")
        for name in os.listdir(JOBS):
            shutil.copy(os.path.join(JOBS, name), cls.home)
            os.chmod(os.path.join(cls.home, name), 0o755)
        os.mkdir(os.path.join(cls.home, "nccl"))
        program = os.path.join(cls.home, "nccl", "all_gather_perf_mpi")
        with open(program, "w") as file:
            file.write(ALL_GATHER)
        os.chmod(program, 0o755)

    def run_as_user(self, command: List[str], env: Dict[str, str]) -> str:
        """The variables reach the job as from a user's shell."""
        path = {"PATH": os.path.dirname(SGOODPUT) + ":" + os.environ["PATH"]}
        return self.site.cluster.run(["/bin/sh", "-c", 'cd "$0" && exec "$@"', self.home, *command], user="nobody", env=dict(path, **env)).stdout

    SMALL = ["--time=0", "--ntasks-per-node=1", "--gpus-per-node=0", "--mem=100"]

    def show(self, *words: str) -> Dict:
        done = self.site.sgoodput("show", *words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(json.loads(done.stdout)["jobs"][0])

    def trainer(self, name: str, *more: str) -> str:
        return "%s --dir %s --steps 30 --step-seconds 0.2 --save-every 10 --save-seconds 0.2 --init-seconds 0.3 --marks %s" % (
            TRAINER, self.site.folder(name, "nobody"), " ".join(more))

    def test_nccl_all_gather(self) -> None:
        job = int(self.run_as_user(["sbatch", "--parsable", "-N1", *self.SMALL, "nccl-allgather.sbatch"],
                                   {"NCCL_TESTS": os.path.join(self.home, "nccl"), "MPI": "none"}))
        self.site.settle(job, timeout=WAIT_S)
        with open(os.path.join(self.home, "slurm-%d.out" % job)) as file:
            self.assertIn("Avg bus bandwidth", file.read())
        said = self.show(str(job))
        self.assertEqual((said["run"], said["state"]), ("nccl-allgather", "COMPLETED"))
        tags = self.site.sgoodput("report", "-j", str(job), "--by", "tag:kind", "-P").stdout
        self.assertIn("benchmark|", tags)

    def test_the_five_lines_of_the_users_guide(self) -> None:
        with open(os.path.join(TOP, "docs", "users.md")) as file:
            lines = [line for line in file.read().splitlines() if line.startswith("#SBATCH --goodput")]
        self.assertEqual(len(lines), 5)
        lines[0] = lines[0].replace("pretrain-7b ", "guide-7b ")  # another test uses this name
        script = os.path.join(self.home, "five.sbatch")
        with open(script, "w") as file:
            file.write("#!/bin/bash\n" + "\n".join(lines) + "\nsrun true\n")
        job = int(self.run_as_user(["sbatch", "--parsable", "-N1", *self.SMALL, script], {}))
        self.site.settle(job, timeout=WAIT_S)
        said = self.show(str(job))
        self.assertEqual((said["run"], said["state"]), ("guide-7b", "COMPLETED"))
        recorded, = [record["opt"] for record in records(self.site.spool) if (record["kind"], record.get("job")) == ("job_prolog", job)]
        self.assertEqual(recorded, {"run": "guide-7b", "checkpoint_dir": "/scratch/pretrain", "log_profile": "megatron",
                                    "model": "params=7e9,tokens-per-step=4194304", "precision": "bf16"})

    def test_a_pretraining_that_is_asked_to_save_goes_on_in_the_next_attempt(self) -> None:
        folder = self.site.folder("pretrain", "nobody")
        job = int(self.run_as_user(["sbatch", "--parsable", "-N1", *self.SMALL, "pretrain.sbatch"],
                                   {"IMAGE": "none", "TRAIN": self.trainer("pretrain", "--on-signal USR1=save-exit"), "GOODPUT_LOG_PROFILE": ""}))
        self.site.wait_steps(folder, 0, 12)
        # As --signal=B:USR1@300 does five minutes before the time limit.
        self.site.cluster.run(["scancel", "--batch", "--signal=USR1", str(job)])
        self.site.settle(job, timeout=WAIT_S, states=["COMPLETED"])
        said = self.show("--run", "pretrain-7b", "-u", "nobody")
        self.assertEqual(len(said["attempts"]), 2)
        self.assertEqual(said["steps"]["kept"], 30)
        self.assertEqual((said["steps"]["lost"], said["ledger"]["holds"]), (0, True))
        stop, = said["interruptions"]
        self.assertEqual((stop["cause"], stop["planned"]), ("user_requeue", True))
        # The options for the model's FLOPs and the precision; there are no GPUs to compare them with.
        self.assertIn("GPU", said["goodput"]["program_reason"])

    def test_what_the_training_prints_at_term_reaches_the_output(self) -> None:
        program = os.path.join(self.home, "late")
        with open(program, "w") as file:
            file.write("#!/bin/bash\ntrap 'sleep 2; echo saved; exit' TERM\necho trains\nwhile sleep 0.1; do :; done\n")
        os.chmod(program, 0o755)
        job = int(self.run_as_user(["sbatch", "--parsable", "-N1", *self.SMALL, "pretrain.sbatch"],
                                   {"IMAGE": "none", "TRAIN": program, "GOODPUT_RUN": "late", "GOODPUT_LOG_PROFILE": ""}))
        output = os.path.join(self.home, "slurm-%d.out" % job)

        def text() -> str:
            with open(output) as file:
                return file.read()
        deadline = time.monotonic() + WAIT_S
        while not (os.path.exists(output) and "trains" in text()) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertIn("trains", text())
        self.site.cluster.run(["scancel", str(job)])
        self.site.settle(job, timeout=WAIT_S, states=["CANCELLED"])
        self.assertIn("saved", text())

    def test_a_chain_is_one_run(self) -> None:
        said = self.run_as_user(["./chain.sh", "3", "pretrain.sbatch", "-N1", *self.SMALL],
                                {"IMAGE": "none", "TRAIN": "sleep 1", "GOODPUT_RUN": "chained", "GOODPUT_LOG_PROFILE": ""})
        jobs = [int(line.split(",")[0].split()[1]) for line in said.splitlines()]
        self.assertEqual(len(jobs), 3)
        for job in jobs:
            self.site.settle(job, timeout=WAIT_S)
        run = self.show("--run", "chained")
        self.assertEqual([attempt["job_id"] for attempt in run["attempts"]], jobs)

    def test_a_chain_of_nothing_is_refused_in_one_line(self) -> None:
        done = self.site.cluster.run([os.path.join(self.home, "chain.sh"), "none", "x"], user="nobody", check=False)
        self.assertEqual((done.returncode, done.stderr), (2, "usage: chain.sh COUNT SCRIPT [sbatch options]\n"))


if __name__ == "__main__":
    unittest.main()
