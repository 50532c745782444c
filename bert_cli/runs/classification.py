"""What is of bert-classify alone: its splits, its head, its metrics, its files."""

import contextlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.outputs.classification import classification_record, write_predictions, write_test_results
from bert_cli.outputs.metrics import classification_metrics, classification_report, format_report
from bert_cli.runs import answers, driver, sources
from bert_cli.runs import folder as run_folder
from bert_cli.runs.driver import Evaluation, Plan
from bert_cli.settings.fine_tuning import ClassifySettings
from bert_cli.weights.path import CheckpointPath

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

    def open(self, checkpoint: CheckpointPath | None) -> sources.OpenedModel:
        settings = self.settings
        return sources.open_model(settings.model, checkpoint, settings.length.max_seq_length, settings.hub)

    def read(self, model: sources.OpenedModel, checkpoint: CheckpointPath | None, stack: contextlib.ExitStack) -> None:
        """Labels are those of the checkpoint where it is trained."""
        settings, task_name = self.settings, self.settings.task.task_name
        labels = settings.labels.labels
        if not settings.phases.do_train:
            labels = self.trained_labels(checkpoint) or find_task(task_name).labels
        wanted = {
            "train": settings.phases.do_train,
            "dev": settings.phases.do_eval,
            "test": settings.prediction.do_predict,
        }
        for name in (name for name, needed in wanted.items() if needed):
            examples = read_examples(task_name, name, settings.data.data_dir, settings.task.header, labels)
            labels = labels or find_labels(task_name, examples)
            features = classification_features(examples, labels, model.tokenizer, settings.length.max_seq_length)
            LOG.info("%s: %s", name, describe_examples(examples))
            if cut := features.num_truncated:
                length = settings.length.max_seq_length
                LOG.info("%s: %d of %d examples were cut to %d tokens", name, cut, len(features), length)
            self.splits[name] = Split(examples, features)
        self.labels = labels
        LOG.info("labels: %s", ", ".join(labels))

    def trained_labels(self, checkpoint: CheckpointPath) -> tuple[str, ...] | None:
        """Those of the trained model, else of --labels. InputError where both are there and differ."""
        return _agreed(self.settings.labels.labels, sources.read_labels(checkpoint), checkpoint)

    def sequences(self) -> dict[str, RaggedFeatures]:
        return {name: split.features.sequences for name, split in self.splits.items()}

    def show_examples(self, model: sources.OpenedModel, count: int) -> None:
        for split in self.splits.values():
            for line in format_features(split.features, self.labels, model.tokenizer, count):
                LOG.info(line)

    def plan(self, model: sources.OpenedModel) -> Plan:
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

    def make_model(self, config: BertConfig | ModuleConfig, compute_dtype: str):
        from bert_cli.heads.classification import BertClassifier

        return BertClassifier(config, len(self.labels), compute_dtype, self.settings.seed.random_seed)

    @property
    def freezes_encoder(self) -> bool:
        return not self.settings.hub_training.hub_trainable

    def train(self, session, **how) -> dict:
        return session.train(self.splits["train"].features, **how)

    def facts(self) -> dict:
        return {"labels": list(self.labels)}

    def evaluate(self, session) -> Evaluation:
        """Loss, accuracy and what else metrics.py has, and the scores of each class."""
        features, batch_size = self.splits["dev"].features, self.settings.evaluation.eval_batch_size
        results = session.infer(features, batch_size, "evaluating")
        probabilities = results["probabilities"]
        metrics = classification_metrics(features.label_ids, results["losses"], probabilities, self.labels, batch_size)
        details = classification_report(features.label_ids, probabilities, self.labels)
        rate = {"eval_examples_per_second": results["examples_per_second"]}
        return Evaluation(metrics, [f"  {line}" for line in format_report(details)], rate | {"eval": details})

    def predict(self, session) -> dict:
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
    checkpoint = sources.choose_checkpoint(settings.start, settings.model, settings.hub, settings.phases)
    model = task.open(checkpoint)
    task.labels = task.trained_labels(checkpoint) or ()
    if not task.labels and settings.task.task_name:
        task.labels = find_task(settings.task.task_name).labels
    if not task.labels:
        raise InputError(f"{checkpoint.folder}: has no labels.txt, so the labels are not known; give --labels")
    lines = [TextLine(0, text, settings.second.text_b)] if text is not None else []
    classification_features(_examples(lines), task.labels, model.tokenizer, settings.length.max_seq_length)
    session = driver.open_session(task, model.config, settings)
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


def _agreed(given, saved, checkpoint: CheckpointPath):
    """The labels of the flag or of a trained model; InputError where both are there and differ."""
    if given and saved and given != saved:
        raise InputError(
            f"--labels={','.join(given)}: the model in {checkpoint.folder} was trained with {','.join(saved)}, in this "
            "order; leave --labels out"
        )
    return given or saved
