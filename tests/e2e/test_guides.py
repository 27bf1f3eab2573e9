#!/usr/bin/python3
"""README and guides: links work, and the options, buckets and kinds of evidence in them are those of the programs.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_guides
"""

import glob
import os
import re
import unittest
from typing import Iterator, List, Set, Tuple

from .harness.hand_written import TOP
from .test_manuals import helps, options, read

USERS = os.path.join("docs", "users.md")
OPERATORS = os.path.join("docs", "operators.md")
# Options of other programs.
FOREIGN = {"--no-kill", "--signal", "--begin", "--requeue", "--dependency", "--format", "--with-slurm", "--with-plugindir", "--label", "--open-mode", "--now", "--ft-cycle-info-dir",
           "--system", "--batch", "--vars", "--enable-tests", "--enable-unity", "--enable-werror", "--own-slurm", "--unbuffered", "--enable-multiple-slurmd", "--otel-span-groups",
           "--hpc-job-mapping-dir"}


def documents() -> List[str]:
    found = [name for name in sorted(os.listdir(TOP)) if name.endswith(".md")]
    for folder in ("docs", "tools", "spank", "sql", "blueprints", "tests"):
        for where, _, names in os.walk(os.path.join(TOP, folder)):
            found += [os.path.relpath(os.path.join(where, name), TOP) for name in names if name.endswith(".md")]
    return found


def tables(text: str) -> Iterator[List[str]]:
    """Rows of each table, header first."""
    rows: List[str] = []
    for line in text.splitlines() + [""]:
        if line.startswith("|"):
            rows.append(line)
        elif rows:
            yield rows
            rows = []


def cells(row: str) -> List[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip())[1:-1]]


class GuidesTest(unittest.TestCase):
    def test_what_documents_link_to_is_there(self) -> None:
        links: List[Tuple[str, str]] = []
        for document in documents():
            text = re.sub(r"```.*?```", "", read(document), flags=re.S)
            links += [(document, link) for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
        self.assertGreater(len(links), 10)
        for document, link in links:
            self.assertTrue(os.path.exists(os.path.join(TOP, os.path.dirname(document), link)), "%s: %s" % (document, link))

    def test_the_tests_that_promises_name_are_there(self) -> None:
        """docs/security.md: each row names tests, by `test_NAME` or `SUITE.NAME` of GoogleTest."""
        sources = ""
        for folder, pattern in (("tests/e2e", "*.py"), ("tests/unit", "*.cc"), ("tests/spank", "*.cc")):
            for path in glob.glob(os.path.join(TOP, folder, pattern)):
                with open(path) as file:
                    sources += file.read()
        promises = [cells(row) for rows in tables(read("docs", "security.md")) if cells(rows[0])[-1] == "test" for row in rows[2:]]
        self.assertGreater(len(promises), 15)
        for promise, _, tests in promises:
            names = re.findall(r"`([\w.]+)`", tests)
            self.assertTrue(names, promise)
            for name in names:
                suite, _, test = name.rpartition(".")
                there = r"TEST(_F)?\(%s, %s\)" % (suite, test) if suite else r"def %s\(" % test
                self.assertTrue(re.search(there, sources), name)

    def test_sections_that_documents_link_to_are_there(self) -> None:
        seen = 0
        for document in documents():
            text = re.sub(r"```.*?```", "", read(document), flags=re.S)
            for link, section in re.findall(r"\]\(([^)#\s]*)#([\w-]+)\)", text):
                if "://" in link or not (link.endswith(".md") or not link):
                    continue
                target = os.path.normpath(os.path.join(os.path.dirname(document), link)) if link else document
                headings = re.findall(r"(?m)^#+ (.*)$", re.sub(r"```.*?```", "", read(target), flags=re.S))
                anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
                self.assertIn(section, anchors, "%s: %s#%s" % (document, link, section))
                seen += 1
        self.assertGreater(seen, 3)

    def test_tables_have_as_many_cells_in_each_row(self) -> None:
        for document in documents():
            for rows in tables(read(document)):
                self.assertEqual({len(cells(row)) for row in rows}, {len(cells(rows[0]))}, document + "\n" + "\n".join(rows))

    def test_options_named_are_options(self) -> None:
        known: Set[str] = set(FOREIGN)
        for text in helps().values():
            known |= options(text)
        known |= {"--" + name for name in re.findall(r'\{OptionId::\w+, "([\w-]+)"', read("spank", "options.cc"))}
        known |= set(re.findall(r'(--[a-z]+)', read("docs", "man", "goodputd.8").replace("\\-", "-")))
        for document in ("README.md", "CONTRIBUTING.md", USERS, OPERATORS):
            # Ignore command lines of other programs, which have other options.
            text = re.sub(r"(?m)^(?:tests/run|gcloud|sacct|curl|useradd|apt-get|dnf|srun --container-image=IMAGE) .*$|`(?:useradd|systemctl|sacctmgr|docker|tests/run|tests/matrix/\w+)[^`]*`", "", read(document))
            named = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+[a-z])", text))
            self.assertEqual(named - known, set(), document)

    def test_there_is_advice_for_every_bucket_and_its_evidence_is_named(self) -> None:
        source = read("tools", "accounting", "timeline", "bucket.cc")
        buckets = re.findall(r'X\(k\w+, "([a-z_]+)"', read("tools", "accounting", "timeline", "bucket_table.h"))
        self.assertGreater(len(buckets), 15)
        advice, = [rows for rows in tables(read(USERS)) if cells(rows[0])[0] == "bucket"]
        self.assertEqual({cells(row)[0].strip("`") for row in advice[2:]}, set(buckets))
        self.assertTrue(all(cells(row)[2] for row in advice))
        evidence = re.search(r"kEvidence\{(.*?)\};", source, re.S)
        assert evidence
        for word in re.findall(r'"(\w+)"', evidence.group(1)):
            self.assertIn("`%s`" % word, read(USERS))


if __name__ == "__main__":
    unittest.main()
