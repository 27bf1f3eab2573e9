#!/usr/bin/python3
"""Databases of a development version and of a newer release: every subcommand that opens one refuses it in one line that says
what to do, and does not change it. Needs no Slurm.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_schema
"""

import os
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

from .harness.hand_written import Spool, run_it


class SchemaTest(unittest.TestCase):
    def setUp(self) -> None:
        self.dir = tempfile.mkdtemp(prefix="goodput-schema-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.spool = Spool(os.path.join(self.dir, "spool"))
        self.spool.controller(11, job=7, submit_s=0, eligible_s=0, start_s=10)
        self.spool.node(10, "job_prolog", job=7, opt={"run": "old"})
        self.spool.write()
        self.conf, self.db = os.path.join(self.dir, "conf"), os.path.join(self.dir, "db")
        with open(self.conf, "w") as file:
            file.write("cluster = c\nspool = %s\n" % self.spool.folder)

    def ask(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return run_it(*words, "--config", self.conf, "--db", self.db)

    def change(self, sql: str) -> bytes:
        """A description of the file's contents."""
        self.assertEqual(self.ask("ingest").returncode, 0)
        db = sqlite3.connect(self.db)
        db.execute(sql)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        db.close()
        with open(self.db, "rb") as file:
            return file.read()

    def assert_refused(self, what: str, before: bytes) -> None:
        for words in (["ingest"], ["show", "7"], ["-a"], ["report", "-a"], ["export", "7"], ["sql", "SELECT 1"], ["show", "7", "--no-refresh"]):
            with self.subTest(words=words):
                done = self.ask(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertRegex(done.stderr, r"^sgoodput: [^\n]*the database %s %s[^\n]*\n$" % (self.db, what))
        with open(self.db, "rb") as file:
            self.assertEqual(file.read(), before)

    def test_a_development_version_s_is_to_be_moved_away(self) -> None:
        self.assert_refused("was made by a development version of slurm-goodput; move it away: sgoodput ingest creates a new one",
                            self.change("PRAGMA application_id = 0"))
        os.unlink(self.db)
        self.assertEqual(self.ask("ingest").returncode, 0)
        self.assertIn('"run": "old"', self.ask("show", "7", "--json").stdout)

    def test_a_newer_release_s_wants_that_release(self) -> None:
        self.assert_refused("has schema 99, newer than this program's 1; upgrade slurm-goodput", self.change("PRAGMA user_version = 99"))


if __name__ == "__main__":
    unittest.main()
