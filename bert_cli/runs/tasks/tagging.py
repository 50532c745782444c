"""The task of bert-tag: its files of words and tags, head and scores, and tags for plain text."""

import contextlib
import itertools
import json
import sys
import time
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import TAGGER
from bert_cli.base.json_files import JsonObject, member_object
from bert_cli.base.log import LOG, RESULT
from bert_cli.base.names import OUTSIDE, TEST_PREDICTIONS, TEST_PREDICTIONS_JSON
from bert_cli.examples.table_texts import read_table_texts
from bert_cli.examples.tagging import COLUMNS, TABLE, WORDS, TaggingExample, TaggingFile
from bert_cli.examples.text_lines import TextLine, make_text_example
from bert_cli.examples.token_files.notation import TagNotation, label_aliases
from bert_cli.features.tagging import NOTHING
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor
from bert_cli.metrics.bootstrap import Intervals
from bert_cli.metrics.tagging import bootstrap_scores, eval_results, format_scores
from bert_cli.opening.bundle import AnyModel
from bert_cli.outputs.annotations import write_annotations
from bert_cli.outputs.answers.tagging import TagPrediction, example_entities, predict_tags
from bert_cli.outputs.eval_examples import EvalExamples
from bert_cli.outputs.tagging import score_tags, tagging_examples, write_columns, write_json_lines
from bert_cli.predicting.opening import TaggerSettings, select_groups
from bert_cli.predicting.tagger import build_tagger, choose_layers, open_tagger, predict_windows, tagger_network
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.kinds import TAGGING
from bert_cli.reading.formats import is_table
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.run_directory.manifest import digest
from bert_cli.runs.tasks import controls, interactive, opening
from bert_cli.runs.tasks.interface import BaselineComparison, Evaluation, Plan, Recipe, Task, fine_tuning_plan
from bert_cli.runs.tasks.tagging_data import (
    TaggingDataset,
    TaggingSplit,
    make_empty_tagging_dataset,
    read_tagging_data,
)
from bert_cli.runtime.streams import print_text
from bert_cli.settings.answering import SPAN_FORMATS
from bert_cli.settings.tagging import TagSettings
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel


