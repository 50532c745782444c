"""The flags of an eye on training: evaluations on the way, the best checkpoint, and an early end."""

from bert_cli.base.errors import InputError
from bert_cli.flags.option import FlagGroup, option

EPOCH = "epoch"


def read_eval_every(text: str) -> str:
    """The value of --eval_every. InputError for one that is neither EPOCH nor a number of steps."""
    # isdecimal alone would take digits of other scripts.
    if text != EPOCH and not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise InputError(f"--eval_every={text}: {EPOCH} is needed, or a number of steps, 1 or more")
    return text


class Watching(FlagGroup, heading="Evaluation during training"):
    """Evaluation during training, the best checkpoint, and early stopping."""

    eval_every: str = option(
        "",
        "evaluate the data of --do_eval while training goes on: epoch, or a number of steps; the best checkpoint is kept in "
        "best/ of output_dir, and evaluations and predictions are those of it",
        read=read_eval_every,
        decides=True,
    )
    metric_for_best: str = option(
        "",
        "what tells the best checkpoint, or the best of several runs: a name of eval_results.txt; default: what the task is "
        "measured by",
        decides=True,
    )
    early_stopping_patience: int = option(
        0, "stop after so many evaluations in a row without a better one; 0: train to the end", lower=0, decides=True
    )


def check_watching(watching: Watching, does_train: bool, does_eval: bool) -> None:
    """InputError where the flags do not go together, or with what the run does."""
    if watching.early_stopping_patience and not watching.eval_every:
        raise InputError("--early_stopping_patience counts evaluations during training; give --eval_every too")
    if watching.eval_every and not does_train:
        raise InputError("--eval_every is about training; add --do_train, or leave it out")
    if watching.eval_every and not does_eval:
        raise InputError("--eval_every evaluates the data that is held out; add --do_eval, which reads it")
