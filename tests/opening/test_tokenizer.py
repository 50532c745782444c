"""Tokenizers of models; tests/commands/test_tokenizer_directories.py has all formats."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.opening.paths import random_model
from bert_cli.opening.tokenizer import load_tokenizer


def test_without_files_the_builtin_model_has_a_tokenizer():
    tokenizer = load_tokenizer()
    assert tokenizer.tokenize("the Dog")[0] == "the"


def test_a_vocabulary_alone_needs_no_model():
    vocab_file, _ = random_model()
    assert load_tokenizer(vocab_file=vocab_file).tokenize("The") == ["the"]
    with pytest.raises(InputError, match=r"^missing: no checkpoint there"):
        load_tokenizer("missing", vocab_file)
