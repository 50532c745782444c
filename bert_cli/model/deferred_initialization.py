"""Random initialization of only those weights that no checkpoint provides."""

import contextlib
import contextvars
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

import keras


class DeferredInitialization:
    """New weights that stay zero until a checkpoint is loaded.

    Random values for all weights of BERT-Base would take seconds.
    """

    # The object that collects new weights now; None if they are drawn immediately. A context
    # variable, because an argument would have to pass through the constructors of all layers.
    current: ClassVar[contextvars.ContextVar["DeferredInitialization | None"]] = contextvars.ContextVar(
        "current", default=None
    )

    def __init__(self) -> None:
        # Weights, each with the function that assigns its random values.
        self.waiting: list[tuple[keras.Variable, Callable[[], None]]] = []

    @contextlib.contextmanager
    def deferring(self, is_deferred: bool = True) -> Iterator[None]:
        """Defer the weights of layers that are created in this context, if `is_deferred`.

        Otherwise they are drawn immediately.
        """
        token = self.current.set(self if is_deferred else None)
        try:
            yield
        finally:
            self.current.reset(token)

    @classmethod
    def initialize(cls, variable: keras.Variable, initializer: keras.Initializer) -> None:
        """Assign initial values to a weight, or defer that in the context above."""

        def assign() -> None:
            variable.assign(initializer(variable.shape, dtype="float32"))

        if deferred := cls.current.get():
            deferred.waiting.append((variable, assign))
        else:
            assign()

    def draw(self, variables: Iterable[keras.Variable]) -> None:
        """Draw the deferred weights among `variables` before a checkpoint is loaded."""
        ids = {id(variable) for variable in variables}
        for variable, draw in self.waiting:
            if id(variable) in ids:
                draw()

    def initialize_except(self, loaded: Iterable[keras.Variable]) -> None:
        """Draw the deferred weights that are not among `loaded`."""
        filled = {id(variable) for variable in loaded}
        for variable, draw in self.waiting:
            if id(variable) not in filled:
                draw()
        self.waiting.clear()


def normal_initializer(name: str, stddev: float, seed: int) -> keras.Initializer:
    """Return an initializer with a truncated normal distribution, which depends on seed and name.

    Args:
        name: the weight's full name.
        stddev: standard deviation.
    """
    # Use a CRC: Python's hash of a str differs between processes.
    weight_seed = (seed * 1_000_003 + zlib.crc32(name.encode())) % (2**31 - 1)
    return keras.initializers.TruncatedNormal(stddev=stddev, seed=weight_seed)
