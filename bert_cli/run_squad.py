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
from bert_cli.opening.completion import complete_settings
from bert_cli.runs.tasks import squad_interactive
from bert_cli.runs.tasks.squad import SquadTask, check_answers, score_file
from bert_cli.settings.squad import SquadSettings


def check(settings: SquadSettings, given_names: frozenset[str]) -> SquadSettings:
    """Return the settings, completed from a training run's flags.txt.

    Raise InputError without a trained model, or if no windows or answers are possible.
    """
    if not settings.scoring.score_only:
        # Questions need no output_dir: a checkpoint is enough.
        if not (settings.phases.do_train or settings.phases.output_dir or settings.model.init_checkpoint):
            raise InputError("--output_dir or --init_checkpoint is needed: the folder of a model trained by bert-squad")
        settings = complete_settings(settings, given_names)
    return check_answers(settings)


def run(settings: SquadSettings) -> dict:
    """Run the command, and return the report (also in run_report.json), scores or an answer.

    The phases of training are methods of SquadTask, which driver.run_phases calls: `.load`, `.read`,
    `.plan`, `.make_model` (names the head, and the head's module has the loss), `.evaluate` and
    `.predict`.
    """
    if settings.scoring.score_only:
        return score_file(settings)
    if settings.questions.question or settings.files.input_file:
        return squad_interactive.answer_questions(settings)
    from bert_cli.runs import driver  # also imports report pages, which a question does not need

    return driver.run_phases(SquadTask, settings)


main = Command("bert-squad", __doc__, SquadSettings, run, check)


if __name__ == "__main__":
    raise SystemExit(main())
