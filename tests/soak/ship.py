#!/usr/bin/python3
"""Four nodes and a controller share a folder under every kind of failure: every event arrives exactly once.

    GOODPUT_BUILD=build python3 -m tests.soak.ship --minutes 60     (make soak SOAK_MINUTES=60)

Each node has a spool, a writer that appends to it with the product's own code, and a goodputd; the controller has a goodputd
and a database. The shared folder is a small file system in memory. Rounds of random failures (processes killed, stopped
and started twice; the folder full, read-only, hanging, missing, or owned by another user) alternate with quiet periods. After
each, every byte of the nodes' files is compared with the shared folder, and every record with the database by node, file and
offset.

Needs root and its own mount namespace, which disappears with this process. --seed repeats a run's choices (but not the
kernel's timing).
"""

import argparse
import collections
import contextlib
import ctypes
import glob
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from typing import Callable, Counter, Dict, List, Optional, Tuple

from tests.e2e.harness.record_blocks import records

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"))
GOODPUTD = os.path.join(BUILD, "tools", "goodputd", "goodputd")
SGOODPUT = os.path.join(BUILD, "tools", "sgoodput", "sgoodput")
WRITER = os.path.join(BUILD, "tests", "soak", "spool_writer")
NODES = 4
TROUBLE_S = 12.0
# A stopped helper that holds the database's lock is abandoned after 25 s.
CALM_LIMIT_S = 120.0
CLONE_NEWNS = 0x00020000


