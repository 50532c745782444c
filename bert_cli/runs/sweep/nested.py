"""Nested cross-validation: inner folds choose the grid's combination for each outer fold."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bert_cli.base.json_files import JsonObject, member_object
from bert_cli.base.log import LOG, RESULT
from bert_cli.base.names import SEVERAL
from bert_cli.flags.option import flag_values, grid_values, replace_values
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.sweep.trials import Trial, as_flags, plan_trials

SEARCH = "search"  # directory with a nested cross-validation's inner runs, by outer fold


def inner_sweep_settings(settings: Any, directory: RunDirectory, trial: Trial) -> Any:
    """Return the settings for the inner cross-validations that choose an outer fold's combination.

    Args:
        settings: the nested cross-validation's flags.
        trial: the outer fold.
    """
    count = settings.sweep.inner_cross_validation
    changes: dict[str, Any] = {"cross_validation": count, "inner_cross_validation": 0, "cross_validation_repeats": 1}
    changes |= {"random_seed": trial.values.get("random_seed", settings.seed.random_seed), "do_predict": False}
    changes["output_dir"] = directory.file(os.path.join(SEARCH, trial.folder))
    # The outer folds alone are measured and calibrated.
    changes |= {"bootstrap": 0, "calibrate": False, "abstain_error": ""}
    values = flag_values(settings)
    LOG.info("the %d inner folds of %s are drawn with the seed %d", count, trial.folder, changes["random_seed"])
    return replace_values(settings, {name: value for name, value in changes.items() if name in values})


def with_choice(trial: Trial, search: Any, report: JsonObject) -> Trial:
    """Return an outer fold with the combination that its inner folds chose, and log it.

    Args:
        trial: the outer fold.
        search: see inner_sweep_settings.
        report: the search's report.
    """
    summary = member_object(report, SEVERAL)
    chosen = next(cell for cell in plan_trials(search)[1] if cell.folder == summary["best"])
    LOG.log(RESULT, "%s: the inner folds choose %s", trial.folder, as_flags(chosen.values))
    return trial._replace(values=trial.values | chosen.values)


def describe_chosen_combinations(settings: Any, trials: Sequence[Trial]) -> str:
    """Return the combinations that outer folds use, most frequent first, for the log."""
    counts = Counter(as_flags({name: trial.values[name] for name in grid_values(settings)}) for trial in trials)
    return ", ".join(f"{flags} in {count} of {len(trials)} folds" for flags, count in counts.most_common())
