"""Fine-tune a BERT for extractive question answering, evaluate it, and answer questions.

It works like Google's run_squad.py, and writes into output_dir:

    model.ckpt-N            the weights after N steps, in Google's format
    predictions.json        the answer to each question of predict_file
    nbest_predictions.json  the best answers to each, with their probabilities
    null_odds.json          with --version_2_with_negative, the odds that a
                            question has no answer
    eval_results.txt        exact match and F1 by the official definition
    run_report.json         all figures of the last run
    report.html             a page to look at; bert-report makes it again
    history.jsonl           losses and metrics over the steps
    events.out.tfevents.history  with --tensorboard, the same for TensorBoard
    eval_examples.jsonl     rows of the evaluation, for that page
    vocab.txt, bert_config.json, flags.txt, run.json, checkpoint

Later runs need only the directory: --question answers a question about --context, --input_file=questions.jsonl one per line.
The first example reaches an exact match of 82 to 85 and an F1 of 85 to 88 with the built-in model. --score_only scores a
file of predictions.

Examples:

    bert-squad --train_file=data/squad/train.json --do_train --do_predict \\
      --predict_file=data/squad/dev.json --do_eval --skip_padding \\
      --output_dir=bert_output/squad --learning_rate=3e-4 --num_train_epochs=3
    bert-squad --output_dir=bert_output/squad --question="Who found the key?" \\
      --context="On Monday Anna found a key."
"""

from bert_cli.base.errors import InputError
from bert_cli.flags.command import Command
from bert_cli.flags.saved import read_remembered
from bert_cli.runs.loading.checkpoints import trained_folder
from bert_cli.runs.output_dir.resuming import resume_advice
from bert_cli.runs.tasks import squad_interactive
from bert_cli.runs.tasks.squad import SquadTask, check_values, find_trained_model, score_file
from bert_cli.settings.checks import check_and_derive
from bert_cli.settings.squad import SquadSettings

_PHASES = ("do_train", "do_predict", "do_eval")  # can be used together
_EXCLUSIVE = ("question", "input_file", "score_only")


def check(values: dict, given_names: frozenset[str]) -> dict:
    """Return the flag values, completed from a training run's flags.txt.

    Raise InputError if flags are missing or contradictory.
    """
    _check_task(values)
    check_and_derive(values)
    if not values["do_train"] and not values["score_only"]:
        init_checkpoint, output_dir = values["init_checkpoint"], values["output_dir"]
        # Questions need no output_dir: a checkpoint is enough.
        folder = (
            trained_folder(init_checkpoint, output_dir)
            if output_dir
            else find_trained_model(init_checkpoint, output_dir).folder
        )
        values |= read_remembered(SquadSettings, folder, given_names)
    check_values(values)
    return values


def _check_task(values: dict) -> None:
    """Raise InputError unless the flags name one thing to do and everything that it needs."""
    phases = [name for name in _PHASES if values[name]]
    exclusive = [name for name in _EXCLUSIVE if values[name]]
    if not phases and not exclusive:
        raise InputError(
            "nothing to do: give at least one of --do_train, --do_predict, --do_eval, or "
            "--question, --input_file, --score_only"
        )
    # Any of the three phases counts as one thing to do.
    if len(phases[:1] + exclusive) > 1:
        raise InputError(f"--{(phases[:1] + exclusive)[0]} and --{exclusive[-1]} do not go together; give one of them")
    needs = {"do_train": ("train_file", "output_dir"), "do_predict": ("predict_file", "output_dir")}
    needs |= {"do_eval": needs["do_predict"], "score_only": ("predictions_file", "predict_file")}
    for task in phases + exclusive:
        for name in needs.get(task, ()):
            if not values[name]:
                raise InputError(f"--{task} needs --{name}; --help describes it")
    if values["question"] and bool(values["context"]) == bool(values["context_file"]):
        raise InputError("--question needs the text that it is about: give --context or --context_file, one of them")
    for names, task in (
        (("context", "context_file"), "question"),
        (("output_file", "line_buffered"), "input_file"),
        (("predictions_file", "null_odds_file"), "score_only"),
    ):
        for name in names:
            if values[name] and not values[task]:
                raise InputError(f"--{name} needs --{task}")
    if values["null_odds_file"] and not values["version_2_with_negative"]:
        raise InputError("--null_odds_file is for SQuAD 2.0; give --version_2_with_negative too")


def run(settings: SquadSettings) -> dict:
    """Run the command, and return the report (also in run_report.json), scores or an answer.

    The phases of training are methods of SquadTask, called by driver.run: .open, .read, .plan,
    .make_model (names the head, and the head's module has the loss), .train, .evaluate, .predict.
    """
    if settings.scoring.score_only:
        return score_file(settings)
    if settings.questions.question or settings.files.input_file:
        return squad_interactive.run(settings)
    from bert_cli.runs import driver  # also imports report pages, which a question does not need

    return driver.run(SquadTask, settings)


main = Command("bert-squad", __doc__, SquadSettings, run, check, resume_advice)


if __name__ == "__main__":
    raise SystemExit(main())
