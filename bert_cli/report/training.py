"""Curves of a training, and runs of one command compared: their results, their spread, the settings that differ."""

import os
import statistics
from collections.abc import Sequence
from typing import Any

from bert_cli.metrics.selection import best_of
from bert_cli.report.components import Card, ReportTable, Section, Tile, clock, number
from bert_cli.report.figures import SERIES, Line, line_card
from bert_cli.report.main_metric import best_step, display_name, main_metric, score
from bert_cli.report.run_files import Run


def training_cards(run: Run) -> list[Card]:
    """Loss, learning rate, metric on held-out data, and speed; none where there is no history."""
    cards, evaluations = [], run.evaluations
    loss, held_out, rate = run.series("loss"), run.held_out("eval_loss"), run.series("learning_rate")
    if loss[0]:
        series = [Line("training", *loss)]
        if held_out[0]:
            series.append(Line("held-out data", *held_out, points=True))
        note = f"At the end {number(loss[1][-1])}; each point is a mean over the steps before it."
        cards.append(line_card("loss", "Loss", "Loss over the steps", series, ("step", "loss"), note))
    if rate[0]:
        alt, axes, note = "Learning rate over the steps", ("step", "learning rate"), f"Up to {max(rate[1]):.3g}."
        cards.append(line_card("rate", "Learning rate", alt, [Line("rate", *rate)], axes, note))
    # By the last evaluation: a run that was extended may have begun without the metric.
    metric = main_metric(evaluations[-1][1], run.manifest) if evaluations else ""
    best = best_step(evaluations, metric)
    # One evaluation is a number, which is at the top of the page, and no curve.
    if best and len(evaluations) > 1:
        name, line = display_name(metric), Line(display_name(metric), *run.held_out(metric), points=True)
        alt, note = "Held-out metric over the steps", f"Best: {number(best[1])} after step {best[0]:,}."
        cards.append(line_card("metric", f"Held-out data: {name}", alt, [line], ("step", name), note))
    speed = run.series("examples_per_second")
    if len(speed[0]) > 1:
        axes, note = ("step", "examples per second"), "Without the time that evaluations took."
        cards.append(line_card("speed", "Speed", "Examples per second", [Line("examples/s", *speed)], axes, note))
    return cards


_NOT_COMPARED = {"files", "vocabulary", "training_data", "labels"}


def names_of(runs: Sequence[Run]) -> list[str]:
    """A name for each run: the last part of its folder; where two are equal, what follows the part that all have."""
    short = [run.name for run in runs]
    if len(set(short)) == len(short):
        return short
    if any("://" in run.folder for run in runs):
        return [run.folder for run in runs]
    paths = [os.path.abspath(run.folder) for run in runs]
    return [os.path.relpath(path, os.path.commonpath(paths)) for path in paths]


def comparison_tiles(runs: Sequence[Run]) -> list[Tile]:
    """The best run, and mean ± standard deviation of all."""
    metric, tiles = _metric(runs), [Tile(str(len(runs)), "runs")]
    values = [run.results[metric] for run in runs if metric in run.results]
    if not values:
        return tiles
    best, command = best_of(metric, values), runs[0].command
    owner = names_of(runs)[[run.results.get(metric) for run in runs].index(best)]
    tiles.append(Tile(score(command, metric, best), f"best {display_name(metric)}", owner))
    if len(values) > 1:
        mean, spread = score(command, metric, statistics.mean(values)), number(statistics.stdev(values))
        tiles.append(Tile(mean, f"mean {display_name(metric)}", f"± {spread} (sd)"))
    return tiles


def _metric(runs: Sequence[Run]) -> str:
    # A run that was stopped before its evaluation has no results.
    return next((name for run in runs if (name := main_metric(run.results, run.manifest))), "")


def comparison_sections(runs: Sequence[Run]) -> list[Section]:
    """Results, curves and differences of two runs or more."""
    return [
        Section("results", "Results", [_results(runs)]),
        Section("training", "Training", _curves(runs)),
        Section("differences", "Differences", [_differences(runs)]),
    ]


def _results(runs: Sequence[Run]) -> Card:
    first = _metric(runs)
    keys = list(dict.fromkeys([*([first] if first else []), *(key for run in runs for key in run.results)]))
    rows = [
        (name, *(number(run.results.get(key)) for key in keys), clock(run.report.get("train_seconds")))
        for name, run in zip(names_of(runs), runs, strict=True)
    ]
    values = [run.results.get(first) for run in runs]
    known = [value for value in values if value is not None]
    top = best_of(first, known) if known else None
    # Two runs may have the best value; both are marked then.
    best = frozenset(row for row, value in enumerate(values) if known and value == top)
    table = ReportTable(("run", *keys, "training"), rows, best)
    return Card("card-compared", "Held-out data", "table", table, is_wide=True)


def _curves(runs: Sequence[Run]) -> list[Card]:
    cards, shown = [], list(zip(names_of(runs), runs, strict=True))[:SERIES]
    note = f"The first {SERIES} runs." if len(runs) > SERIES else ""
    losses = [Line(name, *run.series("loss")) for name, run in shown if run.series("loss")[0]]
    if losses:
        cards.append(line_card("loss", "Training loss", "Loss over the steps", losses, ("step", "loss"), note))
    metric = _metric(runs)
    curves = [
        Line(name, *run.held_out(metric), points=True) for name, run in shown if best_step(run.evaluations, metric)
    ]
    if curves:
        title, alt = f"Held-out data: {display_name(metric)}", "Held-out metric over the steps"
        cards.append(line_card("metric", title, alt, curves, ("step", display_name(metric)), note))
    return cards


def _flat(values: dict[str, Any], before: str = "") -> dict[str, str]:
    """The settings of a manifest as texts; a setting within another one is named outer.inner."""
    flat: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{before}{key}.")
        elif before or key not in _NOT_COMPARED:
            flat[f"{before}{key}"] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return flat


def _differences(runs: Sequence[Run]) -> Card:
    settings = [_flat(run.manifest) for run in runs]
    keys = dict.fromkeys(key for each in settings for key in each)
    changed = [key for key in keys if len({each.get(key) for each in settings}) > 1]
    rows = [(key, *(each.get(key, "") for each in settings)) for key in changed]
    note = "" if rows else "All settings that decide a result are equal."
    table = ReportTable(("setting", *names_of(runs)), rows)
    return Card("card-differences", "Settings that differ", "table", table, note, is_wide=True)
