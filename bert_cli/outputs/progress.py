"""Progress display: a bar on a terminal, plain log lines elsewhere."""

import dataclasses
import logging
import time
from typing import IO, TYPE_CHECKING, Self, cast

from bert_cli.base.formats import clock
from bert_cli.base.log import LOG, LogStream, uses_json

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_LEAST_BAR = 4  # minimum columns for a bar in rich
_SHORT = {"learning rate": "lr"}  # short names for the terminal, which has few columns


def shorten_progress_line(values: dict[str, str], rate: str, left: str, room: int) -> str:
    """Return values, rate and time left for a terminal line, in at most `room` columns.

    If they are too long, first the rate is dropped, then double spaces, then `values` from last to
    first. `left` is always used.
    """
    named = [f"{_SHORT.get(name, name)} {value}" for name, value in values.items()]
    left = f"left {left}"
    choices = ["  ".join((*named, rate, left)), "  ".join((*named, left))]
    choices += [" ".join((*named[:count], left)) for count in range(len(named), -1, -1)]
    return next((text for text in choices if len(text) <= room), "")


@dataclasses.dataclass(eq=False)
class Progress:
    """A context that shows the progress of some work.

    On a terminal it is one moving line with a bar, and the log keeps its last state. Elsewhere, the
    log gets a line every `every` positions.

    Attributes:
        title: text before the position.
        total: final position, in steps or examples.
        start: first position.
        every: positions between two log lines.
        unit_size: units per position, used for the rate.
        unit: noun used for units, such as examples.
        is_shown: whether to show anything; if not, this only counts.
        overlaps: whether later units are computed while the first ones are.
    """

    title: str
    total: int
    start: int = 0
    every: int = 100
    unit_size: int = 1
    unit: str = "examples"
    is_shown: bool = True
    overlaps: bool = False

    def __post_init__(self) -> None:
        self.position = self.start
        self._began = time.monotonic()
        self._counted = (self.start, self._began)  # start of the interval for the rate
        self._updates = 0
        self._updated = 0.0
        self._line = ""
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        if self.is_shown and LogStream().isatty() and LOG.isEnabledFor(logging.INFO) and not uses_json():
            # Import late: a command that logs to a file never imports rich.
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar
            from rich.table import Column

            def text(template: str) -> TextColumn:
                return TextColumn(template, markup=False, table_column=Column(no_wrap=True))

            columns = (
                text("{task.description}"),
                BarColumn(bar_width=None),  # as wide as the line allows
                text("{task.completed}/{task.total}"),
                text("{task.fields[text]}"),
            )
            # rich uses only these methods; LogStream never fails, so a broken terminal cannot end
            # the work.
            console = Console(file=cast(IO[str], LogStream()), stderr=True)
            self._bar = Bar(*columns, console=console, transient=True, expand=True)
            self._task = self._bar.add_task(self.title, total=self.total, completed=self.start, text="")
            self._bar.start()
        return self

    def __exit__(self, exception_type: type[BaseException] | None, *exception: object) -> None:
        if self._bar:
            self._bar.stop()
            if exception_type is None and self._line:
                LOG.info(self._line)

    def rate(self) -> float:
        """Return units (examples) per second.

        The rate starts at the second update, because the first one includes compilation. If units
        overlap, it starts there only when the time since then is longer than the first update took:
        until then, most units were computed during the first update.
        """
        position, began = self._counted
        if self.overlaps and time.monotonic() - began < began - self._began:
            position, began = self.start, self._began
        return (self.position - position) * self.unit_size / max(time.monotonic() - began, 1e-9)

    def update(self, position: int, values: dict[str, str] | None = None) -> None:
        """Show the position together with other values, such as the loss."""
        previous = self.position
        self.position = position
        self._updates += 1
        if self._updates == 2:
            self._counted = (previous, self._updated)
        self._updated = time.monotonic()
        rate = self.rate()
        left = (self.total - position) * self.unit_size / rate if rate else 0.0
        values = values or {}
        fields = {**values, f"{self.unit}/s": f"{rate:.1f}", "left": clock(left)}
        text = "  ".join(f"{name} {value}" for name, value in fields.items())
        counts = f"{position}/{self.total}"
        self._line = f"{self.title} {counts}  {text}"
        if self._bar:
            room = self._bar.console.width - len(f"{self.title}  {counts} ") - _LEAST_BAR
            text = shorten_progress_line(values, f"{rate:.1f}/s", clock(left), room)
            self._bar.update(self._task, completed=position, text=text)
        elif self.is_shown and (position // self.every > previous // self.every or position == self.total):
            LOG.info(self._line, extra={"fields": {"position": position, "total": self.total, **fields}})
