#!/usr/bin/python3
"""What happens on real machines: own kernels, systemd, cgroup v2, a file server, power that is cut.

tests/machines/run makes what this needs, and says where it is (GOODPUT_MACHINES_IMAGE, GOODPUT_MACHINES_PACKAGES). The truth is
the training program's own log and Slurm's accounting. Emulated processors are some 20 times slower than real ones, so a
bucket may be apart from the truth by more than on a private cluster.
"""

import os
import time
import unittest
from typing import Dict, List, Tuple
from unittest import mock

from tests.e2e.harness import checks
from tests.e2e.harness.truth import S, Truth

from .machine import wait
from .site import UNITS, Site

# How much later than on an idle real machine a program that sleeps goes on.
LATENESS = 20.0
ACCOUNTING_S = 1.5
SITE: Site


def setUpModule() -> None:
    global SITE
    image = os.environ["GOODPUT_MACHINES_IMAGE"]
    SITE = Site(image, os.environ["GOODPUT_MACHINES_PACKAGES"], os.path.join(image, "run"))
    unittest.addModuleCleanup(SITE.stop)
    SITE.start()


def seconds(job: Dict, *buckets: str) -> float:
    return sum(bucket["ns"] for bucket in job["buckets"] if bucket["name"] in buckets) / S


