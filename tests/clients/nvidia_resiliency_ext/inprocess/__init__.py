"""A Wrapper that calls `initialize` as the real one does: with a frozen state, after it set RANK and WORLD_SIZE, before each start."""

import dataclasses
import os
from typing import Any, Callable, List, Optional

from . import initialize as initialize


@dataclasses.dataclass(frozen=True)
class FrozenState:
    rank: Optional[int]
    world_size: int
    active_rank: Optional[int]
    active_world_size: int
    iteration: int


class Wrapper:
    def __init__(self, initialize: Any = None) -> None:
        if not isinstance(initialize, globals()["initialize"].Initialize):
            raise TypeError("initialize")
        self.initialize = initialize

    def start(self, states: List[FrozenState], function: Callable[[], None]) -> None:
        """Starts the function in each state in which this rank is active."""
        for state in states:
            os.environ["RANK"], os.environ["WORLD_SIZE"] = str(state.active_rank), str(state.active_world_size)
            self.initialize(state)
            if state.active_rank is not None:
                function()
