"""Checks of requests."""

import types

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.serving.items import Item
from bert_cli.serving.requests import (
    check_dimensions,
    find_served_model,
    parse_columns,
    parse_item,
    parse_items,
    parse_object,
    parse_switch,
)
from bert_cli.serving.responses import RequestError
from bert_cli.settings.serving import Limits
from tests.snapshots import raises

LIMITS = Limits(max_texts=3, max_text_chars=10)
TEXTS = types.SimpleNamespace(
    name="texts", fields=("text", "text_b"), takes_pairs=True, vectors=types.SimpleNamespace(prompt_names=())
)
SINGLE_TEXTS = types.SimpleNamespace(name="single", fields=("text", "text_b"), takes_pairs=False)
QUESTIONS = types.SimpleNamespace(name="questions", fields=("question", "context"))


@pytest.mark.parametrize(
    ("value", "item"),
    [
        ("a", Item("a")),
        (["a", "b"], Item("a", "b")),
        ({"text": "a"}, Item("a")),
        ({"text": "a", "text_b": "b", "id": 7}, Item("a", "b", "7")),
        ({"text": "a", "text_b": None}, Item("a")),
    ],
)
def test_items(value, item):
    assert parse_item(value, TEXTS, LIMITS, "here") == item._replace(place="here")


@pytest.mark.parametrize(
    ("value", "status", "fragment"),
    [
        (7, 400, ""),
        (["a"], 400, ""),
        (["a", 1], 400, ""),
        ({}, 400, "'text'"),
        ({"text": 1}, 400, "'text'"),
        ({"text": "a", "id": [1]}, 400, "'id'"),
        ({"text": "a", "txet_b": "b"}, 400, "'txet_b'"),
        ({"text": "a", "model": "texts"}, 400, "'model' is unknown"),
        ("x" * 11, 413, "11 characters"),
        (["a", "x" * 11], 413, "11 characters"),
        ("a\x00b", 400, ""),
        ("a\ud800b", 400, ""),
    ],
)
def test_invalid_items(value, status, fragment):
    with raises(RequestError, fragment) as caught:
        parse_item(value, TEXTS, LIMITS, "here")
    assert caught.value.status == status
    assert str(caught.value).startswith("here: ")


@pytest.mark.parametrize("value", [["a", "b"], ["a", ""], {"text": "a", "text_b": "b"}])
def test_a_pair_for_a_model_of_single_texts(value):
    with raises(RequestError, "here: "):
        parse_item(value, SINGLE_TEXTS, LIMITS, "here")
    assert parse_item({"text": "a", "text_b": None}, SINGLE_TEXTS, LIMITS, "here") == Item("a", place="here")


def test_questions():
    value = {"question": "who?", "context": "Anna"}
    assert parse_item(value, QUESTIONS, LIMITS, "here") == Item("who?", "Anna", place="here")
    with pytest.raises(RequestError, match="'context' is not a text"):
        parse_item({"question": "who?", "context": None}, QUESTIONS, LIMITS, "here")


def test_lists():
    assert parse_items(["a", ["b", "c"]], TEXTS, LIMITS, "texts") == [
        Item("a", place="texts[0]"),
        Item("b", "c", place="texts[1]"),
    ]
    with pytest.raises(RequestError, match=r"4 texts; 3 are allowed") as caught:
        parse_items(["a"] * 4, TEXTS, LIMITS, "texts")
    assert caught.value.status == 413
    with pytest.raises(RequestError, match=r"texts\[1\]: "):
        parse_items(["a", 1], TEXTS, LIMITS, "texts")
    with pytest.raises(RequestError, match="is not a list"):
        parse_items("a", TEXTS, LIMITS, "texts")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"text": "\xe9"}', "the body is not UTF-8: byte 11 is wrong"),
        (b'{"text": ' + b"1" * 10_000 + b"}", "the body has a whole number with too many digits"),
        (b"[" * 100_000, "the body is not JSON: nested too deeply"),
    ],
)
def test_errors_do_not_quote_python(body, message):
    with pytest.raises(RequestError) as caught:
        parse_object(body)
    assert (caught.value.status, caught.value.message) == (400, message)


def test_the_size_of_vectors_may_be_given():
    model = types.SimpleNamespace(name="texts", vectors=types.SimpleNamespace(width=3))
    check_dimensions(3, model)
    check_dimensions(None, model)
    with pytest.raises(RequestError, match=r"^'dimensions': the vectors of the model texts have 3; leave it out$"):
        check_dimensions(2, model)
    for value in ("3", True, 3.0):
        with pytest.raises(RequestError, match="'dimensions' is not a whole number"):
            check_dimensions(value, model)


def test_columns_become_items():
    assert parse_columns({"text": ["a", "b"], "text_b": ["c", "d"]}, TEXTS, LIMITS, "'inputs'") == [
        Item("a", "c", place="'inputs'[0]"),
        Item("b", "d", place="'inputs'[1]"),
    ]
    with pytest.raises(RequestError, match=r"'inputs'\[1\]: 'text' is not a text"):
        parse_columns({"text": ["a", None]}, TEXTS, LIMITS, "'inputs'")
    with pytest.raises(RequestError, match="4 texts; 3 are allowed") as caught:
        parse_columns({"text": ["a"] * 4}, TEXTS, LIMITS, "'inputs'")
    assert caught.value.status == 413


def test_switches():
    assert [parse_switch(body, "a", True) for body in ({}, {"a": None}, {"a": False})] == [True, True, False]
    with pytest.raises(RequestError, match="'a' is neither true nor false"):
        parse_switch({"a": 1}, "a", True)


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff", b'"a"', b"[" * 100_000, b"null"])
def test_a_body_that_is_not_an_object(body):
    with pytest.raises(RequestError) as caught:
        parse_object(body)
    assert caught.value.status == 400


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=12,
    )
)
def test_any_json_is_an_item_or_an_error_of_the_client(value):
    for model in (TEXTS, QUESTIONS):
        status = None
        try:
            parse_item(value, model, LIMITS, "here")
        except RequestError as error:
            status = error.status
        assert status in (None, 400, 413)


def test_models_by_name():
    models = {"first": TEXTS, "second": QUESTIONS}
    assert find_served_model(models, None) is TEXTS
    assert find_served_model(models, "second") is QUESTIONS
    for wrong in ("third", 7, ["first"]):
        with pytest.raises(RequestError, match="there is first, second") as caught:
            find_served_model(models, wrong)
        assert caught.value.status == 404
