"""The graphs for texts of one length, in float32 and in 8 bits, beside an independent encoder in NumPy."""

import gc

import numpy as np
import numpy_bert
import pytest

from bert_cli.base.head_types import CLASSIFIER, FIRST, MEAN, POOLED, TAGGER, HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.model.config import BertConfig
from bert_cli.onnx import int8
from bert_cli.onnx.int8 import Int8Bert
from bert_cli.onnx.models import FlatBert, UnpaddedBert, encoder_runner, logits_runner

# The least cosine of what each gives, and that of logits.
BOTH = pytest.mark.parametrize(
    ("parts", "least", "of_logits"),
    [(UnpaddedBert, 1 - 1e-9, 1 - 1e-9), (FlatBert, 1 - 1e-9, 1 - 1e-9), (Int8Bert, 0.999, 0.995)],
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


def weights_of(outliers: float = 1.0, **changes) -> tuple[BertConfig, dict, dict[str, np.ndarray]]:
    """A config and random weights; `outliers` times as large are two channels of each LayerNorm."""
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


def oracle(config: dict, weights: dict, inputs: dict) -> dict:
    wide = {name: value.astype(np.float64) for name, value in weights.items()}
    return numpy_bert.forward(config, wide, *(inputs[name] for name in INPUTS))


def likeness(found: np.ndarray, wanted: np.ndarray) -> float:
    """The least cosine of two rows."""
    found, wanted = (values.reshape(-1, values.shape[-1]).astype(np.float64) for values in (found, wanted))
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(wanted, axis=1)
    return float(((found * wanted).sum(axis=1) / lengths).min())


@BOTH
@pytest.mark.parametrize("act", ["gelu", "relu", "tanh", ""])
def test_all_layers(act, parts, least, of_logits):
    config, plain, weights = weights_of(hidden_act=act)
    inputs = batch()
    wanted = oracle(plain, weights, inputs)
    found = encoder_runner(parts, weights, config, range(4))(inputs)
    for number, state in enumerate([wanted["embedding_output"], *wanted["encoder_outputs"]]):
        assert likeness(found[f"state_{number}"], state) > least, number
    pooled = encoder_runner(parts, weights, config, ())(inputs)["pooled_output"]
    assert likeness(pooled, wanted["pooled_output"]) > of_logits


def test_weights_live_as_long_as_what_reads_them():
    config, _, weights = weights_of(hidden_size=512, intermediate_size=1024)
    inputs, shapes = batch(), [value.shape for value in weights.values()]
    run = encoder_runner(UnpaddedBert, weights, config, [3])
    before = run(inputs)["state_0"]
    weights.clear()
    gc.collect()
    others = [np.full(shape, np.nan, np.float32) for shape in shapes * 3]  # which take memory that is free
    assert np.array_equal(run(inputs)["state_0"], before), len(others)


def test_channels_of_large_values_cost_little(monkeypatch):
    """Without the factors, their range would leave few levels to all other channels."""
    config, plain, weights = weights_of(outliers=60.0)
    inputs = batch()
    wanted = oracle(plain, weights, inputs)["encoder_outputs"][-1]

    def error() -> float:
        found = encoder_runner(Int8Bert, weights, config, [3])(inputs)["state_0"]
        others = np.delete(np.arange(64), [5, 40])
        return float(np.abs(found - wanted)[..., others].mean())

    smooth = error()
    monkeypatch.setattr(Int8Bert, "smooth_norm", plain_norm)
    assert smooth < error() / 2


def plain_norm(bert, x, scope, kernel):
    made = bert.norm(x, scope)
    return made, kernel, made


def test_weights_of_seven_bits_where_the_processor_adds_in_sixteen(monkeypatch):
    for flags, levels in (
        ({"avx2", "avx512f"}, 63),
        ({"avx2", "avx_vnni"}, 127),
        ({"avx2", "avx512_vnni"}, 127),
        ({"asimddp"}, 127),
        (set(), 127),
    ):
        monkeypatch.setattr(int8, "processor_flags", lambda flags=flags: frozenset(flags))
        assert int8._levels() == levels


@pytest.mark.parametrize(("parts", "least", "of_logits"), [(FlatBert, 1 - 1e-9, 1 - 1e-9), (Int8Bert, 0.999, 0.995)])
@pytest.mark.parametrize("text_input", [FIRST, MEAN, POOLED])
def test_a_head_of_texts(text_input, parts, least, of_logits):
    config, plain, weights = weights_of()
    rng = np.random.default_rng(0)
    head = {"output_weights": rng.normal(size=(3, 64)), "output_bias": np.array([0.1, -0.2, 0.3])}
    weights |= {name: value.astype(np.float32) for name, value in head.items()}
    inputs = batch()
    wanted = oracle(plain, weights, inputs)
    last = wanted["encoder_outputs"][-1]
    rows = {FIRST: last[:, 0], MEAN: last.mean(axis=1), POOLED: wanted["pooled_output"]}[text_input]
    found = logits_runner(parts, weights, config, HeadSpec(CLASSIFIER, 3, text_input))(inputs)["logits"]
    assert likeness(found, rows @ head["output_weights"].T + head["output_bias"]) > of_logits


@BOTH
def test_a_head_of_tokens_reads_layers_side_by_side(parts, least, of_logits):
    config, plain, weights = weights_of()
    rng = np.random.default_rng(0)
    weights |= {"output_weights": rng.normal(size=(9, 128)).astype(np.float32), "output_bias": np.ones(9, np.float32)}
    inputs = batch()
    states = oracle(plain, weights, inputs)["encoder_outputs"]
    states = [oracle(plain, weights, inputs)["embedding_output"], states[-1]]
    wanted = np.concatenate(states, axis=-1) @ weights["output_weights"].T + 1
    found = logits_runner(parts, weights, config, HeadSpec(TAGGER, 9, layers=("embedding", -1)))(inputs)["logits"]
    assert likeness(found, wanted) > of_logits


LENGTHS = (12, 7, 2)


def padded_batch() -> tuple[dict, list[dict]]:
    """(texts of different lengths in one batch, each of them alone)."""
    inputs = batch(len(LENGTHS))
    for row, length in enumerate(LENGTHS):
        inputs[INPUTS[1]][row, length:] = 0
    alone = [
        {name: values[row : row + 1, :length] for name, values in inputs.items()} for row, length in enumerate(LENGTHS)
    ]
    return inputs, alone


@pytest.mark.parametrize(("parts", "off"), [(FlatBert, 2e-5), (Int8Bert, 0.3)])
@pytest.mark.parametrize("text_input", [FIRST, MEAN, POOLED])
def test_padding_changes_no_text(text_input, parts, off):
    config, plain, weights = weights_of()
    head = np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)
    weights |= {"output_weights": head, "output_bias": np.zeros(3, np.float32)}
    inputs, alone = padded_batch()
    found = logits_runner(parts, weights, config, HeadSpec(CLASSIFIER, 3, text_input))(inputs)["logits"]
    for row, one in enumerate(alone):
        wanted = oracle(plain, weights, one)
        last = wanted["encoder_outputs"][-1]
        read = {FIRST: last[:, 0], MEAN: last.mean(axis=1), POOLED: wanted["pooled_output"]}[text_input]
        np.testing.assert_allclose(found[row], (read @ head.T)[0], atol=off)


def test_padding_changes_no_token():
    config, plain, weights = weights_of()
    head = np.random.default_rng(0).normal(size=(9, 64)).astype(np.float32)
    weights |= {"output_weights": head, "output_bias": np.ones(9, np.float32)}
    inputs, alone = padded_batch()
    logits = logits_runner(FlatBert, weights, config, HeadSpec(TAGGER, 9, layers=(-1,)))(inputs)["logits"]
    states = encoder_runner(FlatBert, weights, config, [0, 3])(inputs)
    for row, (one, length) in enumerate(zip(alone, LENGTHS, strict=True)):
        wanted = oracle(plain, weights, one)
        last = wanted["encoder_outputs"][-1][0]
        np.testing.assert_allclose(logits[row, :length], last @ head.T + 1, atol=2e-5)
        np.testing.assert_allclose(states["state_0"][row, :length], wanted["embedding_output"][0], atol=2e-5)
        np.testing.assert_allclose(states["state_1"][row, :length], last, atol=2e-5)
