"""Recognition of exports by their records."""

import pytest

from bert_cli.reading.exports.table import EXPORTS, find_export

RECORDS = [
    {"data": {"text": "a"}, "annotations": [], "predictions": []},
    {"text": "a", "annotations": [{"label": 1, "user": 2}]},
    ["a", {"cats": {"x": 1}}],
    {"paragraphs": [{"raw": "a", "cats": []}]},
]


def test_each_export_recognizes_its_record_only():
    assert [find_export(record) for record in RECORDS] == list(EXPORTS)


@pytest.mark.parametrize(
    "value",
    [
        {"data": {"text": "a"}, "label": "x"},
        {"data": {"text": "a"}, "annotations": []},
        {"data": {"text": "a"}, "annotations": [{"label": "x"}]},
        {"text": "a", "annotations": []},
        {"text": "a", "annotations": [{"label": "PER", "start_offset": 0, "user": 1}]},
        ["a", "b"],
        {"paragraphs": [{"qas": [], "context": "a"}]},
        "a",
        None,
    ],
)
def test_other_records_are_no_export(value):
    assert find_export(value) is None
