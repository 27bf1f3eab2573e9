"""Sends marks: to the daemon's socket, or by running a command. Never fails, never waits long."""

import json
import os
import socket
import subprocess
import threading
import time
from typing import Callable, Dict, List, Optional

WAIT_S = 0.005


class NoMarks:
    dropped = 0

    def step(self, number: int, edge: str) -> None:
        pass

    def step_failed(self, number: int) -> None:
        pass

    def checkpoint(self, number: int, edge: str) -> None:
        pass

    def restore(self, number: int, edge: str) -> None:
        pass

    def phase(self, name: str, edge: str) -> None:
        pass

    def world(self, stepping: int, wanted: int, spares: int) -> None:
        pass


class SocketMarks(NoMarks):
    """One JSON object per message on a Unix seqpacket socket; "@name" is an abstract one. A message that cannot be sent within 5
    ms is dropped, counted and reported to `on_drop`."""

    def __init__(self, address: str, on_drop: Callable[[str], None]) -> None:
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._on_drop = on_drop
        self._lock = threading.Lock()  # an asynchronous save marks its end from its own thread
        self._socket: Optional[socket.socket] = None
        self.dropped = 0
        env = os.environ
        step = env.get("SLURM_STEP_ID", "batch")
        self._identity: Dict[str, object] = {
            "job": int(env.get("SLURM_JOB_ID", "0")),
            "slurm_step": step if step.isdigit() and int(step) < 0xffff0000 else "batch",
            "task": int(env.get("SLURM_PROCID", "0")), "node": env.get("SLURMD_NODENAME", "")}

    def step(self, number: int, edge: str) -> None:
        self._send({"mark": "step", "edge": edge, "train_step": number})

    def step_failed(self, number: int) -> None:
        self._send({"mark": "step", "edge": "end", "train_step": number, "name": "failed"})

    def checkpoint(self, number: int, edge: str) -> None:
        self._send({"mark": "checkpoint", "edge": edge, "train_step": number})

    def restore(self, number: int, edge: str) -> None:
        self._send({"mark": "restore", "edge": edge, "train_step": number})

    def phase(self, name: str, edge: str) -> None:
        self._send({"mark": "phase", "name": name, "edge": edge})

    def world(self, stepping: int, wanted: int, spares: int) -> None:
        self._send({"mark": "world", "edge": "begin", "world": stepping, "wanted": wanted, "spares": spares})

    def _send(self, mark: Dict[str, object]) -> None:
        message: Dict[str, object] = {"v": 1}
        message.update(mark)
        message["m"] = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        message.update(self._identity)
        with self._lock:
            try:
                if not self._address:
                    raise OSError("GOODPUT_SOCKET is not set")
                if self._socket is None:
                    self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    self._socket.settimeout(WAIT_S)
                    self._socket.connect(self._address)
                self._socket.send(json.dumps(message).encode(), socket.MSG_NOSIGNAL)
                return
            except OSError as error:
                why = str(error)
                if self._socket is not None:
                    self._socket.close()
                    self._socket = None
            self.dropped += 1
        self._on_drop(why)


class CommandMarks(NoMarks):
    """Runs COMMAND step N | checkpoint begin N | restore begin N | phase NAME begin, as a shell script would."""

    def __init__(self, command: List[str], on_drop: Callable[[str], None]) -> None:
        self._command = command
        self._on_drop = on_drop
        self.dropped = 0

    def step(self, number: int, edge: str) -> None:
        self._run(["step", str(number)] if edge == "begin" else ["step", "end", str(number)])

    def step_failed(self, number: int) -> None:
        self._run(["step", str(number), "failed"])

    def checkpoint(self, number: int, edge: str) -> None:
        self._run(["checkpoint", edge, str(number)])

    def restore(self, number: int, edge: str) -> None:
        self._run(["restore", edge, str(number)])

    def phase(self, name: str, edge: str) -> None:
        self._run(["phase", name, edge])

    def world(self, stepping: int, wanted: int, spares: int) -> None:
        self._run(["world", str(stepping), "of", str(wanted), "spares", str(spares)])

    def _run(self, words: List[str]) -> None:
        try:
            ended = subprocess.run(self._command + words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, timeout=5, check=False)
            if ended.returncode == 0:
                return
            why = "exit %d: %s" % (ended.returncode, ended.stderr.decode(errors="replace")[:200])
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
        self.dropped += 1
        self._on_drop(why)
