"""Packages that a run needs only at its end, imported while TensorFlow compiles its first step."""

import importlib
import threading

from bert_cli.base.errors import first_line
from bert_cli.base.log import LOG


class BackgroundImports:
    """Names are put down by who knows of the need; who has seconds without Python's lock before it
    has them imported.

    scikit-learn takes one to two seconds, Matplotlib half a one. TensorFlow's optimizers of a graph
    take longer, on one processor and without the lock, so a run is shorter by all of it.
    """

    def __init__(self) -> None:
        self._names: list[str] = []

    def need(self, *names: str) -> None:
        """Modules, by their full names."""
        self._names.extend(names)

    def start(self) -> threading.Thread | None:
        """Import what was put down, in a thread; None where there is nothing, as after the first
        call.
        """
        # Emptied first: each first step of a model calls this, and the second one has nothing left
        # to import.
        names = self._names
        self._names = []
        if not names:
            return None
        thread = threading.Thread(target=_import, args=(names,), daemon=True)
        thread.start()
        return thread


def _import(names: list[str]) -> None:
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # a package may fail with any; the code that needs it fails, too
            LOG.debug("%s cannot be imported: %s", name, first_line(error))


BACKGROUND_IMPORTS = BackgroundImports()
