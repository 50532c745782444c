"""Smoothed, focal and weighted losses by hand, compared with NumPy, and in heads."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.spec import encoder_inputs
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.losses import PLAIN, LossRule, sigmoid_losses, softmax_losses
from bert_cli.heads.model import TrainingRule
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.heads.squad import BertSpanModel, span_loss
from bert_cli.heads.tagging import BertTagger
from bert_cli.model.config import BertConfig

LOGITS = tf.constant(np.log(np.array([[1.0, 2.0, 5.0], [4.0, 2.0, 2.0]], np.float32)))  # probabilities in eighths
LABELS = tf.constant([2, 1])
ODDS = tf.constant(np.log(np.array([[1.0, 3.0], [1 / 3, 1.0]], np.float32)))  # probabilities 1/2 3/4; 1/4 1/2
YES = tf.constant([[1.0, 0.0], [1.0, 1.0]])
LOGS = [[math.log(8), math.log(4), math.log(8 / 5)], [math.log(2), math.log(4), math.log(4)]]
WEIGHTS = (0.5, 3.0, 2.0)
CONFIG = BertConfig(
    vocab_size=9, hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4,
    max_position_embeddings=4, type_vocab_size=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (PLAIN, [math.log(8 / 5), math.log(4)]),
        (LossRule(focal_gamma=2.0), [(3 / 8) ** 2 * math.log(8 / 5), (3 / 4) ** 2 * math.log(4)]),
        (LossRule(smoothing=0.3), [0.7 * LOGS[0][2] + 0.1 * sum(LOGS[0]), 0.7 * LOGS[1][1] + 0.1 * sum(LOGS[1])]),
        (LossRule(class_weights=WEIGHTS), [2 * math.log(8 / 5), 3 * math.log(4)]),
        (LossRule(focal_gamma=1.0, class_weights=WEIGHTS), [2 * 3 / 8 * math.log(8 / 5), 3 * 3 / 4 * math.log(4)]),
        (LossRule(focal_gamma=0.0), [math.log(8 / 5), math.log(4)]),
    ],
)
def test_single_label_losses(rule, expected):
    np.testing.assert_allclose(softmax_losses(LABELS, LOGITS, rule), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (PLAIN, [[math.log(2), math.log(4)], [math.log(4), math.log(2)]]),
        (LossRule(focal_gamma=2.0), [[math.log(2) / 4, math.log(4) * 9 / 16], [math.log(4) * 9 / 16, math.log(2) / 4]]),
        (
            LossRule(smoothing=0.2),  # targets 0.9 and 0.1
            [
                [math.log(2), 0.1 * math.log(4 / 3) + 0.9 * math.log(4)],
                [0.9 * math.log(4) + 0.1 * math.log(4 / 3), math.log(2)],
            ],
        ),
        (
            LossRule(class_weights=((1.0, 2.0), (0.5, 4.0))),
            [[2 * math.log(2), 0.5 * math.log(4)], [2 * math.log(4), 4 * math.log(2)]],
        ),
    ],
)
def test_multi_label_losses(rule, expected):
    np.testing.assert_allclose(sigmoid_losses(YES, ODDS, rule), expected, rtol=1e-5)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_focal_loss_has_a_finite_slope_for_certain_predictions(gamma):
    rule = LossRule(focal_gamma=gamma, smoothing=0.1)
    logits = tf.constant([[200.0, -200.0], [-200.0, 200.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(logits)
        single, multi = softmax_losses(tf.constant([0, 0]), logits, rule), sigmoid_losses(YES, logits, rule)
    for losses in (single, multi):
        assert np.isfinite(losses).all()
        assert np.isfinite(tape.gradient(losses, logits)).all()


def test_focal_gradient_equals_the_difference_quotient():
    rule, step = LossRule(focal_gamma=2.0, smoothing=0.2, class_weights=WEIGHTS), 1e-2
    with tf.GradientTape() as tape:
        tape.watch(LOGITS)
        losses = softmax_losses(LABELS, LOGITS, rule)
    actual = tape.gradient(losses, LOGITS).numpy()
    for column in range(3):
        nudge = step * np.eye(3, dtype=np.float32)[column]
        up, down = (softmax_losses(LABELS, LOGITS + sign * nudge, rule).numpy() for sign in (1, -1))
        np.testing.assert_allclose(actual[:, column], (up - down) / (2 * step), rtol=5e-3, atol=1e-4)


def make_inputs(mask: np.ndarray) -> dict:
    return {
        "input_word_ids": tf.constant(mask * 3),
        "input_mask": tf.constant(mask),
        "input_type_ids": tf.constant(0 * mask),
    }


def test_classifier_uses_its_rule_only_in_training():
    model = BertTextClassifier(CONFIG, 3, seed=1, rule=TrainingRule(LossRule(class_weights=WEIGHTS), head_dropout=0.0))
    batch = make_inputs(np.array([[1, 1, 0, 0], [1, 1, 1, 1]], np.int32)) | {"label_ids": LABELS}
    logits = model.sequence_logits(encoder_inputs(batch), True)
    plain = model.formulas.losses(batch["label_ids"], logits, PLAIN).numpy()
    losses, shares = model.loss_terms(batch, tf.constant([1, 2]), True, 2)
    np.testing.assert_allclose(losses, plain * [2.0, 3.0], rtol=1e-6)
    np.testing.assert_allclose(shares, [0.5, 0.5])


@pytest.mark.parametrize("packed", [False, True])
def test_tagger_ignores_padding_and_later_pieces(packed):
    """The loss is a sum over labeled pieces only, with any rule."""
    rule = LossRule(smoothing=0.1, focal_gamma=2.0, class_weights=WEIGHTS)
    model = BertTagger(CONFIG, 3, seed=1, rule=TrainingRule(rule, head_dropout=0.0))
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], np.int32)
    labels = np.array([[-1, 2, -1, 1], [0, -1, -1, -1]], np.int32)
    weights = ((labels >= 0) / 3).astype(np.float32)
    inputs = make_inputs(mask)
    batch = inputs | {"label_ids": tf.constant(labels), "label_weights": tf.constant(weights)}
    losses, shares = model.loss_terms(batch, tf.constant([1, 2]), packed, 2)
    logits = tf.gather_nd(model(inputs, packed=packed), np.argwhere(labels >= 0))
    expected = softmax_losses(tf.constant(labels[labels >= 0]), logits, rule)
    assert float(tf.reduce_sum(losses * shares)) == pytest.approx(float(tf.reduce_mean(expected)), rel=1e-5)


RULES = [PLAIN, LossRule(smoothing=0.2), LossRule(focal_gamma=2.0), LossRule(smoothing=0.2, focal_gamma=2.0)]


def compute_by_definition(label: int, logits: np.ndarray, rule: LossRule, among: np.ndarray | None = None) -> float:
    """Return -Σ target · (1 - p)^γ · log p in NumPy; ε is spread over `among`, by default all indices."""
    logs = logits - np.log(np.exp(logits).sum())
    targets = np.full(len(logits), 1.0) if among is None else among.astype(float)
    targets *= rule.smoothing / targets.sum()
    targets[label] += 1 - rule.smoothing
    return float(-(targets * (1 - np.exp(logs)) ** (rule.focal_gamma or 0.0) * logs).sum())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("skip_padding", [False, True])
def test_start_and_end_losses(rule, skip_padding):
    """Padding is included in the softmax unless it is skipped, but smoothing ignores it."""
    model = BertSpanModel(CONFIG, seed=1, skip_padding=skip_padding, rule=TrainingRule(rule))
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)
    starts, ends = np.array([1, 3]), np.array([2, 0])
    batch = make_inputs(mask) | {"start_positions": tf.constant(starts), "end_positions": tf.constant(ends)}
    losses, shares = model.loss_terms(batch, tf.constant([1, 2]), True, 2)
    start_logits, end_logits = (np.asarray(values, np.float64) for values in model(make_inputs(mask)))
    counts = mask > 0 if skip_padding else np.ones_like(mask, bool)
    expected = [
        np.mean([
            compute_by_definition(int(places[row]), logits[row][counts[row]], rule, mask[row][counts[row]])
            for places, logits in ((starts, start_logits), (ends, end_logits))
        ])
        for row in range(2)
    ]  # fmt: skip
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(shares, [0.5, 0.5])


def test_starts_and_ends_by_hand():
    """Three tokens and padding have the probabilities 1/8, 2/8, 4/8 and 1/8; smoothing of 0.3 is 0.1 per token."""
    logits = tf.constant(np.log(np.array([[1.0, 2.0, 4.0, 1.0]], np.float32)))
    is_token = tf.constant([[True, True, True, False]])
    actual = span_loss((tf.constant([0]), tf.constant([2])), (logits, logits), LossRule(smoothing=0.3), is_token)
    spread = 0.1 * (math.log(8) + math.log(4) + math.log(2))
    np.testing.assert_allclose(actual, [(0.7 * math.log(8) + 0.7 * math.log(2)) / 2 + spread], rtol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("use_next_sentence", [True, False])
def test_masked_word_and_next_sentence_losses(rule, use_next_sentence):
    model = BertPretrainer(CONFIG, seed=1, use_next_sentence=use_next_sentence, rule=TrainingRule(rule))
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)
    ids, weights = np.array([[5, 8], [2, 0]], np.int32), np.array([[1, 1], [1, 0]], np.float32) / 3
    following = np.array([1, 0], np.int32)
    positions = {"masked_lm_positions": tf.constant([[1, 2], [3, 0]])}
    batch = (
        make_inputs(mask) | positions | {"masked_lm_ids": tf.constant(ids), "masked_lm_weights": tf.constant(weights)}
    )
    batch["next_sentence_labels"] = tf.constant(following)
    losses, shares = model.loss_terms(batch, tf.constant([1, 2]), True, 2)
    logits = {name: np.asarray(values, np.float64) for name, values in model(make_inputs(mask) | positions).items()}
    words = logits["masked_lm_logits"]
    expected = [
        compute_by_definition(int(ids[position]), words[position], rule) for position in ((0, 0), (0, 1), (1, 0))
    ]
    counts = [1 / 3] * 3
    if use_next_sentence:
        expected += [
            compute_by_definition(int(following[row]), logits["next_sentence_logits"][row], rule) for row in range(2)
        ]
        counts += [0.5, 0.5]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    np.testing.assert_allclose(shares, counts, rtol=1e-6)
