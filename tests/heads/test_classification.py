"""Losses, gradients and predictions of classification, regression and choice heads, compared with BERT in NumPy."""

import collections
import functools
import math

import numpy as np
import pytest
import tensorflow as tf
from numpy_bert import encode, loss_and_gradients, random_weights, variable_shapes

from bert_cli.base.head_types import HEAD_INPUTS
from bert_cli.base.spec import INPUTS, encoder_inputs
from bert_cli.heads.choice import BertChoice
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.losses import PLAIN
from bert_cli.model.config import BertConfig
from bert_cli.model.layers import named_weights

SIZES = {
    "vocab_size": 15, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
    "max_position_embeddings": 6, "type_vocab_size": 2, "hidden_act": "gelu",
}  # fmt: skip
CONFIG = BertConfig(**SIZES, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
MASK = (np.arange(6) < np.array([6, 2, 4, 5])[:, None]).astype(np.int32)
WORDS = np.random.default_rng(1).integers(1, 15, MASK.shape).astype(np.int32) * MASK
TYPES = (np.arange(6) > 2).astype(np.int32) * MASK
SEQUENCES = (WORDS, MASK, TYPES)  # four sequences
LABELS = {
    "single_label": np.array([2, 0, 1, 1], np.int32),
    "multi_label": np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], np.float32),
    "regression": np.array([0.5, -1.5, 3.0, 0.0], np.float32),
    "choice": np.array([1, 0], np.int32),  # two examples of two endings
}
LOGITS = {"single_label": 3, "multi_label": 3, "regression": 1, "choice": 1}


@functools.cache
def make(problem: str):
    """Return a model without dropout, its variables, and the oracle's weights. Do not change them."""
    is_choice = problem == "choice"
    model = (
        BertChoice(CONFIG, 1, "multiple_choice") if is_choice else BertTextClassifier(CONFIG, LOGITS[problem], problem)
    )
    model.head_dropout = 0.0
    weights = random_weights(variable_shapes(SIZES, "classification", LOGITS[problem]), seed=2)
    variables = named_weights(model)
    assert variables.keys() == weights.keys()
    for name, variable in variables.items():
        variable.assign(weights[name])
    return model, variables, weights


def batch_of(problem: str) -> dict:
    shape = (2, 2, 6) if problem == "choice" else (4, 6)
    arrays = {name: values.reshape(shape) for name, values in zip(INPUTS, SEQUENCES, strict=True)}
    batch = arrays | {"label_ids": LABELS[problem]}
    for column in make(problem)[0].columns:
        assert (batch[column.name].dtype, batch[column.name].ndim) == (column.dtype, len(column.shape))
    return {name: tf.constant(values) for name, values in batch.items()}


