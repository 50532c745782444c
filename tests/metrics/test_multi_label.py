"""Metrics of several labels against numbers worked out by hand, and against scikit-learn; thresholds and their file."""

import json
import warnings

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from bert_cli.base.errors import InputError
from bert_cli.metrics.multi_label import (
    format_multi_label,
    multi_label_metrics,
    over_thresholds,
    read_thresholds,
    tune_thresholds,
    write_thresholds,
)

NAMES = ["a", "b", "never"]
# a: right, missed, right. b: right, right, false alarm.
HAS = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], np.float32)
PROBABILITIES = np.array([[0.9, 0.2, 0.1], [0.3, 0.8, 0.2], [0.1, 0.6, 0.3]], np.float32)
HALF = np.full(3, 0.5)


def test_by_hand():
    metrics, details = multi_label_metrics(HAS, np.array([1.0, 2.0, 9.0]), PROBABILITIES, NAMES, HALF, batch_size=2)
    # Of all decisions 2 hits, 1 false alarm, 1 missed.
    assert metrics["eval_micro_f1"] == np.float32(2 / 3)
    # 2 · 1 / (1 + 2) for a, 2 · 1 / (2 + 1) for b, and nothing to find in the third.
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


def test_lines_name_what_is_left_out():
    assert format_multi_label(multi_label_metrics(HAS, np.ones(3), PROBABILITIES, NAMES, HALF, 8)[1]) == [
        "label  threshold  precision  recall      f1  ROC-AUC  av. prec.  support",
        "a         0.5000     1.0000  0.5000  0.6667   1.0000     1.0000        2",
        "b         0.5000     0.5000  1.0000  0.6667   1.0000     1.0000        1",
        "never     0.5000     0.0000  0.0000  0.0000        -          -        0",
        "left out of eval_roc_auc, as all or no examples have them: never",
        "left out of eval_average_precision, as no example has them: never",
    ]


@pytest.mark.parametrize("num_labels", [1, 4])
@pytest.mark.parametrize("decimals", [1, 8])  # with many equal probabilities, and without
def test_equal_to_scikit_learn(num_labels, decimals):
    rng = np.random.default_rng(num_labels)
    has = rng.integers(0, 2, (50, num_labels))
    probabilities = np.clip(0.3 * has + rng.uniform(size=has.shape), 0, 1).round(decimals).astype(np.float32)
    thresholds = rng.uniform(0.3, 0.7, num_labels)
    names = [str(number) for number in range(num_labels)]
    metrics, details = multi_label_metrics(has, np.ones(50), probabilities, names, thresholds, 8)
    predicted = (probabilities >= thresholds).astype(int)
    columns = range(num_labels)
    each = [
        sklearn_metrics.precision_recall_fscore_support(has[:, column], predicted[:, column], average="binary")[:3]
        for column in columns
    ]
    found = [tuple(details["labels"][name][key] for key in ("precision", "recall", "f1")) for name in names]
    np.testing.assert_allclose(found, each, rtol=1e-12)
    areas = [sklearn_metrics.roc_auc_score(has[:, column], probabilities[:, column]) for column in columns]
    averages = [sklearn_metrics.average_precision_score(has[:, column], probabilities[:, column]) for column in columns]
    assert [details["labels"][name]["roc_auc"] for name in names] == areas
    assert [details["labels"][name]["average_precision"] for name in names] == averages
    assert metrics["eval_roc_auc"] == np.float32(np.mean(areas))
    assert metrics["eval_average_precision"] == np.float32(np.mean(averages))
    micro = sklearn_metrics.roc_auc_score(has, probabilities, average="micro") if num_labels > 1 else areas[0]
    assert metrics["eval_roc_auc_micro"] == np.float32(micro)
    assert metrics["eval_macro_f1"] == np.float32(np.mean([f1 for *_, f1 in each]))
    assert metrics["eval_micro_f1"] == np.float32(sklearn_metrics.f1_score(has.reshape(-1), predicted.reshape(-1)))
    assert metrics["eval_subset_accuracy"] == np.float32(sklearn_metrics.accuracy_score(has, predicted))
    if num_labels > 1:
        assert metrics["eval_roc_auc"] == np.float32(sklearn_metrics.roc_auc_score(has, probabilities))
        for average in ("micro", "macro"):
            wanted = sklearn_metrics.f1_score(has, predicted, average=average)
            assert metrics[f"eval_{average}_f1"] == np.float32(wanted)


