#!/usr/bin/python3
"""watchdog.py DIR PID START_TIME: removes the cluster in DIR when its owner has ended, for whatever reason."""

import os
import signal
import sys
import time

import reap


def main() -> int:
    top, pid, started = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    # Ignore Ctrl-C and a closed terminal, which end the owner: this process must still clean up.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while reap.start_time(pid) == started:
        if not os.path.isdir(top):
            return 0  # the owner has cleaned up
        time.sleep(0.25)
    reap.destroy(top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
