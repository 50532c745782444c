"""Plots as SVG inside the page: text stays text, and every color is one of the page's, so that the
dark theme holds.

Drawn by matplotlib, whose SVG needs no script in the page; a plot is 5 to 15 kB. What the data says
(names, texts) is never drawn, only numbers and words of ours: fonts lack letters, and a `$` would
be read as a formula.
"""

import dataclasses
import io
import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.report.components import Card, setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SERIES = 6  # colors that the page has for lines
MOST_POINTS = 400  # of a line; more are thinned evenly
_SIZE = (4.8, 2.6)  # inches of 72 points: text is readable at the width of a phone
_PLACE = (0.105, 0.17, 0.875, 0.7)  # of the axes in it: left, bottom, width, height
_FONT = "DejaVu Sans"  # comes with matplotlib, which measures texts with it; the page shows its own font
# Colors of the drawing -> what the page calls them. matplotlib takes no CSS variables, so each one
# is drawn as a color that occurs nowhere else, and is replaced in the text of the SVG.
_COLORS = {f"#a1000{number}": f"var(--series-{number})" for number in range(1, SERIES + 1)} | {
    "#a20001": "var(--muted)",
    "#a20002": "var(--line)",
}
MUTED, _LINE = "#a20001", "#a20002"
_COUNTS = ("step", "tokens")  # axes with whole numbers alone
_DASHES: dict[str, Any] = {"linestyle": (0, (4, 3)), "linewidth": 1.2}
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
_LEFT_OUT = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", re.DOTALL)
_ATTRIBUTE = re.compile(r'"[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{3,}")
_USED = re.compile(r'(?:href="#|url\(#)([^")]+)')


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a plot; name: for the legend, which the page writes.

    dashed: a line to compare with. points: each value is marked. steps: a histogram, the x are the
    middles of its bars. scatter: points without a line.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    points: bool = False
    steps: bool = False
    scatter: bool = False


def thinned(values: Sequence[float]) -> np.ndarray:
    """MOST_POINTS of the values at most, evenly spread, with the first and the last."""
    array = np.asarray(values, np.float64)
    if len(array) <= MOST_POINTS:
        return array
    return array[np.linspace(0, len(array) - 1, MOST_POINTS).round().astype(int)]


def silence_matplotlib() -> None:
    """Keep matplotlib's log to errors, before it is imported."""
    # It logs that it builds a cache of fonts when it first runs, and where it cannot: nothing that
    # a user can act on.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


def line_card(
    key: str,
    title: str,
    alt: str,
    series: Sequence[Line],
    axis_labels: tuple[str, str],
    note: str = "",
    limits: tuple[float, float] | None = None,
    mark: float | None = None,
) -> Card:
    """A plot of lines as a card.

    key: unlike the keys of all other cards of the page. alt: for people who cannot see the plot.
    axis_labels: of x and y. limits: of the y axis. mark: a vertical line at this x.
    """
    silence_matplotlib()
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Drawing
    from matplotlib.ticker import MaxNLocator

    # The salt makes the ids of the SVG the same in every run.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": key}):
        drawing = Drawing(figsize=_SIZE)
        axes = drawing.add_axes(_PLACE)  # laid out by hand: matplotlib's own layout takes twice the time of the drawing
        for number, line in enumerate(series):
            _draw_line(axes, line, f"#a1000{number % SERIES + 1}")
        if limits:
            axes.set_ylim(*limits)
        if mark is not None:
            axes.axvline(mark, color=MUTED, **_DASHES)
        axes.set_xlabel(axis_labels[0])
        axes.set_title(axis_labels[1], loc="left", y=1.04, fontsize=9, color=MUTED)
        for axis, label in zip((axes.xaxis, axes.yaxis), axis_labels, strict=True):
            axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=label in _COUNTS))
            axis.set_major_formatter(lambda value, _: setting(value))
        out = io.StringIO()
        # Without the date and version of matplotlib, so that equal runs have equal pages.
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        FigureCanvasSVG(drawing).print_svg(out, metadata=nothing)
    names = [line.name for line in series if not line.dashed]
    content = {"svg": _for_page(out.getvalue(), key, alt), "legend": names if len(names) > 1 else []}
    return Card(f"card-{key}", title, "figure", content, note)


def _draw_line(axes: "Axes", line: Line, color: str) -> None:
    if line.scatter:
        axes.scatter(line.x, line.y, s=22 if len(line.x) < 200 else 8, color=color, alpha=0.55, linewidths=0)
        return
    style: dict[str, Any] = {"color": MUTED, **_DASHES} if line.dashed else {"color": color}
    # A line through one point alone would not be seen.
    marker: dict[str, Any] = {"marker": "o", "markersize": 4} if line.points or len(line.x) == 1 else {}
    x, y = thinned(line.x), thinned(line.y)
    if line.steps:
        axes.fill_between(x, y, step="mid", color=color, alpha=0.18, linewidth=0)
        style["drawstyle"] = "steps-mid"
    axes.plot(x, y, **style, **marker)


def _for_page(svg: str, key: str, alt: str) -> str:
    """An SVG for HTML: no prologue, no ids but those that are used, under names of their own; the
    page's colors.
    """
    # A style would hold for the whole page.
    svg = _LEFT_OUT.sub("", svg[svg.index("<svg") :])
    # Ids hold for the whole page, so the ids of two plots must differ.
    used = set(_USED.findall(svg))
    svg = _ID.sub(lambda found: f' id="{key}-{found[1]}"' if found[1] in used else "", svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{key}-", svg)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box, "matplotlib writes a viewBox"
    head = f'<svg {box[0]} role="img" aria-label="{alt}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    svg = head + svg[svg.index(">") + 1 :]
    svg = svg.replace(f"'{_FONT}'", "var(--font)")
    for drawn, name in _COLORS.items():
        svg = svg.replace(drawn, name)
    # Two decimals are a hundredth of a point. Only in attributes: the numbers at the axes are
    # texts, and are not rounded.
    svg = _ATTRIBUTE.sub(lambda quoted: _LONG.sub(lambda long: f"{float(long[0]):.2f}", quoted[0]), svg)
    return re.sub(r"\s+", " ", svg).replace("> <", "><").strip()
