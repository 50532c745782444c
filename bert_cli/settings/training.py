"""Flag groups that every training command has: batch, learning rate, seed, checkpoints and report."""

import dataclasses
import functools
from typing import Any, ClassVar

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.flags.option import (
    FlagGroup,
    deciding_option,
    grid_values,
    option,
    replace_values,
    transient_option,
)
from bert_cli.flags.paths import folder_list_reader
from bert_cli.flags.rules import LIST
from bert_cli.settings.controls import Dropout, HeadInput, LayerRates, Loss, Optimization
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import Encoding, HubEncoder, Inference, Log, ModelFiles, Phases

EPOCH = "epoch"  # value of --eval_every
NEWEST = "newest"  # value of --keep_moments
TRACKERS = ("mlflow", "wandb")  # values of --report_to, each the name of a package
_BY_SIZE = "by the size of the model (docs/training.md)"
# Rules for several runs by one command.
_COMPARED = "the runs are compared on held-out data"
_HELD_OUT = "do_eval or cross_validation"
_SEVERAL_RUNS = {
    "needs": ("do_train", _HELD_OUT),
    "excludes": "dry_run",
    "because": {_HELD_OUT: _COMPARED, "dry_run": "a dry run looks at one run"},
}
_ANY_LIST = " or ".join(f"{name}={LIST}" for name in ("learning_rate", "num_train_epochs", "train_batch_size"))
# A flag for a number, or for a list of numbers.
_grid_option = functools.partial(
    deciding_option,
    grid=True,
    needs={f"={LIST}": _SEVERAL_RUNS["needs"]},
    excludes={f"={LIST}": _SEVERAL_RUNS["excludes"]},
    because=_SEVERAL_RUNS["because"],
)


class Training(FlagGroup, heading="Training"):
    """Batch size and learning rate."""

    # Examples per update, for any number of devices and accumulation steps.
    train_batch_size: int = _grid_option(32, "training batch size, over all devices", lower=1, keeps_data=True)
    # None: runs.training_plan resolves it. Commands other than fine-tuning have a default.
    learning_rate: float | None = _grid_option(
        None,
        f"peak learning rate; default: {_BY_SIZE}, 5e-5 for BERT-Base",
        lower=0.0,
        keeps_data=True,
        keeps_network=True,
    )


class TrainingSample(FlagGroup, heading="Training"):
    """Flag for a training on few rows."""

    rows_per_label: int = _grid_option(
        0,
        "train on a random sample with at most this many rows of each label, drawn by random_seed; a larger sample contains "
        "the smaller ones; a list, such as 8,16,32,64, makes a learning curve; 0: all rows",
        lower=0,
        keeps_data=True,
        keeps_network=True,
        needs={"": "do_train", f"={LIST}": _HELD_OUT},
        because={"do_train": "it draws training rows", _HELD_OUT: _COMPARED, "dry_run": "a dry run looks at one run"},
    )


class FineTuning(FlagGroup, heading="Training"):
    """Number of epochs, and warm-up."""

    num_train_epochs: float | None = _grid_option(
        None,
        f"training epochs, also fractions; default: {_BY_SIZE}, 3 for BERT-Base",
        lower=0.0,
        keeps_data=True,
        keeps_network=True,
    )
    warmup_proportion: float = deciding_option(
        0.1, "fraction of the steps used for warm-up", lower=0.0, upper=1.0, keeps_network=True
    )


class Seed(FlagGroup, heading="Training"):
    """Seed for a command, also for commands that do not train."""

    random_seed: int = deciding_option(
        12345, "seed of shuffling, dropout and new weights", lower=0, keeps_data=True, keeps_network=True
    )


# With fewer samples, the ends of an interval depend on one or two of them.
_LEAST_SAMPLES = 100


def read_samples(number: int) -> int:
    """Return the value of --bootstrap; raise InputError for too few samples."""
    refuse_if(
        0 < number < _LEAST_SAMPLES,
        f"--bootstrap={number}: {_LEAST_SAMPLES} samples or more are needed for the ends of an interval, such as 1000",
    )
    return number


class Bootstrap(FlagGroup, heading="Mode"):
    """Flag for confidence intervals."""

    bootstrap: int = option(
        0,
        "confidence intervals of the metrics: number of bootstrap samples of the evaluated rows, sentences or "
        "questions, such as 1000; the seed is --random_seed; 0: no intervals",
        lower=0,
        read=read_samples,
        suggestions=("1000",),
        needs="do_eval or cross_validation",
        because="it samples the rows of an evaluation",
    )


