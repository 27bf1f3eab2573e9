#!/usr/bin/python3
"""A database of the first schema, brought up to date by this program: the same answers as one it filled itself. Needs no Slurm.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_old_schema
"""

import json
import os
import re
import shutil
import sqlite3
import tempfile
import unittest
from typing import Dict

from .harness.hand_written import TOP, Spool, run_it


def first_schema() -> str:
    """As it was released: a migration is never edited."""
    with open(os.path.join(TOP, "sql", "schema.cc")) as file:
        found = re.search(r'kVersion1 = R"sql\((.*?)\)sql"', file.read(), re.S)
    assert found is not None
    return found.group(1)


class OldSchemaTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-schema-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.spool = Spool(os.path.join(self.dir, "spool"))
        for job, state in ((7, "NODE_FAIL"), (8, "COMPLETED")):
            times = {"submit_s": 100 * job, "eligible_s": 100 * job, "start_s": 100 * job + 10}
            at = 100.0 * job
            self.spool.controller(at + 1, kind="queue", state="PENDING", job=job, submit_s=100 * job, eligible_s=100 * job, reason="Priority")
            self.spool.controller(at + 11, job=job, **times)
            self.spool.node(at + 10, "job_prolog", job=job, opt={"run": "old", "tags": {"team": "nlp"}})
            self.spool.node(at + 12, "task_start", job=job, slurm_step="0", task=0, pid=5)
            for step in range(40):
                if step == 20:
                    self.spool.node(at + 34, "mark", mark="checkpoint", edge="begin", train_step=20, job=job, slurm_step="0", task=0)
                    self.spool.node(at + 35, "mark", mark="checkpoint", edge="end", train_step=20, job=job, slurm_step="0", task=0)
                self.spool.node(at + 15 + step + (1 if step >= 20 else 0), "mark", mark="step", edge="begin",
                                train_step=step + (20 if job == 8 else 0), job=job, slurm_step="0", task=0)
            self.spool.node(at + 58, "task_exit", job=job, slurm_step="0", task=0, pid=5, exit_code=0)
            self.spool.controller(at + 60, job=job, state=state, end_s=100 * job + 60, exit_code=0, **times)
        self.spool.write()
        self.conf = os.path.join(self.dir, "conf")
        with open(self.conf, "w") as file:
            file.write("cluster = c\n")
        self.new = os.path.join(self.dir, "new.db")
        self.ingest(self.new)

    def ingest(self, db: str) -> None:
        done = run_it("ingest", "--config", self.conf, "--db", db, "--spool", self.spool.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def answer(self, db: str, *words: str) -> Dict:
        done = run_it(*words, "--config", self.conf, "--db", db, "--no-refresh", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(json.loads(done.stdout))

    def old(self) -> str:
        """The same rows as the first program would have left them: what it did not know is not there."""
        path = os.path.join(self.dir, "old.db")
        with sqlite3.connect(path) as db:
            db.executescript(first_schema())
            db.execute("ATTACH ? AS new", (self.new,))
            for table in ("source", "event", "step_block", "quarantine", "accounting", "node_outage"):
                columns = [row[1] for row in db.execute("PRAGMA main.table_info(%s)" % table)]
                known = [row[1] for row in db.execute("PRAGMA new.table_info(%s)" % table)]
                # Called otherwise since.
                said = [column if column in known else {"last_task": "task"}[column] for column in columns]
                db.execute("INSERT INTO main.%s (%s) SELECT %s FROM new.%s" % (table, ",".join(columns), ",".join(said), table))
            # Of this few marks nothing is framed, as nothing was then.
            self.assertEqual(db.execute("SELECT sum(framed) FROM new.step_block").fetchone(), (0,))
            db.execute("PRAGMA user_version = 1")
        db.close()
        return path

    def test_a_reader_says_who_is_to_bring_it_up_to_date(self) -> None:
        done = run_it("show", "7", "--config", self.conf, "--db", self.old(), "--no-refresh")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"has schema 1, this program needs \d+; run `sgoodput ingest` as its owner")

    def test_the_answers_are_those_of_a_new_database(self) -> None:
        path = self.old()
        self.ingest(path)
        for words in (["show", "7"], ["show", "--run", "old"], ["-a", "-S", "2026-01-01"], ["report", "-a", "-S", "2026-01-01", "--by", "tag:team"]):
            self.assertEqual(self.answer(path, *words), self.answer(self.new, *words), words)
        self.assertEqual(self.answer(path, "show", "--run", "old")["jobs"][0]["steps"]["count"], 80)
        with sqlite3.connect(path) as db, sqlite3.connect(self.new) as new:
            version, = db.execute("PRAGMA user_version").fetchone()
            self.assertEqual((version,), new.execute("PRAGMA user_version").fetchone())
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            shape = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2"
            self.assertEqual(db.execute(shape).fetchall(), new.execute(shape).fetchall())

    def test_what_came_after_is_taken_once(self) -> None:
        path = self.old()
        before = self.answer(self.new, "show", "8")
        name = os.path.join(self.spool.folder, "n1", "boot.2026092100Z.jsonl")
        with open(name, "a") as file:
            file.write("\n" + json.dumps({"v": 1, "t": 1790009000 * 10**9, "m": 1, "node": "n1", "stepd": 1, "cluster": "c", "job": 9,
                                          "kind": "job_prolog", "opt": {}}) + "\n")
        for _ in range(2):
            self.ingest(path)
        with sqlite3.connect(path) as db, sqlite3.connect(self.new) as new:
            count = "SELECT count(*) FROM event"
            self.assertEqual(db.execute(count).fetchone()[0], new.execute(count).fetchone()[0] + 1)
        self.assertEqual(self.answer(path, "show", "8"), before)


if __name__ == "__main__":
    unittest.main()
