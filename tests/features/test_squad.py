"""Windows: cases to check by hand, all windows in the original's golden sets, and properties of all windows."""

import itertools
import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.squad.reading import read_squad_examples
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.examples.squad.training import read_training_examples
from bert_cli.features.packing import CutCounts, doc_spans
from bert_cli.features.squad import format_features, squad_features, window
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from tests.snapshots import raises

TOKENS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "who",
    "?",
    "the",
    "cat",
    "##s",
    "sat",
    "on",
    "mat",
    ".",
    "(",
    ")",
]
TOKENIZER = FullTokenizer({token: index for index, token in enumerate(TOKENS)})
# cat ##s sat on ( the mat ) .      pieces 0 to 8 of words 0 to 4
CONTEXT = "Cats sat on (the mat)."


def example(*answer, context=CONTEXT, question="Who?", impossible=False):
    return SquadExample("q", question, split_context(context), *answer, is_impossible=impossible)


def features_of(*examples, length=20, stride=20, query=5, training=False):
    return squad_features(examples, TOKENIZER, length, stride, query, training)


def test_one_window_by_hand():
    features = features_of(example())
    assert window(features, [example()], TOKENIZER, 16, 0) == {
        "unique_id": 1000000000,
        "example_index": 0,
        "doc_span_index": 0,
        "qas_id": "q",
        "tokens": ["[CLS]", "who", "?", "[SEP]", "cat", "##s", "sat", "on", "(", "the", "mat", ")", ".", "[SEP]"],
        "token_to_orig_map": {4: 0, 5: 0, 6: 1, 7: 2, 8: 3, 9: 3, 10: 4, 11: 4, 12: 4},
        "token_is_max_context": dict.fromkeys(range(4, 13), True),
        "input_ids": [2, 5, 6, 3, 8, 9, 10, 11, 14, 7, 12, 15, 13, 3, 0, 0],
        "input_mask": [1] * 14 + [0] * 2,
        "segment_ids": [0] * 4 + [1] * 10 + [0] * 2,
    }


def test_windows_by_hand():
    # 12 - 2 - 3 leaves space for 7 of 9 pieces. With a stride of 4, the windows have pieces 0 to 6
    # and 4 to 8. In the first window, pieces 4 and 5 have 2 and 1 pieces to their right. In the
    # second, which is shorter, they have 0 and 1 to their left.
    features = features_of(example(), length=12, stride=4)
    assert features.doc_span_index.tolist() == [0, 1]
    assert features.sequences.lengths.tolist() == [11 + 1, 10]
    assert features.owned.tolist() == [[4, 10], [6, 9]]  # pieces 0 to 5 and 6 to 8
    second = window(features, [example()], TOKENIZER, 12, 1)
    assert second["tokens"] == ["[CLS]", "who", "?", "[SEP]", "(", "the", "mat", ")", ".", "[SEP]"]
    assert second["token_to_orig_map"] == {4: 3, 5: 3, 6: 4, 7: 4, 8: 4}
    assert second["token_is_max_context"] == {4: False, 5: False, 6: True, 7: True, 8: True}
    first = window(features, [example()], TOKENIZER, 12, 0)
    assert (first["unique_id"], second["unique_id"]) == (1000000000, 1000000001)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (("Cats", 0, 0), (4, 5)),
        (("the", 3, 3), (9, 9)),  # without the word's bracket
        (("mat", 4, 4), (10, 10)),
        (("(the mat)", 3, 4), (8, 11)),
        (("at", 4, 4), (10, 12)),  # the whole word, because the answer has no separate piece
        (("\u200b", 4, 4), (10, 12)),  # the answer has no pieces
    ],
)
def test_answer_positions(answer, expected):
    features = features_of(example(*answer), training=True)
    assert (features.start_positions[0], features.end_positions[0]) == expected


def test_window_without_the_whole_answer_has_position_0():
    features = features_of(example("sat on", 1, 2), example("(the", 3, 3), length=12, stride=4, training=True)
    assert features.start_positions.tolist() == [6, 0, 8, 4]
    assert features.end_positions.tolist() == [7, 0, 9, 5]
    assert not features.is_impossible.any()


def test_impossible_question():
    features = features_of(example("", -1, -1, impossible=True), training=True)
    assert (features.start_positions.tolist(), features.is_impossible.tolist()) == ([0], [True])


