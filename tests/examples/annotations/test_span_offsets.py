"""Offsets from tools that count line ends differently, in several formats."""

import json
import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.annotated_texts import AnnotatedText, Span
from bert_cli.examples.annotations.reading import read_annotations
from bert_cli.examples.annotations.span_offsets import find_fitting_texts
from bert_cli.reading.source import Source
from tests.snapshots import check_message, raises

LINES = ("The 😀 mill", "is old.", "Anna met Tom", "in Lund.")
ENTITIES = (("Anna", "PER"), ("Tom", "PER"), ("Lund", "LOC"))


def spans_in(text):
    """Return the entities' spans, with offsets in a text with other line ends."""
    return [(text.index(word), text.index(word) + len(word), entity_type) for word, entity_type in ENTITIES]


def in_javascript(text):
    return text.replace("😀", "xx")


def write_doccano(folder, text, spans):
    path = folder / "a.jsonl"
    path.write_text(json.dumps({"text": text, "label": spans}) + "\n", encoding="utf-8")
    return str(path)


def write_prodigy(folder, text, spans):
    path = folder / "a.jsonl"
    dicts = [{"start": start, "end": end, "label": entity_type} for start, end, entity_type in spans]
    path.write_text(json.dumps({"text": text, "spans": dicts}) + "\n", encoding="utf-8")
    return str(path)


def write_label_studio(folder, text, spans):
    path = folder / "a.json"
    values = [
        {"start": start, "end": end, "labels": [entity_type], "text": word}
        for (start, end, entity_type), (word, _) in zip(spans, ENTITIES, strict=True)
    ]
    results = [{"type": "labels", "to_name": "text", "value": value} for value in values]
    path.write_text(json.dumps([{"data": {"text": text}, "annotations": [{"result": results}]}]), encoding="utf-8")
    return str(path)


def write_brat(folder, text, spans):
    rows = [
        f"T{number}\t{entity_type} {start} {end}\t{word}\n"
        for number, ((start, end, entity_type), (word, _)) in enumerate(zip(spans, ENTITIES, strict=True), 1)
    ]
    (folder / "d.txt").write_bytes(text.encode("utf-8"))
    (folder / "d.ann").write_text("".join(rows), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("write", [write_doccano, write_prodigy, write_label_studio, write_brat])
@pytest.mark.parametrize(
    ("line_end", "counted_line_end", "description"),
    [
        ("\r\n", "\n", "CR LF as one character"),
        ("\r", "", "without carriage returns"),
        ("\n", "\r\n", "each line feed as CR LF"),
        ("\r", "\r\n", "each line end as CR LF"),
        ("\r\n", "\r\n", ""),
    ],
)
def test_line_ends(write, line_end, counted_line_end, description, tmp_path, caplog):
    caplog.set_level(logging.INFO, "bert_cli")
    counted = counted_line_end.join(LINES)
    path = write(tmp_path, line_end.join(LINES), spans_in(counted))
    file = read_annotations(Source(path, may_be_folder=True))
    (example,) = file.examples
    tagged = [(word, tag) for word, tag in zip(example.words, example.tags, strict=True) if tag != "O"]
    assert tagged == [("Anna", "B-PER"), ("Tom", "B-PER"), ("Lund", "B-LOC")]
    assert description in file.facts.form
    assert ("offsets" in file.facts.form) == bool(description)
    assert not caplog.messages


def test_line_ends_and_javascript(tmp_path):
    path = write_doccano(tmp_path, "\r\n".join(LINES), spans_in(in_javascript("\n".join(LINES))))
    file = read_annotations(Source(path, may_be_folder=True))
    assert [tag for tag in file.examples[0].tags if tag != "O"] == ["B-PER", "B-PER", "B-LOC"]
    check_message(file.facts.describe())


def test_cut_words_do_not_change_the_unit(tmp_path, caplog):
    """A file that marks parts of words is read as before, whatever line ends it has."""
    text = "The mill\r\nis unhappy.\r\nAnna left\nLundby."
    spans = [(text.index("happy"), text.index("happy") + 5, "X"), (text.index("Lund"), text.index("Lund") + 4, "LOC")]
    file = read_annotations(Source(write_doccano(tmp_path, text, spans), may_be_folder=True))
    assert not str(file.unit)
    assert len([message for message in caplog.messages if "is widened to whole words" in message]) == 2


def test_stored_text_that_fits_no_unit(tmp_path):
    spans = [(start + 9, end + 9, name) for start, end, name in spans_in("\n".join(LINES))]
    with raises(InputError, "'Anna'"):
        read_annotations(Source(write_label_studio(tmp_path, "\r\n".join(LINES), spans), may_be_folder=True))


def test_parts_of_a_span_after_line_ends(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "bert_cli")
    (tmp_path / "d.txt").write_bytes(b"We met\r\nin\r\nNew\r\nYork today.\r\n")
    (tmp_path / "d.ann").write_text("T1\tLOC 10 13;14 18\tNew York\nT2\tTIME 19 24\ttoday\n", encoding="utf-8")
    (example,) = read_annotations(Source(str(tmp_path), may_be_folder=True)).examples
    assert example.tags == ("O", "O", "O", "B-LOC", "I-LOC", "B-TIME", "O")
    assert not caplog.messages


def test_texts_with_their_own_line_ends_come_first():
    texts = {
        name: [AnnotatedText(text, [Span("PER", 4, 8, "a.json:1", "Anna")], 1, "a.json:1")]
        for name, text in {"title": "at\r\nAnna", "body": "and\r\nAnna"}.items()
    }
    assert find_fitting_texts(texts) == ["title"]
    assert find_fitting_texts({"body": texts["body"]}) == ["body"]
