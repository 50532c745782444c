"""Head layers for pre-training, and their manual gradient."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.heads.pretraining import MaskedLmHead, NextSentenceHead, ReplacedTokensHead, tied_cross_entropy
from tests.configs import small_config


def test_masked_words_are_compared_with_embeddings():
    head = MaskedLmHead(small_config(hidden_size=2, num_attention_heads=1, vocab_size=3, hidden_act="linear"), 0)
    head.transform.kernel.assign(np.eye(2))
    head.output_bias.assign([0, 0, 9])
    # A normalized pair of numbers is (-1, 1) or (1, -1).
    logits = head(tf.constant([[1.0, 5.0], [4.0, 2.0]]), word_embeddings=tf.constant([[1.0, 0], [0, 1], [0, 0]]))
    np.testing.assert_allclose(logits, [[-1, 1, 9], [1, -1, 9]], atol=1e-3)


def test_replaced_tokens_have_one_logit():
    head = ReplacedTokensHead(small_config(hidden_size=2, num_attention_heads=1, hidden_act="relu"), 0)
    head.dense.kernel.assign(np.eye(2))
    head.output_layer.kernel.assign([[1], [10]])
    assert head(tf.constant([[1.0, 2.0], [-1.0, 3.0]])).numpy().tolist() == [21, 30]


def test_next_sentences_have_two_logits():
    head = NextSentenceHead(small_config(), 0)
    assert head(tf.zeros([3, 8])).shape == (3, 2)
    assert list(head.named_variables()) == ["cls/seq_relationship/output_weights", "cls/seq_relationship/output_bias"]


def test_the_manual_gradient_equals_the_automatic_one():
    rng = np.random.default_rng(0)
    arrays = [tf.constant(rng.normal(size=shape), tf.float32) for shape in ((4, 3), (5, 3), (5,))]
    labels, scales = tf.constant([0, 4, 4, 2]), tf.constant([1.0, 0.5, 0.0, 2.0])

    def automatic(rows: tf.Tensor, words: tf.Tensor, bias: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        logits = tf.matmul(rows, words, transpose_b=True) + bias
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)

    results = []
    for loss_function in (tied_cross_entropy, automatic):
        with tf.GradientTape() as tape:
            tape.watch(arrays)
            losses = loss_function(*arrays, labels)
            total = tf.reduce_sum(losses * scales)
        results.append([losses, *tape.gradient(total, arrays)])
    for manual, expected in zip(*results, strict=True):
        np.testing.assert_allclose(manual, expected, atol=1e-6)


def test_uniform_words_cost_the_logarithm_of_their_number():
    losses = tied_cross_entropy(tf.zeros([1, 3]), tf.zeros([8, 3]), tf.zeros([8]), tf.constant([5]))
    assert losses.numpy().tolist() == pytest.approx([np.log(8)])
