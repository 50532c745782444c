"""Record members show the format, in any order and around any array."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.record_formats import find_record_format, find_structure, parse_file_records
from tests.snapshots import check_message, raises

TEXT = "Anna left"
DOCCANO = {"text": TEXT, "label": [[0, 4, "PER"]]}
PRODIGY = {"text": TEXT, "spans": [{"start": 0, "end": 4, "label": "PER"}]}
PAIR = [TEXT, {"entities": [[0, 4, "PER"]]}]
TASK = {"id": 1, "data": {"text": TEXT}, "annotations": []}
OFFSETS = {"start_offset": 0, "end_offset": 4}


def reverse_members(record):
    return dict(reversed(record.items())) if isinstance(record, dict) else record


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (DOCCANO, "doccano"),
        ({"id": 1, "data": TEXT, "labels": [[0, 4, "PER"]]}, "doccano_labels"),
        ({"text": TEXT, "relations": [], "entities": [{"id": 1, "label": "PER", **OFFSETS}]}, "doccano_relations"),
        ({"text": TEXT, "entities": [{"label": "PER", **OFFSETS}], "Comments": []}, "doccano_relations"),
        ({"text": TEXT, "annotations": [{"label": 12, "user": 1, **OFFSETS}], "meta": {}}, "doccano_annotations"),
        (PRODIGY, "prodigy"),
        (PRODIGY | {"tokens": [{"text": "Anna", "start": 0, "end": 4, "id": 0}], "label": "PER"}, "prodigy"),
        ({"text": TEXT, "entities": [[0, 4, "PER"]]}, "spacy"),
        ({"text": TEXT, "ents": [{"start": 0, "end": 4, "label": "PER"}], "tokens": [{"id": 0}]}, "spacy_doc"),
        (PAIR, "spacy_pairs"),
        (TASK, "label_studio"),
        ({"data": {"text": TEXT}, "completions": []}, "label_studio"),
        ({"text": TEXT, "label": [{"start": 0, "end": 4, "labels": ["PER"]}]}, "label_studio_min"),
        ({"content": TEXT, "annotation": None}, "dataturks"),
        ({"words": ["Anna"], "tags": ["O"]}, "words and tags in JSON lines"),
        ({"id": "0", "tokens": ["Anna"], "ner_tags": [1]}, "words and tags in JSON lines"),
        ({"text": TEXT, "label": ["good"]}, None),
        ({"text": TEXT}, None),
        ({"sentence": TEXT, "label": [[0, 4, "PER"]]}, None),
    ],
)
def test_structures_are_detected(record, expected):
    assert find_structure(record) == expected
    assert find_structure(reverse_members(record)) == expected


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("record", [DOCCANO, PAIR, TASK])
def test_records_in_documents(record, indent):
    """An array, a single record, and an object with an array have the same records."""
    for value in ([record, record], {"version": 1, "data": [record, record], "names": ["PER"]}):
        file = parse_file_records("a.json", json.dumps(value, indent=indent))
        assert [item.value for item in file.records] == [record, record]
        assert file.is_document
    assert (file.member, file.wrapper["version"]) == ("data", 1)
    file = parse_file_records("a.json", json.dumps(record, indent=indent))
    assert (file.records, file.is_document, file.wrapper) == ([(1, record)], False, None)


def test_ner_annotator_export():
    """Skipped texts are null, and members may have any order."""
    for text in (
        json.dumps({"classes": ["PER"], "annotations": [None, PAIR, None]}),
        '{\n "annotations":\n [null,\n' + json.dumps(PAIR) + ',\nnull\n],\n "classes": []\n}',
    ):
        file = parse_file_records("a.json", text)
        assert [record.value for record in file.records] == [None, PAIR, None]
        assert find_record_format("a.json", file.records) == "spacy_pairs"
    assert [record.line for record in file.records] == [3, 4, 5]


KNOWN = "; known are doccano"


@pytest.mark.parametrize(
    "value",
    [
        {"version": "1.1", "data": [{"title": "a", "paragraphs": []}]},
        {"images": [{"id": 1}], "annotations": [{"id": 1, "bbox": [1, 2]}], "categories": []},
        {"examples": [{"content": "a", "annotations": []}]},
        {"sentence": "a", "entities": [[0, 1, "X"]]},
        {},
        {"annotations": [None, None], "classes": ["PER"]},
        {"classes": [], "annotations": []},
        [{"sentence": "a"}],
        [[1, 2]],
        [None],
        ["a", "b"],
        {"train": [DOCCANO], "dev": [DOCCANO]},
    ],
)
def test_unknown_members_are_named(value):
    with raises(InputError, "a.json:1: "):
        find_record_format("a.json", parse_file_records("a.json", json.dumps(value)).records)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ner", [[0, 4, "PER"]]),
        ("ner", [["PER", 0, 4]]),
        ("ner", {"PER": [[0, 4]]}),
        ("ner", [{"beginOffset": 0, "endOffset": 4, "tag": "PER"}]),
        ("ner", [{"tag": "PER", "location": {"from": 0, "to_offset": 4}}]),
        ("spans", "[[0, 4, 'PER']]"),
        ("entities", ["Anna"]),
        ("entities", {"PER": ["Anna"]}),
        ("label", ["good"]),
        ("label", "[[0, 4, 'PER']]"),
    ],
)
def test_annotations_in_an_unknown_form_are_not_plain_texts(name, value):
    rows = "\n".join(map(json.dumps, [{"text": TEXT}, {"id": 1, name: value, "text": TEXT}]))
    records = parse_file_records("a.jsonl", rows).records
    with pytest.raises(InputError) as caught:
        find_record_format("a.jsonl", records)
    expected = f"a.jsonl:2: of the members id, {name}, text, annotations in an unknown form are in {name}; known are"
    assert str(caught.value).startswith(expected)
    check_message(caught, "--test_tags=no")
    assert find_record_format("a.jsonl", records, with_tags=False) is None


@pytest.mark.parametrize(
    "further",
    [
        {},
        {"id": 3, "meta": {"start": 1, "end": 2}, "source": "mail"},
        {"label": "good"},
        {"label": 1, "score": 0.5},
        {"spans": None, "entities": None},
        {"tokens": [{"text": "Anna", "start": 0, "end": 4, "id": 0}]},
        {"vector": [1, 2, 3], "names": ["a", "b"], "vectors": [[1, 2, 3, 4, 5, 6]]},
        {"comments": [{"id": 1, "start": 0, "end": 4}]},
    ],
)
def test_plain_texts(further):
    assert (
        find_record_format("a.jsonl", parse_file_records("a.jsonl", json.dumps({"text": TEXT, **further})).records)
        is None
    )


def test_files_have_one_format():
    rows = [{"text": TEXT}, DOCCANO, {"text": TEXT, "label": []}, PRODIGY]
    with raises(InputError, "a.jsonl:7: "):
        find_record_format("a.jsonl", parse_file_records("a.jsonl", "\n\n".join(map(json.dumps, rows))).records)
    for rows in ([TASK, {"text": TEXT}], [PAIR, {"text": TEXT}], [PAIR, {"cats": 1}], [DOCCANO, None]):
        with pytest.raises(InputError, match=r"a\.jsonl:2: "):
            find_record_format("a.jsonl", parse_file_records("a.jsonl", "\n".join(map(json.dumps, rows))).records)
