"""Dropout: positions, rate, scale and seeds.

The tests read dropout masks from model outputs. They set weights so that every number before a
dropout is 1, and the outputs show whether a number was dropped.
"""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.heads.classification import BertTextClassifier
from bert_cli.model import ops
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights

SEED = np.array([17, 4096], np.int32)
LAYER = "bert/encoder/layer_0"
RATE = 0.3


def other_seed(*change: int) -> np.ndarray:
    return SEED + np.array(change, np.int32)


def set_weights(model, values: dict) -> None:
    """Set the weights named in `values`, LayerNorm gammas to 1, and all other weights to 0."""
    variables = named_weights(model)
    assert values.keys() <= variables.keys()
    for name, variable in variables.items():
        value = values.get(name, float(name.endswith("gamma")))
        variable.assign(np.broadcast_to(value, variable.shape).astype(np.float32))


def full_batch(rows: int, width: int) -> dict:
    ones = np.ones((rows, width), np.int32)
    return {"input_word_ids": ones, "input_mask": ones, "input_type_ids": 0 * ones}


@pytest.fixture(scope="module")
def encoder(tiny_config):
    return BertEncoder(tiny_config(hidden_size=16, num_attention_heads=4, hidden_dropout_prob=RATE))


BATCH = full_batch(rows=40, width=9)
COUNT = 40 * 9 * 16


def mask_after_embeddings(encoder, seed, **how) -> np.ndarray:
    """Return the mask after the embeddings, bool [B, S, H], True for kept elements."""
    set_weights(encoder, {"bert/embeddings/LayerNorm/gamma": 0.0, "bert/embeddings/LayerNorm/beta": 1.0})
    return encoder(BATCH, training=True, seed=seed, **how)["embedding_output"].numpy() > 0


def mask_in_layer(encoder, place: str, layer: int, seed) -> np.ndarray:
    """Return the mask after a layer's dense layer `place`, which has outputs of 1; True for kept elements."""
    off = {f"bert/encoder/layer_{i}/output/LayerNorm/gamma": float(i == layer) for i in range(2)}
    set_weights(
        encoder,
        off | {"bert/embeddings/LayerNorm/gamma": 0.0, f"bert/encoder/layer_{layer}/{place}/dense/bias": 1.0},
    )
    return encoder(BATCH, training=True, seed=seed)["encoder_outputs"][layer].numpy() > 0


PLACES = {
    "embeddings": mask_after_embeddings,
    "attention output": lambda encoder, seed: mask_in_layer(encoder, "attention/output", 0, seed),
    "feed-forward output": lambda encoder, seed: mask_in_layer(encoder, "output", 0, seed),
    "attention output, next layer": lambda encoder, seed: mask_in_layer(encoder, "attention/output", 1, seed),
    "feed-forward output, next layer": lambda encoder, seed: mask_in_layer(encoder, "output", 1, seed),
}


def four_sigma(rate: float, count: int) -> float:
    return 4 * (rate * (1 - rate) / count) ** 0.5


@pytest.mark.parametrize("place", PLACES)
def test_hidden_dropout_rate_is_correct_in_every_column_and_row(encoder, place):
    dropped = ~PLACES[place](encoder, SEED)
    assert dropped.mean() == pytest.approx(RATE, abs=four_sigma(RATE, COUNT))
    for axis in (0, 1, 2):
        other_axes = tuple({0, 1, 2} - {axis})
        limit = 1.3 * four_sigma(RATE, COUNT / dropped.shape[axis])
        assert np.abs(dropped.mean(axis=other_axes) - RATE).max() < limit


def test_distilbert_has_no_dropout_after_attention(tiny_config):
    sizes = {"hidden_size": 16, "num_attention_heads": 4, "hidden_dropout_prob": RATE}
    encoder = BertEncoder(tiny_config(**sizes, model_type="distilbert", type_vocab_size=0))
    # Without dropout, all numbers of a token are equal, and a LayerNorm makes them 0.
    assert not mask_in_layer(encoder, "attention/output", 0, SEED).any()
    assert mask_in_layer(encoder, "output", 0, SEED).any()


