"""Tables of several runs for programs and people, with means and standard deviations."""

import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bert_cli.base.json_files import JsonObject, member_object
from bert_cli.base.writing import atomic_write
from bert_cli.metrics.selection import select
from bert_cli.outputs.text_table import text_table

_LEFT_OUT = ("global_step",)  # a position, not a measure of quality
_SHOWN = 4  # maximum metrics in the table for people
MEAN, DEVIATION = "mean", "std"
_DIVERGED = "diverged"
_UNDEFINED = "undefined"


class RunRow(NamedTuple):
    """One run, or one grid cell.

    Attributes:
        folder: directory name.
        settings: flag -> value.
        metrics: name -> number, {} if training diverged.
        deviations: standard deviations over the runs in a cell, {} for a single run.
    """

    folder: str
    settings: dict[str, float]
    metrics: dict[str, float]
    deviations: dict[str, float]


class SweepSummary(NamedTuple):
    """A comparison of runs.

    Attributes:
        kind: names.RUNS, GRID or FOLDS.
        metric: main metric.
        best: directory name of the best run, None for folds.
        rows: finished runs or cells.
        means, deviations: of each metric over the rows; None for a grid.
    """

    kind: str
    metric: str
    best: str | None
    rows: Sequence[RunRow]
    means: dict[str, float] | None = None
    deviations: dict[str, float] | None = None

    def report(self) -> JsonObject:
        """Return the comparison for run_report.json."""
        members: list[JsonObject] = [{"folder": row.folder, **row.settings, "eval": row.metrics} for row in self.rows]
        entries: JsonObject = {"kind": self.kind, "metric": self.metric, "best": self.best, "members": members}
        return entries if self.means is None else entries | {MEAN: self.means, DEVIATION: self.deviations}


def _numbers(report: JsonObject, name: str) -> dict[str, float]:
    values = member_object(report, name).items()
    return {key: value for key, value in values if isinstance(value, int | float) and not isinstance(value, bool)}


def deviations_of(report: JsonObject) -> dict[str, float]:
    """Return the standard deviations in a sweep's report, {} for a single run."""
    return _numbers(report, DEVIATION)


def metrics_of(report: JsonObject) -> dict[str, float]:
    """Return the numbers in a report's evaluation, with seven digits because metrics are float32."""
    return {
        name: value if isinstance(value, int) else _round(value)
        for name, value in _numbers(report, "eval").items()
        if name not in _LEFT_OUT
    }


