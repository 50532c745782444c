"""Imports of slow packages in a thread while TensorFlow compiles the first training step."""

import importlib
import threading

from bert_cli.base.errors import first_line
from bert_cli.base.log import LOG


class BackgroundImports:
    """Registry of slow imports, which run in a thread while TensorFlow compiles the first step.

    scikit-learn takes one to two seconds to import, Matplotlib half a second. TensorFlow's graph
    optimizers take longer, use a single processor, and release Python's lock. So a run becomes
    shorter by the whole import time.
    """

    def __init__(self) -> None:
        self._names: list[str] = []

    def need(self, *names: str) -> None:
        """Register modules by their full names."""
        self._names.extend(names)

    def start(self) -> threading.Thread | None:
        """Import the registered modules in a thread, and return it; None if no modules are left."""
        # Empty the list first: this is called at the first step of each model, but imports run only
        # once.
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
        except Exception as error:  # packages raise any exception; code that needs the package will fail too
            LOG.debug("%s cannot be imported: %s", name, first_line(error))


BACKGROUND_IMPORTS = BackgroundImports()
