#!/usr/bin/python3
"""`sgoodput --fleet-db URL page`: the fleet of clusters in a headless Chromium. Pictures go to out/tests/fleet-page-*.png.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_fleet_page
"""

import os
import re
import subprocess
from typing import Any, List

from .harness.axe import violations
from .harness.browser import Browser
from .harness.fleet_clusters import HOSTILE, Cluster, watched
from .harness.hand_written import TOP, run_it
from .test_fleet_database import FleetTest

PICTURES = os.path.join(TOP, "out", "tests")
WHEN = ["-S", "2026-09-21", "-E", "2026-11-01"]
TAGS = "</script><img src=x onerror=document.title='owned'>"


class PageTest(FleetTest):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        north = Cluster(os.path.join(cls.dir, "north"), "north", 3, 20)
        spool = north.spool()
        watched(spool)
        times = {"job": 91, "submit_s": 9000, "eligible_s": 9000, "start_s": 9010, "user": TAGS, "account": TAGS, "name": TAGS}
        spool.controller(9011, **times)
        spool.controller(9500, **times, end_s=9500, state="COMPLETED")
        north.ingest(spool)
        cls.clusters.append(north)
        cls.said(cls.owner("fleet", "add", "north"))
        cls.said(cls.send(north))
        cls.postgres.ask("CREATE ROLE page_reader LOGIN IN ROLE goodput_reader")

    def written(self, *args: str) -> str:
        """By a role that can only read."""
        path = os.path.join(self.dir, "fleet.html")
        with open(path, "w") as file:
            file.write(self.said(self.run_it("page", *args, url=self.postgres.url("page_reader"))))
        return "file://" + path

    def opened(self, width: int = 1200, dark: bool = False, *args: str) -> Browser:
        browser = Browser.blank(width, dark)
        browser.open(self.written(*(args or WHEN)))
        browser.wait("return document.querySelectorAll('.card').length >= 11", "the cards")
        return browser

    @staticmethod
    def card(browser: Browser, title: str) -> str:
        return str(browser.run("return [...document.querySelectorAll('.card')].find((card) => card.querySelector('h2') &&"
                               " card.querySelector('h2').textContent === arguments[0]).innerText", title))

    @staticmethod
    def cells(browser: Browser, title: str) -> List[List[str]]:
        rows: List[List[str]] = browser.run(
            "return [...[...document.querySelectorAll('.card')].find((card) => card.querySelector('h2') && card.querySelector('h2').textContent ==="
            " arguments[0]).querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))", title)
        return rows

    def test_has_the_figures_of_the_reports(self) -> None:
        browser = self.opened()
        use = self.report("--fleet", *WHEN)
        runs = {row["group"]: row for row in self.report(*WHEN, "-T", "--by", "cluster")["rows"]}
        rows = {row[0]: row for row in self.cells(browser, "Clusters")}
        self.assertEqual(sorted(rows), ["alpha", "beta", "north"])
        for used in use["rows"]:
            row = rows[used["groups"][0]]
            self.assertEqual(row[1], str(used["nodes"]))
            known = sum(ns for name, ns in used["gpu_ns"].items() if name not in ("off", "unknown"))
            if used["groups"][0] == "north":
                for column, name in ((3, "allocated"), (4, "idle"), (5, "down"), (6, "drained")):
                    self.assertEqual(row[column], "%.1f %%" % (100 * used["gpu_ns"][name] / known), name)
            self.assertEqual(row[9], "%.1f %%" % (100 * runs[row[0]]["program"]))
            self.assertIn("%.1f %%" % (100 * runs[row[0]]["scheduling_range"][0]), row[7])
        months = self.cells(browser, "By month")
        self.assertEqual({tuple(row[:2]) for row in months}, {(name, month) for name in rows for month in ("2026-09", "2026-10")})
        text = browser.text()
        for words in ("3 clusters", "2026-09-21 to 2026-10-31 UTC", "Where the time of runs went", "All GPUs", "drained", "unknown", "eve", "acc-ada", "lost_work"):
            self.assertIn(words, text)
        self.assertNotIn("[object", text)
        self.assertNotIn("undefined", text)
        self.assertNotIn("NaN", text)
        squares = browser.run("return document.querySelectorAll('i.node').length")
        nodes = self.report(*WHEN, "-T", "--by", "node")["rows"]
        self.assertEqual(squares, sum(row["groups"][1] != "-" for row in nodes))
        browser.picture(os.path.join(PICTURES, "fleet-page-light.png"))
        self.assertEqual(browser.errors(), [])

    def test_a_run_leads_to_the_page_of_its_cluster(self) -> None:
        browser = self.opened()
        links = browser.run("return [...document.querySelectorAll('main a')].map((a) => a.href)")
        self.assertIn("http://north.example.com:9645/#/fleet", links)
        self.assertTrue([link for link in links if re.match(r"http://alpha\.example\.com:9645/#/job/alpha/\d+/\d{10}0{9}$", link)])
        # Its cluster finds it by what the link says.
        found = 0
        for link in links:
            place = re.match(r"http://(\w+)\.example\.com:9645/#/job/\w+/([\d_+]+)/(\d{10})0{9}$", link)
            if place is None:
                continue
            cluster = next(cluster for cluster in self.clusters if cluster.name == place[1])
            if found < 40:
                said = run_it("show", place[2], "--submitted=@" + place[3], "--no-refresh", "--json", "--config", cluster.conf, "--db", cluster.db)
                self.assertEqual((said.returncode, said.stderr), (0, ""), link)
            found += 1
        self.assertEqual(found, len(self.cells(browser, "Runs")))
        self.postgres.ask("UPDATE cluster SET url = 'javascript:alert(1)' WHERE cluster = 'beta'")
        self.addCleanup(lambda: self.said(self.send(self.clusters[1])))
        browser = self.opened()
        links = browser.run("return [...document.querySelectorAll('main a')].map((a) => a.href)")
        self.assertEqual([link for link in links if not re.match(r"http://(alpha|north)\.example\.com:9645/#/", link)], [])

    def test_nothing_stands_in_the_way_of_a_screen_reader(self) -> None:
        for dark in (False, True):
            self.assertEqual(violations(self.opened(1200, dark)), [])

    def test_fits_a_narrow_dark_screen(self) -> None:
        browser = self.opened(400, True)
        browser.picture(os.path.join(PICTURES, "fleet-page-dark-narrow.png"))
        self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), 400)

    def test_a_hostile_name_is_text(self) -> None:
        browser = self.opened()
        self.assertEqual(browser.run("return document.querySelectorAll('img').length"), 0)
        self.assertEqual(browser.run("return document.title"), "Fleet of clusters")
        self.assertIn("onerror=document.title", browser.text())
        self.assertIn(HOSTILE[0], browser.text())
        self.assertEqual(browser.errors(), [])

    def test_a_time_without_runs(self) -> None:
        browser = self.opened(1200, False, "-S", "2020-01-01", "-E", "2020-02-01")
        self.assertIn("No run in this time.", self.card(browser, "Users"))
        self.assertEqual(browser.errors(), [])

    def test_a_stranger_gets_no_page(self) -> None:
        self.postgres.ask("CREATE ROLE page_stranger LOGIN")
        done: "subprocess.CompletedProcess[Any]" = self.run_it("page", url=self.postgres.url("page_stranger"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("denied", done.stderr)
        bad = self.owner("page", "-S", "nonsense")
        self.assertEqual((bad.returncode, bad.stdout), (2, ""))
