"""Encoder and pre-training heads equal the original's outputs (golden/encoder) in all layouts."""

import dataclasses
import types

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.features.pretraining_batch import loss_shares
from bert_cli.heads.losses import cross_entropy
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.model.config_files import read_config
from bert_cli.model.layers import named_weights
from bert_cli.weights.checkpoint import Tf1Reader, load_weights

TOLERANCE = 1e-5
VARIANTS = (
    "",
    "_full64",
    "_act_relu",
    *(pytest.param(name, marks=pytest.mark.slow) for name in ("_act_tanh", "_act_linear")),
)

# "fixtures" has a subset of the outputs, and "shared" has all of them.
each_home = pytest.mark.parametrize("home", ["fixtures", "shared"])
each_layout = pytest.mark.parametrize("packed", [False, True])


@pytest.fixture(scope="module", params=VARIANTS)
def case(request, fixtures):
    """Return a golden batch and the outputs for golden weights: index False is dense, True is packed."""
    variant, folder = request.param, fixtures / "golden" / "encoder"
    config = read_config(str(folder / "bert_config.json"))
    if variant.startswith("_act_"):
        config = dataclasses.replace(config, hidden_act=variant.removeprefix("_act_"))
    model = BertPretrainer(config)
    report = load_weights(named_weights(model), Tf1Reader(str(folder / "bert_model.ckpt")))
    assert (report.missing, report.unused, len(report.loaded)) == ([], [], 62)
    batch = dict(np.load(folder / ("inputs_full64.npz" if variant == "_full64" else "inputs.npz")))
    renamed = {"input_ids": "input_word_ids", "input_mask": "input_mask", "segment_ids": "input_type_ids"}
    inputs = {name: batch[key] for key, name in renamed.items()}
    predicted = inputs | {"masked_lm_positions": batch["masked_lm_positions"]}
    both = (False, True)
    return types.SimpleNamespace(
        file=f"outputs{variant}.npz",
        batch=batch,
        encoded=[model.encoder(inputs, packed=packed) for packed in both],
        pooled=[model.encoder(inputs, packed=packed, pooled_only=True) for packed in both],
        logits=[model(predicted, packed=packed) for packed in both],
    )


@pytest.fixture
def expected(case, home, request):
    """Return the original's outputs for the batch."""
    outputs = dict(np.load(request.getfixturevalue(home) / "golden" / "encoder" / case.file))
    assert len(outputs) >= 3
    return outputs


def compare(actual: dict, expected: dict, chosen=...) -> int:
    """Assert that outputs with common keys are equal at the `chosen` tokens; return the number of keys."""
    keys = actual.keys() & expected.keys()
    for key in keys:
        left, right = np.asarray(actual[key]), expected[key]
        assert left.shape == right.shape, key
        if left.ndim > 2:
            left, right = left[chosen], right[chosen]
        np.testing.assert_allclose(left, right, rtol=0, atol=TOLERANCE, err_msg=key)
    return len(keys)


def name_layers(outputs: dict) -> dict:
    """Return the encoder's outputs by golden key."""
    actual = {key: outputs[key] for key in ("embedding_output", "sequence_output", "pooled_output")}
    return actual | {f"encoder_layer_{i}": layer for i, layer in enumerate(outputs["encoder_outputs"])}


@each_home
def test_all_rows_including_padding(case, expected):
    actual = name_layers(case.encoded[False])
    assert compare(actual, expected) >= 1
    assert np.array_equal(actual["sequence_output"], actual["encoder_layer_2"])


@each_home
def test_packed_outputs_are_equal_at_tokens_and_zero_elsewhere(case, expected):
    computed = case.batch["input_mask"] > 0
    assert computed[:, 0].all()
    actual = name_layers(case.encoded[True])
    assert compare(actual, expected, computed) >= 1
    for key, value in actual.items():
        if key != "pooled_output":
            assert not value.numpy()[~computed].any(), key


@each_home
@each_layout
def test_pooled_only(case, expected, packed):
    """The last layer computes only the first token's row."""
    actual = case.pooled[packed]
    assert list(actual) == ["pooled_output", "first_output"]
    assert compare(actual, expected) == 1


def compute_losses(batch: dict, logits: dict) -> dict:
    """Return the two heads' outputs by golden key."""
    masked, following = logits["masked_lm_logits"], logits["next_sentence_logits"]
    losses = cross_entropy(batch["next_sentence_labels"][:, 0], following)
    masked_losses = cross_entropy(batch["masked_lm_ids"], masked)
    return {
        "masked_lm_log_probs": tf.nn.log_softmax(masked),
        "masked_lm_example_loss": masked_losses,
        "masked_lm_loss": tf.reduce_sum(masked_losses * loss_shares(batch["masked_lm_weights"])),
        "next_sentence_log_probs": tf.nn.log_softmax(following),
        "next_sentence_example_loss": losses,
        "next_sentence_loss": tf.reduce_mean(losses),
    }


@each_home
def test_pretraining_heads_and_losses(case, expected):
    assert compare(compute_losses(case.batch, case.logits[False]), expected) >= 2


@each_home
def test_pretraining_heads_for_a_packed_batch(case, expected):
    """One golden position is in a hole of the mask, which packing does not compute, so it is skipped."""
    positions, weights = case.batch["masked_lm_positions"], case.batch["masked_lm_weights"]
    real = np.take_along_axis(case.batch["input_mask"], positions, axis=1) > 0
    assert np.count_nonzero(~real) == (1 if len(real) == 8 else 0)
    batch = case.batch | {"masked_lm_weights": weights * real}
    dense, packed = (compute_losses(batch, logits) for logits in case.logits)
    for key in dense:
        left, right = np.asarray(packed[key]), np.asarray(dense[key])
        if key.startswith("masked_lm") and left.ndim:
            left, right = left[real], right[real]
        np.testing.assert_allclose(left, right, rtol=0, atol=TOLERANCE, err_msg=key)
    assert compare({key: packed[key] for key in packed if key.startswith("next")}, expected) >= 1
