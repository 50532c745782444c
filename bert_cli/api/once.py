"""A model in the worker processes of Spark, Ray and Beam, which call a function for each batch."""

import os
from typing import Any, Protocol, TypeVar

from bert_cli.flags.paths import path_text
from bert_cli.runtime.forks import ForkedLock

Model = TypeVar("Model", covariant=True)


class Loads(Protocol[Model]):
    """Classifier, FeatureExtractor, MaskFiller, QuestionAnswerer or Tagger."""

    def load(self, path: str, **arguments: Any) -> Model: ...


_LOCK = ForkedLock()
_LOADED: dict[tuple[Any, ...], Any] = {}


def load_once(kind: Loads[Model], path: str | os.PathLike, **arguments: Any) -> Model:
    """What kind.load(path, **arguments) gives, loaded by the first such call of this process.

    The model stays in memory as long as the process, also where `path` is trained again. Threads
    may call it at the same time. Raises InputError as `load` does.
    """
    path = path_text(path)
    # Arguments as text, since a list cannot be a key.
    key = (kind, path, repr(sorted(arguments.items())))
    with _LOCK:
        if key not in _LOADED:
            _LOADED[key] = kind.load(path, **arguments)
        return _LOADED[key]
