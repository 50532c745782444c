"""Predictions as a sequence, a DataFrame and HTML."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score

from bert_cli.api.inputs.texts import read_texts_argument
from bert_cli.api.results.predictions import Prediction, make_predictions
from bert_cli.base.errors import InputError
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.parts import LabelSet
from bert_cli.problem_types.regression import REGRESSION

LABELS = LabelSet(("bad", "good"))
PROBABILITIES = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.625]], np.float32)
FRAME = pd.DataFrame({"text": ["fine", "dull", "<b>well</b>"], "label": ["good", "good", "bad"]}, index=[7, 8, 9])


def labels_of(problem_type):
    names = problem_type.reader.keep_names(LABELS.names)
    return LabelSet(names, problem_type.default_thresholds(names))


def predictions_of(values, problem_type=SINGLE_LABEL, labels=LABELS.names):
    outputs = {"probabilities": PROBABILITIES, "logits": 2 * PROBABILITIES, "values": PROBABILITIES[:, 1]}
    return make_predictions(read_texts_argument(values), problem_type, labels_of(problem_type), outputs, labels)


def test_items():
    predictions = predictions_of(FRAME)
    assert len(predictions) == 3
    assert predictions[0] == Prediction("fine", None, "good", ("good",), 0.75, {"bad": 0.25, "good": 0.75}, None)
    assert [prediction.label for prediction in predictions] == predictions.best == ["good", "bad", "good"]
    assert predictions[-1].text == "<b>well</b>"
    assert (predictions.labels, predictions.logits.tolist()) == (LABELS.names, (2 * PROBABILITIES).tolist())
    with pytest.raises(IndexError):
        predictions[3]


def test_slices():
    predictions = predictions_of(FRAME)[1:]
    assert (len(predictions), predictions.best, predictions.labels) == (2, ["bad", "good"], LABELS.names)
    np.testing.assert_array_equal(predictions.probabilities, PROBABILITIES[1:])
    assert predictions.to_frame().index.tolist() == [8, 9]
    assert predictions == predictions_of(FRAME)[1:]
    assert predictions != predictions_of(FRAME)


def test_a_frame_has_the_columns_and_the_index_of_the_input():
    frame = predictions_of(FRAME).to_frame()
    assert list(frame) == ["text", "label", "predicted_label", "probability", "prob_bad", "prob_good"]
    assert frame.index.tolist() == [7, 8, 9]
    assert frame["predicted_label"].tolist() == ["good", "bad", "good"]
    assert frame["probability"].tolist() == [0.75, 1.0, 0.625]
    assert list(FRAME) == ["text", "label"]
    assert list(predictions_of(FRAME["text"].tolist()).to_frame())[:2] == ["text", "label"]


def test_several_labels():
    predictions = predictions_of(FRAME["text"], MULTI_LABEL)
    assert predictions.best == [("good",), ("bad",), ("bad", "good")]
    assert (predictions[2].label, predictions[2].labels, predictions[2].probability) == (None, ("bad", "good"), None)
    assert list(predictions.to_frame()) == ["text", "labels", "prob_bad", "prob_good"]


@pytest.mark.parametrize(("by", "order"), [("margin", [2, 0, 1]), ("entropy", [2, 0, 1])])
def test_most_doubtful_first(by, order):
    predictions = predictions_of(FRAME)
    assert predictions.most_doubtful(by) == predictions[order]
    assert predictions.most_doubtful(by, 2).to_frame().index.tolist() == [9, 7]
    assert predictions_of(FRAME["text"], MULTI_LABEL).most_doubtful(by)[0].text == "<b>well</b>"
    with pytest.raises(InputError, match="by='words': one of margin, entropy"):
        predictions.most_doubtful("words")
    with pytest.raises(InputError, match="count=0"):
        predictions.most_doubtful(by, 0)
    with pytest.raises(InputError, match="a number is predicted"):
        predictions_of(FRAME, REGRESSION, ()).most_doubtful(by)


def test_labels_have_their_type():
    predictions = predictions_of(FRAME["text"], labels=(False, True))
    assert (predictions.labels, predictions.best) == ((False, True), [True, False, True])
    assert predictions[0].probabilities == {False: 0.25, True: 0.75}
    assert predictions.to_frame()["label"].dtype == bool
    assert repr(predictions).splitlines()[1] == "  True 0.750  fine"
    several = predictions_of(FRAME["text"], MULTI_LABEL, (3, 10))
    assert several.best == [(10,), (3,), (3, 10)]
    assert repr(several).splitlines()[3] == "  3, 10  <b>well</b>"


def test_numbers():
    predictions = predictions_of(FRAME["text"], REGRESSION)
    assert [prediction.value for prediction in predictions] == [0.75, 0.0, 0.625]
    assert list(predictions.to_frame()) == ["text", "value"]
    assert "0.625  <b>well</b>" in repr(predictions)


@pytest.mark.parametrize("problem_type", [SINGLE_LABEL, MULTI_LABEL, REGRESSION])
def test_no_texts(problem_type):
    predictions = make_predictions(read_texts_argument([]), problem_type, labels_of(problem_type), None, LABELS.names)
    assert (len(predictions), list(predictions)) == (0, [])
    assert predictions.to_frame().shape[0] == 0
    assert len(predictions.probabilities) == 0


def test_texts_in_a_notebook_are_escaped():
    predictions = predictions_of(FRAME["text"])
    html = predictions._repr_html_()
    assert "&lt;b&gt;well" in html
    assert "<b>" not in html
    assert repr(predictions).splitlines()[:2] == ["Predictions for 3 texts", "  good 0.750  fine"]


def test_they_work_where_arrays_do():
    predictions = predictions_of(FRAME)
    assert np.asarray(predictions).tolist() == ["good", "bad", "good"]
    assert accuracy_score(FRAME["label"], predictions) == pytest.approx(1 / 3)
    for labels in (FRAME["label"], FRAME["label"].to_numpy(), FRAME["label"].astype("category")):
        assert (predictions == labels).tolist() == (labels == predictions).tolist() == [True, False, False]
        assert (predictions != labels).tolist() == [False, True, True]
    # Other predictions and lists are compared as a whole.
    assert (predictions == predictions_of(FRAME), predictions == list(predictions)) == (True, True)
    assert FRAME.assign(predicted=predictions)["predicted"].tolist() == predictions.best
    wrong = predictions[predictions != FRAME["label"]]
    assert wrong.to_frame().index.tolist() == [8, 9]
    np.testing.assert_array_equal(wrong.probabilities, PROBABILITIES[1:])
    numbered = predictions_of(FRAME, labels=(3, 7))
    assert np.asarray(numbered).dtype == np.int64
    assert np.asarray(numbered, float).tolist() == [7.0, 3.0, 7.0]
    several = np.asarray(predictions_of(FRAME["text"], MULTI_LABEL))
    assert several.tolist() == [("good",), ("bad",), ("bad", "good")]
    numbers = predictions_of(FRAME["text"], REGRESSION)
    np.testing.assert_array_equal(np.asarray(numbers), PROBABILITIES[:, 1])
    assert numbers[[2, 0]].values.tolist() == [0.625, 0.75]
    assert np.asarray(predictions[:0]).shape == (0,)


def test_one_prediction_has_a_picture_and_a_table():
    prediction = predictions_of(FRAME)[2]
    assert repr(prediction) == "Prediction: good 0.625  <b>well</b>"
    assert prediction.to_frame().values.tolist() == [["good", 0.625], ["bad", 0.5]]
    assert "&lt;b&gt;well" in prediction._repr_html_()
    number = predictions_of(FRAME["text"], REGRESSION)[0]
    assert repr(number) == "Prediction: 0.750  fine"
    assert number.to_frame().values.tolist() == [[0.75]]
