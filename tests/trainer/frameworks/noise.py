"""Other output of training jobs: libraries, warnings, bars, colours, tracebacks, other ranks, users' own text.

None of it is a step, a save or a load of the run, however similar it looks.
"""

import datetime
import random
from typing import List, Tuple


def _nccl(draw: random.Random, rank: int, at: float) -> str:
    pid = 20000 + draw.randrange(900)
    return draw.choice([
        "a3-0:%d:%d [%d] NCCL INFO Channel 0%d/0 : 0[0] -> 1[1] via P2P/CUMEM\n" % (pid, pid + 77, rank % 8, draw.randrange(9)),
        "a3-0:%d:%d [%d] NCCL INFO Bootstrap: Using enp0s12:10.128.0.7<0>\n" % (pid, pid, rank % 8),
        "a3-0:%d:%d [%d] NCCL INFO ncclCommInitRankConfig comm 0x55d0c8 rank %d nranks 8 cudaDev %d nvmlDev %d busId 8a000 commId 0x9"
        " - Init COMPLETE\n" % (pid, pid + 5, rank % 8, rank, rank % 8, rank % 8)])


def _warning(draw: random.Random, rank: int, at: float) -> str:
    return draw.choice([
        "/usr/local/lib/python3.12/dist-packages/torch/utils/checkpoint.py:87: UserWarning: None of the inputs have requires_grad=True."
        " Gradients will be None\n  warnings.warn(\n",
        "/opt/venv/lib/python3.11/site-packages/torch/distributed/checkpoint/state_dict_saver.py:219: FutureWarning: step 7 of"
        " the deprecation plan\n",
        "[rank%d]:[W822 10:00:00.123456789 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank %d]  using GPU %d to perform barrier as"
        " devices used by this process are currently unknown.\n" % (rank, rank, rank % 8),
        "W0822 10:00:00.123000 22764 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable for each process to be 1\n",
        "srun: warning: can't honor --ntasks-per-node set to 8 which doesn't match the requested tasks 2\n"])


def _bar(draw: random.Random, rank: int, at: float) -> str:
    """A progress bar of something else, redrawn in place."""
    total = 8
    drawn = ["\rLoading checkpoint shards: %3d%%|%s| %d/%d [00:0%d<00:0%d,  1.05s/it]" % (
        100 * n // total, "█" * n + " " * (total - n), n, total, n, total - n) for n in range(0, total + 1, 2)]
    return "".join(drawn) + "\n"


def _traceback(draw: random.Random, rank: int, at: float) -> str:
    lines = ["Traceback (most recent call last):", '  File "/opt/data/loader.py", line 219, in __next__',
             "    raise RetryError(f'step {self.step}: {why}')", "RetryError: step 12: connection reset by peer",
             "During handling of the above exception, another exception occurred: retrying (1/5)"]
    return "".join(("[rank%d]: " % rank if draw.random() < 0.5 else "") + line + "\n" for line in lines)


def _user(draw: random.Random, rank: int, at: float) -> str:
    """Printed by the user's own program: similar words with other meanings."""
    return draw.choice([
        "warmup step: 5  loss: unknown (dry run of the data pipeline)\n",
        "[data] completed step: tokenize, seconds: 12.5\n",
        "plan: saving checkpoint at iteration      50 if the loss is below 2\n",
        "resume hint: successfully loaded checkpoint from /elsewhere was printed by the OTHER run\n",
        "step=banana, skipped=yes\n",
        "elapsed 100%|##########| of nothing\n",
        "{'loss': 'nan', 'note': 'a dict that somebody printed', 'epoch': 'none'}\n",
        "\033[1m\033[32mINFO\033[0m \033[38;5;208mdataset\033[0m ready: 1,048,576 samples\n",
        "\n", "\t\n", " \r\n", "-" * 400 + "\n"])


def _bytes(draw: random.Random, rank: int, at: float) -> str:
    return ""


def _slurm(draw: random.Random, rank: int, at: float) -> str:
    when = datetime.datetime.fromtimestamp(at).strftime("%Y-%m-%dT%H:%M:%S")
    return draw.choice(["slurmstepd: error: Detected 1 oom_kill event in StepId=77.0. Some of the step tasks have been OOM Killed.\n",
                        "pyxis: importing docker image: nvcr.io/nvidia/nemo:25.09\n", "+ date\n%s\n" % when])


def some(draw: random.Random, rank: int, ranks: int, at: float) -> Tuple[bytes, str]:
    """(bytes, "out" or "err")"""
    kind = draw.choice([_nccl, _nccl, _warning, _bar, _traceback, _user, _user, _slurm, _bytes])
    if kind is _bytes:
        raw: List[bytes] = [b"\xff\xfe\x00binary\x00junk\xc3(\n", b"half a line of caf\xe9 \x1b[0K\n", b"\x00" * 64 + b"\n",
                            b"A" * 9000 + b"\n"]
        return draw.choice(raw), "err"
    return kind(draw, rank, at).encode(), "out" if kind in (_user, _slurm) else "err"
