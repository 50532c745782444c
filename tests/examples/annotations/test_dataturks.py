"""Dataturks records with the last character's offset as a span's end."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.annotated_texts import UnlabeledSpan
from bert_cli.examples.annotations.dataturks import is_record, read_texts, replace_entities
from bert_cli.reading.records import JsonRecord
from tests.snapshots import raises

POINT = {"start": 0, "end": 3, "text": "Anna"}


def read(annotation):
    (text,) = read_texts("a.json", [JsonRecord(3, {"content": "Anna left", "annotation": annotation})])
    return text


def test_is_record():
    assert is_record({"annotation": None, "content": "a"})
    assert not any(
        map(is_record, [{"content": "a"}, {"content": 1, "annotation": []}, {"text": "a", "annotation": []}])
    )


@pytest.mark.parametrize("label", ["PER", ["PER"]])
def test_the_end_is_the_last_character(label):
    (span,) = read([{"label": label, "points": [POINT]}]).spans
    assert span[:5] == ("PER", 0, 4, "a.json:3", "Anna")
    assert replace_entities({"id": 1}, [{"type": "PER", "start": 0, "end": 4, "text": "Anna", "score": 0.5}]) == {
        "id": 1,
        "annotation": [{"label": ["PER"], "points": [POINT]}],
    }


def test_null_is_not_annotated():
    assert read(None).spans is None
    assert read([]).spans == []


@pytest.mark.parametrize("label", [[], None, ""])
def test_annotations_without_a_label_are_kept(label):
    text = read([{"label": label, "points": [POINT]}, {"label": ["X"], "points": [POINT]}])
    assert text.unlabeled == (UnlabeledSpan("a.json:3", 0, 4),)
    assert len(text.spans) == 1


@pytest.mark.parametrize(
    "annotation", [5, [5], [{"label": ["X"]}], [{"label": ["X", "Y"], "points": [POINT]}], [{"points": [{"start": 0}]}]]
)
def test_invalid_annotations(annotation):
    with raises(InputError, "a.json:3: "):
        read(annotation)


def test_offset_that_is_not_a_number():
    with raises(InputError, "a.json:3: "):
        read([{"label": ["X"], "points": [{"start": 0, "end": "3"}]}])