class TaggingTask(Task[AnyModel, TaggingDataset, list[TagPrediction]]):
    """Task of bert-tag; see interface.Task for its methods."""

    command = TAGGING.command
    settings: TagSettings

    def __init__(self, settings: TagSettings, tables: Mapping[str, TaggingFile] = MappingProxyType({})):
        """Use these settings, and `tables` instead of files, see tagging_data.read_tagging_data."""
        super().__init__(settings)
        self._tables = tables

    def load(self, checkpoint: CheckpointPath | None) -> AnyModel:
        model = super().load(checkpoint)
        # Report a wrong --layers before reading the data.
        choose_layers(self.settings.tagger, self.settings.rates, model)
        return model

    def read(self, model: AnyModel, stack: contextlib.ExitStack) -> TaggingDataset:
        return read_tagging_data(self.settings, model, self._tables)

    def plan(self, model: AnyModel, data: TaggingDataset, recipe: Recipe) -> Plan:
        features = data.splits["train"].features
        do_lower_case = model.tokenizer.do_lower_case
        sequences = features.sequences
        label_ids = features.label_ids[features.label_ids != NOTHING]
        deciding_values = {
            "task_name": "tagging",
            "layers": data.layers,
            "labels": list(data.labels),
            "tag_scheme": data.notation.scheme,
            "do_lower_case": do_lower_case,
            "training_data": digest(sequences.token_ids, sequences.offsets, features.label_ids),
            "train_examples": len(features),
        }
        notation = {
            "tag_scheme": data.notation.scheme,
            "outside_tag": data.notation.outside,
            "tag_form": data.notation.form,
        }
        resolved_flags = {"do_lower_case": do_lower_case, **notation, "layers": ",".join(map(str, data.layers))}
        file_format = data.splits["train"].file.format
        if file_format in SPAN_FORMATS:
            resolved_flags["span_format"] = file_format
        weights = controls.class_weights(self.settings.loss, SINGLE_LABEL, data.labels, label_ids)
        values = {
            "deciding_values": deciding_values,
            "resolved_flags": resolved_flags,
            "labels": data.labels,
            "label_aliases": label_aliases(data.labels),
            "class_weights": weights,
        }
        return fine_tuning_plan(self.settings, recipe, len(features), len(features), head_type=TAGGER, **values)

    def make_model(self, model: AnyModel, data: TaggingDataset, options: "NetworkOptions") -> "TaskModel":
        return build_tagger(model.config, len(data.labels), data.layers, options)

    def network(self, model: AnyModel, data: TaggingDataset) -> FineTunedNetwork:
        return tagger_network(len(data.labels), data.layers)

    def _predict_split(
        self, predictor: Predictor, data: TaggingDataset, split: TaggingSplit, batch_size: int, title: str
    ) -> tuple[list[TagPrediction], float]:
        return predict_split(predictor, data, split, batch_size, title)

    def evaluate(self, predictor: Predictor, data: TaggingDataset) -> Evaluation[list[TagPrediction]]:
        """Evaluate entities like conlleval; the evaluation's `details` are the predictions."""
        split = data.splits["dev"]
        batch_size = self.settings.inference.eval_batch_size
        predictions, rate = self._predict_split(predictor, data, split, batch_size, "evaluating")
        results, lines = _score(split, predictions)
        report: JsonObject = {"eval_examples_per_second": rate, "decoding": self.settings.inference.decoding}

        def examples() -> EvalExamples:
            words = [example.words for example in split.file.examples]
            return tagging_examples(words, split.file.tags, [prediction.tags for prediction in predictions])

        samples, seed = self.settings.bootstrap.bootstrap, self.settings.seed.random_seed

        def intervals() -> Intervals:
            pairs = zip(split.file.tags, predictions, strict=True)
            if not samples:
                return Intervals()
            sentences = [score_tags([tags], [prediction.tags]) for tags, prediction in pairs]
            return bootstrap_scores(sentences, samples, seed)

        return Evaluation(results, lines, report, predictions, examples, intervals)

    def compare(self, data: TaggingDataset, evaluation: Evaluation[list[TagPrediction]]) -> BaselineComparison:
        """Compare without baselines: a model that predicts no entity has learned nothing."""
        gold_tags = data.splits["dev"].file.tags
        is_varied = any(tag != OUTSIDE for tags in gold_tags for tag in tags)
        finds_entity = any(tag != OUTSIDE for prediction in evaluation.details for tag in prediction.tags)
        return BaselineComparison(
            {}, is_varied, "" if finds_entity or not is_varied else f"every word gets the tag {OUTSIDE}", ""
        )

    def predict(
        self, predictor: Predictor, data: TaggingDataset, evaluation: Evaluation[list[TagPrediction]] | None
    ) -> JsonObject:
        """Write predictions in the test file's format, and score them if it has tags.

        See Task.predict.
        """
        split = data.splits["test"]
        batch_size = self.settings.inference.predict_batch_size
        predictions, rate = self._predict_split(predictor, data, split, batch_size, "predicting")
        report: JsonObject = {"predict_examples_per_second": rate, "decoding": self.settings.inference.decoding}
        if split.has_tags:
            report["test"], lines = _score(split, predictions)
            title = "***** Test results *****"
            LOG.log(RESULT, "\n".join((title, *lines)), extra={"fields": member_object(report, "test")})
        if predictor.is_chief:
            path = _write_predictions(
                RunDirectory(self.settings.phases.output_dir), split.file, predictions, data.notation
            )
            LOG.info("wrote %s: %d sentences", path, len(predictions))
        return report


