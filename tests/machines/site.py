"""Three machines as at a real site: a controller with slurmdbd and an NFS server, and two nodes."""

import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, Dict, Iterable, List, Optional, Sequence

from tests.cluster.cluster import Cluster
from tests.e2e.harness import truth as truths

from .guide import TOP, Guide
from .machine import Machine, wait

TRAINER = "/opt/trainer/trainer.py"
OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED")
UNITS = {"ctl": ("goodputd-controller",), "n1": ("goodputd", "goodputd.socket"), "n2": ("goodputd", "goodputd.socket")}


class Site:
    """Started by `start`; `stop` removes everything."""

    def __init__(self, image: str, packages: str, place: str) -> None:
        os.makedirs(place, exist_ok=True)
        for name in os.listdir(place):
            os.unlink(os.path.join(place, name))
        self._packages, self._place = packages, place
        self.guide = Guide()
        self.machines = {name: Machine(name, image, place) for name in ("ctl", "n1", "n2")}
        self.ctl = self.machines["ctl"]
        self.nodes = [self.machines["n1"], self.machines["n2"]]

    def each(self, do: Callable[[Machine], object], machines: Optional[Iterable[Machine]] = None) -> None:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(do, machines or self.machines.values()))

    def start(self) -> None:
        for machine in self.machines.values():
            machine.start()
        self.each(lambda machine: machine.wait_up())
        self.each(lambda machine: machine.set_clock())
        self._start_slurm()
        self._install()

    def stop(self) -> None:
        for machine in self.machines.values():
            machine.cut_power()

    def _start_slurm(self) -> None:
        self.ctl.run("""set -e; mkdir -p /home/ada /home/bob; chown ada: /home/ada; chown bob: /home/bob
            systemctl enable --now mariadb
            mysql -e 'create user slurm@localhost identified by "slurm"; grant all on slurm_acct_db.* to slurm@localhost'
            systemctl enable --now slurmdbd
            for i in $(seq 60); do sacctmgr -n show cluster >/dev/null 2>&1 && break; sleep 1; done
            for add in 'cluster vmtest' 'account research' 'user ada account=research' 'user bob account=research'; do sacctmgr -i add $add; done
            systemctl enable --now slurmctld""")
        self.each(lambda node: node.run("systemctl restart home.mount && systemctl enable --now slurmd"), self.nodes)
        self.wait_idle()

    def clear(self) -> None:
        """Cancels jobs that a failed test left running."""
        self.ctl.run("scancel --user=ada; scancel --user=bob", check=False)

    def wait_idle(self) -> None:
        """Idle nodes, except those that Slurm also reports as invalid or not responding."""
        def states() -> List[str]:
            return self.ctl.run("sinfo -h -N -p low -o %T", check=False).stdout.split()
        wait("both nodes are idle", lambda: states() == ["idle", "idle"], 600)

    def _install(self) -> None:
        """Installs the packages with the commands of the operators' guide."""
        self.ctl.run("install -d -m 0700 " + self.guide.shared_folder)
        self.each(self._install_on)
        self.ctl.run(self.guide.controller)
        self.each(self._let_in)
        self.each(self._confine, self.confined)

    def _install_on(self, machine: Machine) -> None:
        for folder, target in ((self._packages, "/root/packages"), (os.path.join(TOP, "tests", "trainer"), "/opt/trainer")):
            with subprocess.Popen(["tar", "-C", folder, "--exclude=source", "--exclude=__pycache__", "-cf", "-", "."], stdout=subprocess.PIPE) as tar:
                done = subprocess.run(machine._ssh("mkdir -p %s && tar --no-same-owner -C %s -xf -" % (target, target)), stdin=tar.stdout)
            assert done.returncode == 0, "copying %s to %s" % (folder, machine.name)
        install = self.guide.install.replace("apt-get install", "apt-get install -y")
        machine.run("cd /root/packages && " + install, timeout_s=1200)
        # The commands of the package's own documentation.
        machine.run("grep -rh '^optional' /usr/share/doc/slurm-goodput-plugin | head -n 1 >/etc/slurm/plugstack.conf && "
                    "grep spank_goodput /etc/slurm/plugstack.conf")
        if machine in self.nodes:
            machine.run("grep -rhx ' *systemctl restart slurmd' /usr/share/doc/slurm-goodput-plugin | grep . | sh -e")
        machine.run("echo '%s' >>/etc/slurm-goodput/goodput.conf" % self.guide.shared_spool)

    def _let_in(self, machine: Machine) -> None:
        """Writes the file that `systemctl edit` would write, because that needs a terminal."""
        unit = UNITS[machine.name][0]
        machine.write("/etc/systemd/system/%s.service.d/override.conf" % unit, self.guide.drop_in)
        machine.run("systemctl daemon-reload && systemctl restart " + unit)

    @property
    def confined(self) -> List[Machine]:
        """The machines on which AppArmor confines goodputd: the controller and one of the nodes."""
        return [self.ctl, self.nodes[1]]

    def _confine(self, machine: Machine) -> None:
        """Loads the package's AppArmor profile with the commands in it, and allows the shared spool."""
        profile = "/usr/share/slurm-goodput/apparmor/goodputd"
        machine.write("/etc/apparmor.d/local/goodputd", self.guide.shared_folder + "/{,**} rwkl,\n")
        commands = machine.say("sed -n 's/^#   \\(.*apparmor.*\\)/\\1/p' " + profile)
        machine.run("set -e; " + commands.replace("restart goodputd", "restart " + UNITS[machine.name][0]))

    # --- jobs, in the form that tests.e2e.harness.truth uses

    def run(self, argv: Sequence[str], env: Optional[Dict[str, str]] = None) -> "subprocess.CompletedProcess[str]":
        words = ["env"] + ["%s=%s" % pair for pair in (env or {}).items()] + list(argv)
        return self.ctl.run(" ".join(map(shlex.quote, words)))

    sacct = Cluster.sacct
    wait_sacct = Cluster.wait_sacct

    def sbatch(self, name: str, training: str, *options: str, after: str = "", user: str = "ada", marks: bool = True) -> int:
        """Submits a job with the trainer in /home/USER/NAME; after: what the script does afterwards."""
        folder = "/home/%s/%s" % (user, name)
        return self.submit(name, "srun python3 %s --dir %s %s %s\n%s" % (TRAINER, folder, "--marks" if marks else "", training, after), *options, user=user)

    def submit(self, name: str, script: str, *options: str, user: str = "ada") -> int:
        """Submits a job with these lines of bash, which prints to /home/USER/NAME.out unless the options change that."""
        words = ["sbatch", "--parsable", "--job-name=" + name, "--output=/home/%s/%s.out" % (user, name), "--mem=500"]
        command = " ".join(map(shlex.quote, words + list(options)))
        return int(self.ctl.run("cd /home/%s && runuser -u %s -- %s" % (user, user, command), stdin="#!/bin/bash\n" + script).stdout)

    def log(self, name: str, user: str = "ada") -> List[Dict]:
        """The trainer's log on the file server."""
        text = self.ctl.run("cat /home/%s/%s/truth.0.jsonl" % (user, name), check=False).stdout
        return [json.loads(line) for line in text.split("\n")[:-1] if line.startswith("{")]

    def wait_steps(self, name: str, starts: int, steps: int, timeout_s: float = 900) -> None:
        """Waits until the trainer's starts-th start has done this many steps."""
        def done() -> bool:
            log = self.log(name)
            begins = [i for i, record in enumerate(log) if record["event"] == "start"]
            return len(begins) >= starts and sum(r["event"] == "step_end" for r in log[begins[starts - 1]:]) >= steps
        wait("%s: start %d does %d steps" % (name, starts, steps), done, timeout_s, 2)

    def state(self, job: int) -> str:
        """As slurmctld reports it, or slurmdbd if slurmctld has forgotten the job (MinJobAge)."""
        known = self.ctl.run("squeue -h -t all -o %%T -j %d" % job, check=False)
        if known.returncode == 0 and known.stdout.strip():
            return known.stdout.strip()
        # "CANCELLED by 0"
        return self.ctl.run("sacct -n -X -P -o State -j %d" % job, check=False).stdout.strip().split(" ")[0]

    def settle(self, job: int, timeout_s: float = 1200) -> str:
        """The job's last state, after accounting is complete and the nodes' records had time to arrive."""
        wait("job %d is over" % job, lambda: self.state(job) in OVER, timeout_s, 3)
        self.wait_sacct(job, lambda rows: all(row["End"] is not None for row in rows), 300)
        self.ctl.run("sleep 15")
        return self.state(job)

    def show(self, job: int) -> Dict:
        return json.loads(self.ctl.run("sgoodput show %d --json 2>/dev/null" % job).stdout)

    def truth(self, job: int, name: str, **more: object) -> truths.Truth:
        rows = self.wait_sacct(job, bool)
        return truths.Truth(self.log(name), rows, **more)  # type: ignore

    def node_went_down(self, node: str) -> List[float]:
        """When slurmctld set the node down, in seconds, from slurmdbd."""
        said = self.ctl.say("SLURM_TIME_FORMAT=%%s sacctmgr -nP show event nodes=%s start=now-2hours format=TimeStart,State" % node)
        return [float(line.split("|")[0]) for line in said.splitlines() if "DOWN" in line]

    def warnings(self, machine: Machine) -> str:
        """The journal of our units since its boot."""
        units = " ".join("-u " + unit for unit in UNITS[machine.name])
        return machine.say("journalctl -b -q -o cat -p warning --no-pager " + units)
