"""Answers from logits: contexts with five tokens checked by hand, and random ones by a plain rule."""

import dataclasses
import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.squad import squad_features
from bert_cli.outputs.answers.answer_text import final_span, join_pieces
from bert_cli.outputs.answers.squad import SpanDecoder, check_search
from bert_cli.settings.answering import AnswerSearch
from bert_cli.text.tokenization import FullTokenizer
from tests.snapshots import raises

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "?", "the", "cat", "##s", "sat", "on", "mat", "."]
TOKENIZER = FullTokenizer({token: index for index, token in enumerate(TOKENS)})
# position 0 [CLS], 1 who, 2 ?, 3 [SEP], 4 the, 5 cat, 6 sat, 7 on, 8 mat, 9 [SEP]
EXAMPLE = SquadExample("q", "Who?", split_context("The cat  sat on\nmat"))
SEARCH = AnswerSearch(n_best_size=3, max_answer_length=3)


def logits(length=12, **at):
    """Return the logits of a window: -9 except at given positions, such as p4=1.0."""
    row = np.full((1, length), -9.0, np.float32)
    for name, value in at.items():
        row[0, int(name[1:])] = value
    return row


def decode(search, start, end, examples=(EXAMPLE,), length=20, stride=20, version_2=False):
    features = squad_features(examples, TOKENIZER, length, stride, 4, is_training=False)
    decoder = SpanDecoder(features, search, version_2)
    decoder.add(range(len(features)), start, end)
    return decoder.finish(examples, TOKENIZER)


decode_2 = functools.partial(decode, version_2=True)


def list_entries(prediction):
    return [(entry.text, entry.start_logit, entry.end_logit) for entry in prediction.nbest]


def test_best_span():
    (prediction,) = decode(SEARCH, logits(p5=2.0, p6=1.0), logits(p6=3.0, p4=4.0, p9=9.0))
    # The best starts are 5, 6 and 0, the best ends 9 (a [SEP]), 4 and 6. End 4 is before both
    # starts.
    assert list_entries(prediction) == [("cat sat", 2.0, 3.0), ("sat", 1.0, 3.0)]
    assert (prediction.text, prediction.span, prediction.null_odds) == ("cat sat", (4, 12), None)
    assert EXAMPLE.paragraph.context[4:12] == "cat  sat"
    assert prediction.nbest[0].probability == pytest.approx(1 / (1 + math.exp(-1)))


def test_equal_scores_keep_position_order():
    flat = np.zeros((1, 12), np.float32)
    (prediction,) = decode(AnswerSearch(8, 2), flat, flat)
    assert [text for text, *_ in list_entries(prediction)] == [
        "The",
        "The cat",
        "cat",
        "cat sat",
        "sat",
        "sat on",
        "on",
    ]


def test_longest_answer():
    search = dataclasses.replace(SEARCH, max_answer_length=2)
    (prediction,) = decode(search, logits(p4=5.0, p6=1.0), logits(p6=3.0, p7=2.0))
    assert list_entries(prediction) == [("sat", 1.0, 3.0), ("sat on", 1.0, 2.0)]


def test_padding_competes_unless_it_is_minus_infinity():
    search = AnswerSearch(1, 3)
    start, end = logits(p5=1.0, p11=8.0), logits(p5=1.0)
    assert decode(search, start, end)[0].text == "empty"
    start[:, 10:] = -np.inf
    assert decode(search, start, end)[0].text == "cat"


def test_no_answer_found():
    (prediction,) = decode(SEARCH, logits(p6=1.0), logits(p4=1.0))
    assert list_entries(prediction) == [("empty", 0.0, 0.0)]
    assert (prediction.nbest[0].probability, prediction.span, prediction.found) == (1.0, None, False)


def test_same_text_is_listed_once():
    twice = SquadExample("q", "Who?", split_context("cat on cat on"))
    (prediction,) = decode(SEARCH, logits(p4=1.0, p6=2.0), logits(p4=1.0, p6=2.0), [twice])
    assert list_entries(prediction) == [("cat", 2.0, 2.0), ("cat on cat", 1.0, 2.0)]
    assert prediction.span == (7, 10)


@pytest.mark.parametrize(
    ("null", "threshold", "text", "odds"),
    [
        (1.0, 0.0, "cat", -1.0),
        (2.0, 0.0, "cat", 0.0),
        (2.5, 0.0, "", 0.5),
        (2.5, 0.5, "cat", 0.5),
        (1.0, -1.5, "", -1.0),
    ],
)
def test_null_answer(null, threshold, text, odds):
    search = dataclasses.replace(SEARCH, null_score_diff_threshold=threshold)
    (prediction,) = decode_2(search, logits(p0=null, p5=1.0), logits(p0=0.0, p5=1.0))
    assert (prediction.text, prediction.null_odds) == (text, odds)
    assert prediction.span == ((4, 7) if text else None)
    assert {entry[0] for entry in list_entries(prediction)} >= {"", "cat"}


def test_null_answer_is_added_to_a_full_list():
    (prediction,) = decode_2(SEARCH, logits(p4=5.0, p5=4.0, p6=3.0), logits(p4=5.0, p5=4.0, p6=3.0))
    assert [entry[0] for entry in list_entries(prediction)] == ["The", "The cat", "The cat sat", ""]
    assert sum(entry.probability for entry in prediction.nbest) == pytest.approx(1)


def test_only_the_null_answer():
    (prediction,) = decode_2(SEARCH, logits(p0=1.0, p6=0.5), logits(p0=1.0, p4=0.5))
    assert list_entries(prediction) == [("", 1.0, 1.0)]
    assert (prediction.text, prediction.null_odds, prediction.found) == ("", 1000000.0, False)


