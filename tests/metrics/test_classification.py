"""Classification metrics, computed by hand and with scikit-learn."""

import math

import numpy as np
import pytest
import sklearn.metrics

from bert_cli.base.errors import InputError
from bert_cli.metrics.classification import (
    choice_metrics,
    classification_report,
    format_report,
    main_metrics,
    mean_of_batch_means,
)
from bert_cli.metrics.single_label import classification_metrics


def one_hot(predicted: list[int], num_labels: int) -> np.ndarray:
    """Return probabilities [n, num_labels] that are highest for the predicted classes."""
    return np.eye(num_labels, dtype=np.float32)[predicted] * 0.5 + 0.5 / num_labels


# Class 1 has 3 true positives, 1 false positive and 2 false negatives; class 0 has 4 right.
LABELS = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
PREDICTED = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]


def test_binary_metrics_by_hand():
    losses = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], np.float32)
    metrics = classification_metrics(LABELS, losses, one_hot(PREDICTED, 2), ["0", "1"], batch_size=4, positive=1)
    assert metrics["eval_accuracy"] == np.float32(0.7)
    assert metrics["eval_loss"] == np.float32(5.5)
    # Batches 1…4, 5…8, 9…10 have the means 2.5, 6.5 and 9.5.
    assert metrics["loss"] == np.float32(18.5 / 3)
    # Precision 3/4, recall 3/5.
    assert metrics["eval_f1"] == pytest.approx(2 * 0.75 * 0.6 / 1.35, abs=1e-7)
    # (TP TN - FP FN) / sqrt((TP+FP)(TP+FN)(TN+FP)(TN+FN)) with TP 3, TN 4, FP 1, FN 2.
    assert metrics["eval_mcc"] == pytest.approx((3 * 4 - 1 * 2) / math.sqrt(4 * 5 * 5 * 6), abs=1e-7)
    assert metrics["eval_examples"] == 10


def test_types_of_metrics():
    metrics = classification_metrics(LABELS, np.ones(10, np.float32), one_hot(PREDICTED, 2), ["0", "1"], 8)
    assert {name: type(value) for name, value in metrics.items()} == {
        "eval_accuracy": np.float32,
        "eval_loss": np.float32,
        "loss": np.float32,
        "eval_mcc": np.float32,
        "eval_f1": np.float32,
        "eval_examples": int,
        "eval_macro_f1": np.float32,
        "eval_weighted_f1": np.float32,
        "eval_roc_auc": np.float32,
        "eval_average_precision": np.float32,
        "eval_balanced_accuracy": np.float32,
        "eval_kappa": np.float32,
        "eval_brier": np.float32,
    }
    assert str(metrics["eval_accuracy"]) == "0.7"


@pytest.mark.parametrize(("batch_size", "expected"), [(1, 4.0), (2, 5.5), (3, 4.0), (100, 4.0)])
def test_mean_of_batch_means(batch_size, expected):
    # Batches of two have the means (1 + 2) / 2 and 9.
    losses = np.array([1, 2, 9], np.float32)
    expected = (1.5 + 9) / 2 if batch_size == 2 else expected
    assert mean_of_batch_means(losses, batch_size) == expected


def test_tied_probabilities_predict_the_first_class():
    metrics = classification_metrics([0, 1], [0.0, 0.0], np.full((2, 2), 0.5, np.float32), ["0", "1"], 8)
    assert metrics["eval_accuracy"] == 0.5


THREE_LABELS = np.array([0, 0, 1, 1, 2, 2])
THREE_PREDICTED = [0, 1, 1, 1, 2, 0]


def three_class_metrics(num_labels):
    names = [str(label) for label in range(num_labels)]
    return classification_metrics(THREE_LABELS, np.zeros(6), one_hot(THREE_PREDICTED, num_labels), names, 8)


def test_macro_f1_by_hand():
    # TP, FP, FN and F1 per class: 1, 1, 1: 1/2. 2, 1, 0: 4/5. 1, 0, 1: 2/3.
    metrics = three_class_metrics(3)
    assert metrics["eval_f1"] == metrics["eval_macro_f1"] == pytest.approx((1 / 2 + 4 / 5 + 2 / 3) / 3)


