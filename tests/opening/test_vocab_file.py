"""Tokenizers from a vocabulary file alone."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.opening.vocab_file import load_from_vocab_file
from tests.snapshots import raises

SPECIAL = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"


@pytest.mark.parametrize(
    ("words", "do_lower_case", "expected"),
    [
        ("dog\ncat\n", None, "dog"),
        ("Dog\nCat\n", None, "Dog"),
        ("Dog\nCat\n", True, "[UNK]"),
        ("dog\n", False, "[UNK]"),
    ],
)
def test_the_words_decide_about_the_casing(tmp_path, words, do_lower_case, expected):
    path = tmp_path / "vocab.txt"
    path.write_text(SPECIAL + words)
    tokenizer = load_from_vocab_file(str(path), do_lower_case)
    assert tokenizer.tokenize("Dog") == [expected]


def test_missing_files_are_refused(tmp_path):
    with raises(InputError, "vocab.txt: "):
        load_from_vocab_file(str(tmp_path / "vocab.txt"), None)
