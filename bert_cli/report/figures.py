"""Plots as SVG inside the page, with real text and the page's colors, so that the dark theme works.

matplotlib draws them, because its SVG needs no script. A plot has 5 to 15 kB. Plots contain only
numbers and our own words, never names or texts from the data: fonts lack characters, and a `$`
would start a formula.
"""

import dataclasses
import io
import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.report.components import Card, format_setting_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SERIES = 6  # number of line colors in the page
MOST_POINTS = 400  # points per line; longer lines are thinned evenly
_SIZE = (4.8, 2.6)  # inches of 72 points; text stays readable on a phone
_PLACE = (0.105, 0.17, 0.875, 0.7)  # position of the axes: left, bottom, width, height
_FONT = "DejaVu Sans"  # included in matplotlib, which measures texts with it; the page uses another font
# Drawing colors -> CSS variables. matplotlib does not support CSS variables. So each one is drawn
# as a unique color, which is then replaced in the SVG text.
_COLORS = {f"#a1000{number}": f"var(--series-{number})" for number in range(1, SERIES + 1)} | {
    "#a20001": "var(--muted)",
    "#a20002": "var(--line)",
}
MUTED, _LINE = "#a20001", "#a20002"
_COUNTS = ("step", "tokens")  # axes with integers only
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
    """A line in a plot.

    Attributes:
        name: name in the legend, which the page shows.
        x: x values.
        y: y values.
        dashed: whether it is a reference line.
        points: whether each value is marked.
        steps: whether it is a histogram; x are the bar centers.
        scatter: whether to draw points without a line.
        spread: standard deviation of each y, drawn as a band; () for none.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    points: bool = False
    steps: bool = False
    scatter: bool = False
    spread: Sequence[float] = ()


def evenly_spaced_values(values: Sequence[float]) -> np.ndarray:
    """Return at most MOST_POINTS values, evenly spaced, including the first and the last."""
    array = np.asarray(values, np.float64)
    if len(array) <= MOST_POINTS:
        return array
    return array[np.linspace(0, len(array) - 1, MOST_POINTS).round().astype(int)]


def silence_matplotlib() -> None:
    """Limit matplotlib's log to errors, before it is imported."""
    # It logs when it builds a font cache, and when it cannot. Users can do nothing about either.
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
    """Return a plot of lines as a card.

    Args:
        key: id that no other card in the page uses.
        title: heading.
        alt: description for people who cannot see the plot.
        series: lines to draw.
        axis_labels: labels of x and y.
        note: sentence below the plot.
        limits: y axis limits.
        mark: x position for a vertical line, or None.
    """
    silence_matplotlib()
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Drawing
    from matplotlib.ticker import MaxNLocator

    # The salt makes SVG ids equal in every run.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": key}):
        drawing = Drawing(figsize=_SIZE)
        axes = drawing.add_axes(_PLACE)  # fixed layout: matplotlib's own layout needs twice the drawing time
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
            axis.set_major_formatter(lambda value, _: format_setting_number(value))
        out = io.StringIO()
        # Leave out matplotlib's date and version, so that equal runs have equal pages.
        no_metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        FigureCanvasSVG(drawing).print_svg(out, metadata=no_metadata)
    names = [line.name for line in series if not line.dashed]
    content = {"svg": _for_page(out.getvalue(), key, alt), "legend": names if len(names) > 1 else []}
    return Card(f"card-{key}", title, "figure", content, note)


def _draw_line(axes: "Axes", line: Line, color: str) -> None:
    if line.scatter:
        axes.scatter(line.x, line.y, s=22 if len(line.x) < 200 else 8, color=color, alpha=0.55, linewidths=0)
        return
    style: dict[str, Any] = {"color": MUTED, **_DASHES} if line.dashed else {"color": color}
    # Mark a single point: a line through it would be invisible.
    marker: dict[str, Any] = {"marker": "o", "markersize": 4} if line.points or len(line.x) == 1 else {}
    x, y = evenly_spaced_values(line.x), evenly_spaced_values(line.y)
    if line.steps:
        axes.fill_between(x, y, step="mid", color=color, alpha=0.18, linewidth=0)
        style["drawstyle"] = "steps-mid"
    if line.spread:
        band = evenly_spaced_values(line.spread)
        axes.fill_between(x, y - band, y + band, color=color, alpha=0.18, linewidth=0)
    axes.plot(x, y, **style, **marker)


def _for_page(svg: str, key: str, alt: str) -> str:
    """Return an SVG for the page, without prologue, with unique ids and the page's colors."""
    # Remove styles, which would apply to the whole page.
    svg = _LEFT_OUT.sub("", svg[svg.index("<svg") :])
    # Ids are global in a page, so plots must not share any.
    used = set(_USED.findall(svg))
    svg = _ID.sub(lambda id_match: f' id="{key}-{id_match[1]}"' if id_match[1] in used else "", svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{key}-", svg)
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box, "matplotlib writes a viewBox"
    head = f'<svg {box[0]} role="img" aria-label="{alt}" xmlns:xlink="http://www.w3.org/1999/xlink">'
    svg = head + svg[svg.index(">") + 1 :]
    svg = svg.replace(f"'{_FONT}'", "var(--font)")
    for drawn, name in _COLORS.items():
        svg = svg.replace(drawn, name)
    # Two decimals are a hundredth of a point. Round only attributes, not the numbers at the axes,
    # which are text.
    svg = _ATTRIBUTE.sub(lambda quoted: _LONG.sub(lambda long: f"{float(long[0]):.2f}", quoted[0]), svg)
    return re.sub(r"\s+", " ", svg).replace("> <", "><").strip()
