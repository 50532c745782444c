"""Answers that lengths make impossible, with counts by hand."""

import numpy as np
import pytest

from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.answer_limits import (
    describe_long_answers,
    describe_missed_answers,
    describe_too_long_answers,
    measure_gold_answers,
)
from bert_cli.features.squad import squad_features
from bert_cli.text.tokenization import FullTokenizer
from tests.snapshots import check_message

TOKENIZER = FullTokenizer(
    {token: index for index, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "cat", "##s"])}
)
CONTEXT = " ".join(["cats"] * 6)  # 12 word pieces


def example(first, last):
    text = " ".join(["cats"] * (last - first + 1))
    return SquadExample("q", "who", split_context(CONTEXT), text, first, last, is_impossible=False)


IMPOSSIBLE = SquadExample("q", "who", split_context(CONTEXT), "", -1, -1, is_impossible=True)


def features_of(*examples, length, stride):
    return squad_features(examples, TOKENIZER, length, stride, 2, is_training=True)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (12, ""),
        (11, "1 of 3 answers have more tokens than --max_answer_length=11, so no prediction can be equal to them; "
             "--max_answer_length=12 suffices"),
        (3, "2 of 3 answers have more tokens than --max_answer_length=3"),
        (1, "3 of 3 answers have more tokens than --max_answer_length=1"),
    ],
)  # fmt: skip
def test_long_training_answers(limit, expected):
    features = features_of(example(0, 0), IMPOSSIBLE, example(1, 2), example(0, 5), length=20, stride=5)
    assert features.answer_lengths.tolist() == [2, 0, 4, 12]
    assert describe_long_answers(features.answer_lengths, limit).startswith(expected)
    assert bool(describe_long_answers(features.answer_lengths, limit)) == bool(expected)


def test_gold_answers_are_measured_in_word_pieces():
    """A question's shortest answer counts; short texts need no tokenizer."""
    answers = [("cats cats", "cats cats cats"), ("cats", "cats cats cats"), (), ("x" * 40,)]
    assert measure_gold_answers(answers, TOKENIZER, 4).tolist() == [4, 4, 0, 1]
    assert describe_long_answers(measure_gold_answers(answers, TOKENIZER, 3), 3).startswith("1 of 3 answers")
    assert not describe_long_answers(measure_gold_answers([], TOKENIZER, 3), 3)


@pytest.mark.parametrize(
    ("examples", "length", "stride", "expected"),
    [
        # Windows have 6 pieces of the context, and begin at 0, 6.
        ([example(0, 0), example(2, 3)], 10, 6, (1, 2, "--doc_stride=3 or --max_seq_length=13")),
        ([example(0, 3), IMPOSSIBLE], 10, 2, (1, 1, "--max_seq_length=13")),
        ([example(0, 5), example(0, 3)], 10, 6, (2, 2, "--max_seq_length=16")),
        ([example(0, 2), example(3, 5)], 10, 6, None),
        ([example(0, 5)], 16, 128, None),
    ],
)
def test_answers_in_no_window(examples, length, stride, expected):
    message = describe_missed_answers(features_of(*examples, length=length, stride=stride), length, stride)
    if expected is None:
        assert message == ""
        return
    num_missed, num_answers, remedies = expected
    check_message(message, f"{num_missed} of {num_answers} answers")
    assert message.endswith(f"; {remedies} suffices")
    for remedy in remedies.split(" or "):
        flag, _, value = remedy.partition("=")
        lengths = (length, int(value)) if flag == "--doc_stride" else (int(value), stride)
        assert describe_missed_answers(features_of(*examples, length=lengths[0], stride=lengths[1]), *lengths) == ""


def test_correct_answers_that_are_longer_than_a_window():
    """Windows have 6 pieces of the context, and the positions of the answers are unknown."""
    features = squad_features([example(0, 5)] * 3, TOKENIZER, 10, 4, 2, is_training=False)
    lengths = np.array([6, 7, 0], np.int32)
    message = describe_too_long_answers(features, lengths, 10, 4)
    check_message(message, "2 answers")
    assert message.endswith("; --max_seq_length=14 suffices")
    assert describe_too_long_answers(features, lengths, 14, 4) == ""


def test_predictions_have_no_answers():
    features = squad_features([example(0, 5)], TOKENIZER, 10, 6, 2, is_training=False)
    assert features.answer_lengths.tolist() == [0]
    assert describe_missed_answers(features, 10, 6) == ""
    assert describe_long_answers(np.zeros(0, np.int32), 30) == ""
