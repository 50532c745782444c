"""Several runs on one page: what differs, their results side by side, and their spread."""

import os
import statistics
from collections.abc import Sequence
from typing import Any

from bert_cli.metrics.selection import best_of
from bert_cli.report.figures import SERIES, Line, lines
from bert_cli.report.headline import best_step, main_metric, spoken
from bert_cli.report.overview import score
from bert_cli.report.parts import Card, ReportTable, Section, Tile, clock, figure_card, number
from bert_cli.report.run_files import Run

_NOT_COMPARED = {"files", "vocabulary", "training_data", "labels"}


def names_of(runs: Sequence[Run]) -> list[str]:
    """A name for each run: the last part of its folder; where these are not different, what follows the part that all have."""
    short = [run.name for run in runs]
    if len(set(short)) == len(short):
        return short
    if any("://" in run.folder for run in runs):
        return [run.folder for run in runs]
    paths = [os.path.abspath(run.folder) for run in runs]
    return [os.path.relpath(path, os.path.commonpath(paths)) for path in paths]


def comparison_tiles(runs: Sequence[Run]) -> list[Tile]:
    """The best run, and mean ± standard deviation of all."""
    metric = _metric(runs)
    values = [run.results[metric] for run in runs if metric in run.results]
    if not metric or not values:
        return [Tile(str(len(runs)), "runs")]
    best = best_of(metric, values)
    command = runs[0].command
    owner = names_of(runs)[[run.results.get(metric) for run in runs].index(best)]
    found = [Tile(str(len(runs)), "runs"), Tile(score(command, metric, best), f"best {spoken(metric)}", owner)]
    if len(values) > 1:
        spread = statistics.stdev(values)
        found.append(
            Tile(score(command, metric, statistics.mean(values)), f"mean {spoken(metric)}", f"± {number(spread)} (sd)")
        )
    return found


def _metric(runs: Sequence[Run]) -> str:
    return next((name for run in runs if (name := main_metric(run.results, run.manifest))), "")


def comparison_sections(runs: Sequence[Run]) -> list[Section]:
    """Results, curves and differences of two runs or more."""
    results = Section("results", "Results", tuple(_results(runs)))
    return [
        results,
        Section("training", "Training", tuple(_curves(runs))),
        Section("differences", "Differences", (_differences(runs),)),
    ]


def _results(runs: Sequence[Run]) -> list[Card]:
    first = _metric(runs)
    keys = list(dict.fromkeys([*([first] if first else []), *(key for run in runs for key in run.results)]))
    rows = [
        (name, *(number(run.results.get(key)) for key in keys), clock(run.report.get("train_seconds")))
        for name, run in zip(names_of(runs), runs, strict=True)
    ]
    # Several runs may share the best value; all of them are marked.
    best: frozenset[int] = frozenset()
    values = [run.results.get(first) for run in runs]
    known = [value for value in values if value is not None]
    if known:
        top = best_of(first, known)
        best = frozenset(row for row, value in enumerate(values) if value == top)
    return [
        Card(
            "card-compared", "Held-out data", "table", ReportTable(("run", *keys, "training"), rows, best), is_wide=True
        )
    ]


def _curves(runs: Sequence[Run]) -> list[Card]:
    cards, shown = [], list(zip(names_of(runs), runs, strict=True))[:SERIES]
    note = f"The first {SERIES} runs." if len(runs) > SERIES else ""
    losses = [Line(name, *run.series("loss")) for name, run in shown if run.series("loss")[0]]
    if losses:
        figure = lines("loss", "Loss over the steps", losses, "step", "loss")
        cards.append(figure_card("card-loss", "Training loss", figure, note))
    metric = _metric(runs)
    found = []
    for name, run in shown:
        pairs = [(step, values[metric]) for step, values in run.evaluations if metric in values]
        if pairs and best_step(run.evaluations, metric):
            found.append(Line(name, [step for step, _ in pairs], [value for _, value in pairs], points=True))
    if found:
        figure = lines("metric", "Held-out metric over the steps", found, "step", spoken(metric))
        cards.append(figure_card("card-metric", f"Held-out data: {spoken(metric)}", figure, note))
    return cards


def _flat(values: dict[str, Any], before: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{before}{key}.")
        elif before or key not in _NOT_COMPARED:
            flat[f"{before}{key}"] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return flat


def _differences(runs: Sequence[Run]) -> Card:
    settings = [_flat(run.manifest) for run in runs]
    keys = list(dict.fromkeys(key for each in settings for key in each))
    changed = [key for key in keys if len({each.get(key) for each in settings}) > 1]
    rows = [(key, *(each.get(key, "") for each in settings)) for key in changed]
    note = "" if rows else "All settings that decide a result are equal."
    table = ReportTable(("setting", *names_of(runs)), rows)
    return Card("card-differences", "Settings that differ", "table", table, note, is_wide=True)
