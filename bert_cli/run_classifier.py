"""Fine-tune a BERT classifier, evaluate it, and predict, as Google's run_classifier.py does.

It reads the files of --task_name from data_dir, or with --train_file a table of your own (.tsv, .csv, .jsonl, each
also .gz), and writes into output_dir:

    model.ckpt-N      the weights after N steps, in Google's format
    eval_results.txt  the metrics of the dev file
    test_results.tsv  a line of probabilities for each row of the test file, in
                      the order of labels.txt
    predictions.tsv   the same with header, id, label and text
    thresholds.json   with --threshold=tuned, thresholds by label
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
from bert_cli.base.errors import refuse_if
from bert_cli.examples.glue import TASKS, find_task
from bert_cli.flags.command import Command
from bert_cli.flags.option import replace_values
from bert_cli.opening.completion import complete_settings
from bert_cli.reading.formats import is_table
from bert_cli.runs.tasks.averaging import settings_of_sweep
from bert_cli.runs.tasks.classification.ensemble import (
    average_members,
    check_members,
)
from bert_cli.runs.tasks.classification.new_texts import classify_texts, predict_shards
from bert_cli.runs.tasks.classification.splits import has_user_test_file
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.settings.classification import REPLACED_FLAGS, ClassifySettings
from bert_cli.settings.texts import check_shards


def check(settings: ClassifySettings, given_names: frozenset[str]) -> ClassifySettings:
    """Return the settings, completed from a training run's flags.txt.

    Raise InputError for flags that conflict with files, or without any data.
    """
    check_shards(settings, given_names, {"input_file": "output_file", "predict_file": "output_dir"})
    ensemble = settings if settings.ensemble.ensemble else None
    settings = (
        check_members(settings, given_names) if ensemble else complete_settings(settings, given_names, REPLACED_FLAGS)
    )
    data, new = settings.data, settings.new
    # The training files' header does not determine whether another file has one.
    header = data.predict_header or (data.header if "header" in given_names else "auto")
    explained_text = new.text_to_explain
    _check_data(settings, given_names)
    return replace_values(
        ensemble or settings,
        {"predict_header": header, "explain": explained_text, "text": "" if explained_text else new.text},
    )


def _check_data(settings: ClassifySettings, given_names: frozenset[str]) -> None:
    """Raise InputError if no data is named, or if columns are named that the task knows."""
    data, task_name = settings.data, settings.task.task_name
    has_own_files = data.train_file or data.dev_file or data.test_file or data.predict_file
    refuse_if(
        not (task_name or has_own_files or _answers_texts(settings)),
        f"--task_name is needed: {', '.join(TASKS)} (the four-column format is cola); or your "
        "own files, with --train_file, --dev_file, --test_file, --predict_file",
    )
    has_own_input = is_table(settings.files.input_file)
    if (
        task_name
        and not has_own_input
        and not has_user_test_file(find_task(task_name), data.predict_file, data.test_file)
    ):
        _check_task_columns(task_name, given_names)


def _answers_texts(settings: ClassifySettings) -> bool:
    return bool(settings.new.text or settings.files.input_file or settings.new.explain)


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

    The phases are methods of ClassificationTask, which driver.run_phases calls: open the model's files
    and read the splits (`.load`, `.read`), plan (`.plan`), train or resume (`.make_model` names the
    head, and the head's module has the loss), evaluate (`.evaluate`), predict (`.predict`), report.
    """
    if _answers_texts(settings):
        return classify_texts(settings)
    if files.is_pattern(settings.data.predict_file):
        return predict_shards(settings)
    from bert_cli.runs import driver  # also imports report pages, which a text does not need

    if settings.ensemble.ensemble:
        return driver.run_mean(*average_members(settings))
    if not settings.ensemble.average_predictions:
        return driver.run_phases(ClassificationTask, settings)
    # A missing file must not be noticed after hours of training.
    for flag, path in (("predict_file", settings.data.predict_file), ("test_file", settings.data.test_file)):
        if path and settings.inference.do_predict:
            files.check_readable(path, flag)
    return driver.run_phases(
        ClassificationTask, settings, average=lambda: driver.run_mean(*average_members(settings_of_sweep(settings)))
    )


main = Command("bert-classify", __doc__, ClassifySettings, run, check)


if __name__ == "__main__":
    raise SystemExit(main())
