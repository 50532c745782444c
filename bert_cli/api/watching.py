"""Progress of a training in a Python program: callbacks, verbosity, and a display for notebooks."""

import dataclasses
import html
import logging
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bert_cli.base.errors import InputError, InputTypeError
from bert_cli.base.formats import clock
from bert_cli.base.log import RESULT
from bert_cli.runs.callbacks.observers import Callback

if TYPE_CHECKING:
    import pandas as pd

# Level of the log for each value of `verbose`.
_LEVELS = {0: logging.WARNING, 1: RESULT, 2: logging.INFO}


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    # A notebook's kernel has imported IPython.
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


@dataclasses.dataclass(frozen=True)
class Watching:
    """The arguments callbacks and verbose of a training.

    Attributes:
        callbacks: observers of the training.
        verbose: 0 to show only warnings, 1 for evaluations, with a progress line in a notebook, 2
            for the whole log. None is 1 in a notebook, and 2 elsewhere.

    Raises:
        InputError: if `verbose` is another value, or an observer is no bert_cli.Callback.
    """

    callbacks: Sequence[Callback] = ()
    verbose: int | None = None

    def __post_init__(self) -> None:
        if self.verbose not in (None, *_LEVELS):
            raise InputError(f"verbose: 0, 1 or 2 is needed, found {self.verbose!r}")
        if not isinstance(self.callbacks, Sequence):
            raise InputTypeError(f"callbacks: a list of callbacks is needed, found {self.callbacks!r:.80}")
        for number, callback in enumerate(self.callbacks):
            if not isinstance(callback, Callback):
                raise InputError(
                    f"callbacks[{number}]: an instance of bert_cli.Callback is needed, found {callback!r:.80}"
                )

    @property
    def has_display(self) -> bool:
        """Return whether a notebook shows a display in place of the log."""
        return self.verbose in (None, 1) and is_notebook()

    @property
    def log_level(self) -> int:
        """Return the lowest level of the log to show."""
        if self.has_display:
            return logging.WARNING
        return _LEVELS[2 if self.verbose is None else self.verbose]

    def observers(self) -> list[Callback]:
        """Return the callbacks, and the display in a notebook."""
        return [*self.callbacks, *([NotebookDisplay()] if self.has_display else [])]


class NotebookDisplay(Callback):
    """One output of a notebook cell that is updated: a progress line, and a table of evaluations."""

    def __init__(self) -> None:
        self._steps = 0
        self._step = 0
        self._text = "reading the data"
        self._evaluations: dict[int, Mapping[str, float]] = {}
        self._handle: Any = None
        self._update()

    def on_start(self, steps: int) -> None:
        self._steps = steps
        self._text = "starting"
        self._began = time.monotonic()
        self._update()

    def on_log(self, step: int, metrics: Mapping[str, float]) -> None:
        self._step = step
        left = (time.monotonic() - self._began) / step * (self._steps - step)
        self._text = f"loss {metrics['loss']:.4f}, {metrics['examples_per_second']:.0f} examples/s, left {clock(left)}"
        self._update()

    def on_evaluate(self, step: int, metrics: Mapping[str, float]) -> None:
        self._evaluations[step] = metrics
        self._update()

    def on_end(self, report: Mapping[str, Any]) -> None:
        self._text = f"done in {clock(report['total_seconds'])}"
        self._update()

    def table(self) -> "pd.DataFrame":
        """Return the evaluations: a row per step, and a column per metric."""
        # Import late: programs that only load a model need no tables.
        import pandas as pd

        table = pd.DataFrame.from_dict(self._evaluations, orient="index")
        table.index.name = "step"
        return table

    def __repr__(self) -> str:
        line = f"training {self._step}/{self._steps}  {self._text}"
        return f"{line}\n{self.table()}" if self._evaluations else line

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self._step}" max="{max(self._steps, 1)}" style="width: 16em"></progress>'
        line = f"<div>training {bar} {self._step}/{self._steps}&emsp;{html.escape(self._text)}</div>"
        return line + (self.table().to_html(float_format="{:.4f}".format) if self._evaluations else "")

    def _update(self) -> None:
        """Show the current state in the cell's output."""
        if self._handle is None:
            # Import here: only a notebook has this package.
            from IPython.display import display

            self._handle = display(self, display_id=True)
        else:
            self._handle.update(self)
