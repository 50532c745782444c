"""The flags of several runs by one command: seeds, folds; a grid is made by lists, see Option.grid."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.flags.option import lists_of, option, values_of


@dataclasses.dataclass(frozen=True)
class Runs:
    """Several runs"""

    num_runs: int = option(
        1,
        "train so many times, with the seeds random_seed, random_seed + 1, …, in the folders run-1, run-2, … of output_dir; "
        "the mean of the metrics with their standard deviation goes into runs.tsv, and the best run predicts",
        lower=1,
    )


@dataclasses.dataclass(frozen=True)
class Folds:
    """Several runs"""

    cross_validation: int = option(
        0,
        "divide the training rows into so many parts, of each label alike, and evaluate each with a model trained on the "
        "others: out_of_fold.tsv has a prediction for every row, suspects.tsv those whose label is doubtful",
        lower=0,
    )


@dataclasses.dataclass(frozen=True)
class SplitSeed:
    """Your own files"""

    dev_split_seed: int | None = option(
        None, "seed of the choice of --dev_split; default: random_seed", lower=0, remembered=True
    )


def is_several(settings: object) -> bool:
    """Whether the settings of a command that trains ask for more than one run."""
    return bool(lists_of(settings)) or _num_runs(settings) > 1 or num_folds(settings) > 0


def _num_runs(settings: object) -> int:
    return getattr(settings, "runs", Runs()).num_runs


def num_folds(settings: object) -> int:
    """The parts of --cross_validation, 0 for none."""
    return getattr(settings, "folds", Folds()).cross_validation


def check_several(settings: object, does_train: bool, does_eval: bool, does_predict: bool) -> None:
    """InputError where the flags of several runs do not go together, or with what is to be done."""
    lists, folds = lists_of(settings), num_folds(settings)
    flag = next(iter(lists), "cross_validation" if folds else "num_runs")
    if not does_train:
        raise InputError(f"--{flag}: several runs are about training; add --do_train, or leave them out")
    if getattr(settings, "dry_run").dry_run:  # noqa: B009 (not every settings object has it)
        raise InputError(f"--dry_run looks at one run; leave --{flag} out, or give it one value")
    if folds == 1:
        raise InputError("--cross_validation=1: two parts or more are needed")
    if folds and values_of(settings).get("dev_split"):
        raise InputError("--cross_validation and --dev_split do not go together: each part is held out once")
    if folds and _num_runs(settings) > 1:
        raise InputError("--cross_validation and --num_runs do not go together; give one of them")
    if folds and does_predict:
        raise InputError(
            "--cross_validation leaves no model that predicts the test file; leave --do_predict out, and train on all rows for "
            "it without --cross_validation"
        )
    if folds and getattr(settings, "watching").eval_every:  # noqa: B009 (not every settings object has it)
        raise InputError(
            "--cross_validation and --eval_every do not go together: the best checkpoint would be chosen by the rows that it "
            "is measured on"
        )
    if not folds and not does_eval:
        raise InputError(f"--{flag}: several runs are compared on the data that is held out; add --do_eval")
