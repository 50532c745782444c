"""Head types for a conversion, and checks for its target."""

import types

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, HEAD_TYPES, TAGGER
from bert_cli.exports.conversion_plan import check_dtype, choose_head_type
from bert_cli.exports.target import Target
from bert_cli.model.networks import NETWORKS
from tests.snapshots import raises

HF, TF1, HUB = (Target(name, ".", "x") for name in ("hf", "tf1", "hub"))


def choose(head, heads, target, classifier_type=None):
    config = types.SimpleNamespace(network=NETWORKS["bert"])
    head_files = types.SimpleNamespace(classifier_type=classifier_type)
    return choose_head_type(head, heads, types.SimpleNamespace(head=head_files, config=config), target)


def test_auto_selects_the_head_type_in_the_checkpoint():
    for head_type in ("masked_lm", "spans", ENCODER):
        assert HEAD_TYPES[head_type].heads is not None
        assert choose("auto", HEAD_TYPES[head_type].heads, HF) == head_type
    assert choose("auto", (CLASSIFIER,), HF) == CLASSIFIER
    assert choose("auto", (CLASSIFIER,), HF, classifier_type=TAGGER) == TAGGER


def test_several_heads_are_kept_if_the_format_supports_it():
    heads = ("masked_lm", "spans")
    assert choose("auto", heads, TF1) is None
    with raises(InputError, "--head"):
        choose("auto", heads, HF)
    assert choose("spans", heads, HF) == "spans"


def test_a_missing_head():
    with raises(InputError, "--head=spans: "):
        choose("spans", (), HF)


def test_a_module_only_has_the_encoder():
    assert choose("auto", ("spans",), HUB) == ENCODER
    with pytest.raises(InputError, match="holds the encoder alone"):
        choose("spans", ("spans",), HUB)


def test_other_dtypes_need_hugging_face():
    check_dtype("float16", HF)
    check_dtype("float32", TF1)
    with raises(InputError, "--float16: "):
        check_dtype("float16", TF1)
