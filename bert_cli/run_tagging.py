"""Tag words, such as those of names, with a BERT: fine-tune it, evaluate it, and predict.

    bert-tag --data_dir=data/tagging --output_dir=tagger --do_train --do_eval --do_predict

trains on train.txt (a word and its tag a line, a blank line between sentences; B-/I-, IOB1, BIOES or bare types) or
train.jsonl, scores dev.txt by entities as conlleval does, and tags test.txt. It writes into output_dir: model.ckpt-N
(Google's variable names), eval_results.txt, test_predictions.txt (the test file with one more column), and what a later
run needs, so that then

    bert-tag --output_dir=tagger --text "Anna left Lund on Monday."

prints each word with its tag, and the entities with their places in the text as JSON.
"""

from bert_cli.runs import answers, driver
from bert_cli.runs.checkpoint_choice import trained_checkpoint
from bert_cli.runs.tagging import TaggingTask, tag_text
from bert_cli.settings.checks import complete
from bert_cli.settings.command import run_command
from bert_cli.settings.saved import remembered
from bert_cli.settings.tagging import TagSettings, TagStride

# The trained run's own, which another data_dir has files in the place of.
_FILES = ("data_dir", "dev_file", "test_file")


def check(values: dict, given: frozenset[str]) -> dict:
    """The values of all flags, with what a training run left in flags.txt; InputError for what does not go together."""
    answers.check_asked(values, given, ("do_train", "do_eval", "do_predict"))
    complete(values)
    if not values["do_train"]:
        folder = trained_checkpoint(values["init_checkpoint"], values["output_dir"]).folder
        values |= remembered(TagSettings, folder, {*given, *(_FILES if "data_dir" in given else ())})
    values["doc_stride"] = TagStride(values["doc_stride"]).pieces(values["max_seq_length"])
    return values


def run(settings: TagSettings) -> dict:
    """Do what the settings say; returns the report, which is also written to run_report.json unless text is tagged.

    A training run goes through driver.run, as in every command that trains: TaggingTask.open, .read, .plan, .make_model
    (names the head, whose file has the loss), .train, .evaluate, .predict.
    """
    if settings.new.text or settings.input.input_file:
        return tag_text(settings)
    return driver.run(TaggingTask(settings), settings)


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command("bert-tag", __doc__, TagSettings, run, arguments, check)


if __name__ == "__main__":
    raise SystemExit(main())
