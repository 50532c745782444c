"""Annotation tools' files are recognized by their contents."""

import json
import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.reading import explain_missing_annotations, read_annotations
from bert_cli.reading.source import Source
from bert_cli.text.offset_units import CODE_POINTS
from tests.annotated_texts import FORMATS, write
from tests.rows import write_rows
from tests.snapshots import check_message, raises

TEXTS = [("Anna, 😀\r\nleft\tNew\nYork", [(0, 4, "PER"), (14, 22, "LOC")]), ("no one", []), ("not yet", None)]
WANTED = [
    (("Anna", ",", "😀", "left", "New", "York"), ("B-PER", "O", "O", "O", "B-LOC", "I-LOC")),
    (("no", "one"), ("O", "O")),
    (("not", "yet"), None),
]


@pytest.mark.parametrize("name", FORMATS)
def test_each_format(name, tmp_path):
    path = write(tmp_path, name, TEXTS)
    file = read_annotations(Source(path, may_be_folder=True))
    assert (file.format, file.path, file.unit, file.has_spans) == (name, path, CODE_POINTS, True)
    assert [(example.words, example.tags) for example in file.examples] == WANTED
    assert [example.text for example in file.examples] == [text for text, _ in TEXTS]
    check_message(file.facts.describe())


@pytest.mark.parametrize("name", FORMATS)
def test_contents_decide_not_the_name(name, tmp_path):
    path = write(tmp_path, name, TEXTS)
    if name != "brat":
        copy = tmp_path / "export.txt"
        copy.write_bytes((tmp_path / path).read_bytes())
        assert read_annotations(Source(str(copy), may_be_folder=True)).format == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Anna\tB-PER\n", "a.txt"),
        ("{ O\n", "a.txt"),
        ("[ O\n", "a.txt"),
        ('{"words": ["Anna"], "tags": ["O"]}\n', "a.jsonl"),
        ('{"text": "Anna", "words": ["Anna"], "tags": ["O"]}\n', "a.jsonl"),
        ('{"tokens": ["Anna"], "ner_tags": [1]}\n', "a.jsonl"),
        ("[\n]\nAnna\n", "a.txt"),
        ('{"id": "0", "tokens": ["Anna"], "ner_tags": ["O"]}\n', "a.json"),
        ('[ O\n" O\n', "a.txt"),
        ("", "a.txt"),
    ],
)
def test_words_are_not_annotations(text, name, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_annotations(Source(str(tmp_path / name), may_be_folder=True)) is None


def test_plain_texts_get_the_requested_format(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "text": "Anna"}\n', encoding="utf-8")
    assert read_annotations(Source(str(path), may_be_folder=True)).format == "prodigy"
    file = read_annotations(Source(str(path), may_be_folder=True), plain_text_format="doccano")
    assert (file.format, file.examples[0].tags) == ("doccano", None)
    assert file.facts.describe() == "1 text: no spans; not used: id"


def test_members_beside_the_records(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"classes": ["PER"], "annotations": [["Anna", {"entities": [[0, 4, "PER"]]}]]}', encoding="utf-8")
    assert read_annotations(Source(str(path))).facts.not_used == ["classes"]
    path.write_text('{"version": 1, "texts": [{"text": "Anna", "id": 1}]}', encoding="utf-8")
    assert read_annotations(Source(str(path))).facts.not_used == ["id", "version"]


def test_unknown_members_are_not_plain_texts(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Anna", "ner": [[0, 4, "PER"]]}\n', encoding="utf-8")
    with raises(InputError, "a.jsonl:1: "):
        read_annotations(Source(str(path), may_be_folder=True))
    assert read_annotations(Source(str(path), may_be_folder=True), with_tags=False).examples[0].tags is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Anna\tB-PER\n", "a.json"),
        ('[("Anna", {"entities": [(0, 4, "PER")]})]', "a.txt"),
        ('TRAIN_DATA = [\n  ("Anna", {', "a.py"),
        ("[]", "a.json"),
    ],
)
def test_files_that_are_not_exports(text, name, tmp_path):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with raises(InputError, f"{path}: "):
        read_annotations(Source(str(path), may_be_folder=True))


def messages_of(path, records, caplog):
    """Return the log lines for a file with these records."""
    caplog.set_level(logging.INFO, "bert_cli")
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    read_annotations(Source(str(path), may_be_folder=True))
    return [message.removeprefix(f"{path}: ") for message in caplog.messages]


