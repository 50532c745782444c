"""Rows of a comparison: single runs, and the cells of a grid with several seeds or folds each."""

import dataclasses
import os
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.names import EVAL_DATA, FOLDS, GRID, PAGE, TRAIN_DATA
from bert_cli.metrics.bootstrap import is_end
from bert_cli.outputs.sweep import mean_and_deviation
from bert_cli.report.components import Link, format_setting, number_formatter, settings_in_one_format
from bert_cli.report.main_metric import format_metric, score_with_deviation
from bert_cli.report.run_files import Run
from bert_cli.report.sweeps import SweepReport, member_folders, read_sweep

_NOT_COMPARED = {"files", "init_checkpoint_digest", "vocabulary", "training_data", "labels"}
DATA_ROWS = ("training data", "evaluation data")


@dataclasses.dataclass(frozen=True)
class Cell:
    """One run, or the runs of a grid cell, which differ only in the seed or the fold.

    Attributes:
        name: its name in the page.
        folder: its directory.
        kind: names.RUNS or FOLDS, "" for one run.
        runs: its runs.
    """

    name: str
    folder: str
    kind: str
    runs: Sequence[Run]

    @property
    def results(self) -> dict[str, float]:
        """Return the means over the runs that have results."""
        return self._statistics()[0]

    @property
    def deviations(self) -> dict[str, float]:
        """Return the standard deviations, {} for one run."""
        return self._statistics()[1] if len(self.runs) > 1 else {}

    def _statistics(self) -> tuple[dict[str, float], dict[str, float]]:
        if len(self.runs) == 1:
            return self.runs[0].results, {}
        results = [run.results for run in self.runs if run.results]
        return mean_and_deviation(results) if results else ({}, {})

    @property
    def train_seconds(self) -> float | None:
        """Return the time of all trainings, None if a run did not measure it."""
        seconds = [run.report.get("train_seconds") for run in self.runs]
        return sum(filter(None, seconds)) if all(value is not None for value in seconds) else None

    def score(self, metric: str) -> str:
        """Return a metric as text for a tile, with its deviation if there are several runs."""
        command, value = self.runs[0].command, self.results[metric]
        if metric not in self.deviations:
            return format_metric(command, metric, value)
        return score_with_deviation(command, metric, value, self.deviations[metric])

    def link(self, page_folder: str) -> Link | str:
        """Return the name with a link to the page of this run or cell, if there is such a page."""
        return page_link(self.name, self.folder, page_folder)


def page_link(name: str, folder: str, page_folder: str) -> Link | str:
    """Return a name with a relative link to a directory's page; without one, the name.

    Args:
        name: the text.
        folder: directory of a run or sweep.
        page_folder: directory of the page with the link; "" if it is not known.
    """
    if not page_folder or not files.exists(os.path.join(folder, PAGE)):
        return name
    if files.is_remote(folder) or files.is_remote(page_folder):
        start = page_folder.rstrip("/") + "/"
        if not folder.startswith(start):
            return name
        relative = folder.removeprefix(start)
    else:
        relative = os.path.relpath(folder, page_folder)
    return Link(name, urllib.parse.quote(f"{relative}/{PAGE}"))


def make_cells(runs: Sequence[Run], names: Sequence[str], sweep: SweepReport | None) -> list[Cell]:
    """Return a cell per member of a grid, otherwise per run.

    Args:
        names: name per run.
        sweep: the sweep that made the runs, or None.
    """
    cells = [Cell(name, run.folder, "", [run]) for name, run in zip(names, runs, strict=True)]
    if sweep is None or sweep.kind != GRID:
        return cells
    by_folder = {cell.folder: cell for cell in cells}
    grouped = []
    for member in sweep.members:
        folder = os.path.join(sweep.folder, member["folder"])
        inner = read_sweep(folder)
        leaves = [by_folder[leaf] for leaf in member_folders(folder) or [folder]]
        kind = inner.kind if inner else ""
        grouped.append(Cell(member["folder"], folder, kind, [leaf.runs[0] for leaf in leaves]))
    return grouped


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a manifest's settings; a nested setting is named outer.inner."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        elif prefix or key not in _NOT_COMPARED:
            flat[f"{prefix}{key}"] = value if isinstance(value, float) else format_setting(value) or ""
    return flat


