"""What is of bert-tag alone: its files of words and tags, its head, its scores, its files; and plain text to be tagged."""

import contextlib
import itertools
import json
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import SINGLE_LABEL
from bert_cli.base.log import RESULT
from bert_cli.base.names import TEST_PREDICTIONS, TEST_PREDICTIONS_JSON
from bert_cli.examples.tag_schemes import from_bio
from bert_cli.examples.tagging import TaggingExample, TaggingFile
from bert_cli.examples.tagging_text import text_example
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.stream import check_steps
from bert_cli.features.tagging import NOTHING, TaggingFeatures, format_features, tagging_features
from bert_cli.metrics.tagging import eval_results, format_scores, known_results, tagging_scores
from bert_cli.outputs.dry_run import Survey
from bert_cli.outputs.eval_examples import EvalExamples, tagging_examples
from bert_cli.outputs.folds import write_suspects_of_words, write_tagging_folds
from bert_cli.outputs.tagging import (
    TagPrediction,
    example_entities,
    predict_tags,
    write_columns,
    write_json_lines,
)
from bert_cli.runs.engine.onnx_heads import OnnxHead, tag_head
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading import sources
from bert_cli.runs.output_dir import run_folder
from bert_cli.runs.tasks import controls, interactive, opening
from bert_cli.runs.tasks.interface import Evaluation, Plan
from bert_cli.runs.tasks.tagging_data import (
    Split,
    TaggingData,
    divided,
    find_layers,
    read_data,
    scheme_of,
    strata,
    trained_labels,
)
from bert_cli.settings.tagging import TagSettings, window_stride
from bert_cli.training.hyperparameters import Updates
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel
    from bert_cli.runs.engine.session import Session

LOG = logging.getLogger("bert_cli")


class TaggingTask:
    """See task.Task. `layers` are known after `open`, `data` after `read`."""

    command = "bert-tag"
    files = (TEST_PREDICTIONS, TEST_PREDICTIONS_JSON)
    evaluation_files = ()

    def __init__(self, settings: TagSettings, tables: Mapping[str, TaggingFile] = MappingProxyType({})):
        """tables: see tagging_data.read_data."""
        self.settings, self._tables = settings, tables
        self.layers: tuple[int, ...] = ()
        self.data = TaggingData((), "BIO", {})
        self._part: TaggingData | None = None
        self._predictions: list[TagPrediction] = []  # of the last evaluation

    def again(self, settings: TagSettings) -> "TaggingTask":
        return TaggingTask(settings, self._tables)

    def strata(self) -> Sequence[object]:
        return strata(self.data)

    def part(self, settings: TagSettings, held_out: np.ndarray) -> "TaggingTask":
        part = self.again(settings)
        part._part = divided(self.data, held_out)
        return part

    def write_folds(self, paths: tuple[str, str], folds: np.ndarray, parts: Sequence["TaggingTask"]) -> int:
        file, labels, scheme = self.data.splits["train"].file, self.data.labels, self.data.scheme
        found = [iter(part._predictions) for part in parts]
        predictions = [next(found[fold]) for fold in folds.tolist()]
        write_tagging_folds(paths[0], file, folds, predictions, scheme)
        return write_suspects_of_words(paths[1], file, predictions, labels, scheme)

    @property
    def freezes_encoder(self) -> bool:
        return self.settings.rates.freeze_encoder

    def open(self, checkpoint: CheckpointPath | None) -> sources.AnyModel:
        settings = self.settings
        model = sources.open_model(settings.model, checkpoint, settings.encoding.max_seq_length, settings.hub)
        self.layers = find_layers(settings.tagger.layers, self.freezes_encoder, model.config)
        return model

    def read(self, model: sources.AnyModel, stack: contextlib.ExitStack) -> None:
        self.data = self._part or read_data(self.settings, model, self._tables)

    def sequences(self) -> dict[str, RaggedFeatures]:
        return {name: split.features.sequences for name, split in self.data.splits.items()}

    def surveys(self) -> dict[str, Survey]:
        found = {}
        for name, split in self.data.splits.items():
            examples = split.file.examples
            labels = [" ".join(example.tags) if example.tags else None for example in examples]
            texts = [" ".join(example.words) for example in examples]
            found[name] = Survey(texts, labels, split.features.sequences.lengths, "window")
        return found

    def show_examples(self, model: sources.AnyModel, count: int) -> None:
        for split in self.data.splits.values():
            for line in format_features(split.features, self.data.labels, model.tokenizer, count):
                LOG.info(line)

    def plan(self, model: sources.AnyModel) -> Plan:
        settings, features = self.settings, self.data.splits["train"].features
        sequences, lower = features.sequences, model.tokenizer.do_lower_case
        fine_tuning = settings.fine_tuning
        steps = check_steps(len(features), settings.training.train_batch_size, fine_tuning.num_train_epochs)
        return Plan(
            steps=steps,
            warmup_steps=int(steps * fine_tuning.warmup_proportion),
            decided={
                "task_name": "tagging",
                "layers": self.layers,
                "labels": list(self.data.labels),
                "tag_scheme": self.data.scheme,
                "do_lower_case": lower,
                "training_data": run_folder.digest(sequences.token_ids, sequences.offsets, features.label_ids),
                "train_examples": len(features),
            },
            found={"do_lower_case": lower, "tag_scheme": self.data.scheme, "layers": self.layers},
            labels=self.data.labels,
            bias_correction=fine_tuning.bias_correction,
            examples=len(features),
            class_weights=controls.class_weights(
                settings.loss,
                SINGLE_LABEL,
                self.data.labels,
                features.label_ids[features.label_ids != NOTHING],
            ),
        )

    def make_model(self, model: sources.AnyModel, compute_dtype: str) -> "TaskModel":
        from bert_cli.heads.tagging import BertTagger

        seed = self.settings.seed.random_seed
        return BertTagger(model.config, len(self.data.labels), self.layers, compute_dtype, seed)

    def onnx_head(self, model: sources.AnyModel, flag: str) -> OnnxHead:
        return tag_head(len(self.data.labels), self.layers)

    @property
    def metrics(self) -> tuple[str, ...]:
        return known_results(self.data.labels)

    def train(self, session: "Session", *, updates: Updates, **how: Any) -> dict[str, Any]:
        batch_size = self.settings.inference.eval_batch_size
        return session.train(self.data.splits["train"].features, encoding_batch_size=batch_size, updates=updates, **how)

    def facts(self) -> dict[str, Any]:
        return {"labels": list(self.data.labels), "tag_scheme": self.data.scheme}

    def _tag(self, session: Predictor, split: Split, batch_size: int, title: str) -> tuple[list[TagPrediction], float]:
        """The predictions for a split, and how many sentences there were each second."""
        began = time.monotonic()
        windows = log_probabilities(session, split.features, batch_size, title)
        predictions = predict_tags(split.features, windows, self.data.labels, self.settings.inference.decoding)
        return predictions, round(len(predictions) / (time.monotonic() - began), 2)

    def evaluate(self, session: Predictor) -> Evaluation:
        """Precision, recall and F1 of entities, as conlleval has them."""
        split = self.data.splits["dev"]
        predictions, rate = self._tag(session, split, self.settings.inference.eval_batch_size, "evaluating")
        self._predictions = predictions
        results, lines = _scores(split, predictions)
        report = {"eval_examples_per_second": rate, "decoding": self.settings.inference.decoding}

        def examples() -> EvalExamples:
            words = [example.words for example in split.file.examples]
            return tagging_examples(words, split.file.tags, [prediction.tags for prediction in predictions])

        return Evaluation(results, lines, report, examples)

    def predict(self, session: Predictor) -> dict[str, Any]:
        """Write test_predictions.txt, or .jsonl for JSON lines, and score them where the test file has tags."""
        split = self.data.splits["test"]
        predictions, rate = self._tag(session, split, self.settings.inference.predict_batch_size, "predicting")
        report = {"predict_examples_per_second": rate, "decoding": self.settings.inference.decoding}
        if split.has_tags:
            report["test"], lines = _scores(split, predictions)
            for line in ("***** Test results *****", *lines):
                LOG.log(RESULT, line)
        if session.is_chief:
            is_json = split.file.is_json
            path = os.path.join(self.settings.phases.output_dir, self.files[is_json])
            write = write_json_lines if is_json else write_columns
            write(path, split.file, [prediction.tags for prediction in predictions], self.data.scheme)
            LOG.info("wrote %s: %d sentences", path, len(predictions))
        return report