def test_label_ids_are_logged(tmp_path, caplog):
    spans = [{"label": number, "start_offset": 0, "end_offset": 4} for number in (12, 9)]
    records = [{"text": "Anna", "annotations": [span]} for span in spans]
    check_message(messages_of(tmp_path / "a.jsonl", records, caplog))


def test_annotations_without_a_label_are_counted(tmp_path, caplog):
    point = {"start": 0, "end": 3}
    records = [{"content": "Anna left", "annotation": [{"label": [], "points": [point]}]}] * 7
    check_message(messages_of(tmp_path / "a.jsonl", records, caplog), "7 annotations")
    assert caplog.records[-1].levelname == "WARNING"


def test_skipped_texts_are_counted(tmp_path):
    def left_out(records):
        path = tmp_path / "a.json"
        path.write_text(json.dumps(records), encoding="utf-8")
        (rows,) = read_annotations(Source(str(path), may_be_folder=True)).facts.left_out
        return rows.reason, rows.num_rows

    assert left_out([None, ["Anna", {"entities": []}], None]) == ("texts that the annotator skipped", 2)
    record = {"id": 1, "text": "Anna", "ner": [{"start": 0, "end": 4, "labels": ["PER"]}]}
    assert left_out([record, record]) == ("records that annotate the same tasks again", 1)


def test_missing_annotations_are_explained(tmp_path):
    reasons = {
        "brat": "",
        "label_studio": "",
        "prodigy": " (members: text, _input_hash, _task_hash, meta)",
    }
    for name, reason in reasons.items():
        (tmp_path / name).mkdir()
        assert (
            explain_missing_annotations(
                read_annotations(Source(write(tmp_path / name, name, [("a", None)]), may_be_folder=True))
            )
            == reason
        )
    answers = [{"text": "a", "spans": [], "answer": answer} for answer in ("reject", "ignore", "reject")]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    assert (
        explain_missing_annotations(read_annotations(Source(str(tmp_path / "a.jsonl"), may_be_folder=True)))
        == " (answers: 2 reject, 1 ignore)"
    )
    tasks = [{"data": {"text": "a"}, "predictions": [{"result": []}]}]
    tasks += [{"data": {"text": "a"}, "annotations": [{"was_cancelled": True}]}] * 2
    (tmp_path / "a.json").write_text(json.dumps(tasks), encoding="utf-8")
    file = read_annotations(Source(str(tmp_path / "a.json"), may_be_folder=True))
    assert explain_missing_annotations(file) == " (tasks: 2 skipped, 1 with predictions alone)"


def test_first_span_decides(tmp_path):
    """An empty list of spans does not show the format."""
    path = tmp_path / "a.jsonl"
    rows = [
        {"text": "a", "entities": []},
        {"text": "b", "entities": [{"start_offset": 0, "end_offset": 1, "label": "X"}]},
    ]
    write_rows(path, rows)
    assert read_annotations(Source(str(path), may_be_folder=True)).format == "doccano_relations"
    path.write_text(json.dumps(rows[0]) + "\n", encoding="utf-8")
    assert read_annotations(Source(str(path), may_be_folder=True)).format == "spacy"


def test_a_directory_without_documents(tmp_path):
    with raises(InputError, f"{tmp_path}: "):
        read_annotations(Source(str(tmp_path), may_be_folder=True))


# In formats with one document on one line, the second text's line is 1.
PLACES = {"label_studio": ":1 (task 7)", "label_studio_min": ":1 (task 2)", "spacy_pairs": ":1"}


@pytest.mark.parametrize("name", FORMATS)
def test_overlapping_spans_are_reported_with_their_line(name, tmp_path):
    path = write(tmp_path, name, [("a", []), ("Anna left", [(0, 4, "PER"), (0, 9, "LOC")])])
    places = PLACES | {"brat": "/d001.ann:2"}
    with raises(InputError, f"{path}{places.get(name, ':2')}: "):
        read_annotations(Source(path, may_be_folder=True))
    assert read_annotations(Source(path, may_be_folder=True), with_tags=False).examples[1].tags is None


@pytest.mark.parametrize("name", FORMATS)
def test_cut_word_is_reported_with_its_line(name, tmp_path, caplog):
    path = write(tmp_path, name, [("a", []), ("Annas left", [(0, 4, "PER")])])
    places = PLACES | {"brat": "/d001.ann:1"}
    assert read_annotations(Source(path, may_be_folder=True)).examples[1].tags == ("B-PER", "O")
    check_message(caplog, f"{path}{places.get(name, ':2')}: ")