def test_kept_elements_are_scaled_to_keep_the_expectation(encoder):
    set_weights(encoder, {"bert/embeddings/LayerNorm/gamma": 0.0, "bert/embeddings/LayerNorm/beta": 1.0})
    output = encoder(BATCH, training=True, seed=SEED)["embedding_output"].numpy()
    assert np.unique(output) == pytest.approx([0.0, 1 / (1 - RATE)], rel=1e-4)
    assert output.mean() == pytest.approx(1.0, abs=four_sigma(RATE, COUNT) / (1 - RATE))


def test_masks_are_independent(encoder):
    masks = {place: mask(encoder, SEED) for place, mask in PLACES.items()}
    masks["embeddings, another seed"] = mask_after_embeddings(encoder, other_seed(1, 0))
    masks["embeddings, next step"] = mask_after_embeddings(encoder, other_seed(0, 1024))
    expected = RATE**2 + (1 - RATE) ** 2  # agreement of independent masks
    names = list(masks)
    for i, name in enumerate(names):
        for earlier in names[:i]:
            agreement = (masks[name] == masks[earlier]).mean()
            assert agreement == pytest.approx(expected, abs=four_sigma(expected, COUNT)), (name, earlier)


def test_mask_depends_only_on_the_seed(encoder):
    first = mask_after_embeddings(encoder, SEED)
    tf.random.set_seed(99)
    encoder(BATCH, training=True)
    assert np.array_equal(first, mask_after_embeddings(encoder, SEED))
    assert np.array_equal(first, mask_after_embeddings(encoder, tf.constant(SEED)))
    assert not np.array_equal(first, mask_after_embeddings(encoder, other_seed(0, 7)))
    assert not np.array_equal(mask_after_embeddings(encoder, None), mask_after_embeddings(encoder, None))
    tf.random.set_seed(99)
    assert np.array_equal(first, mask_after_embeddings(encoder, SEED, packed=True))


def test_attention_probabilities_are_dropped(tiny_config):
    """A head with one token and one column has context 1, or 0 if its probability is dropped."""
    rate, heads = 0.1, 8
    config = tiny_config(hidden_size=heads, num_attention_heads=heads, attention_probs_dropout_prob=rate)
    encoder = BertEncoder(config)
    attention = f"{LAYER}/attention"
    set_weights(encoder, {f"{attention}/self/value/bias": 1.0, f"{attention}/output/dense/kernel": np.eye(heads)})
    output = encoder(full_batch(4000, 1), training=True, seed=SEED)["encoder_outputs"][0].numpy()[:, 0]
    mixed_rows = output[np.abs(output).max(1) > 0]  # if all heads are equal, the layer norm returns zeros
    mixed = 1 - rate**heads - (1 - rate) ** heads
    assert len(mixed_rows) / 4000 == pytest.approx(mixed, abs=four_sigma(mixed, 4000))
    kept = ((1 - rate) - (1 - rate) ** heads) / mixed  # under the condition that heads differ
    assert (mixed_rows > 0).mean() == pytest.approx(kept, abs=four_sigma(kept, mixed_rows.size))


def test_attention_probabilities_are_returned_without_dropout(tiny_config, batch_of):
    encoder = BertEncoder(tiny_config(attention_probs_dropout_prob=0.5))
    outputs = encoder(batch_of([9, 4], 9), training=True, seed=SEED, return_attention=True)
    for probabilities in outputs["attention_probs"]:
        np.testing.assert_allclose(tf.reduce_sum(probabilities, -1), np.ones((2, 3, 9)), atol=1e-5)


