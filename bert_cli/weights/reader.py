"""The interface of what reads the weights of a model."""

from typing import Protocol

import numpy as np


class Reader(Protocol):
    """A checkpoint of any format, opened; `description` names it in messages."""

    description: str
    shapes: dict[str, tuple[int, ...]]  # by Google's names
    unused: list[str]

    def read(self, name: str) -> np.ndarray: ...
