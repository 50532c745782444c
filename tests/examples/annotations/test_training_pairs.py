"""Pairs in spaCy's training data."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.training_pairs import is_training_pair, read_texts, replace_entities
from bert_cli.reading.records import JsonRecord
from tests.snapshots import raises


def read(*pairs):
    return read_texts("a.json", [JsonRecord(line, pair) for line, pair in enumerate(pairs, 1)])


def test_is_pair():
    assert is_training_pair(["a", {"entities": []}])
    assert not any(map(is_training_pair, [["a", "b"], ["a", {}, {}], [1, {}], {"text": "a"}, None]))


def test_skipped_texts_are_dropped():
    texts = read(["Anna left", {"entities": [[0, 4, "PER"]], "links": {}}], None, ["a", {}], ["b", {"entities": []}])
    spans = [text.spans and [span[:3] for span in text.spans] for text in texts]
    assert [(text.text, text.location) for text in texts] == [
        ("Anna left", "a.json:1"),
        ("a", "a.json:3"),
        ("b", "a.json:4"),
    ]
    assert spans == [[("PER", 0, 4)], None, []]


@pytest.mark.parametrize(
    "annotations",
    [{"cats": {"GOOD": 1}}, {"entities": {"PER": [0, 4]}}, {"entities": [[0, 4]]}, {"entities": [[0.5, 4, "X"]]}],
)
def test_invalid_pairs(annotations):
    with raises(InputError, "a.json:1: "):
        read(["Anna left", annotations])


def test_entities_of_a_pair_are_replaced():
    pairs = [["a", {"entities": [], "links": {}}], None, ["b", {}]]
    assert replace_entities(pairs, [[[0, 1, "X"]], []]) == [
        ["a", {"entities": [[0, 1, "X"]], "links": {}}],
        None,
        ["b", {"entities": []}],
    ]
