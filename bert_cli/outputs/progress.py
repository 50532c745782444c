"""Progress on the terminal: a bar where somebody looks, plain lines where a file does."""

import logging
import sys
import time

LOG = logging.getLogger("bert_cli")


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


class Progress:
    """A context that shows how far a piece of work is; `total` and positions are in steps or examples.

    On a terminal it is one moving line with a bar; elsewhere `line` writes to the log each `every` units.
    """

    def __init__(
        self, title: str, total: int, start: int = 0, every: int = 100, unit_size: int = 1, unit: str = "examples"
    ):
        """unit_size: how many `unit`s (examples) one position stands for, for the rate."""
        self.title, self.total, self.start, self.every = title, total, start, every
        self.unit_size, self.unit = unit_size, unit
        self.position = start
        self._began = time.monotonic()
        self._bar = None

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

    def __exit__(self, *exception):
        if self._bar:
            self._bar.stop()

    def rate(self) -> float:
        """Units (examples) per second since the start."""
        return (self.position - self.start) * self.unit_size / max(time.monotonic() - self._began, 1e-9)

    def update(self, position: int, values: dict[str, str] | None = None) -> None:
        """Say how far the work is, with what else to show, such as the loss."""
        previous, self.position = self.position, position
        rate = self.rate()
        left = (self.total - position) * self.unit_size / rate if rate else 0.0
        shown = {**(values or {}), f"{self.unit}/s": f"{rate:.1f}", "left": _clock(left)}
        text = "  ".join(f"{name} {value}" for name, value in shown.items())
        if self._bar:
            self._bar.update(self._task, completed=position, text=text)
        elif position // self.every > previous // self.every or position == self.total:
            LOG.info("%s %d/%d  %s", self.title, position, self.total, text)
