"""Comparison of several runs by one command: results, mean over repetitions, curves and settings."""

import os
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base.names import EVAL_DATA, FOLDS, GRID, RUNS, SUSPECTS, TRAIN_DATA
from bert_cli.metrics.classification import BINARY_F1
from bert_cli.metrics.selection import select
from bert_cli.outputs.sweep import mean_and_deviation
from bert_cli.report.baselines import baseline_tiles
from bert_cli.report.components import Card, ReportTable, Section, Tile, clock, number, plain, prediction
from bert_cli.report.figures import SERIES, Line, line_card
from bert_cli.report.main_metric import best_step, display_name, main_metric, score, score_with_deviation
from bert_cli.report.run_files import Run
from bert_cli.report.sweeps import Sweep
from bert_cli.report.training import metric_card

_NOT_COMPARED = {"files", "init_checkpoint_digest", "vocabulary", "training_data", "labels"}
DATA_ROWS = ("training data", "evaluation data")
_SUSPECTS = "suspects"
_SHOWN_SUSPECTS = 24
# Noun for the repetitions in a mean, by kind of sweep; "" is for runs of several commands.
_REPEATED = {RUNS: "seeds", FOLDS: "folds", "": "seeds"}


def names_of(runs: Sequence[Run]) -> list[str]:
    """Return a name per run: its directory name, or its path below the common path if names repeat."""
    short = [run.name for run in runs]
    if len(set(short)) == len(short):
        return short
    if any("://" in run.folder for run in runs):
        return [run.folder for run in runs]
    paths = [os.path.abspath(run.folder) for run in runs]
    return [os.path.relpath(path, os.path.commonpath(paths)) for path in paths]


class RunComparison:
    """Runs side by side.

    Attributes:
        runs: the runs.
        sweep: the command's report if one command made all runs, else None.
        kind: the sweep's kind, "" without one.
        names: name per run.
        metric: main metric, "" if no run has results.
        metric_name: its name for people.
        values: the metric's values.
        differences: data and settings that differ.
    """

    def __init__(self, runs: Sequence[Run], sweep: Sweep | None = None):
        self.runs = runs
        self.sweep = sweep
        self.kind = sweep.kind if sweep else ""
        self.names = names_of(runs)
        # A run that stopped before its evaluation has no results.
        self.metric = next((name for run in runs if (name := main_metric(run.results, run.manifest))), "")
        results = [(number, run.results[self.metric]) for number, run in enumerate(runs) if self.metric in run.results]
        self.values = [value for _, value in results]
        # Folds are evaluated on different data, so none of them is the best.
        self._top = None if self.kind == FOLDS or self.warning else select(self.metric, results)
        self.differences = _differences(runs)
        positive_labels = self._positive_labels()
        self.metric_name = display_name(self.metric, positive_labels[0] if len(positive_labels) == 1 else "")

    @property
    def warning(self) -> str:
        """Return why the results cannot be compared, "" if they can.

        It is also "" for folds, which always have different data.
        """
        if self.metric == BINARY_F1 and len(labels := self._positive_labels()) > 1:
            return f"The runs have the F1 of different labels ({', '.join(labels)}): their results cannot be compared."
        digests = {run.report.get(EVAL_DATA) or "" for run in self.runs}
        if self.kind == FOLDS or len(digests - {""}) < 2:
            return ""
        return "The runs were evaluated on different data: their results cannot be compared."

    def _positive_labels(self) -> list[str]:
        return list(dict.fromkeys(run.positive_label for run in self.runs if run.results))

    @property
    def _is_repeated(self) -> bool:
        """Return whether the runs repeat one training with several seeds or folds, and have a mean."""
        if len(self.values) < 2 or self.kind == GRID:
            return False
        return self.kind in (RUNS, FOLDS) or {name for name, _ in self.differences} == {"random_seed"}

    @property
    def _best(self) -> tuple[str, float] | None:
        """Return name and value of the best run or grid cell, None if runs are not comparable."""
        if self._top and self.kind == GRID and self.sweep and self.sweep.best:
            cell = next(member for member in self.sweep.members if member["folder"] == self.sweep.best)
            return self.sweep.best, cell["eval"][self.metric]
        return (self.names[self._top.step], self._top.value) if self._top else None

    def title(self) -> str:
        """Return the data set, the metric, and the metric's mean if runs repeat one training."""
        data = " and ".join(dict.fromkeys(run.data_set for run in self.runs))
        if not self._is_repeated:
            return " · ".join(piece for piece in (f"{len(self.runs)} runs", data, self.metric_name) if piece)
        return f"{data} · {self.metric_name} {self._mean()}"

    def _mean(self) -> str:
        return score_with_deviation(
            self.runs[0].command, self.metric, statistics.fmean(self.values), statistics.stdev(self.values)
        )

    def tiles(self) -> list[Tile]:
        """Return tiles for mean and deviation, best run, baselines and suspected label errors."""
        tiles = []
        name = self.metric_name
        command = self.runs[0].command
        if self._is_repeated:
            tiles.append(Tile(self._mean(), name, f"mean ± sd of {len(self.values)} {_REPEATED[self.kind]}"))
        if best := self._best:
            tiles.append(Tile(score(command, self.metric, best[1]), f"best {name}", best[0]))
        if tiles:
            tiles += baseline_tiles(self.runs, self.metric)
        if suspects := self._suspects():
            tiles.append(Tile(number(len(suspects)), "suspected label errors", "look at them", f"#{_SUSPECTS}"))
        return tiles

    def _suspects(self) -> list[dict[str, str]]:
        return (self.sweep.suspects if self.sweep else None) or []

    def sections(self) -> list[Section]:
        """Return the sections results, suspected label errors, curves and differences."""
        return [
            Section("results", "Results", [self._results()]),
            Section(_SUSPECTS, "Suspected label errors", [suspects_card(self._suspects())]),
            Section("training", "Training", self._curves()),
            Section("differences", "Differences", [self._settings()]),
        ]

    def _results(self) -> Card:
        runs, first = self.runs, self.metric
        keys = list(dict.fromkeys([*([first] if first else []), *(key for run in runs for key in run.results)]))
        rows = [
            (name, *(number(run.results.get(key)) for key in keys), clock(run.report.get("train_seconds")))
            for name, run in zip(self.names, runs, strict=True)
        ]
        if self._is_repeated:
            figures = [
                {k: v for k, v in run.results.items() if not isinstance(v, int)} for run in runs
            ]  # without counts
            means, deviations = mean_and_deviation(figures)
            for title, values in (("mean", means), ("sd", deviations)):
                rows.append((title, *(number(values.get(key)) for key in keys), ""))
        # Mark all runs that have the best value.
        top = self._top
        best = frozenset(row for row, run in enumerate(runs) if top and run.results.get(first) == top.value)
        table = ReportTable(("run", *keys, "training"), rows, best)
        return Card("card-compared", "Held-out data", "table", table, is_wide=True)

    def _curves(self) -> list[Card]:
        cards = []
        shown_runs = list(zip(self.names, self.runs, strict=True))[:SERIES]
        note = f"The first {SERIES} runs." if len(self.runs) > SERIES else ""
        losses = [Line(name, *run.series("loss")) for name, run in shown_runs if run.series("loss")[0]]
        if losses:
            cards.append(line_card("loss", "Training loss", "Loss over the steps", losses, ("step", "loss"), note))
        metric = self.metric
        curves = [
            Line(name, *run.metric_values(metric), points=True)
            for name, run in shown_runs
            if best_step(run.evaluations, metric)
        ]
        # A single evaluation per run is not a curve; the table has its number.
        if any(len(curve.x) > 1 for curve in curves):
            cards.append(metric_card(self.metric_name, curves, note))
        return cards

    def _settings(self) -> Card:
        # Folds always have different data.
        excluded = DATA_ROWS if self.kind == FOLDS else ()
        rows = [(name, *values) for name, values in self.differences if name not in excluded]
        note = "" if rows else "All settings that decide a result are equal."
        table = ReportTable(("setting", *self.names), rows)
        return Card("card-differences", "Settings that differ", "table", table, note, is_wide=True)


