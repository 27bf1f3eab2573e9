#!/usr/bin/python3
"""A job on many nodes, whose records the database keeps in blocks: every answer is the same as with one row per record. Needs
no Slurm.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_large
"""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import tempfile
import unittest
from typing import Any, Dict, List

from .harness.hand_written import BEGAN, run_it
from .harness.record_blocks import records

NODES, TASKS, JOB = 40, 4, 7
QUESTIONS = [
    ["show", str(JOB)], ["show", str(JOB), "--json", "--timeline", "--sensitivity"], ["show", "--run", "large", "--json"],
    ["show", str(JOB), "--explain", "startup"], ["show", str(JOB), "--explain", "launch"], ["show", str(JOB), "--explain", "teardown"],
    ["show", str(JOB), "--explain", "provisioning"], ["attempts", str(JOB)], ["advise", str(JOB), "--json"], ["export", str(JOB)],
    ["-a", "-S", "2001-01-01", "--json"], ["report", "-a", "-S", "2001-01-01", "--by", "node", "--json"],
]


class LargeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-large-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.lines: Dict[str, List[Dict[str, Any]]] = {}

    def path(self, name: str) -> str:
        return os.path.join(self.dir, name)

    def say(self, node: str, t: float, kind: str, clock: float = 0, **more: Any) -> None:
        """`clock`: the error of the node's clock."""
        ns = int((BEGAN + t) * 1e9)
        self.lines.setdefault(node, []).append(
            {"v": 1, "t": ns + int(clock * 1e9), "m": ns - BEGAN * 10**9 + 10**12, "node": node, "stepd": 1, "kind": kind,
             "cluster": "c", "job": JOB, "uid": 0, "gid": 0, **more})

    def attempt(self, number: int, begin: int, end: int, state: str) -> None:
        times = {"submit_s": BEGAN + begin - 30, "eligible_s": BEGAN + begin - 30, "start_s": BEGAN + begin, "restart": number,
                 "user": "eve", "account": "acc", "partition": "a3", "name": "train", "nnodes": NODES, "gpus": NODES * 8,
                 "gpu_type": "h100", "nodes": "n[1-%d]" % NODES}
        self.say("@controller", begin + 1, "attempt", state="RUNNING", **times)
        self.say("@controller", end + 1, "attempt", state=state, end_s=BEGAN + end, **times)
        opt = {"run": "large", "tags": {"k": "v%d" % number}, "flops_per_step": 1e15, "precision": "bf16"}
        step = {"slurm_step": "0", "restart": number, "job_start": BEGAN + begin}
        for rank in range(NODES):
            node, late = "n%d" % (rank + 1), rank % 7 * 0.1
            # This node's clock is set while it runs.
            early, after = (0, 3600) if rank == 5 and number == 1 else (3600, 3600) if rank == 5 and number > 1 else (0, 0)
            self.say(node, begin + late, "job_prolog", early, opt=opt, restart=number)
            self.say(node, begin + 1 + late, "step_start", early, opt=opt, slurm_step="extern", restart=number)
            self.say(node, begin + 4 + late, "step_start", early, opt=opt, **step)
            for task in range(TASKS):
                self.say(node, begin + 5 + late, "task_start", early, task=rank * TASKS + task, local_task=task, pid=5 + task, **step)
                over = {"exit_code": 0} if state == "COMPLETED" else {"signal": 9} if task else {"exit_code": 85}
                self.say(node, end - 3 + late, "task_exit", after, task=rank * TASKS + task, local_task=task, pid=5 + task, **over, **step)
            self.say(node, end - 2 + late, "step_end", after, **step)
            self.say(node, end - 1 + late, "job_epilog", after, restart=number)
        for at in range(begin + 20, end - 10, 10):
            step = {"train_step": (at - begin) // 10, "slurm_step": "0", "task": 0}
            self.say("n1", at, "mark", mark="step", edge="begin", **step)
            # The last one never ends; one goes on in the background, and one lasts into the next step.
            self.say("n1", at + 3, "mark", mark="checkpoint", edge="begin", **step)
            if at == begin + 200:
                self.say("n1", at + 3.1, "mark", mark="checkpoint", edge="end", name="background", **step)
            if at + 10 < end - 10:
                self.say("n1", at + (12 if at == begin + 100 else 4.5), "mark", mark="checkpoint", edge="end", **step)

    def fill(self) -> None:
        self.attempt(0, 0, 400, "NODE_FAIL")
        self.attempt(1, 500, 900, "NODE_FAIL")
        self.attempt(2, 1000, 1500, "COMPLETED")

    def write(self, node: str) -> None:
        os.makedirs(self.path("spool/" + node), mode=0o700)
        with open(self.path("spool/" + node + "/boot.2026092100Z.jsonl"), "w") as file:
            for record in sorted(self.lines[node], key=lambda r: int(r["m"])):
                file.write("\n" + json.dumps(record, separators=(",", ":")) + "\n")

    def ingest(self, name: str) -> None:
        with open(self.path(name + ".conf"), "w") as file:
            file.write("spool = %s\ndatabase = %s\ncluster = c\n" % (self.path("spool"), self.path(name)))
        done = run_it("ingest", "--config", self.path(name + ".conf"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def answers(self, name: str) -> Dict[str, str]:
        given = {}
        for question in QUESTIONS:
            done = run_it(*question, "--no-refresh", "--config", self.path(name + ".conf"))
            self.assertEqual((done.returncode, done.stderr), (0, ""), question)
            given[" ".join(question)] = done.stdout
        return given

    def in_blocks(self, name: str) -> int:
        with contextlib.closing(sqlite3.connect(self.path(name))) as db:
            return int(db.execute("SELECT coalesce(sum(records), 0) FROM record_block").fetchone()[0])

    def test_every_record_is_in_its_block_to_the_byte(self) -> None:
        self.fill()
        for node in self.lines:
            self.write(node)
        self.ingest("blocks")
        with contextlib.closing(sqlite3.connect(self.path("blocks"))) as db:
            files = {row[0]: self.path("spool/%s/%s" % row[1:]) for row in db.execute("SELECT id, node, file FROM source")}
            found = [one for (data,) in db.execute("SELECT data FROM record_block") for one in records(data)]
            found += db.execute("SELECT source_id, offset, CAST(record AS BLOB) FROM event").fetchall()
        self.assertEqual(len(found), len({(source, offset) for source, offset, _ in found}))
        steps = sum(1 for record in self.lines["n1"] if record.get("mark") == "step")
        self.assertEqual(len(found), sum(map(len, self.lines.values())) - steps)
        texts = {source: pathlib.Path(path).read_bytes() for source, path in files.items()}
        for source, offset, text in found:
            self.assertEqual(texts[source][offset:offset + len(text) + 1], text + b"\n", files[source])

    def test_export_writes_every_record_as_the_spool_has_it(self) -> None:
        self.fill()
        for node in self.lines:
            self.write(node)
        self.ingest("blocks")
        self.assertGreater(self.in_blocks("blocks"), 0)
        export = ["export", str(JOB), "--format=spool", "--no-refresh", "--config", self.path("blocks.conf")]
        done = run_it(*export)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        written = [json.dumps(record, separators=(",", ":")) for records in self.lines.values() for record in records]
        self.assertEqual(sorted(line for line in done.stdout.splitlines() if '"mark":"step"' not in line),
                         sorted(line for line in written if '"mark":"step"' not in line))
        # For a step mark, everything that is stored is compared.
        steps = [json.loads(line) for line in done.stdout.splitlines() if '"mark":"step"' in line]
        marks = [record for record in self.lines["n1"] if record.get("mark") == "step"]
        self.assertEqual(steps, [{key: record[key] for key in record if key not in ("m", "stepd", "uid", "gid")}
                                 for record in sorted(marks, key=lambda record: int(record["t"]))])
        out = self.path("out")
        done = run_it(*export, "-o", out)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(pathlib.Path(out).read_text().count("\n"), sum(map(len, self.lines.values())))
        done = run_it("export", "8", "--format=spool", "--no-refresh", "--config", self.path("blocks.conf"))
        self.assertEqual((done.returncode, done.stdout), (1, ""))

    def test_blocks_and_rows_give_the_same_answers(self) -> None:
        self.fill()
        nodes = sorted(self.lines)
        for node in nodes:
            self.write(node)
            self.ingest("rows")
        self.ingest("blocks")
        self.assertEqual(self.in_blocks("rows"), 0)
        saves = sum(record.get("mark") == "checkpoint" for record in self.lines["n1"])
        self.assertGreater(saves, 200)
        self.assertGreater(self.in_blocks("blocks"), NODES * (2 * TASKS + 4) * 3 - 50 + saves)
        rows, blocks = self.answers("rows"), self.answers("blocks")
        for question, answer in rows.items():
            self.assertEqual(blocks[question], answer, question)
        self.assertIn("the clock of node n6 was set by +3600.0 s", rows["show %d" % JOB])
        job = json.loads(rows["show --run large --json"])["jobs"][0]
        self.assertEqual([len(job["attempts"]), len(job["interruptions"])], [3, 2])
        self.assertEqual(sum(bucket["ns"] for bucket in job["buckets"]), job["wall_ns"])


if __name__ == "__main__":
    unittest.main()
