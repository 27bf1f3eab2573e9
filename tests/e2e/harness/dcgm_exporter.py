"""A stand-in for dcgm-exporter: answers on 127.0.0.1 as it does, with GPUs whose state a test sets.

    exporter = DcgmExporter(gpus=8)
    exporter.start()
    exporter.set(range(8), busy=0.95, tensor=0.4, watts=600)

The text has the form of dcgm-exporter's own template (its source, 4.4): for each metric HELP and TYPE, then a line for each GPU with
gpu, UUID, pci_bus_id, device, modelName and Hostname, and hpc_job if jobs are mapped; whole numbers for integer fields, six digits
after the point for others; a field that DCGM does not know has no line. Unlike the real one, which repeats what it collected in the last
30 s, this one says what is so when it is asked.
"""

import http.server
import threading
import time
from typing import Any, Dict, Iterable, List, NamedTuple, Sequence

from .stand_in_server import StandInServer

_FIELDS = [
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz)."),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %)."),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB)."),
    ("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB)."),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ)."),
    ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "gauge", "Ratio of time the graphics engine is active."),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor (HMMA) pipe is active."),
]


class Gpu:
    def __init__(self) -> None:
        self.busy, self.tensor, self.watts, self.used_mib = 0.0, 0.0, 100.0, 500
        self.jobs: List[int] = []
        self.energy_mj = 1e12


class Scrape(NamedTuple):
    """What was answered, and when (time.time_ns)."""
    t: int
    energy_mj: List[int]
    busy: List[float]


class DcgmExporter(StandInServer):
    MEMORY_MIB = 81559

    def __init__(self, gpus: int = 8, profiling: bool = True) -> None:
        """profiling: False as on GPUs without DCGM's profiling metrics."""
        super().__init__()
        self._lock = threading.Lock()
        self._gpus = [Gpu() for _ in range(gpus)]
        self._profiling = profiling
        self._at = time.monotonic()
        self.maps_jobs = False
        self.scrapes: List[Scrape] = []
        # What it does instead of an answer: a status, a text, or "hang".
        self.fault: Any = None

    @property
    def url(self) -> str:
        return "http://127.0.0.1:%d/metrics" % self._port

    def set(self, gpus: Iterable[int], busy: float, tensor: float, watts: float, used_mib: int = 71000) -> int:
        """From now on. Returns the time."""
        with self._lock:
            self._pass_time()
            for number in gpus:
                gpu = self._gpus[number]
                gpu.busy, gpu.tensor, gpu.watts, gpu.used_mib = busy, tensor, watts, used_mib
            return time.time_ns()

    def map(self, jobs: Dict[int, Sequence[int]]) -> None:
        """Which jobs each GPU is given to, as prologs write it for --hpc-job-mapping-dir."""
        with self._lock:
            self.maps_jobs = True
            for number, of in jobs.items():
                self._gpus[number].jobs = list(of)

    def _pass_time(self) -> None:
        now = time.monotonic()
        for gpu in self._gpus:
            gpu.energy_mj += gpu.watts * 1000 * (now - self._at)
        self._at = now

    def _value(self, field: str, gpu: Gpu) -> str:
        return {"DCGM_FI_DEV_SM_CLOCK": "1980", "DCGM_FI_DEV_GPU_UTIL": "%d" % round(100 * gpu.busy),
                "DCGM_FI_DEV_FB_FREE": "%d" % (self.MEMORY_MIB - gpu.used_mib), "DCGM_FI_DEV_FB_USED": "%d" % gpu.used_mib,
                "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": "%d" % gpu.energy_mj, "DCGM_FI_PROF_GR_ENGINE_ACTIVE": "%.6f" % gpu.busy,
                "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": "%.6f" % gpu.tensor}[field]

    def text(self) -> str:
        lines = []
        for field, kind, meaning in _FIELDS:
            if "_PROF_" in field and not self._profiling:
                continue
            lines += ["# HELP %s %s" % (field, meaning), "# TYPE %s %s" % (field, kind)]
            for number, gpu in enumerate(self._gpus):
                labels = ('gpu="%d",UUID="GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e%02x",pci_bus_id="00000000:%02X:00.0",device="nvidia%d",'
                          'modelName="NVIDIA H100 80GB HBM3",Hostname="a3mega-0"' % (number, number, number + 4, number))
                for job in gpu.jobs or [None]:
                    lines.append("%s{%s%s} %s" % (field, labels, "" if job is None else ',hpc_job="%d"' % job, self._value(field, gpu)))
        return "\n".join(lines) + "\n"

    def _answer(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        code, fault = 200, self.fault
        if self._server is None:  # a connection from before it was stopped
            handler.close_connection = True
            return
        if fault == "hang":
            time.sleep(30)
            handler.close_connection = True
            return
        with self._lock:
            self._pass_time()
            body = self.text()
            if fault is None:
                self.scrapes.append(Scrape(time.time_ns(), [int(gpu.energy_mj) for gpu in self._gpus], [gpu.busy for gpu in self._gpus]))
        if isinstance(fault, int):
            code, body = fault, "internal server error\n"
        elif isinstance(fault, str):
            body = fault
        data = body.encode()
        handler.send_response(code)
        handler.send_header("Content-Type", "text/plain; charset=utf-8")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)
