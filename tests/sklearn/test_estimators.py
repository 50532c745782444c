"""Estimators in scikit-learn: its own checks, and the tools that copy, fit and combine estimators."""

import json
import logging
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

from bert_cli import Callback
from bert_cli.api import watching
from bert_cli.base.log import warn_once
from bert_cli.sklearn import BertClassifier, BertRegressor
from tests.rows import write_rows
from tests.sklearn.numbers_as_texts import WORDS, NumbersAsTexts, to_texts
from tests.snapshots import check_message, raises

CONFIG = {
    "vocab_size": 5 + len(WORDS), "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 32, "max_position_embeddings": 32, "type_vocab_size": 2, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "initializer_range": 0.1,
}  # fmt: skip
TEXTS = ["w0 w1", "w2 w3", "w0 w4", "w2 w5"] * 5
LABELS = [7, 3, 7, 3] * 5


@pytest.fixture(scope="session")
def parameters(tmp_path_factory) -> dict:
    """Parameters for a network that trains in a second."""
    folder = tmp_path_factory.mktemp("network")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    write_rows(folder / "vocab.txt", [*special, *WORDS])
    (folder / "bert_config.json").write_text(json.dumps(CONFIG))
    files = {"vocab_file": "vocab.txt", "bert_config_file": "bert_config.json"}
    options = {name: str(folder / file) for name, file in files.items()}
    return {
        "init_checkpoint": "random",
        "num_train_epochs": 8,
        "learning_rate": 0.01,
        "train_batch_size": 8,
        "max_seq_length": 8,
        "options": options | {"precision": "float32", "report": False},
    }


@pytest.fixture(scope="module")
def fitted(parameters) -> BertClassifier:
    return BertClassifier(**parameters).fit(TEXTS, LABELS)


def test_labels_come_back_with_their_dtype(fitted):
    predicted = fitted.predict(np.array(TEXTS))
    assert predicted.dtype == np.array(LABELS).dtype
    assert fitted.classes_.tolist() == [3, 7]
    assert fitted.score(TEXTS, LABELS) == 1
    probabilities = fitted.predict_proba(TEXTS[:2])
    assert probabilities.argmax(axis=1).tolist() == [1, 0]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-15)
    # An array [n, 1], as ColumnTransformer passes it, and tables are columns of texts.
    for texts in (np.array(TEXTS)[:, None], pd.DataFrame({"text": TEXTS}), pd.Series(TEXTS)):
        np.testing.assert_array_equal(fitted.predict(texts), predicted)


