"""Defaults that problem types inherit."""

import numpy as np

from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.parts import CellReader, LabelSet
from bert_cli.problem_types.regression import REGRESSION


class LengthReader(CellReader):
    """Reader with a number for each label: its length."""

    num_outputs = 1

    def label_array(self, row_labels, labels):
        return np.array([len(label) for label in row_labels])

    def parse(self, cells, labels):
        return [self.cell_labels(cells, row)[0] for row in range(len(cells.rows))]


def test_labels_without_names_have_one_output():
    assert LengthReader().output_count(("a", "b", "c")) == 1
    assert SINGLE_LABEL.reader.output_count(("a", "b", "c")) == 3
    cells = LabelCells("f.tsv", [2], [("a",)], ("label",), True)
    assert REGRESSION.reader.labels_from_columns(cells) == ()
    assert SINGLE_LABEL.reader.labels_from_columns(cells) is None


def test_cells_with_one_or_several_labels():
    cells = LabelCells("f.tsv", [2, 3], [("a",), (("a", "b"),)], ("label",), True)
    assert [LengthReader().cell_labels(cells, row) for row in range(2)] == [("a",), ("a", "b")]


def test_rows_are_left_to_people_from_an_uncertainty_on():
    predictions = {"probabilities": np.array([[0.75, 0.25], [0.5, 0.5]], np.float32)}
    columns = SINGLE_LABEL.columns.prediction_columns(predictions, LabelSet(("no", "yes"), abstain_from=0.5))
    assert list(columns)[-1] == "abstain"
    assert columns["abstain"].records() == [False, True]
    assert "abstain" not in SINGLE_LABEL.columns.prediction_columns(predictions, LabelSet(("no", "yes")))


def test_one_row_as_json():
    predictions = {"probabilities": np.array([[0.75, 0.25], [0.25, 0.75]], np.float32)}
    record = SINGLE_LABEL.text_answers.record(predictions, 1, LabelSet(("no", "yes")))
    assert record == {"label": "yes", "probabilities": {"no": 0.25, "yes": 0.75}}


def test_out_of_fold_columns_begin_with_the_given_label():
    predictions = {"probabilities": np.array([[0.75, 0.25]], np.float32)}
    columns = SINGLE_LABEL.columns.out_of_fold(np.array([1]), predictions, LabelSet(("no", "yes")))
    assert list(columns)[:2] == ["given", "predicted"]
    assert (columns["given"].records(), columns["predicted"].records()) == (["yes"], ["no"])
