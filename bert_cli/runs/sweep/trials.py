"""Trials of a sweep: a directory and flag values for each run."""

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

from bert_cli.base.names import FOLDS, GRID, RUNS
from bert_cli.flags.option import flag_values, grid_values
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.settings.data import HeldOut


class Trial(NamedTuple):
    """One run of a sweep.

    Attributes:
        folder: directory name.
        values: flag values that differ between the runs.
        common_values: flag values that all runs have instead of the sweep's.
    """

    folder: str
    values: dict[str, Any]
    common_values: Mapping[str, Any] = {}


def plan_trials(settings: Any) -> tuple[str, list[Trial]]:
    """Return the kind of sweep (GRID, FOLDS or RUNS) and its trials.

    A trial in a grid may itself be a sweep over seeds or folds. In a nested cross-validation, the
    trials are folds, and have no values for the grid's flags yet.
    """
    lists = grid_values(settings)
    count = settings.sweep.cross_validation
    if lists and not settings.sweep.inner_cross_validation:
        cells = [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]
        return GRID, [
            Trial("-".join(["grid", *(f"{n}-{short_number(v)}" for n, v in cell.items())]), cell) for cell in cells
        ]
    if count:
        # The file of a fold's training also has the rows of
        # other folds, so --dev_split is not for later runs.
        changes = {"cross_validation": 0, "do_eval": True, "dev_split": HeldOut(), "dev_split_seed": None}
        changes["inner_cross_validation"] = 0
        seeds = repeat_seeds(settings)
        if len(seeds) == 1:
            return FOLDS, [Trial(f"fold-{number}", {}, changes) for number in range(1, count + 1)]
        changes["cross_validation_repeats"] = 1
        return FOLDS, [
            Trial(f"repeat-{repeat}-fold-{number}", {"random_seed": seed}, changes)
            for repeat, seed in enumerate(seeds, 1)
            for number in range(1, count + 1)
        ]
    first = settings.seed.random_seed
    count = settings.sweep.num_runs
    return RUNS, [Trial(f"run-{n + 1}", {"random_seed": first + n}, {"num_runs": 1}) for n in range(count)]


def repeat_seeds(settings: Any) -> list[int]:
    """Return the seed for the folds and the training of each repeat of a cross-validation."""
    first = settings.seed.random_seed
    return list(range(first, first + settings.sweep.cross_validation_repeats))


def short_number(number: float) -> str:
    """Return a number for a directory name, such as 5e-05 or 2, as short as is exact."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def as_flags(values: Mapping[str, float]) -> str:
    """Return flag values as they are written on a command line."""
    return " ".join(f"--{name}={short_number(value)}" for name, value in values.items())


def trial_changes(settings: Any, directory: RunDirectory, trial: Trial) -> dict[str, Any]:
    """Return a trial's flag values that differ from the sweep's.

    Args:
        settings: the sweep's flags.
        directory: the sweep's directory.
    """
    values = flag_values(settings)
    changes = {"output_dir": directory.file(trial.folder)} | {"do_predict": False}
    if values.get("dev_split") and values["dev_split_seed"] is None:
        # Evaluate all trials on the same rows.
        changes["dev_split_seed"] = values["random_seed"]
    return {name: value for name, value in {**changes, **trial.common_values, **trial.values}.items() if name in values}
