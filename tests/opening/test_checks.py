"""Checks for suspicious flags and files."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.model.config import BertConfig
from bert_cli.opening.checks import PairCheck, check_sizes, check_unknown
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.vocabulary import vocabulary_of

VOCABULARY = vocabulary_of(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "##s"], "vocab.txt")


def sequences(*rows: list[int], segments: int = 0) -> RaggedFeatures:
    offsets = np.cumsum([0, *map(len, rows)])
    return RaggedFeatures(np.concatenate(rows), np.full(offsets[-1], segments, np.int8), offsets)


def test_sizes(caplog):
    check_sizes(BertConfig(7, 8, 2, 2, max_position_embeddings=16), VOCABULARY, 16, "bert_config.json")
    assert not caplog.messages
    check_sizes(BertConfig(8, 8, 2, 2), VOCABULARY, 16, "bert_config.json")
    assert caplog.messages[0].startswith("warning: vocab.txt has 7 entries, fewer than vocab_size 8")
    with pytest.raises(InputError, match=r"^vocab\.txt has 7 entries, but the model has 6 words \(a\.json\); .* --res"):
        check_sizes(BertConfig(6, 8, 2, 2), VOCABULARY, 16, "a.json")
    with pytest.raises(InputError, match=r"or set its vocab_size to 7$"):
        check_sizes(BertConfig(6, 8, 2, 2), VOCABULARY, 16, "a.json", has_weights=False)
    with pytest.raises(InputError, match=r"^--max_seq_length=17 is above the model's 16 positions \(a\.json\)"):
        check_sizes(BertConfig(7, 8, 2, 2, max_position_embeddings=16), None, 17, "a.json")


def test_unknown_words(caplog):
    # Continuations, [CLS] and [SEP] are no words: one word of two is unknown, which is not more than half.
    check_unknown("train", sequences([2, 1, 5, 6, 3]), VOCABULARY, ModelFiles())
    assert caplog.messages[0].startswith("warning: train: 1 of 2 words (50%) are [UNK]")
    with pytest.raises(
        InputError, match=r"^dev: 2 of 3 words \(67%\) are \[UNK\]: the vocabulary vocab\.txt does not fit"
    ):
        check_unknown("dev", sequences([2, 1, 1, 5, 3]), VOCABULARY, ModelFiles())
    check_unknown("dev", sequences([2, 1, 1, 5, 3]), VOCABULARY, ModelFiles(allow_unknown=True))


def test_few_unknown_words_are_normal(caplog):
    check_unknown("train", sequences([2, 1, *[5] * 19, 3]), VOCABULARY, ModelFiles())
    assert not caplog.messages


def test_pairs_without_token_types_are_reported_once(caplog):
    check = PairCheck(BertConfig(7, 8, 2, 2, type_vocab_size=1), "bert_config.json")
    check(sequences([2, 5, 3]))
    assert not caplog.messages
    for _ in range(2):
        check(sequences([2, 5, 3], segments=1))
    assert len(caplog.messages) == 1
    assert not PairCheck(BertConfig(7, 8, 2, 2, type_vocab_size=2), "bert_config.json").is_due
