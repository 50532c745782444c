"""JSON records with words and tags."""

import json

import pytest

from bert_cli.examples.tagging import WORDS
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.json_records import has_token_records, read_json_records
from bert_cli.reading.source import Source
from tests.examples.token_files.files import sentences, write
from tests.input_errors import error_of
from tests.snapshots import check_message


def test_json_lines(tmp_path):
    path = write(
        tmp_path, '{"words": ["Anna", "left"], "tags": ["B-PER", "O"]}\n\n{"words": [], "tags": []}\n', "a.jsonl"
    )
    file = read_json_records(Source(path))
    assert sentences(file) == [(("Anna", "left"), ("B-PER", "O"), 1), ((), (), 3)]
    assert file.format == WORDS
    assert sentences(read_json_records(Source(path), TokenFlags(with_tags=False)))[0] == (("Anna", "left"), None, 1)


FORM = 'expected {"words": [texts that are not empty]}, found '


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"words": "Anna"}',
        '{"words": [""]}',
        '{"words": [1]}',
        '{"words": ["\\ud800"]}',
        '{"words": ["Anna"]}',
        '{"words": ["Anna"], "tags": [""]}',
        '{"words": ["Anna"], "tags": []}',
    ],
)
def test_invalid_json(tmp_path, line):
    path = write(tmp_path, '{"words": ["a"], "tags": ["O"]}\n' + line + "\n", "a.jsonl")
    check_message(error_of(read_json_records, Source(path)), f"{path}:2: ")


def test_empty_json(tmp_path):
    path = write(tmp_path, "\n", "a.jsonl")
    check_message(error_of(read_json_records, Source(path)), f"{path}: ")


def test_lines_keep_other_members(tmp_path):
    path = write(tmp_path, '{"id": 7, "words": ["a"], "tags": ["O"]}\n', "a.json")
    assert json.loads(read_json_records(Source(path)).lines[0])["id"] == 7


NAMES = ("O", "B-PER", "I-PER")


@pytest.mark.parametrize(
    ("text", "flags", "tags"),
    [
        ('{"tokens": ["Anna", "left"], "ner_tags": ["B-PER", "O"]}', TokenFlags(), ("B-PER", "O")),
        ('{"tokens": ["Anna", "left"], "ner_tags": [1, 0]}', TokenFlags(labels=NAMES), ("B-PER", "O")),
        ('{"tokens": ["Anna", "left"], "ner_tags": [1, 0]}', TokenFlags(are_types=True), ("1", "0")),
        ('{"words": ["Anna", "left"], "labels": ["B-PER", "O"], "id": 7}', TokenFlags(), ("B-PER", "O")),
        ('{"tokens": ["Anna", "left"], "pos_tags": ["N", "V"], "ner_tags": ["x", "O"]}', TokenFlags(), ("x", "O")),
        ('{"tokens": ["Anna", "left"], "pos_tags": ["N", "V"]}', TokenFlags(tag_column="pos_tags"), ("N", "V")),
        ('{"words": ["Anna", "left"], "tags": ["a", "b"], "ner_tags": ["x", "O"]}', TokenFlags(), ("a", "b")),
        ('{"mots": ["Anna", "left"], "t": ["x", "O"]}', TokenFlags("mots", "t"), ("x", "O")),
        # Older runs have numbers in flags.txt, because columns had no names.
        ('{"words": ["Anna", "left"], "tags": ["x", "O"]}', TokenFlags("0", "-1"), ("x", "O")),
        ('[{"words": ["Anna", "left"],\n "tags": ["x", "O"]}]', TokenFlags(), ("x", "O")),
        ('{"data": [{"tokens": ["Anna", "left"], "tags": ["x", "O"]}]}', TokenFlags(), ("x", "O")),
        ('{"tokens": [["Anna", "left"]], "ner_tags": [["x", "O"]]}', TokenFlags(), ("x", "O")),
        (
            '{"features": [{"name": "ner_tags", "type": {"feature": {"names": ["O", "B-PER"]}}}],'
            ' "rows": [{"row_idx": 0, "row": {"tokens": ["Anna", "left"], "ner_tags": [1, 0]}}]}',
            TokenFlags(),
            ("B-PER", "O"),
        ),
        (
            '{"features": {"ner_tags": {"feature": {"names": ["O", "B-PER"]}}},'
            ' "rows": [{"tokens": ["Anna", "left"], "ner_tags": [1, 0]}]}',
            TokenFlags(),
            ("B-PER", "O"),
        ),
    ],
)
def test_members_and_document_layouts(tmp_path, text, flags, tags):
    file = read_json_records(Source(write(tmp_path, text, "a.json")), flags)
    assert sentences(file) == [(("Anna", "left"), tags, 1)]


