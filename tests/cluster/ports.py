"""Free TCP ports for a cluster; clusters that start at the same time never get the same ones."""

import random
import socket
from typing import List, Tuple

# Below the kernel's ephemeral range (32768 up), so that no outgoing connection takes one before the daemons bind it.
FIRST, LAST, BLOCK = 12000, 32000, 100


def _free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
    return True


def reserve(count: int) -> Tuple[List[int], socket.socket]:
    """`count` consecutive free ports, and a lock to close once the daemons listen on them.

    The lock is an abstract Unix socket: it vanishes with the process, so a killed starter blocks nobody.
    """
    if count > BLOCK:
        raise ValueError("at most %d ports at once, not %d" % (BLOCK, count))
    blocks = list(range(FIRST, LAST, BLOCK))
    random.SystemRandom().shuffle(blocks)
    for base in blocks:
        lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            lock.bind("\0goodput-test-ports-%d" % base)
        except OSError:
            lock.close()
            continue
        ports = list(range(base, base + count))
        if all(_free(port) for port in ports):
            return ports, lock
        lock.close()
    raise RuntimeError("no %d free ports in a row between %d and %d" % (count, FIRST, LAST))
