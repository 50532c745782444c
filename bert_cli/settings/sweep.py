"""Several runs by one command: seeds, folds, a grid (see Option.grid), and what does not go together with them."""

from bert_cli.base.errors import InputError
from bert_cli.flags.option import lists_of, values_of
from bert_cli.settings.training import TrainingSettings


def is_sweep(settings: TrainingSettings) -> bool:
    """Whether the settings of a command that trains ask for more than one run."""
    return bool(lists_of(settings)) or settings.sweep.num_runs > 1 or settings.sweep.cross_validation > 0


def check_sweep(settings: TrainingSettings, does_train: bool, does_eval: bool, does_predict: bool) -> None:
    """InputError where the flags of several runs do not go together, or with what is to be done."""
    lists, folds = lists_of(settings), settings.sweep.cross_validation
    # What the message is about: of a grid the first list, else the flag that asks for several runs.
    flag = next(iter(lists), "cross_validation" if folds else "num_runs")
    if not does_train:
        raise InputError(f"--{flag}: several runs are about training; add --do_train, or leave them out")
    if settings.phases.dry_run:
        raise InputError(f"--dry_run looks at one run; leave --{flag} out, or give it one value")
    if folds == 1:
        raise InputError("--cross_validation=1: two parts or more are needed")
    if folds and values_of(settings).get("dev_split"):
        raise InputError("--cross_validation and --dev_split do not go together: each part is held out once")
    if folds and settings.sweep.num_runs > 1:
        raise InputError("--cross_validation and --num_runs do not go together; give one of them")
    if folds and does_predict:
        raise InputError(
            "--cross_validation leaves no model that predicts the test file; leave --do_predict out, and train on all rows for "
            "it without --cross_validation"
        )
    if folds and settings.watching.eval_every:
        raise InputError(
            "--cross_validation and --eval_every do not go together: the best checkpoint would be chosen by the rows that it "
            "is measured on"
        )
    if not folds and not does_eval:
        raise InputError(f"--{flag}: several runs are compared on the data that is held out; add --do_eval")
