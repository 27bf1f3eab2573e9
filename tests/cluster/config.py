"""Writes the configuration files of a private cluster: slurm.conf and others."""

import os
import socket
from typing import Iterable, List, Sequence

from cloud import Cloud

GPUS_A_NODE = 8


def cgroup_version() -> int:
    """2 if /sys/fs/cgroup is the unified hierarchy, otherwise 1."""
    return 2 if os.path.exists("/sys/fs/cgroup/cgroup.controllers") else 1


def _auth(top: str, auth: str, cred_expire_s: int) -> List[str]:
    # With auth/slurm every daemon would serve credentials at the same path of the machine: only the cluster's sackd shall do so.
    info = "socket=%s/munge/socket" % top if auth == "munge" else "disable_sack"
    if cred_expire_s:
        info += ",cred_expire=%d" % cred_expire_s
    return ["AuthType=auth/" + auth, "AuthInfo=" + info, "CredType=" + ("cred/munge" if auth == "munge" else "auth/slurm")]


def _slurm_conf(top: str, name: str, nodes: Sequence[str], ports: Sequence[int], mode: str, dbd: bool, auth: str,
                kill_wait_s: int, grace_s: int, debug: str, cred_expire_s: int, extra: Iterable[str],
                cloud: Cloud) -> str:
    host = socket.gethostname().split(".")[0]
    lines = [
        "ClusterName=" + name,
        "SlurmctldHost=%s(127.0.0.1)" % host,
        "SlurmctldPort=%d" % ports[0],
        "SlurmUser=root",
        "SlurmdUser=root",
        "StateSaveLocation=%s/state" % top,
        "SlurmdSpoolDir=%s/spool/%%n" % top,
        "SlurmctldPidFile=%s/run/slurmctld.daemon.pid" % top,
        "SlurmdPidFile=%s/run/slurmd-%%n.daemon.pid" % top,
        "SlurmctldLogFile=%s/log/slurmctld.log" % top,
        "SlurmdLogFile=%s/log/slurmd-%%n.log" % top,
        "SlurmctldDebug=" + debug,
        "SlurmdDebug=" + debug,
        "LogTimeFormat=iso8601_ms",
        "MpiDefault=none",
        "SwitchType=switch/none",
        "TaskPlugin=task/none",
        "ReturnToService=2",
        "MinJobAge=3600",
        "KillWait=%d" % kill_wait_s,
        "CompleteWait=0",
        "SlurmdTimeout=300",
        # Dozens of jobs start at once, on two processors; after Slurm's own 10 s srun gives up its launch.
        "MessageTimeout=60",
        "TreeWidth=100",
        "SlurmdParameters=config_overrides",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        "SchedulerType=sched/backfill",
        # Schedule at once and every second, because tests wait for decisions.
        "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,bf_continue",
        "PriorityType=priority/basic",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=REQUEUE",
        "JobRequeue=1",
        "GresTypes=gpu",
    ] + _auth(top, auth, cred_expire_s)
    if mode == "cgroup":
        lines += ["ProctrackType=proctrack/cgroup", "PrologFlags=Contain"]
    else:
        lines += ["ProctrackType=proctrack/linuxproc"]
    if dbd:
        if auth == "munge":
            lines.append("AccountingStoragePass=%s/munge/socket" % top)
        lines += ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=127.0.0.1",
                  "AccountingStoragePort=%d" % ports[1],
                  "AccountingStoreFlags=job_comment", "AccountingStorageTRES=gres/gpu,gres/gpu:h100",
                  "JobAcctGatherType=jobacct_gather/linux", "JobAcctGatherFrequency=30"]
    else:
        # Without slurmdbd, slurmctld refuses to account for gres/gpu.
        lines += ["AccountingStorageType=accounting_storage/none", "JobAcctGatherType=jobacct_gather/none"]
    # The resources of an a3-megagpu-8g; with config_overrides they may exceed the machine's.
    for node, port in zip(list(nodes) + cloud.nodes, ports[2:]):
        lines.append("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d Sockets=2 CoresPerSocket=52 "
                     "ThreadsPerCore=2 RealMemory=1800000 Gres=gpu:h100:%d%s" % (
                         node, host, port, GPUS_A_NODE, " State=CLOUD" if node in cloud.nodes else ""))
    lines += cloud.conf(top, nodes)
    where = "Nodes=%s State=UP MaxTime=INFINITE" % ",".join(nodes)
    lines += [
        "PartitionName=a3mega %s Default=YES PriorityTier=1" % where,
        "PartitionName=a3grace %s PriorityTier=1 GraceTime=%d" % (where, grace_s),
        "PartitionName=high %s PriorityTier=10" % where,
    ]
    return "\n".join(merge(lines, extra)) + "\n"


