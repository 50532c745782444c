"""Files of words and tags, and plain text with places."""

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.tagging import (
    COLUMNS,
    WORDS,
    TaggingExample,
    read_columns,
    read_json_lines,
    read_tagging_file,
)
from bert_cli.examples.text_lines import split_text, text_example
from bert_cli.text.tokenization import BasicTokenizer

CONLL = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects  VBZ I-VP O

Peter NNP I-NP I-PER
"""


def write(folder, text, name="words.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return str(path)


def error_of(function, *arguments, **named):
    with pytest.raises(InputError) as caught:
        function(*arguments, **named)
    return str(caught.value)


def sentences(file):
    return [(example.words, example.tags, example.line) for example in file.examples]


def test_four_columns_between_blanks(tmp_path):
    path = write(tmp_path, CONLL)
    file = read_columns(path)
    assert sentences(file) == [(("EU", "rejects"), ("I-ORG", "O"), 3), (("Peter",), ("I-PER",), 6)]
    assert "\n".join(file.lines) == CONLL
    assert (file.path, file.format) == (path, COLUMNS)
    assert [example.tags for example in read_columns(path, tag_column=2).examples] == [("I-NP", "I-VP"), ("I-NP",)]
    assert read_columns(path, word_column=-3, tag_column=0).examples[0].words == ("NNP", "VBZ")
    assert sentences(read_columns(path, tag_column=None))[1] == (("Peter",), None, 6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tO\nb\tO", [("a", "b")]),  # no newline at the end
        ("a\tO\r\n\r\nb\tO\r\n", [("a",), ("b",)]),
        (b"\xef\xbb\xbfa\tO\n", [("a",)]),
        ("a\tO\n\t\nb\tO\n", [("a",), ("b",)]),  # a line of white space
        ("a\tO\n \u3000 \nb\tO\n\n\n\nc\tO\n", [("a",), ("b",), ("c",)]),
        ("a b\tO\nc d\tO\n", [("a b", "c d")]),  # between tabs a word may hold blanks
        ("a O\nb\tO\n", [("a", "b")]),  # each line for itself
        ("  a   O \n", [("a",)]),
        ("a\tO\n-DOCSTART-\tO\nb\tO\n", [("a",), ("b",)]),  # ends a sentence without a blank line
        ("\u00a0\tO\n\u200b\tO\n", [("\u00a0", "\u200b")]),  # words that nothing will be left of
        ("\u00a0 O\na\u2028b O\n", [("\u00a0", "a\u2028b")]),
    ],
)
def test_lines(tmp_path, text, expected):
    assert [example.words for example in read_columns(write(tmp_path, text)).examples] == expected


def test_a_record_is_frozen(tmp_path):
    with pytest.raises(dataclasses.FrozenInstanceError):
        read_columns(write(tmp_path, "a\tO\n")).examples[0].words = ()


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("", (0, -1), ": holds no words; a file with one word and its tag on each line is needed"),
        ("\n-DOCSTART- O\n", (0, -1), ": holds no words; a file with one word and its tag on each line is needed"),
        ("a\nb\n", (0, -1), ":1: expected at least 2 columns, found 1 (and 1 more such row); "),
        ("a O\nb\n", (0, 1), ":2: expected at least 2 columns, found 1; "),
        ("a x O\nb O\nc O\n", (0, -1), ":2: expected 3 columns as in line 1, found 2 (and 1 more such row); "),
        ("a O\n\nb c O\n", (0, -1), ":3: expected 2 columns as in line 1, found 3; "),
        ("a O\n", (1, -1), ":1: --word_column=1 and --tag_column=-1 are the same of 2 columns; give another"),
        ("a O\n", (0, -3), ":1: expected at least 3 columns, found 2; "),
        ("\tO\na\tO\n\tO\n", (0, -1), ":1: the word in column 1 is empty (and 1 more such row); every row needs one"),
        ("a\t\n", (0, -1), ":1: the tag in column 2 is empty; every row needs one"),
        (
            b"a O\n\xff O\n",
            (0, -1),
            ":2: is not UTF-8 (byte 0xff); give its encoding, as in --encoding=latin-1",
        ),
        ("a O\rb O\n", (0, -1), ":1: a carriage return inside the line; save the file with \\n line ends"),
    ],
)
def test_bad_files(tmp_path, text, columns, expected):
    path = write(tmp_path, text)
    message = error_of(read_columns, path, *columns)
    assert message.startswith(path + expected)
    assert "\n" not in message


def test_rows_may_differ_where_no_column_is_counted_from_the_end(tmp_path):
    assert read_columns(write(tmp_path, "a O\nb O extra\n"), 0, 1).examples[0].tags == ("O", "O")


def test_the_same_column_twice(tmp_path):
    path = write(tmp_path, "a O\n")
    assert error_of(read_columns, path, 1, 1) == "--tag_column: 1 is the column of the words; give another"


def test_json_lines(tmp_path):
    path = write(
        tmp_path, '{"words": ["Anna", "left"], "tags": ["B-PER", "O"]}\n\n{"words": [], "tags": []}\n', "a.jsonl"
    )
    file = read_tagging_file(path)
    assert sentences(file) == [(("Anna", "left"), ("B-PER", "O"), 1), ((), (), 3)]
    assert file.format == WORDS
    assert sentences(read_tagging_file(path, tag_column=None))[0] == (("Anna", "left"), None, 1)


def test_other_endings_are_columns(tmp_path):
    assert read_tagging_file(write(tmp_path, "a\tO\n", "train.conll")).format == COLUMNS


FORM = 'expected {"words": [texts that are not empty]}, found '


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "is not JSON: Expecting property name enclosed in double quotes (column 2); correct the file"),
        ("[]", FORM + "'[]'"),
        ('{"words": "Anna"}', FORM + """'{"words": "Anna"}'"""),
        ('{"words": [""]}', FORM + """'{"words": [""]}'"""),
        ('{"words": [1]}', FORM + """'{"words": [1]}'"""),
        ('{"words": ["\\ud800"]}', FORM + """'{"words": ["\\\\ud800"]}'"""),
        ('{"words": ["Anna"]}', 'expected "tags": [one text for each word]; add them'),
        ('{"words": ["Anna"], "tags": [""]}', 'expected "tags": [one text for each word]; add them'),
        ('{"words": ["Anna"], "tags": []}', "1 words but 0 tags; give each word one tag"),
    ],
)
def test_bad_json(tmp_path, line, expected):
    path = write(tmp_path, '{"words": ["a"], "tags": ["O"]}\n' + line + "\n", "a.jsonl")
    assert error_of(read_json_lines, path) == f"{path}:2: {expected}"


def test_empty_json(tmp_path):
    path = write(tmp_path, "\n", "a.jsonl")
    assert error_of(read_json_lines, path).startswith(f"{path}: is empty; lines such as ")


@pytest.mark.parametrize(
    ("text", "words", "starts"),
    [
        ("", (), ()),
        ("Anna left.", ("Anna", "left", "."), (0, 5, 9)),
        ("  (a-b)\tc ", ("(", "a", "-", "b", ")", "c"), (2, 3, 4, 5, 6, 8)),
        ("São Paulo’s", ("São", "Paulo", "’", "s"), (0, 4, 9, 10)),
        ("e\u0301a", ("e\u0301a",), (0,)),
        ("x中文y", ("x", "中", "文", "y"), (0, 1, 2, 3)),
        ("a\u200bb c\x0bd", ("a\u200bb", "c\x0bd"), (0, 4)),  # nothing is lost inside a word
        ("a\u00a0b\u2028c\u3000d", ("a", "b", "c", "d"), (0, 2, 4, 6)),
        ("😀!", ("😀", "!"), (0, 1)),
        ("$5 €5", ("$", "5", "€5"), (0, 1, 3)),
    ],
)
def test_words_of_a_text(text, words, starts):
    assert split_text(text) == (words, starts)
    assert text_example(text, 7) == TaggingExample(words, None, 7, text, starts)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_words_stand_where_they_say_and_tokenize_as_the_text(text):
    words, starts = split_text(text)
    assert all(text.startswith(word, start) and word for word, start in zip(words, starts, strict=True))
    assert all(a + len(word) <= b for a, b, word in zip(starts, starts[1:], words, strict=False))
    tokenizer = BasicTokenizer(do_lower_case=False)
    assert [token for word in words for token in tokenizer.tokenize(word)] == tokenizer.tokenize(text)


def test_half_a_surrogate_pair_is_refused():
    assert error_of(text_example, "a \udcff") == (
        "--text: is not UTF-8; give it in a terminal that uses UTF-8, or in a file"
    )


def test_other_keys_of_json_are_left_in_the_lines(tmp_path):
    path = write(tmp_path, '{"id": 7, "words": ["a"], "tags": ["O"]}\n', "a.json")
    assert json.loads(read_tagging_file(path).lines[0])["id"] == 7
