"""A private MariaDB: one datadir, one Unix socket, no network, and no durability (it ends with its cluster)."""

import fcntl
import os
import shutil
import subprocess
from typing import List

import reap

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def cache_dir() -> str:
    return os.environ.get("GOODPUT_CACHE") or os.path.join(CHECKOUT, "build", "cache")


def _version() -> str:
    out = subprocess.run(["mariadbd", "--version"], stdout=subprocess.PIPE, universal_newlines=True, check=True)
    return out.stdout.split("Ver ", 1)[-1].split()[0]


def template() -> str:
    """An empty datadir, made once: mariadb-install-db takes seconds, copying its result a tenth of a second."""
    os.makedirs(cache_dir(), exist_ok=True)
    ready = os.path.join(cache_dir(), "mariadb-" + _version())
    with open(os.path.join(cache_dir(), "mariadb.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(ready):
            return ready
        unready = ready + ".unready"
        shutil.rmtree(unready, ignore_errors=True)
        made = subprocess.run(
            ["mariadb-install-db", "--no-defaults", "--user=root", "--datadir=" + unready, "--skip-test-db",
             "--auth-root-authentication-method=socket", "--innodb-log-file-size=8M"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
            pass_fds=[lock.fileno()])  # if this process is killed, the lock is held until the installer has ended, too
        if made.returncode != 0:
            raise RuntimeError("mariadb-install-db failed:\n" + made.stdout)
        os.rename(unready, ready)
    return ready


def make_datadir(top: str) -> None:
    """A fresh datadir at `top`/mariadb, `top` being the cluster's directory."""
    # --reflink=auto is free if the file system can share blocks; --sparse keeps the ib files small.
    subprocess.run(["cp", "-a", "--reflink=auto", "--sparse=always", template(), os.path.join(top, "mariadb")],
                   env=dict(os.environ, **{reap.MEMBER: top}), check=True)


def command(datadir: str, sock: str) -> List[str]:
    return [
        "mariadbd", "--no-defaults", "--user=root", "--datadir=" + datadir, "--socket=" + sock,
        "--pid-file=" + os.path.join(datadir, "mariadbd.pid"), "--skip-networking", "--skip-log-bin",
        "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0", "--innodb-flush-method=nosync",
        "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900",
        "--performance-schema=OFF", "--table-open-cache=400", "--aria-pagecache-buffer-size=8M",
        "--key-buffer-size=8M", "--tmpdir=" + datadir,
    ]