def merge(lines: List[str], extra: Iterable[str]) -> List[str]:
    """`extra` after `lines`, replacing a line that sets the same key (Slurm rejects duplicate keys).

    Keys of which there may be several (nodes, partitions, ...) are only added, except that a PartitionName or NodeName
    of the same name is replaced.
    """
    def key(line: str) -> str:
        first = line.split()[0] if line.split() else ""
        name, _, value = first.partition("=")
        if name.lower() in ("partitionname", "nodename", "downnodes", "nodeset", "include"):
            return first.lower()
        return name.lower()

    extra = [line for line in extra if line.strip()]
    replaced = {key(line) for line in extra}
    return [line for line in lines if key(line) not in replaced] + extra


def _cgroup_conf(extra: Iterable[str]) -> str:
    if cgroup_version() == 2:
        lines = ["CgroupPlugin=cgroup/v2", "IgnoreSystemd=yes"]
    else:
        lines = ["CgroupPlugin=cgroup/v1", "CgroupMountpoint=/sys/fs/cgroup", "CgroupAutomount=no"]
    return "\n".join(merge(lines, extra)) + "\n"


def _write(path: str, text: str, mode: int = 0o644) -> None:
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def _write_key(path: str) -> None:
    key = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(key, os.urandom(128))
    os.close(key)


def write_all(top: str, name: str, nodes: Sequence[str], ports: Sequence[int], mode: str, dbd: bool, auth: str,
              plugstack: Iterable[str], kill_wait_s: int, grace_s: int, debug: str, cred_expire_s: int,
              extra: Iterable[str], cgroup_extra: Iterable[str] = (), cloud: Cloud = Cloud()) -> None:
    """Everything under `top`/etc, a key and the fake GPUs. ports: slurmctld, slurmdbd, one a node, cloud last."""
    etc = os.path.join(top, "etc")
    for folder in ("etc", "log", "run", "state", "spool", "dev", "munge", "jobs"):
        os.makedirs(os.path.join(top, folder), 0o755, exist_ok=True)
        os.chmod(os.path.join(top, folder), 0o755)
    for gpu in range(GPUS_A_NODE):
        device = os.path.join(top, "dev", "nvidia%d" % gpu)
        if not os.path.exists(device):
            os.mknod(device, 0o020666, os.makedev(1, 3))  # a device like /dev/null
            os.chmod(device, 0o666)
    _write_key(os.path.join(top, "munge", "key") if auth == "munge" else os.path.join(etc, "slurm.key"))
    _write(os.path.join(etc, "slurm.conf"),
           _slurm_conf(top, name, nodes, ports, mode, dbd, auth, kill_wait_s, grace_s, debug, cred_expire_s, extra, cloud))
    cloud.write_programs(top)
    _write(os.path.join(etc, "gres.conf"),
           "AutoDetect=off\nName=gpu Type=h100 File=%s/dev/nvidia[0-%d]\n" % (top, GPUS_A_NODE - 1))
    _write(os.path.join(etc, "cgroup.conf"), _cgroup_conf(cgroup_extra))
    _write(os.path.join(etc, "plugstack.conf"), "".join(line.rstrip("\n") + "\n" for line in plugstack))
    if dbd:
        _write(os.path.join(etc, "slurmdbd.conf"), "\n".join(_auth(top, auth, 0)[:2] + [
            "DbdHost=localhost", "DbdAddr=127.0.0.1",
            "DbdPort=%d" % ports[1], "SlurmUser=root", "StorageType=accounting_storage/mysql",
            "StorageHost=localhost", "StorageUser=root", "StorageLoc=slurm_acct_db",
            "LogFile=%s/log/slurmdbd.log" % top, "PidFile=%s/run/slurmdbd.daemon.pid" % top, "DebugLevel=" + debug,
            ""]), 0o600)
