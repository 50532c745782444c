"""Checks for suspicious flags and files."""

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.model.config import BertConfig
from bert_cli.opening.checks import PairCheck, check_sizes, check_unknown
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.vocabulary import vocabulary_of
from tests.snapshots import check_message, raises

VOCABULARY = vocabulary_of(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "##s"], "vocab.txt")


def sequences(*rows: list[int], segments: int = 0) -> RaggedFeatures:
    offsets = np.cumsum([0, *map(len, rows)])
    return RaggedFeatures(np.concatenate(rows), np.full(offsets[-1], segments, np.int8), offsets)


def test_sizes(caplog):
    check_sizes(BertConfig(7, 8, 2, 2, max_position_embeddings=16), VOCABULARY, 16, "bert_config.json")
    assert not caplog.messages
    check_sizes(BertConfig(8, 8, 2, 2), VOCABULARY, 16, "bert_config.json")
    check_message(caplog.messages[0], "7 entries")
    with raises(InputError, "7 entries"):
        check_sizes(BertConfig(6, 8, 2, 2), VOCABULARY, 16, "a.json")
    with raises(InputError):
        check_sizes(BertConfig(6, 8, 2, 2), VOCABULARY, 16, "a.json", has_weights=False)
    with raises(InputError, "--max_seq_length=17"):
        check_sizes(BertConfig(7, 8, 2, 2, max_position_embeddings=16), None, 17, "a.json")


def test_unknown_words(caplog):
    # Continuations, [CLS] and [SEP] are no words: one word of two is unknown, which is not more than half.
    check_unknown("train", sequences([2, 1, 5, 6, 3]), VOCABULARY, ModelFiles())
    check_message(caplog.messages[0], "2 words")
    with raises(InputError, "dev: "):
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