def test_types():
    features = features_of(example("sat", 1, 1), training=True)
    names = (
        "example_index",
        "doc_span_index",
        "query_lengths",
        "owned",
        "start_positions",
        "end_positions",
    )
    assert {getattr(features, name).dtype for name in names} == {np.dtype(np.int32)}
    assert (features.word_indices.dtype, features.word_offsets.dtype) == (np.int32, np.int64)
    assert features.is_impossible.dtype == bool


@pytest.mark.parametrize("context", ["", " \n", "\u200b \x07"])
def test_context_without_tokens_has_no_window(context):
    features = features_of(example(context=context), example())
    assert features.example_index.tolist() == [1]
    assert features.num_examples == 2
    alone = features_of(example("", -1, -1, context=context, impossible=True), training=True)
    assert (len(alone), alone.owned.shape) == (0, (0, 2))
    assert format_features(alone, [example()], TOKENIZER, 2, has_ids=True) == []


@pytest.mark.parametrize(
    ("question", "tokens"), [("", []), ("\u200b", []), ("who ? who ? cat cat", ["who", "?", "who", "?", "cat"])]
)
def test_questions_without_tokens_or_with_too_many(question, tokens):
    features = features_of(example(question=question))
    assert window(features, [example()], TOKENIZER, 20, 0)["tokens"][: len(tokens) + 2] == ["[CLS]", *tokens, "[SEP]"]
    assert features.cuts == (CutCounts(1, 1, 6, 1) if tokens else CutCounts(1, 0, 0, 0))


def test_answer_without_pieces():
    odd = example("\u200b", 3, 3, context="cat sat on \u200b")
    features = features_of(odd, training=True)
    assert (features.start_positions[0], features.end_positions[0]) == (7, 6)  # like the original: after the last piece


@pytest.mark.parametrize(
    ("lengths", "place"),
    [
        ((8, 4, 5), "--max_seq_length: "),
        ((20, 0, 5), "--doc_stride: "),
        ((20, 4, -1), "--max_query_length: "),
    ],
)
def test_lengths_without_room(lengths, place):
    with raises(InputError, place):
        squad_features([example()], TOKENIZER, *lengths, is_training=False)


def test_log_lines():
    features = features_of(example("sat on", 1, 2), length=15, training=True)
    assert format_features(features, [example()], TOKENIZER, 1, has_ids=True) == [
        "*** Example ***",
        "unique_id: 1000000000",
        "example_index: 0",
        "doc_span_index: 0",
        "tokens: [CLS] who ? [SEP] cat ##s sat on ( the mat ) . [SEP]",
        "token_to_orig_map: 4:0 5:0 6:1 7:2 8:3 9:3 10:4 11:4 12:4",
        "token_is_max_context: 4:True 5:True 6:True 7:True 8:True 9:True 10:True 11:True 12:True",
        "input_ids: 2 5 6 3 8 9 10 11 14 7 12 15 13 3",
        "input_mask: 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
        "segment_ids: 0 0 0 0 1 1 1 1 1 1 1 1 1 1",
        "start_position: 6",
        "end_position: 7",
        "answer: sat on",
    ]
    assert format_features(features, [example()], TOKENIZER, 1, has_ids=False) == [
        "*** Example ***",
        "tokens: [CLS] who ? [SEP] cat ##s sat on ( the mat ) . [SEP]",
        "answer: sat on",
    ]
    impossible = features_of(example("", -1, -1, impossible=True), training=True)
    assert format_features(impossible, [example()], TOKENIZER, 1, has_ids=True)[-1] == "impossible example"


def owner_by_rule(bounds, piece):
    """Return the window that gives a piece the most context, by the rule."""
    scores = [
        (min(piece - start, end - 1 - piece) + 0.01 * (end - start), -index)
        for index, (start, end) in enumerate(bounds)
        if start <= piece < end
    ]
    return -max(scores)[1]


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.integers(0, 400), st.integers(1, 150), st.integers(1, 160))
def test_window_with_most_context_owns_each_piece(num_pieces, budget, stride):
    spans = doc_spans(num_pieces, budget, stride)
    bounds = [(span.start, span.end) for span in spans]
    assert all(0 < end - start <= budget for start, end in bounds)
    owned = {piece: index for index, span in enumerate(spans) for piece in range(span.owned_start, span.owned_end)}
    assert owned == {piece: owner_by_rule(bounds, piece) for piece in range(num_pieces)}
    assert all(later[0] - earlier[0] == min(stride, budget) for earlier, later in itertools.pairwise(bounds))


