"""Token ids of examples: a case to check by hand, and all features in the original's golden sets."""

import dataclasses
import json

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.glue import TASKS
from bert_cli.features.classification import classification_features, concatenate, format_features
from bert_cli.features.packing import CutCounts
from bert_cli.problem_types.registry import PROBLEM_TYPES
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from tests.rows import read_task, write_rows
from tests.snapshots import raises


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "tide", "came", "in", ".", "##s", "rain"]
    write_rows(path, tokens)
    return FullTokenizer(read_vocabulary(str(path)), do_lower_case=True)


EXAMPLES = [
    ClassificationExample("dev-0", "The tides came in.", None, "b"),
    ClassificationExample("dev-1", "", None, "a"),
    ClassificationExample("dev-2", "Rain", None, None),
]


def test_ids_by_hand(tokenizer):
    features = classification_features(EXAMPLES, ("a", "b"), tokenizer, max_seq_length=6)
    # [CLS] the tide ##s came (without "in ."), an empty text, and rain
    assert features.sequences.token_ids.tolist() == [2, 5, 6, 10, 7, 3, 2, 3, 2, 11, 3]
    assert features.sequences.offsets.tolist() == [0, 6, 8, 11]
    assert not features.sequences.segment_ids.any()
    assert features.label_ids.tolist() == [1, 0, 0]
    assert features.guids == ("dev-0", "dev-1", "dev-2")
    assert features.cuts == CutCounts(3, 1, 7, 2)
    assert len(features) == 3


def test_weights_and_a_teacher_move_with_their_rows(tokenizer):
    features = classification_features(EXAMPLES, ("a", "b"), tokenizer, max_seq_length=6)
    assert features.batch(np.array([0, 1])).keys() == {"input_word_ids", "input_mask", "input_type_ids", "label_ids"}
    weighted = dataclasses.replace(features, weights=np.array([1, 2, 3], np.float32))
    both = concatenate(weighted, features)
    assert both.weights.tolist() == [1, 2, 3, 1, 1, 1]
    assert concatenate(features, features).weights is None
    logits = np.arange(12, dtype=np.float32).reshape(6, 2)
    taught = dataclasses.replace(both, teacher_logits=logits, has_label=np.array([1, 1, 1, 0, 0, 0], np.float32))
    batch = taught.take(np.array([4, 1, 3])).batch(np.array([2, 1]))
    assert batch["example_weight"].tolist() == [1, 2]
    assert batch["has_label"].tolist() == [0, 1]
    assert batch["teacher_logits"].tolist() == [[6, 7], [2, 3]]


def test_types(tokenizer):
    features = classification_features(EXAMPLES, ("a", "b"), tokenizer, max_seq_length=6)
    arrays = [*vars(features.sequences).values(), features.label_ids]
    assert [array.dtype for array in arrays] == [np.int32, np.int8, np.int64, np.int32]


def test_log_lines_for_the_first_examples(tokenizer):
    features = classification_features(EXAMPLES, ("a", "b"), tokenizer, max_seq_length=7)
    assert format_features(features, ("a", "b"), tokenizer, [True], has_ids=True) == [
        "*** Example ***",
        "guid: dev-0",
        "tokens: [CLS] the tide ##s came in [SEP]",
        "input_ids: 2 5 6 10 7 8 3",
        "input_mask: 1 1 1 1 1 1 1",
        "segment_ids: 0 0 0 0 0 0 0",
        "label: b (id = 1)",
    ]


def test_log_lines_have_no_padding_and_end_with_the_examples(tokenizer):
    features = classification_features(EXAMPLES[1:], ("a", "b"), tokenizer, 5)
    lines = format_features(features, ("a", "b"), tokenizer, [True, True], has_ids=True)
    assert len(lines) == 14
    assert lines[2:7] == [
        "tokens: [CLS] [SEP]",
        "input_ids: 2 3",
        "input_mask: 1 1",
        "segment_ids: 0 0",
        "label: a (id = 0)",
    ]


