"""What is of bert-classify alone: its splits, its head, its metrics, its files."""

import contextlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.names import PREDICTIONS_TABLE, TEST_RESULTS
from bert_cli.examples.classification import (
    ClassificationExample,
    describe_examples,
    find_labels,
    find_task,
    read_examples,
)
from bert_cli.examples.text_lines import TextLine, split_line
from bert_cli.features.classification import ClassificationFeatures, classification_features, format_features
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.stream import check_steps
from bert_cli.outputs.classification import classification_record, write_predictions, write_test_results
from bert_cli.outputs.metrics import classification_metrics, classification_report, format_report
from bert_cli.runs import answers, driver, sources
from bert_cli.runs import folder as run_folder
from bert_cli.runs.checkpoint_choice import choose_checkpoint
from bert_cli.runs.driver import Evaluation, Plan
from bert_cli.runs.manifest import check_labels
from bert_cli.settings.classification import ClassifySettings
from bert_cli.training.updates import Updates
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel
    from bert_cli.runs.session import Session

LOG = logging.getLogger("bert_cli")


class Split(NamedTuple):
    """One file of the data: its rows, and their features."""

    examples: list[ClassificationExample]
    features: ClassificationFeatures


class ClassificationTask:
    """See driver.Task. After `read`: `labels`, and `splits`, those of train, dev and test that are needed."""

    command = "bert-classify"
    files = (TEST_RESULTS, PREDICTIONS_TABLE)

    def __init__(self, settings: ClassifySettings):
        self.settings = settings
        self.labels: tuple[str, ...] = ()
        self.splits: dict[str, Split] = {}

    def open(self, checkpoint: CheckpointPath | None) -> sources.AnyModel:
        settings = self.settings
        return sources.open_model(settings.model, checkpoint, settings.length.max_seq_length, settings.hub)

    def read(self, model: sources.AnyModel, stack: contextlib.ExitStack) -> None:
        """Labels are those of the checkpoint where it is trained."""
        settings, task_name = self.settings, self.settings.task.task_name
        labels = settings.labels.labels or ()
        if not settings.phases.do_train:
            checkpoint = model.sources.required_checkpoint
            labels = _agreed(labels, checkpoint) or find_task(task_name).labels
        wanted = {
            "train": settings.phases.do_train,
            "dev": settings.phases.do_eval,
            "test": settings.prediction.do_predict,
        }
        for name in (name for name, needed in wanted.items() if needed):
            examples = read_examples(task_name, name, settings.data.data_dir, settings.task.header, labels or None)
            labels = labels or find_labels(task_name, examples)
            features = classification_features(examples, labels, model.tokenizer, settings.length.max_seq_length)
            LOG.info("%s: %s", name, describe_examples(examples))
            if cut := features.num_truncated:
                length = settings.length.max_seq_length
                LOG.info("%s: %d of %d examples were cut to %d tokens", name, cut, len(features), length)
            self.splits[name] = Split(examples, features)
        self.labels = labels
        LOG.info("labels: %s", ", ".join(labels))

    def sequences(self) -> dict[str, RaggedFeatures]:
        return {name: split.features.sequences for name, split in self.splits.items()}

    def show_examples(self, model: sources.AnyModel, count: int) -> None:
        for split in self.splits.values():
            for line in format_features(split.features, self.labels, model.tokenizer, count):
                LOG.info(line)

    def plan(self, model: sources.AnyModel) -> Plan:
        features, fine_tuning = self.splits["train"].features, self.settings.fine_tuning
        sequences, lower = features.sequences, model.tokenizer.do_lower_case
        steps = check_steps(len(features), self.settings.training.train_batch_size, fine_tuning.num_train_epochs)
        return Plan(
            steps=steps,
            warmup_steps=int(steps * fine_tuning.warmup_proportion),
            decided={
                "labels": list(self.labels),
                "do_lower_case": lower,
                "training_data": run_folder.digest(sequences.token_ids, sequences.offsets, features.label_ids),
                "train_examples": len(features),
            },
            # A name with a comma cannot be given as a flag; such labels come from train.tsv and are found there again.
            found={
                "do_lower_case": lower,
                "labels": None if any("," in label for label in self.labels) else self.labels,
            },
            labels=self.labels,
            bias_correction=fine_tuning.bias_correction,
        )

    def make_model(self, model: sources.AnyModel, compute_dtype: str) -> "TaskModel":
        from bert_cli.heads.classification import BertClassifier

        return BertClassifier(model.config, len(self.labels), compute_dtype, self.settings.seed.random_seed)

    @property
    def freezes_encoder(self) -> bool:
        return not self.settings.hub_training.hub_trainable

    def train(self, session: "Session", *, updates: Updates, **how: Any) -> dict[str, Any]:
        return session.train(self.splits["train"].features, updates=updates, **how)

    def facts(self) -> dict[str, Any]:
        return {"labels": list(self.labels)}

    def evaluate(self, session: "Session") -> Evaluation:
        """Loss, accuracy and what else metrics.py has, and the scores of each class."""
        features, batch_size = self.splits["dev"].features, self.settings.evaluation.eval_batch_size
        results = session.infer(features, batch_size, "evaluating")
        probabilities = results["probabilities"]
        metrics = classification_metrics(features.label_ids, results["losses"], probabilities, self.labels, batch_size)
        details = classification_report(features.label_ids, probabilities, self.labels)
        rate = {"eval_examples_per_second": results["examples_per_second"]}
        return Evaluation(metrics, [f"  {line}" for line in format_report(details)], rate | {"eval": details})

    def predict(self, session: "Session") -> dict[str, Any]:
        """Write test_results.tsv and predictions.tsv."""
        split, folder = self.splits["test"], self.settings.phases.output_dir
        results = session.infer(split.features, self.settings.prediction.predict_batch_size, "predicting")
        texts = [(example.text_a, example.text_b) for example in split.examples]
        if session.is_chief:
            paths = [os.path.join(folder, name) for name in self.files]
            write_test_results(paths[0], results["probabilities"])
            write_predictions(paths[1], split.features.guids, texts, self.labels, results["probabilities"])
            LOG.info("wrote %s and %s: %d predictions", *paths, len(texts))
        return {"predict_examples_per_second": results["examples_per_second"]}


