"""Completion of a command's settings with the values of a training run."""

import os
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from bert_cli.base import files
from bert_cli.base.names import FLAGS
from bert_cli.flags.option import every_flag, flag_values, replace_values
from bert_cli.flags.run_flags import read_flags
from bert_cli.flags.saved import read_remembered, warn_of_unknown_flags
from bert_cli.flags.values import format_flag_value
from bert_cli.model.config_files import read_module_config
from bert_cli.opening.checkpoints import UsedModel, model_to_use
from bert_cli.opening.model_choice import with_chosen_model
from bert_cli.opening.network import find_bert, open_tensorflow_checkpoint
from bert_cli.opening.paths import find_paths
from bert_cli.opening.trained import own_length
from bert_cli.settings.devices import check_cluster
from bert_cli.settings.training import with_frozen_encoder


def complete_settings(
    settings: Any,
    given_names: Collection[str],
    replaced: Mapping[str, Sequence[str]] = MappingProxyType({}),
    has_own_length: bool = True,
) -> Any:
    """Return the settings of a command that can train, with remembered and derived values.

    If it does not train, values come from the training run's flags.txt. A model of another program
    has its own max_seq_length.

    Args:
        settings: flag values on the command line.
        given_names: flags on the command line, which are not replaced.
        replaced: by flag, the flags that the training run does not set if this flag is given with
            another value than there.
        has_own_length: whether the model may decide the length, and not only the data.

    Raises:
        InputError: if there is no trained model, if flags name two models, or if an inference
            engine runs in a cluster.
    """
    values = flag_values(settings)
    # New texts need no cluster.
    if any(values.get(phase) for phase in ("do_train", "do_eval", "do_predict")):
        check_cluster(settings.devices)
    if not settings.phases.do_train:
        settings = with_chosen_model(settings, given_names)
        model = model_to_use(settings.model, settings.hub, settings.phases.output_dir)
        folder = model.folder
        changed = _changed_names(settings, folder, replaced.keys() & given_names)
        skipped = {*given_names, *(name for flag in changed for name in replaced[flag])}
        warn_of_unknown_flags(type(settings), folder)
        settings = replace_values(settings, read_remembered(type(settings), folder, skipped))
        if has_own_length and "max_seq_length" not in given_names and not read_flags(os.path.join(folder, FLAGS)):
            length = _find_own_length(model, settings.encoding.max_seq_length)
            settings = replace_values(settings, {"max_seq_length": length})
    return with_frozen_encoder(settings)


def _find_own_length(model: UsedModel, command_default: int) -> int:
    """Return the maximum sequence length of a model without the flag, see `own_length`.

    Args:
        command_default: default of the command's flag.
    """
    checkpoint = open_tensorflow_checkpoint(model.find())
    config_file = find_paths(None, model.flags.bert_config_file, checkpoint, needs_vocab=False).config_file
    # Modules for tensorflow-hub and ELECTRA's checkpoints without this file have no trained head.
    if checkpoint is None or config_file is None:
        return command_default
    config = read_module_config(config_file) or find_bert(config_file, checkpoint, vocab_size=1)
    return own_length(command_default, checkpoint, config.max_position_embeddings) if config else command_default


def _changed_names(settings: Any, folder: str, names: Collection[str]) -> list[str]:
    """Return the flags among `names` with another value than in a directory's flags.txt."""
    saved, values = read_flags(os.path.join(folder, FLAGS)), flag_values(settings)
    changed = []
    for flag in every_flag(type(settings)):
        if flag.name in names:
            value = files.make_absolute(values[flag.name]) if flag.option.path else values[flag.name]
            changed += [flag.name] if format_flag_value(flag, value) != saved.get(flag.name) else []
    return changed
