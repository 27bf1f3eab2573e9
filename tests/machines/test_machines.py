#!/usr/bin/python3
"""Tests on virtual machines: own kernels, systemd, cgroup v2, a file server, power failures.

tests/machines/run creates what this needs and passes its location (GOODPUT_MACHINES_IMAGE, GOODPUT_MACHINES_PACKAGES). The truth is
the training program's own log and Slurm's accounting. Emulated processors are some 20 times slower than real ones, so a
bucket may differ from the truth by more than on a private cluster.
"""

import base64
import json
import os
import time
import unittest
from typing import Dict, List, NamedTuple, Optional, Tuple
from unittest import mock

from tests.e2e.harness import checks
from tests.e2e.harness.truth import S, Truth

from .machine import wait
from .site import TOP, UNITS, Site

# How much later than on an idle real machine a sleeping program continues.
LATENESS = 20.0
ACCOUNTING_S = 1.5
# The daemon's installed settings.
HEARTBEAT_S = 10.0
SCAN_S = 30.0
# Buckets that cannot be distinguished for a program that only writes files.
DDP_UNKNOWN = ("startup", "productive", "checkpoint_save", "lost_work", "at_risk", "drain", "teardown", "unobserved")
SITE: Site
# A collector that takes what comes, and lists the paths.
SINK = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        open("/run/sink", "a").write(self.path + "\\n")
        self.send_response(200)
        self.send_header("Content-Type", self.headers["Content-Type"])
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", 4318), Handler).serve_forever()
"""


def setUpModule() -> None:
    global SITE
    image = os.environ["GOODPUT_MACHINES_IMAGE"]
    SITE = Site(image, os.environ["GOODPUT_MACHINES_PACKAGES"], os.path.join(image, "run"))
    unittest.addModuleCleanup(SITE.stop)
    SITE.start()


class Save(NamedTuple):
    start: int  # the start of the program that saved
    step: int
    begin_ns: int
    complete_ns: int


def seconds(job: Dict, *buckets: str) -> float:
    return sum(bucket["ns"] for bucket in job["buckets"] if bucket["name"] in buckets) / S


class MachinesTest(unittest.TestCase):
    def setUp(self) -> None:
        SITE.clear()
        SITE.wait_idle()

    def judge(self, number: int, name: str) -> Tuple[Dict, Truth]:
        """Compares sgoodput's report of the job with the truth, bucket by bucket."""
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

    # --- the installation

    def test_units_run_and_say_no_warning(self) -> None:
        for machine in SITE.machines.values():
            for unit in UNITS[machine.name]:
                self.assertEqual(machine.run("systemctl is-active " + unit, check=False).stdout.strip(), "active", machine.name)
            self.assertEqual(SITE.warnings(machine), "", machine.name)

    def test_security_is_what_the_guide_says(self) -> None:
        said = SITE.nodes[0].say("systemd-analyze security --no-pager goodputd.service | tail -n 1")
        self.assertIn(": %s " % SITE.guide.security, said)

    def test_the_kernels_log_is_read_in_the_sandbox(self) -> None:
        job = SITE.sbatch("kernel", "--steps 20 --step-seconds 1", "-w", "n1", "--time=20")
        self.assertEqual(SITE.settle(job), "COMPLETED")
        node = SITE.nodes[0]
        self.assertEqual(node.say("systemctl is-active goodputd-kernel.socket"), "active")
        self.assertIn("reading=1", node.say("cat /var/spool/slurm-goodput/kernel"))
        # It stops with the service, which a line of the log would otherwise start again.
        node.run("systemctl stop goodputd.socket goodputd && echo '<3>a line' >/dev/kmsg && sleep 3")
        self.assertEqual(node.run("systemctl is-active goodputd goodputd-kernel.socket", check=False).stdout.split(), ["inactive", "inactive"])
        node.run("systemctl start goodputd.socket goodputd")
        self.assertEqual(node.say("systemctl is-active goodputd-kernel.socket"), "active")

    def test_nvidias_driver_is_asked_in_a_sandbox_of_its_own(self) -> None:
        """With a library that stands in for NVIDIA's, since these machines have no GPU."""
        node = SITE.nodes[0]
        library = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
        with open(os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"), "tests/nvml/.libs/nvml_stand_in.so"), "rb") as file:
            node.run("base64 -d >%s" % library, stdin=base64.b64encode(file.read()).decode())
        self.addCleanup(node.run, "rm -rf %s /etc/systemd/system/goodput-nvml@.service.d; systemctl daemon-reload" % library)
        node.write("/etc/systemd/system/goodput-nvml@.service.d/gpus.conf", "[Service]\nEnvironment=GOODPUT_STAND_IN_GPUS=/etc/gpus\n")
        node.write("/etc/gpus", "90 40 90 1234567 71000 10559 0\n")
        node.write("/opt/ask.py", "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('/run/slurm-goodput/nvml')\n"
                   "s.sendall(b'GET /metrics HTTP/1.1\\r\\n\\r\\n')\nprint(s.makefile().read())\n")
        node.run("systemctl daemon-reload && systemctl start goodput-nvml.socket")
        self.addCleanup(node.run, "systemctl stop goodput-nvml.socket")
        said = node.say("python3 /opt/ask.py")
        self.assertIn("200 OK", said)
        self.assertIn('DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",UUID="GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e00"} 0.400000', said)
        self.assertIn("} 1234567", said)
        self.assertEqual(node.run("runuser -u ada -- python3 /opt/ask.py", check=False).returncode, 1, "root alone may ask")
        # A driver that hangs is left to systemd, and the next question has its answer.
        node.write("/etc/gpus", "hang\n")
        began = node.clock()
        self.assertNotIn("200 OK", node.say("python3 /opt/ask.py"))
        self.assertLess(node.clock() - began, 60)
        wait("no instance is left", lambda: node.say("systemctl list-units --no-legend 'goodput-nvml@*' | wc -l") == "0", 60)
        node.write("/etc/gpus", "-1 0 50 1 1 1 0\n")
        self.assertIn("DCGM_FI_DEV_GPU_UTIL", node.say("python3 /opt/ask.py"))
        node.run("rm %s" % library)
        self.assertIn("NVIDIA's driver is not installed: libnvidia-ml.so.1", node.say("python3 /opt/ask.py"))

    def test_apparmor_confines_goodputd_and_denies_nothing_it_needs(self) -> None:
        job = SITE.sbatch("confined", "--steps 20 --step-seconds 1 --save-every 10", "-w", "n2", "--time=20", "--goodput-checkpoint-dir=/home/ada/confined")
        self.assertEqual(SITE.settle(job), "COMPLETED")
        self.judge(job, "confined")
        for machine in SITE.confined:
            pids = "$(systemctl show -p MainPID --value %s)" % UNITS[machine.name][0]
            self.assertEqual(machine.say("cat /proc/%s/attr/apparmor/current" % pids), "goodputd (enforce)")
            # It fails if it finds nothing.
            self.assertEqual(machine.run("journalctl -b -q -k -o cat --no-pager -g 'apparmor=.DENIED.'", check=False).stdout, "")
            # What it need not read it cannot read, though root runs it.
            said = machine.run("/usr/sbin/goodputd --config /etc/shadow", check=False)
            self.assertNotEqual(said.returncode, 0)
            self.assertIn("cannot read the configuration /etc/shadow", said.stdout)

    def test_500_jobs_of_a_node_are_served_in_turn_within_the_units_limits(self) -> None:
        node = SITE.nodes[0]
        for path in ("machines/many_jobs.py", "e2e/harness/bare_node.py"):
            with open(os.path.join(TOP, "tests", path)) as file:
                node.write("/opt/many/" + os.path.basename(path), file.read())
        job = SITE.sbatch("beside", "--steps 120 --step-seconds 1", "-w", "n1", "--time=30")
        self.assertIn("500 of 500 jobs have their step and their save", node.run("python3 /opt/many/many_jobs.py", timeout_s=1500).stdout)
        self.assertEqual(SITE.settle(job), "COMPLETED")
        self.judge(job, "beside")
        group = "/sys/fs/cgroup/system.slice/goodputd.service/"
        self.assertIn("max 0", node.say("cat %spids.events" % group))
        self.assertIn("oom_kill 0", node.say("cat %smemory.events" % group))
        self.assertEqual(node.say("systemctl show -p NRestarts --value goodputd"), "0")

    def configure(self, line: str) -> None:
        """A line of goodput.conf on the controller, until the test ends."""
        SITE.ctl.run("cp /etc/slurm-goodput/goodput.conf /root/goodput.conf && echo '%s' >>/etc/slurm-goodput/goodput.conf" % line)
        self.addCleanup(SITE.ctl.run, "cp /root/goodput.conf /etc/slurm-goodput/goodput.conf")

    def enable(self, unit: str) -> None:
        SITE.ctl.run("systemctl enable --now " + unit)
        self.addCleanup(SITE.ctl.run, "systemctl disable --now " + unit)

    def said_nothing_bad(self, unit: str) -> None:
        self.assertEqual(SITE.ctl.say("systemctl show -p NRestarts --value " + unit).strip(), "0")
        self.assertEqual(SITE.ctl.say("journalctl -b -q -o cat -p warning --no-pager -u " + unit), "")

    def test_runs_are_sent_to_a_fleet_database(self) -> None:
        """goodput-fleet in its sandbox, to a real PostgreSQL, as the guide's user goodput."""
        job = SITE.sbatch("fleet", "--steps 5 --step-seconds 1", "-N1", "--time=20")
        self.assertEqual(SITE.settle(job), "COMPLETED")
        fleet = "postgresql:///goodput?host=/var/run/postgresql"
        owner = "cd /tmp && runuser -u postgres -- "
        SITE.ctl.run("systemctl start postgresql@15-main && " + owner + "createdb goodput")
        for command in ("init", "add vmtest goodput"):
            SITE.ctl.run(owner + "sgoodput fleet %s --fleet-db %s" % (command, fleet))
        self.configure("fleet = " + fleet)
        self.enable("goodput-fleet")

        def steps() -> str:
            return SITE.ctl.say(owner + "psql -qAt goodput -c 'SELECT kept_steps FROM goodput.unit WHERE job_id = %d'" % job).strip()
        wait("the run arrives", lambda: steps() == "5", 300, 5)
        self.said_nothing_bad("goodput-fleet")

    def test_telemetry_is_sent(self) -> None:
        """goodput-telemetry in its sandbox, to a server that takes everything."""
        job = SITE.sbatch("telemetry", "--steps 5 --step-seconds 1", "-N1", "--time=20")
        self.assertEqual(SITE.settle(job), "COMPLETED")
        SITE.ctl.write("/root/sink.py", SINK)
        SITE.ctl.run("systemd-run --unit=sink python3 /root/sink.py")
        self.addCleanup(SITE.ctl.run, "systemctl stop sink")
        self.configure("otlp = http://127.0.0.1:4318")
        self.enable("goodput-telemetry")

        def arrived() -> bool:
            # Metrics are of GPU time, which these machines have not.
            return "/v1/traces" in SITE.ctl.run("cat /run/sink", check=False).stdout.split()
        try:
            wait("traces arrive", arrived, 400, 5)
        except AssertionError as late:
            journal = SITE.ctl.run("cat /run/sink; journalctl -b -q -o cat --no-pager -u goodput-telemetry -u sink | tail -n 20", check=False)
            raise AssertionError(str(late) + "\n" + journal.stdout)
        status = " ".join(SITE.ctl.say("runuser -u goodput -- sgoodput telemetry status").split())
        self.assertRegex(status, r"spans sent [1-9]\d*, rejected 0, refused 0;")
        self.said_nothing_bad("goodput-telemetry")

    def test_the_exchange_with_google_cloud_runs_in_its_sandbox(self) -> None:
        """There is no Google Cloud: goodput-cloud starts, finds the database, and says so."""
        job = SITE.sbatch("cloud", "--steps 5 --step-seconds 1", "-N1", "--time=20")
        self.assertEqual(SITE.settle(job), "COMPLETED")
        self.configure("cloud_metrics = projects/none")
        self.enable("goodput-cloud")

        def status() -> str:
            return " ".join(SITE.ctl.run("runuser -u goodput -- sgoodput cloud status", check=False).stdout.split())
        wait("the first pass is over", lambda: "Metrics to" in status(), 300, 5)
        self.assertRegex(status(), r"^Metrics to projects/none: last done never; .*(metadata server|GOOGLE_APPLICATION_CREDENTIALS)")
        self.assertEqual(SITE.ctl.say("systemctl show -p NRestarts --value goodput-cloud").strip(), "0")

    def test_events_reach_a_program_from_their_sandbox(self) -> None:
        """A requeue is told to a program of root's, with the service's rights."""
        SITE.ctl.write("/usr/local/bin/tell", "#!/bin/sh\nid -un >>/var/lib/slurm-goodput/told\ncat >>/var/lib/slurm-goodput/told\n")
        SITE.ctl.run("chmod 755 /usr/local/bin/tell")
        self.configure("event_program = /usr/local/bin/tell")
        self.enable("goodput-events")
        wait("the first pass is over", lambda: "Looked for events" in SITE.ctl.run("runuser -u goodput -- sgoodput events status",
                                                                               check=False).stdout, 300, 5)
        job = SITE.sbatch("events", "--steps 300 --step-seconds 1 --save-every 5", "-N1", "--requeue", "--time=20")
        SITE.wait_steps("events", 1, 8)
        SITE.ctl.run("scontrol requeue %d" % job)
        self.addCleanup(SITE.ctl.run, "scancel %d" % job)
        wait("the event arrives", lambda: "user_requeue" in SITE.ctl.run("cat /var/lib/slurm-goodput/told", check=False).stdout, 400, 5)
        user, event = SITE.ctl.say("cat /var/lib/slurm-goodput/told").split("\n", 1)
        self.assertEqual(user, "goodput")
        self.assertEqual((json.loads(event)["kind"], json.loads(event)["job_id"], json.loads(event)["cause"]),
                         ("interruption", job, "user_requeue"))
        self.said_nothing_bad("goodput-events")

    # --- interruptions of jobs

    def test_preempted_by_a_partition_then_requeued(self) -> None:
        job = SITE.sbatch("pretrain", "--steps 60 --step-seconds 1 --init-seconds 1 --restore-seconds 1 --save-every 10 --save-seconds 1",
                          "-N2", "--ntasks-per-node=1", "--exclusive", "--requeue", "--time=60", "--goodput-run=pretrain")
        SITE.wait_steps("pretrain", 1, 15)
        urgent = SITE.sbatch("urgent", "--steps 2", "-N1", "--exclusive", "--partition=high", user="bob")
        SITE.wait_steps("pretrain", 2, 15)
        SITE.ctl.run("scontrol requeue %d" % job)
        self.assertEqual(SITE.settle(job), "COMPLETED")
        self.assertEqual(SITE.state(urgent), "COMPLETED")
        told, truth = self.judge(job, "pretrain")
        self.assertEqual(self.causes(told), ["preempted", "user_requeue"])
        self.assertEqual(told["steps"]["kept"], len(truth.kept))
        self.assertEqual(told["steps"]["lost"], len(truth.lost))

    def test_out_of_memory_is_told_though_the_script_ends_well(self) -> None:
        """cgroup v2: the kernel kills the task, and Slurm notices."""
        job = SITE.sbatch("eater", "--steps 30 --save-every 4 --eat-at-step 6", "-N1", "--time=20", after="exit 0\n")
        SITE.settle(job)
        told = SITE.show(job)["jobs"][0]
        self.assertIn("eat", [record["event"] for record in SITE.log("eater")])
        self.assertEqual(self.causes(told), ["oom"])

    def test_signal_to_the_batch_script_alone(self) -> None:
        """--signal=B: reaches the script, which forwards it; the program saves and the script requeues the job."""
        script = ("#!/bin/bash\nsrun python3 /opt/trainer/trainer.py --dir /home/ada/warned --marks --steps 200 --step-seconds 1 --save-every 50 "
                  "--steps-after-restore 5 --on-signal USR1=save-exit &\ntrap 'scancel -s USR1 $SLURM_JOB_ID.0; wait; scontrol requeue $SLURM_JOB_ID; sleep 60' USR1\nwait\n")
        job = int(SITE.ctl.run("cd /home/ada && runuser -u ada -- sbatch --parsable -J warned -N1 --mem=500 --time=2 --signal=B:USR1@60 --requeue "
                               "--output=/home/ada/warned.out --open-mode=append", stdin=script).stdout)
        self.assertEqual(SITE.settle(job), "COMPLETED")
        told = SITE.show(job)["jobs"][0]
        log = SITE.log("warned")
        signalled = [record for record in log if record["event"] == "signal"]
        self.assertEqual(len(signalled), 1, log[-5:])
        self.assertEqual(len(told["attempts"]), 2)
        self.assertEqual(told["steps"]["lost"], 0)
        self.assertEqual([(one["cause"], one["planned"]) for one in told["interruptions"]], [("user_requeue", True)])
        # Accounting's end is the whole second before the requeue: the save may be after it, in no bucket.
        saves = [record["t"] for record in log if record["event"] in ("save_begin", "save_end")]
        said = [save[edge] for save in told["checkpoints"] for edge in ("begin_ns", "complete_ns")]
        self.assertGreater(saves[-1], signalled[0]["t"])
        self.assertEqual(len(said), len(saves), told["checkpoints"])
        for one, other in zip(said, saves):
            self.assertAlmostEqual(one, other, delta=0.2 * S)
        reached = [one for one in told["signals"] if one["slurm_step"] == "0"]
        self.assertEqual([(one["signal"], one["handled"]) for one in reached], [("USR1", True)])
        # A signal that the script forwards within a second belongs to the same request; a later one repeats the request.
        asked = [one["outcome"] for one in told["signals"] if one["signal"] == "USR1"]
        self.assertIn("in_time", asked)
        self.assertLessEqual(set(asked), {"in_time", "not_asked"})

    def test_saves_on_nfs_are_told_by_their_files(self) -> None:
        """Without marks. NFS does not report when a folder was created: goodput is a range that contains the truth."""
        job = SITE.sbatch("quiet", "--layout megatron --steps 90 --step-seconds 1 --save-every 30 --save-seconds 8", "-N1", "--time=30",
                          "--goodput-checkpoint-dir=/home/ada/quiet", marks=False)
        self.assertEqual(SITE.settle(job), "COMPLETED")
        told, truth = SITE.show(job)["jobs"][0], SITE.truth(job, "quiet")
        self.assertEqual(len([save for save in told["checkpoints"] if save["complete_ns"]]), 3, told["checkpoints"])
        up = sum(bucket["ns"] for bucket in told["buckets"] if bucket["side"] not in ("excluded", "scheduling"))
        low, high = told["goodput"]["runtime_range"]
        message = "%s %s %s" % (told["checkpoints"], told["buckets"], truth.sums())
        self.assertLessEqual(low, truth.sums()["productive"] / up, message)
        self.assertGreaterEqual(high, truth.sums()["productive"] / up, message)

    # --- a real framework

    def ddp(self, name: str, tell: str, *options: str) -> int:
        """DistributedDataParallel over gloo on both nodes; importing torch takes a minute."""
        return SITE.submit(name, "export MASTER_ADDR=n1 MASTER_PORT=$((20000 + SLURM_JOB_ID)) GLOO_SOCKET_IFNAME=eth1\n"
                           "export PYTHONPATH=/usr/share/slurm-goodput/clients\n"
                           "srun python3 -u /opt/trainer/pytorch.py --dir /home/ada/%s --tell %s --steps 60 --step-seconds 1 --save-seconds 2\n" % (name, tell),
                           "-N2", "--ntasks-per-node=1", "--mem=1200", "--requeue", "--time=60", *options)

    def test_pytorch_on_two_nodes(self) -> None:
        """Two programs at once, one observed through its checkpoint files, one through its marks. Each saves at USR1, and is requeued."""
        jobs = {"directory": self.ddp("directory", "nothing", "--goodput-checkpoint-dir=/home/ada/directory"), "marks": self.ddp("marks", "marks")}
        for name, job in jobs.items():
            SITE.wait_steps(name, 1, 10)
            SITE.ctl.run("scancel --signal=USR1 %d.0" % job)
        for name, job in jobs.items():
            SITE.wait_steps(name, 1, 31)
            SITE.ctl.run("scontrol requeue %d" % job)
        for name, job in jobs.items():
            self.assertEqual(SITE.settle(job), "COMPLETED", name)
        self.told_by_directory(jobs["directory"])
        self.told_by_marks(jobs["marks"])

    def told_by_directory(self, job: int) -> None:
        """Its files show when it saved, but not its steps."""
        told, _ = self.pooled(job, "directory", DDP_UNKNOWN)
        self.assertEqual((told["steps"]["count"], told["goodput"]["runtime"]), (0, None))
        saves = self.saves("directory", job)
        # Of one that was seen only while it was written, with others before the next look, the completion is not known.
        said = [one["complete_ns"] for one in told["checkpoints"] if one["complete_ns"] is not None]
        for complete in said:
            self.assertLess(min(abs(complete - save.complete_ns) for save in saves), S, told["checkpoints"])
        # The file always has the same name: a save may be hidden by the next one within checkpoint_scan.
        nexts: List[Optional[Save]] = [*saves[1:], None]
        lasting = [one for one, after in zip(saves, nexts)
                   if after is None or after.start != one.start or after.begin_ns - one.complete_ns > SCAN_S * S]
        self.assertGreaterEqual(len(lasting), 2)
        for save in lasting:
            self.assertTrue([complete for complete in said if abs(complete - save.complete_ns) < S], (save, told["checkpoints"]))

    def told_by_marks(self, job: int) -> None:
        told, truth = self.pooled(job, "marks", ("teardown", "unobserved"))
        self.assertEqual((told["steps"]["kept"], told["steps"]["lost"]), (len(truth.kept), len(truth.lost)))
        saves = self.saves("marks", job)
        self.assertEqual([one["step"] for one in told["checkpoints"]], [save.step for save in saves])
        for one, save in zip(told["checkpoints"], saves):
            self.assertAlmostEqual(one["begin_ns"], save.begin_ns, delta=0.2 * S)
            self.assertAlmostEqual(one["complete_ns"], save.complete_ns, delta=0.2 * S)

    def saves(self, name: str, job: int) -> List[Save]:
        runs = [start for starts in SITE.truth(job, name).incarnations for start in starts]
        return [Save(number, *save) for number, start in enumerate(runs) for save in start.checkpoints()]

    def pooled(self, job: int, name: str, pool: Tuple[str, ...]) -> Tuple[Dict, Truth]:
        """Compares sgoodput's report with the truth: each bucket, or the sum of buckets that no evidence distinguishes."""
        show, truth = SITE.show(job), SITE.truth(job, name)
        checks.assert_partition(self, show)
        said, true = checks.said_buckets(show), truth.sums()
        for names in [pool] + [(one,) for one in sorted((set(said) | set(true)).difference(pool))]:
            self.assertAlmostEqual(sum(said.get(one, 0) for one in names) / S, sum(true.get(one, 0) for one in names) / S, delta=3,
                                   msg="%s\n%s\n%s" % (names, said, true))
        told: Dict = show["jobs"][0]
        self.assertEqual(self.causes(told), ["user_requeue"])
        return told, truth

    # --- failures of machines

    def test_power_cut_of_a_node(self) -> None:
        victim = SITE.machines["n2"]
        job = SITE.sbatch("cut", "--steps 50 --step-seconds 1 --save-every 10", "-N1", "-w", "n2", "--requeue", "--time=60")
        SITE.wait_steps("cut", 1, 15)
        cut = time.time()
        victim.cut_power()
        wait("Slurm notices", lambda: SITE.state(job) != "RUNNING", 600, 2)
        victim.start()
        victim.wait_up()
        victim.set_clock()
        self.assertEqual(victim.say("systemctl is-active goodputd"), "active")
        self.assertEqual(SITE.settle(job), "COMPLETED")
        told, truth = SITE.show(job)["jobs"][0], SITE.truth(job, "cut")
        self.assertEqual(self.causes(told), ["node_fail"])
        interruption, = told["interruptions"]
        self.assertEqual(interruption["node"], "n2")
        # From the time when the node was last seen, some seconds before the power cut; slurmdbd has whole seconds.
        unnoticed = SITE.node_went_down("n2")[-1] - cut
        self.assertGreater(unnoticed, 2 * HEARTBEAT_S)
        self.assertGreater(interruption["t_detect_s"], unnoticed - 1.5)
        self.assertLess(interruption["t_detect_s"], unnoticed + HEARTBEAT_S + 1.5)
        # Marks of about the last second were not on disk at the power cut.
        self.assertAlmostEqual(told["steps"]["lost"], len(truth.lost), delta=2)
        # Nor were the last lines of the trainer's log. Where it resumed, it says what the checkpoint had.
        resumed, = {record["step"] for record in SITE.log("cut") if record["event"] == "restore_end"}
        self.assertEqual(told["steps"]["kept"], len({step.number for step in truth.kept} | set(range(1, resumed + 1))))

    def test_reboot_of_a_node_in_mid_job(self) -> None:
        victim = SITE.machines["n2"]
        job = SITE.sbatch("rebooted", "--steps 50 --step-seconds 1 --save-every 10", "-N1", "-w", "n2", "--requeue", "--time=60")
        SITE.wait_steps("rebooted", 1, 15)
        victim.shut_down()
        victim.start()
        victim.wait_up()
        victim.set_clock()
        self.assertEqual(victim.say("systemctl is-active goodputd"), "active")
        self.assertEqual(SITE.settle(job), "COMPLETED")
        told, truth = SITE.show(job)["jobs"][0], SITE.truth(job, "rebooted")
        self.assertEqual([attempt["state"] for attempt in told["attempts"]], [attempt.state for attempt in truth.attempts])
        # munge stopped first: the node could not report that the job was killed, and Slurm declared it dead a minute later.
        self.assertEqual(self.causes(told), ["node_fail"])
        self.assertEqual(told["steps"]["lost"], len(truth.lost))
        self.assertEqual(told["steps"]["kept"], len(truth.kept))
        # The killed program wrote no more: it stopped at its last record, not at Slurm's end time.
        last = truth.incarnations[0][-1].records[-1]["t"]
        self.assertAlmostEqual(seconds(told, "lost_work"), (last - truth.lost[0].begin_ns) / S, delta=3)
        self.assertAlmostEqual(told["interruptions"][0]["t_detect_s"], ((truth.attempts[0].end_ns or 0) - last) / S, delta=3)
        # slurmstepd sends KILL if the machine shuts down slowly.
        self.assertEqual({(one["signal"], one["sender"]) for one in told["signals"]} - {("KILL", "slurmstepd")}, {("TERM", "outside")})

    def test_reboot_of_the_controller(self) -> None:
        """Times before and after the reboot use one clock, and the job that was not affected is complete."""
        job = SITE.sbatch("survivor", "--steps 150 --step-seconds 1 --save-every 20", "-N1", "--time=60")
        SITE.wait_steps("survivor", 1, 10)
        before = SITE.show(job)["jobs"][0]["attempts"][0]["start_ns"]
        SITE.ctl.shut_down()
        SITE.ctl.start()
        SITE.ctl.wait_up()
        SITE.ctl.set_clock()
        wait("slurmctld answers", lambda: SITE.ctl.run("scontrol ping | grep -q UP", check=False).returncode == 0, 600)
        self.assertEqual(SITE.settle(job), "COMPLETED")
        told, truth = SITE.show(job)["jobs"][0], SITE.truth(job, "survivor")
        self.assertEqual(told["attempts"][0]["start_ns"], before)
        self.assertEqual(self.causes(told), [])
        self.assertEqual(told["steps"]["kept"], len(truth.kept))
        # Accounting's end is by the controller's new clock, which drifts on an emulated machine; the program's is by its node's.
        self.assertAlmostEqual(told["attempts"][0]["end_ns"] / S, truth.incarnations[0][-1].end_ns / S, delta=2)

    def test_file_server_away_for_two_minutes(self) -> None:
        """No record of the nodes is lost meanwhile. The program trains on the node's local disk."""
        script = ("#!/bin/bash\ncd /var/tmp; srun python3 /opt/trainer/trainer.py --dir /var/tmp/away --marks --steps 200 --step-seconds 1 "
                  "--save-every 20\n")
        job = int(SITE.ctl.run("cd /tmp && runuser -u ada -- sbatch --parsable -J away -w n1 --mem=500 --time=60 -D /var/tmp "
                               "--output=/var/tmp/away.out", stdin=script).stdout)
        wait("it trains", lambda: "step_end" in SITE.nodes[0].run("cat /var/tmp/away/truth.0.jsonl", check=False).stdout, 600)
        SITE.ctl.run("systemctl stop nfs-server")
        time.sleep(120)
        SITE.ctl.run("systemctl start nfs-server")
        self.assertEqual(SITE.settle(job), "COMPLETED")
        wait("all 200 steps are told", lambda: SITE.show(job)["jobs"][0]["steps"]["kept"] == 200, 180, 5)

    def test_clock_of_a_node_ahead(self) -> None:
        node = SITE.machines["n2"]
        node.set_clock(3.0)
        self.addCleanup(node.set_clock)
        job = SITE.sbatch("ahead", "--steps 20 --step-seconds 1 --save-every 5", "-N1", "-w", "n2", "--time=20")
        self.assertEqual(SITE.settle(job), "COMPLETED")
        ahead = node.clock() - SITE.ctl.clock()
        self.assertAlmostEqual(ahead, 3, delta=0.3)
        told = SITE.show(job)["jobs"][0]
        self.assertEqual(told["steps"]["kept"], 20)
        # By the controller's clock. Accounting has whole seconds for the job's start and end, so all times may be shifted by that.
        saves = [record["t"] / S - ahead for record in SITE.log("ahead") if record["event"] == "save_end"]
        self.assertEqual(len(saves), 4)
        self.assertEqual(len(told["checkpoints"]), 4)
        for one, save in zip(told["checkpoints"], saves):
            self.assertAlmostEqual(one["complete_ns"] / S, save, delta=1.5)
        self.assertLess(seconds(told, "unobserved"), told["wall_ns"] / S / 100)


if __name__ == "__main__":
    unittest.main()
