"""Numbers of changed predictions, counted by hand."""

import numpy as np
import pytest

from bert_cli.base.head_types import CLASSIFIER, SPANS, TAGGER, HeadSpec
from bert_cli.exports.signatures.int8_difference import cosines, count_changes

MASK = np.array([[1, 1, 0], [1, 0, 0]])


def of_tokens(*rows):
    """Return outputs [B, S, 2] with the larger one at these indices."""
    return np.eye(2)[np.array(rows)]


@pytest.mark.parametrize(
    ("spec", "full", "quantized", "counts"),
    [
        (HeadSpec(CLASSIFIER, 2), [[0.1, 0.2], [3, 1]], [[0.2, 0.1], [2, 1]], [[1, 1], [0, 1]]),
        (HeadSpec(CLASSIFIER, 2, activation="sigmoid"), [[0.6, 0], [1, 1]], [[0.7, 0.4], [1, 0.4]], [[0, 1], [1, 1]]),
        (HeadSpec(CLASSIFIER, 1, activation="identity"), [1.5, 2], [1, 2.25], [[0.5, 1], [0.25, 1]]),
        # The last tokens are padding.
        (HeadSpec(TAGGER, 2), of_tokens([0, 1, 1], [0, 0, 0]), of_tokens([1, 1, 0], [0, 1, 1]), [[1, 2], [0, 1]]),
        (HeadSpec(SPANS, 2), [[3, 2, 9], [1, 2, 3]], [[2, 3, 9], [1, 3, 2]], [[1, 1], [0, 1]]),
    ],
    ids=["labels", "several labels", "numbers", "tags", "answers"],
)
def test_changes_are_counted(spec, full, quantized, counts):
    first, second = np.array(full), np.array(quantized)
    np.testing.assert_allclose(count_changes({"out": first}, {"out": second}, MASK, spec), counts)


def test_logits_have_another_threshold():
    spec = HeadSpec(CLASSIFIER, 1, activation="sigmoid")
    outputs = [{"logits": np.array([[value], [1.0]])} for value in (0.2, -0.2)]
    np.testing.assert_allclose(count_changes(*outputs, MASK, spec, has_logits=True), [[1, 1], [0, 1]])
    np.testing.assert_allclose(count_changes(*outputs, MASK, spec), [[0, 1], [0, 1]])


def test_vectors_are_means_over_tokens():
    states = np.array([[[1.0, 0], [0, 1], [9, 9]], [[2, 0], [7, 7], [7, 7]]])
    quantized = np.array([[[1.0, 1], [1, 1], [0, 0]], [[0, 3], [0, 0], [0, 0]]])
    np.testing.assert_allclose(cosines({"states": states}, {"states": quantized}, MASK), [1, 0], atol=1e-7)
    named = [{"sentence_embedding": np.array([[1.0, 0], [1, 0]]), "states": values} for values in (states, quantized)]
    np.testing.assert_allclose(cosines(*named, MASK), [1, 1])