def own_mounts() -> None:
    """Later mounts are visible only to this process and its children, and end with them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare: " + os.strerror(ctypes.get_errno()))
    subprocess.check_call(["mount", "--make-rprivate", "/"])


def end_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def children_of(pid: int) -> List[int]:
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            found = [int(word) for word in file.read().split()]
    except OSError:
        found = []
    for task in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            with open(task) as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return sorted(set(found))


def is_helper(pid: int) -> bool:
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return b"\0--helper\0" in file.read()
    except OSError:
        return False


class Daemon:
    """A goodputd that is restarted whenever it is killed."""

    def __init__(self, site: "Site", name: str, conf: str) -> None:
        self.site, self.name, self.conf = site, name, conf
        self.child: Optional[subprocess.Popen] = None
        self.twin: Optional[subprocess.Popen] = None
        self.log = site.path(name + ".log")

    def spawn(self, conf: str) -> subprocess.Popen:
        with open(self.log, "ab") as output:
            return subprocess.Popen([GOODPUTD, "--config", conf], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                    cwd="/", env=dict(os.environ, SLURM_CONF=self.site.path("slurm.conf")),
                                    start_new_session=True, preexec_fn=end_with_parent)

    def start(self) -> None:
        if self.child is None or self.child.poll() is not None:
            self.child = self.spawn(self.conf)

    def helpers(self) -> List[int]:
        return [pid for pid in children_of(self.child.pid) if is_helper(pid)] if self.child else []

    def stop(self, how: int) -> None:
        for child in (self.twin, self.child):
            if child is not None and child.poll() is None:
                os.kill(child.pid, signal.SIGCONT)
                child.send_signal(how)
                child.wait(30)
        self.twin = None


class Site:
    def __init__(self, seed: int, rate: int, size_mb: int) -> None:
        self.random = random.Random(seed)
        self.rate = rate
        self.dir = tempfile.mkdtemp(prefix="goodput-ship-")
        self.shared = self.path("shared")
        os.mkdir(self.shared, 0o700)
        subprocess.check_call(["mount", "-t", "tmpfs", "-o", "mode=0700,size=%dm" % size_mb, "goodput-soak", self.shared])
        self.db = self.path("goodput.db")
        with open(self.path("slurm.conf"), "w") as file:
            file.write("ClusterName=c1\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=1\nMessageTimeout=2\n")
        self.nodes = ["n%d" % number for number in range(1, NODES + 1)]
        self.daemons = {node: Daemon(self, node, self.config(node, "node")) for node in self.nodes}
        self.controller = Daemon(self, "controller", self.config("controller", "controller"))
        self.writers: Dict[str, subprocess.Popen] = {}
        self.boots: Counter[str] = collections.Counter()
        self.written: Counter[str] = collections.Counter()
        self.done: Counter[str] = collections.Counter()
        self.heal: Dict[str, Callable[[], None]] = {}

    def path(self, *names: str) -> str:
        return os.path.join(self.dir, *names)

    def config(self, name: str, role: str, again: str = "") -> str:
        spool = self.path("spool-" + name)
        os.makedirs(spool, 0o700, exist_ok=True)
        if role == "node":
            os.makedirs(os.path.join(spool, name), 0o700, exist_ok=True)
        conf = self.path(name + again + ".conf")
        with open(conf, "w") as file:
            file.write("spool = %s\nshared_spool = %s\ndatabase = %s\nsocket = @soak-%d-%s%s\nrole = %s\ncluster = c1\n"
                       "signals = off\nheartbeat = 1s\n" % (spool, self.shared, self.db, os.getpid(), name, again, role))
        return conf

    # --- processes

    def write(self, node: str) -> None:
        if node in self.writers and self.writers[node].poll() is None:
            return
        self.written[node] += 10_000_000
        self.writers[node] = subprocess.Popen([WRITER, self.path("spool-" + node), node, "boot%d" % self.boots[node],
                                               str(self.written[node]), str(self.rate)], stdin=subprocess.DEVNULL,
                                              preexec_fn=end_with_parent)

    def run_all(self) -> None:
        for daemon in [*self.daemons.values(), self.controller]:
            daemon.start()
        for node in self.nodes:
            self.write(node)

    def everyone(self) -> List[Daemon]:
        return [*self.daemons.values(), self.controller]

    # --- failures; each returns how to undo it, unless it ends by itself

    def folder_is_in_trouble(self) -> bool:
        return any(name in self.heal for name in ("full", "remounted", "covered", "hanging", "given away"))

    def kill_daemon(self) -> None:
        daemon = self.random.choice(self.everyone())
        daemon.stop(signal.SIGKILL)
        if self.random.random() < 0.7:
            daemon.start()

    def restart_daemon(self) -> None:
        """Like systemd: sends the signal to every process of the service."""
        daemon = self.random.choice(self.everyone())
        if daemon.child is None or daemon.child.poll() is not None:
            return
        for pid in daemon.helpers():
            os.kill(pid, signal.SIGTERM)
        daemon.stop(signal.SIGTERM)
        daemon.start()

    def stop_daemon_for_a_while(self) -> None:
        child = self.random.choice(self.everyone()).child
        if child is not None and child.poll() is None:
            os.kill(child.pid, signal.SIGSTOP)
            self.heal["go on %d" % child.pid] = lambda: os.kill(child.pid, signal.SIGCONT) if child.poll() is None else None

    def to_a_helper(self, how: int) -> None:
        helpers = self.random.choice(self.everyone()).helpers()
        if helpers:
            try:
                os.kill(self.random.choice(helpers), how)
            except ProcessLookupError:
                pass

    def stop_helper(self) -> None:
        self.to_a_helper(signal.SIGSTOP)

    def kill_helper(self) -> None:
        self.to_a_helper(signal.SIGKILL)

    def start_twin(self) -> None:
        """A second daemon on a node: the old one still runs, or someone starts one manually."""
        node = self.random.choice(self.nodes)
        if self.daemons[node].twin is None:
            self.daemons[node].twin = self.daemons[node].spawn(self.config(node, "node", "-twin"))

    def kill_writer(self) -> None:
        node = self.random.choice(self.nodes)
        self.writers[node].kill()
        self.writers[node].wait()
        if self.random.random() < 0.5:
            self.boots[node] += 1
        self.write(node)

    def ingest_by_hand(self) -> None:
        if "hanging" in self.heal:
            return  # it waits for a server that does not answer, which is allowed
        child = subprocess.Popen([SGOODPUT, "ingest", "--config", self.controller.conf], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(self.random.uniform(0, 0.5))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def fill_up(self) -> None:
        if self.folder_is_in_trouble():
            return
        filler = os.path.join(self.shared, "filler")
        try:
            with open(filler, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(1 << 16))
        except OSError:
            pass
        self.heal["full"] = lambda: os.path.exists(filler) and os.unlink(filler)

    def make_read_only(self) -> None:
        if self.folder_is_in_trouble():
            return
        if subprocess.call(["mount", "-o", "remount,ro", self.shared], stderr=subprocess.DEVNULL) == 0:
            self.heal["remounted"] = lambda: subprocess.check_call(["mount", "-o", "remount,rw", self.shared])

    def cover(self) -> None:
        """The mount is missing for a while, and an empty folder of the same name receives the copies."""
        if self.folder_is_in_trouble():
            return
        subprocess.check_call(["mount", "-t", "tmpfs", "-o", "mode=0700,size=64m", "goodput-soak-2", self.shared])
        self.heal["covered"] = lambda: subprocess.check_call(["umount", "-l", self.shared])

    def hang(self) -> None:
        """A server that does not answer: FUSE without a server."""
        if self.folder_is_in_trouble():
            return
        try:
            fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return
        options = "fd=%d,rootmode=40700,user_id=0,group_id=0" % fuse
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"goodput-soak-3", self.shared.encode(), b"fuse", 0, options.encode()) != 0:
            os.close(fuse)
            return

        def answer_again() -> None:
            subprocess.check_call(["umount", "-l", self.shared])
            os.close(fuse)
        self.heal["hanging"] = answer_again

    def give_away(self) -> None:
        if self.folder_is_in_trouble():
            return
        os.chmod(self.shared, 0o777)
        self.heal["given away"] = lambda: os.chmod(self.shared, 0o700)

    def trouble(self, seconds: float) -> None:
        kinds: List[Tuple[int, Callable[[], None]]] = [
            (4, self.kill_daemon), (3, self.restart_daemon), (2, self.stop_daemon_for_a_while), (2, self.stop_helper),
            (4, self.kill_helper), (2, self.start_twin), (2, self.kill_writer), (3, self.ingest_by_hand),
            (2, self.fill_up), (2, self.make_read_only), (2, self.cover), (2, self.hang), (1, self.give_away)]
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            kind = self.random.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])[0]
            kind()
            self.done[kind.__name__] += 1
            time.sleep(self.random.uniform(0.02, 1.2))
            for name in list(self.heal):
                if self.random.random() < 0.3:
                    self.heal.pop(name)()

    # --- recovery and comparison

    def calm(self) -> int:
        """Undoes all failures, waits until all records have arrived, and compares. Returns the number of records."""
        for name in list(self.heal):
            self.heal.pop(name)()
        for daemon in self.everyone():
            if daemon.twin is not None and daemon.twin.poll() is None:
                daemon.twin.send_signal(signal.SIGTERM)
                daemon.twin.wait(30)
            daemon.twin = None
        self.run_all()
        for writer in self.writers.values():
            os.kill(writer.pid, signal.SIGSTOP)
        deadline = time.monotonic() + CALM_LIMIT_S
        while True:
            wrong = self.compare_folders() or self.compare_database()
            if not wrong:
                break
            if time.monotonic() > deadline:
                raise AssertionError("after %d s of calm: %s\n%s" % (CALM_LIMIT_S, wrong, self.logs()))
            time.sleep(0.5)
        for writer in self.writers.values():
            os.kill(writer.pid, signal.SIGCONT)
        return sum(len(lines) for lines in self.originals().values())

    def files(self) -> List[Tuple[str, str, str]]:
        return sorted((node, os.path.basename(path), path) for node in self.nodes
                      for path in glob.glob(os.path.join(self.path("spool-" + node), node, "*.jsonl")))

    def compare_folders(self) -> str:
        for node, name, path in self.files():
            copy = os.path.join(self.shared, node, name)
            if not os.path.exists(copy):
                return "%s has no copy" % path
            with open(path, "rb") as mine, open(copy, "rb") as theirs:
                if mine.read() != theirs.read():
                    return "%s is not its copy" % path
        return ""

    def originals(self) -> Dict[Tuple[str, str], Dict[int, bytes]]:
        """The complete lines of every file, by offset."""
        found: Dict[Tuple[str, str], Dict[int, bytes]] = {}
        for node, name, path in self.files():
            with open(path, "rb") as file:
                data = file.read()
            lines, at = {}, 0
            for line in data.split(b"\n")[:-1]:
                if line:
                    lines[at] = line
                at += len(line) + 1
            found[node, name] = lines
        return found

    def compare_database(self) -> str:
        if not os.path.exists(self.db):
            return "there is no database"
        originals = self.originals()
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % self.db, uri=True)) as db:
            try:
                db.execute("BEGIN")  # all tables as they were at one moment: the daemon adds files and records meanwhile
                sources = {row[0]: row[1:] for row in db.execute("SELECT id, node, file, offset, records FROM source")}
                rows = db.execute("SELECT source_id, offset, CAST(record AS BLOB) FROM event").fetchall()
                rows += [one for (data,) in db.execute("SELECT data FROM record_block") for one in records(data)]
                marks = dict(db.execute("SELECT source_id, sum(marks) FROM step_block GROUP BY 1").fetchall())
                bad = db.execute("SELECT source_id, offset, reason FROM quarantine").fetchall()
            except sqlite3.OperationalError as error:
                return str(error)
        if bad:
            raise AssertionError("set aside: %s" % bad[:3])
        if len({(node, file) for node, file, _, _ in sources.values()}) != len(sources):
            raise AssertionError("a file is there twice: %s" % sorted(sources.values()))
        events: Dict[int, Dict[int, bytes]] = {source: {} for source in sources}
        for source, offset, record in rows:
            if source not in events:
                raise AssertionError("a record's source %d is not in the database" % source)
            events[source][offset] = record
        of_source = {(node, file): source for source, (node, file, _, _) in sources.items()}
        for key, lines in originals.items():
            source = of_source.get(key)
            if source is None:
                if lines:
                    return "%s is not in the database" % (key,)
                continue
            for offset, record in events[source].items():
                if lines.get(offset) != record:
                    raise AssertionError("%s at %d is %r in the database, %r on the node" % (key, offset, record, lines.get(offset)))
            steps = sum(1 for line in lines.values() if b'"kind":"mark"' in line)
            if len(events[source]) < len(lines) - steps or marks.get(source, 0) < steps:
                return "of %s %d events and %d marks are in the database, not %d and %d" % (
                    key, len(events[source]), marks.get(source, 0), len(lines) - steps, steps)
            if len(events[source]) != len(lines) - steps or marks.get(source, 0) != steps or sources[source][3] != len(lines):
                raise AssertionError("of %s something is in the database twice" % (key,))
        return ""

    def logs(self) -> str:
        text = ""
        for daemon in self.everyone():
            with open(daemon.log, errors="replace") as file:
                text += "--- %s\n%s" % (daemon.name, "".join(file.readlines()[-15:]))
        return text

    def end(self) -> None:
        for heal in list(self.heal.values()):
            try:
                heal()
            except (OSError, subprocess.SubprocessError):
                pass
        for writer in self.writers.values():
            writer.kill()
            writer.wait()
        for daemon in self.everyone():
            helpers = daemon.helpers()
            daemon.stop(signal.SIGKILL)
            for pid in helpers:
                try:
                    if is_helper(pid):
                        os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        subprocess.call(["umount", "-l", self.shared])
        shutil.rmtree(self.dir, ignore_errors=True)


def soak(minutes: float, seed: int, rate: int = 100) -> str:
    """Runs for the given time and reports what was done. Raises AssertionError at the first event that is missing or duplicate."""
    site = Site(seed, rate, 64 + int(minutes * rate / 2))
    records = rounds = 0
    try:
        site.run_all()
        until = time.monotonic() + minutes * 60
        while time.monotonic() < until or rounds == 0:
            site.trouble(min(TROUBLE_S, max(3.0, until - time.monotonic())))
            records = site.calm()
            rounds += 1
            if sys.stderr.isatty() or rounds % 10 == 0:
                print("%d rounds, %d records" % (rounds, records), file=sys.stderr, flush=True)
    finally:
        files = len(site.files())
        site.end()
    return "%d records in %d files of %d nodes, each in the database once, after %d rounds of trouble: %s" % (
        records, files, NODES, rounds, json.dumps(dict(sorted(site.done.items()))))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--rate", type=int, default=40, help="records a second and node")
    options = parser.parse_args()
    print("seed %d" % options.seed, flush=True)
    own_mounts()
    print(soak(options.minutes, options.seed, options.rate), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
