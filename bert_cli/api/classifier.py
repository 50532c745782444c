"""A fine-tuned classifier from Python, without files:

    from bert_cli import Classifier
    Classifier.load("bert_output").predict(["the dog sees a cat ."]).best

is ["0"] or ["1"], a label of labels.txt for each text. The first `load` of a process imports TensorFlow (seconds).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bert_cli.api import loading
from bert_cli.base.errors import InputError
from bert_cli.base.kinds import MULTIPLE_CHOICE, REGRESSION
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.classification import classification_features
from bert_cli.runs import driver, sources
from bert_cli.runs.classification import ClassificationTask
from bert_cli.runs.classification_results import Answers, make_answers
from bert_cli.settings.classification import ClassifySettings, read_threshold
from bert_cli.text.tokenization import FullTokenizer

if TYPE_CHECKING:
    from bert_cli.runs.session import Session


class Predictions(NamedTuple):
    """`best`: the most probable label of each text; `probabilities`: float32 [n, L], columns as in Classifier.labels.

    Where a text may have several labels, `best` has for each text a tuple of those whose probability is at or above the
    threshold, in the order of the columns, () for none; each probability stands for itself. The numbers of a regression
    are `values`, float32 [n], which is None elsewhere; `best` is then empty, and L is 0.
    """

    best: list[str] | list[tuple[str, ...]]
    probabilities: np.ndarray
    values: np.ndarray | None = None


class Classifier:
    """A model that bert-classify trained, or one of any format that bert-convert writes.

    `labels`: its L label names, in the order of the columns of probabilities, () of a regression. `problem_type`:
    single_label, multi_label or regression, as the model was trained. Made by `load`.
    """

    def __init__(
        self,
        session: "Session",
        tokenizer: FullTokenizer,
        labels: tuple[str, ...],
        max_seq_length: int,
        problem_type: str,
        answers: Answers,
    ):
        self.labels = labels
        self.problem_type = problem_type
        self.max_seq_length = max_seq_length
        self._session, self._tokenizer, self._answers = session, tokenizer, answers

    @classmethod
    def load(
        cls,
        path: str,
        labels: Sequence[str] | None = None,
        max_seq_length: int | None = None,
        do_lower_case: bool | None = None,
        precision: str | None = None,
        hub_module: str | None = None,
        threshold: float | str | None = None,
    ) -> "Classifier":
        """Load from an output_dir of bert-classify, or a checkpoint with vocabulary and config beside it.

        labels, max_seq_length (in tokens; what is longer is cut), do_lower_case: default as the files beside the
        checkpoint say, and as the flags of bert-classify where they say nothing; so is precision: auto, float32, bfloat16
        or float16. hub_module: the handle of the module that the model was trained on, where it is no BERT and does not lie
        in the model's folder. threshold: of labels that do not exclude each other, a probability, or "tuned" for the
        thresholds.json in the model's folder; default as the model was trained. Raises InputError where something is
        missing, damaged, or does not fit together, and for a model that chooses one of several endings.
        """
        checkpoint = loading.find(path)
        given = {
            "max_seq_length": max_seq_length,
            "do_lower_case": do_lower_case,
            "precision": precision,
            "hub_module": hub_module,
            "threshold": None if threshold is None else read_threshold(str(threshold)),
        }
        settings, model = loading.open_model(checkpoint, ClassifySettings, given)
        task = ClassificationTask(settings)
        task.take_kind(model.sources)
        if task.problem_type == MULTIPLE_CHOICE:
            raise InputError(
                f"{checkpoint.folder}: this model chooses one of several endings; predict a file with bert-classify"
            )
        task.labels = tuple(labels or sources.read_labels(checkpoint) or ())
        if task.problem_type == REGRESSION and task.labels:
            raise InputError(f"labels: the model in {checkpoint.folder} predicts a number; leave them out")
        if not task.labels and task.has_labels:
            raise InputError(f"{checkpoint.folder}: has no labels.txt, so the labels are not known; give labels=[…]")
        answers = make_answers(task.problem_type, task.labels, settings.results, False, [checkpoint.folder])
        session = driver.open_trained(task, model, settings)
        return cls(session, model.tokenizer, task.labels, settings.length.max_seq_length, task.problem_type, answers)

    def predict(self, texts: Sequence[str | tuple[str, str]], batch_size: int = 32) -> Predictions:
        """Classify n texts or pairs of texts; the results are in the order of `texts`.

        batch_size: as many texts are computed at once as have the tokens of so many of full length.
        """
        loading.check_list(texts, "predict")
        nothing = np.zeros((len(texts), 0), np.float32)
        if not len(texts) and self.problem_type == REGRESSION:
            return Predictions([], nothing, np.zeros(0, np.float32))
        if not len(texts):
            return Predictions([], np.zeros((0, len(self.labels)), np.float32))
        pairs = [loading.text_pair(number, text) for number, text in enumerate(texts)]
        examples = [ClassificationExample(str(number), *pair, None) for number, pair in enumerate(pairs)]
        features = classification_features(
            examples, self.labels, self._tokenizer, self.max_seq_length, self.problem_type
        )
        found = self._session.infer(features, batch_size, "predicting")
        if self.problem_type == REGRESSION:
            return Predictions([], nothing, found["values"])
        return Predictions(self._answers.best(found), found["probabilities"])