def test_macro_f1_ignores_absent_classes():
    assert three_class_metrics(5)["eval_f1"] == pytest.approx((1 / 2 + 4 / 5 + 2 / 3) / 3)


def test_mcc_for_three_classes_by_hand():
    # Gorodkin's R_K: (c s - sum p t) / sqrt((s^2 - sum p^2)(s^2 - sum t^2)), with c = 4 right, s = 6 rows,
    # p = 2, 3, 1 predictions and t = 2, 2, 2 labels per class.
    expected = (4 * 6 - (2 * 2 + 3 * 2 + 1 * 2)) / math.sqrt((36 - 14) * (36 - 12))
    assert three_class_metrics(3)["eval_mcc"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("labels", "predicted", "positive", "expected_f1"),
    [
        ([0, 1, 0, 1], [0, 0, 0, 0], 1, 0.0),
        ([0, 1, 0, 1], [1, 1, 1, 1], 1, 2 / 3),
        ([0, 1, 0, 1], [0, 0, 0, 0], 0, 2 / 3),
        ([0, 0], [0, 0], 1, None),
        ([0, 0], [0, 1], 1, None),
        ([0, 0], [0, 0], 0, 1.0),
        ([1, 1], [1, 1], 1, 1.0),
        ([1], [1], 1, 1.0),
    ],
)
def test_undefined_scores_are_left_out(labels, predicted, positive, expected_f1):
    """Equal predictions have a score. Equal labels leave out scores that no prediction can change."""
    probabilities = one_hot(predicted, 2)
    metrics = classification_metrics(labels, np.zeros(len(labels)), probabilities, ["0", "1"], 8, positive)
    is_varied = len(set(labels)) > 1
    assert (metrics.get("eval_mcc"), metrics.get("eval_roc_auc")) == ((0.0, 0.5) if is_varied else (None, None))
    assert metrics.get("eval_f1") == (None if expected_f1 is None else np.float32(expected_f1))
    assert "eval_macro_f1" in metrics
    report = classification_report(labels, probabilities, ["0", "1"])
    assert np.sum(report["confusion_matrix"]) == len(labels)


@pytest.mark.parametrize(("predicted", "expected"), [([0, 1, 1, 0], 1.0), ([1, 0, 0, 1], -1.0)])
def test_mcc_and_kappa_of_perfect_and_opposite_predictions(predicted, expected):
    metrics = classification_metrics([0, 1, 1, 0], np.zeros(4), one_hot(predicted, 2), ["0", "1"], 8)
    assert (metrics["eval_mcc"], metrics["eval_kappa"]) == (expected, expected)


def test_report_by_hand():
    assert classification_report(LABELS, one_hot(PREDICTED, 3), ["no", "yes", "never"]) == {
        "classes": {
            "no": {"precision": pytest.approx(4 / 6), "recall": 0.8, "f1": pytest.approx(8 / 11), "support": 5},
            "yes": {"precision": 0.75, "recall": 0.6, "f1": pytest.approx(2 / 3), "support": 5},
            "never": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0},
        },
        "confusion_matrix": [[4, 1, 0], [2, 3, 0], [0, 0, 0]],
    }


def test_format_report():
    report = classification_report(LABELS, one_hot(PREDICTED, 2), ["no", "contradiction"])
    assert format_report(report) == [
        "label          precision  recall      f1  support",
        "no                0.6667  0.8000  0.7273        5",
        "contradiction     0.7500  0.6000  0.6667        5",
        "rows: label, columns: prediction",
        "                         no contradiction",
        "no                        4             1",
        "contradiction             2             3",
    ]


