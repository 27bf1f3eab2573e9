"""Malicious values of every string that a user controls."""

import json
import os
import pwd
import re
from typing import Dict, List

from ..harness.checks import assert_partition
from ..harness.work import Outcome, Work
from . import Way

# Names of jobs, and other strings that Slurm or our programs accept.
HOSTILE = {
    "long": "x" * 1000,  # Slurm rejects names of more than 1,024 bytes
    "controls": "".join(chr(1 + index % 31) for index in range(1000)),
    "newlines": "one\nJobIDRaw|State\r\n12|COMPLETED|root\n\n",
    "quotes": "it's \"quoted\" `id` $(id) \\\" \\n %s %n ${x}",
    "sql": "'; DROP TABLE event; -- \"; DELETE FROM accounting; /*",
    "utf8": "größe 模型 \U0001f680 e\u0301 \u202e rtl \u009b31m",
    "bars": "a|b||c\x1fd\x1e;e,f=g",
    "json": "{\"v\":1,\"kind\":\"job_prolog\",\"job\":1}",
    "option": "--db=/etc/passwd",
}
# Strings that the run option must reject; all others are valid names.
NO_RUN = ("long", "controls", "newlines", "bars", "utf8")


def hostile(work: Work) -> List[Outcome]:
    """One job per string; each trains a few steps."""
    outcomes = []
    for kind, text in HOSTILE.items():
        folder = os.path.join(work.folder, kind)
        os.makedirs(folder)
        # A file name contains no slash and at most 255 bytes.
        name = text.replace("/", "_").encode()[:200].decode(errors="ignore")
        script = os.path.join(folder, name + ".sh")
        with open(script, "w") as file:
            file.write("#!/bin/bash\nsrun %s\n" % work.trainer(
                "--steps 4 --step-seconds 0.2 --init-seconds 0 --save-every 2 --save-seconds 0", folder=folder))
        os.chmod(script, 0o755)
        user = pwd.getpwnam(work.user)
        for path in (work.folder, folder, script):
            os.chown(path, user.pw_uid, user.pw_gid)
        options = ["-w", work.nodes[0], "--gres=gpu:1", "--job-name=" + text, "--comment=" + text,
                   "--output=" + os.path.join(folder, name + ".out"), "--chdir=" + folder]
        if kind not in NO_RUN:
            options.append("--goodput-run=" + text)
        if kind in ("quotes", "json", "sql"):
            options.append("--goodput-tags=note=" + text.replace(",", ";"))
        job = work.site.cluster.sbatch(options + [script], user=work.user)
        outcomes.append(Outcome(work.site, job, folder, {}, None, {"kind": kind, "text": text}))  # type: ignore
    for outcome in outcomes:
        work.site.settle(outcome.job)
    return [outcome._replace(show=work.site.show_json(outcome.job),
                             truth=work.site.truth(outcome.job, outcome.folder)) for outcome in outcomes]


class Strings(Way):
    CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def job(self, outcome: Outcome) -> Dict:
        assert_partition(self, outcome.show)
        job, = outcome.show["jobs"]
        return job

    def test_nothing_is_lost(self) -> None:
        for outcome in self.outcome(hostile):
            with self.subTest(kind=outcome.more["kind"]):
                job = self.job(outcome)
                self.assertEqual(len(outcome.truth.kept), 4)
                self.assertEqual((job["steps"]["count"], job["steps"]["kept"]), (4, 4))
                self.assertEqual((job["state"], job["user"]), ("COMPLETED", job["user"]))
                self.assertEqual(job["gpus"], 1)
                if outcome.more["kind"] == "controls":
                    # Six bytes each in a record of at most 4,096: this string is truncated, and nothing else.
                    self.assertGreaterEqual(len(job["name"]), 340)
                    self.assertTrue(outcome.more["text"].startswith(job["name"]))
                else:
                    self.assertEqual(job["name"], outcome.more["text"])

    def test_a_run_may_be_called_nearly_anything(self) -> None:
        for outcome in self.outcome(hostile):
            kind, text = outcome.more["kind"], outcome.more["text"]
            with self.subTest(kind=kind):
                if kind in NO_RUN:
                    self.assertIsNone(self.job(outcome)["run"])
                    continue
                self.assertEqual(self.job(outcome)["run"], text)
                by_run = outcome.site.sgoodput("show", "--run=" + text, "--json")
                self.assertEqual(json.loads(by_run.stdout)["jobs"], outcome.show["jobs"])

    def test_tables_stay_tables(self) -> None:
        outcomes = self.outcome(hostile)
        site, jobs = outcomes[0].site, [str(outcome.job) for outcome in outcomes]
        parsable = site.sgoodput("-P", "-n", "-o", "JobID,JobName,Run,State", "-j", ",".join(jobs)).stdout
        rows = [line.split("|") for line in parsable.splitlines()]
        self.assertEqual([(row[0], len(row), row[3]) for row in rows], [(job, 4, "COMPLETED") for job in jobs])
        table = site.sgoodput("-o", "JobID,JobName%30,Run,State", "-j", ",".join(jobs)).stdout
        self.assertEqual(len(table.splitlines()), 2 + len(jobs))
        shown = "".join(site.sgoodput("show", job).stdout for job in jobs)
        for text in (parsable, table, shown):
            self.assertIsNone(self.CONTROL.search(text), self.CONTROL.search(text))
        listed = json.loads(site.sgoodput("--json", "-j", ",".join(jobs)).stdout)
        self.assertEqual([job["job_id"] for job in listed["jobs"]], [int(job) for job in jobs])

    def test_nothing_was_set_aside(self) -> None:
        site = self.outcome(hostile)[0].site
        for line in site.sgoodput("doctor").stdout.splitlines():
            self.assertNotRegex(line, "(?i)quarantine|could not be read|is not valid")
