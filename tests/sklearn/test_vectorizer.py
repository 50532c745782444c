"""Vectors of texts in scikit-learn: its own checks, the FeatureExtractor's numbers, and pipelines."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from bert_cli import FeatureExtractor
from bert_cli.sklearn import BertVectorizer
from tests.sentence_cases import folder_of
from tests.sklearn.numbers_as_texts import NumbersAsTexts, to_texts

TEXTS = ["the dog", "a cat of the house", "old river", "young boat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return str(folder_of("mean", tmp_path_factory.mktemp("vectors") / "m"))


@pytest.fixture(scope="module")
def fitted(folder):
    return BertVectorizer(folder).fit(TEXTS)


def test_vectors_are_those_of_the_feature_extractor(folder, fitted):
    expected = np.asarray(FeatureExtractor.load(folder).extract(TEXTS))
    for texts in (TEXTS, pd.Series(TEXTS), np.array(TEXTS)[:, None], pd.DataFrame({"text": TEXTS})):
        vectors = fitted.transform(texts)
        assert type(vectors) is np.ndarray
        assert vectors.dtype == np.float32
        np.testing.assert_array_equal(vectors, expected)
    options = {"pooling": "cls,max", "layers": [-1, "embedding"], "normalize": True, "max_seq_length": 4}
    expected = FeatureExtractor.load(folder, precision="float32", **options).extract(TEXTS)
    vectorizer = BertVectorizer(folder, **options, options={"precision": "float32"})
    np.testing.assert_array_equal(vectorizer.fit_transform(TEXTS), expected)
    assert len(vectorizer.get_feature_names_out()) == expected.shape[1] == 32


def test_parameters_and_pickles(folder, fitted):
    copied = clone(BertVectorizer(folder, pooling="cls").set_params(normalize=True))
    assert {name: value for name, value in copied.get_params().items() if value is not None} == {
        "path": folder, "pooling": "cls", "normalize": True,
    }  # fmt: skip
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(TEXTS), fitted.transform(TEXTS))


def test_names_and_frames(fitted):
    assert fitted.get_feature_names_out().tolist() == [f"bertvectorizer{number}" for number in range(8)]
    frame = clone(fitted).set_output(transform="pandas").fit_transform(pd.Series(TEXTS, index=list("abcd")))
    assert frame.columns[0] == "bertvectorizer0"
    assert frame.index.tolist() == list("abcd")


def test_pipelines(folder):
    pipeline = make_pipeline(BertVectorizer(folder), LogisticRegression(C=1000))
    assert pipeline.fit(TEXTS * 4, [1, 2, 3, 4] * 4).predict(TEXTS).tolist() == [1, 2, 3, 4]
    assert cross_val_score(pipeline, TEXTS * 4, [1, 2, 3, 4] * 4, cv=2).tolist() == [1, 1]
    columns = make_column_transformer((BertVectorizer(folder), "text"), remainder="passthrough")
    assert columns.fit_transform(pd.DataFrame({"text": TEXTS, "stars": [1, 2, 3, 4]})).shape == (4, 9)


def test_refusals(folder, fitted):
    with pytest.raises(ValueError, match="pooling='none' gives vectors of tokens"):
        BertVectorizer(folder, pooling="none").fit(TEXTS)
    with pytest.raises(ValueError, match="/none: no checkpoint there"):
        BertVectorizer("/none").fit(TEXTS)
    with pytest.raises(ValueError, match=r"texts\[1\]: "):
        fitted.transform(["a", None])
    for name in ("path", "pooling", "layers"):
        with pytest.raises(ValueError, match=rf"options\['{name}'\]: use the parameter {name} instead"):
            BertVectorizer(folder, options={name: "cls"}).fit(TEXTS)
    with pytest.raises(NotFittedError):
        BertVectorizer(folder).transform(TEXTS)


class VectorizerOnNumbers(NumbersAsTexts, BertVectorizer):
    """A vectorizer that scikit-learn's checks can call: each row of numbers becomes a text."""

    def fit(self, X, y=None):  # noqa: N803
        return super().fit(to_texts(self, X, reset=True), y)

    def transform(self, X):  # noqa: N803
        check_is_fitted(self, "model_")
        return super().transform(to_texts(self, X, reset=False))


@pytest.mark.filterwarnings("ignore:Can't test estimator", "ignore::sklearn.exceptions.SkipTestWarning")
def test_check_estimator(folder):
    results = check_estimator(VectorizerOnNumbers(folder), on_fail=None)
    assert {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"} == {}
    assert len(results) > 40
    assert check_estimator(BertVectorizer(folder))[0]["status"] == "passed"
