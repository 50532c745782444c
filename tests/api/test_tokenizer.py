"""Tokenizers for Python programs."""

import pytest

from bert_cli.api.tokenizer import Tokenizer
from bert_cli.base.errors import InputError, InputTypeError
from tests.snapshots import raises


@pytest.fixture
def tokenizer(tmp_path) -> Tokenizer:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ndog\n##s\n")
    return Tokenizer.load(tmp_path / "vocab.txt")


def test_a_vocabulary_is_enough(tokenizer):
    assert (tokenizer.vocab_size, tokenizer.do_lower_case) == (8, True)
    assert tokenizer.tokenize("The dogs") == ["the", "dog", "##s"]
    assert tokenizer.encode("dog", "the")["input_ids"] == [2, 6, 3, 5, 3]


def test_wrong_arguments_are_named(tokenizer, tmp_path):
    with pytest.raises(InputTypeError, match="text"):
        tokenizer.tokenize(7)
    with pytest.raises(InputTypeError, match="text_b"):
        tokenizer.encode("a", 7)
    with raises(InputError, "none.txt: "):
        Tokenizer.load(tmp_path / "none.txt")
