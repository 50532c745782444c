"""Fine-tune a BERT for named-entity recognition or another token classification, and predict.

It trains on train.txt (one word and its tag per line, empty lines between sentences; any scheme of tags) or
train.jsonl of data_dir, scores the entities of dev.txt as conlleval does, tags test.txt, and writes into output_dir:

    model.ckpt-N            the weights after N steps, in Google's format
    eval_results.txt        the scores of the dev file
    test_predictions.txt    the test file with one more column
    test_predictions.jsonl  with JSON lines, the same with tags or spans
    test_predictions.json   with Label Studio or pairs of spaCy, the same
    test_predictions        with documents of brat, a directory of them
    run_report.json         all figures of the last run
    report.html             a page to look at; bert-report makes it again
    history.jsonl           losses and metrics over the steps
    events.out.tfevents.history  with --tensorboard, the same for TensorBoard
    eval_examples.jsonl     rows of the evaluation, for that page
    labels.txt, vocab.txt, bert_config.json, flags.txt, run.json, checkpoint

--train_file, --dev_file and --test_file also take texts with spans: exports of doccano, Label Studio, Prodigy,
spaCy and Dataturks, and documents of brat. Later runs need only the directory. --text prints the entities of a new text
with their character offsets as JSON; --input_file does so line by line. A terminal also shows each word with its tag.

Examples:

    bert-tag --data_dir=data/tagging --do_train --do_eval --do_predict \\
      --output_dir=bert_output/tag --learning_rate=5e-4 --num_train_epochs=3
    bert-tag --output_dir=bert_output/tag --text "Anna left Lund on Monday."
"""

from bert_cli.base import files
from bert_cli.flags.command import Command
from bert_cli.opening.completion import complete_settings
from bert_cli.reading.formats import is_table
from bert_cli.runs.tasks.averaging import settings_of_sweep
from bert_cli.runs.tasks.tagging import TaggingTask, tag_text
from bert_cli.runs.tasks.tagging_ensemble import average_taggers
from bert_cli.runs.tasks.tagging_files import find_file
from bert_cli.settings.tagging import REPLACED_FLAGS, TagSettings, with_stride
from bert_cli.settings.texts import check_table_flags


def check(settings: TagSettings, given_names: frozenset[str]) -> TagSettings:
    """Return the settings, completed from a training run's flags.txt.

    Raise InputError for flags of tables without a table.
    """
    if settings.files.input_file:
        check_table_flags(given_names - {"header"}, is_table(settings.files.input_file))
    settings = complete_settings(settings, given_names, REPLACED_FLAGS)
    return with_stride(settings)


def run(settings: TagSettings) -> dict:
    """Run the command, and return the report.

    The report is also in run_report.json, unless text is tagged. The phases of training are methods
    of TaggingTask, which driver.run_phases calls: `.load`, `.read`, `.plan`, `.make_model` (names the
    head, and the head's module has the loss), `.evaluate` and `.predict`.
    """
    if settings.new.text or settings.files.input_file:
        return tag_text(settings)
    from bert_cli.runs import driver  # also imports report pages, which a text does not need

    if not settings.ensemble.average_predictions:
        return driver.run_phases(TaggingTask, settings)
    # A missing file must not be noticed after hours of training.
    if settings.inference.do_predict:
        files.check_readable(find_file(settings.data.test_file, settings.data.data_dir, "test"), "test_file")
    return driver.run_phases(
        TaggingTask, settings, average=lambda: driver.run_mean(*average_taggers(settings_of_sweep(settings)))
    )


main = Command("bert-tag", __doc__, TagSettings, run, check)


if __name__ == "__main__":
    raise SystemExit(main())
