"""Predictions for new texts: --text, --explain, and the files of --input_file."""

import itertools
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.lines import input_name
from bert_cli.base.log import LOG
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.glue import find_task
from bert_cli.examples.table_files.formats import is_table
from bert_cli.examples.text_lines import TextLine, split_line
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.cuts import NOT_CUT, Cuts, warn_cuts
from bert_cli.flags.option import replace_values
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.loading.trained import num_trained_texts, trained_columns
from bert_cli.runs.tasks import interactive, opening
from bert_cli.runs.tasks.classification.data import DataReader
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset
from bert_cli.runs.tasks.classification.explanation import (
    METHOD,
    explain,
    format_colored,
    text_record,
    tokenize_for_explanation,
)
from bert_cli.runs.tasks.classification.prediction import TABLE_FLAGS, TEXT_FLAGS, plan_shards, without_workers
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.runtime.streams import print_text
from bert_cli.settings.classification import ClassifySettings

# Warning about a row, by the number of texts per row in the training data.
_PAIR_WARNINGS = {
    1: "%s:%d: warning: a pair of texts, and the model was trained on single texts; give the first text alone",
    2: "%s:%d: warning: one text, and the model was trained on pairs; put ' ||| ' between the two",
}
_Check = Callable[[Sequence[TextLine], ClassificationFeatures], None]


def classify_texts(settings: ClassifySettings) -> dict:
    """Classify --text, --explain or the lines of --input_file; return the facts for a report."""
    source, target = settings.files.input_file, settings.files.output_file
    is_sharded = files.is_pattern(source)
    if not is_sharded:
        interactive.check_files(source, target)
    task = ClassificationTask(settings)
    model = opening.load_task_model(task, settings)
    data = _dataset(settings, task, model)
    num_texts = num_trained_texts(model, settings.task.task_name)
    lines = [_text_of_flags(settings, model, num_texts)] if not source else []
    if is_table(source) and not is_sharded:
        lines = _read_table(settings, model, data, source)
    # Plan before importing TensorFlow: other processes may have done all shards already.
    plan = None
    if is_sharded:
        deciding_flags = TABLE_FLAGS if is_table(source) else TEXT_FLAGS
        plan = plan_shards(settings, model, data, ("input_file", "output_file"), [target], deciding_flags)
    shards_to_do = plan.find_unfinished() if plan else []
    if plan and not shards_to_do:
        return data.facts()
    # Encode the first texts for their errors, before TensorFlow takes seconds to import.
    _features(lines[: interactive.CHUNK], data)
    predictor = opening.open_for_new_texts(task, model, data, without_workers(settings) if plan else settings)
    classifier = _TextClassifier(settings, model, data, predictor, num_texts)
    if plan:
        for shard in plan.iterate(shards_to_do):
            classifier.classify_file(shard.source, shard.targets[0], may_be_empty=True)
    elif is_table(source):
        classifier.classify_table(lines, source, target)
    elif source:
        classifier.classify_file(source, target)
    elif settings.new.explain:
        classifier.explain(lines[0])
    elif predictor.is_chief:
        # Do not check typed texts for unknown words, see interactive.make_unknown_check.
        chunk_cuts: list[Cuts] = []
        record = next(classifier.classify(lines, lambda _, features: chunk_cuts.append(features.cuts)))
        classifier.warn_cuts(chunk_cuts[0], "--text")
        print_text(json.dumps({"index": 0} | record, ensure_ascii=False))
    return data.facts()


def _dataset(settings: ClassifySettings, task: ClassificationTask, model: AnyModel) -> ClassificationDataset:
    """Return a dataset without rows, with a trained model's labels.

    Raise InputError for a multiple-choice model, and for a model with unknown labels.
    """
    checkpoint = model.required_checkpoint
    problem_type = task.trained_problem_type(model)
    if problem_type.has_choices:
        raise InputError(
            f"--{'input_file' if settings.files.input_file else 'text'}: the model in "
            f"{checkpoint.folder} is a multiple-choice model; give the texts with their endings as "
            "a --predict_file, with --do_predict"
        )
    labels = task.trained_labels(model)
    if not labels and settings.task.task_name:
        labels = find_task(settings.task.task_name).labels
    if not labels and problem_type.reader.has_names:
        raise InputError(f"{checkpoint.folder}: has no labels.txt, so the labels are not known; give --labels")
    return task.make_empty_dataset(model, labels, run_folders(checkpoint))


def _read_table(settings: ClassifySettings, model: AnyModel, data: ClassificationDataset, path: str) -> list[TextLine]:
    """Return the texts in a table, which has the same columns as a --predict_file.

    Args:
        settings: the run's flags.
        model: the trained model, which knows its training columns.
        data: dataset with the labels.
        path: the table.
    """
    table = replace_values(settings, {"do_predict": True, "predict_file": path})
    columns = trained_columns(model, settings.columns)
    reader = DataReader(table, data.labels or None, data.problem_type, trained_columns=columns)
    examples = [example for example in reader.read_all().splits["test"] if isinstance(example, ClassificationExample)]
    has_ids = "test" in reader.splits_with_ids
    return [
        TextLine(number, example.text_a, example.text_b, identifier=example.guid if has_ids else None)
        for number, example in enumerate(examples)
    ]


