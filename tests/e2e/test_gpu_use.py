#!/usr/bin/python3
"""How busy the GPUs of jobs are, and what energy they take, in each bucket: on a real cluster, with a server that answers as
dcgm-exporter does, and with goodput-nvml and a library that answers as NVIDIA's does.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_gpu_use

The truth is what the server was told about its GPUs and what it answered, and the trainer's own log.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from typing import Any, Callable, Dict, List

from .harness.dcgm_exporter import DcgmExporter
from .harness.goodput_site import Site
from .harness.judge import assert_valid
from .harness.lateness import lateness
from .harness.nvml_socket import PROGRAM, NvmlSocket
from .harness.work import Work


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class GpuUseTest(unittest.TestCase):
    INTERVAL_S = 0.3

    def site_with(self, exporter: DcgmExporter, nodes: int = 1) -> Site:
        exporter.start()
        self.addCleanup(exporter.stop)
        return self.site_that_asks(exporter.url, self.INTERVAL_S, nodes)

    def site_that_asks(self, whom: str, interval_s: float, nodes: int = 1) -> Site:
        site = Site("cgroup", nodes=nodes, cred_expire_s=0, conf=["heartbeat = 500ms", "gpu_use = " + whom, "gpu_use_interval = %dms" % (1000 * interval_s)])
        self.addCleanup(site.stop)
        site.start()
        return site

    def until(self, look: Callable[[], Any], what: str, timeout: float = 30) -> Any:
        deadline = time.monotonic() + timeout
        while not look():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.05)
        return look()

    def records(self, site: Site, job: int) -> List[Dict]:
        found = []
        folder = os.path.join(site.spool, site.cluster.nodes[0])
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".jsonl"):
                continue
            with open(os.path.join(folder, name)) as file:
                found += [json.loads(line) for line in file if '"kind":"gpu_use"' in line and '"job":%d,' % job in line]
        return found

    def doctor(self, site: Site) -> str:
        return site.sgoodput("doctor").stdout

    def use_of(self, site: Site, job: int) -> Dict:
        show = site.show_json(job)
        assert_valid(show)
        self.assertIsNotNone(show["jobs"][0]["gpu_use"], site.daemon_log())
        return show["jobs"][0]

    def test_a_job_that_loses_work(self) -> None:
        """Idle while it starts, busy while it trains; then it dies without a save."""
        exporter = DcgmExporter()
        site = self.site_with(exporter)
        work = Work(site, "loses", "nobody", [site.cluster.nodes[0]])
        work.submit("srun " + work.trainer("--save-every 12 --init-seconds 3"))
        site.wait_event(work.folder, "start")
        work.steps(0, 1)
        exporter.set(range(8), busy=0.9, tensor=0.4, watts=600)
        work.steps(0, 20)
        site.cluster.run(["scancel", "--signal=KILL", "%d.0" % work.job])
        site.settle(work.job)
        exporter.set(range(8), busy=0, tensor=0, watts=100)
        job = self.use_of(site, work.job)
        use = job["gpu_use"]
        of = {one["name"]: one for one in use["buckets"]}
        buckets = {one["name"]: one["gpu_seconds"] for one in job["buckets"]}
        # The change of the GPUs' state is seen one interval late at most, and spread over that time.
        edges = 8 * 2 * self.INTERVAL_S
        busy = of["productive"]["busy"] * of["productive"]["measured_gpu_seconds"]
        self.assertAlmostEqual(busy, 0.9 * buckets["productive"], delta=edges + 0.05 * buckets["productive"])
        self.assertAlmostEqual(of["lost_work"]["busy"], 0.9, delta=0.05)
        self.assertAlmostEqual(of["lost_work"]["tensor"], 0.4, delta=0.03)
        self.assertLess(of["startup"]["busy"], 0.3)
        self.assertLessEqual(of["lost_work"]["measured_gpu_seconds"], buckets["lost_work"] + 1e-3)
        self.assertGreater(use["measured_share"], 0.7)
        self.assertEqual((use["memory_mib"], use["memory_of_mib"]), (71000, exporter.MEMORY_MIB))
        self.assertFalse(use["busy_by_driver"])
        # Its energy is what the exporter's counters gained between the first and the last answer that the records are about.
        first = min(record["t"] - 1_000_000 * sum(record["ms"]) for record in self.records(site, work.job))
        last = max(record["t"] for record in self.records(site, work.job))
        # goodputd takes the time when it has the answer, in whole milliseconds.
        begin = max(i for i, scrape in enumerate(exporter.scrapes) if scrape.t <= first + 2e7)
        inside = [scrape for scrape in exporter.scrapes[begin:] if scrape.t <= last + 2e7]
        gained = sum(inside[-1].energy_mj) - sum(inside[0].energy_mj)
        self.assertEqual(sum(sum(record["mj"]) for record in self.records(site, work.job)), gained)
        # The report has what of it is before the end by accounting; the last record may be of the epilog's time.
        end = job["attempts"][-1]["end_ns"]
        after = next((i for i, scrape in enumerate(inside) if scrape.t >= end), None)
        if after is not None:
            before = inside[after - 1]
            share = (inside[after].t - end) / (inside[after].t - before.t)
            gained -= sum(inside[-1].energy_mj) - sum(inside[after].energy_mj) + share * (sum(inside[after].energy_mj) - sum(before.energy_mj))
        self.assertAlmostEqual(use["energy_j"], gained / 1000, delta=8 * 600 * 0.02 * lateness())
        self.assertAlmostEqual(sum(one["energy_j"] for one in use["buckets"]), use["energy_j"], delta=1e-6)
        text = site.sgoodput("show", str(work.job)).stdout
        # All of it, if the first answer came while the node was not ready yet.
        self.assertRegex(text, r"GPUs  measured for (?:[7-9]\d\.\d|100\.0)% of the allocated GPU time")
        self.assertRegex(text, r"  in vain +\d+ GPU-s .* while work was lost")
        self.assertRegex(text, r"  tensor +.*\(a proxy for program\s+goodput")
        self.assertIn("use of GPUs: 8 GPUs, ", self.doctor(site))

    def test_two_jobs_share_a_node(self) -> None:
        """Without a mapping nobody knows which GPUs are whose; with the exporter's, each job has its own."""
        exporter = DcgmExporter(profiling=False)
        site = self.site_with(exporter)
        exporter.set(range(0, 3), busy=0.9, tensor=0, watts=500)
        exporter.set(range(3, 8), busy=0.2, tensor=0, watts=150)
        first = site.cluster.sbatch("srun sleep 600", options=["--gres=gpu:3", "-n1", "--mem=1000"], user="nobody")
        site.cluster.wait_state(first, "RUNNING")
        second = site.cluster.sbatch("srun sleep 600", options=["--gres=gpu:5", "-n1", "--mem=1000"], user="games")
        site.cluster.wait_state(second, "RUNNING")
        self.until(lambda: "is not known for 8 of them" in self.doctor(site), "doctor says that nobody's GPUs are known")
        self.assertEqual(self.records(site, second), [])
        exporter.map({**{gpu: [first] for gpu in range(3)}, **{gpu: [second] for gpu in range(3, 8)}})
        self.until(lambda: self.records(site, first) and self.records(site, second), "records of both jobs")
        self.assertNotIn("is not known for", self.doctor(site))
        for job in (first, second):
            site.cluster.run(["scancel", str(job)])
            site.settle(job)
        for job, gpus, busy in ((first, 3, 0.9), (second, 5, 0.2)):
            found = self.records(site, job)
            self.assertEqual({record["gpus"] for record in found}, {gpus})
            self.assertEqual({share for record in found for share in record["util"]}, {int(10000 * busy)})
            use = self.use_of(site, job)["gpu_use"]
            self.assertAlmostEqual(use["busy"], busy, delta=1e-6)
            self.assertTrue(use["busy_by_driver"])
            self.assertIsNone(use["tensor"])

    def test_an_exporter_that_fails(self) -> None:
        """What it does not tell is not known, and harms nobody."""
        exporter = DcgmExporter()
        site = self.site_with(exporter)
        work = Work(site, "faults", "nobody", [site.cluster.nodes[0]])
        exporter.set(range(8), busy=0.5, tensor=0.1, watts=300)
        work.submit("srun " + work.trainer("--save-every 10"))
        work.steps(0, 4)
        self.until(lambda: len(exporter.scrapes) > 5, "it is asked")
        out = []
        for fault in (500, "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"\n", "<html></html>\n", "x" * (5 << 20), "hang"):
            lines = site.daemon_log().count("goodputd: the use of GPUs is not read")
            exporter.fault = fault
            begin = time.time_ns()
            self.until(lambda: site.daemon_log().count("goodputd: the use of GPUs is not read") > lines, "goodputd says so: %r" % str(fault)[:30])
            out.append((begin, time.time_ns()))
            self.assertIn("does not answer as dcgm-exporter does", self.doctor(site))
            exporter.fault = None
            answered = len(exporter.scrapes)
            self.until(lambda: len(exporter.scrapes) > answered + 2, "it is asked again")
        exporter.stop()
        self.until(lambda: site.daemon_log().count("goodputd: the use of GPUs is not read") >= 6, "a server that is gone")
        steps = len(site.events(work.folder, "step_end"))
        work.steps(0, steps + 3)
        site.cluster.run(["scancel", str(work.job)])
        site.settle(work.job)
        found = self.records(site, work.job)
        spans = [(record["t"] - 1_000_000 * sum(record["ms"]), record["t"]) for record in found]
        for begin, end in out:
            middle = (begin + end) // 2
            self.assertFalse([span for span in spans if span[0] < middle < span[1]], "a gap was guessed")
        job = self.use_of(site, work.job)
        self.assertLess(job["gpu_use"]["measured_share"], 0.95)
        self.assertAlmostEqual(job["gpu_use"]["busy"], 0.5, delta=1e-6)
        self.assertGreater(job["steps"]["count"], steps)

    def test_it_is_asked_only_for_jobs_with_gpus(self) -> None:
        exporter = DcgmExporter()
        site = self.site_with(exporter)
        job = site.cluster.sbatch("srun sleep 3", options=["-n1"], user="nobody")
        site.settle(job)
        self.assertEqual(exporter.scrapes, [])
        self.assertIn(" is asked as soon as a job has GPUs", self.doctor(site))
        self.assertIsNone(site.show_json(job)["jobs"][0]["gpu_use"])


    def nvml(self, **options: Any) -> NvmlSocket:
        folder = tempfile.mkdtemp(prefix="nvml.")
        self.addCleanup(shutil.rmtree, folder)
        return NvmlSocket(folder, **options)

    def said_by(self, nvml: NvmlSocket, *args: str) -> subprocess.CompletedProcess:
        nvml.write()
        return subprocess.run([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=nvml.env, timeout=20)

    def test_nvml_says_what_each_gpu_can_tell(self) -> None:
        nvml = self.nvml(gpus=4)
        nvml.set([0], busy=0.9, tensor=0.4, watts=600)
        nvml.gpus[1].mig = 1
        nvml.gpus[2].lost = True
        said = self.said_by(nvml)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        lines = said.stdout.splitlines()
        self.assertEqual(lines[0], "# GPU 2 does not answer: GPU is lost")
        labels = 'gpu="0",UUID="GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e00"'
        self.assertEqual([line.split(" ")[1] for line in lines if labels in line and "ENERGY" not in line], ["0.900000", "0.400000", "90", "71000", "10559"])
        self.assertTrue(all('GPU_I_ID=""' in line for line in lines if 'gpu="1"' in line))
        self.assertFalse([line for line in lines if 'gpu="2"' in line])
        older = self.said_by(self.nvml(gpus=1, measures=False))
        self.assertNotIn("PROF", older.stdout)
        self.assertIn("DCGM_FI_DEV_GPU_UTIL", older.stdout)
        none = self.said_by(self.nvml(gpus=0), "--http")
        self.assertEqual(none.stdout, "HTTP/1.0 503 Service Unavailable\nContent-Type: text/plain\nContent-Length: 16\n\nthere is no GPU\n")
        self.assertEqual(self.said_by(nvml, "--what").returncode, 2)
        missing = subprocess.run([PROGRAM], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={}, timeout=20)
        self.assertEqual((missing.returncode, missing.stdout), (1, ""))
        self.assertRegex(missing.stderr, "NVIDIA's driver (is not installed|does not answer): ")

    def test_a_job_whose_gpus_the_driver_measures(self) -> None:
        """Busy while it trains and idle before; then the driver hangs, which harms nobody, and that time is unknown."""
        interval_s = 2.0
        nvml = self.nvml()
        nvml.start()
        self.addCleanup(nvml.stop)
        site = self.site_that_asks("unix:" + nvml.path, interval_s)
        work = Work(site, "nvml", "nobody", [site.cluster.nodes[0]])
        work.submit("srun " + work.trainer("--save-every 20 --init-seconds 5"))
        site.wait_event(work.folder, "start")
        work.steps(0, 1)
        nvml.set(range(8), busy=0.8, tensor=0.3, watts=500)
        before = nvml.asked
        self.until(lambda: nvml.asked >= before + 4, "it is asked again")
        nvml.hangs = True
        self.until(lambda: nvml.killed > 0, "a driver that hangs is left")
        self.assertIn("does not answer as dcgm-exporter does", self.doctor(site))
        self.assertIn("systemctl enable --now goodput-nvml.socket", self.doctor(site))
        begun = time.monotonic()
        site.cluster.run(["scancel", str(work.job)])
        site.settle(work.job)
        self.assertLess(time.monotonic() - begun, 60)
        use = self.use_of(site, work.job)["gpu_use"]
        of = {one["name"]: one for one in use["buckets"]}
        trained = [one for one in use["buckets"] if one["name"] in ("productive", "lost_work", "at_risk") and one["measured_gpu_seconds"] > 0]
        self.assertTrue(trained)
        measured = sum(one["measured_gpu_seconds"] for one in trained)
        # One interval at the edge is spread over both.
        self.assertAlmostEqual(sum(one["busy"] * one["measured_gpu_seconds"] for one in trained), 0.8 * measured, delta=0.8 * 8 * interval_s)
        self.assertAlmostEqual(sum(one["tensor"] * one["measured_gpu_seconds"] for one in trained), 0.3 * measured, delta=0.3 * 8 * interval_s)
        self.assertLessEqual(of["startup"]["busy"] * of["startup"]["measured_gpu_seconds"], 0.8 * 8 * interval_s + 0.1)
        self.assertLess(use["measured_share"], 0.95)
        self.assertEqual((use["memory_mib"], use["memory_of_mib"]), (71000, nvml.MEMORY_MIB))
        records = self.records(site, work.job)
        self.assertEqual({share for record in records for share in record["busy"]} - {0}, {8000})


if __name__ == "__main__":
    unittest.main()
