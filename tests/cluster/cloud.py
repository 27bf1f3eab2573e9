"""Cloud nodes, which slurmctld boots when a job needs them; booting takes a while."""

import os
from typing import List, NamedTuple, Sequence

_RESUME = """#!/bin/bash
# Newer releases kill the processes that this program started when it ends, but not a slurmd that has become a daemon.
for node in $(SLURM_CONF={top}/etc/slurm.conf scontrol show hostnames "$1"); do
    (sleep {boot_s}; exec env -i PATH="$PATH" {member}={top} slurmd -N "$node" -b -f {top}/etc/slurm.conf) \\
        > {top}/log/boot-$node.out 2>&1 < /dev/null &
done
wait
"""


class Cloud(NamedTuple):
    nodes: List[str] = []
    boot_s: float = 0

    def conf(self, top: str, others: Sequence[str]) -> List[str]:
        """Lines of slurm.conf. Slurm releases nodes only after a longer time than any test takes."""
        if not self.nodes:
            return []
        return ["ResumeProgram=%s/etc/resume" % top, "SuspendProgram=/bin/true", "SuspendTime=3600", "ResumeTimeout=60",
                "SuspendTimeout=5", "SuspendExcNodes=" + ",".join(others),
                "PartitionName=cloud Nodes=%s State=UP MaxTime=INFINITE PriorityTier=1" % ",".join(self.nodes)]

    def write_programs(self, top: str) -> None:
        if not self.nodes:
            return
        path = os.path.join(top, "etc", "resume")
        with open(path, "w") as file:
            file.write(_RESUME.format(top=top, boot_s=self.boot_s, member="GOODPUT_CLUSTER_MEMBER"))
        os.chmod(path, 0o755)