def mean_and_deviation(rows: Sequence[Mapping[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return mean and standard deviation for each metric that all rows have.

    Rows from diverged runs ({}) are skipped. This is the sample deviation, with n - 1 in the
    denominator, or 0 for a single row. A whole number that all rows share, such as eval_examples,
    stays unchanged and has no deviation.
    """
    rows = [row for row in rows if row]
    columns = {name: [row[name] for row in rows] for name in rows[0] if all(name in row for row in rows)}
    means: dict[str, float] = {}
    deviations: dict[str, float] = {}
    for name, values in columns.items():
        # Means would turn counts, such as eval_examples, into floats.
        if isinstance(values[0], int) and len(set(values)) == 1:
            means[name] = values[0]
            continue
        means[name] = _round(statistics.fmean(values))
        deviations[name] = _round(statistics.stdev(values)) if len(values) > 1 else 0.0
    return means, deviations


def _round(value: float) -> float:
    return float(f"{value:.7g}")


def select_finished(rows: Sequence[RunRow]) -> list[RunRow]:
    """Return the rows with a training that did not diverge."""
    return [row for row in rows if row.metrics]


def _shared_metrics(rows: Sequence[RunRow], metric: str = "") -> list[str]:
    """Return the metrics in all finished rows, and `metric` if a row has it.

    Some data may lack an entity type, and equal predictions have no correlation.
    """
    finished_rows = select_finished(rows)
    names = dict.fromkeys(name for row in finished_rows for name in row.metrics)
    return [name for name in names if name == metric or all(name in row.metrics for row in finished_rows)]


def defined_metric(rows: Sequence[RunRow], metric: str) -> str:
    """Return `metric` if a row has it, else the first one that all rows have."""
    return metric if any(metric in row.metrics for row in rows) else _shared_metrics(rows)[0]


def best_row(rows: Sequence[RunRow], metric: str) -> RunRow:
    """Return the finished row with the best metric value, the first one in a tie.

    A row without the metric, such as a correlation of equal predictions, is never the best one.
    """
    values = [(number, row.metrics[metric]) for number, row in enumerate(rows) if metric in row.metrics]
    best = select(metric, values)
    assert best, "a command of which every run diverged has ended"
    return rows[best.step]


def write_runs_table(path: str, rows: Sequence[RunRow], has_mean: bool, metric: str = "") -> None:
    """Write runs.tsv, grid.tsv or folds.tsv: folder, flags and metrics per run, after a header.

    A grid with several runs per cell has a column <metric>_std after each metric. A diverged run
    has empty cells, and is not used for means.

    Args:
        path: file to write.
        rows: runs or cells.
        has_mean: whether the last two lines are mean and standard deviation over the rows.
        metric: main metric, which has a column even if some rows lack it.
    """
    flags = list(rows[0].settings)
    names = _shared_metrics(rows, metric)
    deviated = [name for name in names if any(name in row.deviations for row in rows)]
    columns = [
        (name, attribute)
        for name in names
        for attribute in ("metrics", "deviations")
        if attribute == "metrics" or name in deviated
    ]
    lines = [
        ["folder", *flags, *(name if attribute == "metrics" else f"{name}_{DEVIATION}" for name, attribute in columns)]
    ]
    for row in rows:
        numbers = [getattr(row, attribute).get(name, "") for name, attribute in columns]
        lines.append([row.folder, *(str(row.settings[flag]) for flag in flags), *map(str, numbers)])
    if has_mean:
        for title, values in zip((MEAN, DEVIATION), mean_and_deviation([row.metrics for row in rows]), strict=True):
            lines.append([title, *[""] * len(flags), *(str(values.get(name, "")) for name in names)])
    with atomic_write(path) as file:
        file.writelines("\t".join(cells) + "\n" for cells in lines)


def format_runs_table(rows: Sequence[RunRow], metric: str, best: str | None, has_mean: bool) -> list[str]:
    """Return the table for the log, main metric first.

    Args:
        rows: runs or cells.
        metric: main metric.
        best: directory name to mark with *, or None.
        has_mean: whether to add a line with means and deviations.
    """
    shared = _shared_metrics(rows, metric)
    floats = [name for name in shared if isinstance(select_finished(rows)[0].metrics.get(name), float)]
    names = [name for name in dict.fromkeys([metric, *floats]) if name in shared][:_SHOWN]
    flags = [flag for flag in rows[0].settings if len({row.settings[flag] for row in rows}) > 1]
    head = ("folder", *flags, *names)
    lines: list[tuple[str, ...]] = []
    for row in rows:
        cells = [_figure(row.metrics.get(name), row.deviations.get(name)) for name in names]
        cells = cells if row.metrics else [_DIVERGED]
        mark = " *" if row.folder == best else ""
        lines.append((row.folder + mark, *(f"{row.settings[flag]:g}" for flag in flags), *cells))
    if has_mean:
        means, deviations = mean_and_deviation([row.metrics for row in rows])
        cells = [_figure(means.get(name), deviations.get(name)) for name in names]
        lines.append(("mean ± standard deviation", *[""] * len(flags), *cells))
    return text_table(lines, "l" + "r" * (len(head) - 1), head)


def _figure(value: float | None, deviation: float | None) -> str:
    if value is None:
        return _UNDEFINED
    return f"{value:.4f}" if deviation is None else f"{value:.4f} ± {deviation:.4f}"
