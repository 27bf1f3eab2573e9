#!/usr/bin/python3
"""Manuals, the example configuration, --help and completion agree with the programs, and their examples work.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_manuals
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from typing import Dict, List, Set

from .harness.hand_written import SGOODPUT, TOP, Spool, run_it

BUILD = os.path.join(TOP, os.environ.get("GOODPUT_BUILD", "build"))
GOODPUTD = os.path.join(BUILD, "tools", "goodputd", "goodputd")
MAN = os.path.join(TOP, "docs", "man")


def read(*names: str) -> str:
    with open(os.path.join(TOP, *names)) as file:
        return file.read()


def shown(page: str) -> str:
    """The rendered text, one line per paragraph."""
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", os.path.join(MAN, page)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=60,
                          env=dict(os.environ, MANWIDTH="400", LANG="C.UTF-8", MANPAGER="cat", PAGER="cat", MAN_KEEP_FORMATTING=""))
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.replace("\u2010", "-").replace("\u2212", "-")


def section(page: str, name: str) -> str:
    return re.split(r"(?m)^\.SH ", read("docs", "man", page).split("\n.SH %s\n" % name)[1])[0]


def keys() -> Set[str]:
    """The keys that goodputd knows, from its own output."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write("nonsense = 1\n")
        conf.flush()
        said = subprocess.run([GOODPUTD, "--check", "--config", conf.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, timeout=60).stdout
    return set(re.split(r",\s*", said.split("known keys: ")[1].strip()))


def helps() -> Dict[str, str]:
    """--help by subcommand; "" is the overview."""
    subcommands = re.findall(r"(?m)^  (\w+) {2,}\S", run_it("--help").stdout.split("\nSubcommands:\n")[1].split("\nExamples:")[0])
    said = {name: run_it(*([name] if name else []), "--help").stdout for name in [""] + subcommands}
    for outer in ("fleet", "telemetry"):
        nested = re.findall(r"(?m)^  (\w+) {2,}\S", said[outer].split("\nSubcommands:\n")[1].split("\nExamples:")[0])
        said[outer] += "".join(run_it(outer, name, "--help").stdout for name in nested)
    return said


def options(text: str) -> Set[str]:
    return set(re.findall(r"(?m)^ +(?:-\w,)?(--[a-z][a-z-]*)", text)) | set(re.findall(r"(?m)^ +-\w,(--[a-z][a-z-]*)", text))


class ManualsTest(unittest.TestCase):
    dir: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-manuals-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)

    # --- goodput.conf

    def test_every_key_is_in_the_example_and_in_the_manual_and_no_other(self) -> None:
        known = keys()
        self.assertGreater(len(known), 20)
        example = re.findall(r"(?m)^#([a-z_]+) =", read("tools", "data", "goodput.conf.example"))
        manual = re.findall(r"(?m)^\.BI ([a-z_]+) ", section("goodput.conf.5", "KEYS"))
        self.assertEqual(sorted(example), sorted(known))
        self.assertEqual(sorted(manual), sorted(known))

    def test_the_example_uncommented_is_a_configuration(self) -> None:
        path = os.path.join(self.dir, "whole.conf")
        with open(path, "w") as file:
            file.write(re.sub(r"(?m)^#([a-z_]+ =)", r"\1", read("tools", "data", "goodput.conf.example")))
        done = subprocess.run([GOODPUTD, "--check", "--config", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              universal_newlines=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_manual_s_values_are_the_example_s(self) -> None:
        example = dict(re.findall(r"(?m)^#([a-z_]+) = ?(.*)$", read("tools", "data", "goodput.conf.example")))
        for key, value in re.findall(r'(?m)^\.BI ([a-z_]+) " = (.*)"$', section("goodput.conf.5", "KEYS")):
            self.assertEqual(value.replace("\\-", "-"), example[key] or "NAME", key)

    # --- the plugin

    def test_every_option_of_jobs_and_argument_of_the_plugin_is_in_its_manual(self) -> None:
        source = read("spank", "options.cc")
        page = shown("spank_goodput.8")
        table = re.findall(r'\{OptionId::\w+, "([\w-]+)", "(\w+)",\s*(?:"(\w+)"|nullptr)', source)
        self.assertEqual(len(table), 11)
        for option, variable, site_key in table:
            self.assertRegex(page, r"--%s=\S+.*\(%s\)" % (re.escape(option), variable))
            if site_key:
                self.assertIn(site_key + "=", page)
        for argument in re.findall(r'name == "(\w+)"', source):
            if argument != "fault":
                self.assertRegex(page, r"(?m)^ +%s=" % argument)
        self.assertEqual(set(re.findall(r"--(goodput[\w-]*)", page)) - {option for option, _, _ in table}, set())

    # --- sgoodput and goodputd

    def test_every_subcommand_and_option_is_in_the_manual_and_no_other(self) -> None:
        page = shown("sgoodput.1")
        all_options: Set[str] = set()
        for name, text in helps().items():
            self.assertTrue(not name or re.search(r"(?m)^ +(sgoodput )?%s\b" % name, page), name)
            all_options |= options(text)
        self.assertGreater(len(all_options), 40)
        documented = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+)", page))
        self.assertEqual({option for option in all_options if option not in documented}, set())
        foreign = {"--format", "--goodput-run", "--goodput-log-profile", "--goodput-checkpoint-signal", "--goodput-flops-per-step",
                   "--goodput-model", "--goodput-precision", "--goodput-tags", "--goodput-spares", "--goodput-hang-evidence", "--signal", "--begin", "--with-slurm", "--delimiter",
                   "--otel-span-groups", "--ft-cycle-info-dir"}
        self.assertEqual(documented - all_options - foreign, set())

    def test_every_option_of_goodputd_is_in_its_manual(self) -> None:
        page = shown("goodputd.8")
        said = subprocess.run([GOODPUTD, "--help"], stdout=subprocess.PIPE, universal_newlines=True, timeout=60).stdout
        for option in re.findall(r"(--[a-z]+)", said):
            if option not in ("--help", "--version"):
                self.assertIn(option, page)

    def test_help_fits_a_screen_in_width_and_has_examples(self) -> None:
        for name, text in helps().items():
            self.assertLessEqual(max(len(line) for line in text.splitlines()), 120, name)
        for name, text in helps().items():
            self.assertTrue(name in ("mark", "otlp") or "Examples:\n" in text, name)

    def test_pages_are_without_faults(self) -> None:
        for page in sorted(os.listdir(MAN)):
            self.assertIn("SEE ALSO", shown(page))

    def test_the_synopsis_names_every_subcommand_and_has_no_stray_quote(self) -> None:
        synopsis = shown("sgoodput.1").split("\nSYNOPSIS\n")[1].split("\nDESCRIPTION")[0]
        self.assertNotIn('"', synopsis)
        self.assertIn("report --fleet", synopsis)
        self.assertEqual(synopsis.count("["), synopsis.count("]"))
        for name in helps():
            self.assertRegex(synopsis, r"(?m)^ +sgoodput %s\b" % name if name else r"(?m)^ +sgoodput \[filters\]")

    def test_the_manual_s_examples_work(self) -> None:
        """Runs the examples that only query; files that they name are created first."""
        spool = Spool(os.path.join(self.dir, "spool"))
        for job in (1234, 1240):
            times = {"submit_s": 0, "eligible_s": 0, "start_s": 10}
            spool.controller(11, job=job, user="eve", account="acc", **times)
            spool.node(10, "job_prolog", job=job, opt={"run": "pretrain-7b" if job == 1234 else "pretrain-7b-v2"})
            spool.node(12, "task_start", job=job, slurm_step="0", task=0, pid=5)
            for step in range(20):
                spool.node(20 + 10 * step, "mark", mark="step", edge="begin", train_step=step, job=job, slurm_step="0", task=0)
            spool.controller(230, job=job, user="eve", account="acc", state="FAILED", end_s=230, exit_code=1, **times)
        spool.write()
        conf, db = os.path.join(self.dir, "goodput.conf"), os.path.join(self.dir, "db")
        with open(conf, "w") as file:
            file.write("cluster = c\ndatabase = %s\nspool = %s\n" % (db, spool.folder))
        self.assertEqual(run_it("ingest", "--config", conf).returncode, 0)
        ran = 0
        examples = section("sgoodput.1", "EXAMPLES").replace("\\-", "-").splitlines()
        for text in helps().values():
            examples += text.split("Examples:\n")[1].split("\n\n")[0].splitlines() if "Examples:\n" in text else []
        for line in examples:
            command = re.split(r" {3,}|  #", line.strip())[0]
            # Other tests cover examples that need a job, a cluster, another program's file or a whole day.
            if "--fleet" in command or "--cloud-" in command or "--bigquery" in command or not re.match(r"sgoodput (-|$|show|attempts|advise|report|diff|export|profile|watch .*--once)", command) or "slurm-1234.out" in command:
                continue
            done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  universal_newlines=True, timeout=60, cwd=self.dir,
                                  env=dict(os.environ, PATH=os.path.dirname(SGOODPUT) + ":" + os.environ["PATH"], GOODPUT_CONF=conf))
            # There may be no runs since midnight.
            self.assertIn(done.returncode, (0, 1) if re.match(r"sgoodput( -S| report -a|$)", command) else (0,), command + "\n" + done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            ran += 1
        self.assertGreater(ran, 12, examples)

    # --- completion

    def complete(self, *words: str) -> List[str]:
        script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sgoodput; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", os.path.join(TOP, "tools", "data", "completion", "sgoodput"), "sgoodput", *words],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60,
                              env=dict(os.environ, PATH=os.path.dirname(SGOODPUT) + ":" + os.environ["PATH"]))
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def complete_in_fish(self, line: str) -> List[str]:
        """As NAME or NAME<tab>DESCRIPTION."""
        return self.shell("fish", "--no-config", "-c", 'source $argv[1]; complete -C "sgoodput $argv[2]"', "--",
                          os.path.join(TOP, "tools", "data", "completion", "sgoodput.fish"), line).splitlines()

    def complete_in_zsh(self, line: str) -> List[str]:
        """All that zsh is offered, of which it takes what begins with the last word."""
        script = ("compadd() { if [[ $1 == -l ]]; then print -rl -- $shown; else print -rl -- $@; fi }; _files() { print FILES }; source $1;"
                  'words=(sgoodput ${(s: :)2}); [[ $2 == "" || $2 == *" " ]] && words+=(""); CURRENT=$#words; _sgoodput')
        said = self.shell("zsh", "-f", "-c", script, "zsh", os.path.join(TOP, "tools", "data", "completion", "_sgoodput"), line)
        last = line.split(" ")[-1]
        return ["\t".join(one.split("  -- ")) for one in said.splitlines() if one.startswith(last)]

    def shell(self, *command: str) -> str:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                              timeout=60, env=dict(os.environ, PATH=os.path.dirname(SGOODPUT) + ":" + os.environ["PATH"]))
        self.assertEqual(done.stderr, "", command)
        return done.stdout

    def test_completion_of_other_shells(self) -> None:
        for complete in (self.complete_in_fish, self.complete_in_zsh):
            self.assertEqual(complete("wa"), ["watch\tfollow a run until it ends"])
            self.assertEqual({one.split("\t")[0] for one in complete("")}, set(helps()) - {""})
            for line, expected in (("show --expl", "--explain"), ("show 7 --explain lost", "lost_work"), ("--start", "--starttime"),
                                   ("import --log-profile mega", "megatron megatron-progress"), ("report --by reser", "reservation"),
                                   ("profile t", "test"), ("--color n", "never"), ("export --format s", "spool"), ("--db /nonexist", ""),
                                   ("-u n", ""), ("fleet ver", "verify")):
                self.assertEqual([one.split("\t")[0] for one in complete(line)], expected.split(), (complete.__name__, line))
            self.assertIn("JobID", complete("-o Job"))
            self.assertIn("--suspects\twith --by node: only nodes that fail more often than by chance, and their list", complete("report --sus"))

    def test_completion_knows_subcommands_options_buckets_fields_and_profiles(self) -> None:
        self.assertEqual(self.complete("wa"), ["watch"])
        self.assertEqual(set(self.complete("")), set(helps()) - {""})
        self.assertEqual(self.complete("show", "--expl"), ["--explain"])
        self.assertEqual(self.complete("show", "7", "--explain", "lost"), ["lost_work"])
        self.assertIn("--starttime", self.complete("--start"))
        self.assertIn("JobID", self.complete("-o", "Job"))
        self.assertEqual(self.complete("import", "--log-profile", "mega"), ["megatron", "megatron-progress"])
        self.assertEqual(self.complete("report", "--by", "reser"), ["reservation"])
        self.assertEqual(self.complete("profile", "t"), ["test"])
        self.assertEqual(self.complete("telemetry", "st"), ["status"])
        self.assertEqual(self.complete("--color", "n"), ["never"])
        self.assertEqual(self.complete("export", "--format", "s"), ["spool"])


if __name__ == "__main__":
    unittest.main()
