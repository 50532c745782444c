"""Imports of slow packages in a thread while TensorFlow compiles the first training step."""

import importlib
import threading
from collections.abc import Iterable

from bert_cli.base.errors import first_line
from bert_cli.base.log import LOG


class BackgroundImports:
    """Slow imports that run once, in a thread, while TensorFlow compiles the first step.

    scikit-learn takes one to two seconds to import, Matplotlib half a second. TensorFlow's graph
    optimizers take longer, use a single processor, and release Python's lock. So a run becomes
    shorter by the whole import time.
    """

    def __init__(self, names: Iterable[str]):
        """Keep the modules' full names."""
        self._names = tuple(names)

    def start(self) -> threading.Thread | None:
        """Import the modules in a thread, and return it; None if no modules are left."""
        # --auto_batch may compile several step functions, but imports run only once.
        names, self._names = self._names, ()
        if not names:
            return None
        thread = threading.Thread(target=_import, args=(names,), daemon=True)
        thread.start()
        return thread


def _import(names: Iterable[str]) -> None:
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # packages raise any exception; code that needs the package will fail too
            LOG.debug("%s cannot be imported: %s", name, first_line(error))
