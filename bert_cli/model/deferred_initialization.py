"""Random initial values that are drawn only for the weights that no checkpoint has."""

import contextlib
import contextvars
from collections.abc import Callable, Iterable, Iterator

import keras

# A context variable, not an argument: between the model's constructor and a layer's weights are all constructors of layers.
_CURRENT: contextvars.ContextVar["DeferredInitialization | None"] = contextvars.ContextVar("current", default=None)


class DeferredInitialization:
    """Weights that stay zero until it is known which of them are loaded: drawing those of BERT-Base takes seconds."""

    def __init__(self):
        self._waiting: list[tuple[keras.Variable, Callable[[], None]]] = []

    @contextlib.contextmanager
    def deferring(self, is_wanted: bool = True) -> Iterator[None]:
        """Within it, where wanted, the weights of new layers wait; else they are drawn at once, as everywhere."""
        token = _CURRENT.set(self if is_wanted else None)
        try:
            yield
        finally:
            _CURRENT.reset(token)

    def initialize_except(self, loaded: Iterable[keras.Variable]) -> None:
        """Draw the waiting weights that are not among the loaded ones."""
        filled = {id(variable) for variable in loaded}
        for variable, draw in self._waiting:
            if id(variable) not in filled:
                draw()
        self._waiting.clear()

    def add(self, variable: keras.Variable, draw: Callable[[], None]) -> None:
        """Let a weight wait, which `draw` assigns its random values to."""
        self._waiting.append((variable, draw))


def deferred_initialization() -> DeferredInitialization | None:
    """What collects new weights now; None where they are to be drawn at once."""
    return _CURRENT.get()
