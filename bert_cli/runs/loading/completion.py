"""Completion of a command's settings with the values of a training run."""

from collections.abc import Collection
from typing import Any

from bert_cli.flags.option import replace_values
from bert_cli.flags.saved import read_remembered
from bert_cli.runs.loading.checkpoints import folder_to_use
from bert_cli.runs.loading.model_choice import choose_model
from bert_cli.settings.checks import with_frozen_encoder
from bert_cli.settings.devices import check_cluster


def complete(settings: Any, given_names: Collection[str], kept: Collection[str] = ()) -> Any:
    """Return the settings of a command that can train, with remembered and derived values.

    If it does not train, values come from the training run's flags.txt.

    Args:
        settings: flag values on the command line.
        given_names: flags on the command line, which are not replaced.
        kept: more flags that are not replaced.

    Raises:
        InputError: if there is no trained model, if flags name two models, or an inference engine runs in a cluster.
    """
    check_cluster(settings.devices)
    if not settings.phases.do_train:
        settings = choose_model(settings, given_names)
        folder = folder_to_use(settings.model, settings.phases.output_dir)
        settings = replace_values(settings, read_remembered(type(settings), folder, {*given_names, *kept}))
    return with_frozen_encoder(settings)
