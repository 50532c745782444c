"""Multiple choice, with answers by hand; examples.choice reads its labels."""

import numpy as np
import pytest

from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE
from bert_cli.problem_types.problem_type import LabelSet

FOUND = {"probabilities": np.array([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]], np.float32)}
NONE = LabelSet()


def test_decisions_are_indices_and_records_their_names():
    assert MULTIPLE_CHOICE.decisions(FOUND, NONE) == [1, 0]
    record = MULTIPLE_CHOICE.record(FOUND, 0, NONE)
    assert record == {"label": "1", "probabilities": {"0": 0.25, "1": 0.5, "2": 0.25}}


def test_prediction_columns():
    columns = MULTIPLE_CHOICE.prediction_columns(FOUND, NONE)
    assert columns["label"] == ["1", "0"]
    assert list(columns["probabilities"].names) == ["0", "1", "2"]


def test_evaluate_has_accuracy_alone():
    scores = MULTIPLE_CHOICE.evaluate(np.array([1, 2]), FOUND | {"losses": np.array([0.5, 1.5])}, NONE, 8)
    assert scores.metrics == {"eval_accuracy": 0.5, "eval_loss": 1.0, "loss": 1.0, "eval_examples": 2}


def test_an_ending_is_no_class():
    assert MULTIPLE_CHOICE.class_weights_refusal == "is about labels, and the endings of a choice are none"
    with pytest.raises(NotImplementedError, match="multiple_choice has no class weights"):
        MULTIPLE_CHOICE.label_counts(np.array([0]), 3)
