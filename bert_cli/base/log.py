"""The log of the package, and levels of its lines besides the levels of `logging`: --quiet leaves
warnings and results.
"""

import contextlib
import functools
import logging
import sys
from collections.abc import Iterator

LOG = logging.getLogger("bert_cli")
RESULT = 25  # between logging.INFO and logging.WARNING: metrics, which --quiet keeps
EXAMPLES = 5  # examples of each split that --verbose logs


@functools.cache
def warn_once(text: str) -> None:
    """Log a warning, once in a process whatever finds it several times."""
    LOG.warning("%s", text)


class StderrHandler(logging.Handler):
    """Writes to whatever sys.stderr is now, so that lines pass above a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


@contextlib.contextmanager
def shown() -> Iterator[None]:
    """Within it the log goes to standard error, also in a program that has not set up `logging`.

    A program that has handlers or a level of its own keeps them.
    """
    if LOG.level != logging.NOTSET or LOG.hasHandlers():
        yield
        return
    handler = StderrHandler()
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(logging.NOTSET)
