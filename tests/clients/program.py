#!/usr/bin/python3
"""Does the same as program.c with goodput.py: `program.py LOG`, with PYTHONPATH set to its folder."""

import sys
import time
from typing import Any, Callable, TextIO

import goodput


def main(log: TextIO) -> None:
    def marked(what: str, call: Callable[..., None], *args: Any) -> None:
        before = time.time_ns()
        call(*args)
        log.write("%s %d %d\n" % (what, before, time.time_ns()))

    recorder = goodput.GoodputRecorder("a run", "a log", logging_enabled=True)
    marked("phase-begin-init", recorder.record_tpu_init_start_time)
    time.sleep(0.2)
    marked("phase-end-init", recorder.record_tpu_init_end_time)
    marked("restore-begin", goodput.restore_begin)
    time.sleep(0.1)
    marked("restore-end-5", goodput.restore_end, 5)
    marked("world-begin-3-4", goodput.world, 3, 4)
    for step in range(6, 26):
        marked("step-begin-%d" % step, recorder.record_step_start_time, step)
        time.sleep(0.05)
        if step == 10:
            marked("step-end-failed-10", goodput.step_failed, step)
            time.sleep(0.05)
        if step % 10 == 5:
            marked("checkpoint-begin-%d" % step, goodput.checkpoint_begin, step)
            time.sleep(0.1)
            marked("checkpoint-end-%d" % step, goodput.checkpoint_end, step)
        if step == 15:
            marked("phase-begin-evaluation", goodput.phase_begin, "evaluation")
            time.sleep(0.15)
            marked("phase-end-evaluation", goodput.phase_end, "evaluation")
    log.write("dropped %d 0\n" % goodput.dropped())


if __name__ == "__main__":
    with open(sys.argv[1], "w") as opened:
        main(opened)
