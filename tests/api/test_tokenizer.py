"""Tokenizers for Python programs."""

import numpy as np
import pandas as pd
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


def test_lists_and_tables_of_texts(tokenizer):
    texts = ["The dogs", "dog"]
    for values in (texts, iter(texts), pd.Series(texts), pd.DataFrame({"text": texts})):
        assert tokenizer.tokenize(values) == [["the", "dog", "##s"], ["dog"]]
    assert tokenizer.encode(texts) == [tokenizer.encode(text) for text in texts]
    assert tokenizer.encode([("dog", "the"), "dogs"])[0] == tokenizer.encode("dog", "the")
    with raises(InputTypeError, "text[1]: "):
        tokenizer.tokenize(["dog", None])
    with raises(InputError, "text_b: "):
        tokenizer.encode(["dog"], "the")


def test_ids_and_tokens_there_and_back(tokenizer):
    ids = tokenizer.encode("The dogs", "a dog")["input_ids"]
    assert tokenizer.decode(ids) == "the dogs [UNK] dog"
    assert tokenizer.decode(ids, skip_special_tokens=False) == "[CLS] the dogs [SEP] [UNK] dog [SEP]"
    assert tokenizer.decode(np.array([5, 6, 7, 0, 0])) == "the dogs"
    tokens = tokenizer.convert_ids_to_tokens(ids)
    assert tokenizer.convert_tokens_to_ids(tokens) == ids
    assert tokenizer.vocab[5:] == ("the", "dog", "##s")
    for wrong in ([8], [0, -1]):
        with raises(InputError, "ids: "):
            tokenizer.decode(wrong)
    with raises(InputError, "tokens[1]: "):
        tokenizer.convert_tokens_to_ids(["dog", "cat"])
    with raises(InputTypeError, "tokens: "):
        tokenizer.convert_tokens_to_ids("dog")


def test_pieces_and_the_tokenizer_are_shown(tokenizer):
    pieces = tokenizer.pieces("The dogs, bird")
    assert [pieces.text[piece.start : piece.end] for piece in pieces] == ["The", "dog", "s", ",", "bird"]
    assert repr(pieces) == "Pieces: the dog ##s [UNK] [UNK]"
    assert repr(tokenizer) == "Tokenizer: 8 tokens, lower case without accents"
