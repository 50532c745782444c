"""Settings for the mean prediction of several runs, and for each of these runs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bert_cli.flags.option import flag_values, grid_values, replace_values
from bert_cli.opening.completion import complete_settings


def settings_of_sweep(settings: Any) -> Any:
    """Return the settings that predict by the mean over the finished runs of a sweep."""
    changes: dict[str, Any] = {name: values[0] for name, values in grid_values(settings).items()}
    has_folds = settings.sweep.cross_validation > 0
    changes |= {"do_train": False, "do_eval": settings.phases.do_eval and not has_folds, "eval_every": ""}
    changes |= {"init_checkpoint": "", "overwrite_output_dir": False, "early_stopping_patience": 0}
    changes |= {"num_runs": 1, "cross_validation": 0, "cross_validation_repeats": 1, "inner_cross_validation": 0}
    changes |= {"average_predictions": False, "ensemble": (settings.phases.output_dir,)}
    return _replace_known(settings, changes)


def member_settings(
    settings: Any, folder: str, replaced: Mapping[str, Sequence[str]], given_names: Collection[str] | None = None
) -> Any:
    """Return the settings for a member, using values from its training run.

    Args:
        settings: the ensemble's flags, without values of training runs.
        folder: the member's directory.
        replaced: see opening.completion.complete_settings.
        given_names: flags on the command line; None for those that differ from their default.
    """
    if given_names is None:
        defaults = flag_values(type(settings)())
        given_names = {name for name, value in flag_values(settings).items() if value != defaults[name]}
    changes = {"output_dir": folder, "ensemble": (), "member_columns": False}
    return complete_settings(_replace_known(settings, changes), given_names, replaced)


def _replace_known(settings: Any, changes: Mapping[str, Any]) -> Any:
    """Return settings with other values for those flags that the command has."""
    known_names = flag_values(settings)
    return replace_values(settings, {name: value for name, value in changes.items() if name in known_names})
