"""Chunks of token sequences: their lines, and windows over long texts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_cli.examples.text_lines import split_line
from bert_cli.features.extraction import extraction_chunks
from bert_cli.features.packing import CutCounts, pack
from bert_cli.text.tokenization import FullTokenizer

TOKENIZER = FullTokenizer(
    {token: i for i, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcde", "##b", ","])}
)
A, B, C = (TOKENIZER.ids[letter] for letter in "abc")


def make_chunks(lines, max_seq_length=8, **options):
    texts = [split_line(line, number) for number, line in enumerate(lines)]
    return list(extraction_chunks(texts, TOKENIZER, max_seq_length, **options))


def test_lines_are_cut_like_in_the_original():
    (features,) = make_chunks(["a b", "", "a a a ||| b", "a a a a a a a"], 6)
    assert features.offsets.tolist() == [0, 4, 6, 12, 18]
    assert features.token_ids.tolist() == [2, A, B, 3, 2, 3, 2, A, A, 3, B, 3, 2, A, A, A, A, 3]
    assert features.sequences.segment_ids.tolist() == [0] * 10 + [1, 1] + [0] * 6
    assert features.cuts == CutCounts(4, 2, 13, 4)
    assert (np.count_nonzero(features.num_cut), features.num_cut.sum()) == (2, 4)
    assert features.positions.tolist() == [0, 1, 2, 3, 0, 1, *range(6), *range(6)]


def test_chunks_are_limited_by_lines_and_cost():
    lines = ["a"] * 5
    assert [(chunk.first_line, len(chunk)) for chunk in make_chunks(lines, max_lines=2)] == [(0, 2), (2, 2), (4, 1)]
    assert [len(chunk) for chunk in make_chunks(lines, cost=lambda tokens: tokens, max_cost=7)] == [3, 2]
    assert [len(chunk) for chunk in make_chunks(lines, max_lines=3, first_lines=1)] == [1, 3, 1]
    assert [len(chunk) for chunk in make_chunks(lines, max_lines=2, first_lines=3)] == [2, 2, 1]
    assert make_chunks([]) == []


def test_windows_by_hand():
    # Six pieces are in windows of four with a stride of two. If contexts are equal, the first
    # window owns the piece.
    (features,) = make_chunks(["a b c a b c"], 6, long_text=True)
    assert features.sequences.lengths.tolist() == [6, 6]
    assert features.window_lines.tolist() == [0, 0]
    assert features.positions.tolist() == [0, 1, 2, 3, -1, -1, -1, -1, 4, 5, 6, 7]
    assert features.token_ids.tolist() == [2, A, B, C, A, B, C, 3]
    assert features.cuts == CutCounts(1, 0, 6, 0)
    assert features.num_cut.tolist() == [0]


WORDS = st.lists(st.sampled_from("abcde"), max_size=40)


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4), st.integers(5, 20))
def test_windows_own_each_token_once(pairs, max_seq_length):
    lines = [" ".join(a) + (f" ||| {' '.join(b)}" if b else "") for a, b in pairs]
    (features,) = make_chunks(lines, max_seq_length, long_text=True)
    sequences = features.sequences
    assert sequences.lengths.max() <= max_seq_length
    held = np.full(len(features.token_ids), -1)
    segments = np.zeros_like(held)
    for window, line in enumerate(features.window_lines):
        for at in range(*sequences.offsets[window : window + 2]):
            if features.positions[at] >= 0:
                place = features.offsets[line] + features.positions[at]
                assert held[place] == -1
                held[place], segments[place] = sequences.token_ids[at], sequences.segment_ids[at]
    assert held.tolist() == features.token_ids.tolist()
    texts = [split_line(line) for line in lines]
    whole = [
        pack(TOKENIZER.encode(text.text_a), TOKENIZER.encode(text.text_b or ""), 999, TOKENIZER.ids["[CLS]"], 3)
        for text in texts
    ]
    assert held.tolist() == [token for packed in whole for token in packed.token_ids]
    assert segments.tolist() == [segment for packed in whole for segment in packed.segment_ids]


def test_words_have_token_indices():
    (features,) = make_chunks([" ab, \u200b c ||| d e"], 7, words=True)
    # [CLS] a ##b [SEP] d e [SEP]: the end of the longer text is cut
    assert features.token_ids.tolist() == [2, A, TOKENIZER.ids["##b"], 3, TOKENIZER.ids["d"], TOKENIZER.ids["e"], 3]
    assert [tuple(word) for word in features.words[0]] == [("ab", 1, 3, 1, 3), ("d", 13, 14, 4, 5), ("e", 15, 16, 5, 6)]


@given(WORDS.filter(bool), WORDS, st.integers(5, 20), st.booleans())
def test_word_tokens_equal_the_words_pieces(a, b, max_seq_length, long_text):
    line = " ".join(a) + (f" ||| {' '.join(b)}" if b else "")
    (features,) = make_chunks([line], max_seq_length, words=True, long_text=long_text)
    for word in features.words[0]:
        tokens = features.token_ids[word.first : word.last].tolist()
        assert TOKENIZER.convert_ids_to_tokens(tokens) == [line[word.start : word.end]]
    specials = int(np.isin(features.token_ids, [2, 3]).sum())
    assert len(features.words[0]) == len(features.token_ids) - specials
