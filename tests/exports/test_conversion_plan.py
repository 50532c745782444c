"""Which kind of model a conversion makes, and what its target cannot hold."""

import types

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, HEAD_TYPES, TAGGER
from bert_cli.exports.conversion_plan import check_dtype, choose_head_type
from bert_cli.exports.target import Target
from bert_cli.model.networks import NETWORKS

HF, TF1, HUB = (Target(name, ".", "x") for name in ("hf", "tf1", "hub"))


def kind_of(head, found, target, own=None):
    config = types.SimpleNamespace(network=NETWORKS["bert"])
    return choose_head_type(head, found, types.SimpleNamespace(classifier_type=own, config=config), target)


def test_auto_is_the_kind_that_has_what_was_found():
    for kind in ("masked_lm", "spans", ENCODER):
        assert HEAD_TYPES[kind].heads is not None
        assert kind_of("auto", HEAD_TYPES[kind].heads, HF) == kind
    assert kind_of("auto", (CLASSIFIER,), HF) == CLASSIFIER
    assert kind_of("auto", (CLASSIFIER,), HF, own=TAGGER) == TAGGER


def test_several_heads_go_side_by_side_where_the_format_can():
    heads = ("masked_lm", "spans")
    assert kind_of("auto", heads, TF1) is None
    with pytest.raises(InputError, match="Hugging Face has no class for all: choose with --head"):
        kind_of("auto", heads, HF)
    assert kind_of("spans", heads, HF) == "spans"


def test_a_head_that_is_not_there():
    with pytest.raises(InputError, match="--head=spans: the checkpoint has no spans; it has no head"):
        kind_of("spans", (), HF)


def test_a_module_holds_the_encoder_alone():
    assert kind_of("auto", ("spans",), HUB) == ENCODER
    with pytest.raises(InputError, match="holds the encoder alone"):
        kind_of("spans", ("spans",), HUB)


def test_smaller_numbers_are_for_hugging_face():
    check_dtype("float16", HF)
    check_dtype("float32", TF1)
    with pytest.raises(InputError, match="--float16: a TF1 checkpoint holds float32"):
        check_dtype("float16", TF1)
