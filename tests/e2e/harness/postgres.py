"""A private PostgreSQL server: one folder, a Unix socket, a TCP port of 127.0.0.1, no durability. It ends with its test."""

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from typing import Any, List, Optional


def programs() -> str:
    """The folder of initdb and pg_ctl, of the newest release; GOODPUT_POSTGRES names another."""
    if "GOODPUT_POSTGRES" in os.environ:
        return os.environ["GOODPUT_POSTGRES"]
    folders = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    if not folders:
        raise RuntimeError("PostgreSQL's server is missing: tools/deps test installs it")
    return os.path.dirname(max(folders, key=lambda path: int(path.split("/")[4])))


def offers_citus() -> bool:
    return os.path.exists(os.path.join(programs(), "..", "lib", "citus.so"))


def unprivileged() -> List[str]:
    """The server refuses to run as root."""
    if os.geteuid() != 0:
        return []
    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    return ["setpriv", "--reuid", user, "--regid", str(pwd.getpwnam(user).pw_gid), "--clear-groups"]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Postgres:
    def __init__(self, *settings: str) -> None:
        """settings: in the form NAME=VALUE."""
        self.settings = [word for setting in settings for word in ("-c", setting)]
        self.dir = tempfile.mkdtemp(prefix="goodput-pg-")
        self.port = free_port()
        self.bin = programs()
        if os.geteuid() == 0:
            user = pwd.getpwnam(unprivileged()[2])
            os.chown(self.dir, user.pw_uid, user.pw_gid)
        os.chmod(self.dir, 0o755)
        self.data = os.path.join(self.dir, "data")
        try:
            self.run("initdb", "-D", self.data, "-A", "trust", "-U", "owner", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
            self.start()
        except BaseException:
            shutil.rmtree(self.dir)
            raise

    def run(self, program: str, *args: str) -> None:
        done = subprocess.run(unprivileged() + [os.path.join(self.bin, program), *args], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, universal_newlines=True, cwd=self.dir,
                              timeout=120, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
        if done.returncode:
            raise RuntimeError("%s failed: %s" % (program, done.stderr))

    def start(self) -> None:
        """As a child that ends with this process, however that ends."""
        command = ["setpriv", "--pdeathsig", "QUIT"] + unprivileged()[1:] + [
            os.path.join(self.bin, "postgres"), "-D", self.data, "-k", self.dir, "-p", str(self.port), "-c", "listen_addresses=127.0.0.1",
            "-c", "fsync=off", "-c", "full_page_writes=off", *self.settings]
        with open(os.path.join(self.dir, "log"), "a") as log:
            self.server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir,
                                           env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, start_new_session=True)
        deadline = time.monotonic() + 60
        while self.psql("SELECT 1").returncode:
            if self.server.poll() is not None or time.monotonic() > deadline:
                with open(os.path.join(self.dir, "log")) as log:
                    raise RuntimeError("PostgreSQL did not start: " + log.read()[-2000:])
            time.sleep(0.05)

    def stop(self) -> None:
        """At once, as after a crash."""
        self.server.send_signal(signal.SIGQUIT)
        self.server.wait(60)

    def close(self) -> None:
        try:
            self.stop()
        finally:
            shutil.rmtree(self.dir)

    def url(self, role: str, database: str = "postgres") -> str:
        return "postgresql://%s@/%s?host=%s&port=%d" % (role, database, self.dir, self.port)

    def psql(self, sql: str, role: str = "owner", database: str = "postgres") -> "subprocess.CompletedProcess[str]":
        # Debian's psql in PATH is a script that looks for this one.
        return subprocess.run([os.path.join(self.bin, "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.dir, "-p", str(self.port), "-U", role,
                               database], input="SET search_path = goodput;\n" + sql, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=120,
                              env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})

    def ask(self, sql: str, database: str = "postgres") -> str:
        done = self.psql(sql, database=database)
        if done.returncode:
            raise RuntimeError("%s: %s" % (sql, done.stderr))
        return done.stdout.strip()


class CuttingProxy:
    """Forwards connections to a server, and closes both sides once the client has sent COMMIT for the `cut`th time, before the
    answer comes back."""

    def __init__(self, port: int, cut: int) -> None:
        self.port = port
        self.left = cut
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: int = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self) -> None:
        self.listener.close()

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            threading.Thread(target=self.forward, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.forward, args=(server, client, False), daemon=True).start()

    def forward(self, source: Any, target: Any, from_client: bool) -> None:
        last: Optional[bytes] = b""
        try:
            while True:
                data = source.recv(1 << 16)
                if not data:
                    break
                commits = from_client and b"COMMIT\0" in (last or b"")[-8:] + data
                last = data
                if commits:
                    self.left -= 1
                    if self.left == 0:
                        # The client hears nothing of what the server does.
                        self.cuts += 1
                        source.shutdown(socket.SHUT_RDWR)
                        target.sendall(data)
                        target.shutdown(socket.SHUT_WR)
                        return
                target.sendall(data)
        except OSError:
            pass
        for side in (source, target):
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
