"""Rules between flags: conditions, alternatives, and the clauses in help texts."""

import pytest

from bert_cli.flags.rules import Condition, alternatives_of, describe_rules, make_rules
from tests.snapshots import raises

NAMES = ("format", "pooling", "words", "layers", "rate", "train")


def rules(name, needs=(), excludes=(), because=""):
    return list(make_rules(name, needs, excludes, because, NAMES))


@pytest.mark.parametrize(
    ("text", "condition", "shown"),
    [
        ("train", Condition("train"), "--train"),
        ("format=npz|npy", Condition("format", ("npz", "npy")), "--format=npz|npy"),
        ("rate!=0.0", Condition("rate", ("0.0",), True), "--rate"),
        ("rate=LIST", Condition("rate", ("LIST",)), "a list in --rate"),
        ("no rate", Condition("rate", is_absent=True), "no --rate"),
    ],
)
def test_conditions(text, condition, shown):
    assert Condition.parse(text) == condition
    assert str(condition) == shown


def test_a_wrong_condition_is_refused():
    with raises(TypeError):
        Condition.parse("do train")


def test_alternatives_use_only_flags_of_the_command():
    assert alternatives_of("train or words with layers", NAMES) == (
        (Condition("train"),),
        (Condition("words"), Condition("layers")),
    )
    assert alternatives_of("train or eval", NAMES) == ((Condition("train"),),)
    assert alternatives_of("eval", NAMES) == ()
    assert alternatives_of("train with no rate", NAMES) == ((Condition("train"), Condition("rate", is_absent=True)),)
    assert alternatives_of("train with no eval", NAMES) == ((Condition("train"),),)
    assert rules("words", needs="eval") == []


def test_rules_have_reasons_by_condition():
    needs, excludes = rules("words", "train", {"=x": ("pooling", "layers=1")}, {"pooling": "why"})[0:3:2]
    assert (needs.owner, needs.is_need, needs.because, needs.others) == (Condition("words"), True, "", "--train")
    assert (str(excludes.owner), excludes.is_need, excludes.others) == ("--words=x", False, "--layers=1")
    assert [rule.because for rule in rules("words", "train", "pooling", {"pooling": "why"})] == ["", "why"]
    assert [rule.because for rule in rules("words", "train", "pooling", "why")] == ["why", "why"]


def test_clauses_for_help():
    assert describe_rules([]) == []
    assert describe_rules(rules("words", ("train", "rate or layers"), ("pooling", "format=npz"))) == [
        "needs --train, and --rate or --layers",
        "not with --pooling or --format=npz",
    ]
    assert describe_rules(rules("format", {"=npy|npz": "pooling"})) == ["npy, npz: needs --pooling"]
    assert describe_rules(rules("rate", {"=LIST": "train"}, {"!=0": "words"})) == [
        "a list needs --train",
        "other values: not with --words",
    ]
    assert describe_rules(rules("rate", {"=x": "train"}, {"!=x": "words"}), implicit_value="x") == [
        "without a value: needs --train",
        "with a value: not with --words",
    ]
    assert describe_rules([], True) == ["required"]
    assert describe_rules(rules("words", "train"), "unless pooling") == ["required unless --pooling", "needs --train"]
