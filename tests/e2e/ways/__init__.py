"""Every way in which a job can run and end: scenarios by theme, each next to its test. tests/e2e/test_ways.py runs them all."""

from ..harness.judge import Judge
from ..harness.stage import Stage

STAGE = Stage()


class Way(Judge):
    STAGE = STAGE
