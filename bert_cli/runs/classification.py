"""What is of bert-classify alone: its splits, its head, its metrics, its files."""

import contextlib
import dataclasses
import logging
import os
from typing import TYPE_CHECKING, Any

from bert_cli.base.errors import InputError
from bert_cli.base.names import PREDICTIONS_TABLE, TEST_RESULTS
from bert_cli.examples.classification import ClassificationExample, describe_examples
from bert_cli.features.classification import ClassificationFeatures, classification_features, format_features
from bert_cli.features.stream import check_steps
from bert_cli.outputs.classification import write_predictions, write_test_results
from bert_cli.outputs.metrics import classification_metrics, classification_report, format_report
from bert_cli.runs import folder as run_folder
from bert_cli.runs import sources
from bert_cli.runs.classification_data import ClassificationData, read_data
from bert_cli.runs.driver import Evaluation, Plan
from bert_cli.runs.manifest import check_labels
from bert_cli.settings.classification import ClassifySettings
from bert_cli.training.updates import Updates
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel
    from bert_cli.runs.session import Session

LOG = logging.getLogger("bert_cli")


@dataclasses.dataclass(frozen=True)
class Split:
    """One file of the data: its rows, and their features."""

    examples: list[ClassificationExample]
    features: ClassificationFeatures


class ClassificationTask:
    """See driver.Task. After `read`: `data`, which has the problem type, `labels`, and `splits`: those that are needed."""

    files = (TEST_RESULTS, PREDICTIONS_TABLE)

    def __init__(self, settings: ClassifySettings):
        self.settings = settings
        self.data: ClassificationData | None = None
        self.labels: tuple[str, ...] = ()
        self.splits: dict[str, Split] = {}

    def open(self, checkpoint: CheckpointPath | None) -> sources.AnyModel:
        settings = self.settings
        return sources.open_model(settings.model, checkpoint, settings.length.max_seq_length, settings.hub)

    def read(self, model: sources.AnyModel, stack: contextlib.ExitStack) -> None:
        """Labels are those of the checkpoint where it is trained."""
        settings, labels = self.settings, self.settings.labels.labels or ()
        if not settings.phases.do_train:
            checkpoint = model.sources.required_checkpoint
            labels = _agreed(labels, checkpoint)
            if not labels:
                check_labels((), checkpoint)  # a run of ours had some: its labels.txt is lost
        self.data = read_data(settings, labels or None)
        labels = self.data.labels
        for name, examples in self.data.splits.items():
            features = classification_features(examples, labels, model.tokenizer, settings.length.max_seq_length)
            self._log(name, examples, features, labels, model)
            self.splits[name] = Split(examples, features)
        self.labels = labels
        LOG.info("labels: %s", ", ".join(labels))

    def _log(
        self,
        name: str,
        examples: list[ClassificationExample],
        features: ClassificationFeatures,
        labels: tuple[str, ...],
        model: sources.AnyModel,
    ) -> None:
        length = self.settings.length.max_seq_length
        LOG.info("%s: %s", name, describe_examples(examples, labels))
        for line in format_features(features, labels, model.tokenizer, length):
            LOG.info(line)
        if features.num_truncated:
            LOG.info("%s: %d of %d examples were cut to %d tokens", name, features.num_truncated, len(features), length)

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
                **(self.data.found if self.data else {}),
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


def _agreed(given: tuple[str, ...], checkpoint: CheckpointPath) -> tuple[str, ...]:
    """The labels of the flag or of a trained model; InputError where both are there and differ."""
    saved = sources.read_labels(checkpoint)
    if given and saved and given != saved:
        raise InputError(
            f"--labels={','.join(given)}: the model in {checkpoint.folder} was trained with {','.join(saved)}, in this "
            "order; leave --labels out"
        )
    return given or saved or ()
