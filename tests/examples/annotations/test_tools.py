"""The table of annotation tools: each row recognizes and reads its records."""

import pytest

from bert_cli.examples.annotations.record_formats import find_structure, find_unused_members
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
    left_out: list = []
    (text,) = TOOLS[name].read("a.json", [JsonRecord(1, record)], left_out)
    assert [(span.start, span.end, span.type) for span in text.spans or ()] == [(0, 4, "PER")]
    assert not left_out


def test_members_that_are_not_used():
    assert find_unused_members(["text", "spans", "answer", "meta"], "prodigy") == ["meta"]
    assert find_unused_members(["id", "text", "lead_time"], "label_studio_min") == ["lead_time"]
    assert find_unused_members(["text", "source"]) == ["source"]
