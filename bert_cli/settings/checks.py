"""Checks of flags that cannot be combined, for commands and for runs started from Python."""

from collections.abc import Collection, Mapping
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.names import STANDARD
from bert_cli.flags.option import flag_values, grid_values
from bert_cli.settings.classification import ClassifySettings, Distillation
from bert_cli.settings.controls import ADAM, Optimization, non_default_flags
from bert_cli.settings.data import TABLE_FORM, TEXT_COLUMNS
from bert_cli.settings.devices import check_engine
from bert_cli.settings.training import EarlyStoppingFlags, TrainingSettings


def check_and_derive(values: dict[str, Any]) -> dict[str, Any]:
    """Check all flag values and add those that follow from others.

    Args:
        values: the value of every flag by name; also the result.

    Raises:
        InputError: if flags cannot be combined.
    """
    refuse_if(values["dry_run"] and not values["do_train"], "--dry_run needs --do_train")
    check_engine(values)
    if "distill_from" in values:
        _check_distillation(values)
    if "calibrate" in values:
        _check_calibration(values)
    if "hub_module" in values:
        check_hub(values)
    if "freeze_encoder" in values:
        # An encoder from a module that is not trained counts as frozen, so that one rule covers
        # both.
        values["freeze_encoder"] = values["freeze_encoder"] or not values.get("hub_trainable", True)
    return values


def check_table_flags(given_names: frozenset[str], is_table: bool) -> None:
    """Raise InputError if a flag for tables is given but --input_file is not a table."""
    for name in (*TEXT_COLUMNS, *TABLE_FORM):
        refuse_if(
            name in given_names and not is_table,
            f"--{name} is for a table as --input_file, such as texts.csv or texts.xlsx; leave it out",
        )


def check_hub(values: dict[str, Any]) -> None:
    """Raise InputError if the tensorflow-hub flags conflict with other flags."""
    module = values["hub_module"]
    is_trained = values.get("hub_trainable", True)
    # Without training, both may be given: a model that was trained on a module, and this module.
    refuse_if(
        module and values["init_checkpoint"] and values.get("do_train"),
        "--hub_module and --init_checkpoint: both name a model to start from; give one of them",
    )
    refuse_if(not module and not is_trained, "--hub_trainable=false needs --hub_module")


def _check_distillation(values: dict[str, Any]) -> None:
    teacher = values["distill_from"]
    temperature = values["distill_temperature"]
    defaults = Distillation()
    refuse_if(teacher and not values["do_train"], "--distill_from needs --do_train")
    # Refuse flags for a feature that is off, because the user would believe that the run is
    # distilled.
    for name in ("unlabeled_file", "distill_temperature", "distill_share"):
        is_given = values[name] != getattr(defaults, name)
        refuse_if(is_given and not teacher, f"--{name} needs --distill_from")
    # The option's bounds include 0, but logits cannot be divided by 0.
    refuse_if(not temperature > 0, f"--distill_temperature={temperature}: a number above 0 is needed")


def _check_calibration(values: dict[str, Any]) -> None:
    is_measured = values["do_eval"] or values["cross_validation"]
    refuse_if(
        values["calibrate"] and not is_measured,
        "--calibrate needs held-out data: add --do_eval, or --cross_validation",
    )
    refuse_if(
        values["abstain_error"] and not values["calibrate"],
        "--abstain_error needs --calibrate, whose probabilities rank the texts",
    )


def check_early_stopping(early_stopping: EarlyStoppingFlags, does_train: bool, does_eval: bool) -> None:
    """Raise InputError if the flags for evaluation during training conflict.

    Args:
        early_stopping: the flags.
        does_train: whether the run trains.
        does_eval: whether the run evaluates.
    """
    eval_every = early_stopping.eval_every
    refuse_if(
        early_stopping.early_stopping_patience and not eval_every,
        "--early_stopping_patience counts evaluations during training; give --eval_every too",
    )
    refuse_if(eval_every and not does_train, "--eval_every needs --do_train")
    refuse_if(eval_every and not does_eval, "--eval_every needs --do_eval, which reads the held-out data")


