"""ONNX graphs in float32 and int8, compared with an independent NumPy encoder."""

import gc

import numpy as np
import numpy_bert
import pytest

from bert_cli.base.head_types import CLASSIFIER, FIRST, MEAN, POOLED, TAGGER, HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx import int8
from bert_cli.onnx.bert import FLAT, ONE_LENGTH
from bert_cli.onnx.int8 import FLAT_INT8, Int8Encoder
from bert_cli.onnx.runners import encoder_runner, logits_runner

# Forms with their smallest allowed cosine similarity for states, and for pooled output and logits.
EACH_FORM = pytest.mark.parametrize(
    ("form", "least_cosine", "least_logits_cosine"),
    [(ONE_LENGTH, 1 - 1e-9, 1 - 1e-9), (FLAT, 1 - 1e-9, 1 - 1e-9), (FLAT_INT8, 0.999, 0.995)],
)
CONFIG = {
    "vocab_size": 50,
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 20,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "initializer_range": 0.02,
}


def random_model(outliers: float = 1.0, **changes) -> tuple[BertConfig, dict, dict[str, np.ndarray]]:
    """Return a config, the same as a dict, and random weights.

    Args:
        outliers: scale for two channels of every LayerNorm.
        **changes: config values that differ from CONFIG.
    """
    config = CONFIG | changes
    weights = numpy_bert.random_weights(numpy_bert.variable_shapes(config), seed=3, scale=0.1)
    for name, value in weights.items():
        if name.endswith("/gamma"):
            value[:] = 1.0
            value[[5, 40]] = outliers
    return BertConfig(**config), config, {name: value.astype(np.float32) for name, value in weights.items()}


