#!/usr/bin/python3
"""`sgoodput show --html`: the page of one run in a headless Chromium. Pictures go to out/tests/page-*.png.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_page
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from typing import Dict, List, Tuple

from .harness import schemas
from .harness.axe import violations
from .harness.browser import Browser
from .harness.colours import contrast, difference, least_difference
from .harness.hand_written import TOP, Spool, run_it

PICTURES = os.path.join(TOP, "out", "tests")
# Hostile names of jobs, runs and users: none may become part of the page's code.
HOSTILE = "</script><img src=x onerror=document.title='owned'><!-- \u2028 & \" '"


class PageTest(unittest.TestCase):
    dir: str
    db: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-page-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        os.chmod(cls.dir, 0o755)
        spool = Spool(os.path.join(cls.dir, "spool"))
        cls.attempt(spool, 7, 0, 40, range(0, 50), "NODE_FAIL", failed_node="n2")
        cls.attempt(spool, 7, 640, 700, range(40, 90), "PREEMPTED")
        cls.attempt(spool, 7, 1300, 1420, range(80, 140), "COMPLETED")
        cls.attempt(spool, 8, 3000, 3100, range(0, 20), "COMPLETED", name=HOSTILE, account=HOSTILE, run=HOSTILE)
        spool.write()
        cls.db = os.path.join(cls.dir, "db")
        conf = os.path.join(cls.dir, "conf")
        with open(conf, "w") as file:
            file.write("cluster = c\n")
        done = run_it("ingest", "--config", conf, "--db", cls.db, "--spool", spool.folder)
        assert (done.returncode, done.stderr) == (0, ""), done

    @staticmethod
    def attempt(spool: Spool, job: int, submit: int, start: int, steps: range, state: str, run: str = "", failed_node: str = "",
                name: str = "train", account: str = "acc") -> None:
        """16 GPUs, steps of 10 s, a save of 4 s before every tenth; told to stop before its end unless it completes."""
        more = {"job": job, "user": "eve", "account": account, "name": name}
        times = {"submit_s": submit, "eligible_s": submit, "start_s": start}
        spool.controller(submit + 1, kind="queue", state="PENDING", submit_s=submit, eligible_s=submit, reason="Resources", **more)
        spool.controller(start + 1, **times, **more)
        spool.node(start + 0.5, "job_prolog", job=job, opt={"run": run} if run else {})
        spool.node(start + 2, "step_start", slurm_step="extern", job=job)
        spool.node(start + 5, "task_start", slurm_step="0", task=0, local_task=0, pid=5, job=job)
        t = start + 25.0
        mark = {"kind": "mark", "slurm_step": "0", "task": 0, "job": job}
        for step in steps:
            if step % 10 == 0 and step != steps.start:
                spool.node(t, mark="checkpoint", edge="begin", train_step=step, **mark)
                t += 4
                spool.node(t, mark="checkpoint", edge="end", train_step=step, **mark)
            spool.node(t, mark="step", edge="begin", train_step=step, **mark)
            t += 10
        if state != "COMPLETED":
            spool.node(t - 5, "signal", signal=15, slurm_step="0", task=0, pid=5, target="task", comm="python3",
                       sender="slurmstepd", sender_pid=4, handled=1, job=job)
        spool.node(t, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, exit_code=0 if state == "COMPLETED" else 1, job=job)
        more.update({"failed_node": failed_node} if failed_node else {})
        spool.controller(t + 1, state=state, end_s=int(t + 1), exit_code=0, **times, **more)

    def say(self, *args: str) -> "subprocess.CompletedProcess[str]":
        return run_it("show", *args, "--config", os.path.join(self.dir, "conf"), "--db", self.db)

    def page(self, *args: str) -> str:
        path = os.path.join(self.dir, "run.html")
        done = self.say(*args, "--html", path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return "file://" + path

    def test_the_timeline_in_json_holds_every_nanosecond_of_every_bucket(self) -> None:
        done = self.say("7", "--json", "--timeline")
        answer = json.loads(done.stdout)
        schemas.check(answer, "sgoodput")
        job = answer["jobs"][0]
        sums: dict = {}
        at = job["submit_ns"]
        for cell in job["timeline"]:
            self.assertEqual(cell["begin_ns"], at)
            at = cell["end_ns"]
            self.assertEqual(sum(cell["buckets"].values()), cell["end_ns"] - cell["begin_ns"])
            for name, ns in cell["buckets"].items():
                sums[name] = sums.get(name, 0) + ns
        self.assertEqual(at, job["end_ns"])
        self.assertEqual(sums, {bucket["name"]: bucket["ns"] for bucket in job["buckets"] if bucket["ns"]})
        self.assertNotIn("timeline", json.loads(self.say("7", "--json").stdout)["jobs"][0])

    def test_a_run_of_which_little_is_known(self) -> None:
        """A run without account, partition and GPUs, and one with a single GPU."""
        folder = tempfile.mkdtemp(dir=self.dir)
        spool = Spool(os.path.join(folder, "spool"))
        for job, more in ((1, {"gpus": 0, "gpu_type": "", "partition": ""}), (2, {"gpus": 1, "nnodes": 1, "nodes": "n1"})):
            times = {"submit_s": 0, "eligible_s": 0, "start_s": 10, "job": job}
            spool.controller(11, **times, **more)
            spool.controller(60, **times, **more, end_s=60, state="COMPLETED")
        spool.write()
        where = ["--config", os.path.join(self.dir, "conf"), "--db", os.path.join(folder, "db")]
        self.assertEqual(run_it("ingest", *where, "--spool", spool.folder).returncode, 0)
        browser = Browser.blank(1200)
        for job, said in ((1, "partition –, COMPLETED; submitted"), (2, "partition a3, COMPLETED, 1 GPU; submitted")):
            page = os.path.join(folder, "%d.html" % job)
            self.assertEqual(run_it("show", str(job), *where, "--no-refresh", "--html", page).returncode, 0)
            browser.open("file://" + page)
            browser.wait("return document.querySelectorAll('svg rect.cell').length > 0", "the timeline")
            self.assertIn(said, browser.text())
        self.assertIn("account -  partition -  COMPLETED\n", run_it("show", "1", *where, "--no-refresh").stdout)
        self.assertIn("  COMPLETED  1 GPU (h100)\n", run_it("show", "2", *where, "--no-refresh").stdout)
        self.assertIn(", 1 attempt, 1 start of the program, 1 GPU\n", run_it("diff", "1", "2", *where, "--no-refresh").stdout)

    def test_a_page_that_cannot_be_written_is_one_line(self) -> None:
        done = self.say("7", "--html", "/nonexistent/page.html")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"^sgoodput: /nonexistent/page.html: cannot write: No such file or directory\n$")

    def test_a_run_on_a_wide_light_screen(self) -> None:
        browser = Browser.blank(1200)
        browser.open(self.page("7"))
        browser.wait("return document.querySelectorAll('svg rect.cell').length > 20", "the timeline")
        self.assertEqual(browser.run("return document.querySelectorAll('svg rect.attempt').length"), 3)
        self.assertEqual(browser.run("return document.querySelectorAll('svg .stop, svg .planned').length"), 2)
        self.assertEqual(browser.run("return document.querySelectorAll('svg line.signal').length"), 2)
        self.assertEqual(browser.run("return document.querySelectorAll('svg circle.saved').length"), 4 + 4 + 5)
        browser.run("dispatchEvent(new Event('beforeprint'))")
        text = browser.text()
        browser.run("dispatchEvent(new Event('afterprint'))")
        job = json.loads(self.say("7", "--json").stdout)["jobs"][0]
        for fraction in (job["goodput"]["scheduling"], job["goodput"]["runtime"], job["goodput"]["sg_rg"]):
            self.assertIn("%.1f %%" % (100 * fraction), text)
        for words in ("node_fail", "preempted", "lost_work", "queue_resources", "Accounting: "):
            self.assertIn(words, text)
        self.assertNotIn("[object", text)
        self.wide_enough(browser)
        # Zooms in with keys, and shows everything again.
        browser.run("document.querySelector('svg').focus()")
        whole = browser.run("return document.querySelector('.range').textContent")
        self.assertIn("all of it", whole)
        browser.keys("+", "+")
        closer = browser.run("return document.querySelector('.range').textContent")
        self.assertNotIn("all of it", closer)
        browser.keys("\ue014")
        self.assertNotEqual(browser.run("return document.querySelector('.range').textContent"), closer)
        browser.keys("0")
        self.assertEqual(browser.run("return document.querySelector('.range').textContent"), whole)
        browser.picture(os.path.join(PICTURES, "page-light.png"))
        self.assertEqual(browser.errors(), [])

    def test_a_run_on_a_narrow_dark_screen(self) -> None:
        browser = Browser.blank(400, dark=True)
        browser.open(self.page("7"))
        browser.wait("return document.querySelectorAll('svg rect.cell').length > 20", "the timeline")
        self.wide_enough(browser)
        browser.run("dispatchEvent(new Event('beforeprint'))")
        # Nothing is cut off, and no two times lie over each other.
        self.assertEqual(browser.run("return [...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1).length"), 0)
        times = browser.run("return [...document.querySelectorAll('svg text:not(.ink)')].map((t) => t.getBoundingClientRect()).map((b) => [b.left, b.right])")
        self.assertGreater(len(times), 2)
        for (_, right), (left, _) in zip(times, times[1:]):
            self.assertGreater(left, right)
        browser.run("dispatchEvent(new Event('afterprint'))")
        light = browser.run("return getComputedStyle(document.body).backgroundColor")
        self.assertEqual(light, "rgb(18, 22, 29)")
        browser.picture(os.path.join(PICTURES, "page-dark-400.png"))
        self.assertEqual(browser.errors(), [])

    def wide_enough(self, browser: Browser) -> None:
        """The page does not scroll horizontally."""
        self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), browser.run("return innerWidth"))

    def test_it_says_what_became_progress_and_what_to_do(self) -> None:
        browser = Browser.blank(1200)
        browser.open(self.page("7"))
        browser.wait("return document.querySelectorAll('svg rect.cell').length > 20", "the timeline")
        job = json.loads(self.say("7", "--json").stdout)["jobs"][0]
        wanted = sum(bucket["gpu_seconds"] for bucket in job["buckets"] if bucket["side"] != "excluded")
        losses = sorted((bucket for bucket in job["buckets"] if bucket["side"] in ("scheduling", "runtime")), key=lambda b: -b["gpu_seconds"])
        sentence = browser.run("return document.querySelector('.sentence').textContent")
        self.assertIn("most was lost to %s (%.1f %%), %s" % (losses[0]["name"], 100 * losses[0]["gpu_seconds"] / wanted, losses[1]["name"]), sentence)
        self.assertGreaterEqual(len(job["what_to_do"]), 1)
        self.assertEqual(browser.run("return [...document.querySelectorAll('ol.todo li')].map((li) => li.textContent)"), job["what_to_do"])
        # `show` has the same sentences.
        text = " ".join(self.say("7").stdout.split())
        for said in job["what_to_do"]:
            self.assertIn(" ".join(said.split()), text)

    def page_of(self, spool: Spool, job: str, cells: int) -> Browser:
        """The page of a job of a database of its own, with more than so many parts in its timeline."""
        spool.write()
        folder = os.path.dirname(spool.folder)
        where = ["--config", os.path.join(self.dir, "conf"), "--db", os.path.join(folder, "db")]
        self.assertEqual(run_it("ingest", *where, "--spool", spool.folder).returncode, 0)
        page = os.path.join(folder, "page.html")
        self.assertEqual(run_it("show", job, *where, "--no-refresh", "--html", page).returncode, 0)
        browser = Browser.blank(1200)
        browser.open("file://" + page)
        browser.wait("return document.querySelectorAll('svg rect.cell').length > %d" % cells, "the timeline")
        return browser

    def test_an_interruption_at_its_end_is_drawn(self) -> None:
        spool = Spool(os.path.join(tempfile.mkdtemp(dir=self.dir), "spool"))
        self.attempt(spool, 7, 0, 40, range(0, 30), "NODE_FAIL", failed_node="n2")
        browser = self.page_of(spool, "7", 5)
        self.assertEqual(browser.run("return document.querySelectorAll('svg .stop, svg .planned').length"), 1)

    def test_on_paper_everything_is_unfolded(self) -> None:
        browser = Browser.blank(1200)
        browser.open(self.page("7"))
        browser.wait("return document.querySelectorAll('svg rect.cell').length > 20", "the timeline")
        folded = "return document.querySelectorAll('details:not([open])').length"
        before = browser.run(folded)
        self.assertGreater(before, 2)
        browser.run("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(browser.run(folded), 0)
        browser.run("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(browser.run(folded), before)

    def test_a_thousand_attempts_stay_readable(self) -> None:
        """54 days in which a run was requeued again and again: marks that would lie over each other are one, tables are shortened."""
        spool = Spool(os.path.join(tempfile.mkdtemp(dir=self.dir), "spool"))
        more = {"job": 9, "user": "eve", "account": "acc", "name": "train"}
        for k in range(1000):
            begin = k * 4665
            times = {"submit_s": begin, "eligible_s": begin, "start_s": begin + 200}
            spool.controller(begin + 201, **times, **more)
            spool.controller(begin + 4600, **times, **more, end_s=begin + 4600, state="COMPLETED" if k == 999 else "NODE_FAIL",
                             **({} if k == 999 else {"failed_node": "n%d" % (k % 7 + 1)}))
        browser = self.page_of(spool, "9", 100)
        drawn = browser.run("return [...document.querySelectorAll('svg .stop')].map((mark) => mark.getBoundingClientRect().x)")
        self.assertGreater(len(drawn), 50)
        self.assertGreater(min(b - a for a, b in zip(sorted(drawn), sorted(drawn)[1:])), 8)
        rows = "return document.querySelectorAll('tbody tr').length"
        self.assertLess(browser.run(rows), 200)
        browser.picture(os.path.join(PICTURES, "page-1000-attempts.png"))
        self.moves_on_the_overview(browser)
        browser.run("[...document.querySelectorAll('button')].filter((b) => b.textContent.startsWith('show all')).forEach((b) => b.click())")
        self.assertGreater(browser.run(rows), 1900)
        self.wide_enough(browser)

    def moves_on_the_overview(self, browser: Browser) -> None:
        """What is shown of a run is marked on all of it, and a click there moves it."""
        window = "const [box, all] = ['.overview .window', '.overview'].map((name) => document.querySelector(name)?.getBoundingClientRect()); " \
            "return box && [(box.left - all.left) / all.width, box.width / all.width]"
        self.assertIsNone(browser.run(window), "all of it is shown")
        browser.run("document.querySelector('svg[tabindex]').focus()")
        browser.keys("+", "+", "+")
        left, width = browser.run(window)
        self.assertAlmostEqual(width, 0.92 / 8, delta=0.02)
        self.assertAlmostEqual(left + width / 2, 0.54, delta=0.02)
        cells = browser.run("return document.querySelectorAll('.overview rect').length")
        self.assertGreater(cells, 100)
        browser.run("const box = document.querySelector('.overview').getBoundingClientRect(); document.querySelector('.overview').dispatchEvent("
                    "new PointerEvent('pointerdown', {clientX: box.left + 0.9 * box.width, clientY: box.top + 5, bubbles: true}))")
        left, width = browser.run(window)
        self.assertAlmostEqual(left + width / 2, 0.9, delta=0.02)
        browser.picture(os.path.join(PICTURES, "page-zoomed.png"))
        browser.keys("0")
        self.assertIsNone(browser.run(window))

    def test_nothing_stands_in_the_way_of_a_screen_reader(self) -> None:
        for dark in (False, True):
            browser = Browser.blank(1200, dark)
            browser.open(self.page("7"))
            browser.wait("return document.querySelectorAll('svg rect.cell').length > 20", "the timeline")
            browser.run("dispatchEvent(new Event('beforeprint'))")
            self.assertEqual(violations(browser), [])

    def test_a_hostile_name_is_text(self) -> None:
        browser = Browser.blank(800)
        browser.open(self.page("8"))
        browser.wait("return document.querySelectorAll('svg rect.cell').length > 2", "the timeline")
        self.assertEqual(browser.run("return document.querySelectorAll('img').length"), 0)
        self.assertNotEqual(browser.run("return document.title"), "owned")
        self.assertIn("onerror=document.title", browser.text())
        self.assertEqual(browser.errors(), [])


class ColoursTest(unittest.TestCase):
    """Shapes stand out from the card, and neighbours from each other, also for people who do not tell red from green."""
    CARDS = ("#ffffff", "#1a2029")
    # What is often drawn side by side, besides the order of the table.
    TOGETHER = {"productive": "launch startup checkpoint_save overhead stall lost_work drain at_risk teardown standby idle_member unobserved "
                              "requeue_backoff", "lost_work": "requeue_backoff resubmit_gap checkpoint_save stall drain at_risk unobserved",
                "unobserved": "hold requeue_backoff queue_resources provisioning launch startup teardown", "provisioning":
                "queue_resources queue_priority queue_other launch startup", "checkpoint_save": "startup at_risk", "stall": "at_risk"}

    def test_the_formula(self) -> None:
        """Against the data that its authors published."""
        for one, other, true in (((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425), ((50, 2.5, 0), (73, 25, -18), 27.1492),
                                 ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082)):
            self.assertAlmostEqual(difference(one, other), true, places=4)

    def test_of_buckets(self) -> None:
        with open(os.path.join(TOP, "tools", "accounting", "timeline", "bucket_table.h")) as file:
            rows = re.findall(r'X\(k\w+, "(\w+)", k\w+, "(#\w+)", "(#\w+)"', file.read())
        self.assertGreater(len(rows), 20)
        pairs = list(zip([row[0] for row in rows], [row[0] for row in rows[1:]]))
        pairs += [(name, other) for name, others in self.TOGETHER.items() for other in others.split()]
        for theme, card in enumerate(self.CARDS, 1):
            colour = {row[0]: row[theme] for row in rows}
            self.good(colour, card, pairs)

    def test_of_nodes(self) -> None:
        names = ("allocated", "completing", "idle", "down", "drained", "unknown", "off")
        with open(os.path.join(TOP, "tools", "web", "style.css")) as file:
            light, dark = file.read().split("prefers-color-scheme: dark", 1)
        for text, card in zip((light, dark), self.CARDS):
            colour = {name: re.findall("--%s: (#\\w+);" % name, text)[0] for name in names}
            self.good(colour, card, [(one, other) for one in names for other in names if one < other])

    def good(self, colour: Dict[str, str], card: str, pairs: List[Tuple[str, str]]) -> None:
        for name, value in colour.items():
            self.assertGreaterEqual(contrast(value, card), 3, name)
        for one, other in pairs:
            self.assertGreaterEqual(least_difference(colour[one], colour[other]), 10, "%s %s on %s" % (one, other, card))


if __name__ == "__main__":
    unittest.main()
