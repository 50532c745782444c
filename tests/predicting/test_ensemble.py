"""Mean predictions of several models, by hand."""

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.predicting.decoder import Decoder
from bert_cli.predicting.ensemble import average, disagreement, label_order, mean_thresholds, reorder
from bert_cli.problem_types.parts import LabelSet
from bert_cli.problem_types.registry import MULTI_LABEL, REGRESSION, SINGLE_LABEL
from tests.snapshots import raises

NAMES = ("a", "b", "c")


def probabilities(*rows):
    return {"probabilities": np.array(rows, np.float32)}


def test_mean_has_losses_and_logits():
    label_ids = np.array([0, 2], np.int32)
    first, second = probabilities([0.5, 0.25, 0.25], [0, 0, 1]), probabilities([0.25, 0.25, 0.5], [0, 0, 1])
    both = average(SINGLE_LABEL.decoder, [first, second], label_ids)
    np.testing.assert_array_equal(both["probabilities"], [[0.375, 0.25, 0.375], [0, 0, 1]])
    np.testing.assert_allclose(both["losses"], [-np.log(0.375), 0], atol=1e-6)
    numbers = [{"values": np.array([value], np.float32)} for value in (1, 4)]
    both = average(REGRESSION.decoder, numbers, np.array([2], np.float32))
    assert (both["values"].tolist(), both["losses"].tolist()) == ([2.5], [0.25])


def test_disagreement_is_the_entropy_of_differences():
    first, second = probabilities([1, 0], [0.5, 0.5], [0.75, 0.25]), probabilities([0, 1], [0.5, 0.5], [0.25, 0.75])
    single = Decoder(SINGLE_LABEL, LabelSet(("a", "b")))
    between = 1 + (0.75 * np.log2(0.75) + 0.25 * np.log2(0.25))
    np.testing.assert_allclose(disagreement(single, [first, second]), [1, 0, between], atol=1e-12)
    several = Decoder(MULTI_LABEL, LabelSet(("a", "b"), np.array([0.5, 0.5])))
    np.testing.assert_allclose(disagreement(several, [first, second]), [1, 0, between], atol=1e-12)


def test_labels_are_matched_by_name():
    decoders = [
        Decoder(MULTI_LABEL, LabelSet(names, np.array(thresholds)))
        for names, thresholds in ((NAMES, [0.25, 0.5, 0.75]), (("c", "a", "b"), [0.25, 0.75, 0.5]))
    ]
    orders = label_order(["x", "y"], decoders)
    assert orders == [[0, 1, 2], [1, 2, 0]]
    reordered = reorder(MULTI_LABEL.decoder, probabilities([0.25, 0.5, 0.75]), orders[1])
    assert reordered["probabilities"].tolist() == [[0.5, 0.75, 0.25]]
    assert mean_thresholds(decoders, orders).tolist() == [0.5, 0.5, 0.5]
    assert mean_thresholds([Decoder(REGRESSION, LabelSet())], [[]]) is None


def test_thresholds_of_two_labels_are_averaged():
    """Models may order labels differently, or limit another label, or use argmax."""
    nan, names = np.nan, [("a", "b"), ("b", "a"), ("a", "b"), ("a", "b")]
    thresholds = [np.array([nan, 0.25]), np.array([0.5, nan]), np.array([0.25, nan]), None]
    decoders = [
        Decoder(SINGLE_LABEL, LabelSet(*labels_and_limits)) for labels_and_limits in zip(names, thresholds, strict=True)
    ]
    orders = label_order(["w", "x", "y", "z"], decoders)
    np.testing.assert_array_equal(mean_thresholds(decoders, orders), [nan, 0.5])
    assert mean_thresholds(decoders[3:], orders[3:]) is None


def test_other_labels_are_refused():
    first = Decoder(SINGLE_LABEL, LabelSet(NAMES))
    with raises(InputError, "y: has the labels a, b, and x has a, b, c"):
        label_order(["x", "y"], [first, Decoder(SINGLE_LABEL, LabelSet(("a", "b")))])
    with raises(InputError, "y: is a model for regression, and x for single_label"):
        label_order(["x", "y"], [first, Decoder(REGRESSION, LabelSet())])
