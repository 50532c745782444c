"""Checks of flags that need files, and flag values that follow from others."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.names import STANDARD
from bert_cli.flags.option import flag_values, grid_values, replace_values
from bert_cli.settings.data import TABLE_FORM, TEXT_COLUMNS

if TYPE_CHECKING:
    from bert_cli.settings.classification import ClassifySettings
    from bert_cli.settings.training import TrainingSettings


def with_frozen_encoder(settings: Any) -> Any:
    """Return training settings with --freeze_encoder if a tensorflow-hub module is not trained.

    One rule then covers both.
    """
    return settings if settings.hub.hub_trainable else replace_values(settings, {"freeze_encoder": True})


def check_table_flags(given_names: frozenset[str], is_table: bool) -> None:
    """Raise InputError if a flag for tables is given but --input_file is not a table."""
    for name in (*TEXT_COLUMNS, *TABLE_FORM):
        refuse_if(
            name in given_names and not is_table,
            f"--{name} is for a table as --input_file, such as texts.csv or texts.xlsx; leave it out",
        )


def has_several_runs(settings: "TrainingSettings") -> bool:
    """Return whether a training command's flags ask for several runs."""
    return bool(grid_values(settings)) or settings.sweep.num_runs > 1 or settings.sweep.cross_validation > 0


def check_filled_data(settings: "ClassifySettings") -> None:
    """Raise InputError if a file that the run reads is empty; the message names the flag."""
    data, does_predict = settings.data, settings.inference.do_predict
    does_train, does_eval = settings.phases.do_train, settings.phases.do_eval
    for flag, path, is_read in (
        ("train_file", data.train_file, does_train or settings.dev_split.dev_split),
        ("unlabeled_file", settings.distillation.unlabeled_file, does_train),
        ("dev_file", data.dev_file, does_eval),
        ("test_file", data.test_file, does_predict and not data.predict_file),
        ("predict_file", data.predict_file, does_predict),
    ):
        refuse_if(is_read and path and files.is_empty(path), f"{path}: is empty; check --{flag}")


def check_shards(settings: Any, given_names: Collection[str], output_flags: Mapping[str, str]) -> bool:
    """Return whether a flag names several input files.

    Args:
        settings: a command's Settings.
        given_names: flags that were given, by name.
        output_flags: by flag that may name several files, the flag for the outputs.

    Raises:
        InputError: if other flags conflict with several input files.
    """
    values = flag_values(settings)
    source = next((name for name in output_flags if files.is_pattern(values[name])), None)
    if source is None:
        example = f"give --{' or --'.join(output_flags)} a pattern in quotes, such as 'part-*.txt'"
        refuse_if("shard" in given_names, f"--shard needs several files: {example}")
        return False
    refuse_if(
        values[output_flags[source]] == STANDARD,
        f"--{output_flags[source]}: give the name that the outputs begin with, as --{source} names several files",
    )
    for name in ("resume", "attentions", "do_train", "do_eval"):
        refuse_if(values.get(name), f"--{name} takes one file, but --{source} names several; leave it out")
    return True
