"""Single-label classification, with values checked by hand."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.problem_types.columns import LabelCells, rows_of
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.parts import LabelSet
from tests.snapshots import raises

LABELS = LabelSet(("no", "yes"))
PROBABILITIES = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875], [0.25, 0.75]], np.float32)
PREDICTIONS = {"probabilities": PROBABILITIES}


def cells(*labels, columns=("label",)):
    return LabelCells("f.tsv", range(2, 2 + len(labels)), [(label,) for label in labels], columns, True)


def test_parse():
    assert SINGLE_LABEL.reader.parse(cells("yes", "no", ("yes",)), LABELS.names) == ["yes", "no", "yes"]
    with raises(InputError, "f.tsv:3: "):
        SINGLE_LABEL.reader.parse(cells("yes", ""), LABELS.names)
    with raises(InputError, "f.tsv:2: "):
        SINGLE_LABEL.reader.parse(cells("maybe"), LABELS.names)
    with pytest.raises(InputError, match="several labels a row"):
        SINGLE_LABEL.reader.parse(cells("yes", columns=("a", "b")), LABELS.names)


def test_label_array_is_zero_without_a_label():
    labels = SINGLE_LABEL.reader.label_array(["yes", None, "no"], LABELS.names)
    assert (labels.dtype, labels.tolist()) == (np.int32, [1, 0, 0])


def test_postprocess_is_softmax_and_cross_entropy():
    logits = np.log(np.array([[3.0, 1.0], [1.0, 4.0]], np.float32))
    predictions = SINGLE_LABEL.decoder.postprocess(logits, np.array([0, 0]))
    np.testing.assert_allclose(predictions["probabilities"], [[0.75, 0.25], [0.2, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(predictions["losses"], -np.log([0.75, 0.2]), rtol=1e-6)


def test_logits_give_the_probabilities_back():
    logits = SINGLE_LABEL.decoder.logits(PROBABILITIES)
    np.testing.assert_allclose(
        SINGLE_LABEL.decoder.postprocess(logits, np.zeros(4, int))["probabilities"], PROBABILITIES
    )
    assert np.isfinite(SINGLE_LABEL.decoder.logits(np.array([[1.0, 0.0]], np.float32))).all()


def test_the_first_label_wins_a_tie():
    assert SINGLE_LABEL.decoder.decisions(PREDICTIONS, LABELS) == ["no", "no", "yes", "yes"]


def test_record():
    record = SINGLE_LABEL.text_answers.record(PREDICTIONS, 2, LABELS)
    assert record == {"label": "yes", "probabilities": {"no": 0.125, "yes": 0.875}}


def test_explained_score_is_the_log_odds():
    answer, scores = SINGLE_LABEL.explainer.explained_score(PREDICTIONS, LABELS)
    assert answer == {"label": "no", "probability": 0.75}
    np.testing.assert_allclose(scores, [np.log(3), 0.0, -np.log(7), -np.log(3)])


def test_suspects_are_sorted_by_confidence():
    rows, columns = SINGLE_LABEL.columns.suspects(np.array([1, 0, 0, 0]), PREDICTIONS, LABELS)
    assert rows == [2, 0, 3]  # row 1 is undecided: its label wins the tie, because it is the first
    assert (columns["given"].values, columns["predicted"].values) == (["no", "yes", "no"], ["yes", "no", "yes"])
    assert columns["probability"].values.tolist() == [0.125, 0.25, 0.25]


def test_out_of_fold():
    columns = SINGLE_LABEL.columns.out_of_fold(np.array([1, 0, 1, 1]), PREDICTIONS, LABELS)
    assert list(columns) == ["given", "predicted", "probabilities"]
    assert columns["given"].values == ["yes", "no", "yes", "yes"]
    assert columns["predicted"].values == ["no", "no", "yes", "yes"]


def test_row_errors():
    rows = rows_of(SINGLE_LABEL.columns.eval_columns(np.array([1, 0, 1, 1]), PREDICTIONS))
    assert rows[0] == {"label": 1, "probabilities": [0.75, 0.25]}
    assert [SINGLE_LABEL.metrics.row_error(row, ()) for row in rows] == [0.75, 0.0, 0.0, 0.0]
    assert [SINGLE_LABEL.explainer.row_surprise(row) for row in rows] == [0.75, 0.5, 0.125, 0.25]


def test_label_counts():
    assert SINGLE_LABEL.label_loss.class_weights.label_counts(np.array([0, 0, 2]), 4).tolist() == [2, 0, 1, 0]
