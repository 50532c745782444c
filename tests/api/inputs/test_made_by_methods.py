"""Errors about a call without a model, such as Classifier()."""

import pytest

import bert_cli
from bert_cli.base.errors import InputTypeError
from tests.snapshots import raises


@pytest.mark.parametrize(
    "name", ["Classifier", "FeatureExtractor", "MaskFiller", "QuestionAnswerer", "Tagger", "Tokenizer"]
)
def test_a_class_is_not_called(name):
    with raises(InputTypeError, f"{name}() "):
        getattr(bert_cli, name)()
