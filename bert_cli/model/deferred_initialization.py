"""First values that are drawn at random only where no checkpoint brings others."""

import contextlib
import contextvars
from collections.abc import Callable, Iterable, Iterator

import keras

_GATHERING: contextvars.ContextVar["Draws | None"] = contextvars.ContextVar("gathering", default=None)


class Draws:
    """Weights that are zero until it is known which of them are loaded: the draws of BERT-Base take seconds of a processor."""

    def __init__(self):
        self._waiting: list[tuple[keras.Variable, Callable[[], None]]] = []

    @contextlib.contextmanager
    def gathering(self, is_wanted: bool = True) -> Iterator[None]:
        """What is made within it waits, where that is wanted; else it is drawn at once, as everywhere."""
        token = _GATHERING.set(self if is_wanted else None)
        try:
            yield
        finally:
            _GATHERING.reset(token)

    def draw_all_but(self, loaded: Iterable[keras.Variable]) -> None:
        """Draw those that wait and are none of these."""
        filled = {id(variable) for variable in loaded}
        for variable, draw in self._waiting:
            if id(variable) not in filled:
                draw()
        self._waiting.clear()

    def add(self, variable: keras.Variable, draw: Callable[[], None]) -> None:
        self._waiting.append((variable, draw))


def gathered() -> Draws | None:
    """Where what is made now is to wait; None where it is to be drawn at once."""
    return _GATHERING.get()
