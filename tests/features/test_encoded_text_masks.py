"""Texts with [MASK] as ids and positions."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.features.encoded_text import encode_masked_text
from bert_cli.text.tokenization import FullTokenizer
from tests.snapshots import raises

TOKENIZER = FullTokenizer({"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "the": 5, "dog": 6, "##s": 7})


def test_masks_are_one_token():
    text = encode_masked_text("the [MASK] dogs[MASK]", TOKENIZER, 16, "line 1")
    assert text.token_ids == [2, 5, 4, 6, 7, 4, 3]
    assert text.segment_ids == [0] * 7
    assert text.positions == [2, 5]
    assert not text.is_pair


def test_masks_in_the_second_text():
    text = encode_masked_text("the dog ||| [MASK]", TOKENIZER, 16, "line 1")
    assert text.token_ids == [2, 5, 6, 3, 4, 3]
    assert text.segment_ids == [0, 0, 0, 0, 1, 1]
    assert text.positions == [4]
    assert text.is_pair


def test_a_pair_needs_no_mask():
    assert encode_masked_text("the ||| dog", TOKENIZER, 16, "line 1").positions == []


@pytest.mark.parametrize("text", ["the dog", "the ||| ", "[MASK] the dog the dog"])
def test_errors_name_the_line(text):
    with raises(InputError):
        encode_masked_text(text, TOKENIZER, 6, "line 1")
