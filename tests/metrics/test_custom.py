"""Metrics of the user: imports, arguments of the functions, and errors in them."""

import numpy as np
import pytest
from sklearn import metrics as scikit

from bert_cli.base.errors import InputError
from bert_cli.metrics.custom import MetricArrays, check_metric_names, load_metrics, metrics_of_functions
from bert_cli.metrics.selection import lower_is_better
from bert_cli.problem_types.parts import LabelSet
from bert_cli.problem_types.registry import MULTI_LABEL, MULTIPLE_CHOICE, REGRESSION, SINGLE_LABEL
from tests.snapshots import raises

RNG = np.random.default_rng(3)
LABELS = np.array([0, 1, 1, 0, 1, 0])
SCORES = np.array([0.2, 0.8, 0.4, 0.6, 0.9, 0.1])
BINARY = MetricArrays(LABELS, (SCORES > 0.5).astype(int), np.stack([1 - SCORES, SCORES], axis=1))


def measure(text: str, arrays: MetricArrays, weights=None) -> float:
    return load_metrics([text])[0].measure(arrays, weights)


def test_names_of_scikit_learn():
    assert load_metrics(["sklearn.metrics:matthews_corrcoef"])[0].name == "eval_matthews_corrcoef"
    for name in ("matthews_corrcoef", "f1_score", "balanced_accuracy_score"):
        expected = getattr(scikit, name)(LABELS, BINARY.predictions)
        assert measure(f"sklearn.metrics:{name}", BINARY) == pytest.approx(expected)
    for name in ("roc_auc_score", "average_precision_score", "log_loss", "brier_score_loss"):
        assert measure(f"sklearn.metrics:{name}", BINARY) == pytest.approx(getattr(scikit, name)(LABELS, SCORES))
    weights = np.arange(6.0)
    expected = scikit.matthews_corrcoef(LABELS, BINARY.predictions, sample_weight=weights)
    assert measure("sklearn.metrics:matthews_corrcoef", BINARY, weights) == pytest.approx(expected)


def test_three_labels():
    probabilities = RNG.dirichlet([1, 1, 1], 30)
    labels = np.arange(30) % 3
    arrays = MetricArrays(labels, probabilities.argmax(axis=1), probabilities)
    assert measure("sklearn.metrics:log_loss", arrays) == pytest.approx(scikit.log_loss(labels, probabilities))
    assert measure("sklearn.metrics:top_k_accuracy_score", arrays) == scikit.top_k_accuracy_score(labels, probabilities)
    with raises(InputError, "--metric=sklearn.metrics:f1_score: ValueError: Target is multiclass"):
        measure("sklearn.metrics:f1_score", arrays)


def test_each_problem_type_has_its_arrays():
    logits = RNG.normal(size=(5, 3)).astype(np.float32)
    for problem_type in (SINGLE_LABEL, MULTIPLE_CHOICE):
        label_ids = np.array([0, 1, 2, 1, 0], np.int32)
        predictions = problem_type.decoder.postprocess(logits, label_ids)
        arrays = problem_type.columns.metric_arrays(label_ids, predictions, LabelSet(("a", "b", "c")))
        assert np.array_equal(arrays.labels, label_ids)
        assert np.array_equal(arrays.predictions, logits.argmax(axis=1))
        assert arrays.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-15)
    label_ids = RNG.integers(2, size=(5, 3)).astype(np.float32)
    predictions = MULTI_LABEL.decoder.postprocess(logits, label_ids)
    arrays = MULTI_LABEL.columns.metric_arrays(label_ids, predictions, LabelSet(("a", "b", "c"), np.full(3, 0.5)))
    assert np.array_equal(arrays.predictions, (logits >= 0).astype(int))
    assert arrays.labels.dtype == arrays.predictions.dtype == int
    values = logits[:, :1]
    predictions = REGRESSION.decoder.postprocess(values, np.zeros(5, np.float32))
    arrays = REGRESSION.columns.metric_arrays(np.zeros(5, np.float32), predictions, LabelSet())
    assert np.array_equal(arrays.predictions, values[:, 0])
    assert arrays.probabilities is None
    assert measure("sklearn.metrics:max_error", arrays) == pytest.approx(np.abs(values).max())


def test_a_file_of_the_user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_costs.py").write_text(
        "def cost(labels, predictions, probabilities):\n    return (probabilities[:, 1] * (labels != predictions)).sum()\n"
        "def share(labels, predictions, power=1):\n    return (labels == predictions).mean() ** power\n",
        encoding="utf-8",
    )
    expected = SCORES[BINARY.predictions != LABELS].sum()
    for name in ("my_costs", "my_costs.py", str(tmp_path / "my_costs.py")):
        assert measure(f"{name}:cost", BINARY) == pytest.approx(expected)
        assert measure(f"{name}:share", BINARY) == pytest.approx(4 / 6)
    with raises(InputError, "has no argument sample_weight"):
        measure("my_costs:share", BINARY, np.ones(6))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f1_score", "MODULE:FUNCTION is needed"),
        ("sklearn.metrics:", "MODULE:FUNCTION is needed"),
        ("sklearn.metrics:nothing", "sklearn.metrics has no function nothing"),
        ("no_such_module:cost", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("gone.py:cost", "gone.py does not exist"),
        ("a b:cost", "'a b' is no name of a module"),
        ("broken.py:cost", "broken.py"),
    ],
)
def test_functions_that_cannot_be_imported(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("def cost(:\n", encoding="utf-8")
    with raises(InputError, message):
        load_metrics([text])


def test_errors_in_a_function_name_it():
    def fails(labels, predictions):
        raise KeyError("weight\nof a label")

    metrics = metrics_of_functions({"fails": fails, "text": lambda labels, predictions: "x"})
    for metric, message in zip(metrics, ("metrics['fails']: KeyError", "metrics['text']: ValueError"), strict=True):
        with raises(InputError, message):
            metric.measure(BINARY)
    with raises(InputError, "a function is needed, not float"):
        metrics_of_functions({"pi": 3.14})
    with raises(InputError, "a name of letters"):
        metrics_of_functions({"a b": max})
    with raises(InputError, "eval_accuracy is reported already"):
        check_metric_names(metrics_of_functions({"accuracy": max}), ["eval_accuracy"])


def test_the_direction_follows_the_name():
    names = ("eval_max_error", "eval_hamming_loss", "eval_cost", "eval_matthews_corrcoef", "eval_error_f1")
    assert [lower_is_better(name) for name in names] == [True, True, True, False, False]
