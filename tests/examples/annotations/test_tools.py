"""The table of annotation tools: each row recognizes and reads its records."""

import pytest

from bert_cli.examples.annotations.record_formats import find_structure
from bert_cli.examples.annotations.tools import TOOLS
from bert_cli.reading.records import JsonRecord

RECORDS = {
    "spacy_pairs": ["Anna left", {"entities": [[0, 4, "PER"]]}],
    "dataturks": {"content": "Anna left", "annotation": [{"label": ["PER"], "points": [{"start": 0, "end": 3}]}]},
    "prodigy": {"text": "Anna left", "spans": [{"start": 0, "end": 4, "label": "PER"}], "meta": {}},
    "doccano": {"text": "Anna left", "label": [[0, 4, "PER"]]},
}


@pytest.mark.parametrize(("name", "record"), RECORDS.items())
def test_a_row_recognizes_and_reads_its_records(name, record):
    assert find_structure(record) == name
    (text,), _, left_out = TOOLS[name].read("a.json", [JsonRecord(1, record)])
    assert [(span.start, span.end, span.type) for span in text.spans or ()] == [(0, 4, "PER")]
    assert not left_out


REGIONS = [{"start": 0, "end": 4, "labels": ["PER"]}]
RESULT = [{"type": "labels", "value": REGIONS[0]}]


def test_annotations_that_are_not_used():
    choices = {"type": "choices", "value": {"choices": ["good"]}}
    annotations = [{"result": [*RESULT, choices]}, {"result": []}, {"result": [], "was_cancelled": True}]
    task = {"id": 1, "data": {"text": "Anna left"}, "annotations": annotations}
    texts, not_used, left_out = TOOLS["label_studio"].read("a.json", [JsonRecord(1, task)])
    assert (len(texts), not_used) == (1, ["annotations of type choices"])
    assert [str(rows) for rows in left_out] == ["further annotations of tasks with several (2)"]


@pytest.mark.parametrize(
    ("name", "record", "not_used"),
    [
        ("prodigy", {"text": "Anna left", "spans": [], "answer": "accept", "meta": {"by": 1}}, ["meta"]),
        ("doccano", {"text": "Anna left", "label": [], "answer": 1, "data": "other"}, ["answer", "data"]),
        ("spacy_doc", {"text": "Anna left", "ents": [], "cats": {}, "tokens": []}, ["cats", "tokens"]),
        ("spacy_pairs", ["Anna left", {"entities": [], "cats": {}, "meta": 1}], ["cats", "meta"]),
        ("dataturks", {"content": "Anna left", "annotation": [], "extras": None}, ["extras"]),
        (
            "label_studio",
            {
                "id": 1,
                "data": {"author": 7, "text": "Anna left", "n": 1},
                "annotations": [{"result": RESULT}],
                "meta": {},
            },
            ["data.author", "data.n", "meta"],
        ),
        (
            "label_studio_min",
            {"id": 1, "author": 7, "text": "Anna left", "tags": REGIONS, "lead_time": 2},
            ["author", "lead_time"],
        ),
    ],
)
def test_members_that_are_not_used(name, record, not_used):
    assert TOOLS[name].read("a.json", [JsonRecord(1, record)]).not_used == not_used