def check_controls(settings: TrainingSettings) -> None:
    """Raise InputError if the flags for layer rates, loss or batch conflict with each other."""
    rates = settings.rates
    loss = settings.loss
    batch_size = settings.training.train_batch_size
    decay = settings.optimization.weight_decay
    refuse_if(
        settings.optimization.optimizer == ADAM and decay not in (0, Optimization().weight_decay),
        f"--optimizer={ADAM} has no --weight_decay; --optimizer=adamw --bias_correction has",
    )
    refuse_if(
        rates.layerwise_lr_decay == 0,
        "--layerwise_lr_decay=0.0: a number above 0 is needed; --freeze_encoder trains the head alone",
    )
    flag = "freeze_layers" if rates.freeze_layers is not None else "layerwise_lr_decay"
    refuse_if(
        rates.freeze_encoder and not rates.is_default,
        f"--freeze_encoder and --{flag} cannot be combined: the whole encoder is frozen",
    )
    is_changed = "focal_gamma" in non_default_flags(loss)
    refuse_if(is_changed and loss.loss != "focal", "--focal_gamma needs --loss=focal")
    steps = settings.optimization.gradient_accumulation_steps
    refuse_if(
        batch_size % steps,
        f"--gradient_accumulation_steps={steps}: --train_batch_size={batch_size}, the examples of "
        f"an update, is no multiple of it; {max(1, batch_size // steps) * steps} would be",
    )


def has_several_runs(settings: TrainingSettings) -> bool:
    """Return whether a training command's flags ask for several runs."""
    return bool(grid_values(settings)) or settings.sweep.num_runs > 1 or settings.sweep.cross_validation > 0


def check_sweep(settings: TrainingSettings, does_train: bool, does_eval: bool, does_predict: bool) -> None:
    """Raise InputError if the flags for several runs conflict with each other or the phases.

    Args:
        settings: the command's Settings.
        does_train: whether the command trains.
        does_eval: whether it evaluates.
        does_predict: whether it predicts.
    """
    lists = grid_values(settings)
    folds = settings.sweep.cross_validation
    # In messages, name the grid's first list; without a grid, the flag that asks for several runs.
    flag = next(iter(lists), "cross_validation" if folds else "num_runs")
    refuse_if(not does_train, f"--{flag}: training several times needs --do_train")
    refuse_if(settings.phases.dry_run, f"--dry_run looks at one run; leave --{flag} out, or give it one value")
    refuse_if(not (folds or does_eval), f"--{flag}: the runs are compared on held-out data; add --do_eval")
    if not folds:
        return
    both = "--cross_validation and --%s do not go together"
    refuse_if(folds == 1, "--cross_validation=1: two folds or more are needed")
    refuse_if(flag_values(settings).get("dev_split"), f"{both % 'dev_split'}: each fold is held out once")
    refuse_if(settings.sweep.num_runs > 1, f"{both % 'num_runs'}; give one of them")
    refuse_if(
        does_predict,
        "--cross_validation leaves no model that predicts the test file; leave --do_predict out, "
        "and train on all rows for it without --cross_validation",
    )
    refuse_if(
        settings.early_stopping.eval_every,
        f"{both % 'eval_every'}: the best checkpoint would be chosen by the rows that it is measured on",
    )


def check_filled_data(settings: ClassifySettings) -> None:
    """Raise InputError if a file that the run reads is empty; the message names the flag."""
    data, phases = settings.data, settings.phases
    does_predict = settings.inference.do_predict
    for flag, path, is_read in (
        ("train_file", data.train_file, phases.do_train or settings.dev_split.dev_split),
        ("unlabeled_file", settings.distillation.unlabeled_file, phases.do_train),
        ("dev_file", data.dev_file, phases.do_eval),
        ("test_file", data.test_file, does_predict and not data.predict_file),
        ("predict_file", data.predict_file, does_predict),
    ):
        is_empty = is_read and path and files.is_empty(path)
        refuse_if(is_empty, f"{path}: is empty; check --{flag}")


def check_shards(values: Mapping[str, Any], given_names: Collection[str], output_flags: Mapping[str, str]) -> bool:
    """Return whether a flag names several input files.

    Args:
        values: all flag values by name.
        given_names: flags that were given, by name.
        output_flags: by flag that may name several files, the flag for the outputs.

    Raises:
        InputError: if other flags conflict with several input files.
    """
    source_flag = next((name for name in output_flags if files.is_pattern(values[name])), None)
    if source_flag is None:
        refuse_if(
            "shard" in given_names,
            f"--shard needs several files: give --{' or --'.join(output_flags)} a pattern in quotes, such as 'part-*.txt'",
        )
        return False
    target_flag = output_flags[source_flag]
    refuse_if(
        values[target_flag] == STANDARD,
        f"--{target_flag}: give the name that the outputs begin with, as --{source_flag} names several files",
    )
    for name in ("resume", "attentions"):
        refuse_if(values.get(name), f"--{name} takes one file, but --{source_flag} names several; leave it out")
    return True
