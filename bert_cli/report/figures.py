"""Plots as SVG that stands in the page: text stays text, and every colour is one of the page's, so that dark is dark.

Drawn by matplotlib, whose SVG needs no script in the page; a plot is 5 to 15 kB. What the data says (names, texts) is never
drawn, only numbers and words of ours: fonts lack letters, and a `$` would be read as a formula.
"""

import dataclasses
import io
import logging
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.runtime.background_import import BACKGROUND_IMPORTS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SERIES = 6  # colours that the page has for lines
MOST_POINTS = 400  # of a line; more are thinned evenly
_SIZE = (4.8, 2.6)  # inches of 72 points: text is readable at the width of a phone
_PLACE = (0.105, 0.17, 0.875, 0.7)  # of the axes in it: left, bottom, width, height
_FONT = "DejaVu Sans"  # its measures are known to matplotlib; the page shows its own font
# Colours of the drawing -> what the page calls them.
_COLOURS = {f"#a1000{number}": f"var(--series-{number})" for number in range(1, SERIES + 1)} | {
    "#a20001": "var(--muted)",
    "#a20002": "var(--line)",
}
MUTED, _LINE = "#a20001", "#a20002"
_STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": [_FONT],
    "font.size": 9,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _LINE,
    "axes.labelcolor": MUTED,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.xmargin": 0.02,
    "grid.color": _LINE,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
}
_ID = re.compile(r' id="([^"]*)"')
_ATTRIBUTE = re.compile(r'"[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{3,}")
_USED = re.compile(r'(?:href="#|url\(#)([^")]+)')


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a plot; name: for the legend, which the page writes.

    dashed: a line to compare with. points: each value is marked. steps: a histogram, the x are the middles of its bars.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    points: bool = False
    steps: bool = False


@dataclasses.dataclass(frozen=True)
class Figure:
    """svg: without any name of a file or place outside itself. legend: names in the order of the page's colours."""

    svg: str
    legend: tuple[str, ...] = ()


def colour(number: int) -> str:
    """The colour of series `number`, from 0, for matplotlib."""
    return f"#a1000{number % SERIES + 1}"


def thinned(values: Sequence[float]) -> np.ndarray:
    """MOST_POINTS of the values at most, evenly spread, with the first and the last."""
    array = np.asarray(values, np.float64)
    if len(array) <= MOST_POINTS:
        return array
    return array[np.linspace(0, len(array) - 1, MOST_POINTS).round().astype(int)]


def needed_later() -> None:
    """Something will be drawn: see runtime.background_import."""
    _hush()
    BACKGROUND_IMPORTS.need("matplotlib.figure", "matplotlib.backends.backend_svg")


def _hush() -> None:
    # It tells of the cache of fonts that it makes on its first day, and where it cannot: nothing that a reader can use.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


def draw(key: str, title: str, paint: Callable[["Axes"], None], x_label: str, y_label: str) -> str:
    """An SVG of what paint(axes) puts there. key: told apart from all others of the page; title: for who cannot see it."""
    _hush()
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Drawing
    from matplotlib.ticker import MaxNLocator

    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": key}):
        drawing = Drawing(figsize=_SIZE)
        axes = drawing.add_axes(_PLACE)  # laid out by hand: matplotlib's own layout takes twice the time of the drawing
        paint(axes)
        axes.set_xlabel(x_label)
        axes.set_title(y_label, loc="left", y=1.04, fontsize=9, color=MUTED)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(lambda value, _: f"{value:,.10g}" if abs(value) >= 1 else f"{value:g}")
        out = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        FigureCanvasSVG(drawing).print_svg(out, metadata=nothing)
    return _for_page(out.getvalue(), key, title)


def _shorter(found: re.Match) -> str:
    return f"{float(found[0]):.2f}"


def _for_page(svg: str, key: str, title: str) -> str:
    """What stands in HTML: no prologue, no ids but those that are used, under names of their own; the page's colours."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)  # it would hold for the whole page
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    used = set(_USED.findall(svg))
    svg = _ID.sub(lambda found: f' id="{key}-{found[1]}"' if found[1] in used else "", svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{key}-", svg)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box, "matplotlib writes a viewBox"
    head = f'<svg {box[0]} role="img" aria-label="{title}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    svg = head + svg[svg.index(">") + 1 :]
    svg = svg.replace(f"'{_FONT}'", "var(--font)")
    for drawn, shown in _COLOURS.items():
        svg = svg.replace(drawn, shown)
    svg = _ATTRIBUTE.sub(lambda found: _LONG.sub(_shorter, found[0]), svg)  # texts, too, hold numbers: those stay
    return re.sub(r"\s+", " ", svg).replace("> <", "><").strip()


def lines(
    key: str,
    title: str,
    series: Sequence[Line],
    x_label: str,
    y_label: str,
    limits: tuple[float, float] | None = None,
    mark: float | None = None,
) -> Figure:
    """Lines over numbers; limits: of the y axis; mark: a place on the x axis that is shown."""

    def paint(axes: "Axes") -> None:
        for number, line in enumerate(series):
            style: dict[str, Any] = {"linestyle": (0, (4, 3)), "linewidth": 1.2} if line.dashed else {}
            marker: dict[str, Any] = {"marker": "o", "markersize": 4} if line.points or len(line.x) == 1 else {}
            tint = MUTED if line.dashed else colour(number)
            x, y = thinned(line.x), thinned(line.y)
            if line.steps:
                axes.fill_between(x, y, step="mid", color=tint, alpha=0.18, linewidth=0)
                style["drawstyle"] = "steps-mid"
            axes.plot(x, y, color=tint, **style, **marker)
        if limits:
            axes.set_ylim(*limits)
        if mark is not None:
            axes.axvline(mark, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.2)

    names = tuple(line.name for line in series if not line.dashed)
    return Figure(draw(key, title, paint, x_label, y_label), names if len(names) > 1 else ())


def points(
    key: str, title: str, x: Sequence[float], y: Sequence[float], x_label: str, y_label: str, diagonal: bool
) -> Figure:
    """Points, and where `diagonal` the line on which both are equal."""

    def paint(axes: "Axes") -> None:
        size = 22 if len(x) < 200 else 8
        axes.scatter(x, y, s=size, color=colour(0), alpha=0.55, linewidths=0)
        if diagonal and len(x):
            ends = [min(*x, *y), max(*x, *y)]
            axes.plot(ends, ends, color=MUTED, linestyle=(0, (4, 3)), linewidth=1.2)

    return Figure(draw(key, title, paint, x_label, y_label))
