"""Regression, with values checked by hand."""

from collections import Counter

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.problem_types.columns import LabelCells, rows_of
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.parts import LabelSet
from bert_cli.problem_types.regression import REGRESSION
from tests.snapshots import raises

NO_LABELS = LabelSet()
PREDICTIONS = {"values": np.array([1.5, 2, 5, 2.5], np.float32)}
TARGETS = np.array([1, 2, 3, 4], np.float32)


@pytest.mark.parametrize("cell", ["high", "nan", "inf", ""])
def test_parse_refuses_texts_that_are_not_numbers(cell):
    cells = LabelCells("f.tsv", (2, 3), [("1",), (cell,)], ("score",), True)
    with raises(InputError, "f.tsv:3: "):
        REGRESSION.reader.parse(cells, ())


def test_label_array_takes_texts_and_numbers():
    labels = REGRESSION.reader.label_array(["3.5", None, -1.5], ())
    assert (labels.dtype, labels.tolist()) == (np.float32, [3.5, 0.0, -1.5])


def test_strata_are_sorted_by_value():
    assert sorted(map(REGRESSION.reader.stratum, ["10", "9.5", "-1"])) == [-1.0, 9.5, 10.0]


def test_postprocess_is_the_squared_error():
    predictions = REGRESSION.decoder.postprocess(np.array([[1.5], [2.0]], np.float32), np.array([1, 4], np.float32))
    assert (predictions["values"].tolist(), predictions["losses"].tolist()) == ([1.5, 2.0], [0.25, 4.0])


def test_record_has_the_shortest_decimal():
    assert REGRESSION.text_answers.record({"values": np.array([0.1], np.float32)}, 0, NO_LABELS) == {"value": 0.1}


def test_suspects_are_all_rows_with_the_largest_errors_first():
    rows, columns = REGRESSION.columns.suspects(TARGETS, PREDICTIONS, NO_LABELS)
    assert rows == [2, 3, 0, 1]
    assert columns["difference"].values.tolist() == [2.0, -1.5, 0.5, 0.0]


def test_row_errors():
    rows = rows_of(REGRESSION.columns.eval_columns(TARGETS, PREDICTIONS))
    assert rows[3] == {"value": 4.0, "predicted": 2.5}
    assert [REGRESSION.metrics.row_error(row, ()) for row in rows] == [0.5, 0.0, 2.0, 1.5]
    assert [REGRESSION.explainer.row_surprise(row) for row in rows] == [0.5, 0.0, 2.0, 1.5]


def test_numbers_have_no_class_weights_and_no_teacher():
    with raises(InputError, "--loss: is about labels, and a number is predicted here"):
        require(REGRESSION.label_loss, "--loss")
    with raises(InputError, "--distill_from: learns the probabilities of labels"):
        require(REGRESSION.distiller, "--distill_from")
    assert not REGRESSION.calibrator
    assert REGRESSION.find_thresholds(()) is REGRESSION.default_thresholds(()) is None


def test_numbers_have_ten_intervals():
    assert REGRESSION.reader.strata(["5.0", 1.0, 1.0, 9]).rows == [["5"], ["0"], ["2"], ["7"]]
    counts = Counter(stratum for [stratum] in REGRESSION.reader.strata(range(100)).rows)
    assert counts == {str(n): 10 for n in range(10)}
