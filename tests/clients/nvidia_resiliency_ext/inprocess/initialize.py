"""The base class of what runs before each start."""

import abc
from typing import Any


class Initialize(abc.ABC):
    @abc.abstractmethod
    def __call__(self, state: Any) -> Any:
        raise NotImplementedError