@pytest.mark.parametrize(("has", "average_precision"), [(0, None), (1, 1.0)])
def test_a_data_set_of_one_class_gives_numbers_without_warnings(has, average_precision):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metrics, details = multi_label_metrics(np.full((2, 1), has), np.ones(2), np.full((2, 1), 0.1), ["x"], [0.5], 8)
    assert not {"eval_roc_auc", "eval_roc_auc_micro"} & set(metrics)
    assert metrics.get("eval_average_precision") == average_precision
    assert (metrics["eval_micro_f1"], metrics["eval_macro_f1"]) == (0.0, 0.0)
    assert metrics["eval_subset_accuracy"] == 1 - has
    assert details["labels"]["x"]["roc_auc"] is None


def test_constant_predictions():
    metrics, _ = multi_label_metrics([[1], [0], [0], [0]], np.ones(4), np.full((4, 1), 0.7), ["x"], [0.5], 8)
    assert (metrics["eval_roc_auc"], metrics["eval_average_precision"]) == (0.5, 0.25)
    assert metrics["eval_micro_f1"] == np.float32(0.4)


def test_nan_is_an_error():
    with pytest.raises(InputError, match="the model gives NaN"):
        multi_label_metrics([[1]], [1.0], [[np.nan]], ["x"], [0.5], 8)


@pytest.mark.parametrize(
    ("has", "probabilities", "threshold"),
    [
        # F1 2/3, 2/4, 4/5 and 4/6 with one, two, three and all of them: the 0.1 alone is left out.
        ([1, 0, 1, 0], [0.8, 0.3, 0.2, 0.1], 0.15),
        ([1, 1, 0, 0], [0.875, 0.75, 0.25, 0.1], 0.5),
        # Equal ones go together: F1 2/6 with three of them, 6/8 with all.
        ([1, 0, 0, 1, 1], [0.5, 0.5, 0.5, 0.25, 0.25], 0.125),
        # F1 2/3 with one of them and with all; of the two the one nearest to a half is taken.
        ([1, 0, 0, 1], [0.75, 0.5, 0.25, 0.125], 0.625),
        ([0, 0], [0.9, 0.8], 0.5),
        ([1, 1], [0.0, 0.0], 0.0),
        ([0, 1], [0.0, 0.0], 0.0),
        ([1], [1.0], 0.5),
    ],
)
def test_thresholds_by_hand(has, probabilities, threshold):
    column = np.array(probabilities, np.float32)[:, None]
    [found] = tune_thresholds(np.array(has)[:, None], column)
    assert found == pytest.approx(threshold, abs=1e-7)


def test_no_other_threshold_is_better():
    rng = np.random.default_rng(3)
    has = rng.integers(0, 2, (40, 3))
    probabilities = np.clip(0.2 * has + rng.uniform(size=has.shape), 0, 1).round(2).astype(np.float32)
    thresholds = tune_thresholds(has, probabilities)

    def labelled(column, threshold):
        return tuple(probabilities[:, column] >= np.float64(threshold))

    def f1(column, chosen):
        return sklearn_metrics.f1_score(has[:, column], chosen)

    for column, threshold in enumerate(thresholds):
        others = {labelled(column, other) for other in np.linspace(0, 1, 1001)}  # fewer: many thresholds choose alike
        assert f1(column, labelled(column, threshold)) == max(f1(column, other) for other in others)


def test_a_threshold_between_two_neighbours_of_float32():
    low = np.float32(0.3)
    high = np.nextafter(low, np.float32(1))
    probabilities = np.array([[high], [low]])
    [threshold] = tune_thresholds(np.array([[1], [0]]), probabilities)
    assert float(low) < threshold < float(high)
    assert over_thresholds(probabilities, [threshold]).tolist() == [[True], [False]]


def test_thresholds_come_back_from_their_file(tmp_path):
    path = tmp_path / "thresholds.json"
    thresholds = np.array([0.1, 1 / 3])
    write_thresholds(str(path), ["x", "ÿ z"], thresholds)
    assert path.read_text(encoding="utf-8") == '{\n  "x": 0.1,\n  "ÿ z": 0.3333333333333333\n}\n'
    assert read_thresholds(str(path), ["ÿ z", "x"]).tolist() == [1 / 3, 0.1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"x": 0.5}', "is not an object with a threshold for each of x, y; evaluate with --threshold=tuned"),
        ("[0.5, 0.5]", "is not an object with a threshold for each of x, y"),
        ('{"x": 0.5, "y": "0.5"}', 'the threshold of y is "0.5"; give a number from 0 to 1'),
        ('{"x": 1.5, "y": 0.5}', "the threshold of x is 1.5; give a number from 0 to 1"),
        ('{"x": true, "y": 0.5}', "the threshold of x is true; give a number from 0 to 1"),
        ('{"x": 0.5, "y"', "thresholds.json:1"),
    ],
)
def test_a_file_that_does_not_fit(tmp_path, text, message):
    path = tmp_path / "thresholds.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"thresholds\.json") as raised:
        read_thresholds(str(path), ["x", "y"])
    assert message in str(raised.value)
