"""Multi-label metrics, by hand and with scikit-learn; thresholds and their file."""

import json
import warnings

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from bert_cli.base.errors import InputError
from bert_cli.metrics.multi_label import (
    format_multi_label,
    measure_labels,
    multi_label_metrics,
    over_thresholds,
    read_thresholds,
    tune_thresholds,
    undefined_scores,
    write_thresholds,
)
from tests.snapshots import check_message

NAMES = ["a", "b", "never"]
# Label a is right, missed, right. Label b is right, right, a false positive.
LABEL_IDS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], np.float32)
PROBABILITIES = np.array([[0.9, 0.2, 0.1], [0.3, 0.8, 0.2], [0.1, 0.6, 0.3]], np.float32)
THRESHOLDS = np.full(3, 0.5)


def test_multi_label_metrics_by_hand():
    metrics, details = multi_label_metrics(
        LABEL_IDS, np.array([1.0, 2.0, 9.0]), PROBABILITIES, NAMES, THRESHOLDS, batch_size=2
    )
    # Over all decisions: 2 true positives, 1 false positive, 1 false negative.
    assert metrics["eval_micro_f1"] == np.float32(2 / 3)
    # 2 · 1 / (1 + 2) for a, 2 · 1 / (2 + 1) for b, and 0 for the third label, which never occurs.
    assert metrics["eval_macro_f1"] == np.float32((2 / 3 + 2 / 3 + 0) / 3)
    assert metrics["eval_subset_accuracy"] == np.float32(1 / 3)
    assert (metrics["eval_roc_auc"], metrics["eval_average_precision"]) == (1.0, 1.0)
    assert (metrics["eval_loss"], metrics["loss"], metrics["eval_examples"]) == (4.0, np.float32(5.25), 3)
    assert details["labels"]["a"] == {
        "threshold": 0.5, "precision": 1.0, "recall": 0.5, "f1": pytest.approx(2 / 3), "roc_auc": 1.0,
        "average_precision": 1.0, "support": 2,
    }  # fmt: skip
    assert (details["without_roc_auc"], details["without_average_precision"]) == (["never"], ["never"])
    json.dumps(details, allow_nan=False)


def test_format_multi_label_names_omitted_labels():
    assert format_multi_label(multi_label_metrics(LABEL_IDS, np.ones(3), PROBABILITIES, NAMES, THRESHOLDS, 8)[1]) == [
        "label  threshold  precision  recall      f1  ROC-AUC  av. prec.  support",
        "a         0.5000     1.0000  0.5000  0.6667   1.0000     1.0000        2",
        "b         0.5000     0.5000  1.0000  0.6667   1.0000     1.0000        1",
        "never     0.5000     0.0000  0.0000  0.0000        -          -        0",
        "left out of eval_roc_auc, as all or no examples have them: never",
        "left out of eval_average_precision, as no example has them: never",
    ]


@pytest.mark.parametrize("num_labels", [1, 4])
@pytest.mark.parametrize("decimals", [1, 8])  # with and without many ties
def test_metrics_equal_scikit_learn(num_labels, decimals):
    rng = np.random.default_rng(num_labels)
    label_ids = rng.integers(0, 2, (50, num_labels))
    probabilities = (
        np.clip(0.3 * label_ids + rng.uniform(size=label_ids.shape), 0, 1).round(decimals).astype(np.float32)
    )
    thresholds = rng.uniform(0.3, 0.7, num_labels)
    names = [str(number) for number in range(num_labels)]
    losses = rng.uniform(size=50)
    metrics, details = multi_label_metrics(label_ids, losses, probabilities, names, thresholds, 8)
    assert measure_labels(label_ids, losses, probabilities, thresholds, 8) == metrics
    predicted = (probabilities >= thresholds).astype(int)
    columns = range(num_labels)
    expected = [
        sklearn_metrics.precision_recall_fscore_support(label_ids[:, column], predicted[:, column], average="binary")[
            :3
        ]
        for column in columns
    ]
    scores = [tuple(details["labels"][name][key] for key in ("precision", "recall", "f1")) for name in names]
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    areas = [sklearn_metrics.roc_auc_score(label_ids[:, column], probabilities[:, column]) for column in columns]
    averages = [
        sklearn_metrics.average_precision_score(label_ids[:, column], probabilities[:, column]) for column in columns
    ]
    assert [details["labels"][name]["roc_auc"] for name in names] == areas
    assert [details["labels"][name]["average_precision"] for name in names] == averages
    assert metrics["eval_roc_auc"] == np.float32(np.mean(areas))
    assert metrics["eval_average_precision"] == np.float32(np.mean(averages))
    micro = sklearn_metrics.roc_auc_score(label_ids, probabilities, average="micro") if num_labels > 1 else areas[0]
    assert metrics["eval_roc_auc_micro"] == np.float32(micro)
    assert metrics["eval_macro_f1"] == np.float32(np.mean([f1 for *_, f1 in expected]))
    assert metrics["eval_micro_f1"] == np.float32(
        sklearn_metrics.f1_score(label_ids.reshape(-1), predicted.reshape(-1))
    )
    assert metrics["eval_subset_accuracy"] == np.float32(sklearn_metrics.accuracy_score(label_ids, predicted))
    if num_labels > 1:
        assert metrics["eval_roc_auc"] == np.float32(sklearn_metrics.roc_auc_score(label_ids, probabilities))
        for average in ("micro", "macro"):
            expected_f1 = sklearn_metrics.f1_score(label_ids, predicted, average=average)
            assert metrics[f"eval_{average}_f1"] == np.float32(expected_f1)


