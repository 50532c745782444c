"""Multiple choice, with values checked by hand; examples.choice reads its labels."""

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.parts import LabelSet
from tests.snapshots import raises

PREDICTIONS = {"probabilities": np.array([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]], np.float32)}
NO_LABELS = LabelSet()


def test_decisions_are_indices():
    assert MULTIPLE_CHOICE.decoder.decisions(PREDICTIONS, NO_LABELS) == [1, 0]


def test_prediction_columns():
    columns = MULTIPLE_CHOICE.columns.prediction_columns(PREDICTIONS, NO_LABELS)
    assert columns["label"].values == ["1", "0"]
    assert list(columns["probabilities"].names) == ["0", "1", "2"]


def test_accuracy_is_the_only_score():
    scores = MULTIPLE_CHOICE.metrics.evaluate(
        np.array([1, 2]), PREDICTIONS | {"losses": np.array([0.5, 1.5])}, NO_LABELS, 8
    )
    assert scores.metrics == {"eval_accuracy": 0.5, "eval_loss": 1.0, "loss": 1.0, "eval_examples": 2}


def test_choices_have_no_class_weights():
    with raises(InputError, "--class_weights: is about labels, and the endings of a choice are none"):
        require(require(MULTIPLE_CHOICE.label_loss, "--label_smoothing").class_weights, "--class_weights")