def compute_by_formula(problem: str, logits: np.ndarray):
    """Return example losses, the gradient of their mean, and predictions for logits float64 [4, n]."""
    labels = LABELS[problem]
    if problem == "regression":
        error = logits[:, 0] - labels
        return error**2, 2 * error[:, None] / 4, logits[:, 0]
    if problem == "multi_label":
        probabilities = 1 / (1 + np.exp(-logits))
        losses = -(labels * np.log(probabilities) + (1 - labels) * np.log(1 - probabilities)).mean(axis=1)
        return losses, (probabilities - labels) / (4 * 3), probabilities
    scores = np.exp(logits.reshape(2, 2) if problem == "choice" else logits)
    probabilities = scores / scores.sum(axis=1, keepdims=True)
    right = labels[:, None] == np.arange(scores.shape[1])
    losses = -np.log(probabilities[right])
    return losses, ((probabilities - right) / len(labels)).reshape(logits.shape), probabilities


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("problem", LABELS)
def test_loss_gradients_and_predictions(problem, packed):
    model, variables, weights = make(problem)
    outputs, back = encode(SIZES, weights, *SEQUENCES)
    pooled = outputs["pooled_output"]
    logits = pooled @ weights["output_weights"].T + weights["output_bias"]
    wanted_losses, d_logits, expected = compute_by_formula(problem, logits)
    gradients = collections.defaultdict(float)
    gradients["output_weights"], gradients["output_bias"] = d_logits.T @ pooled, d_logits.sum(axis=0)
    back(np.zeros_like(outputs["sequence_output"]), d_logits @ weights["output_weights"], gradients)

    batch = batch_of(problem)
    with tf.GradientTape() as tape:
        losses, shares = model.loss_terms(batch, tf.constant([1, 2]), packed, batch_size=len(wanted_losses))
        loss = tf.reduce_sum(losses * shares)
    actual = tape.gradient(loss, [variable.value for variable in variables.values()])
    np.testing.assert_allclose(losses, wanted_losses, rtol=2e-5, atol=1e-6)
    assert float(loss) == pytest.approx(wanted_losses.mean(), rel=2e-5)
    for name, gradient in zip(variables, actual, strict=True):
        value = tf.convert_to_tensor(gradient).numpy()
        np.testing.assert_allclose(value, gradients[name], rtol=1e-3, atol=2e-6, err_msg=name)

    inputs = {name: tf.reshape(values, [4, 6]) for name, values in encoder_inputs(batch).items()}
    actual_logits = model.sequence_logits(inputs, packed).numpy()
    np.testing.assert_allclose(actual_logits, logits, rtol=2e-5, atol=1e-6)
    row_logits = model(encoder_inputs(batch), packed=packed)
    np.testing.assert_allclose(model.activate(row_logits), expected, rtol=2e-5, atol=1e-6)
    predictions = model.problem_type.decoder.postprocess(row_logits.numpy(), batch["label_ids"].numpy())
    np.testing.assert_allclose(predictions["losses"], wanted_losses, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(next(iter(predictions.values())), expected, rtol=2e-5, atol=1e-6)


def test_single_label_formula_agrees_with_the_reference():
    """The formula equals the reference's computation."""
    weights = random_weights(variable_shapes(SIZES, "classification", 3), seed=2)
    batch = dict(zip(("input_ids", "input_mask", "segment_ids"), SEQUENCES, strict=True))
    loss, *_ = loss_and_gradients("classification", SIZES, weights, batch | {"label_ids": LABELS["single_label"]})
    pooled = encode(SIZES, weights, *SEQUENCES)[0]["pooled_output"]
    losses, *_ = compute_by_formula("single_label", pooled @ weights["output_weights"].T + weights["output_bias"])
    assert loss == pytest.approx(losses.mean(), rel=1e-12)


def test_multi_label_losses_by_hand():
    model = make("multi_label")[0]
    logits = tf.constant([[0.0, math.log(3), -math.log(3)], [1e4, -1e4, 1e4]])
    losses = model.formulas.losses(tf.constant([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]), logits, PLAIN)
    # Probabilities are 1/2, 3/4 and 1/4. Then two certain predictions are correct, and a wrong one
    # costs its logit.
    np.testing.assert_allclose(losses, [math.log(2 * 4 / 3 * 4) / 3, 1e4 / 3], rtol=1e-6)


def test_regression_losses_by_hand():
    losses = make("regression")[0].formulas.losses(tf.constant([1.0, -2.0]), tf.constant([[3.0], [-2.5]]), PLAIN)
    assert losses.numpy().tolist() == [4.0, 0.25]


def test_choices_may_have_any_order_and_padding_has_no_effect():
    model, *_ = make("choice")
    batch = batch_of("choice")
    inputs = {name: batch[name] for name in INPUTS}
    logits = model(inputs).numpy()
    swapped = model({name: values[:, ::-1] for name, values in inputs.items()}).numpy()
    np.testing.assert_allclose(swapped, logits[:, ::-1], rtol=1e-6)
    np.testing.assert_allclose(model(inputs, packed=True), logits, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("problem_type", "count"), [("regression", 2), ("several", 2)])
def test_invalid_problem_types(problem_type, count):
    with pytest.raises(ValueError, match=problem_type):
        BertTextClassifier(CONFIG, count, problem_type=problem_type)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("text_input", HEAD_INPUTS.values(), ids=list(HEAD_INPUTS))
def test_head_inputs(text_input, packed):
    weights = random_weights(variable_shapes(SIZES, "classification", 3), seed=2)
    model = BertTextClassifier(CONFIG, 3, text_input=text_input)
    choice = BertChoice(CONFIG, 1, "multiple_choice", text_input=text_input)
    for name, variable in named_weights(model).items():
        variable.assign(weights[name])
    for name, variable in named_weights(choice).items():
        variable.assign(weights[name][:1] if name.startswith("output_") else weights[name])
    outputs, _ = encode(SIZES, weights, *SEQUENCES)
    last = outputs["sequence_output"]  # [B, S, H]
    means = [row[: mask.sum()].mean(axis=0) for row, mask in zip(last, MASK, strict=True)]
    read = {"pooled": outputs["pooled_output"], "cls": last[:, 0], "mean": np.array(means)}[text_input.name]
    expected = read @ weights["output_weights"].T + weights["output_bias"]
    inputs = {name: tf.constant(values) for name, values in zip(INPUTS, SEQUENCES, strict=True)}
    np.testing.assert_allclose(model(inputs, packed=packed), expected, rtol=1e-4, atol=1e-5)
    endings = {name: tf.reshape(values, [2, 2, 6]) for name, values in inputs.items()}
    np.testing.assert_allclose(choice(endings, packed=packed), expected[:, 0].reshape(2, 2), rtol=1e-4, atol=1e-5)
    pooler = {"bert/pooler/dense/kernel", "bert/pooler/dense/bias"}
    assert model.without_gradient() == choice.without_gradient() == (set() if text_input.reads_pooler else pooler)