WORDS = st.lists(st.sampled_from(["cats", "sat", "on", "(the", "mat).", "\u200b", "caté", "?"]), max_size=40)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(WORDS, st.integers(6, 20), st.integers(1, 20), st.text(alphabet="who ?", max_size=6))
def test_windows_own_every_piece_of_the_context(words, length, stride, question):
    asked_example = example(context=" ".join(words), question=question)
    features = features_of(asked_example, length=length, stride=stride, query=2)
    pieces = [(index, piece) for index, word in enumerate(words) for piece in TOKENIZER.tokenize(word)]
    owned = []
    for row in range(len(features)):
        shown = window(features, [asked_example], TOKENIZER, length, row)
        doc = [(word, shown["tokens"][position]) for position, word in shown["token_to_orig_map"].items()]
        assert doc in [pieces[start : start + len(doc)] for start in range(len(pieces))]
        owned += [pair for pair, mine in zip(doc, shown["token_is_max_context"].values(), strict=True) if mine]
    assert owned == pieces


def golden(home, run, split):
    """Return the original's windows and ours in the same form, both by unique_id."""
    folder = home / "golden/squad"
    flags = json.loads((folder / run / "flags.json").read_text(encoding="utf-8"))
    tokenizer = FullTokenizer(read_vocabulary(str(folder / flags["vocab"])), flags["do_lower_case"])
    data = str(folder / flags["data"])
    if split == "train":
        examples = read_training_examples(QuestionSource(data), flags["version_2_with_negative"]).examples
        random.Random(12345).shuffle(examples)  # the original shuffled before it made these
    else:
        examples = read_squad_examples(QuestionSource(data)).examples
    lengths = (flags["max_seq_length"], flags["doc_stride"], flags["max_query_length"])
    features = squad_features(examples, tokenizer, *lengths, is_training=split == "train")
    text = (folder / run / f"{split}_features.jsonl").read_text(encoding="utf-8")
    expected = {record["unique_id"]: record for record in map(json.loads, text.split("\n")[:-1])}
    ours = [window(features, examples, tokenizer, lengths[0], row) for row in range(len(features))]
    return expected, {record["unique_id"]: record for record in json.loads(json.dumps(ours))}


@pytest.mark.parametrize(
    ("run", "split"), [("v1", "predict"), ("v1", "train"), ("v2", "predict"), ("v2", "train"), ("v1_cased", "predict")]
)
def test_windows_equal_the_originals(shared, run, split):
    expected, ours = golden(shared, run, split)
    assert len(expected) > 50
    assert ours == expected


@pytest.mark.parametrize(("run", "split"), [("v1", "predict"), ("v2", "train")])
def test_windows_equal_the_included_set(fixtures, run, split):
    expected, ours = golden(fixtures, run, split)
    assert len(expected) > 20
    assert ours == expected


def test_windows_equal_the_originals_with_default_lengths(shared):
    expected, ours = golden(shared, "v1_default_lengths", "predict")  # the set has only some windows
    assert len(ours) == 24
    assert {unique_id: ours[unique_id] for unique_id in expected} == expected


def test_real_training_data(shared):
    """Tokens at answer positions equal the answer. Such positions are only in windows with the whole answer."""
    tokenizer = FullTokenizer(read_vocabulary(str(shared / "data/vocab/bert-base-uncased-vocab.txt")))
    source = QuestionSource(str(shared / "data/squad/dev-v1.1.json"))
    examples = read_training_examples(source, multiple_answers="first").examples[:200]
    features = squad_features(examples, tokenizer, 128, 64, 32, is_training=True)
    same = 0
    for row in np.flatnonzero(features.start_positions):
        first = features.sequences.offsets[row]
        ids = features.sequences.token_ids[
            first + features.start_positions[row] : first + features.end_positions[row] + 1
        ]
        same += ids.tolist() == tokenizer.encode(examples[features.example_index[row]].answer_text)
    answered = set(features.example_index[features.start_positions > 0].tolist())
    assert len(features) > 200
    assert len(answered) >= 198  # an answer may be longer than the overlap of two windows
    assert same >= 0.97 * (features.start_positions > 0).sum()  # an answer may begin or end inside a word