# Each library's columns, and each kind of label that pandas has.
@pytest.mark.parametrize(
    ("library", "dtype"),
    [
        ("pyarrow", "Int64"),
        ("pandas", "string"),
        pytest.param("polars", "category", marks=pytest.mark.slow),
        pytest.param("datasets", "int64[pyarrow]", marks=pytest.mark.slow),
    ],
)
def test_columns_of_other_libraries_and_labels_of_pandas_types(parameters, fitted, library, dtype):
    table = table_of(library)
    labels = pd.Series(LABELS).astype(dtype)
    estimator = BertClassifier(**parameters).fit(table["text"], labels)
    np.testing.assert_array_equal(estimator.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    assert list(map(int, estimator.classes_)) == [3, 7]
    assert list(map(int, estimator.predict(TEXTS))) == fitted.predict(TEXTS).tolist()


@pytest.mark.parametrize("library", ["polars", "pyarrow", "datasets"])
def test_columns_of_other_libraries(fitted, library):
    table = table_of(library)
    expected = fitted.predict(TEXTS)
    np.testing.assert_array_equal(fitted.predict(table), expected)
    np.testing.assert_array_equal(fitted.predict(table["text"]), expected)
    assert fitted.score(table["text"], table["label"]) == 1


def table_of(library):
    module = pytest.importorskip(library, reason="the library is not installed")
    columns = {"text": TEXTS, "label": LABELS}
    if library == "pandas":
        return pd.DataFrame(columns).astype({"text": "string[pyarrow]"})
    make_table = getattr(module, {"polars": "DataFrame", "pyarrow": "table", "datasets": "Dataset"}[library])
    return getattr(make_table, "from_dict", make_table)(columns)


@pytest.mark.parametrize("labels", [[1] * 20, np.linspace(0, 1, 20), [None, *LABELS[1:]], None, LABELS[1:]])
def test_wrong_labels_are_refused(parameters, labels):
    with raises(ValueError):
        BertClassifier(**parameters).fit(TEXTS, labels)


def test_cut_texts_are_reported_once(fitted, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("bert_cli"), "propagate", True)
    warn_once.cache_clear()
    long_text = "w1 " * 200
    for model in (fitted, fitted, pickle.loads(pickle.dumps(fitted))):
        model.predict([long_text])
    (line,) = [line for line in caplog.messages if "cut" in line]
    check_message(line)


def test_wrong_texts_and_parameters_are_refused(parameters, fitted):
    with raises(ValueError, "texts[1]: "):
        fitted.predict(["w0", float("nan")])
    with pytest.raises(ValueError, match="learning_rate"):
        BertClassifier(**parameters | {"learning_rate": -1}).fit(TEXTS, LABELS)
    with raises(ValueError, "class_weight: "):
        BertClassifier(**parameters, class_weight={4: 2}).fit(TEXTS, LABELS)
    for weights in ([-1.0] * 20, [0.0] * 20, [float("nan")] * 20):
        with raises(ValueError, "sample_weight: "):
            BertClassifier(**parameters).fit(TEXTS, LABELS, sample_weight=weights)
    with pytest.raises(NotFittedError):
        BertClassifier(**parameters).predict(TEXTS)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"learning_rate": 0.1}, "options['learning_rate']: use the parameter learning_rate"),
        ({"random_seed": 3}, "options['random_seed']: use the parameter random_state"),
        ({"class_weights": "balanced"}, "options['class_weights']: use the parameter class_weight"),
        ({"verbose": 1}, "options['verbose']: use the parameter verbose"),
        ({"problem_type": "regression"}, "options['problem_type']: fit chooses it"),
        ({"labels": ["3", "4"]}, "options['labels']: fit chooses it"),
        ({"sample_weight": [1]}, "options['sample_weight']: fit chooses it"),
        (["learning_rate"], "options: a dict"),
    ],
)
def test_options_do_not_repeat_parameters(parameters, options, advice):
    """Python answered with a TypeError about several values for an argument."""
    estimator = BertClassifier(**parameters | {"random_state": 1, "class_weight": "balanced", "options": options})
    with pytest.raises(ValueError, match=re.escape(advice)):
        estimator.fit(TEXTS, LABELS)


def test_parameters_are_copied(parameters):
    estimator = BertClassifier(**parameters, class_weight={3: 2.0}, random_state=5)
    copied = clone(estimator)
    assert copied.get_params() == estimator.get_params()
    assert copied.set_params(learning_rate=0.5).learning_rate == 0.5
    assert "learning_rate=0.01" in repr(estimator)


@pytest.mark.filterwarnings("ignore:Can't test estimator")
@pytest.mark.parametrize("estimator_class", [BertClassifier, BertRegressor])
def test_check_estimator_on_texts(parameters, estimator_class):
    """scikit-learn skips all checks but one for an estimator that takes no arrays of numbers."""
    results = check_estimator(estimator_class(**parameters))
    assert {result["check_name"]: result["status"] for result in results} == {"check_estimator_cloneable": "passed"}


class OnNumbers(NumbersAsTexts):
    """An estimator of texts that scikit-learn's checks can call: each row of numbers becomes a text."""

    def fit(self, X, y=None, sample_weight=None):  # noqa: N803
        return super().fit(to_texts(self, X, reset=True), y, sample_weight)

    def _predictions(self, texts):
        if not hasattr(self, "model_"):
            raise NotFittedError
        return super()._predictions(to_texts(self, texts, reset=False))


class ClassifierOnNumbers(OnNumbers, BertClassifier):
    pass


class RegressorOnNumbers(OnNumbers, BertRegressor):
    pass


NOT_FOR_TEXTS = {
    "check_sample_weight_equivalence_on_dense_data": "a repeated text takes part in more steps than a text of weight 2",
}  # fmt: skip
# Checks that train no model; test_check_estimator_on_numbers has all.
QUICK = {
    "check_valid_tag_types", "check_no_attributes_set_in_init", "check_estimators_unfitted", "check_mixin_order",
    "check_do_not_raise_errors_in_init_or_set_params", "check_parameters_default_constructible", "check_set_params",
    "check_get_params_invariance", "check_supervised_y_no_nan", "check_requires_y_none",
    "check_estimators_empty_data_messages",
}  # fmt: skip


