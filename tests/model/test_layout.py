"""Layouts in training: attention is computed separately for shorter and longer sequences."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.model.layout import ROWS, WIDTHS, packed_layout, short_width, widths_of
from bert_cli.training.batch_distribution import shard_start

SEED = tf.constant([5, 77])


def mask_of(lengths):
    return (np.arange(max(lengths)) < np.array(lengths)[:, np.newaxis]).astype(np.int32)


@pytest.mark.parametrize("lengths", [[9, 3, 1], [5, 5, 5], [7], [2, 9, 2, 8, 1, 1]])
def test_outputs_and_gradients_equal_those_with_padding(tiny_config, batch_of, lengths):
    encoder = BertEncoder(tiny_config(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), seed=3)
    inputs = batch_of(lengths, 9)
    real = np.asarray(inputs["input_mask"])[:, :, np.newaxis]
    weights = list(named_weights(encoder).values())
    rows = np.random.default_rng(1).normal(size=(len(lengths), 9, encoder.config.hidden_size)).astype(np.float32) * real
    actual = []
    for packed in (True, False):
        with tf.GradientTape() as tape:
            output = encoder(inputs, training=True, seed=SEED, packed=packed)["sequence_output"] * real
            total = tf.reduce_sum(output * rows)
        gradients = tape.gradient(total, [weight.value for weight in weights], unconnected_gradients="zero")
        actual.append([output, *(tf.convert_to_tensor(gradient) for gradient in gradients)])
    for bucketed, together in zip(*actual, strict=True):
        np.testing.assert_allclose(bucketed, together, atol=2e-5)


@pytest.mark.parametrize("lengths", [[9, 3, 1], [5, 5, 5], [7], [2, 9, 2, 8, 1, 1]])
def test_width_minimizes_the_number_of_pairs(lengths):
    def pairs(bound):
        return sum(max(lengths) ** 2 if length > bound else bound**2 for length in lengths)

    mask = mask_of(lengths)
    actual = int(short_width(widths_of(mask)))
    assert actual in lengths
    assert pairs(actual) == min(map(pairs, lengths))
    layout = packed_layout(tf.constant(mask), 3, is_trained=True, bucketed=True)
    longer, shorter = (bucket.real.shape for bucket in layout.bucketed.buckets)
    assert (longer[2], shorter[2]) == tuple(-(-width // WIDTHS) * WIDTHS for width in (max(lengths), actual))
    assert shorter[0] == sum(length <= actual for length in lengths) == len(lengths) - longer[0]


@pytest.mark.parametrize("shares", [2, 3, 6])
def test_shards_draw_the_same_as_the_whole_batch(tiny_config, batch_of, shares):
    encoder = BertEncoder(tiny_config(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.5), seed=3)
    inputs = batch_of([2, 9, 2, 8, 1, 5], 9)
    whole = encoder(inputs, training=True, seed=SEED, packed=True)["sequence_output"]
    assert not np.allclose(whole, encoder(inputs, training=True, seed=SEED + 1, packed=True)["sequence_output"])
    size = 6 // shares
    for start in range(0, 6, size):
        shard = {name: values[start : start + size] for name, values in inputs.items()}
        seed = tf.concat([SEED, shard_start(inputs["input_mask"], start, tf.distribute.get_strategy())], axis=0)
        actual = encoder(shard, training=True, seed=seed, packed=True)["sequence_output"]
        np.testing.assert_allclose(actual, whole[start : start + size], atol=1e-5)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("lengths", [[9, 3, 1], [5, 5, 5], [8, 8], [2, 9, 2, 8, 1, 1], [24] * 3 + [7] * 9])
def test_rows_are_filled_up_if_a_position_has_no_gradient(lengths, apart):
    """Filled rows limit the number of shapes. If all attention positions are tokens, no filler row is available."""
    mask = tf.constant(mask_of(lengths))
    layout = packed_layout(mask, 3, True, apart)
    slots, tokens = layout.slots.numpy(), sum(lengths)
    assert slots[:tokens].tolist() == np.flatnonzero(mask).tolist()
    head_rows = layout.bucketed
    real = np.concatenate([np.repeat(bucket.real.numpy(), 3, axis=1).ravel() for bucket in head_rows.buckets])
    assert len(slots) == (tokens if real.all() else -(-tokens // ROWS) * ROWS)
    assert real[head_rows.to_rows.numpy()[:tokens]].all()
    assert not real[head_rows.to_rows.numpy()[tokens:]].any()
    assert len(set(head_rows.to_rows.numpy()[:tokens].ravel().tolist())) == 3 * tokens


@pytest.mark.parametrize("shard", [None, [2, 10, 8, 1]])
def test_batch_without_sequences(shard):
    """A served model has such a batch, and so has a replica if a batch has fewer rows than replicas."""
    options = (False, False, None) if shard is None else (True, True, tf.constant(shard))
    layout = packed_layout(tf.zeros([0, 9], tf.int32), 3, *options)
    assert layout.slots.shape == (0,)
    assert layout.bucketed.to_rows.shape == (0, 3)


@pytest.mark.parametrize("lengths", [[9, 3, 1], [8, 8], [24] * 3 + [7] * 9, [64] * 20])
def test_prediction_rows_are_always_filled_up(lengths):
    mask = tf.constant(mask_of(lengths))
    layout = packed_layout(mask, 3)
    slots, tokens = layout.slots.numpy(), sum(lengths)
    multiple = ROWS if tokens < 512 else 4 * ROWS  # 1,280 tokens
    assert len(slots) == -(-tokens // multiple) * multiple
    assert slots[:tokens].tolist() == np.flatnonzero(mask).tolist()
    (bucket,) = layout.whole.buckets
    assert bucket.key_bias.shape[-1] == -(-max(lengths) // WIDTHS) * WIDTHS
    assert layout.whole.to_rows.numpy().max() < np.prod(bucket.rows.shape)
