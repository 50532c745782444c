"""Records with a list of spans: doccano, Prodigy and spaCy."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.span_lists import find_empty_format, read_texts
from bert_cli.examples.table_files.json_values import JsonRecord


def one(record, name):
    (found,) = read_texts("a.jsonl", [(3, record)], name)
    return found


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
def test_answers_of_prodigy(record, spans):
    assert one(record, "prodigy").spans == spans


def test_a_member_called_answer_is_of_prodigy_alone():
    assert one({"text": "a", "label": [], "answer": "no"}, "doccano").spans == []


def test_an_answer_of_prodigy_is_an_annotation():
    assert (
        find_empty_format([JsonRecord(1, {"text": "a"}), JsonRecord(2, {"text": "b", "answer": "accept"})]) == "prodigy"
    )
    assert find_empty_format([JsonRecord(1, {"text": "a", "answer": "yes"})]) is None


def test_offsets_and_label_ids_of_doccano():
    record = {"text": "Anna left", "annotations": [{"label": 12, "start_offset": 0, "end_offset": 4, "user": 1}]}
    (span,) = one(record, "doccano_annotations").spans
    assert (span[:3], span.has_label_id) == (("12", 0, 4), True)
    assert not one({"text": "Anna left", "label": [[0, 4, "12"]]}, "doccano").spans[0].has_label_id


FORM = 'expected "label": a list of [start, end, type], found '


@pytest.mark.parametrize(
    ("record", "name", "expected"),
    [
        ({"text": 3, "label": []}, "doccano", "expected {\"text\": a text, …}, found \"{'text': 3, 'label': []}\""),
        ([], "doccano", "expected {\"text\": a text, …}, found '[]'"),
        ({"text": "a", "label": [[0, 1]]}, "doccano", FORM + "'[0, 1]'; correct it"),
        ({"text": "a", "label": {"X": 1}}, "doccano", '"label" is not a list of spans; correct it'),
        ({"text": "a", "label": "X"}, "doccano", '"label" is not a list of spans; correct it'),
        (
            {"text": "a", "label": [[0, 1, ""]]},
            "doccano",
            "the type of a span is a text on one line, found ''; correct it",
        ),
        (
            {"text": "a", "label": [[0, 1, " "]]},
            "doccano",
            "the type of a span is a text on one line, found ' '; correct it",
        ),
        (
            {"text": "a", "label": [["0", True, "X"]]},
            "doccano",
            "the offsets of a span are whole numbers, found '0' and True; correct it",
        ),
        (
            {"text": "a", "annotations": [{"label": 1, "user": 2}]},
            "doccano_annotations",
            'expected "annotations": a list of {"start_offset", "end_offset", "label"}, '
            "found \"{'label': 1, 'user': 2}\"; correct it",
        ),
        (
            {"text": "a", "label": [[0, 1, True]]},
            "doccano",
            "the type of a span is a text on one line, found True; correct it",
        ),
        (
            {"text": "a", "spans": [{"start": 0, "end": 1}]},
            "prodigy",
            'expected "spans": a list of {"start", "end", "label"}, found "{\'start\': 0, \'end\': 1}"; correct it',
        ),
    ],
)
def test_bad_records(record, name, expected):
    with pytest.raises(InputError) as caught:
        one(record, name)
    assert str(caught.value) == f"a.jsonl:3: {expected}"