class MachinesTest(unittest.TestCase):
    def setUp(self) -> None:
        SITE.wait_idle()

    def judge(self, number: int, name: str) -> Tuple[Dict, Truth]:
        """The job as sgoodput tells it, compared with the truth bucket by bucket."""
        show, truth = SITE.show(number), SITE.truth(number, name)
        with mock.patch.object(checks, "lateness", lambda: LATENESS):
            checks.assert_buckets_close(self, show, truth, ACCOUNTING_S)
        checks.assert_attempts(self, show, truth)
        job: Dict = show["jobs"][0]
        return job, truth

    def causes(self, job: Dict) -> List[str]:
        for interruption in job["interruptions"]:
            self.assertTrue(interruption["evidence"], interruption)
        return [interruption["cause"] for interruption in job["interruptions"]]

    # --- as it was installed

    def test_units_run_and_say_no_warning(self) -> None:
        for machine in SITE.machines.values():
            for unit in UNITS[machine.name]:
                self.assertEqual(machine.run("systemctl is-active " + unit, check=False).stdout.strip(), "active", machine.name)
            self.assertEqual(SITE.warnings(machine), "", machine.name)

    def test_security_is_what_the_guide_says(self) -> None:
        said = SITE.nodes[0].say("systemd-analyze security --no-pager goodputd.service | tail -n 1")
        self.assertIn(": %s " % SITE.guide.security, said)

    # --- what jobs go through

    def test_preempted_by_a_partition_then_requeued(self) -> None:
        job = SITE.sbatch("pretrain", "--steps 60 --step-seconds 1 --init-seconds 1 --restore-seconds 1 --save-every 10 --save-seconds 1",
                          "-N2", "--ntasks-per-node=1", "--exclusive", "--requeue", "--time=60", "--goodput-run=pretrain")
        SITE.wait_steps("pretrain", 1, 15)
        urgent = SITE.sbatch("urgent", "--steps 2", "-N1", "--exclusive", "--partition=high", user="bob")
        SITE.wait_steps("pretrain", 2, 15)
        SITE.ctl.run("scontrol requeue %d" % job)
        self.assertEqual(SITE.settle(job, 900), "COMPLETED")
        self.assertEqual(SITE.state(urgent), "COMPLETED")
        told, truth = self.judge(job, "pretrain")
        self.assertEqual(self.causes(told), ["preempted", "user_requeue"])
        self.assertEqual(told["steps"]["kept"], len(truth.kept))
        self.assertEqual(told["steps"]["lost"], len(truth.lost))

    def test_out_of_memory_is_told_though_the_script_ends_well(self) -> None:
        """cgroup v2: the kernel kills the task, Slurm hears of it."""
        job = SITE.sbatch("eater", "--steps 30 --save-every 4 --eat-at-step 6", "-N1", "--time=20", after="exit 0\n")
        SITE.settle(job)
        told = SITE.show(job)["jobs"][0]
        self.assertIn("eat", [record["event"] for record in SITE.log("eater")])
        self.assertEqual(self.causes(told), ["oom"])

    def test_signal_to_the_batch_script_alone(self) -> None:
        """--signal=B: reaches the script, which passes it on; the program saves and the script requeues the job."""
        script = ("#!/bin/bash\nsrun python3 /opt/trainer/trainer.py --dir /home/ada/warned --marks --steps 200 --step-seconds 1 --save-every 50 "
                  "--steps-after-restore 5 --on-signal USR1=save-exit &\ntrap 'scancel -s USR1 $SLURM_JOB_ID.0; wait; scontrol requeue $SLURM_JOB_ID; sleep 60' USR1\nwait\n")
        job = int(SITE.ctl.run("cd /home/ada && runuser -u ada -- sbatch --parsable -J warned -N1 --mem=500 --time=2 --signal=B:USR1@60 --requeue "
                               "--output=/home/ada/warned.out --open-mode=append", stdin=script).stdout)
        self.assertEqual(SITE.settle(job, 900), "COMPLETED")
        told = SITE.show(job)["jobs"][0]
        log = SITE.log("warned")
        signalled = [record for record in log if record["event"] == "signal"]
        self.assertEqual(len(signalled), 1, log[-5:])
        self.assertEqual(len(told["attempts"]), 2)
        self.assertEqual(told["steps"]["lost"], 0)
        self.assertGreater(seconds(told, "drain", "checkpoint_save"), 0)

    # --- what happens to machines

    def test_power_cut_of_a_node(self) -> None:
        victim = SITE.machines["n2"]
        job = SITE.sbatch("cut", "--steps 50 --step-seconds 1 --save-every 10", "-N1", "-w", "n2", "--requeue", "--time=60")
        SITE.wait_steps("cut", 1, 15)
        victim.cut_power()
        wait("Slurm notices", lambda: SITE.state(job) != "RUNNING", 240, 2)
        victim.start()
        victim.wait_up()
        victim.set_clock()
        self.assertEqual(victim.say("systemctl is-active goodputd"), "active")
        self.assertEqual(SITE.settle(job, 900), "COMPLETED")
        told, truth = SITE.show(job)["jobs"][0], SITE.truth(job, "cut")
        self.assertEqual(self.causes(told), ["node_fail"])
        # The last of its marks, about a second of them, was on no disk when the power went.
        self.assertAlmostEqual(told["steps"]["lost"], len(truth.lost), delta=2)
        self.assertEqual(told["steps"]["kept"], len(truth.kept))

    def test_reboot_of_the_controller(self) -> None:
        """Times before and after it are of one clock, and the job it did not touch is whole."""
        job = SITE.sbatch("survivor", "--steps 150 --step-seconds 1 --save-every 20", "-N1", "--time=60")
        SITE.wait_steps("survivor", 1, 10)
        before = SITE.show(job)["jobs"][0]["attempts"][0]["start_ns"]
        SITE.ctl.shut_down()
        SITE.ctl.start()
        SITE.ctl.wait_up()
        SITE.ctl.set_clock()
        wait("slurmctld answers", lambda: SITE.ctl.run("scontrol ping | grep -q UP", check=False).returncode == 0, 240)
        self.assertEqual(SITE.settle(job, 900), "COMPLETED")
        told, truth = SITE.show(job)["jobs"][0], SITE.truth(job, "survivor")
        self.assertEqual(told["attempts"][0]["start_ns"], before)
        self.assertEqual(self.causes(told), [])
        self.assertEqual(told["steps"]["kept"], len(truth.kept))
        self.assertEqual(told["wall_ns"], truth.wall_ns)

    def test_file_server_away_for_two_minutes(self) -> None:
        """Nothing is lost of what the nodes recorded meanwhile. The program trains on the node's own disk."""
        script = ("#!/bin/bash\ncd /var/tmp; srun python3 /opt/trainer/trainer.py --dir /var/tmp/away --marks --steps 200 --step-seconds 1 "
                  "--save-every 20\n")
        job = int(SITE.ctl.run("cd /tmp && runuser -u ada -- sbatch --parsable -J away -w n1 --mem=500 --time=60 -D /var/tmp "
                               "--output=/var/tmp/away.out", stdin=script).stdout)
        wait("it trains", lambda: "step_end" in SITE.nodes[0].run("cat /var/tmp/away/truth.0.jsonl", check=False).stdout, 240)
        SITE.ctl.run("systemctl stop nfs-server")
        time.sleep(120)
        SITE.ctl.run("systemctl start nfs-server")
        self.assertEqual(SITE.settle(job, 900), "COMPLETED")
        wait("all 200 steps are told", lambda: SITE.show(job)["jobs"][0]["steps"]["kept"] == 200, 180, 5)

    def test_clock_of_a_node_ahead(self) -> None:
        node = SITE.machines["n2"]
        node.set_clock(3.0)
        self.addCleanup(node.set_clock)
        job = SITE.sbatch("ahead", "--steps 20 --step-seconds 1", "-N1", "-w", "n2", "--time=20")
        self.assertEqual(SITE.settle(job), "COMPLETED")
        told = SITE.show(job)["jobs"][0]
        self.assertEqual(told["steps"]["kept"], 20)
        truth = [record["t"] for record in SITE.log("ahead") if record["event"] in ("start", "exit")]
        running = (truth[-1] - truth[0]) / S
        self.assertAlmostEqual(seconds(told, "startup", "productive", "drain"), running, delta=4)
        self.assertLess(seconds(told, "unobserved"), told["wall_ns"] / S / 100)


if __name__ == "__main__":
    unittest.main()
