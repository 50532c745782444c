"""Label Studio's CSV and TSV exports of spans."""

import csv
import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.reading import parse_records, read_annotations
from bert_cli.examples.token_files.bio_tags import convert_to_bio
from bert_cli.examples.token_files.reading import read_token_file
from bert_cli.reading.source import Source
from tests.snapshots import raises

REGION = {"start": 4, "end": 8, "text": "Anna", "labels": ["PER"]}
HEADER = ("annotation_id", "id", "label", "text")


def write(tmp_path, rows, name="a.csv", header=HEADER):
    path = tmp_path / name
    with open(path, "w", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter="\t" if name.endswith(".tsv") else ",").writerows([header, *rows])
    return str(path)


def spans(*regions):
    return json.dumps(regions)


def tags(file):
    return [example.tags for example in file.examples]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_rows_are_annotations(tmp_path, name):
    """The first row of a task is used. Without an annotation, the text has no tags."""
    rows = [(9, 7, spans(REGION), "met Anna"), (8, 7, spans(), "met Anna"), (7, 3, "", "met Eva"), ("", 4, "", "met 1")]
    file = read_annotations(Source(write(tmp_path, rows, name)))
    assert tags(file) == [("O", "B-PER"), ("O", "O"), None]
    assert [example.line for example in file.examples] == [2, 4, 5]
    assert [record.value["id"] for record in parse_records(file).records] == [7, 3, 4]


def test_tabs_without_quotes(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(f"id\ttext\tner\n1\tmet Anna\t{spans(REGION)}\n", encoding="utf-8")
    assert tags(read_annotations(Source(str(path)))) == [("O", "B-PER")]


def test_columns_of_flags(tmp_path):
    rows = [(9, spans(REGION), spans(REGION | {"start": 0, "labels": ["X"]}), "met Anna", "the Anna")]
    path = write(tmp_path, rows, header=("annotation_id", "label", "other", "text", "title"))
    for columns in (("title", "label"), ("-1", "1")):
        file = read_annotations(Source(path), columns=columns)
        assert file.examples[0].words == ("the", "Anna")
        assert file.facts.not_used == ["annotation_id", "other", "text"]
    assert read_annotations(Source(path), columns=("title", "text")) is None
    with raises(InputError, "--word_column=words: "):
        read_annotations(Source(path), columns=("words", None))


@pytest.mark.parametrize(
    ("cell", "fragment"),
    [
        ("[{broken", "a.csv:3: "),
        ("PER", "a.csv:3: "),
        (spans(REGION | {"text": "Eva"}), "a.csv:3"),
        (spans(REGION | {"labels": ["A", "B"]}), "a.csv:3"),
    ],
)
def test_invalid_cells(tmp_path, cell, fragment):
    with raises(InputError, fragment):
        read_annotations(Source(write(tmp_path, [(9, 7, spans(REGION), "met Anna"), (8, 6, cell, "met Anna")])))


@pytest.mark.parametrize(
    "tag", [spans(REGION), '[[0, 4, "PER"]]', '"[{""start"": 1}]', '{"choices": ["A"]}', "[]", "[1, 2"]
)
def test_json_is_no_tag(tmp_path, tag):
    path = tmp_path / "words.tsv"
    path.write_text(f"Anna\tB-PER\nmet\t{tag}\n", encoding="utf-8")
    with raises(InputError, "words.tsv:2: "):
        convert_to_bio(read_token_file(Source(str(path))))


@pytest.mark.parametrize("tag", ["[CLS]", "[SEP]", "{X}", "B-[1]"])
def test_tags_with_brackets(tmp_path, tag):
    path = tmp_path / "words.tsv"
    path.write_text(f"Anna\t{tag}\nmet\tO\n", encoding="utf-8")
    assert convert_to_bio(read_token_file(Source(str(path))))[0].examples[0].words == ("Anna", "met")
