#!/usr/bin/python3
"""`sgoodput now` on a real cluster: a run that hangs, one that trains and one that waits. The truth is the trainer's log and squeue.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_now
"""

import csv
import io
import json
import os
import pwd
import tempfile
import time
import unittest
from typing import Any, Dict, Tuple

from ..cluster.ports import reserve
from .harness import schemas
from .harness.browser import Browser
from .harness.goodput_site import BUILD, TRAINER, Site
from .harness.lateness import lateness
from .harness.reach import reachable

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HANG_S = 60
HUNG_STEP = 6


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class NowTest(unittest.TestCase):
    site: Site

    @classmethod
    def setUpClass(cls) -> None:
        (port,), lock = reserve(1)
        cls.url = "http://127.0.0.1:%d" % port
        cls.kernel = tempfile.NamedTemporaryFile(prefix="kmsg.", mode="w")
        cls.addClassCleanup(cls.kernel.close)
        cls.site = Site("linuxproc", nodes=3, cred_expire_s=0, daemon=False, conf=["kernel_log = " + cls.kernel.name, "heartbeat = 1s", "listen = 127.0.0.1:%d" % port])
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()
        with open(cls.site.conf, "a") as file:
            file.write("query_socket = %s\n" % cls.site.path("goodput", "query.sock"))
        reader = pwd.getpwnam("daemon")
        os.chown(os.path.dirname(cls.site.database), reader.pw_uid, reader.pw_gid)
        lock.close()
        cls.site.start_daemon()
        cls.hung_folder = cls.site.folder("hung", "nobody")
        cls.hung = cls.start(cls.hung_folder, "nobody", "--steps 40 --hang-at-step %d" % HUNG_STEP, "--goodput-run=hung", "-N1", "--gres=gpu:8")
        trains = cls.site.folder("trains", "games")
        cls.trains = cls.start(trains, "games", "--steps 100000", "-N1", "--gres=gpu:8")
        cls.site.wait_steps(trains, 0, 5)
        cls.waits = cls.start(cls.site.folder("waits", "nobody"), "nobody", "--steps 1", "-N2", "--gres=gpu:8")
        cls.wait_for(lambda: bool(cls.site.events(cls.hung_folder, "hang")))
        cls.kernel.write("3,1,%d,-;NVRM: Xid (PCI:0000:04:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n" %
                         (time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6))
        cls.kernel.flush()
        cls.hung_at = cls.site.events(cls.hung_folder, "step_begin")[-1]["t"] / 1e9

    @classmethod
    def start(cls, folder: str, user: str, arguments: str, *options: str) -> int:
        return cls.site.cluster.sbatch("srun %s --dir %s --step-seconds 0.2 --marks %s" % (TRAINER, folder, arguments), user=user, options=list(options))

    @classmethod
    def wait_for(cls, what: Any) -> None:
        deadline = time.monotonic() + 90
        while not what():
            assert time.monotonic() < deadline, cls.site.daemon_log()[-2000:]
            time.sleep(0.2)

    def now(self, *words: str, user: str = "root") -> Dict:
        ask = reachable(os.path.join(BUILD, "tools", "ask", "goodput-ask"))
        done = self.site.sgoodput("now", "--json", *words, user=user, env={"GOODPUT_ASK": ask})
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        schemas.check(answer, "now")
        return dict(answer)

    def states(self, answer: Dict) -> Dict[int, str]:
        return {row["job_id"]: row["state"] for row in answer["runs"]}

    def setUp(self) -> None:
        """Each test begins where the hung run counts as one without progress, whichever test runs first."""
        if self._testMethodName != "test_5_what_has_ended_is_gone":
            self.wait_for(lambda: self.states(self.now("-a")) == {self.hung: "no_progress", self.trains: "training", self.waits: "queued"})

    def test_1_a_run_without_progress_comes_first(self) -> None:
        # A hang is one after 60 s.
        late = time.time() - self.hung_at - HANG_S
        self.assertLess(late, 12 * lateness())
        answer = self.now("-a")
        self.assertEqual(self.states(answer), {self.hung: "no_progress", self.trains: "training", self.waits: "queued"})
        hung, trains, waits = answer["runs"]
        self.assertEqual((hung["run"], hung["user"], hung["gpus"], hung["wastes_gpus"]), ("hung", "nobody", 8, True))
        self.assertAlmostEqual(hung["since_ns"] / 1e9, self.hung_at, delta=0.1 * lateness())
        self.assertAlmostEqual(hung["gpu_seconds_lost"], 8 * hung["seconds"], delta=1)
        self.assertRegex(hung["evidence"], r"^step %d began 1m\d\ds ago, and a step takes \S+$" % HUNG_STEP)
        self.assertRegex(hung["told"], r"^node \S+: Xid 79, GPU has fallen off the bus \(0000:04:00\)$")
        self.assertEqual((trains["told"], waits["told"]), (None, None), "it trains on, whatever the kernel said")
        self.assertEqual(hung["command"], "sgoodput watch %d" % self.hung)
        self.assertEqual((trains["gpus"], trains["gpu_seconds_lost"]), (8, 0))
        self.assertRegex(waits["evidence"], r"^waits for \S+, reason Resources$")
        self.assertEqual(answer["states"]["no_progress"]["runs"], 1)

    def test_2_the_text_answers_the_question(self) -> None:
        done = self.site.sgoodput("now", "-a")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertLessEqual(max(map(len, lines)), 80, done.stdout)
        text = " ".join(done.stdout.split())
        self.assertRegex(text, r"^\S+ 2 runs hold 16 GPUs; 8 of them in 1 run do nothing useful \(no progress 8\)\. 1 run waits for 16 GPUs\.")
        self.assertRegex(text, r"%d hung nobody no progress \S+ 8 \d\.\d+ step %d began" % (self.hung, HUNG_STEP))
        self.assertRegex(text, r"and a step takes \S+ node \S+: Xid 79, GPU has fallen off the bus \(0000:04:00\) sgoodput watch %d" % self.hung)
        self.assertIn("scontrol show job %d" % self.waits, text)
        self.assertIn("Not shown: 1 training (--all)", text)
        self.assertIn("sgoodput watch %d" % self.trains, self.site.sgoodput("now", "-a", "--all").stdout)
        rows = list(csv.DictReader(io.StringIO(self.site.sgoodput("now", "-a", "--csv").stdout)))
        self.assertEqual([(int(row["JobID"]), row["State"]) for row in rows],
                         [(self.hung, "no_progress"), (self.trains, "training"), (self.waits, "queued")])
        wrong = self.now("-a", "--wrong")
        self.assertEqual(self.states(wrong), {self.hung: "no_progress"})
        self.assertEqual({state: of["runs"] for state, of in wrong["states"].items() if of["runs"]}, {"no_progress": 1, "training": 1, "queued": 1})

    def test_2a_a_glance_tells_that_it_trains(self) -> None:
        """A job that trains has no other records than those with which a glance is enough (sql/tables/steady_steps.cc)."""
        since_the_first_step = ("SELECT DISTINCT kind FROM event WHERE job_id = %d AND t_ns >"
                                " (SELECT min(first_t_ns) FROM step_block WHERE job_id = event.job_id)" % self.trains)
        kinds = {kind for kind, in json.loads(self.site.sgoodput("sql", "--json", since_the_first_step).stdout)["rows"]}
        # This test has the kernel tell of faulty hardware.
        self.assertLessEqual(kinds - {"hardware"}, {"mark", "checkpoint", "phase", "host", "gpu_use", "attempt"})
        irregular = "SELECT count(*) FROM step_block WHERE job_id = %d AND stride IS NULL" % self.trains
        self.assertEqual(json.loads(self.site.sgoodput("sql", "--json", irregular).stdout)["rows"], [[0]])

    def test_2a_b_a_glance_sees_that_it_is_suspended(self) -> None:
        def both_say(state: str) -> bool:
            wrong = {name for name, of in self.now("-a", "--wrong")["states"].items() if of["runs"]}
            return self.states(self.now("-a"))[self.trains] == state and state in wrong
        self.site.cluster.run(["scontrol", "suspend", str(self.trains)])
        self.wait_for(lambda: both_say("suspended"))
        self.site.cluster.run(["scontrol", "resume", str(self.trains)])
        self.wait_for(lambda: both_say("training"))

    def test_2b_it_is_the_first_screen_of_the_page(self) -> None:
        for width, dark in ((1200, False), (400, True)):
            browser = Browser.blank(width, dark)
            browser.open(self.url + "/")
            browser.wait("return document.querySelectorAll('table.wrong tbody tr').length === 1", "the run that hangs")
            browser.wait("return document.body.innerText", "the sentence", lambda text: (
                "2 runs hold 16 GPUs; 8 of them in 1 run do nothing useful (no progress 8). 1 run waits for 16 GPUs." in " ".join(text.split())))
            text = " ".join(browser.text().split())
            self.assertRegex(text, r"hung nobody no progress .* step %d began .* Xid 79, GPU has fallen off the bus .* sgoodput watch %d" % (HUNG_STEP, self.hung))
            self.assertNotRegex(text, r"\[object|NaN|undefined|\bnull\b")
            self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), browser.run("return innerWidth"))
            browser.picture(os.path.join(TOP, "out", "tests", "now-%d.png" % width))
            self.assertEqual(browser.errors(), [])
        browser.run("document.querySelector('table.wrong a').click()")
        browser.wait("return document.body.innerText.includes('no progress')", "the run")
        browser.wait("return [...document.querySelectorAll('ul.why li')].map((li) => li.innerText)", "the stall's evidence", lambda said: (
            any(line.endswith("Xid 79, GPU has fallen off the bus (0000:04:00)") for line in said)))

    def test_3_everybody_sees_their_own(self) -> None:
        socket = ["--url", "unix:" + self.site.path("goodput", "query.sock")]
        self.assertEqual(set(self.states(self.now(*socket, "-u", "games", user="games"))), {self.trains})
        self.assertEqual(set(self.states(self.now("-a", "-u", "nobody"))), {self.hung, self.waits})
        self.assertEqual(self.states(self.now("-a", "--url", self.url)), self.states(self.now("-a")))

    def test_4_options(self) -> None:
        def refused(*words: str) -> str:
            done = self.site.sgoodput("now", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            return str(done.stderr)
        self.assertIn("--csv cannot be used with --json", refused("--csv", "--json"))
        self.assertIn("use watch(1)", refused("-i", "5", "--url", self.url))
        empty = self.site.sgoodput("now", "-u", "lp")
        self.assertEqual(empty.returncode, 0)
        self.assertRegex(empty.stdout, r"^\S+  No run holds nodes\.\n$")

    def test_4b_check(self) -> None:
        def check(job: int, *limits: str) -> Tuple[int, str]:
            done = self.site.sgoodput("check", str(job), *limits)
            return done.returncode, done.stdout
        code, said = check(self.hung, "--no-progress", "30s", "--idle", "10m")
        self.assertEqual(code, 2, said)
        self.assertRegex(said, r"^CRITICAL - run hung: no progress for \S+ \(at most 30\.0s\); not idle \(at most 10m00s\) \| no_progress=\d+s;;30;0 idle=0s;;600;0\n$")
        self.assertEqual(check(self.hung, "--no-progress", "30s", "--url", self.url)[0], 2)
        code, said = check(self.trains, "--no-progress", "30s")
        self.assertEqual((code, said), (0, "OK - job %d: makes progress (at most 30.0s) | no_progress=0s;;30;0\n" % self.trains))
        code, said = check(self.hung, "--rg", "90%", "--window", "30s")
        self.assertEqual(code, 2, said)
        for limits, why in ((("--no-progress", "30s"), "no job 4711|4711"), ((), "no limit"), (("--rg", "2"), "not a fraction")):
            code, said = check(4711, *limits)
            self.assertEqual(code, 3)
            self.assertRegex(said, "^UNKNOWN - .*(%s)" % why)

    def test_5_what_has_ended_is_gone(self) -> None:
        for job in (self.hung, self.trains, self.waits):
            self.site.cluster.run(["scancel", str(job)])
        self.wait_for(lambda: not self.now("-a")["runs"])


if __name__ == "__main__":
    unittest.main()
