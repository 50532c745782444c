"""Comparison of several runs by one command: results, mean over repetitions, curves and settings."""

import os
import statistics
from collections.abc import Mapping, Sequence

from bert_cli.base.names import FOLDS, GRID, ROWS_PER_LABEL, RUNS, SUSPECTS
from bert_cli.metrics.classification import BINARY_F1
from bert_cli.metrics.selection import select
from bert_cli.outputs.learning_curve import CurvePoint, curve_point
from bert_cli.outputs.sweep import mean_and_deviation
from bert_cli.report.cells import (
    DATA_ROWS,
    Cell,
    describe_repeats,
    differences,
    evaluation_data_digests,
    make_cells,
    metric_cells,
    shown_metric_names,
)
from bert_cli.report.components import (
    Card,
    Link,
    ReportTable,
    Section,
    Tile,
    format_label_probability,
    number,
    number_formatter,
    time_span,
)
from bert_cli.report.figures import SERIES, Line, line_card
from bert_cli.report.main_metric import baseline_tiles, best_step, display_name, main_metric, score_with_deviation
from bert_cli.report.overview import sweep_commands
from bert_cli.report.run_files import Run
from bert_cli.report.significance import compare_pair, untested_card
from bert_cli.report.sweeps import SweepReport
from bert_cli.report.training import metric_card

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
        cells: the compared rows: runs, or cells of a grid.
        metric: main metric, "" if no run has results.
        metric_name: its name for people.
        values: the metric's value per cell that has it.
        differences: data and settings that differ between cells.
        significance: whether two runs differ, None for other numbers of runs, or without common rows.
        untested: why two runs have no common rows, "" if they have or need none.
    """

    def __init__(self, runs: Sequence[Run], sweep: SweepReport | None = None, page_folder: str = ""):
        """Compare runs.

        Args:
            sweep: the command's report, or None.
            page_folder: directory of the page, for relative links; "" if it is not known.
        """
        self.runs = runs
        self.sweep = sweep
        self.kind = sweep.kind if sweep else ""
        self.names = names_of(runs)
        self.cells = make_cells(runs, self.names, sweep)
        self._page_folder = page_folder
        # A run that stopped before its evaluation has no results.
        self.metric = next((name for run in runs if (name := main_metric(run.results, run.manifest))), "")
        results = [
            (row, cell.results[self.metric]) for row, cell in enumerate(self.cells) if self.metric in cell.results
        ]
        self.values = [value for _, value in results]
        # Folds are evaluated on different data, so none of them is the best.
        self._top = None if self.kind == FOLDS or self.warning else select(self.metric, results)
        self.differences = differences(self.cells)
        positive_labels = self._positive_labels()
        self.metric_name = display_name(self.metric, positive_labels[0] if len(positive_labels) == 1 else "")
        is_pair = len(runs) == 2 and sweep is None and not self.warning
        self.significance, self.untested = compare_pair(runs, self.names) if is_pair else (None, "")

    @property
    def warning(self) -> str:
        """Return why the results cannot be compared, "" if they can.

        It is also "" for folds, which always have different data.
        """
        if self.metric == BINARY_F1 and len(labels := self._positive_labels()) > 1:
            return f"The runs have the F1 of different labels ({', '.join(labels)}): their results cannot be compared."
        digests = set(evaluation_data_digests(self.cells))
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
    def _best(self) -> Cell | None:
        """Return the best run or grid cell, None if runs are not comparable."""
        if self._top is None:
            return None
        named = [cell for cell in self.cells if self.sweep and self.kind == GRID and cell.name == self.sweep.best]
        return named[0] if named else self.cells[self._top.step]

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
        if self._is_repeated:
            tiles.append(Tile(self._mean(), name, f"mean ± sd of {len(self.values)} {_REPEATED[self.kind]}"))
        if best := self._best:
            note = f"{best.name}, mean ± sd of {describe_repeats([best])}" if best.kind else best.name
            tiles.append(Tile(best.score(self.metric), f"best {name}", note))
        if tiles:
            tiles += baseline_tiles(self.runs, self.metric)
        if suspects := self._suspects():
            tiles.append(Tile(number(len(suspects)), "suspected label errors", "look at them", f"#{_SUSPECTS}"))
        return tiles

    def _suspects(self) -> list[dict[str, str]]:
        return (self.sweep.suspects if self.sweep else None) or []

    def sections(self) -> list[Section]:
        """Return the sections results, suspected label errors, curves, differences and commands."""
        return [
            Section("results", "Results", self._results()),
            Section("significance", "Significance", self._significance_cards()),
            Section(_SUSPECTS, "Suspected label errors", [suspects_card(self._suspects())]),
            Section("training", "Training", self._curves()),
            Section("differences", "Differences", [self._settings()]),
            Section("commands", "Commands", [self._commands()]),
        ]

    def _significance_cards(self) -> list[Card]:
        if self.significance:
            return self.significance.cards()
        return [untested_card(self.untested)] if self.untested else []

    def _results(self) -> list[Card]:
        note = f"Mean ± standard deviation of {text}." if (text := describe_repeats(self.cells)) else ""
        cards = [Card("card-compared", "Held-out data", "table", self._table(self.cells), note, is_wide=True)]
        cards += self._learning_curve()
        if len(self.runs) > len(self.cells):
            single = [Cell(name, run.folder, "", [run]) for name, run in zip(self.names, self.runs, strict=True)]
            cards.append(Card("card-runs", "All runs", "table", self._table(single), is_wide=True))
        return cards

    def _learning_curve(self) -> list[Card]:
        """Return the plot over numbers of training rows, with the best values of other flags."""
        members = {member["folder"]: dict(member) for member in self.sweep.members} if self.sweep else {}
        points: dict[float, CurvePoint] = {}
        for cell in self.cells:
            size = members.get(cell.name, {}).get(ROWS_PER_LABEL)
            if not isinstance(size, int | float):
                continue
            reports = [{"eval": run.results, "baselines": run.report.get("baselines")} for run in cell.runs]
            point = curve_point({}, reports, self.metric)
            if point and (size not in points or self._is_better(point, points[size])):
                points[size] = point
        if len(points) < 2:
            return []
        series = [("the model", {size: point.score for size, point in points.items()})]
        series.append(("TF-IDF", {size: point.baseline for size, point in points.items() if point.baseline}))
        lines = [
            Line(name, list(spreads), [spread.mean for spread in spreads.values()], points=True,
                 spread=[spread.deviation for spread in spreads.values()])
            for name, spreads in series if spreads
        ]  # fmt: skip
        runs = max(point.runs for point in points.values())
        note = f"Mean and standard deviation of {runs} samples of the training rows." if runs > 1 else ""
        axes = ("rows per label", self.metric_name)
        return [line_card("learning-curve", "Learning curve", "Score by training rows", lines, axes, note)]

    def _is_better(self, point: CurvePoint, other: CurvePoint) -> bool:
        best = select(self.metric, [(0, other.score.mean), (1, point.score.mean)])
        return best is not None and best.step == 1

    def _table(self, cells: Sequence[Cell]) -> ReportTable:
        metrics = shown_metric_names(cells, self.metric)
        settings = self._grid_settings() if cells is self.cells else []
        names = [cell.link(self._page_folder) for cell in cells]
        columns = [metric_cells(cells, metric) for metric in metrics]
        seconds = [time_span(cell.train_seconds) for cell in cells]
        rows: list[tuple[Link | str, ...]] = list(
            zip(names, *(values for _, values in settings), *columns, seconds, strict=True)
        )
        if self._is_repeated:
            figures = [
                {k: v for k, v in cell.results.items() if not isinstance(v, int)} for cell in cells
            ]  # without counts
            for title, values in zip(("mean", "sd"), mean_and_deviation(figures), strict=True):
                written = (
                    number_formatter([cell.results.get(name, 0) for cell in cells])(values.get(name))
                    for name in metrics
                )
                rows.append((title, *written, ""))
        # Mark all rows that have the best value.
        is_ranked = self._top is not None and cells is self.cells
        best = frozenset(
            row
            for row, cell in enumerate(cells)
            if is_ranked and self._top and cell.results.get(self.metric) == self._top.value
        )
        return ReportTable(("run", *(name for name, _ in settings), *metrics, "training"), rows, best)

    def _grid_settings(self) -> list[tuple[str, list[str]]]:
        """Return (name, value per cell) of the flags that a grid changes."""
        flags = {name for member in (self.sweep.members if self.sweep else []) for name in member}
        return [(name, values) for name, values in self.differences if self.kind == GRID and name in flags]

    def _curves(self) -> list[Card]:
        cards = []
        all_runs = list(zip(self.names, self.runs, strict=True))
        note = f"The first {SERIES} runs." if len(self.runs) > SERIES else ""
        best = self._best
        if best and best.kind:
            all_runs = [(name, run) for name, run in all_runs if run in best.runs]
            note = f"The runs of {best.name}, the best."
        shown_runs = all_runs[:SERIES]
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
        table = ReportTable(("setting", *(cell.name for cell in self.cells)), rows)
        return Card("card-differences", "Settings that differ", "table", table, note, is_wide=True)

    def _commands(self) -> Card:
        """Return commands that repeat the sweep, use its best run, and make this page again."""
        commands = sweep_commands(self.sweep, self.runs[0]) if self.sweep else []
        return Card("card-commands", "Commands", "commands", commands, is_wide=True)


def suspects_card(suspects: Sequence[Mapping[str, str]]) -> Card:
    """Return the first rows of suspects.tsv, with the labels that models find least probable."""
    entries = []
    for row in suspects[:_SHOWN_SUSPECTS]:
        # With several labels, each label is a separate decision; with tags, each word is.
        item = row.get("label") or row.get("word") or ""
        given_label = (
            format_label_probability(row["given"], float(row["probability"]))
            if row.get("probability")
            else row["given"]
        )
        text = {name: row.get(name, "") for name in ("id", "text", "text_b")}
        entries.append(text | {"about": item, "given": given_label, "predicted": row["predicted"]})
    note = (
        f"The first {len(entries)} of {len(suspects):,} rows of {SUSPECTS}, each as a model predicts "
        "it that was trained without it. Given: the label in the data, with the probability that "
        "the model gives it."
    )
    return Card("card-suspects", "Rows to check", "suspects", entries, note, is_wide=True)
