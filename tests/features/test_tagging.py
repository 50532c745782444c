"""Pieces, labels and windows: cases to check by hand, and that each word is predicted once."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.tagging import TaggingExample
from bert_cli.examples.token_files.bio_tags import convert_to_bio
from bert_cli.examples.token_files.reading import read_token_file
from bert_cli.features.tagging import format_features, tagging_features
from bert_cli.reading.source import Source
from bert_cli.text.tokenization import FullTokenizer
from tests.snapshots import raises

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "anna", "left", "una", "##ffa", "##ble", "."]
TOKENIZER = FullTokenizer({token: number for number, token in enumerate(TOKENS)})
LABELS = ("O", "B-PER", "I-PER")
SENTENCE = TaggingExample(("Unaffable", "\u200b", "Anna", "left", "."), ("B-PER", "I-PER", "I-PER", "O", "O"), 1)


def windows_of(features, flat):
    return [window.tolist() for window in np.split(flat, features.sequences.offsets[1:-1])] if len(features) else []


def test_one_window_by_hand():
    features = tagging_features([SENTENCE], LABELS, TOKENIZER, max_seq_length=16, doc_stride=4)
    assert features.sequences.token_ids.tolist() == [2, 7, 8, 9, 5, 6, 10, 3]
    assert features.label_ids.tolist() == [-1, 1, -1, -1, 2, 0, 0, -1]
    assert features.word_ids.tolist() == [-1, 0, -1, -1, 2, 3, 4, -1]
    assert features.sequences.offsets.tolist() == [0, 8]
    assert not features.sequences.segment_ids.any()
    assert features.example_ids.tolist() == [0]
    assert features.num_words.tolist() == [5]
    assert (len(features), features.num_split, features.num_words_without_pieces) == (1, 0, 1)


def test_types():
    features = tagging_features([SENTENCE], LABELS, TOKENIZER, 16, 4)
    arrays = [*vars(features.sequences).values(), *(vars(features)[name] for name in list(vars(features))[1:])]
    assert [array.dtype for array in arrays] == [np.int32, np.int8, np.int64] + [np.int32] * 4


def test_later_pieces_get_the_inside_form():
    features = tagging_features([SENTENCE], LABELS, TOKENIZER, 16, 4, label_all_pieces=True)
    assert features.label_ids.tolist() == [-1, 1, 2, 2, 2, 0, 0, -1]
    assert features.word_ids.tolist() == [-1, 0, -1, -1, 2, 3, 4, -1]  # only first pieces are predicted
    outside = TaggingExample(("unaffable",), ("O",), 1)
    features = tagging_features([outside], LABELS, TOKENIZER, 16, 4, label_all_pieces=True)
    assert features.label_ids.tolist() == [-1, 0, 0, 0, -1]


def test_windows_by_hand():
    # The pieces una ##ffa ##ble anna left . have windows of 4 at 0 and 2. Both windows have
    # contexts 0 1 1 0, so ##ble belongs to the first window, and anna to the second.
    features = tagging_features([SENTENCE], LABELS, TOKENIZER, max_seq_length=6, doc_stride=2, label_all_pieces=True)
    assert windows_of(features, features.sequences.token_ids) == [[2, 7, 8, 9, 5, 3], [2, 9, 5, 6, 10, 3]]
    assert windows_of(features, features.word_ids) == [[-1, 0, -1, -1, -1, -1], [-1, -1, 2, 3, 4, -1]]
    assert windows_of(features, features.label_ids) == [[-1, 1, 2, 2, -1, -1], [-1, -1, 2, 0, 0, -1]]
    assert features.example_ids.tolist() == [0, 0]
    assert features.num_split == 1


def test_word_longer_than_a_window():
    # The windows of 2 pieces are una ##ffa | ##ffa ##ble | ##ble anna | anna left. Without context,
    # each piece belongs to its first window. The second window predicts nothing and is skipped.
    example = TaggingExample(("unaffable", "anna", "left"), ("O", "B-PER", "O"), 1)
    features = tagging_features([example], LABELS, TOKENIZER, max_seq_length=4, doc_stride=1)
    assert windows_of(features, features.sequences.token_ids) == [[2, 7, 8, 3], [2, 9, 5, 3], [2, 5, 6, 3]]
    assert windows_of(features, features.word_ids) == [[-1, 0, -1, -1], [-1, -1, 1, -1], [-1, -1, 2, -1]]


def test_sentences_without_words_have_no_window():
    examples = [TaggingExample((), None, 1), TaggingExample(("\u200b", "\x01"), ("O", "O"), 2), SENTENCE]
    features = tagging_features(examples, LABELS, TOKENIZER, 16, 4)
    assert features.example_ids.tolist() == [2]
    assert features.num_words.tolist() == [0, 2, 5]
    assert features.num_words_without_pieces == 3
    nothing = tagging_features(examples[:2], LABELS, TOKENIZER, 16, 4)
    assert (len(nothing), nothing.num_split, nothing.sequences.offsets.tolist()) == (0, 0, [0])


@pytest.mark.parametrize("label_all_pieces", [False, True])
def test_windows_of_some_sentences(label_all_pieces):
    """They equal the windows of a file with only these sentences, including long ones and one without words."""
    long = TaggingExample(SENTENCE.words * 4, SENTENCE.tags * 4, 9)
    examples = [SENTENCE, long, TaggingExample((), (), 2), SENTENCE, long]
    rows = np.array([1, 2, 4])
    actual = tagging_features(examples, LABELS, TOKENIZER, 8, 4, label_all_pieces).take(rows)
    expected = tagging_features([examples[row] for row in rows], LABELS, TOKENIZER, 8, 4, label_all_pieces)
    assert len(actual) > 4
    for name in ("label_ids", "word_ids", "example_ids", "num_words"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))
    for name in ("token_ids", "segment_ids", "offsets"):
        np.testing.assert_array_equal(getattr(actual.sequences, name), getattr(expected.sequences, name))


def test_without_tags_nothing_is_trained():
    features = tagging_features([TaggingExample(("anna", "unaffable"), None, 1)], LABELS, TOKENIZER, 16, 4, True)
    assert (features.label_ids == -1).all()
    assert features.word_ids.tolist() == [-1, 0, 1, -1, -1, -1]


def test_unknown_words_are_one_piece():
    features = tagging_features([TaggingExample(("zzz", "Anna!"), None, 1)], LABELS, TOKENIZER, 16, 4)
    assert features.sequences.token_ids.tolist() == [2, 1, 5, 1, 3]
    assert features.word_ids.tolist() == [-1, 0, 1, -1, -1]


@pytest.mark.parametrize(
    ("length", "stride", "place"),
    [
        (2, 1, "--max_seq_length: "),
        (8, 0, "--doc_stride: "),
    ],
)
def test_invalid_settings(length, stride, place):
    with raises(InputError, place):
        tagging_features([SENTENCE], LABELS, TOKENIZER, length, stride)


def test_log_lines():
    features = tagging_features([SENTENCE, SENTENCE], LABELS, TOKENIZER, 16, 4)
    assert format_features(features, LABELS, TOKENIZER, count=1) == [
        "*** Example ***",
        "example: 0",
        "tokens: [CLS] una ##ffa ##ble anna left . [SEP]",
        "labels: - B-PER - - I-PER O O -",
    ]
    assert len(format_features(features, LABELS, TOKENIZER, count=2)) == 8


def test_format_features_without_tags():
    features = tagging_features([dataclasses.replace(SENTENCE, tags=None)], LABELS, TOKENIZER, 16, 4)
    assert format_features(features, LABELS, TOKENIZER, count=1)[-1] == "labels: none"


def plain_windows(length, size, stride):
    """Return (start, owned pieces) of windows that own pieces, by the rule in floating point."""
    spans = []
    start = 0
    while True:
        count = min(size, length - start)
        spans.append((start, count))
        if start + count == length:
            break
        start += min(count, stride)
    owned = [[] for _ in spans]
    for piece in range(length):
        scores = [
            min(piece - start, start + count - 1 - piece) + 0.01 * count if start <= piece < start + count else -1.0
            for start, count in spans
        ]
        owned[scores.index(max(scores))].append(piece)
    return [(start, pieces) for (start, _), pieces in zip(spans, owned, strict=True) if pieces]


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 25))
def test_words_are_predicted_with_most_context(length, size, stride):
    example = TaggingExample(("anna",) * length, None, 1)
    features = tagging_features([example], LABELS, TOKENIZER, size + 2, stride)
    actual = []
    for word_ids in windows_of(features, features.word_ids):
        window_words = [word for word in word_ids if word >= 0]
        actual.append((window_words[0] - word_ids.index(window_words[0]) + 1, window_words))
    assert actual == plain_windows(length, size, stride)


words = st.sampled_from(["anna", "left", "unaffable", "unaffable.unaffable", "\u200b", "zzz"])


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.lists(st.lists(words, max_size=30), max_size=4), st.integers(3, 12), st.integers(1, 12), st.booleans())
def test_words_are_predicted_once(sentences, max_seq_length, doc_stride, label_all_pieces):
    tags = ("B-PER", "I-PER", "O")
    examples = [
        TaggingExample(tuple(sentence), tuple(tags[word % 3] for word in range(len(sentence))), 1)
        for sentence in sentences
    ]
    features = tagging_features(examples, LABELS, TOKENIZER, max_seq_length, doc_stride, label_all_pieces)
    assert features.sequences.lengths.max(initial=0) <= max_seq_length
    predicted = {}
    for window, example in enumerate(features.example_ids.tolist()):
        tokens_range = slice(*features.sequences.offsets[window : window + 2].tolist())
        ids, word_ids = features.sequences.token_ids[tokens_range].tolist(), features.word_ids[tokens_range].tolist()
        assert (ids[0], ids[-1], word_ids[0], word_ids[-1]) == (2, 3, -1, -1)
        assert not {2, 3} & set(ids[1:-1])
        for token, word, label in zip(ids, word_ids, features.label_ids[tokens_range].tolist(), strict=True):
            if word >= 0:
                assert (example, word) not in predicted
                predicted[example, word] = token
                assert LABELS[label] == examples[example].tags[word]
            else:
                assert label == -1 or label_all_pieces
    assert predicted == {
        (number, word): TOKENIZER.encode(text)[0]
        for number, sentence in enumerate(sentences)
        for word, text in enumerate(sentence)
        if text != "\u200b"
    }


def test_real_sentences(shared):
    file, _ = convert_to_bio(read_token_file(Source(str(shared / "data" / "wnut17" / "emerging.dev.conll"))))
    labels = ("O", *sorted({tag for example in file.examples for tag in example.tags} - {"O"}))
    features = tagging_features(file.examples, labels, TOKENIZER, max_seq_length=12, doc_stride=6)
    assert features.num_split > 100
    assert (features.word_ids >= 0).sum() == (features.label_ids >= 0).sum()
    assert (features.word_ids >= 0).sum() + features.num_words_without_pieces == features.num_words.sum() == 15733