def answer_texts(settings: ClassifySettings) -> dict:
    """Classify --text or the lines of --input_file with a trained model; returns what the report would say."""
    source, target, text = settings.input.input_file, settings.output.output_file, settings.new.text
    answers.check_files(source, target)
    task = ClassificationTask(settings)
    checkpoint = choose_checkpoint(settings.start, settings.model, settings.hub, settings.phases)
    model = task.open(checkpoint)
    checkpoint = model.sources.required_checkpoint
    task.labels = _agreed(settings.labels.labels or (), checkpoint)
    if not task.labels and settings.task.task_name:
        task.labels = find_task(settings.task.task_name).labels
    if not task.labels:
        raise InputError(f"{checkpoint.folder}: has no labels.txt, so the labels are not known; give --labels")
    lines = [TextLine(0, text, settings.second.text_b or None)] if text else []
    classification_features(_examples(lines), task.labels, model.tokenizer, settings.length.max_seq_length)
    session = driver.open_session(task, model, settings)
    session.load_trained(checkpoint)

    def answer(chunk: Sequence[TextLine]) -> Iterator[dict]:
        length, batch_size = settings.length.max_seq_length, settings.prediction.predict_batch_size
        features = classification_features(_examples(chunk), task.labels, model.tokenizer, length)
        found = session.infer(features, batch_size, None)["probabilities"]
        for line, probabilities in zip(chunk, found, strict=True):
            yield classification_record(line.text_a, line.text_b, task.labels, probabilities)

    if source:
        answers.answer_lines(source, target, lambda chunk: answer([split_line(line) for line in chunk]))
    elif session.is_chief:
        print(json.dumps({"index": 0} | next(answer(lines)), ensure_ascii=False), flush=True)
    return task.facts()


def _examples(lines: Sequence[TextLine]) -> list[ClassificationExample]:
    return [ClassificationExample(str(number), line.text_a, line.text_b, None) for number, line in enumerate(lines)]


def _agreed(given: tuple[str, ...], checkpoint: CheckpointPath) -> tuple[str, ...]:
    """The labels of the flag or of a trained model. InputError where both are there and differ, or its labels.txt is lost."""
    saved = sources.read_labels(checkpoint)
    if not given and not saved:
        check_labels((), checkpoint)  # a run of ours had some
    if given and saved and given != saved:
        raise InputError(
            f"--labels={','.join(given)}: the model in {checkpoint.folder} was trained with {','.join(saved)}, in this "
            "order; leave --labels out"
        )
    return given or saved or ()
