"""Multi-label classification, with values checked by hand."""

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.problem_types.columns import LabelCells, rows_of
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.parts import LabelSet
from tests.snapshots import raises

LABELS = LabelSet(("p", "q"), np.array([0.5, 0.5]))
PROBABILITIES = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875], [0.25, 0.75]], np.float32)
PREDICTIONS = {"probabilities": PROBABILITIES}


def test_parse_names_in_a_cell():
    cells = LabelCells("f.tsv", (2, 3), [("q,p",), ("",)], ("label",), True, ",")
    assert MULTI_LABEL.reader.parse(cells, LABELS.names) == [(1, 1), (0, 0)]
    assert MULTI_LABEL.reader.labels_from_columns(cells) is None


def test_parse_columns_in_another_order():
    cells = LabelCells("f.tsv", (2, 3), [("1", "0"), ("0", "0")], ("q", "p"), True)
    assert MULTI_LABEL.reader.labels_from_columns(cells) == ("q", "p")
    assert MULTI_LABEL.reader.parse(cells, LABELS.names) == [(0, 1), (0, 0)]
    with raises(InputError, "f.tsv:2: "):
        MULTI_LABEL.reader.parse(LabelCells("f.tsv", (2,), [("1", "2")], ("q", "p"), True), LABELS.names)
    with raises(InputError, "f.tsv:1: "):
        MULTI_LABEL.reader.parse(LabelCells("f.tsv", (2,), [("1", "2", "0")], ("a", "b", "c"), True), LABELS.names)


def test_label_array_of_no_rows_has_its_columns():
    assert MULTI_LABEL.reader.label_array([], LABELS.names).shape == (0, 2)
    assert MULTI_LABEL.reader.label_array([(1, 0), None], LABELS.names).tolist() == [[1, 0], [0, 0]]


def test_postprocess_is_sigmoid_and_the_mean_of_binary_cross_entropies():
    logits = np.array([[np.log(3), 0.0]], np.float32)
    predictions = MULTI_LABEL.decoder.postprocess(logits, np.array([[1, 0]], np.float32))
    np.testing.assert_allclose(predictions["probabilities"], [[0.75, 0.5]], rtol=1e-6)
    np.testing.assert_allclose(predictions["losses"], [-(np.log(0.75) + np.log(0.5)) / 2], rtol=1e-6)


def test_decisions_are_at_or_above_the_thresholds():
    assert MULTI_LABEL.decoder.decisions(PREDICTIONS, LABELS) == [("p",), ("p", "q"), ("q",), ("q",)]
    assert MULTI_LABEL.text_answers.record(PREDICTIONS, 0, LABELS) == {
        "labels": ["p"],
        "probabilities": {"p": 0.75, "q": 0.25},
    }


def test_suspects_have_a_line_for_each_label():
    has = np.array([[0, 0], [1, 1], [0, 0], [0, 1]], np.float32)
    rows, columns = MULTI_LABEL.columns.suspects(has, PREDICTIONS, LABELS)
    assert rows == [2, 0]
    assert columns["label"].values == ["q", "p"]
    assert columns["given"].cells() == [["no"], ["no"]]
    assert columns["predicted"].cells() == [["yes"], ["yes"]]
    assert columns["probability"].values.tolist() == [0.125, 0.25]


def test_out_of_fold_names_all_labels_of_a_row():
    columns = MULTI_LABEL.columns.out_of_fold(
        np.array([[1, 1], [0, 0], [0, 1], [1, 0]], np.float32), PREDICTIONS, LABELS
    )
    assert columns["given"].values == [("p", "q"), (), ("q",), ("p",)]
    assert columns["predicted"].values == [("p",), ("p", "q"), ("q",), ("q",)]


def test_rows_are_wrong_by_their_worst_decision():
    rows = rows_of(
        MULTI_LABEL.columns.eval_columns(np.array([[1, 0], [1, 1], [1, 1], [1, 0]], np.float32), PREDICTIONS)
    )
    assert rows[2] == {"labels": [1, 1], "probabilities": [0.125, 0.875]}
    assert [MULTI_LABEL.metrics.row_error(row, (0.5, 0.5)) for row in rows] == [0.0, 0.0, 0.875, 0.75]
    assert [MULTI_LABEL.explainer.row_surprise(row) for row in rows] == [0.25, 0.5, 0.875, 0.75]


def test_class_weights_are_pairs():
    label_ids = np.array([[1, 0], [1, 0], [1, 1], [0, 0]], np.float32)
    assert MULTI_LABEL.label_loss.class_weights.label_counts(label_ids, 2).tolist() == [[1, 3], [3, 1]]
    assert MULTI_LABEL.label_loss.class_weights.label_weights(np.array([2.0, 5.0])).tolist() == [[1, 2], [1, 5]]


def test_explained_score_names_the_labels_over_their_thresholds():
    answer, scores = MULTI_LABEL.explainer.explained_score({"probabilities": PROBABILITIES[3:]}, LABELS)
    assert answer == {"labels": ["q"], "explained_label": "q", "probability": 0.75}
    np.testing.assert_allclose(scores, [np.log(3)], rtol=1e-5)
    high_thresholds = LabelSet(("p", "q"), np.array([0.9, 0.9]))
    answer, _ = MULTI_LABEL.explainer.explained_score(PREDICTIONS, high_thresholds)
    assert answer == {"labels": [], "explained_label": "p", "probability": 0.75}
