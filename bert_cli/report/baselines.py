"""Results of simple baselines, as in run_report.json: {name: {metric: value}}."""

import math
import statistics
from collections.abc import Sequence

from bert_cli.metrics.squad import NO_ANSWER
from bert_cli.report.components import Tile
from bert_cli.report.main_metric import score
from bert_cli.report.run_files import Run

BASELINE_NAMES = {
    "majority": "the majority class",
    "tfidf": "TF-IDF with logistic regression",
    "mean": "the mean",
    "ridge": "TF-IDF with ridge regression",
    NO_ANSWER: "no answer to any question",
}


def baseline_tiles(runs: Sequence[Run], metric: str) -> list[Tile]:
    """Return each baseline's metric, as the mean over the runs that have it.

    Args:
        runs: the runs.
        metric: metric name, as in eval_results.txt.
    """
    tiles = []
    for name, title in BASELINE_NAMES.items():
        results = [(run.report.get("baselines") or {}).get(name, {}).get(metric.removeprefix("eval_")) for run in runs]
        # A constant prediction has no correlation: it is NaN or null.
        values = [value for value in results if isinstance(value, int | float) and math.isfinite(value)]
        if values:
            tiles.append(Tile(score(runs[0].command, metric, statistics.fmean(values)), title, "baseline"))
    return tiles
