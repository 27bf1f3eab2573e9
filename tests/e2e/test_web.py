#!/usr/bin/python3
"""goodputd's page and `sgoodput watch` on a real cluster: they show the same as `sgoodput`. Pictures go to out/tests/web-*.png.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_web
"""

import json
import os
import pty
import pwd
import select
import subprocess
import time
import unittest
from typing import Any, Dict, List

from .harness.axe import violations
from .harness.browser import Browser
from .harness.fleet_clusters import accounted
from .harness.goodput_site import BUILD, SGOODPUT, TRAINER, Site
from .harness.reach import reachable

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PICTURES = os.path.join(TOP, "out", "tests")
WAIT_S = 90


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class WebTest(unittest.TestCase):
    site: Site
    job: int

    @classmethod
    def setUpClass(cls) -> None:
        from ..cluster.ports import reserve
        (port,), lock = reserve(1)
        cls.url = "http://127.0.0.1:%d" % port
        cls.site = Site("linuxproc", nodes=2, daemon=False, conf=["listen = 127.0.0.1:%d" % port, "query_socket = off"])
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        reader = pwd.getpwnam("daemon")
        os.chown(os.path.dirname(cls.site.database), reader.pw_uid, reader.pw_gid)
        lock.close()
        cls.site.start_daemon()
        # One run that is requeued once, and one that lasts as long as the test.
        folder = cls.site.folder("web", "nobody")
        cls.job = cls.site.cluster.sbatch(cls.trainer(folder, 25), user="nobody", options=[
            "-N1", "--gres=gpu:8", "--goodput-run=pretrain-7b", "--job-name=pretrain"])
        cls.site.wait_steps(folder, 0, 12)
        cls.site.cluster.run(["scontrol", "requeue", str(cls.job)])
        cls.site.settle(cls.job, timeout=WAIT_S)
        cls.wait(lambda: cls.show(cls.job).get("state") == "COMPLETED")

    @classmethod
    def trainer(cls, folder: str, steps: int) -> str:
        return "srun %s --dir %s --steps %d --step-seconds 0.2 --save-every 5 --save-seconds 0.2 --init-seconds 0.5 --marks" % (
            TRAINER, folder, steps)

    @classmethod
    def wait(cls, what: Any) -> None:
        deadline = time.monotonic() + WAIT_S
        while not what():
            assert time.monotonic() < deadline, cls.site.daemon_log()[-3000:]
            time.sleep(0.2)

    @classmethod
    def show(cls, job: int) -> Dict:
        answer = cls.site.sgoodput("show", str(job), "--json", "--no-refresh")
        return dict(json.loads(answer.stdout)["jobs"][0]) if answer.returncode == 0 else {}

    def env(self) -> Dict[str, str]:
        return {"GOODPUT_ASK": reachable(os.path.join(BUILD, "tools", "ask", "goodput-ask"))}

    def wide_enough(self, browser: Browser) -> None:
        self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), browser.run("return innerWidth"))

    # --- the page

    def test_from_the_list_by_keys_to_a_run_and_to_the_fleet(self) -> None:
        browser = Browser.blank(1200)
        browser.open(self.url + "/")
        browser.wait("return document.querySelectorAll('table.runs tbody tr').length >= 1", "the list")
        self.assertIn("pretrain-7b", browser.text())
        browser.picture(os.path.join(PICTURES, "web-list-light.png"))
        browser.keys("/")
        browser.keys(*"no such run")
        browser.wait("return document.querySelectorAll('table.runs tbody tr').length === 0", "the filter")
        browser.run("const i = document.querySelector('input'); i.value = 'PRETRAIN nobody'; i.dispatchEvent(new Event('input'));")
        browser.wait("return document.querySelectorAll('table.runs tbody tr').length === 1", "the filter")
        browser.run("document.activeElement.blur()")
        browser.keys("j", "\ue007")
        browser.wait("return document.querySelectorAll('svg rect.cell').length > 5", "the run")
        job = self.show(self.job)
        text = browser.text()
        for fraction in (job["goodput"]["scheduling"], job["goodput"]["runtime"], job["goodput"]["sg_rg"]):
            self.assertIn("%.1f %%" % (100 * fraction), text)
        self.assertIn("user_requeue", text)
        self.assertEqual(browser.run("return document.querySelectorAll('svg rect.attempt').length"), 2)
        self.assertNotRegex(text, r"\[object|NaN|undefined|\bnull\b")
        self.wide_enough(browser)
        browser.picture(os.path.join(PICTURES, "web-run-light.png"))
        browser.keys("f")
        browser.wait("return document.body.innerText.includes('By partition')", "the fleet")
        self.assertRegex(browser.text(), r"2 nodes")
        # The cluster is younger than the seven days.
        self.assertRegex(browser.text(), r"For \d+\.\d % of it nobody saw the nodes")
        browser.wait("return !document.body.innerText.includes('asking ...')", "all cards")
        self.assertNotRegex(browser.text(), r"NaN|null|undefined")
        self.wide_enough(browser)
        browser.picture(os.path.join(PICTURES, "web-fleet-light.png"))
        self.of_users_and_days(browser)
        self.assertEqual(browser.errors(), [])
        self.of_weeks(browser)
        self.assertEqual(len(browser.errors()), 1, "the week before the cluster's first is not found, and none before that is asked for")
        browser.keys("\ue00c")
        browser.wait("return document.querySelectorAll('table.runs tbody tr').length >= 1", "the list again")

    def of_weeks(self, browser: Browser) -> None:
        browser.run("const s = document.querySelector('select'); s.value = 'now-28days'; s.dispatchEvent(new Event('change'));")
        browser.wait("return document.body.innerText.includes('By week') && !document.body.innerText.includes('asking ...')", "the weeks")
        cells = browser.run("return [...document.querySelectorAll('section')].filter((s) => s.innerText.startsWith('By week'))"
                            ".flatMap((s) => [...s.querySelectorAll('tbody td')]).map((td) => td.textContent)")
        now = time.time()
        total = json.loads(self.site.sgoodput("report", "-a", "--fleet", "-S", "now-7days", "--json", "--no-refresh").stdout)["total"]
        self.assertEqual(len(cells), 6, "the cluster is younger than a week")
        self.assertIn(cells[0], [time.strftime("%Y-%m-%d", time.gmtime(now - 7 * 86400 - late)) for late in (0, 60)])
        self.assertEqual(cells[2], "%.1f %%" % (100 * total["scheduling"]))
        self.assertEqual(browser.run("return document.querySelectorAll('circle.share').length"),
                         sum(1 for name in ("mpg", "scheduling", "runtime", "program") if total[name] is not None))
        self.assertNotRegex(browser.text(), r"NaN|null|undefined")
        self.wide_enough(browser)
        browser.picture(os.path.join(PICTURES, "web-weeks-light.png"))

    def of_users_and_days(self, browser: Browser) -> None:
        def report(by: str) -> Dict[str, Any]:
            answer: Dict[str, Any] = json.loads(self.site.sgoodput("report", "-a", "-S", "now-7days", "-T", "--by", by, "--json", "--no-refresh").stdout)
            return answer
        user, = report("user")["rows"]
        cells = browser.run("return [...document.querySelectorAll('section')].filter((s) => s.innerText.startsWith('Users'))"
                            ".flatMap((s) => [...s.querySelectorAll('tbody td')]).map((td) => td.textContent)")
        self.assertEqual(cells[:2], ["nobody", str(user["runs"])])
        self.assertEqual(cells[6], "%.1f %%" % (100 * user["scheduling"]))
        wanted = {row["group"]: sum(b["gpu_seconds"] for b in row["buckets"] if b["name"] != "hold") for row in report("day")["rows"]}
        drawn = browser.run("const days = [...document.querySelectorAll('rect.day')]; const sums = {}; for (const rect of days) {"
                            "const x = rect.getAttribute('x'); sums[x] = (sums[x] || 0) + Number(rect.getAttribute('height')); } return Object.values(sums)")
        self.assertEqual(len(drawn), sum(1 for seconds in wanted.values() if seconds > 0))
        self.assertAlmostEqual(max(drawn), 162, places=3)  # the longest day has the whole height
        self.assertEqual(browser.run("return document.querySelectorAll('.node').length"), len([r for r in report("node")["rows"] if r["group"] != "-"]))

    def test_on_a_narrow_dark_screen(self) -> None:
        browser = Browser.blank(400, dark=True)
        for name, view, ready in (("list", "", "table.runs tbody tr"), ("fleet", "#/fleet", "table"),
                                  ("run", "#/run/%s/pretrain-7b/nobody" % self.show(self.job)["cluster"], "svg rect.cell")):
            browser.open(self.url + "/" + view)
            browser.wait("return document.querySelector('%s') !== null" % ready, name)
            self.wide_enough(browser)
            browser.picture(os.path.join(PICTURES, "web-%s-dark-400.png" % name))
        self.assertEqual(browser.errors(), [])

    def test_nothing_stands_in_the_way_of_a_screen_reader(self) -> None:
        for dark in (False, True):
            browser = Browser.blank(1200, dark)
            for view, ready in (("", "table.runs tbody tr"), ("#/fleet", "table"), ("#/run/%s/pretrain-7b/nobody" % self.show(self.job)["cluster"],
                                                                                    "svg rect.cell")):
                browser.open(self.url + "/" + view)
                browser.wait("return document.querySelector('%s') !== null" % ready, view)
                self.assertEqual(violations(browser), [], view)

    def test_z_hundreds_of_runs_are_searched_and_sorted(self) -> None:
        """Also those beyond the first page."""
        text = accounted(self.show(self.job)["cluster"], 5, 260)
        path = self.site.path("goodput", "sacct.txt")
        with open(path, "w") as file:
            file.write(text)
        done = self.site.sgoodput("import", path)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        jobs = json.loads(self.site.sgoodput("-a", "-S", "now-365days", "--json", "--no-refresh").stdout)["jobs"]
        self.assertGreater(len(jobs), 250)
        browser = Browser.blank(1200)
        browser.open(self.url + "/")
        browser.wait("return document.querySelector('select') !== null")
        browser.run("const s = document.querySelector('select'); s.value = 'now-365days'; s.dispatchEvent(new Event('change'));")
        rows = "return document.querySelectorAll('table.runs tbody tr.open').length"
        browser.wait(rows, "a page", lambda count: count == 100)
        self.assertIn("100 runs, and more", browser.text())
        browser.run("const i = document.querySelector('input'); i.value = ' kim '; i.dispatchEvent(new Event('input'));")
        kims = sum(1 for job in jobs if "kim" in " ".join([job["user"], job["account"], job["name"], job["run"] or ""]))
        browser.wait(rows, "all of kim's", lambda count: count == kims)
        browser.wait("return document.body.innerText.includes('%d of %d runs')" % (kims, len(jobs)))
        browser.run("const i = document.querySelector('input'); i.value = ''; i.dispatchEvent(new Event('input'));")
        browser.run("[...document.querySelectorAll('th button')].find((b) => b.textContent.startsWith('GPUs')).click()")
        column = "return [...document.querySelectorAll('table.runs tbody tr.open')].map((row) => Number(row.querySelector('[data-label=GPUs]').textContent))"
        self.assertEqual(browser.run(column), sorted((job["gpus"] for job in jobs), reverse=True))
        self.assertEqual(browser.run("return [...document.querySelectorAll('th[aria-sort]')].map((th) => th.getAttribute('aria-sort'))"), ["descending"])
        browser.run("[...document.querySelectorAll('th button')].find((b) => b.textContent.startsWith('GPUs')).click()")
        self.assertEqual(browser.run(column), sorted(job["gpus"] for job in jobs))
        # It is asked for again every few seconds, and stays whole meanwhile.
        browser.run("window.least = []; const body = document.querySelector('table.runs tbody');"
                    "new MutationObserver(() => window.least.push(body.querySelectorAll('tr.open').length)).observe(body, {childList: true});")
        seen = browser.wait("return window.least", "a refresh", lambda counts: len(counts) > 0)
        self.assertEqual(set(seen), {len(jobs)})
        self.wide_enough(browser)
        browser.picture(os.path.join(PICTURES, "web-list-260.png"))
        self.assertEqual(browser.errors(), [])

    def test_what_is_not_there_is_said_and_not_shown_as_nothing(self) -> None:
        browser = Browser.blank(800)
        browser.open(self.url + "/#/run/nowhere/nothing/nobody")
        browser.wait("return document.body.innerText.includes('There is no such run')", "the sentence")

    def test_the_page_loads_nothing_from_elsewhere(self) -> None:
        browser = Browser.blank(800)
        browser.open(self.url + "/")
        browser.wait("return document.querySelectorAll('table.runs tbody tr').length >= 1", "the list")
        names: List[str] = browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        self.assertEqual([name for name in names if not name.startswith(self.url) and not name.startswith("data:")], [])

    def test_the_same_page_in_a_file(self) -> None:
        pages = []
        for more in (["--no-refresh"], ["--url", self.url]):
            path = self.site.path("goodput", "page.html")
            done = self.site.sgoodput("show", str(self.job), *more, "--html", path, env=self.env())
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            with open(path) as file:
                pages.append(file.read())
        self.assertEqual(pages[0], pages[1])

    # --- watch

    def watch(self, job: int, *more: str) -> List[str]:
        return [SGOODPUT, "watch", str(job), "-i", "0.5", *more]

    def test_watch_goes_on_until_the_run_ends(self) -> None:
        folder = self.site.folder("watched", "nobody")
        job = self.site.cluster.sbatch(self.trainer(folder, 40), user="nobody", options=["-N1", "--mem=100"])
        self.site.wait_steps(folder, 0, 8)
        env = dict(self.site.cluster.env(), GOODPUT_CONF=self.site.conf, **self.env())
        watchers = [subprocess.Popen(self.watch(job, *more), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, universal_newlines=True) for more in ((), ("--url", self.url))]
        for watcher in watchers:
            out, err = watcher.communicate(timeout=WAIT_S)
            self.assertEqual((watcher.returncode, err), (0, ""))
            self.assertRegex(" ".join(out.split()), r"At risk now \S+, \d+ steps? that no checkpoint covers; last checkpoint of step \d+ begun \S+ ago Last step \d+, begun \S+ ago; a step takes 0\.\ds ")
            frames = out.count("user nobody")
            self.assertGreater(frames, 2, out)
            self.assertIn("(now), wall", out)
            self.assertNotIn("(now), wall", out[out.rindex("user nobody"):])
            self.assertIn("COMPLETED", out[out.rindex("user nobody"):])
            self.assertNotIn("\033[", out)

    def test_watch_on_a_terminal_is_redrawn_and_left_with_q(self) -> None:
        folder = self.site.folder("terminal", "nobody")
        job = self.site.cluster.sbatch(self.trainer(folder, 1000), user="nobody", options=["-N1", "--mem=100"])
        self.addCleanup(self.site.cluster.run, ["scancel", str(job)])
        self.site.wait_steps(folder, 0, 8)
        master, slave = pty.openpty()
        env = dict(self.site.cluster.env(), GOODPUT_CONF=self.site.conf, TERM="xterm")
        child = subprocess.Popen(self.watch(job), env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.addCleanup(os.close, master)
        screen = b""
        deadline = time.monotonic() + WAIT_S
        while screen.count(b"\033[H\033[2J") < 3 and time.monotonic() < deadline:
            if select.select([master], [], [], 1)[0]:
                screen += os.read(master, 65536)
        self.assertGreaterEqual(screen.count(b"\033[H\033[2J"), 3)
        self.assertIn("Where the time went", screen.decode())
        os.write(master, b"q")
        self.assertEqual(child.wait(WAIT_S), 0)

    def test_watch_of_a_job_nobody_knows(self) -> None:
        for more in ((), ("--url", self.url)):
            done = self.site.sgoodput("watch", "99999", "--once", *more, env=self.env())
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual(done.stderr, "sgoodput: job 99999 is not known\n")


if __name__ == "__main__":
    unittest.main()
