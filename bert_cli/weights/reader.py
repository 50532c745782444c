"""The interface of what reads the weights of a model."""

from typing import Protocol

import numpy as np


class Reader(Protocol):
    """A checkpoint of any format, opened.

    Attributes:
        description: name of the checkpoint in messages.
        shapes: Google's name -> shape.
        unused: stored names that no BERT has.
    """

    description: str
    shapes: dict[str, tuple[int, ...]]
    unused: list[str]

    def read(self, name: str) -> np.ndarray:
        """Return the values of a variable."""
        ...

    def check_tied(self) -> None:
        """Raise InputError if the masked LM has an output matrix that is not its word embeddings.

        Only Hugging Face's layout can hold one.
        """
        return