def log_probabilities(
    session: Predictor, features: TaggingFeatures, batch_size: int, title: str | None
) -> Iterator[tuple[int, np.ndarray]]:
    """(number of the window, float32 [S, L]) of every window; rows behind its tokens mean nothing."""
    for rows, found in session.over(features, batch_size, title):
        yield from zip(rows.tolist(), found["log_probabilities"], strict=True)


def _scores(split: Split, predictions: list[TagPrediction]) -> tuple[dict, list[str]]:
    """The entries of eval_results.txt, and the table for the log."""
    scores = tagging_scores(split.file.tags, [prediction.tags for prediction in predictions])
    return eval_results(scores), [f"  {line}" for line in format_scores(scores)]


def tag_text(settings: TagSettings) -> dict:
    """Tag --text or the lines of --input_file with a trained model; returns what the report would say."""
    source, target, text = settings.files.input_file, settings.files.output_file, settings.new.text
    interactive.check_files(source, target)
    task = TaggingTask(settings)
    _, model = opening.open_model(task, settings)
    labels, scheme = trained_labels(model.sources.required_checkpoint), scheme_of(settings.task.tag_scheme)
    task.data = TaggingData(labels, scheme, {})
    if text and not text_example(text).words:
        raise InputError("--text: holds no words")
    session = opening.open_trained(task, model, settings)

    check = interactive.unknown_check(source, model.vocabulary, settings.model.strict)

    def tagged(texts: list[str]) -> Iterator[tuple[TaggingExample, TagPrediction]]:
        examples = [text_example(line) for line in texts]
        length, batch_size = settings.encoding.max_seq_length, settings.inference.predict_batch_size
        features = tagging_features(
            examples, labels, model.tokenizer, length, window_stride(settings.task.doc_stride, length)
        )
        check(features.sequences)
        windows = log_probabilities(session, features, batch_size, None) if len(features) else ()
        yield from zip(examples, predict_tags(features, windows, labels, settings.inference.decoding), strict=True)

    if source:
        interactive.answer_lines(source, target, lambda texts: itertools.starmap(example_entities, tagged(texts)))
    elif session.is_chief:
        example, prediction = next(tagged([text]))
        for word, tag in zip(example.words, from_bio(prediction.tags, scheme), strict=True):
            print(f"{word}\t{tag}")
        print(json.dumps(example_entities(example, prediction), ensure_ascii=False), flush=True)
    return task.facts()
