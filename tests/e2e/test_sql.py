#!/usr/bin/python3
"""sgoodput sql: everything recorded can be read, however it is stored; the questions of SCHEMA.md have the same answers as from
the spool's lines; and only reading is possible. Needs no Slurm.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_sql
"""

import collections
import csv
import io
import json
import os
import re
import sqlite3
import subprocess
import unittest
from typing import Any, Dict, List, Tuple

from .harness import schemas
from .harness.hand_written import TOP, run_it
from . import test_retention

BIG = test_retention.BIG
Row = List[Any]


class SqlTest(unittest.TestCase):
    """Jobs of test_retention: 7 died and resumed, 91 has 8,000 tasks."""
    setUp, end, path = (getattr(test_retention.RetentionTest, name) for name in ("setUp", "end", "path"))
    configure, fill = (getattr(test_retention.RetentionTest, name) for name in ("configure", "fill"))
    start, log, wait_until = (getattr(test_retention.RetentionTest, name) for name in ("start", "log", "wait_until"))
    count, old_ones = (getattr(test_retention.RetentionTest, name) for name in ("count", "old_ones"))
    attempt = staticmethod(test_retention.RetentionTest.attempt)

    def run_sql(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return run_it("sql", *words, "--no-refresh", "--config", self.conf)

    def rows(self, query: str) -> List[Row]:
        done = self.run_sql(query, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""), query)
        answer = json.loads(done.stdout)
        schemas.check(answer, "sql")
        rows: List[Row] = answer["rows"]
        return rows

    def records(self) -> List[Dict[str, Any]]:
        """The spool's records, read by this test's own code."""
        found = []
        for node in sorted(os.listdir(self.path("spool"))):
            folder = os.path.join(self.path("spool"), node)
            if not os.path.isdir(folder):
                continue
            for name in os.listdir(folder):
                if name.endswith(".jsonl"):
                    with open(os.path.join(folder, name)) as file:
                        found += [json.loads(line) for line in file if line.strip()]
        return found

    def written(self, job: int) -> List[Tuple[Any, ...]]:
        return sorted((r["t"], r["node"], r["kind"], str(r.get("slurm_step")), str(r.get("task"))) for r in self.records()
                      if r.get("job") == job and r.get("mark") != "step")

    def read(self, job: int) -> List[Tuple[Any, ...]]:
        return sorted((t, node, kind, str(step), str(task)) for t, node, kind, step, task in self.rows(
            "SELECT t_ns, node, kind, json_extract(record, '$.slurm_step'), json_extract(record, '$.task') FROM events"
            " WHERE job_id = %d" % job))

    def assert_all_can_be_read(self) -> None:
        for job in (7, BIG):
            self.assertEqual(self.read(job), self.written(job), job)
            steps = sorted((r["t"], r["train_step"]) for r in self.records() if r.get("job") == job and r.get("mark") == "step")
            self.assertEqual(sorted(map(tuple, self.rows("SELECT t_ns, train_step FROM steps WHERE job_id = %d" % job))), steps)
        tasks = sum(r["kind"] == "task_exit" for r in self.records())
        self.assertEqual(self.rows("SELECT count(*) FROM node_event WHERE kind = 'task_exit'"), [[tasks]])
        named = {r["job"] for r in self.records() if r.get("opt", {}).get("run") == "pretrain"}
        self.assertEqual({job for job, in self.rows("SELECT DISTINCT job_id FROM job_option WHERE run = 'pretrain'")}, named)

    def test_rows_blocks_and_summaries_are_read_alike(self) -> None:
        self.fill(blocks=True)
        self.assertGreater(self.count("record_block WHERE job_id = %d" % BIG), 0)
        self.assert_all_can_be_read()
        self.configure("300s")
        self.start()
        self.wait_until(lambda: self.old_ones() == 0)
        self.wait_until(lambda: "keep_events: replaced" in self.log())
        self.assertGreater(self.count("record_block WHERE by_time"), 0)
        self.assert_all_can_be_read()

    def test_a_damaged_block_is_an_error(self) -> None:
        self.fill(blocks=True)
        db = sqlite3.connect(self.db)
        db.execute("UPDATE record_block SET data = substr(data, 1, length(data) / 2)")
        db.commit()
        db.close()
        done = self.run_sql("SELECT count(*) FROM events")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a block is damaged", done.stderr)
        self.assertEqual(self.rows("SELECT count(*) > 0 FROM events WHERE job_id = 7"), [[1]])

    def questions(self, job: int) -> Dict[int, str]:
        with open(os.path.join(TOP, "sql", "SCHEMA.md")) as file:
            block = re.search(r"Ten useful queries.*?```sql\n(.*?)```", file.read(), re.S)
        assert block
        found = {int(n): text for n, text in re.findall(r"-- (\d+)\. [^\n]*\n(.*?;)\n", block.group(1), re.S)}
        self.assertEqual(sorted(found), list(range(1, 11)))
        return {n: text.replace("job_id = 12", "job_id = %d" % job) for n, text in found.items()}

    def test_the_questions_of_the_manual(self) -> None:
        self.fill(blocks=True)
        seven, big = self.questions(7), self.questions(BIG)
        mine = [r for r in self.records() if r.get("job") == 7]
        kinds = collections.Counter(r["kind"] for r in mine if r.get("mark") != "step")
        self.assertEqual({row[0]: row[1] for row in self.rows(seven[1])}, dict(kinds))
        self.assertEqual([row[1:] for row in self.rows(seven[2])],
                         [[r["slurm_step"], r["task"], r["signal"]] for r in mine if r["kind"] == "task_exit" and "signal" in r])
        marks = sorted((r["t"], r["train_step"]) for r in mine if r.get("mark") == "step")
        longest = max((b[0] - a[0]) / 1e9 for a, b in zip(marks, marks[1:]))
        self.assertAlmostEqual(self.rows(seven[3])[0][1], longest)
        again = collections.Counter(step for _, step in marks)
        self.assertEqual(self.rows(seven[4]), [[step, n] for step, n in sorted(again.items()) if n > 1])
        self.assertEqual(len(self.rows(seven[4])), 20, "40 to 59 ran twice")
        saves = [(r["t"], r["edge"]) for r in mine if r.get("mark") == "checkpoint"]
        self.assertEqual([row[2] for row in self.rows(seven[5])], [(saves[1][0] - saves[0][0]) / 1e9])
        self.assertEqual(self.rows(seven[6]), [["slurmstepd", 10, 1]])
        self.assertEqual([row[:2] for row in self.rows(seven[7]) if row[0] == 7], [[7, "pretrain"]])
        self.assertEqual(self.rows(big[8]),
                         [["n1", max(r["t"] for r in self.records() if r.get("job") == BIG and r["kind"] == "task_start")]])
        self.assertEqual([row[1] for row in self.rows(seven[9])],
                         [r["state"] for r in sorted(mine, key=lambda r: r["t"]) if r["node"] == "@controller"])
        self.assertEqual(self.rows(seven[10]), [["n1", sum(r["node"] == "n1" for r in self.records()), 0, None]])

    def test_table_and_csv(self) -> None:
        self.fill()
        query = "SELECT 1 AS one, 'a,b' AS text, NULL AS empty, 2.5 AS half, x'00ff' AS bytes"
        self.assertEqual(self.run_sql(query).stdout, "one  text  empty  half  bytes\n---  ----  -----  ----  -------\n  1  a,b"
                         "           2.5  X'00ff'\n")
        self.assertEqual(list(csv.reader(io.StringIO(self.run_sql(query, "--csv").stdout))),
                         [["one", "text", "empty", "half", "bytes"], ["1", "a,b", "", "2.5", "X'00ff'"]])
        self.assertEqual(self.rows(query), [[1, "a,b", None, 2.5, "X'00ff'"]])
        self.assertEqual(self.rows("SELECT 1 WHERE 0"), [])

    def test_it_only_reads(self) -> None:
        self.fill()
        size = os.path.getsize(self.db)
        for query in ("DELETE FROM event", "DROP TABLE event", "CREATE TABLE x (a)", "CREATE TEMP TABLE x (a)", "VACUUM",
                      "ATTACH '/tmp/x' AS x", "PRAGMA journal_mode = DELETE", "PRAGMA query_only", "BEGIN IMMEDIATE",
                      "SELECT load_extension('x')", "INSERT INTO event SELECT * FROM event", "SELECT 1; DELETE FROM event", "", "nonsense"):
            with self.subTest(query=query):
                done = self.run_sql(query)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(os.path.getsize(self.db), size)

    def test_limits_are_said(self) -> None:
        self.fill()
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
        done = self.run_sql(endless + "count(*) FROM n", "--timeout", "1s")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("the query ran for more than 1s", done.stderr)
        done = self.run_sql(endless + "i FROM n")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("more than 10000 rows", done.stderr)
        done = self.run_sql("SELECT 1", "--url", "http://127.0.0.1:1")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("not available from http://127.0.0.1:1", done.stderr)
        done = run_it("sql", "SELECT 1", "--db", self.path("nowhere"))
        self.assertEqual(done.returncode, 2)
        self.assertFalse(os.path.exists(self.path("nowhere")))


if __name__ == "__main__":
    unittest.main()
