"""The groups of flags of every command that trains: batches, learning rate, seed, checkpoints, and the report."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.flags.option import FlagGroup, deciding, group, option, passing
from bert_cli.settings.controls import Dropout, Head, LayerRates, Loss, Optimization
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import Encoding, Hub, Inference, Log, ModelFiles, Phases

EPOCH = "epoch"  # of --eval_every
_BY_SIZE = "by the size of the model (docs/training.md)"


class Training(FlagGroup, heading="Training"):
    """The batch and the learning rate."""

    # The batch of one update, whatever the number of devices and accumulation steps.
    train_batch_size: int = deciding(32, "examples in a training batch, over all devices", lower=1, grid=True)
    # None until runs.size_defaults has chosen it; commands that do not fine-tune have a default of their own.
    learning_rate: float | None = deciding(
        None, f"peak learning rate; default: {_BY_SIZE}, 5e-5 for BERT-Base", lower=0.0, grid=True
    )


class FineTuning(FlagGroup, heading="Training"):
    """How long a model is fine-tuned."""

    num_train_epochs: float | None = deciding(
        None,
        f"passes over the training data; fractions are used; default: {_BY_SIZE}, 3 for BERT-Base",
        lower=0.0,
        grid=True,
    )
    warmup_proportion: float = deciding(
        0.1, "share of the steps in which the learning rate rises", lower=0.0, upper=1.0
    )


class Seed(FlagGroup, heading="Training"):
    """The one seed of a command; commands that train nothing have it, too."""

    random_seed: int = deciding(12345, "seed of shuffling, dropout and new weights", lower=0)


class Saving(FlagGroup, heading="Training"):
    """Checkpoints and the record of training."""

    save_checkpoints_steps: int = option(1000, "steps between checkpoints", lower=1)
    keep_checkpoint_max: int = option(5, "how many checkpoints are kept; 0 for all", lower=0)
    log_steps: int = option(
        0,
        "steps between lines of history.jsonl, and of progress where there is no terminal; 0: 100, and so many in the "
        "history that a short training has a curve",
        lower=0,
    )
    tensorboard: bool = option(False, "write what goes into history.jsonl for TensorBoard, too")


def read_eval_every(text: str) -> str:
    """The value of --eval_every. InputError for one that is neither EPOCH nor a number of steps."""
    # isdecimal alone would take digits of other scripts.
    if text != EPOCH and not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise InputError(f"--eval_every={text}: {EPOCH} is needed, or a number of steps, 1 or more")
    return text


class EarlyStoppingFlags(FlagGroup, heading="Evaluation during training"):
    """Evaluation during training, the best checkpoint, and early stopping."""

    eval_every: str = deciding(
        "",
        "evaluate the data of --do_eval while training goes on: epoch, or a number of steps; the best checkpoint is kept in "
        "best/ of output_dir, and evaluations and predictions are those of it",
        read=read_eval_every,
    )
    metric_for_best: str = deciding(
        "",
        "what tells the best checkpoint, or the best of several runs: a name of eval_results.txt; default: what the task is "
        "measured by",
    )
    early_stopping_patience: int = deciding(
        0, "stop after so many evaluations in a row without a better one; 0: train to the end", lower=0
    )


class Page(FlagGroup, heading="Report"):
    """The page for people at the end of a run."""

    report: bool = passing(
        True, "end with report.html, a page of curves, scores and mistakes; bert-report makes it later too"
    )


class Sweep(FlagGroup, heading="Several runs"):
    """Several runs by one command: seeds, or folds of cross-validation."""

    num_runs: int = option(
        1,
        "train so many times, with the seeds random_seed, random_seed + 1, …, in the folders run-1, run-2, … of output_dir; "
        "the mean of the metrics with their standard deviation goes into runs.tsv, and the best run predicts",
        lower=1,
    )
    cross_validation: int = option(
        0,
        "divide the training rows into so many parts, of each label alike, and evaluate each with a model trained on the "
        "others: out_of_fold.tsv has a prediction for every row, suspects.tsv those whose label is doubtful",
        lower=0,
    )


class _OfEachCommand:
    """The groups that every command that trains declares itself, at their place among its own."""

    phases: Phases
    model: ModelFiles
    hub: Hub
    inference: Inference
    encoding: Encoding
    training: Training


@dataclasses.dataclass(frozen=True)
class TrainingSettings(_OfEachCommand):
    """What the Settings of every command that trains derive from: these groups follow the command's own (see every_flag)."""

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
