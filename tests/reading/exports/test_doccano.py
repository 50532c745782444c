"""doccano's exports of text classifications."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.reading import FileRole, read_labels
from tests.reading.exports.labeled import read_labeled, read_table, write_json
from tests.snapshots import raises


@pytest.mark.parametrize("key", ["text", "data"])
@pytest.mark.parametrize("name", ["all.jsonl", "all.json"])
def test_labels_by_name(key, name, tmp_path):
    records = [
        {"id": 1, key: "A fine film.", "label": ["pos"], "Comments": []},
        {"id": 2, key: "Dull.", "label": ["neg"], "Comments": []},
    ]
    path = write_json(tmp_path / name, records)
    assert read_labeled(path) == ("single_label", [("A fine film.", "pos"), ("Dull.", "neg")])
    records[1]["label"] = ["neg", "long"]
    assert read_labeled(write_json(path, records))[0] == "multi_label"


def test_csv(tmp_path):
    (tmp_path / "all.csv").write_text("id,data,label\n1,A fine film.,pos\n2,Dull.,neg\n")
    assert read_labeled(tmp_path / "all.csv")[1] == [("A fine film.", "pos"), ("Dull.", "neg")]


def test_label_ids(tmp_path, caplog):
    caplog.set_level("INFO")
    records = [
        {"id": 1, "text": "A fine film.", "annotations": [{"label": 2, "user": 1}, {"label": 2, "user": 3}]},
        {"id": 2, "text": "Dull.", "annotations": [{"label": 4, "user": 1}]},
    ]
    path = write_json(tmp_path / "t.jsonl", records)
    assert read_labeled(path) == ("single_label", [("A fine film.", "2"), ("Dull.", "4")])
    assert f'{path}: the labels are doccano\'s label ids; its export "JSONL" has names' in caplog.messages
    records.append({"id": 3, "text": "Long.", "annotations": []})
    assert read_labeled(write_json(path, records))[1][2] == ("Long.", (0, 0))


@pytest.mark.parametrize(
    "damaged",
    [
        {"text": "Anna", "annotations": [{"label": 2, "start_offset": 0, "end_offset": 4, "user": 1}]},
        {"text": "Anna"},
        {"text": 7, "annotations": []},
    ],
)
def test_other_records_are_refused(damaged, tmp_path):
    first = {"text": "A fine film.", "annotations": [{"label": 2, "user": 1}]}
    with raises(InputError, "t.jsonl:2: "):
        read_table(write_json(tmp_path / "t.jsonl", [first, damaged]))


def test_spans_are_named(tmp_path):
    records = [{"text": "Anna left", "label": [[0, 4, "PER"]]}, {"text": "Tom left", "label": []}]
    table = read_table(write_json(tmp_path / "t.jsonl", records))
    with raises(InputError, "t.jsonl:1: ", "bert-tag learns"):
        read_labels(table.label_cells(None), None, None, FileRole(True, False, False))