def test_classifier_dropout_is_a_tenth_for_any_config(tiny_config):
    hidden, rows = 16, 600
    model = BertTextClassifier(tiny_config(hidden_size=hidden, num_attention_heads=4, hidden_dropout_prob=0.0), hidden)
    set_weights(model, {"bert/pooler/dense/bias": 20.0, "output_weights": np.eye(hidden)})  # tanh(20) is 1
    inputs = full_batch(rows, 1)
    logits = model(inputs, training=True, seed=SEED).numpy()
    assert np.unique(logits) == pytest.approx([0.0, 1 / 0.9], rel=1e-4)
    assert (logits == 0).mean() == pytest.approx(0.1, abs=four_sigma(0.1, rows * hidden))
    assert np.array_equal(logits, model(inputs, training=True, seed=SEED))
    assert not np.array_equal(logits, model(inputs, training=True, seed=other_seed(0, 1024)))
    assert not np.array_equal(logits, model(inputs, training=True))
    np.testing.assert_array_equal(model(inputs), np.ones((rows, hidden)))


def test_head_mask_differs_from_encoder_masks(tiny_config):
    """The encoder's first mask and the head's mask have equal shapes for single tokens, so equal seeds would show."""
    hidden, rows, rate = 16, 600, 0.1
    model = BertTextClassifier(tiny_config(hidden_size=hidden, num_attention_heads=4, hidden_dropout_prob=rate), hidden)
    set_weights(
        model,
        {
            "bert/embeddings/LayerNorm/gamma": 0.0,
            "bert/embeddings/LayerNorm/beta": 1.0,
            "bert/pooler/dense/bias": 20.0,
            "output_weights": np.eye(hidden),
        },
    )
    inputs = full_batch(rows, 1)
    in_head = model(inputs, training=True, seed=SEED).numpy() > 0
    in_encoder = model.encoder(inputs, training=True, seed=SEED)["embedding_output"].numpy()[:, 0] > 0
    expected = rate**2 + (1 - rate) ** 2
    assert (in_head == in_encoder).mean() == pytest.approx(expected, abs=four_sigma(expected, rows * hidden))


@pytest.mark.parametrize("packed", [False, True])
def test_no_dropout_outside_training(tiny_config, batch_of, packed):
    inputs = batch_of([9, 3, 1], 9)
    with_rates = BertTextClassifier(tiny_config(hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.5), 3, seed=3)
    without = BertTextClassifier(tiny_config(), 3, seed=3)
    expected = without(inputs, packed=packed)
    np.testing.assert_array_equal(with_rates(inputs, packed=packed), expected)
    np.testing.assert_array_equal(with_rates(inputs, packed=packed, seed=SEED), expected)
    assert np.abs(with_rates(inputs, packed=packed, training=True, seed=SEED) - expected).max() > 1e-3


@pytest.mark.parametrize("packed", [False, True])
def test_gradient_passes_through_the_same_mask(tiny_config, packed):
    """The gradient of a sum after dropout equals the mask."""
    encoder = BertEncoder(tiny_config(hidden_dropout_prob=RATE))
    inputs = full_batch(1, 9)
    inputs["input_type_ids"][:] = 9  # adds nothing
    set_weights(encoder, {"bert/embeddings/LayerNorm/gamma": 0.0, "bert/embeddings/LayerNorm/beta": 1.0})
    beta = named_weights(encoder)["bert/embeddings/LayerNorm/beta"]
    with tf.GradientTape() as tape:
        output = encoder(inputs, training=True, seed=SEED, packed=packed)["embedding_output"]  # [1, 9, 12]
        total = tf.reduce_sum(output)
    np.testing.assert_allclose(tape.gradient(total, beta.value), output.numpy().sum((0, 1)), rtol=1e-5)


@pytest.mark.parametrize("row", [0, 1, 3, 10])
def test_share_of_a_batch_has_its_rows_of_the_mask(row):
    """Rows have seven elements, so a share begins inside the generator's blocks."""
    whole = ops.dropout(tf.ones([12, 7]), 0.3, tf.constant([5, 9]))
    share = ops.dropout(tf.ones([2, 7]), 0.3, tf.constant([5, 9, row, 99, 99, 99]))
    np.testing.assert_array_equal(share, whole[row : row + 2])
    np.testing.assert_array_equal(
        ops.dropout(tf.ones([2, 7]), 0.3, tf.constant([5, 9, 99, 0, 0, 0]), tf.constant(row)), share
    )
