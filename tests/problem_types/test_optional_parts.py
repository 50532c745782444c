"""Parts that a problem type may lack."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.optional_parts import MissingPart, require
from bert_cli.problem_types.parts import LabelSet
from bert_cli.problem_types.registry import PROBLEM_TYPES
from tests.snapshots import raises

# Part -> problem types that lack it.
MISSING = {
    "cell_reader": {"multiple_choice"},
    "calibrator": {"regression"},
    "label_loss": {"regression"},
    "distiller": {"regression", "multiple_choice"},
    "text_answers": {"multiple_choice"},
    "explainer": {"multiple_choice"},
    "fold_columns": {"multiple_choice"},
    "thresholds": {"regression", "multiple_choice"},
    "linear_baseline": {"multiple_choice"},
}


@pytest.mark.parametrize("part", MISSING)
def test_types_that_lack_a_part(part):
    assert {name for name, candidate in PROBLEM_TYPES.items() if not getattr(candidate, part)} == MISSING[part]


def test_a_missing_part_gives_its_reason():
    assert require(SINGLE_LABEL.calibrator, "--calibrate") is SINGLE_LABEL.calibrator
    with raises(InputError, "--flag: needs labels; leave it out"):
        require(MissingPart("needs labels"), "--flag", "; leave it out")


def test_thresholds_apply_to_two_labels_or_several():
    assert SINGLE_LABEL.find_thresholds(("a", "b", "c")) is None
    found = [candidate.find_thresholds(("a", "b")) for candidate in (SINGLE_LABEL, MULTI_LABEL)]
    assert found == [SINGLE_LABEL.thresholds, MULTI_LABEL.thresholds]
    filled = [thresholds.fill(0.75, LabelSet(("a", "b"), positive="a")).tolist() for thresholds in found]
    assert repr(filled) == "[[0.75, nan], [0.75, 0.75]]"


def test_mean_thresholds():
    nan = np.nan
    # The third model has the default of 0.5, and the second one has a threshold for the other label.
    mean = SINGLE_LABEL.thresholds.mean([np.array([0.75, nan]), np.array([nan, 0.5])], 3)
    assert repr(mean.round(4).tolist()) == f"[{round((0.75 + 0.5 + 0.5) / 3, 4)}, nan]"
    assert MULTI_LABEL.thresholds.mean([np.array([0.25, 0.5]), np.array([0.75, 0.5])], 2).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("name", "rows", "label_ids", "values"),
    [
        ("single_label", [{"label": 1, "probabilities": [0.25, 0.75]}], [1], ["b"]),
        ("multi_label", [{"labels": [1, 1], "probabilities": [0.25, 0.75]}], [[1, 1]], [("a", "b")]),
        ("regression", [{"value": 2.0, "predicted": 1.5}], [2.0], [2.0]),
        ("multiple_choice", [{"label": 0, "probabilities": [0.25, 0.75]}], [0], [0]),
    ],
)
def test_rows_of_an_evaluation_are_read_again(name, rows, label_ids, values):
    candidate = PROBLEM_TYPES[name]
    read, predictions = candidate.columns.read_eval_rows(rows)
    assert read.tolist() == label_ids
    assert candidate.decoder.label_values(read, LabelSet(("a", "b"))) == values
    assert predictions["losses"].tolist() == [0.25 if name == "regression" else 0]
