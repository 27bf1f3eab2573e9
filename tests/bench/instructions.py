"""Instructions per hook, counted by callgrind with libc and without the kernel: independent of the machine's load."""

import glob
import os
import re
import subprocess
import tempfile
from typing import List, Tuple

from plugins import HOOK_COST, OURS, parse, spool

JOBS = 20


def _instructions(hook: str, calls: int) -> float:
    """The average of one call: callgrind counts only between the hook's entry and its return."""
    with spool() as folder, tempfile.TemporaryDirectory() as out:
        subprocess.run(["valgrind", "--tool=callgrind", "--quiet", "--callgrind-out-file=%s/out" % out,
                        "--toggle-collect=slurm_spank_" + hook, HOOK_COST, OURS, str(JOBS), "spool=" + folder],
                       check=True, stdout=subprocess.DEVNULL)
        with open(glob.glob(os.path.join(out, "out*"))[0]) as file:
            total = re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M)
        assert total is not None
        return int(total.group(1)) / calls


def measure() -> List[Tuple]:
    with spool() as folder:
        hooks = parse(subprocess.check_output([HOOK_COST, OURS, "1", "spool=" + folder], text=True))
    return [(hook, "%.0f instructions" % _instructions(hook, JOBS * (4 if hook.startswith("task") else 1)))
            for hook in sorted(hooks)]
