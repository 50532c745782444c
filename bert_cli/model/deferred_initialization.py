"""Random initial values that are drawn only for the weights that no checkpoint has."""

import contextlib
import contextvars
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

import keras


class DeferredInitialization:
    """Weights that stay zero until it is known which of them are loaded: drawing the weights of
    BERT-Base takes seconds.
    """

    # Collects the new weights now; None where they are drawn at once. A context variable, not an
    # argument: between the model's constructor and a layer's weights are all constructors of
    # layers.
    current: ClassVar[contextvars.ContextVar["DeferredInitialization | None"]] = contextvars.ContextVar(
        "current", default=None
    )

    def __init__(self):
        # Each weight that waits, with the function that assigns its random values.
        self.waiting: list[tuple[keras.Variable, Callable[[], None]]] = []

    @contextlib.contextmanager
    def deferring(self, is_wanted: bool = True) -> Iterator[None]:
        """Within it, where wanted, the weights of new layers wait; else they are drawn at once, as
        everywhere.
        """
        token = self.current.set(self if is_wanted else None)
        try:
            yield
        finally:
            self.current.reset(token)

    def initialize_except(self, loaded: Iterable[keras.Variable]) -> None:
        """Draw the waiting weights that are not among the loaded ones."""
        filled = {id(variable) for variable in loaded}
        for variable, draw in self.waiting:
            if id(variable) not in filled:
                draw()
        self.waiting.clear()
