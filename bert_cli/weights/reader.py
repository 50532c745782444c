"""The interface of checkpoint readers."""

from typing import Protocol

import numpy as np


class Reader(Protocol):
    """An open checkpoint in any format.

    Attributes:
        description: name for messages.
        shapes: shapes by Google's name.
        unused: stored names that BERT does not use.
    """

    description: str
    shapes: dict[str, tuple[int, ...]]
    unused: list[str]

    def read(self, name: str) -> np.ndarray:
        """Return a variable's values."""
        ...

    def check_tied(self) -> None:
        """Raise InputError if the masked LM's output matrix differs from its word embeddings.

        Only Hugging Face's format can have a separate matrix.
        """
        return
