"""Every way a job can go: scenarios by theme, each beside what must come of it. tests/e2e/test_ways.py runs them all."""

from ..harness.judge import Judge
from ..harness.stage import Stage

STAGE = Stage()


class Way(Judge):
    STAGE = STAGE
