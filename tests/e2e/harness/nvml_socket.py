"""What goodput-nvml.socket and goodput-nvml@.service do, without systemd: each connection starts goodput-nvml --http, whose input and
output it is. NVIDIA's library is a stand-in (tests/nvml/nvml_stand_in.c), whose GPUs a test sets.

    nvml = NvmlSocket(folder, gpus=8)
    nvml.start()
    nvml.set(range(8), busy=0.9, tensor=0.4, watts=600)
"""

import os
import shutil
import socket
import subprocess
import threading
import time
from typing import Dict, Iterable, List

from tests.cluster.faults import FAULTS

from .goodput_site import BUILD

PROGRAM = os.path.join(BUILD, "tools/nvml/goodput-nvml")
# As RuntimeMaxSec= of the unit.
RUNTIME_MAX_S = 10


class Gpu:
    def __init__(self) -> None:
        self.busy, self.tensor, self.watts, self.used_mib, self.mig, self.lost = 0.0, 0.0, 100.0, 500, 0, False
        self.energy_mj = 1e12


class NvmlSocket:
    MEMORY_MIB = 81559

    def __init__(self, folder: str, gpus: int = 8, measures: bool = True) -> None:
        """measures: False as on GPUs before Hopper, which do not measure their engines."""
        self.path = os.path.join(folder, "nvml")
        self._state = os.path.join(folder, "gpus")
        self.gpus = [Gpu() for _ in range(gpus)]
        self._measures = measures
        self._at = time.monotonic()
        self._lock = threading.Lock()
        self.hangs = False
        self.asked = 0
        self.killed = 0
        self._children: List[subprocess.Popen] = []
        shutil.copy(os.path.join(BUILD, "tests/nvml/.libs/nvml_stand_in.so"), os.path.join(folder, "libnvidia-ml.so.1"))
        self.env: Dict[str, str] = dict(FAULTS, LD_LIBRARY_PATH=folder, GOODPUT_STAND_IN_GPUS=self._state)

    def set(self, gpus: Iterable[int], busy: float, tensor: float, watts: float, used_mib: int = 71000) -> None:
        with self._lock:
            self._pass_time()
            for number in gpus:
                gpu = self.gpus[number]
                gpu.busy, gpu.tensor, gpu.watts, gpu.used_mib = busy, tensor, watts, used_mib

    def write(self) -> None:
        """What the library reads."""
        with self._lock:
            self._pass_time()
            lines: List[str] = ["hang"] if self.hangs else []
            for gpu in self.gpus:
                lines.append("lost" if gpu.lost else "%f %f %d %d %d %d %d" % (
                    100 * gpu.busy if self._measures else -1, 100 * gpu.tensor, round(100 * gpu.busy), gpu.energy_mj, gpu.used_mib,
                    self.MEMORY_MIB - gpu.used_mib, gpu.mig))
        with open(self._state, "w") as file:
            file.write("".join(line + "\n" for line in lines))

    def _pass_time(self) -> None:
        now = time.monotonic()
        for gpu in self.gpus:
            gpu.energy_mj += gpu.watts * 1000 * (now - self._at)
        self._at = now

    def start(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        os.chmod(self.path, 0o600)
        self._listener.listen(8)
        threading.Thread(target=self._serve, daemon=True).start()

    def stop(self) -> None:
        self._listener.close()
        for child in self._children:
            child.kill()
            child.wait()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.asked += 1
            self.write()
            with connection:
                child = subprocess.Popen([PROGRAM, "--http"], stdin=connection, stdout=connection, stderr=subprocess.DEVNULL, env=self.env)
            self._children.append(child)
            threading.Thread(target=self._reap, args=(child,), daemon=True).start()

    def _reap(self, child: subprocess.Popen) -> None:
        try:
            child.wait(RUNTIME_MAX_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            self.killed += 1
