#!/usr/bin/python3
"""Program goodput (model FLOP utilisation) of runs whose spool is written by hand, for various options and GPUs.

    GOODPUT_BUILD=build python3 -m unittest tests.e2e.test_program
"""

import json
import os
import shutil
import tempfile
import unittest
from typing import Any, Dict, Optional, Sequence

from .harness import schemas
from .harness.hand_written import Spool, run_it

STEPS = 50
# 50 steps of 10 s on 16 H100 at 40 % of their peak, after 100 s of waiting.
STEP_FLOPS = 0.4 * 10 * 16 * 989e12


class ProgramTest(unittest.TestCase):
    dir: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.dir = tempfile.mkdtemp(prefix="goodput-program-")
        cls.addClassCleanup(shutil.rmtree, cls.dir)

    def load(self, opt: Dict[str, Any], conf: str = "", gpu_type: str = "h100",
             again: Optional[Dict[str, Any]] = None, again_type: str = "", worlds: Sequence[Dict[str, int]] = ()) -> Dict[str, str]:
        """A database with one run; with `again`, it continues in a second job with that option. `worlds`: marks of the world, at
        the step that they name."""
        folder = tempfile.mkdtemp(dir=self.dir)
        spool = Spool(os.path.join(folder, "spool"))
        for number, said in enumerate([opt] if again is None else [opt, again]):
            t = number * 700
            of = {"job": 7 + number}
            kind = again_type if number and again_type else gpu_type
            more = {"gpus": 16, "gpu_type": kind}
            times = {"submit_s": t, "eligible_s": t, "start_s": t + 100}
            spool.controller(t + 100, **times, **more, **of)
            spool.node(t + 100, "job_prolog", opt=dict(said, run="r"), **of)
            spool.node(t + 100, "step_start", slurm_step="extern", **of)
            spool.node(t + 100, "task_start", slurm_step="0", task=0, local_task=0, pid=5, opt=dict(said, run="r"), **of)
            for k in range(STEPS):
                spool.node(t + 100 + k * 10, "mark", mark="step", edge="begin", train_step=k + number * STEPS, slurm_step="0",
                           task=0, **of)
            for world in worlds:
                spool.node(t + 100 + world["step"] * 10, "mark", mark="world", slurm_step="0", task=0,
                           **{key: value for key, value in world.items() if key != "step"}, **of)
            spool.node(t + 600, "task_exit", slurm_step="0", task=0, local_task=0, pid=5, exit_code=0, **of)
            spool.controller(t + 600, **times, end_s=t + 600, state="COMPLETED", exit_code=0, **more, **of)
        spool.write()
        config = os.path.join(folder, "goodput.conf")
        with open(config, "w") as file:
            file.write("cluster = c\n" + conf)
        where = {"db": os.path.join(folder, "db"), "config": config}
        done = run_it("ingest", "--config", config, "--db", where["db"], "--spool", spool.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return where

    def ask(self, where: Dict[str, str], *args: str) -> str:
        done = run_it(*args, "--no-refresh", "--config", where["config"], "--db", where["db"])
        self.assertEqual((done.returncode, done.stderr), (0, ""), args)
        return done.stdout

    def goodput(self, where: Dict[str, str], *args: str) -> Dict[str, Any]:
        answer = json.loads(self.ask(where, *(args or ("show", "--run", "r")), "--json"))
        schemas.check(answer, "sgoodput")
        goodput: Dict[str, Any] = answer["jobs"][0]["goodput"]
        self.assertEqual(goodput["program"] is None, goodput["program_reason"] is not None)
        self.assertEqual(goodput["program"] is None, goodput["program_evidence"] is None)
        return goodput

    def test_flops_precision_and_gpus_make_it(self) -> None:
        where = self.load({"flops_per_step": STEP_FLOPS, "precision": "bf16"}, gpu_type="nvidia_h100_80gb_hbm3")
        goodput = self.goodput(where)
        self.assertAlmostEqual(goodput["program"], 0.4, places=9)
        self.assertAlmostEqual(goodput["mpg"], 0.4 * 500 / 600, places=9)
        self.assertAlmostEqual(goodput["mpg"], goodput["scheduling"] * goodput["runtime"] * goodput["program"], places=12)
        text = self.ask(where, "show", "--run", "r")
        self.assertIn("x program 40.0% = 33.3% (MPG)", text)
        self.assertIn("peak 989 TFLOP/s per GPU (nvidia_h100_80gb_hbm3, bf16)", " ".join(text.split()))
        self.assertEqual(self.ask(where, "-S", "2026-01-01", "-a", "-P", "-n", "-o", "Program,MPG,ProgramRaw").strip(),
                         "40.0%|33.3%|0.4000")

    def test_a_model_says_the_flops(self) -> None:
        tokens = 1 << 20
        params = STEP_FLOPS / 6 / tokens
        goodput = self.goodput(self.load({"model": "params=%r,tokens-per-step=%d" % (params, tokens), "precision": "bf16"}))
        self.assertAlmostEqual(goodput["program"], 0.4, places=9)

    def test_steps_of_an_elastic_run_are_weighted_by_their_tokens(self) -> None:
        tokens = 1 << 20
        said = {"model": "params=%r,tokens-per-step=%d" % (STEP_FLOPS / 6 / tokens, tokens), "precision": "bf16"}
        whole, half = {"step": 0, "world": 16, "wanted": 16}, {"step": 25, "world": 8, "wanted": 16}
        unknown = self.goodput(self.load(said, worlds=[whole, half]))
        self.assertIn("do not tell the tokens of a step", unknown["program_reason"])
        # Half of the GPUs train half of the tokens in the same time.
        where = self.load(said, worlds=[dict(whole, tokens=tokens), dict(half, tokens=tokens // 2)])
        goodput = self.goodput(where)
        self.assertAlmostEqual(goodput["program"], 0.4, places=9)
        self.assertIn("75.0% of the declared ones on average", goodput["program_evidence"])
        self.assertAlmostEqual(goodput["mpg"], 0.4 * 0.75 * 500 / 600, places=9)
        # Samples are no tokens, and FLOPs without a model belong to no number of tokens.
        for other, marks in ((said, (512, 256)), ({"flops_per_step": STEP_FLOPS, "precision": "bf16"}, (tokens, tokens // 2))):
            goodput = self.goodput(self.load(other, worlds=[dict(whole, tokens=marks[0]), dict(half, tokens=marks[1])]))
            self.assertEqual(goodput["program_reason"], "the tokens of a step changed while it ran")

    def test_two_jobs_of_a_run_agree(self) -> None:
        said = {"flops_per_step": STEP_FLOPS, "precision": "bf16"}
        goodput = self.goodput(self.load(said, again=said))
        self.assertAlmostEqual(goodput["program"], 0.4, places=9)
        goodput = self.goodput(self.load(said, again=dict(said, precision="fp8")))
        self.assertIn("different precisions", goodput["program_reason"])
        goodput = self.goodput(self.load(said, again=said, again_type="a100"))
        self.assertIn("several types: a100, h100", goodput["program_reason"])

    def test_the_configuration_names_other_gpus(self) -> None:
        said = {"flops_per_step": STEP_FLOPS, "precision": "bf16"}
        unknown = self.goodput(self.load(said, gpu_type="mi300x"))
        self.assertIn("mi300x", unknown["program_reason"])
        known = self.goodput(self.load(said, gpu_type="mi300x", conf="peak = mi300x bf16 1978\n"))
        self.assertAlmostEqual(known["program"], 0.2, places=9)

    def test_reasons_are_told(self) -> None:
        for said, words in (({}, "FLOPs per step are not known"), ({"flops_per_step": STEP_FLOPS}, "precision is not known"),
                            ({"flops_per_step": STEP_FLOPS, "precision": "fp64"}, "in fp64 is not known"),
                            ({"flops_per_step": 3 * STEP_FLOPS, "precision": "bf16"}, "exceed the peak of the GPUs")):
            where = self.load(said)
            goodput = self.goodput(where)
            self.assertIn(words, goodput["program_reason"])
            self.assertIsNone(goodput["mpg"])
            # In text output only on request.
            self.assertEqual("program goodput is not known" in self.ask(where, "show", "--run", "r"), bool(said))

    def test_a_window_has_none(self) -> None:
        where = self.load({"flops_per_step": STEP_FLOPS, "precision": "bf16"})
        goodput = self.goodput(where, "-S", "2026-01-01", "-a", "-T")
        self.assertIn("window", goodput["program_reason"])

    def test_a_peak_that_is_none_is_refused(self) -> None:
        for line in ("peak = h100", "peak = h100 bf17 989", "peak = h100 bf16 -1"):
            path = os.path.join(self.dir, "bad.conf")
            with open(path, "w") as file:
                file.write("cluster = c\n" + line + "\n")
            done = run_it("--config", path)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, r"\Asgoodput: \S+bad\.conf:2: `peak`: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main(verbosity=2)