@pytest.mark.parametrize(
    ("labels", "predicted", "supports"),
    [
        ([0, 1, 2], [1, 2, 0], [1, 1, 1]),
        ([0, 0, 0], [1, 1, 1], [3, 0, 0]),
        ([2], [0], [0, 0, 1]),
        ([1, 2, 1], [0, 0, 0], [0, 2, 1]),
    ],
)
def test_report_without_right_predictions_has_integer_supports(labels, predicted, supports):
    names = ["a", "b", "c"]
    report = classification_report(labels, one_hot(predicted, 3), names)
    scores = [report["classes"][name] for name in names]
    assert [score["support"] for score in scores] == supports
    assert {type(score["support"]) for score in scores} == {int}
    assert {score[ratio] for score in scores for ratio in ("precision", "recall", "f1")} == {0.0}
    assert format_report(report)[1] == f"a         0.0000  0.0000  0.0000  {supports[0]:7d}"
    metrics = classification_metrics(labels, np.ones(len(labels)), one_hot(predicted, 3), names, 8)
    assert (metrics["eval_accuracy"], metrics["eval_f1"]) == (0, 0)


def test_main_metrics():
    metrics = classification_metrics(LABELS, np.ones(10, np.float32), one_hot(PREDICTED, 2), ["0", "1"], 8)
    assert main_metrics("accuracy", metrics) == {"eval_accuracy": np.float32(0.7)}
    assert list(main_metrics("accuracy_f1", metrics)) == ["eval_accuracy", "eval_f1"]
    assert main_metrics("mcc", metrics) == {"eval_mcc": metrics["eval_mcc"]}


@pytest.mark.parametrize("positive", [0, 1])
def test_two_labels_have_the_scores_of_scikit_learn(positive):
    rng = np.random.default_rng(4)
    labels, scores = rng.integers(0, 2, 40), rng.random(40)
    predicted = (scores > 0.5).astype(int)
    probabilities = np.stack([1 - scores, scores], axis=1)
    metrics = classification_metrics(labels, np.ones(40), probabilities, ["0", "1"], 8, positive)
    expected = {
        "eval_accuracy": sklearn.metrics.accuracy_score(labels, predicted),
        "eval_f1": sklearn.metrics.f1_score(labels, predicted, pos_label=positive),
        "eval_mcc": sklearn.metrics.matthews_corrcoef(labels, predicted),
        "eval_macro_f1": sklearn.metrics.f1_score(labels, predicted, average="macro"),
        "eval_weighted_f1": sklearn.metrics.f1_score(labels, predicted, average="weighted"),
        "eval_roc_auc": sklearn.metrics.roc_auc_score(labels, scores),  # equal for both labels
    }
    assert {name: metrics[name] for name in expected} == {name: np.float32(value) for name, value in expected.items()}


def test_three_labels_have_the_scores_of_scikit_learn():
    rng = np.random.default_rng(5)
    labels, probabilities = rng.integers(0, 3, 40), rng.dirichlet(np.ones(3), 40)
    metrics = classification_metrics(labels, np.ones(40), probabilities, ["0", "1", "2"], 8)
    weighted = sklearn.metrics.f1_score(labels, probabilities.argmax(axis=1), average="weighted")
    auc = sklearn.metrics.roc_auc_score(labels, probabilities, multi_class="ovr")
    assert (metrics["eval_weighted_f1"], metrics["eval_roc_auc"]) == (np.float32(weighted), np.float32(auc))
    # A label without rows is left out of the mean.
    padded = np.concatenate([probabilities, np.zeros((40, 1))], axis=1)
    with_absent = classification_metrics(labels, np.ones(40), padded, ["0", "1", "2", "3"], 8)
    assert with_absent["eval_roc_auc"] == np.float32(auc)


def test_a_nan_probability_is_no_score():
    with pytest.raises(InputError, match="NaN instead of predictions"):
        classification_metrics([0, 1], [0.0, 0.0], np.array([[0.5, 0.5], [np.nan, 0.5]]), ["0", "1"], 8)


def test_choice_metrics_by_hand():
    probabilities = np.array([[0.1, 0.2, 0.7], [0.4, 0.4, 0.2], [0.1, 0.8, 0.1], [0.6, 0.2, 0.2]], np.float32)
    metrics = choice_metrics(np.array([2, 1, 1, 0]), np.array([1.0, 2.0, 3.0, 6.0]), probabilities, batch_size=3)
    assert metrics == {"eval_accuracy": 0.75, "eval_loss": 3.0, "loss": 4.0, "eval_examples": 4}
