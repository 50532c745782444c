"""Flag groups that every training command has: batch, learning rate, seed, checkpoints and report."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.flags.option import FlagGroup, deciding_option, group, option, transient_option
from bert_cli.settings.controls import Dropout, Head, LayerRates, Loss, Optimization
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import Encoding, Hub, Inference, Log, ModelFiles, Phases

EPOCH = "epoch"  # value of --eval_every
NEWEST = "newest"  # value of --keep_moments
_BY_SIZE = "by the size of the model (docs/training.md)"


class Training(FlagGroup, heading="Training"):
    """Batch size and learning rate."""

    # Examples per update, for any number of devices and accumulation steps.
    train_batch_size: int = deciding_option(32, "training batch size, over all devices", lower=1, grid=True)
    # None: runs.size_defaults resolves it. Commands other than fine-tuning have a default.
    learning_rate: float | None = deciding_option(
        None, f"peak learning rate; default: {_BY_SIZE}, 5e-5 for BERT-Base", lower=0.0, grid=True
    )


class FineTuning(FlagGroup, heading="Training"):
    """Number of epochs, and warm-up."""

    num_train_epochs: float | None = deciding_option(
        None,
        f"training epochs, also fractions; default: {_BY_SIZE}, 3 for BERT-Base",
        lower=0.0,
        grid=True,
    )
    warmup_proportion: float = deciding_option(0.1, "fraction of the steps used for warm-up", lower=0.0, upper=1.0)


class Seed(FlagGroup, heading="Training"):
    """Seed for a command, also for commands that do not train."""

    random_seed: int = deciding_option(12345, "seed of shuffling, dropout and new weights", lower=0)


class Saving(FlagGroup, heading="Training"):
    """Flags for checkpoints and the training history."""

    save_checkpoints_steps: int = option(1000, "steps between checkpoints", lower=1)
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
        "short runs, at least 25 points in the history",
        lower=0,
    )
    tensorboard: bool = option(False, "also write the history for TensorBoard")


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
    )


class Page(FlagGroup, heading="Report"):
    """HTML report that a run writes at its end."""

    report: bool = transient_option(
        True,
        "write report.html, a page of curves, scores and mistakes; bert-report also makes it later",
    )


class Sweep(FlagGroup, heading="Sweeps"):
    """Flags for several runs by one command: seeds, or folds of cross-validation."""

    num_runs: int = option(
        1,
        "number of runs with different seeds: random_seed, random_seed + 1, …, in run-1, run-2, … "
        "of output_dir; runs.tsv has mean and standard deviation of the metrics, and the best run "
        "predicts",
        lower=1,
    )
    cross_validation: int = option(
        0,
        "stratified k-fold cross-validation with this k; out_of_fold.tsv has a prediction for "
        "every row, suspects.tsv the suspected label errors",
        lower=0,
    )


class _CommandGroups:
    """Groups that each training command declares itself, with its own defaults."""

    phases: Phases
    model: ModelFiles
    hub: Hub
    inference: Inference
    encoding: Encoding
    training: Training


@dataclasses.dataclass(frozen=True)
class TrainingSettings(_CommandGroups):
    """Base class for the Settings of training commands.

    Its groups follow the command's own groups in --help, see every_flag.
    """

    early_stopping: EarlyStoppingFlags = group(EarlyStoppingFlags)
    page: Page = group(Page)
    rates: LayerRates = group(LayerRates)
    optimization: Optimization = group(Optimization)
    dropout: Dropout = group(Dropout)
    head: Head = group(Head)
    loss: Loss = group(Loss)
    sweep: Sweep = group(Sweep)
    seed: Seed = group(Seed)
    saving: Saving = group(Saving)
    devices: Devices = group(Devices, without=("batch_size",))
    log: Log = group(Log)