def test_list_with_a_single_entry():
    search = dataclasses.replace(SEARCH, n_best_size=1)
    (null,) = decode_2(search, logits(p0=3.0, p5=1.0), logits(p0=3.0, p5=1.0))
    assert (list_entries(null), null.text, null.null_odds) == ([("", 3.0, 3.0)], "", 1000000.0)
    (both,) = decode_2(search, logits(p0=1.0, p5=1.5), logits(p0=1.0, p5=1.5))
    assert [entry[0] for entry in list_entries(both)] == ["cat", ""]


def test_the_lowest_null_score_counts():
    long = SquadExample("q", "Who?", split_context("the cat sat on the mat"))
    start = np.concatenate([logits(8, p0=3.0), logits(8, p0=-1.0)])
    end = np.concatenate([logits(8, p5=1.0), logits(8, p5=1.0)])
    (prediction,) = decode_2(AnswerSearch(8, 3), start, end, [long], length=8, stride=4)
    assert ("", -1.0, -9.0) in list_entries(prediction)


@pytest.mark.parametrize("version_2", [False, True])
def test_context_without_tokens(version_2):
    empty = SquadExample("e", "Who?", split_context(" "))
    examples = [empty, EXAMPLE, empty]
    first, second, third = decode(SEARCH, logits(p5=1.0), logits(p5=1.0), examples, version_2=version_2)
    assert second.text == "cat"
    assert (first.found, first.text) == (False, "" if version_2 else "empty")
    assert list_entries(first) == list_entries(third) == [(first.text, 0.0, 0.0)]
    alone = decode(SEARCH, np.zeros((0, 5)), np.zeros((0, 5)), [empty], version_2=version_2)
    assert alone == [first]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_damaged_logits_are_refused(bad):
    with raises(InputError):
        decode(SEARCH, logits(p3=bad), logits())


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="logits"):
        decode(SEARCH, logits(length=9), logits(length=9))
    features = squad_features([EXAMPLE], TOKENIZER, 20, 20, 4, is_training=False)
    with pytest.raises(ValueError, match="window 0 has no logits"):
        SpanDecoder(features, SEARCH, False).finish([EXAMPLE], TOKENIZER)
    with pytest.raises(ValueError, match="other examples"):
        SpanDecoder(features, SEARCH, False).finish([EXAMPLE] * 2, TOKENIZER)
    for search, flag in ((AnswerSearch(0), "n_best_size"), (AnswerSearch(1, 0), "max_answer_length")):
        with pytest.raises(InputError, match=f"--{flag}: 0"):
            check_search(search)


WORDS = ["The", "cats", "sat", "on", "mat.", "Caté", "\u200b", "who"]


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=14), min_size=1, max_size=3),
    st.sampled_from([" ", "  ", "\n "]),
    st.integers(1, 8),
    st.integers(1, 6),
    st.booleans(),
    st.integers(0, 2**31),
)
def test_answers_follow_the_plain_rule(contexts, gap, n_best, longest, version_2, seed):
    examples = [SquadExample(str(i), "who", split_context(gap.join(words))) for i, words in enumerate(contexts)]
    features = squad_features(examples, TOKENIZER, 10, 3, 4, is_training=False)
    rng = np.random.default_rng(seed)
    start, end = rng.integers(-3, 4, (2, len(features), 10)).astype(np.float32)  # whole numbers, so that many are equal
    search = AnswerSearch(n_best, longest)
    decoder = SpanDecoder(features, search, version_2)
    order = rng.permutation(len(features))
    for rows in np.array_split(order, 3):  # logits may arrive in any order
        decoder.add(rows, start[rows], end[rows])
    for index, prediction in enumerate(decoder.finish(examples, TOKENIZER)):
        expected = plain_spans(features, examples[index], index, start, end, search, version_2)
        expected = expected[:n_best]
        if version_2 and "" not in [entry[0] for entry in expected]:
            expected.append(("", *null_logits(features, index, start, end)))
        assert list_entries(prediction) == (expected or [("empty", 0.0, 0.0)])
        for entry in prediction.nbest:
            if entry.span is not None:
                there = examples[index].paragraph.context[entry.span[0] : entry.span[1]]
                assert " ".join(there.split()) == entry.text


def null_logits(features, index, start, end):
    rows = np.flatnonzero(features.example_index == index).tolist()
    return min([(float(start[row][0]), float(end[row][0])) for row in rows], key=sum, default=(0.0, 0.0))


def plain_spans(features, example, index, start, end, search, version_2):
    """Return (text, start logit, end logit) for all distinct answers, best first, using loops.

    The text "" is for no answer.
    """
    entries = []
    rows = np.flatnonzero(features.example_index == index).tolist()
    for row in rows:
        best = [sorted(range(10), key=lambda i: -values[row][i])[: search.n_best_size] for values in (start, end)]
        for i in best[0]:
            for j in best[1]:
                owned = features.owned[row][0] <= i < features.owned[row][1]
                if owned and i <= j < min(i + search.max_answer_length, features.doc_ends[row]):
                    words = features.word_of(row, i), features.word_of(row, j)
                    first = features.sequences.offsets[row]
                    ids = features.sequences.token_ids[first + i : first + j + 1].tolist()
                    orig_text = " ".join(example.paragraph.doc_tokens[words[0] : words[1] + 1])
                    pred_text = join_pieces(TOKENIZER.convert_ids_to_tokens(ids))
                    span = slice(*final_span(pred_text, orig_text, TOKENIZER))
                    entries.append((orig_text[span], float(start[row][i]), float(end[row][j])))
    if version_2:
        entries.append(("", *null_logits(features, index, start, end)))
    entries.sort(key=lambda entry: -(entry[1] + entry[2]))
    first_of_each = {}
    for entry in entries:
        first_of_each.setdefault(entry[0], entry)
    return list(first_of_each.values())