def _data(run: Run) -> dict[str, str]:
    """Return a run's training and evaluation data: the data set's name with a digest.

    The digest covers texts and labels.
    """
    digests = run.report.get(TRAIN_DATA), run.report.get(EVAL_DATA)
    return {
        name: f"{run.data_set} ({digest})" if digest else "" for name, digest in zip(DATA_ROWS, digests, strict=True)
    }


def evaluation_data_digests(cells: Sequence[Cell]) -> list[str]:
    """Return the digests of each cell's evaluation data, in the order of its runs."""
    return [" ".join(run.report.get(EVAL_DATA) or "" for run in cell.runs).strip() for cell in cells]


def differences(cells: Sequence[Cell]) -> list[tuple[str, list[str]]]:
    """Return (name, value per cell) for data and settings that differ between cells.

    If the runs of a cell differ, for example in the seed, the cell's value lists all of theirs.
    """
    runs = [run for cell in cells for run in cell.runs]
    data = [_data(run) for run in runs]
    # If a run is not finished, compare the digests of the tokens.
    if not all(values[DATA_ROWS[0]] for values in data):
        for run, values in zip(runs, data, strict=True):
            digest = str(run.manifest.get("training_data") or "")
            values[DATA_ROWS[0]] = f"{run.data_set} ({digest})" if digest else ""
    settings = [values | _flat(run.manifest) for run, values in zip(runs, data, strict=True)]
    rows = []
    for key in dict.fromkeys(key for run_settings in settings for key in run_settings):
        texts = iter(settings_in_one_format([run_settings.get(key, "") for run_settings in settings]))
        values_per_cell = [", ".join(dict.fromkeys(next(texts) for _ in cell.runs)) for cell in cells]
        if len(set(values_per_cell)) > 1:
            rows.append((key, values_per_cell))
    return rows


def shown_metric_names(cells: Sequence[Cell], metric: str) -> list[str]:
    """Return the metrics' names: the main metric, other decimal numbers, losses, then counts.

    `loss` is left out if there is `eval_loss`, `global_step` if it is the same everywhere, and the
    ends of confidence intervals.

    Args:
        metric: the main metric.
    """
    results = [cell.results for cell in cells]
    keys = list(dict.fromkeys(key for values in results for key in values))
    left_out = {key for key in keys if is_end(key, keys)} | ({"loss"} if "eval_loss" in keys else set())
    if len({values.get("global_step") for values in results}) == 1:
        left_out.add("global_step")
    counts = {key for key in keys if all(isinstance(values.get(key, 0), int) for values in results)}
    keys.sort(key=lambda key: (key != metric, key in counts, "loss" in key, key == "global_step"))
    return [key for key in keys if key not in left_out]


def metric_cells(cells: Sequence[Cell], metric: str) -> list[str]:
    """Return each cell's metric as text, with a deviation if the cell has several runs.

    Args:
        metric: metric name.
    """
    write = number_formatter([cell.results[metric] for cell in cells if metric in cell.results])
    texts = []
    for cell in cells:
        value, deviation = cell.results.get(metric), cell.deviations.get(metric)
        texts.append(write(value) if deviation is None else f"{write(value)} ± {write(deviation)}")
    return texts


def describe_repeats(cells: Sequence[Cell]) -> str:
    """Return how often each training of a grid was repeated, such as "2 seeds"; "" if it was not."""
    counts = {(len(cell.runs), cell.kind) for cell in cells if cell.kind}
    return " or ".join(f"{count} {'folds' if kind == FOLDS else 'seeds'}" for count, kind in sorted(counts))