def test_every_member_is_accounted_for(tmp_path):
    path = write(tmp_path, '{"id": 1, "tokens": ["Anna"], "ner_tags": ["O"]}', "a.jsonl")
    facts = read_json_records(Source(path)).facts
    assert facts.describe() == "1 sentence: words from 'tokens', tags from 'ner_tags'; not used: id"


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        ('{"tokens": ["Anna"], "ner_tags": [1]}', TokenFlags()),
        ('{"tokens": ["Anna"], "ner_tags": [9]}', TokenFlags(labels=NAMES)),
        ('{"tokens": ["Anna"], "pos_tags": ["N"]}', TokenFlags()),
        ('{"tokens": ["Anna"], "ner_tags": ["O", "O"]}', TokenFlags()),
        ('{"words": ["Anna"], "tags": [null]}', TokenFlags()),
    ],
)
def test_ambiguous_records(tmp_path, line, flags):
    path = write(tmp_path, line, "a.jsonl")
    check_message(error_of(read_json_records, Source(path), flags), f"{path}:1: ")


def test_sentences_without_tags_are_skipped(tmp_path):
    text = '{"words": ["a", "b"], "tags": ["O", null]}\n{"words": ["c"], "tags": ["O"]}\n{"words": ["d"]}\n'
    path = write(tmp_path, text, "a.jsonl")
    assert sentences(read_json_records(Source(path), TokenFlags(skip_unlabeled=True))) == [(("c",), ("O",), 2)]


def test_file_with_only_empty_sentences(tmp_path):
    path = write(tmp_path, '{"words": [], "tags": []}\n', "a.jsonl")
    check_message(error_of(read_json_records, Source(path), TokenFlags(flag="dev_file")), f"{path}: ")


def test_flags_may_name_any_members():
    assert has_token_records('{"mots": ["a"], "t": ["O"]}', TokenFlags("mots", "t"))
    assert not has_token_records('{"mots": ["a"], "t": ["O"]}')


def test_line_numbers_in_an_array(tmp_path):
    path = write(tmp_path, '[\n{"words": ["a"], "tags": ["O"]},\n{"words": ["b"],\n"tags": ["x"]}]', "a.json")
    file = read_json_records(Source(path))
    assert [file.location(example, 0) for example in file.examples] == [f"{path}:2", f"{path}:3"]
    assert json.loads(file.lines[1]) == {"words": ["b"], "tags": ["x"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"tokens": ["a"], "ner_tags": [0]}\n', True),
        ('[{"tokens": ["a"], "text": "a", "ner_tags": [0]}]', True),
        ('{"text": "a", "tokens": [{"start": 0, "end": 1}], "spans": []}', False),  # Prodigy
        ('{"text": "a", "label": [[0, 1, "x"]]}', False),  # doccano
        ('{"text": "a", "tokens": ["a"], "label": [[0, 1, "x"]]}', False),
        ("{ O\n} O\n", False),
        ("", False),
    ],
)
def test_token_records_are_recognized(text, expected):
    assert has_token_records(text) is expected


@pytest.mark.parametrize(
    "document",
    [
        '{"tokens": [["a"], ["b"]], "ner_tags": [["O"]]}',
        '{"tokens": [["a"]], "ner_tags": [["O"], ["O"]]}',
        '{"chars": [["a"]], "tokens": [["a"], ["b"]], "ner_tags": [["O"], ["O"], ["O"]]}',
    ],
)
def test_lists_of_different_lengths_lose_no_record(tmp_path, document):
    path = write(tmp_path, document, "a.json")
    check_message(error_of(read_json_records, Source(path)))


def test_members_that_are_not_read_are_named(tmp_path):
    row = '[{"tokens": ["a"], "ner_tags": ["O"]}]'
    path = write(tmp_path, f'{{"test": {row}, "train": {row}, "validation": {row}}}', "a.json")
    facts = read_json_records(Source(path)).facts
    assert (facts.num_rows, list(facts.not_used)) == (1, ["test", "validation"])
