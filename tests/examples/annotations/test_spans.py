"""Spans of characters become word tags, and tags become spans, without loss."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.annotated_texts import AnnotatedText, Span
from bert_cli.examples.annotations.spans import make_tagging_examples
from bert_cli.outputs.answers.tagging import TagPrediction, example_entities
from bert_cli.text.offset_units import CODE_POINTS, JAVASCRIPT
from tests.annotated_texts import annotated_texts
from tests.snapshots import check_message, raises


def make_annotated_text(text, *spans):
    text_spans = [
        Span(entity_type, start, end, f"a.jsonl:{number}") for number, (start, end, entity_type) in enumerate(spans, 1)
    ]
    return AnnotatedText(text, text_spans, 1, "a.jsonl:1")


def predicted_spans(example):
    """Return the spans of a prediction that equals the example's tags."""
    ones = np.ones(len(example.words), np.float32)
    entities = example_entities(example, TagPrediction(example.tags, ones, ones))["entities"]
    return [(entity["start"], entity["end"], entity["type"]) for entity in entities]


def tag_words(text, *spans):
    (example,), _ = make_tagging_examples([make_annotated_text(text, *spans)])
    return list(zip(example.words, example.tags, strict=True))


def check_no_loss(case):
    text, spans = case
    (example,), unit = make_tagging_examples([make_annotated_text(text, *spans)])
    assert predicted_spans(example) == spans
    assert unit == CODE_POINTS
    assert all(text.startswith(word, start) for word, start in zip(example.words, example.starts, strict=True))


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(annotated_texts())
def test_no_span_is_lost(case):
    check_no_loss(case)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, derandomize=True, database=None)
@given(annotated_texts())
def test_no_span_is_lost_in_ten_thousand_texts(case):
    check_no_loss(case)


def test_punctuation_ends_a_word():
    assert tag_words("in Paris.", (3, 8, "LOC")) == [("in", "O"), ("Paris", "B-LOC"), (".", "O")]
    expected = [
        ("Mr", "O"),
        (".", "O"),
        ("O", "B-PER"),
        ("'", "I-PER"),
        ("Hara", "I-PER"),
        ("-", "O"),
        ("Lee", "B-PER"),
    ]
    assert tag_words("Mr. O'Hara-Lee", (4, 10, "PER"), (11, 14, "PER")) == expected


def test_white_space_at_the_ends_is_trimmed(caplog):
    text = "in  New York \n."
    (example,), _ = make_tagging_examples([make_annotated_text(text, (2, 14, "LOC"))])
    assert predicted_spans(example) == [(4, 12, "LOC")]
    # Spans may share white space, and a span may be repeated.
    assert tag_words("a b", (0, 2, "X"), (1, 3, "Y"), (0, 2, "X")) == [("a", "B-X"), ("b", "B-Y")]
    assert not caplog.records


def test_cut_words_are_reported_and_extended(caplog):
    caplog.set_level(logging.WARNING, "bert_cli")
    assert tag_words("in Parisians, no", (3, 8, "LOC")) == [
        ("in", "O"),
        ("Parisians", "B-LOC"),
        (",", "O"),
        ("no", "O"),
    ]
    check_message(caplog)
    caplog.clear()
    assert tag_words("ParisRome", (0, 5, "LOC"), (5, 9, "LOC")) == [("ParisRome", "B-LOC")]
    check_message(caplog.messages[1], "a.jsonl:2: ")
    caplog.clear()
    assert tag_words("a  b", (1, 3, "LOC")) == [("a", "O"), ("b", "O")]
    check_message(caplog)


def test_only_the_first_warnings_are_logged(caplog):
    caplog.set_level(logging.WARNING, "bert_cli")
    make_tagging_examples([make_annotated_text("Parisians", (0, 5, "LOC"))] * 12)
    assert len(caplog.messages) == 6
    check_message(caplog.messages[-1], "7 more")


@pytest.mark.parametrize(
    ("spans", "place"),
    [
        ([(0, 8, "PER"), (5, 12, "LOC")], "a.jsonl:2: "),
        ([(3, 3, "LOC")], "a.jsonl:1: "),
        ([(-1, 3, "LOC")], "a.jsonl:1: "),
        ([(9, 15, "LOC")], "a.jsonl:1: "),
    ],
)
def test_invalid_spans(spans, place):
    with raises(InputError, place):
        make_tagging_examples([make_annotated_text("New York in 99", *spans)])


def test_stored_text_must_match():
    good = Span("LOC", 0, 9, "a:1", "New\\nYork")
    text = "New \nYork."
    assert make_tagging_examples([AnnotatedText(text, [good], 1, "a:1")])[0][0].tags == ("B-LOC", "I-LOC", "O")
    with raises(InputError, "a:1: "):
        make_tagging_examples([AnnotatedText(text, [good._replace(text="Now York")], 1, "a:1")])


def test_half_of_a_surrogate_pair():
    with raises(InputError, "a.jsonl:1: "):
        make_tagging_examples([AnnotatedText("a \ud83d", None, 1, "a.jsonl:1")])


def test_javascript_offsets():
    """An emoji has two UTF-16 code units. This unit is used if it makes the spans fit words."""
    text = "👩🏽‍🚀 met Anna 😀 in Lund 😀."
    in_javascript = [(12, 16, "PER"), (23, 27, "LOC")]
    assert [text.encode("utf-16-le")[2 * a : 2 * b].decode("utf-16-le") for a, b, _ in in_javascript] == [
        "Anna",
        "Lund",
    ]
    (example,), unit = make_tagging_examples([make_annotated_text(text, *in_javascript)])
    assert unit == JAVASCRIPT
    assert [text[a:b] for a, b, _ in predicted_spans(example)] == ["Anna", "Lund"]
    (example,), unit = make_tagging_examples([make_annotated_text(text, (9, 13, "PER"), (19, 23, "LOC"))])
    assert unit == CODE_POINTS
    assert [text[a:b] for a, b, _ in predicted_spans(example)] == ["Anna", "Lund"]
    with raises(InputError):
        make_tagging_examples([make_annotated_text(text, *in_javascript, (28, 99, "X"))])


def test_tags_are_not_read_on_request():
    (example,), _ = make_tagging_examples([make_annotated_text("a b", (0, 3, "X"), (2, 3, "Y"))], with_tags=False)
    assert (example.words, example.tags) == (("a", "b"), None)
