"""Words as candidates, before a model scores them."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.features.encoded_text import MaskedText
from bert_cli.predicting import masked_scores
from bert_cli.predicting.masked_scores import Word, read_words
from bert_cli.text.tokenization import FullTokenizer

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "##s", "cat", "he"]
TOKENIZER = FullTokenizer({token: token_id for token_id, token in enumerate(VOCABULARY)})


def test_words_have_the_pieces_of_running_text():
    assert read_words(["He", "dogs", "dog cat"], TOKENIZER) == [
        Word("He", (8,)),
        Word("dogs", (5, 6)),
        Word("dog cat", (5, 7)),
    ]


def test_a_piece_is_itself():
    assert read_words(["##s"], TOKENIZER) == [Word("##s", (6,))]


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (["he", "xyz"], "'xyz' becomes [UNK]"),
        (["dog xyz"], "'dog xyz' becomes [UNK]"),
        (["he", " "], "' ' has no tokens"),
        (["he", "HE"], "'he' and 'HE' are the same tokens"),
    ],
)
def test_words_that_cannot_be_told_apart_are_refused(words, fragment):
    with pytest.raises(InputError) as error:
        read_words(words, TOKENIZER)
    assert str(error.value).startswith("--candidates: ")
    assert fragment in str(error.value)


def test_long_texts_are_scored_in_groups(monkeypatch):
    monkeypatch.setattr(masked_scores, "_TOKENS_TOGETHER", 50)
    texts = [MaskedText("", "", [0] * length, [0] * length, [], False) for length in (3, 6, 6, 2, 90, 1)]
    groups = [
        [len(text.token_ids) for text in group]
        for group in masked_scores._groups(texts, lambda text: len(text.token_ids))
    ]
    assert groups == [[3, 6], [6, 2], [90], [1]]


def test_equal_tokens_with_other_segments_are_two_sequences():
    """A single text that itself contains "[SEP]" has the same tokens as a pair."""
    queries = masked_scores._Queries()
    single, pair = ([0, 0, 0, 0, 0], [0, 0, 0, 1, 1])
    for segment_ids in (single, pair, pair):
        queries.add(MaskedText("", "", [2, 4, 3, 5, 3], segment_ids, [1], segment_ids is pair), 5)
    assert [text.segment_ids for text in queries._texts] == [single, pair]
