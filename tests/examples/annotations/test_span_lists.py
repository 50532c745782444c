"""Records with a list of spans from doccano, Prodigy and spaCy."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.span_lists import find_empty_format, read_texts
from bert_cli.reading.records import JsonRecord
from tests.snapshots import raises


def read_record(record, name):
    (text,) = read_texts("a.jsonl", [(3, record)], name)
    return text


@pytest.mark.parametrize(
    ("record", "spans"),
    [
        ({"text": "a", "answer": "accept"}, []),
        ({"text": "a", "spans": [], "answer": "accept"}, []),
        ({"text": "a", "spans": []}, []),
        ({"text": "a", "spans": [], "answer": "reject"}, None),
        ({"text": "a", "spans": [], "answer": "ignore"}, None),
        ({"text": "a"}, None),
        ({"text": "a", "spans": None}, None),
    ],
)
def test_prodigy_answers(record, spans):
    assert read_record(record, "prodigy").spans == spans


def test_only_prodigy_has_answers():
    assert read_record({"text": "a", "label": [], "answer": "no"}, "doccano").spans == []


def test_prodigy_answer_is_an_annotation():
    assert (
        find_empty_format([JsonRecord(1, {"text": "a"}), JsonRecord(2, {"text": "b", "answer": "accept"})]) == "prodigy"
    )
    assert find_empty_format([JsonRecord(1, {"text": "a", "answer": "yes"})]) is None


def test_doccano_offsets_and_label_ids():
    record = {"text": "Anna left", "annotations": [{"label": 12, "start_offset": 0, "end_offset": 4, "user": 1}]}
    (span,) = read_record(record, "doccano_annotations").spans
    assert (span[:3], span.has_label_id) == (("12", 0, 4), True)
    assert not read_record({"text": "Anna left", "label": [[0, 4, "12"]]}, "doccano").spans[0].has_label_id


FORM = 'expected "label": a list of [start, end, type], found '


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"text": 3, "label": []}, "doccano"),
        ([], "doccano"),
        ({"text": "a", "label": [[0, 1]]}, "doccano"),
        ({"text": "a", "label": {"X": 1}}, "doccano"),
        ({"text": "a", "label": "X"}, "doccano"),
        ({"text": "a", "label": [[0, 1, ""]]}, "doccano"),
        ({"text": "a", "label": [[0, 1, " "]]}, "doccano"),
        ({"text": "a", "label": [["0", True, "X"]]}, "doccano"),
        ({"text": "a", "annotations": [{"label": 1, "user": 2}]}, "doccano_annotations"),
        ({"text": "a", "label": [[0, 1, True]]}, "doccano"),
        ({"text": "a", "spans": [{"start": 0, "end": 1}]}, "prodigy"),
    ],
)
def test_invalid_records(record, name):
    with raises(InputError, "a.jsonl:3: "):
        read_record(record, name)
