"""Files of annotation tools are recognised by their content."""

import json
import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.reading import read_annotations
from tests.annotated_texts import FORMATS, write

TEXTS = [("Anna, 😀\r\nleft\tNew\nYork", [(0, 4, "PER"), (14, 22, "LOC")]), ("no one", []), ("not yet", None)]
WANTED = [
    (("Anna", ",", "😀", "left", "New", "York"), ("B-PER", "O", "O", "O", "B-LOC", "I-LOC")),
    (("no", "one"), ("O", "O")),
    (("not", "yet"), None),
]


@pytest.mark.parametrize("name", FORMATS)
def test_each_format(name, tmp_path, caplog):
    caplog.set_level(logging.INFO, "bert_cli")
    path = write(tmp_path, name, TEXTS)
    file = read_annotations(path)
    assert (file.format, file.path, file.is_utf16, file.has_spans) == (name, path, False, True)
    assert [(example.words, example.tags) for example in file.examples] == WANTED
    assert [example.text for example in file.examples] == [text for text, _ in TEXTS]
    titles = {"label_studio": "Label Studio", "prodigy": "Prodigy", "spacy": "spaCy", "brat": "brat"}
    assert caplog.messages[0].startswith(f"{path}: texts with spans in the format of {titles.get(name, 'doccano')}")


@pytest.mark.parametrize("name", FORMATS)
def test_the_content_decides_not_the_name(name, tmp_path):
    path = write(tmp_path, name, TEXTS)
    if name != "brat":
        other = tmp_path / "export.txt"
        other.write_bytes((tmp_path / path).read_bytes())
        assert read_annotations(str(other)).format == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Anna\tB-PER\n", "a.txt"),
        ("{ O\n", "a.txt"),
        ("[ O\n", "a.txt"),
        ('{"words": ["Anna"], "tags": ["O"]}\n', "a.jsonl"),
        ('{"text": "Anna", "words": ["Anna"], "tags": ["O"]}\n', "a.jsonl"),
        ('{"sentence": "Anna"}\n', "a.jsonl"),
        ("", "a.txt"),
    ],
)
def test_words_are_not_annotations(text, name, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_annotations(str(tmp_path / name)) is None


def test_texts_alone_are_in_the_format_that_is_asked_for(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Anna"}\n', encoding="utf-8")
    assert read_annotations(str(path)).format == "prodigy"
    file = read_annotations(str(path), texts_alone="doccano")
    assert (file.format, file.examples[0].tags) == ("doccano", None)


def test_the_first_span_decides(tmp_path):
    """An empty list has the form of no tool."""
    path = tmp_path / "a.jsonl"
    rows = [
        {"text": "a", "entities": []},
        {"text": "b", "entities": [{"start_offset": 0, "end_offset": 1, "label": "X"}]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert read_annotations(str(path)).format == "doccano_relations"
    path.write_text(json.dumps(rows[0]) + "\n", encoding="utf-8")
    assert read_annotations(str(path)).format == "spacy"


def test_a_directory_without_documents(tmp_path):
    with pytest.raises(InputError, match=f"{tmp_path}: holds no documents of brat, NAME.txt with NAME.ann"):
        read_annotations(str(tmp_path))


@pytest.mark.parametrize("name", FORMATS)
def test_overlapping_spans_are_named_with_their_line(name, tmp_path):
    path = write(tmp_path, name, [("a", []), ("Anna left", [(0, 4, "PER"), (0, 9, "LOC")])])
    places = {"label_studio": f"{path}:1 (task 7)", "brat": f"{path}/d001.ann:2"}
    with pytest.raises(InputError) as caught:
        read_annotations(path)
    assert str(caught.value).startswith(
        f"{places.get(name, f'{path}:2')}: the span 0 to 9 (LOC, 'Anna left') overlaps 0 to 4 (PER); "
    )
    assert read_annotations(path, with_tags=False).examples[1].tags is None


@pytest.mark.parametrize("name", FORMATS)
def test_a_cut_word_is_named_with_its_line(name, tmp_path, caplog):
    path = write(tmp_path, name, [("a", []), ("Annas left", [(0, 4, "PER")])])
    places = {"label_studio": f"{path}:1 (task 7)", "brat": f"{path}/d001.ann:1"}
    assert read_annotations(path).examples[1].tags == ("B-PER", "O")
    assert f"{places.get(name, f'{path}:2')}: the span 0 to 4 (PER, 'Anna') cuts the word 'Annas'; it " in caplog.text
