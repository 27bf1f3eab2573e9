#!/usr/bin/python3
"""A job that only prints its steps; the truth is in its own log.

    printer.py TRUTH STYLE STEPS [--first N] [--seconds S] [--compile-seconds S] [--noise] [--buffered] [--until FILE]

STYLE: megatron (with times and step durations, on stdout), undated (the same without times), hf (a bar without times, on stderr), titan (coloured, to stderr), own (a loop that no profile knows, with an evaluation in every fifth step, on stdout), total (likewise, without evaluations, and each line has the number of steps).
"""

import argparse
import datetime
import json
import os
import sys
import time


BEGAN = time.monotonic()
FLUSH = True


def say(truth: str, event: str, step: int = 0) -> None:
    with open(truth, "a") as file:
        file.write(json.dumps({"event": event, "step": step, "t": time.time_ns()}) + "\n")


def line(style: str, step: int, steps: int, seconds: float) -> None:
    now = datetime.datetime.now()
    if style in ("megatron", "undated"):
        time_of = "" if style == "undated" else " [%s]" % now.strftime("%Y-%m-%d %H:%M:%S.%f")
        print("%s iteration %8d/%8d | consumed samples: %12d | elapsed time per iteration (ms): %.1f | learning rate: 1.0E-04 |"
              % (time_of, step, steps, 256 * step, 1000 * seconds), flush=True)
    elif style == "own":
        print("[trainer] update %d: loss %.3f (lr 1e-4)" % (step, 9 - 0.1 * step), flush=FLUSH)
        if step % 5 == 0:
            print("[trainer] update %d: validation loss %.3f" % (step, 9 - 0.1 * step), flush=FLUSH)
    elif style == "total":
        print("step %d/%d loss %.3f" % (step, steps, 9 - 0.1 * step), flush=FLUSH)
    elif style == "hf":
        elapsed = int(time.monotonic() - BEGAN)
        sys.stderr.write("\r%3d%%|%-10s| %d/%d [%02d:%02d<00:20,  1.00s/it]" % (
            100 * step // steps, "#" * (10 * step // steps), step, steps, elapsed // 60, elapsed % 60))
        sys.stderr.flush()
    else:
        sys.stderr.write("[titan] %s,%03d - root - INFO - \x1b[31mstep: %2d  \x1b[32mloss:  7.1\x1b[39m  \x1b[33mgrad_norm:  1.2\x1b[0m\n"
                         % (now.strftime("%Y-%m-%d %H:%M:%S"), now.microsecond // 1000, step))
        sys.stderr.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("truth")
    parser.add_argument("style")
    parser.add_argument("steps", type=int)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--compile-seconds", type=float, default=0, help="how much longer the first step takes")
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--buffered", action="store_true", help="do not flush after a line of style own")
    parser.add_argument("--until", help="does not exit before this file exists")
    args = parser.parse_args()
    global FLUSH  # pylint: disable=global-statement
    FLUSH = not args.buffered
    main_rank = os.environ.get("SLURM_PROCID", "0") == "0"
    truth = args.truth if main_rank else os.devnull
    say(truth, "start")
    if args.noise and main_rank:
        sys.stdout.buffer.write(b"\xff\x00junk" * 4_000_000 + b"\n\x1b[31m\x1b]0;title\n")
        sys.stdout.flush()
    time.sleep(0.6)
    if args.style == "hf":
        line("hf", 0, args.steps, 0)  # like transformers, also if it resumes later
    for step in range(args.first, args.steps + 1):
        say(truth, "step_begin", step)
        began = time.monotonic()
        time.sleep(args.seconds + (args.compile_seconds if step == args.first else 0))
        line(args.style, step, args.steps, time.monotonic() - began)
        say(truth, "step_end", step)
    if args.style == "hf":
        sys.stderr.write("\n")  # as tqdm does when it is closed
        sys.stderr.flush()
    while args.until and not os.path.exists(args.until):
        time.sleep(0.1)
    say(truth, "exit")


main()