def _text_of_flags(settings: ClassifySettings, model: AnyModel, num_texts: int | None) -> TextLine:
    """Return the text or pair from the flags.

    Args:
        settings: the run's flags.
        model: the trained model, for error messages.
        num_texts: texts per row in the training data, None if unknown.

    Raises:
        InputError: a single text for a model of pairs, or a pair for a model of single texts.
    """
    new = settings.new
    folder = model.required_checkpoint.folder
    refuse_if(
        num_texts == 1 and new.text_b,
        f"--text_b: the model in {folder} was trained on single texts; leave it out",
    )
    if num_texts == 2 and not new.text_b:
        raise InputError(
            f"--text: the model in {folder} was trained on pairs of texts; give the second one with --text_b"
        )
    return TextLine(0, new.text or new.explain, new.text_b or None)


@dataclass(frozen=True)
class _TextClassifier:
    """An opened classifier that writes predictions for new texts.

    Attributes:
        settings: the run's flags.
        model: the trained model's files.
        data: dataset without rows, which has decoder and tokenizer.
        predictor: the opened model.
        num_texts: texts per row in the training data, None if unknown; see num_trained_texts.
    """

    settings: ClassifySettings
    model: AnyModel
    data: ClassificationDataset
    predictor: Predictor
    num_texts: int | None

    def classify(self, lines: Sequence[TextLine], check: _Check) -> Iterator[dict[str, Any]]:
        """Yield a record per text for JSON, after `check` was called with texts and features."""
        features = _features(lines, self.data)
        check(lines, features)
        predictions = self.data.decoder.infer(
            self.predictor, features, self.settings.inference.predict_batch_size, None
        )
        problem_type = self.data.problem_type
        labels = self.data.decoder.labels
        for row, line in enumerate(lines):
            identifier = {} if line.identifier is None else {"id": line.identifier}
            yield (
                identifier
                | text_record(line.text_a, line.text_b)
                | problem_type.columns.record(predictions, row, labels)
            )

    def classify_file(self, source: str, target: str, may_be_empty: bool = False) -> None:
        """Write predictions for lines in a text file, or for rows in a table.

        Args:
            source: path to read, or - for standard input.
            target: path to write, or - for standard output.
            may_be_empty: whether a source without lines is allowed.
        """
        if is_table(source):
            self.classify_table(_read_table(self.settings, self.model, self.data, source), source, target)
            return
        chunk_cuts: list[Cuts] = []
        reader = interactive.ChunkReader(source, self.settings.files.line_buffered)
        check = self._check(source, chunk_cuts, reader)
        encoding = self.settings.text_files.encoding

        def answer(chunk: Sequence[str]) -> Iterator[dict[str, Any]]:
            return self.classify([split_line(line) for line in chunk], check)

        interactive.predict_lines(source, target, answer, encoding, reader, may_be_empty)
        self.warn_cuts(sum(chunk_cuts, NOT_CUT), input_name(source))

    def classify_table(self, lines: Sequence[TextLine], source: str, target: str) -> None:
        """Write predictions for table rows, `lines`, to `target`; warnings name the file `source`."""
        chunk_cuts: list[Cuts] = []
        check = self._check(source, chunk_cuts)
        interactive.predict_items(iter(lines), target, lambda chunk: self.classify(chunk, check))
        self.warn_cuts(sum(chunk_cuts, NOT_CUT), source)

    def warn_cuts(self, cuts: Cuts, place: str) -> None:
        """Log a warning if texts were cut; `place` is the flag or the file with the texts."""
        warn_cuts(cuts, self.settings.encoding.max_seq_length, place=place)

    def _check(self, source: str, chunk_cuts: list[Cuts], reader: interactive.ChunkReader | None = None) -> _Check:
        """Return a check that is called with each chunk, and appends to `chunk_cuts`.

        It warns once about unknown words, and once about a pair if the model was trained on single
        texts, or the other way round.
        """
        check_unknown = interactive.make_unknown_check(source, self.model.vocabulary, self.settings.model, reader)
        numbers = itertools.count(1)
        is_reported = self.num_texts is None

        def check(lines: Sequence[TextLine], features: ClassificationFeatures) -> None:
            check_unknown(features.sequences)
            chunk_cuts.append(features.cuts)
            nonlocal is_reported
            for line, number in zip(lines, numbers, strict=False):
                if not is_reported and line.text_a and self.num_texts != 1 + (line.text_b is not None):
                    is_reported = True
                    LOG.warning(_PAIR_WARNINGS[self.num_texts or 0], input_name(source), number)

        return check

    def explain(self, line: TextLine) -> None:
        """Print the prediction with each word's share: in color at a terminal, as JSON otherwise."""
        tokens = tokenize_for_explanation(self.predictor, self.data, line.text_a, line.text_b)
        self.warn_cuts(tokens.cuts, "--explain")
        record = explain(self.predictor, self.data, tokens, self.settings.inference.predict_batch_size)
        if not self.predictor.is_chief:
            return
        record = text_record(line.text_a, line.text_b) | record
        if sys.stdout.isatty():
            from rich.console import Console

            Console().print(format_colored(record))
        else:
            print_text(json.dumps(record | {"method": METHOD}, ensure_ascii=False))


def _features(lines: Sequence[TextLine], data: ClassificationDataset) -> ClassificationFeatures:
    examples = [ClassificationExample(str(number), line.text_a, line.text_b, None) for number, line in enumerate(lines)]
    return data.features(examples)