def test_format_features_without_ids_and_without_label(tokenizer):
    features = classification_features(EXAMPLES, ("a", "b"), tokenizer, max_seq_length=7)
    assert format_features(features, ("a", "b"), tokenizer, [True, False], has_ids=False) == [
        "*** Example ***",
        "guid: dev-0",
        "tokens: [CLS] the tide ##s came in [SEP]",
        "label: b (id = 1)",
        "*** Example ***",
        "guid: dev-1",
        "tokens: [CLS] [SEP]",
        "label: none",
    ]


@pytest.mark.parametrize(
    ("problem_type", "labels", "expected", "text"),
    [
        ("single_label", ["b", None, "a"], np.array([1, 0, 0], np.int32), "b (id = 1)"),
        ("multi_label", [(1, 1), None, (0, 1)], np.array([[1, 1], [0, 0], [0, 1]], np.float32), "a, b (ids = 1 1)"),
        ("regression", ["3.8", None, -1.5], np.array([3.8, 0, -1.5], np.float32), "3.8"),
    ],
)
def test_labels_of_each_problem_type(tokenizer, problem_type, labels, expected, text):
    actual = PROBLEM_TYPES[problem_type].reader.label_array(labels, ("a", "b"))
    assert (actual.dtype, actual.tolist()) == (expected.dtype, expected.tolist())
    examples = [ClassificationExample(str(number), "Rain", None, label) for number, label in enumerate(labels)]
    features = classification_features(examples, ("a", "b"), tokenizer, 6, PROBLEM_TYPES[problem_type])
    assert features.label_ids.tolist() == expected.tolist()
    assert features.batch(np.array([2, 0]))["label_ids"].tolist() == expected[[2, 0]].tolist()
    assert format_features(features, ("a", "b"), tokenizer, [True], has_ids=True)[6] == f"label: {text}"


def test_examples_without_labels(tokenizer):
    examples = [ClassificationExample("0", "Rain", None, (0, 0))]
    features = classification_features(examples, ("a", "b"), tokenizer, 6, PROBLEM_TYPES["multi_label"])
    assert format_features(features, ("a", "b"), tokenizer, [True], has_ids=True)[-1] == "label: none (ids = 0 0)"
    assert classification_features([], ("a", "b"), tokenizer, 6, PROBLEM_TYPES["multi_label"]).label_ids.shape == (0, 2)


@pytest.mark.parametrize(("text_b", "length"), [(None, 2), ("", 4)])
def test_max_seq_length_without_room(tokenizer, text_b, length):
    with raises(InputError, "--max_seq_length: "):
        classification_features([ClassificationExample("x", "a", text_b, "a")], ("a",), tokenizer, length)


@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize(
    ("home", "task", "vocab_file", "do_lower_case"),
    [
        ("shared", "cola", "vocab.txt", True),
        ("shared", "mrpc", "vocab.txt", True),
        ("shared", "mnli", "vocab_cased.txt", False),
        ("fixtures", "cola", "vocab.txt", True),
        ("fixtures", "mrpc", "vocab.txt", True),
    ],
)
def test_features_equal_the_originals(home, request, task, vocab_file, do_lower_case, split):
    folder = request.getfixturevalue(home) / "golden/classifier"
    tokenizer = FullTokenizer(read_vocabulary(str(folder / vocab_file)), do_lower_case)
    examples = read_task(task, split, str(folder / task / "data"))
    features = classification_features(examples, TASKS[task].labels, tokenizer, max_seq_length=32)
    name = {"train": "train", "dev": "eval", "test": "predict"}[split]
    text = (folder / task / f"{name}_features.jsonl").read_text(encoding="utf-8")
    expected = [json.loads(line) for line in text.split("\n") if line]
    padded = features.sequences.pad(range(len(features)), 32)
    for row, record in enumerate(expected):
        assert {
            "guid": features.guids[row],
            "input_ids": padded["input_word_ids"][row].tolist(),
            "input_mask": padded["input_mask"][row].tolist(),
            "segment_ids": padded["input_type_ids"][row].tolist(),
            "label_ids": [features.label_ids[row]],
            "is_real_example": [1],
        } == record
    assert len(features) == len(expected) > 0
