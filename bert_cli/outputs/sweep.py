"""Tables of several runs: a file for programs, a table for people, means and standard deviations."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bert_cli.base.writing import atomic_write
from bert_cli.metrics.selection import select
from bert_cli.outputs.text_table import text_table

_LEFT_OUT = ("global_step",)  # says where, not how good
_SHOWN = 4  # metrics in the table for people
MEAN, DEVIATION = "mean", "std"
_DIVERGED = "diverged"


class RunRow(NamedTuple):
    """One run, or one cell of a grid. folder: its name; settings: flag -> value; metrics: name ->
    number, {} where training diverged; deviations: of the runs of a cell, {} for one run.
    """

    folder: str
    settings: dict[str, Any]
    metrics: dict[str, float]
    deviations: dict[str, float]


def metrics_of(report: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a report's evaluation, rounded to seven digits: metrics are float32."""
    return {
        name: value if isinstance(value, int) else _rounded(value)
        for name, value in report.get("eval", {}).items()
        if isinstance(value, int | float) and not isinstance(value, bool) and name not in _LEFT_OUT
    }


def mean_and_deviation(rows: Sequence[Mapping[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Mean and standard deviation of each metric that all rows have; {} of a diverged run is no
    row.

    The deviation is the sample's, with n - 1 in the denominator, 0 for one row. A whole number that
    all rows share, such as the examples, stays what it is, and has none.
    """
    rows = [row for row in rows if row]
    columns = {name: [row[name] for row in rows] for name in rows[0] if all(name in row for row in rows)}
    means: dict[str, float] = {}
    deviations: dict[str, float] = {}
    for name, values in columns.items():
        # Counts, such as eval_examples, would become floats as means.
        if isinstance(values[0], int) and len(set(values)) == 1:
            means[name] = values[0]
            continue
        means[name] = _rounded(statistics.fmean(values))
        deviations[name] = _rounded(statistics.stdev(values)) if len(values) > 1 else 0.0
    return means, deviations


def _rounded(value: float) -> float:
    return float(f"{value:.7g}")


def finished(rows: Sequence[RunRow]) -> list[RunRow]:
    """The rows whose training did not diverge."""
    return [row for row in rows if row.metrics]


def _shared(rows: Sequence[RunRow]) -> list[str]:
    """The metrics that all rows have that ended: a type of entities may be missing in a part of the
    data.
    """
    first, *others = finished(rows)
    return [name for name in first.metrics if all(name in row.metrics for row in others)]


def defined_metric(rows: Sequence[RunRow], metric: str) -> str:
    """Return `metric` if all rows have it, else the first one that they have."""
    shared = _shared(rows)
    return metric if metric in shared else shared[0]


def best_row(rows: Sequence[RunRow], metric: str) -> RunRow:
    """The row with the best value of a metric, of equal ones the first; one that diverged is none."""
    known = finished(rows)
    best = select(metric, [(number, row.metrics[metric]) for number, row in enumerate(known)])
    assert best, "a command of which every run diverged has ended"
    return known[best.step]


def write_runs_table(path: str, rows: Sequence[RunRow], has_mean: bool) -> None:
    """Write runs.tsv, grid.tsv or folds.tsv: a header; folder, flags and metrics of each run.

    A metric of a grid of several runs is followed by a column <metric>_std. has_mean: two last
    lines are the mean and the standard deviation over the rows. One that diverged has empty cells,
    and is in neither.
    """
    flags = list(rows[0].settings)
    names = _shared(rows)
    deviated = [name for name in names if any(name in row.deviations for row in rows)]
    columns = [(name, of) for name in names for of in ("metrics", "deviations") if of == "metrics" or name in deviated]
    lines = [["folder", *flags, *(name if of == "metrics" else f"{name}_{DEVIATION}" for name, of in columns)]]
    for row in rows:
        numbers = [getattr(row, of).get(name, "") for name, of in columns]
        lines.append([row.folder, *(str(row.settings[flag]) for flag in flags), *map(str, numbers)])
    if has_mean:
        for title, values in zip((MEAN, DEVIATION), mean_and_deviation([row.metrics for row in rows]), strict=True):
            lines.append([title, *[""] * len(flags), *(str(values.get(name, "")) for name in names)])
    with atomic_write(path) as file:
        file.writelines("\t".join(cells) + "\n" for cells in lines)


def format_runs_table(rows: Sequence[RunRow], metric: str, best: str | None, has_mean: bool) -> list[str]:
    """The same for the log, the metric that counts first; `best` is the folder that gets a *, None
    for none.
    """
    known = _shared(rows)
    floats = [name for name in known if isinstance(finished(rows)[0].metrics[name], float)]
    names = [name for name in dict.fromkeys([metric, *floats]) if name in known][:_SHOWN]
    flags = [flag for flag in rows[0].settings if len({row.settings[flag] for row in rows}) > 1]
    head = ("folder", *flags, *names)
    lines: list[tuple[str, ...]] = []
    for row in rows:
        cells = [_figure(row.metrics[name], row.deviations.get(name)) for name in names] if row.metrics else [_DIVERGED]
        mark = " *" if row.folder == best else ""
        lines.append((row.folder + mark, *(f"{row.settings[flag]:g}" for flag in flags), *cells))
    if has_mean:
        means, deviations = mean_and_deviation([row.metrics for row in rows])
        cells = [_figure(means[name], deviations.get(name)) for name in names]
        lines.append(("mean ± standard deviation", *[""] * len(flags), *cells))
    return text_table(lines, "l" + "r" * (len(head) - 1), head)


def _figure(value: float, deviation: float | None) -> str:
    return f"{value:.4f}" if deviation is None else f"{value:.4f} ± {deviation:.4f}"