def read_trackers(text: str) -> tuple[str, ...]:
    """Return the names in --report_to; raise InputError for another name."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip() not in ("", "none")))
    for name in names:
        if name not in TRACKERS:
            advice = "; --tensorboard writes the history for TensorBoard" if name == "tensorboard" else ""
            raise InputError(f"--report_to={text}: {name} is none of {', '.join(TRACKERS)}{advice}")
    return names


class Saving(FlagGroup, heading="Training"):
    """Flags for checkpoints and the training history."""

    save_checkpoints_steps: int = deciding_option(1000, "steps between checkpoints", lower=1)
    keep_checkpoint_max: int = option(5, "number of checkpoints to keep; 0: all", lower=0)
    keep_moments: str = option(
        NEWEST,
        "checkpoints with the optimizer's moments; newest: older ones are rewritten with the "
        "weights alone, a third of the size; all: as Google's",
        choices=(NEWEST, "all"),
    )
    log_steps: int = option(
        0,
        "log every N steps, to history.jsonl and without a terminal to the log; 0: 100, fewer in "
        "short runs, at least 10 lines in the log and 25 points in the history",
        lower=0,
    )
    tensorboard: bool = option(False, "also write the history for TensorBoard")
    report_to: tuple[str, ...] = option(
        (),
        "experiment trackers that also get flags, losses, metrics and the report, separated by commas: mlflow, wandb; needs "
        "their packages",
        read=read_trackers,
        write=",".join,
        suggestions=TRACKERS,
        may_be_empty=True,
    )
    report_model: bool = option(False, "also send the trained model to the trackers", needs="report_to")


def read_eval_every(text: str) -> str:
    """Return the text of --eval_every; raise InputError unless it is EPOCH or a number of steps."""
    # isdecimal alone would accept digits of other scripts.
    if text != EPOCH and not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise InputError(f"--eval_every={text}: {EPOCH} is needed, or a number of steps, 1 or more")
    return text


class EarlyStoppingFlags(FlagGroup, heading="Evaluation during training"):
    """Flags for evaluation during training, the best checkpoint and early stopping."""

    eval_every: str = deciding_option(
        "",
        "evaluate during training: epoch, or a number of steps; the best checkpoint is kept in "
        "best/ of output_dir, and used for evaluation and prediction",
        read=read_eval_every,
        needs=("do_train", _HELD_OUT),
        because={_HELD_OUT: "it reads the held-out data"},
    )
    metric_for_best: str = deciding_option(
        "",
        "metric that selects the best checkpoint and the best run of a sweep, named as in "
        "eval_results.txt; default: the task's own metric",
    )
    early_stopping_patience: int = deciding_option(
        0,
        "early stopping: stop after N evaluations without improvement; 0: train to the end",
        lower=0,
        needs="eval_every",
        because="it counts evaluations during training",
    )


class ReportPage(FlagGroup, heading="Report"):
    """HTML report that a run writes at its end."""

    report: bool = transient_option(
        True,
        "write report.html, a page of curves, scores and mistakes; bert-report also makes it later",
    )


def read_folds(number: int, flag: str = "cross_validation") -> int:
    """Return the value of --cross_validation or a similar flag; raise InputError for a single fold."""
    refuse_if(number == 1, f"--{flag}=1: two folds or more are needed")
    return number


class Sweep(FlagGroup, heading="Sweeps"):
    """Flags for several runs by one command: seeds, or folds of cross-validation."""

    num_runs: int = option(
        1,
        "number of runs with different seeds: random_seed, random_seed + 1, …, in run-1, run-2, … "
        "of output_dir; runs.tsv has mean and standard deviation of the metrics, and the best run "
        "predicts",
        lower=1,
        **_SEVERAL_RUNS,
        keeps_data=True,
        keeps_network=True,
    )
    cross_validation: int = option(
        0,
        "stratified k-fold cross-validation with this k; out_of_fold.tsv has a prediction for "
        "every row, suspects.tsv the suspected label errors",
        lower=0,
        read=read_folds,
        needs="do_train",
        excludes=(
            "dry_run",
            "dev_split with no eval_every",
            "num_runs",
            "do_predict with no average_predictions",
            "eval_every with no dev_split",
        ),
        because={
            "dry_run": "a dry run looks at one run",
            "dev_split with no eval_every": "each fold is held out once; with --eval_every, --dev_split holds out rows of "
            "its training that choose the best checkpoint",
            "do_predict with no average_predictions": "no single model predicts the test file; train on all rows without "
            "--cross_validation, or add --average_predictions for the mean over the folds",
            "eval_every with no dev_split": "the best checkpoint would be chosen by the rows that it is measured on; "
            "--dev_split=0.1 holds out other rows for that",
        },
        keeps_data=True,
        keeps_network=True,
    )
    cross_validation_repeats: int = option(
        1,
        "number of cross-validations with other folds, with the seeds random_seed, random_seed + 1, …; a row of "
        "out_of_fold.tsv has the mean of its predictions",
        lower=1,
        needs="cross_validation",
        excludes="calibrate",
        because={"calibrate": "the mean of several models has other probabilities than one model"},
        keeps_data=True,
        keeps_network=True,
    )
    inner_cross_validation: int = option(
        0,
        "nested cross-validation of a grid: in each fold, a cross-validation of its training rows with this k chooses "
        "the combination, and the fold's other rows measure it; 0: not nested",
        lower=0,
        read=functools.partial(read_folds, flag="inner_cross_validation"),
        needs=("cross_validation", _ANY_LIST),
        because={_ANY_LIST: "the inner folds choose among its values"},
        keeps_data=True,
        keeps_network=True,
    )


class Averaging(FlagGroup, heading="Mode"):
    """Flags for the mean prediction of several runs."""

    ensemble: tuple[str, ...] = transient_option(
        (),
        "directories of trained runs, separated by commas, whose mean probabilities predict or are evaluated; a directory "
        "with several runs names all of them; the results go to output_dir",
        read=folder_list_reader("ensemble"),
        write=",".join,
        needs="do_predict or do_eval or text or input_file",
        excludes=("do_train", "init_checkpoint", "hub_module", "calibrate", "explain"),
        because={
            "do_train": "its members are trained; --average_predictions averages the runs of one command",
            "init_checkpoint": "both name models",
            "hub_module": "both name models",
            "calibrate": "each member has its own calibration",
            "explain": "an explanation is about one model; give its --output_dir",
        },
        python_argument=False,
    )
    average_predictions: bool = transient_option(
        False,
        "predict the test file, and with --num_runs the dev data, by the mean probabilities over the runs or folds "
        "instead of the best run",
        needs="num_runs or cross_validation",
        excludes="cross_validation with no do_predict",
        because={"cross_validation with no do_predict": "folds are averaged for the test file; add --do_predict"},
        python_argument=False,
    )
    member_columns: bool = transient_option(
        False,
        "columns with the predictions of each run of an ensemble in predictions.tsv, such as prob_good_fold-1",
        needs=("ensemble or average_predictions", "do_predict"),
        python_argument=False,
    )


class TrainingSettings:
    """Base class for the Settings of training commands: groups that each of them declares.

    Attributes:
        recipe_flags: flags with a default that follows the width of the model.
    """

    recipe_flags: ClassVar[tuple[str, ...]] = ("learning_rate", "num_train_epochs")

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
    phases: Phases
    model: ModelFiles
    hub: HubEncoder
    inference: Inference
    encoding: Encoding
    training: Training
    early_stopping: EarlyStoppingFlags
    page: ReportPage
    rates: LayerRates
    optimization: Optimization
    dropout: Dropout
    head: HeadInput
    loss: Loss
    sweep: Sweep
    seed: Seed
    saving: Saving
    devices: Devices
    log: Log

    @property
    def rate_factor(self) -> float | None:
        """Return the share of the usual learning rate, None for a training without updates."""
        return 1.0


def with_frozen_encoder(settings: Any) -> Any:
    """Return training settings with --freeze_encoder if a tensorflow-hub module is not trained.

    One rule then covers both.
    """
    return settings if settings.hub.hub_trainable else replace_values(settings, {"freeze_encoder": True})


def has_several_runs(settings: TrainingSettings) -> bool:
    """Return whether a training command's flags ask for several runs."""
    return bool(grid_values(settings)) or settings.sweep.num_runs > 1 or settings.sweep.cross_validation > 0
