"""Fine-tune a BERT classifier, evaluate it, and predict, as Google's run_classifier.py does.

It reads the files of --task_name from data_dir, or with --train_file a table of your own (.tsv, .csv, .jsonl, each
also .gz), and writes into output_dir:

    model.ckpt-N      the weights after N steps, in Google's format
    eval_results.txt  the metrics of the dev file
    test_results.tsv  a line of probabilities for each row of the test file, in
                      the order of labels.txt
    predictions.tsv   the same with header, id, label and text
    thresholds.json   with --threshold=tuned, the threshold of each label
    calibration.json  with --calibrate, the temperature of the probabilities
    to_label.tsv      with --calibrate, the predicted texts for annotation, the
                      least certain first
    run_report.json   all figures of the last run
    report.html       a page to look at; bert-report makes it again
    history.jsonl     losses and metrics over the steps
    events.out.tfevents.history  with --tensorboard, the same for TensorBoard
    eval_examples.jsonl  rows of the evaluation, for that page
    labels.txt, vocab.txt, bert_config.json, flags.txt, run.json, checkpoint

Later runs need only the directory: `bert-classify --do_predict --output_dir=bert_output`. With a downloaded model, add
--init_checkpoint=MODEL/bert_model.ckpt; vocab.txt and bert_config.json are found next to it.
`bert-classify --output_dir=bert_output --text "a text"` prints the label and the probabilities of a new text as JSON,
and --explain shows the contribution of each word. --input_file classifies one text per line, or a table as
--predict_file does. Several files of --input_file or --predict_file ('part-*.txt') get one output each; --shard
divides them among processes.

Examples:

    bert-classify --task_name=cola --do_train --do_eval --do_predict
    bert-classify --train_file=data/reviews.csv --dev_split=0.1 --do_train \\
      --do_eval --output_dir=bert_output/reviews
"""

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.examples.glue import TASKS, find_task
from bert_cli.examples.table_files.formats import is_table
from bert_cli.flags.command import Command
from bert_cli.runs.loading.trained import complete_values
from bert_cli.runs.output_dir.resuming import resume_advice
from bert_cli.runs.tasks import interactive
from bert_cli.runs.tasks.classification.data import has_user_test_file
from bert_cli.runs.tasks.classification.new_texts import classify_texts
from bert_cli.runs.tasks.classification.prediction import predict_shards
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.settings.checks import check_shards
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.groups import EXPLAIN_TEXT

_OWN_FILES = ("train_file", "dev_file", "test_file", "predict_file")


def check(values: dict, given_names: frozenset[str]) -> dict:
    """Return the flag values, completed from a training run's flags.txt.

    Raise InputError if flags are missing or contradictory.
    """
    if values["explain"] == EXPLAIN_TEXT:
        refuse_if(not values["text"], "--explain: there is no text to explain; give it with --text")
        values |= {"explain": values["text"], "text": ""}
    is_for_text = interactive.check_interactive_flags(values, given_names, ("do_train", "do_eval", "do_predict"))
    if values["text_b"] and not values["text"] and not values["explain"]:
        raise InputError("--text_b is the second text of a pair; give the first one with --text")
    for first, second in (("test_file", "predict_file"), ("dev_file", "dev_split")):
        if {first, second} <= given_names and values[first] and values[second]:
            raise InputError(f"--{first} and --{second}: give one of them")
    is_sharded = check_shards(values, given_names, {"input_file": "output_file", "predict_file": "output_dir"})
    if is_sharded and (values["do_train"] or values["do_eval"]):
        raise InputError(
            "--predict_file: several files are predicted by a command of their own; leave out the other --do_…"
        )
    values = complete_values(ClassifySettings, values, given_names)
    # The training files' header does not determine whether another file has one.
    values["predict_header"] = values["predict_header"] or (values["header"] if "header" in given_names else "auto")
    if values["task_name"]:
        task = find_task(values["task_name"])
        has_own_input = is_table(values["input_file"])
        if not has_own_input and not has_user_test_file(task, values["predict_file"], values["test_file"]):
            _check_task_columns(values["task_name"], given_names)
    elif not is_for_text and not any(values[name] for name in _OWN_FILES):
        raise InputError(
            f"--task_name is needed: {', '.join(TASKS)} (the four-column format is cola); or your "
            "own files, with --train_file, --dev_file, --test_file, --predict_file"
        )
    return values


def _check_task_columns(task_name: str, given_names: frozenset[str]) -> None:
    """Raise InputError for a column flag, which would have no effect if all files belong to a task."""
    for name in ("text_column", "label_column", "predict_header"):
        refuse_if(
            name in given_names,
            f"--{name}: the columns of --task_name={task_name} are known; leave it out, or leave "
            "--task_name out and name your own files",
        )


def run(settings: ClassifySettings) -> dict:
    """Run the command, and return the report that is also in run_report.json.

    The phases are methods of ClassificationTask, called by driver.run: open the model's files and
    read the splits (.open, .read), plan (.plan), train or resume (.make_model names the head, and
    the head's module has the loss; .train), evaluate (.evaluate), predict (.predict), report.
    """
    if settings.new.text or settings.files.input_file or settings.new.explain:
        return classify_texts(settings)
    if files.is_pattern(settings.data.predict_file):
        return predict_shards(settings)
    from bert_cli.runs import driver  # also imports report pages, which a text does not need

    return driver.run(ClassificationTask, settings)


main = Command("bert-classify", __doc__, ClassifySettings, run, check, resume_advice)


if __name__ == "__main__":
    raise SystemExit(main())
