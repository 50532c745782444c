"""Cache of loaded models for worker processes of Spark, Ray and Beam, which process many batches."""

import os
from typing import Any, Protocol, TypeVar

from bert_cli.flags.paths import path_text
from bert_cli.runtime.process import ForkedLock

Model = TypeVar("Model", covariant=True)


class LoadableClass(Protocol[Model]):
    """One of the classes Classifier, FeatureExtractor, MaskFiller, QuestionAnswerer and Tagger."""

    def load(self, path: str, **arguments: Any) -> Model: ...


_LOCK = ForkedLock()
_LOADED: dict[tuple[Any, ...], Any] = {}


def load_once(kind: LoadableClass[Model], path: str | os.PathLike, **arguments: Any) -> Model:
    """Return kind.load(path, **arguments), which runs only once per process.

    The model stays in memory until the process ends, even if `path` is trained again. Threads may
    call this concurrently.

    Args:
        kind: the model's class, such as Classifier.
        path: the model's path.
        arguments: arguments for `load`.

    Raises:
        InputError: if `load` does.
    """
    path = path_text(path)
    # Use the arguments as text, because a list cannot be a key.
    key = (kind, path, repr(sorted(arguments.items())))
    with _LOCK:
        if key not in _LOADED:
            _LOADED[key] = kind.load(path, **arguments)
        return _LOADED[key]
