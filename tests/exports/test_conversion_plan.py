"""Head types for a conversion, and checks for its target."""

import re
import types

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, HEAD_TYPES, TAGGER
from bert_cli.exports.conversion_plan import check_dtype, choose_head_type, choose_labels
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


@pytest.mark.parametrize(
    ("entries", "stored", "names", "rows", "dropped"),
    [
        (("yes", "no"), ("no", "so-so", "yes"), ("yes", "no"), (2, 0), ("so-so",)),
        (("ja=yes", "no"), ("no", "yes"), ("ja", "no"), (1, 0), ()),
        # A name may contain "=", and a name counts before a number.
        (("c", "a=b"), ("a=b", "c"), ("c", "a=b"), (1, 0), ()),
        (("c=d=a=b", "1=0"), ("a=b", "0"), ("c=d", "1"), (0, 1), ()),
        (("low=1", "high=0"), (), ("low", "high"), (1, 0), ()),
        (("low", "high"), (), ("low", "high"), (0, 1), ()),
    ],
)
def test_labels_choose_rows(entries, stored, names, rows, dropped):
    chosen = choose_labels(entries, stored, len(stored) or 2, CLASSIFIER)
    assert (chosen.names, chosen.rows, chosen.dropped) == (names, rows, dropped)


@pytest.mark.parametrize(
    ("entries", "stored", "head_type", "message"),
    [
        (("yes", "x"), ("no", "yes"), CLASSIFIER, "'x' is not a label of the source, which has no, yes; NEW=OLD"),
        (("yes", "x=2"), ("no", "yes"), CLASSIFIER, "'x=2' is not a label"),
        (("low",), (), CLASSIFIER, "which has 2 outputs without names; give 2 names, or NAME=NUMBER"),
        (("=yes", "no"), ("no", "yes"), CLASSIFIER, "label '' (number 0): names must differ"),
        (("a=yes", "a=no"), ("no", "yes"), CLASSIFIER, "label 'a' (number 1): names must differ"),
        (("a=yes", "yes"), ("no", "yes"), CLASSIFIER, "a=yes, yes name the same output of the source"),
        (("B-X", "B-Y"), ("O", "B-X", "B-Y"), TAGGER, "a tagger needs the tag O"),
    ],
)
def test_labels_that_choose_no_rows(entries, stored, head_type, message):
    with pytest.raises(InputError, match=re.escape(message)):
        choose_labels(entries, stored, len(stored) or 2, head_type)
