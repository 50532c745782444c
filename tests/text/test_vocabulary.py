"""Vocabulary files: ids for untidy files as in Google's code, and refused files."""

import dataclasses
import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.text import vocabulary
from bert_cli.text.vocabulary import has_marked_words, looks_cased, read_vocabulary, without_blank_end
from tests.rows import write_rows
from tests.snapshots import raises

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write(folder, text: str) -> str:
    return str(write_rows(folder / "vocab.txt", text))


def ids_of(folder, text: str) -> dict[str, int]:
    """Return the ids of a vocabulary that begins with `text`, without added special tokens."""
    path = write(folder, f"{text}\n" + "\n".join(SPECIAL[1:]) + "\n")
    first = text.count("\n") + 1
    return {token: index for token, index in read_vocabulary(path).ids.items() if index < first}


def test_repeated_and_blank_lines_keep_counting(tmp_path):
    ids = ids_of(tmp_path, "[PAD]\n[UNUSED]\n\n[NEW] \nx\nx\n\u3000")
    assert ids == {"[PAD]": 0, "[UNUSED]": 1, "": 6, "[NEW]": 3, "x": 5}


def test_only_newline_ends_a_line(tmp_path):
    ids = ids_of(tmp_path, "a\u2028b\nc\x85d\ne\rf\r\n\x0bg\x0c\nlast")
    assert ids == {"a\u2028b": 0, "c\x85d": 1, "e\rf": 2, "g": 3, "last": 4}


def test_the_last_line_needs_no_end(tmp_path):
    assert read_vocabulary(write(tmp_path, "\n".join([*SPECIAL, "last"]))).ids["last"] == len(SPECIAL)


def test_byte_order_mark_stays(tmp_path):
    assert ids_of(tmp_path, "\ufeff[PAD]\n[UNUSED]") == {"\ufeff[PAD]": 0, "[UNUSED]": 1}


def test_untidy_file_is_read_as_in_google_code(shared):
    folder = shared / "golden" / "tokenization"
    expected = json.loads((folder / "untidy_vocab.json").read_text(encoding="utf-8"))
    assert read_vocabulary(str(folder / "untidy_vocab.txt")).ids == expected


def test_read_vocabulary_keeps_every_line(tmp_path):
    path = write(tmp_path, "\n".join([*SPECIAL, "x", "", "x", "y"]) + "\n")
    result = read_vocabulary(path)
    assert result.tokens == [*SPECIAL, "x", "", "x", "y"]
    assert result.size == 9
    assert result.ids["x"] == 7
    assert result.path == path
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.size = 3


def test_pad_is_not_needed(tmp_path):
    assert read_vocabulary(write(tmp_path, "[unused]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")).size == 5
    assert vocabulary.PAD_ID == 0


@pytest.mark.parametrize("token", ["[UNK]", "[CLS]", "[SEP]", "[MASK]"])
def test_missing_special_token_is_named(tmp_path, token):
    path = write(tmp_path, "\n".join(special for special in SPECIAL if special != token))
    with raises(InputError, f"{path}: "):
        read_vocabulary(path)


def test_all_missing_special_tokens_are_named(tmp_path):
    with raises(InputError):
        read_vocabulary(write(tmp_path, "[PAD]\n[UNK]\n[MASK]\n"))


def test_empty_file(tmp_path):
    path = write(tmp_path, "")
    with pytest.raises(InputError, match="is empty"):
        read_vocabulary(path)


def test_bad_utf8_names_the_line(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"[PAD]\n[UNK]\ncaf\xe9\n")
    with raises(InputError, f"{path}:3: "):
        read_vocabulary(str(path))


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_vocabulary(str(tmp_path / "absent.txt"))


@pytest.mark.parametrize(("cased", "expected"), [(0, False), (9, False), (10, True), (500, True)])
def test_looks_cased_from_one_percent(tmp_path, cased, expected):
    words = [f"Word{index}" for index in range(cased)] + [f"word{index}" for index in range(995 - cased)]
    assert looks_cased(read_vocabulary(write(tmp_path, "\n".join(SPECIAL + words)))) is expected


def test_bracketed_tokens_do_not_count_as_cased(tmp_path):
    assert not looks_cased(read_vocabulary(write(tmp_path, "\n".join([*SPECIAL, "[NEW]", "a"]))))


@pytest.mark.parametrize(
    ("name", "size", "cased"),
    [
        ("uncased", 30522, False),
        ("chinese", 21128, False),
        ("cased", 28996, True),
        ("multilingual-cased", 119547, True),
    ],
)
def test_looks_cased_for_google_vocabularies(shared, name, size, cased):
    result = read_vocabulary(str(shared / "data" / "vocab" / f"bert-base-{name}-vocab.txt"))
    assert result.size == size
    assert looks_cased(result) is cased
    assert has_marked_words(result) is (name == "multilingual-cased")
    if "uncased" in name:
        assert [result.ids[token] for token in SPECIAL] == [0, 100, 101, 102, 103]


@pytest.mark.parametrize(
    ("end", "size", "left"),
    [
        ("\n\n", 6, 6),
        ("\r\n \n\u3000\n", 6, 6),
        ("\n\n", 7, 7),
        ("\n\n", 9, 8),
        ("", 5, 6),
        ("\nword\n\n", 6, 8),
    ],
)
def test_final_blank_lines_beyond_the_model_size_are_dropped(tmp_path, end, size, left):
    vocabulary = read_vocabulary(write(tmp_path, "\n".join([*SPECIAL, "a"]) + "\n" + end))
    shortened = without_blank_end(vocabulary, size)
    assert shortened.size == len(shortened.tokens) == left
    assert shortened.ids["a"] == 5
    assert max(shortened.ids.values()) == left - 1