def suspects_card(suspects: Sequence[Mapping[str, str]]) -> Card:
    """Return the first rows of suspects.tsv, with the labels that models find least probable."""
    entries = []
    for row in suspects[:_SHOWN_SUSPECTS]:
        # With several labels, each label is a separate decision; with tags, each word is.
        item = row.get("label") or row.get("word") or ""
        given_label = prediction(row["given"], float(row["probability"])) if row.get("probability") else row["given"]
        text = {name: row.get(name, "") for name in ("id", "text", "text_b")}
        entries.append(text | {"about": item, "given": given_label, "predicted": row["predicted"]})
    note = (
        f"The first {len(entries)} of {len(suspects):,} rows of {SUSPECTS}, each as a model predicts "
        "it that was trained without it. Given: the label in the data, with the probability that "
        "the model gives it."
    )
    return Card("card-suspects", "Rows to check", "suspects", entries, note, is_wide=True)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return a manifest's settings as texts; a nested setting is named outer.inner."""
    flat: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        elif prefix or key not in _NOT_COMPARED:
            flat[f"{prefix}{key}"] = plain(value) or ""
    return flat


def _data(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Return each run's training and evaluation data: the data set's name with a digest.

    The digest covers texts and labels. Data that all runs share is left out.
    """
    trained = [run.report.get(TRAIN_DATA) for run in runs]
    if not all(trained):  # a run is not finished, so use the digest of its tokens
        trained = [str(run.manifest.get("training_data") or "") for run in runs]
    evaluated = [run.report.get(EVAL_DATA) for run in runs]
    digests_by_row = dict(zip(DATA_ROWS, (trained, evaluated), strict=True))
    return {
        name: [f"{run.data_set} ({digest})" if digest else "" for run, digest in zip(runs, digests, strict=True)]
        for name, digests in digests_by_row.items()
        if len(set(digests)) > 1
    }


def _differences(runs: Sequence[Run]) -> list[tuple[str, list[str]]]:
    """Return (name, value per run) for data and settings that differ between runs."""
    settings = [_flat(run.manifest) for run in runs]
    keys = dict.fromkeys(key for run_settings in settings for key in run_settings)
    values = {key: [run_settings.get(key, "") for run_settings in settings] for key in keys}
    return [(key, run_values) for key, run_values in (_data(runs) | values).items() if len(set(run_values)) > 1]