@pytest.mark.parametrize(("label", "average_precision"), [(0, None), (1, 1.0)])
def test_constant_labels_give_no_roc_auc_and_no_warnings(label, average_precision):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metrics, details = multi_label_metrics(
            np.full((2, 1), label), np.ones(2), np.full((2, 1), 0.1), ["x"], [0.5], 8
        )
    assert not {"eval_roc_auc", "eval_roc_auc_micro"} & set(metrics)
    assert metrics.get("eval_average_precision") == average_precision
    # Without any label, each prediction has an F1 of 0 or 0 / 0.
    expected_f1 = 0.0 if label else None
    assert metrics.get("eval_micro_f1") == metrics.get("eval_macro_f1") == expected_f1
    assert set(undefined_scores(np.full((2, 1), label))).isdisjoint(metrics)
    assert metrics["eval_subset_accuracy"] == 1 - label
    assert details["labels"]["x"]["roc_auc"] is None


def test_constant_predictions():
    metrics, _ = multi_label_metrics([[1], [0], [0], [0]], np.ones(4), np.full((4, 1), 0.7), ["x"], [0.5], 8)
    assert (metrics["eval_roc_auc"], metrics["eval_average_precision"]) == (0.5, 0.25)
    assert metrics["eval_micro_f1"] == np.float32(0.4)


def test_nan_is_refused():
    with pytest.raises(InputError, match="the model gives NaN"):
        multi_label_metrics([[1]], [1.0], [[np.nan]], ["x"], [0.5], 8)


@pytest.mark.parametrize(
    ("label_ids", "probabilities", "threshold"),
    [
        # F1 is 2/3, 2/4, 4/5 and 4/6 for one to four positive predictions, so that only 0.1 is negative.
        ([1, 0, 1, 0], [0.8, 0.3, 0.2, 0.1], 0.15),
        ([1, 1, 0, 0], [0.875, 0.75, 0.25, 0.1], 0.5),
        # Ties have the same prediction: F1 is 2/6 for three positive predictions, 6/8 for all five.
        ([1, 0, 0, 1, 1], [0.5, 0.5, 0.5, 0.25, 0.25], 0.125),
        # F1 is 2/3 for one positive prediction and for four; the threshold closest to 0.5 wins.
        ([1, 0, 0, 1], [0.75, 0.5, 0.25, 0.125], 0.625),
        ([0, 0], [0.9, 0.8], 0.5),
        ([1, 1], [0.0, 0.0], 0.0),
        ([0, 1], [0.0, 0.0], 0.0),
        ([1], [1.0], 0.5),
    ],
)
def test_tuned_thresholds_by_hand(label_ids, probabilities, threshold):
    column = np.array(probabilities, np.float32)[:, None]
    [tuned] = tune_thresholds(np.array(label_ids)[:, None], column)
    assert tuned == pytest.approx(threshold, abs=1e-7)


def test_tuned_threshold_has_the_best_f1():
    rng = np.random.default_rng(3)
    label_ids = rng.integers(0, 2, (40, 3))
    probabilities = np.clip(0.2 * label_ids + rng.uniform(size=label_ids.shape), 0, 1).round(2).astype(np.float32)
    thresholds = tune_thresholds(label_ids, probabilities)

    def predict(column, threshold):
        return tuple(probabilities[:, column] >= np.float64(threshold))

    def f1(column, predicted):
        return sklearn_metrics.f1_score(label_ids[:, column], predicted)

    for column, threshold in enumerate(thresholds):
        # A set, as many thresholds give the same predictions.
        candidates = {predict(column, candidate) for candidate in np.linspace(0, 1, 1001)}
        assert f1(column, predict(column, threshold)) == max(f1(column, predicted) for predicted in candidates)


def test_threshold_between_adjacent_float32_numbers():
    low = np.float32(0.3)
    high = np.nextafter(low, np.float32(1))
    probabilities = np.array([[high], [low]])
    [threshold] = tune_thresholds(np.array([[1], [0]]), probabilities)
    assert float(low) < threshold < float(high)
    assert over_thresholds(probabilities, [threshold]).tolist() == [[True], [False]]


def test_thresholds_are_read_as_written(tmp_path):
    path = tmp_path / "thresholds.json"
    thresholds = np.array([0.1, 1 / 3])
    write_thresholds(str(path), ["x", "ÿ z"], thresholds)
    assert path.read_text(encoding="utf-8") == '{\n  "x": 0.1,\n  "ÿ z": 0.3333333333333333\n}\n'
    assert read_thresholds(str(path), ["ÿ z", "x"]).tolist() == [1 / 3, 0.1]


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 0.5}',
        "[0.5, 0.5]",
        '{"x": 0.5, "y": "0.5"}',
        '{"x": 1.5, "y": 0.5}',
        '{"x": true, "y": 0.5}',
        '{"x": 0.5, "y"',
    ],
)
def test_invalid_threshold_file_is_refused(tmp_path, text):
    path = tmp_path / "thresholds.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"thresholds\.json") as raised:
        read_thresholds(str(path), ["x", "y"])
    check_message(raised)