def batch(rows: int = 6, length: int = 12) -> dict[str, np.ndarray]:
    words = np.random.default_rng(1).integers(1, 50, (rows, length)).astype(np.int32)
    types = np.broadcast_to(np.arange(length) >= length // 2, words.shape).astype(np.int32)
    return dict(zip(INPUTS, (words, np.ones_like(words), types), strict=True))


def reference_outputs(config: dict, weights: dict, inputs: dict) -> dict:
    double_weights = {name: value.astype(np.float64) for name, value in weights.items()}
    return numpy_bert.forward(config, double_weights, *(inputs[name] for name in INPUTS))


def likeness(actual: np.ndarray, expected: np.ndarray) -> float:
    """Return the smallest cosine similarity of corresponding rows (last axis)."""
    actual, expected = (values.reshape(-1, values.shape[-1]).astype(np.float64) for values in (actual, expected))
    lengths = np.linalg.norm(actual, axis=1) * np.linalg.norm(expected, axis=1)
    return float(((actual * expected).sum(axis=1) / lengths).min())


@EACH_FORM
@pytest.mark.parametrize("activation", ["gelu", "relu", "tanh", ""])
def test_all_layers(activation, form, least_cosine, least_logits_cosine):
    config, config_dict, weights = random_model(hidden_act=activation)
    inputs = batch()
    expected = reference_outputs(config_dict, weights, inputs)
    actual = encoder_runner(form, weights, config, range(4))(inputs)
    for index, state in enumerate([expected["embedding_output"], *expected["encoder_outputs"]]):
        assert likeness(actual[f"state_{index}"], state) > least_cosine, index
    pooled = encoder_runner(form, weights, config, ())(inputs)["pooled_output"]
    assert likeness(pooled, expected["pooled_output"]) > least_logits_cosine


def test_runner_keeps_its_weights_alive():
    config, _, weights = random_model(hidden_size=512, intermediate_size=1024)
    inputs, shapes = batch(), [value.shape for value in weights.values()]
    run = encoder_runner(ONE_LENGTH, weights, config, [3])
    before = run(inputs)["state_0"]
    weights.clear()
    gc.collect()
    # Fill freed memory with NaN.
    filler = [np.full(shape, np.nan, np.float32) for shape in shapes * 3]
    assert np.array_equal(run(inputs)["state_0"], before), len(filler)


def test_outlier_channels_cost_little_accuracy(monkeypatch):
    """Without smoothing, outlier channels would leave few int8 levels for the rest."""
    config, config_dict, weights = random_model(outliers=60.0)
    inputs = batch()
    expected = reference_outputs(config_dict, weights, inputs)["encoder_outputs"][-1]

    def error() -> float:
        actual = encoder_runner(FLAT_INT8, weights, config, [3])(inputs)["state_0"]
        normal_channels = np.delete(np.arange(64), [5, 40])
        return float(np.abs(actual - expected)[..., normal_channels].mean())

    smooth = error()
    monkeypatch.setattr(Int8Encoder, "smooth_norm", plain_norm)
    assert smooth < error() / 2


def plain_norm(encoder, x, scope, kernel):
    normalized = encoder.bert.norm(x, scope)
    return normalized, kernel, normalized


def test_weights_have_seven_bits_without_vnni(monkeypatch):
    for cpu_flags, levels in (
        ({"avx2", "avx512f"}, 63),
        ({"avx2", "avx_vnni"}, 127),
        ({"avx2", "avx512_vnni"}, 127),
        ({"asimddp"}, 127),
        (set(), 127),
    ):
        monkeypatch.setattr(int8, "processor_flags", lambda cpu_flags=cpu_flags: frozenset(cpu_flags))
        assert int8._levels() == levels


@pytest.mark.parametrize(
    ("form", "least_cosine", "least_logits_cosine"), [(FLAT, 1 - 1e-9, 1 - 1e-9), (FLAT_INT8, 0.999, 0.995)]
)
@pytest.mark.parametrize("text_input", [FIRST, MEAN, POOLED])
def test_text_head(text_input, form, least_cosine, least_logits_cosine):
    config, config_dict, weights = random_model()
    rng = np.random.default_rng(0)
    head = {"output_weights": rng.normal(size=(3, 64)), "output_bias": np.array([0.1, -0.2, 0.3])}
    weights |= {name: value.astype(np.float32) for name, value in head.items()}
    inputs = batch()
    expected = reference_outputs(config_dict, weights, inputs)
    last = expected["encoder_outputs"][-1]
    rows = {FIRST: last[:, 0], MEAN: last.mean(axis=1), POOLED: expected["pooled_output"]}[text_input]
    actual = logits_runner(form, weights, config, HeadSpec(CLASSIFIER, 3, text_input))(inputs)["logits"]
    assert likeness(actual, rows @ head["output_weights"].T + head["output_bias"]) > least_logits_cosine


@EACH_FORM
def test_token_head_reads_concatenated_layers(form, least_cosine, least_logits_cosine):
    config, config_dict, weights = random_model()
    rng = np.random.default_rng(0)
    weights |= {"output_weights": rng.normal(size=(9, 128)).astype(np.float32), "output_bias": np.ones(9, np.float32)}
    inputs = batch()
    states = reference_outputs(config_dict, weights, inputs)["encoder_outputs"]
    states = [reference_outputs(config_dict, weights, inputs)["embedding_output"], states[-1]]
    expected = np.concatenate(states, axis=-1) @ weights["output_weights"].T + 1
    actual = logits_runner(form, weights, config, HeadSpec(TAGGER, 9, layers=("embedding", -1)))(inputs)["logits"]
    assert likeness(actual, expected) > least_logits_cosine


LENGTHS = (12, 7, 2)


def padded_batch() -> tuple[dict, list[dict]]:
    """Return a batch with texts of different lengths, and a batch per text without padding."""
    inputs = batch(len(LENGTHS))
    for row, length in enumerate(LENGTHS):
        inputs[INPUTS[1]][row, length:] = 0
    single_texts = [
        {name: values[row : row + 1, :length] for name, values in inputs.items()} for row, length in enumerate(LENGTHS)
    ]
    return inputs, single_texts


@pytest.mark.parametrize(("form", "tolerance"), [(FLAT, 2e-5), (FLAT_INT8, 0.3)])
@pytest.mark.parametrize("text_input", [FIRST, MEAN, POOLED])
def test_padding_does_not_change_text_logits(text_input, form, tolerance):
    config, config_dict, weights = random_model()
    head = np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)
    weights |= {"output_weights": head, "output_bias": np.zeros(3, np.float32)}
    inputs, single_texts = padded_batch()
    actual = logits_runner(form, weights, config, HeadSpec(CLASSIFIER, 3, text_input))(inputs)["logits"]
    for row, text in enumerate(single_texts):
        expected = reference_outputs(config_dict, weights, text)
        last = expected["encoder_outputs"][-1]
        rows = {FIRST: last[:, 0], MEAN: last.mean(axis=1), POOLED: expected["pooled_output"]}[text_input]
        np.testing.assert_allclose(actual[row], (rows @ head.T)[0], atol=tolerance)


def test_padding_does_not_change_tokens():
    config, config_dict, weights = random_model()
    head = np.random.default_rng(0).normal(size=(9, 64)).astype(np.float32)
    weights |= {"output_weights": head, "output_bias": np.ones(9, np.float32)}
    inputs, single_texts = padded_batch()
    logits = logits_runner(FLAT, weights, config, HeadSpec(TAGGER, 9, layers=(-1,)))(inputs)["logits"]
    states = encoder_runner(FLAT, weights, config, [0, 3])(inputs)
    for row, (text, length) in enumerate(zip(single_texts, LENGTHS, strict=True)):
        expected = reference_outputs(config_dict, weights, text)
        last = expected["encoder_outputs"][-1][0]
        np.testing.assert_allclose(logits[row, :length], last @ head.T + 1, atol=2e-5)
        np.testing.assert_allclose(states["state_0"][row, :length], expected["embedding_output"][0], atol=2e-5)
        np.testing.assert_allclose(states["state_1"][row, :length], last, atol=2e-5)