def predict_split(
    predictor: Predictor, data: TaggingDataset, split: TaggingSplit, batch_size: int, title: str
) -> tuple[list[TagPrediction], float]:
    """Return the predictions for a split, and the number of sentences per second.

    Args:
        predictor: the opened model.
        data: dataset with the labels and the decoding.
        split: sentences to tag.
        batch_size: full windows per batch.
        title: title for the progress.
    """
    began = time.monotonic()
    windows = predict_windows(predictor, split.features, batch_size, title)
    predictions = predict_tags(split.features, windows, data.labels, data.decoding)
    return predictions, round(len(predictions) / (time.monotonic() - began), 2)


def _write_predictions(
    directory: RunDirectory, file: TaggingFile, predictions: list[TagPrediction], notation: TagNotation
) -> str:
    """Write predictions in the format of their input file; return the path."""
    if file.has_spans:
        return write_annotations(directory.path, file, predictions)
    columns = (TEST_PREDICTIONS, write_columns)
    writers = {COLUMNS: columns, TABLE: columns, WORDS: (TEST_PREDICTIONS_JSON, write_json_lines)}
    name, write = writers[file.format]
    path = directory.file(name)
    write(path, file, [prediction.tags for prediction in predictions], notation)
    return path


def _score(split: TaggingSplit, predictions: list[TagPrediction]) -> tuple[dict, list[str]]:
    """Return entries for eval_results.txt, and a table for the log; skip texts without tags."""
    pairs = zip(split.file.examples, predictions, strict=True)
    scores = score_tags(split.file.tags, [prediction.tags for example, prediction in pairs if example.tags is not None])
    return eval_results(scores), [f"  {line}" for line in format_scores(scores)]


def tag_text(settings: TagSettings) -> dict:
    """Tag --text or the texts of --input_file with a trained model; return the facts for a report."""
    source = settings.files.input_file
    target = settings.files.output_file
    text = settings.new.text
    interactive.check_files(source, target)
    table: list[TextLine] = []
    if is_table(source):
        form = settings.text_form
        table = read_table_texts(source, settings.columns, settings.data.header, form, takes_pairs=False)
    task = TaggingTask(settings)
    model = opening.load_task_model(task, settings)
    data = make_empty_tagging_dataset(settings, model)
    if text and not make_text_example(text, model.tokenizer).words:
        raise InputError("--text: holds no words")
    tagger = open_tagger(select_groups(TaggerSettings, settings), model, many=settings.files.come_together)

    reader = interactive.ChunkReader(source, settings.files.line_buffered) if source and not table else None
    check = interactive.make_unknown_check(source, model.vocabulary, settings.model, reader)

    def tag(texts: list[str]) -> Iterator[tuple[TaggingExample, TagPrediction]]:
        examples = tagger.split(texts)
        yield from zip(examples, tagger.tag(examples, check=check), strict=True)

    if table:

        def answer(lines: list[TextLine]) -> Iterator[Mapping[str, object]]:
            for line, sentence in zip(lines, tag([line.text_a for line in lines]), strict=True):
                identifier = {} if line.identifier is None else {"id": line.identifier}
                yield {**identifier, **example_entities(*sentence)}

        interactive.predict_items(iter(table), target, answer)
    elif reader:
        encoding = settings.text_files.encoding
        interactive.predict_lines(
            source, target, lambda texts: itertools.starmap(example_entities, tag(texts)), encoding, reader
        )
    elif tagger.predictor.is_chief:
        example, prediction = next(tag([text]))
        lines = [json.dumps(example_entities(example, prediction), ensure_ascii=False)]
        # Programs that read the output need one JSON object.
        if sys.stdout.isatty():
            tags = data.notation.encode(prediction.tags)
            lines[:0] = [f"{word}\t{tag}" for word, tag in zip(example.words, tags, strict=True)]
        print_text("\n".join(lines))
    return data.facts()
