"""Learning curve: held-out scores by the number of training rows, with a linear baseline."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bert_cli.base.names import LINEAR_BASELINE, ROWS_PER_LABEL
from bert_cli.base.writing import atomic_write
from bert_cli.outputs.text_table import text_table


class MeanAndDeviation(NamedTuple):
    """Mean and standard deviation over samples, with n - 1 in the denominator."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "MeanAndDeviation":
        """Return the spread of at least one value; a single one has the deviation 0."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.deviation:.4f}"


class CurvePoint(NamedTuple):
    """One size of the training data.

    Attributes:
        settings: the grid's flags, such as rows_per_label.
        runs: number of runs.
        score: the main metric of the models.
        baseline: the same of TF-IDF with logistic regression; None if it is not known.
    """

    settings: Mapping[str, float]
    runs: int
    score: MeanAndDeviation
    baseline: MeanAndDeviation | None


def curve_point(settings: Mapping[str, float], reports: Sequence[Mapping[str, Any]], metric: str) -> CurvePoint | None:
    """Return the point of runs with the same flags; None if they have no such metric.

    Args:
        settings: the grid's flags.
        reports: run_report.json of each run.
        metric: name of the main metric.
    """
    scores = _numbers([report.get("eval", {}).get(metric) for report in reports])
    name = metric.removeprefix("eval_")
    baselines = [(report.get("baselines") or {}).get(LINEAR_BASELINE, {}).get(name) for report in reports]
    if not scores:
        return None
    linear = _numbers(baselines)
    return CurvePoint(
        settings, len(scores), MeanAndDeviation.of(scores), MeanAndDeviation.of(linear) if linear else None
    )


def _numbers(values: Sequence[Any]) -> list[float]:
    return [float(value) for value in values if isinstance(value, int | float) and math.isfinite(value)]


def write_curve(path: str, points: Sequence[CurvePoint], metric: str) -> None:
    """Write learning_curve.tsv, with mean and deviation of the model's and the baseline's metric.

    Args:
        path: file to write.
        points: a line per point.
        metric: name of the main metric.
    """
    flags = list(points[0].settings)
    columns = [f"{name}{end}" for name in (metric, f"{LINEAR_BASELINE}_{metric}") for end in ("", "_std")]
    lines = [[*flags, "runs", *columns]]
    for point in points:
        numbers = [*point.score, *(point.baseline or ("", ""))]
        cells = [f"{number:.7g}" if isinstance(number, float) else number for number in numbers]
        lines.append([*(f"{point.settings[flag]:g}" for flag in flags), str(point.runs), *cells])
    with atomic_write(path) as file:
        file.writelines("\t".join(cells) + "\n" for cells in lines)


def format_curve(points: Sequence[CurvePoint], metric: str) -> list[str]:
    """Return the curve as a table for the log."""
    flags = [flag for flag in points[0].settings if flag != ROWS_PER_LABEL]
    rows = [
        (
            *(f"{point.settings[flag]:g}" for flag in (ROWS_PER_LABEL, *flags)),
            str(point.score),
            str(point.baseline or ""),
        )
        for point in points
    ]
    return text_table(rows, "r" * len(rows[0]), (ROWS_PER_LABEL, *flags, metric, "TF-IDF"))