@pytest.mark.parametrize("estimator_class", [ClassifierOnNumbers, RegressorOnNumbers])
def test_quick_checks_on_numbers(parameters, estimator_class):
    estimator = estimator_class(**parameters | {"num_train_epochs": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = {getattr(check, "func", check).__name__: check for _, check in estimator_checks_generator(estimator)}
        for name in QUICK:
            checks[name](clone(estimator))


@pytest.mark.slow
@pytest.mark.parametrize("estimator_class", [ClassifierOnNumbers, RegressorOnNumbers])
def test_check_estimator_on_numbers(parameters, estimator_class):
    # Several checks need a model that has learned.
    estimator = estimator_class(**parameters | {"max_seq_length": 16, "learning_rate": 0.003})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=NOT_FOR_TEXTS, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {}
    assert len(results) > 30


@pytest.mark.slow
def test_tools_of_scikit_learn(parameters):
    estimator = BertClassifier(**parameters | {"num_train_epochs": 30})  # a fold has 10 texts
    assert cross_val_score(estimator, TEXTS, LABELS, cv=2, n_jobs=2).tolist() == [1, 1]
    search = GridSearchCV(estimator, {"num_train_epochs": [1, 30]}, cv=2).fit(TEXTS, LABELS)
    assert search.best_params_ == {"num_train_epochs": 30}
    pipeline = make_pipeline(FunctionTransformer(), estimator).fit(TEXTS, LABELS)
    assert pipeline.predict(TEXTS).tolist() == LABELS
    calibrated = CalibratedClassifierCV(estimator, cv=2).fit(np.array(TEXTS), LABELS)
    assert calibrated.predict(np.array(TEXTS)).tolist() == LABELS
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(pipeline)).predict_proba(TEXTS), pipeline.predict_proba(TEXTS)
    )


@pytest.mark.slow
def test_weights_and_seeds(parameters):
    estimator = BertClassifier(**parameters)
    equal = estimator.fit(TEXTS, LABELS).predict_proba(TEXTS)
    np.testing.assert_array_equal(estimator.fit(TEXTS, LABELS, [2.0] * 20).predict_proba(TEXTS), equal)
    seeded = BertClassifier(**parameters, random_state=3)
    assert np.abs(seeded.fit(TEXTS, LABELS).predict_proba(TEXTS) - equal).max() > 1e-6
    by_sample = estimator.fit(TEXTS, LABELS, [1, 0, 1, 0] * 5).predict_proba(TEXTS)
    assert by_sample[:, 1].min() > 0.9, "texts of class 3 have no weight"
    by_class = BertClassifier(**parameters, class_weight={3: 0}).fit(TEXTS, LABELS).predict_proba(TEXTS)
    np.testing.assert_allclose(by_class, by_sample, atol=1e-4)


@pytest.mark.slow
def test_several_labels_and_numbers(parameters):
    rows = np.array([[1, 0], [0, 1], [1, 0], [0, 1]] * 5)
    for labels in (rows, scipy.sparse.csr_matrix(rows)):
        several = BertClassifier(**parameters).fit(TEXTS, labels)
        np.testing.assert_array_equal(several.predict(TEXTS), rows)
        assert several.predict_proba(TEXTS).shape == rows.shape
    numbers = np.array(LABELS) / 2
    regressor = BertRegressor(**parameters | {"num_train_epochs": 20}).fit(pd.Series(TEXTS), pd.Series(numbers))
    assert regressor.predict(TEXTS).dtype == np.float64
    assert regressor.score(TEXTS, numbers) > 0.5


@pytest.mark.slow  # two trainings
def test_a_search_in_a_notebook_shows_no_progress(parameters, monkeypatch):
    displays = []
    monkeypatch.setattr(watching, "is_notebook", lambda: True)
    monkeypatch.setattr(watching, "NotebookDisplay", lambda: displays.append(1) or Callback())
    BertClassifier(**parameters | {"num_train_epochs": 0.2}).fit(TEXTS, LABELS)
    assert displays == []
    BertClassifier(**parameters | {"num_train_epochs": 0.2}, verbose=1).fit(TEXTS, LABELS)
    assert displays == [1]
