"""Progress on the terminal: a bar where somebody looks, plain lines where a file does."""

import logging
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LOG = logging.getLogger("bert_cli")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class Progress:
    """A context that shows how far a piece of work is; `total` and positions are in steps or examples.

    On a terminal it is one moving line with a bar, of which the last state stays in the log; elsewhere the log gets a line
    each `every` units.
    """

    def __init__(
        self, title: str, total: int, start: int = 0, every: int = 100, unit_size: int = 1, unit: str = "examples"
    ):
        """unit_size: how many `unit`s (examples) one position stands for, for the rate."""
        self.title, self.total, self.start, self.every = title, total, start, every
        self.unit_size, self.unit = unit_size, unit
        self.position = start
        self._counted = (start, time.monotonic())  # where the rate is counted from
        self._updates, self._updated = 0, 0.0
        self._line = ""
        self._bar: Bar | None = None

    def __enter__(self):
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total} {task.fields[text]}"),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self.title, total=self.total, completed=self.start, text="")
            self._bar.start()
        return self

    def __exit__(self, kind, *exception):
        if self._bar:
            self._bar.stop()
            if kind is None and self._line:
                LOG.info(self._line)

    def rate(self) -> float:
        """Units (examples) per second.

        Counted from the second update on, where there is one: the first piece of work takes the compilation with it.
        """
        position, began = self._counted
        return (self.position - position) * self.unit_size / max(time.monotonic() - began, 1e-9)

    def update(self, position: int, values: dict[str, str] | None = None) -> None:
        """Say how far the work is, with what else to show, such as the loss."""
        previous, self.position = self.position, position
        self._updates += 1
        if self._updates == 2:
            self._counted = (previous, self._updated)
        self._updated = time.monotonic()
        rate = self.rate()
        left = (self.total - position) * self.unit_size / rate if rate else 0.0
        shown = {**(values or {}), f"{self.unit}/s": f"{rate:.1f}", "left": _clock(left)}
        text = "  ".join(f"{name} {value}" for name, value in shown.items())
        self._line = f"{self.title} {position}/{self.total}  {text}"
        if self._bar:
            self._bar.update(self._task, completed=position, text=text)
        elif position // self.every > previous // self.every or position == self.total:
            LOG.info(self._line)
