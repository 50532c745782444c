"""--whole_words_from=spaces: the ideographs of a word are masked together."""

import pickle
import random

from bert_cli.corpus.instances import Sampling, mask_tokens
from bert_cli.corpus.space_words import SpaceWordTokenizer, mark_of, remove_marks
from bert_cli.corpus.text import Block, tokenize_block
from bert_cli.settings.pretraining import SPACES, MaskedLM
from bert_cli.text.tokenization import FullTokenizer

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"我爱北京天安门。a3", "sun", "##light"]
IDS = {token: index for index, token in enumerate(TOKENS)}
MARK = len(TOKENS)
TOKENIZER = FullTokenizer(IDS)
MARKING_TOKENIZER = SpaceWordTokenizer(TOKENIZER, 100)


def words(text):
    """Return the tokens of `text`, joined per word."""
    groups = []
    for index in MARKING_TOKENIZER.encode(text):
        token = TOKENS[index % MARK]
        if index >= MARK or token.startswith("##"):
            groups[-1].append(token)
        else:
            groups.append([token])
    return ["".join(group) for group in groups]


def test_words_are_split_at_spaces():
    assert words("我 爱 北京 天安门。") == ["我", "爱", "北京", "天安门", "。"]
    assert words("我爱 a3月 北。京") == ["我爱", "[UNK][UNK]", "北", "。", "京"]
    assert words("3 天 sunlight sunlight天") == ["3", "天", "sun##light", "sun##light天"]
    assert words("北龍京 龍") == ["北[UNK]京", "[UNK]"]


def test_unmarked_ids_equal_the_plain_tokenizer():
    text = "我 爱 北京 天安门。 sunlight"
    assert mark_of(IDS) == MARK
    assert remove_marks(MARKING_TOKENIZER.encode(text), MARK) == TOKENIZER.encode(text)
    assert pickle.loads(pickle.dumps(MARKING_TOKENIZER)).encode(text) == MARKING_TOKENIZER.encode(text)


def test_unknown_characters_are_counted_with_and_without_marks():
    block = Block("t", 1, "北龍 龍\n".encode(), True, 0)
    assert tokenize_block(block, MARKING_TOKENIZER, "H", True).num_unknown == 2
    assert tokenize_block(block, TOKENIZER, "H", True).num_unknown == 2


def mask(text, whole_words_from, seed):
    """Mask a sequence that has only `text`; return masked positions and joined labels."""
    flags = MaskedLM(4, 0.3, True, whole_words_from)
    tokenizer = MARKING_TOKENIZER if whole_words_from == SPACES else TOKENIZER
    masking_rules = Sampling.of(IDS, 32, flags).masking
    token_ids = [IDS["[CLS]"], *tokenizer.encode(text), IDS["[SEP]"]]
    positions, labels = mask_tokens(token_ids, list(range(1, len(token_ids) - 1)), masking_rules, random.Random(seed))
    assert max(token_ids) < MARK
    return positions, "".join(TOKENS[label] for label in labels)


def test_predictions_are_whole_words():
    text = "我 爱 北京 天安门"
    results = [mask(text, SPACES, seed) for seed in range(50)]
    # Three of nine tokens, including [CLS] and [SEP], are predicted.
    assert {word for _, word in results} == {"我爱", "我北京", "爱北京", "天安门"}
    assert {len(word) for _, word in (mask(text, "pieces", seed) for seed in range(50))} == {3}


def test_words_longer_than_max_predictions_are_not_masked():
    assert mask("我爱北京天安门", SPACES, 1) == ([], "")
