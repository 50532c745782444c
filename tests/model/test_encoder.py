"""Outputs and gradients compared with the independent NumPy BERT in tests/reference, on small random models."""

import dataclasses

import numpy as np
import numpy_bert
import pytest
import tensorflow as tf

from bert_cli.features.pretraining_batch import loss_shares
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.heads.squad import BertSpanModel
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.training.optimizers.adamw import global_norm

# Changes to the tiny config, and row lengths in a batch with 9 positions.
CASES = {
    "erf": ({"gelu": "erf"}, [9, 4, 1, 7]),
    "tanh form": ({"gelu": "tanh"}, [2, 9, 5]),
    "relu, one head": ({"hidden_act": "relu", "num_attention_heads": 1}, [3, 6]),
    "linear, as many heads as columns": ({"hidden_act": "linear", "num_attention_heads": 12}, [9, 1]),
    "tanh, one layer": ({"hidden_act": "tanh", "num_hidden_layers": 1}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    "three layers": ({"num_hidden_layers": 3}, [9, 8]),
    "all of the width": ({"gelu": "erf", "type_vocab_size": 5}, [9, 9, 9]),
    "all short": ({"gelu": "tanh"}, [4, 4]),
    "one token each": ({"gelu": "erf"}, [1, 1]),
}
WIDTH = 9


def set_random_weights(model, task: str, config, seed: int) -> dict:
    """Set random weights, none of them 0 or 1, and return them as float64 by name."""
    shapes = numpy_bert.variable_shapes(dataclasses.asdict(config), task)
    variables = named_weights(model)
    assert {name: tuple(v.shape) for name, v in variables.items()} == shapes
    weights = {n: v.astype(np.float32) for n, v in numpy_bert.random_weights(shapes, seed).items()}
    for name, variable in variables.items():
        variable.assign(weights[name])
    return {name: value.astype(np.float64) for name, value in weights.items()}


def oracle_batch(inputs: dict) -> dict:
    return {
        "input_ids": inputs["input_word_ids"],
        "input_mask": inputs["input_mask"],
        "segment_ids": inputs["input_type_ids"],
    }


@pytest.fixture
def case(name, tiny_config, batch_of):
    changes, lengths = CASES[name]
    return tiny_config(**changes), batch_of(lengths, WIDTH, seed=len(lengths))


def oracle_forward(config, weights, inputs) -> dict:
    return numpy_bert.forward(dataclasses.asdict(config), weights, *oracle_batch(inputs).values(), gelu=config.gelu)


@pytest.mark.parametrize("name", CASES)
def test_outputs(case):
    config, inputs = case
    encoder = BertEncoder(config)
    weights = set_random_weights(encoder, "", config, seed=1)
    expected = oracle_forward(config, weights, inputs)
    real = inputs["input_mask"] > 0
    for packed in (False, True):
        actual = encoder(inputs, packed=packed, return_attention=True)
        chosen = real if packed else np.ones_like(real)
        for key in ("embedding_output", "sequence_output"):
            np.testing.assert_allclose(actual[key].numpy()[chosen], expected[key][chosen], atol=2e-5, rtol=0)
        np.testing.assert_allclose(actual["pooled_output"], expected["pooled_output"], atol=2e-5, rtol=0)
        assert len(actual["encoder_outputs"]) == len(actual["attention_probs"]) == config.num_hidden_layers
        for mine, theirs in zip(actual["encoder_outputs"], expected["encoder_outputs"], strict=True):
            np.testing.assert_allclose(mine.numpy()[chosen], theirs[chosen], atol=2e-5, rtol=0)
        for mine, theirs in zip(actual["attention_probs"], expected["attention_probs"], strict=True):
            assert mine.shape == theirs.shape
            by_query = (mine.numpy().swapaxes(1, 2)[chosen], theirs.swapaxes(1, 2)[chosen])  # [queries, N, S]
            np.testing.assert_allclose(*by_query, atol=2e-5, rtol=0)
        pooled = encoder(inputs, packed=packed, pooled_only=True)["pooled_output"]
        np.testing.assert_allclose(pooled, expected["pooled_output"], atol=2e-5, rtol=0)


def test_token_types_out_of_range_add_nothing(tiny_config, batch_of):
    config = tiny_config()
    inputs = batch_of([5, 3], WIDTH)
    inputs["input_type_ids"][0, :3] = (2, 7, -1)
    encoder = BertEncoder(config)
    weights = set_random_weights(encoder, "", config, seed=2)
    expected = oracle_forward(config, weights, inputs)["embedding_output"]
    np.testing.assert_allclose(encoder(inputs)["embedding_output"], expected, atol=2e-5, rtol=0)


def test_hole_in_the_mask_is_not_a_key_and_moves_no_position(tiny_config, batch_of):
    config = tiny_config()
    inputs = batch_of([6, 9], WIDTH)
    inputs["input_mask"][0, 2] = 0
    encoder = BertEncoder(config)
    weights = set_random_weights(encoder, "", config, seed=3)
    expected = oracle_forward(config, weights, inputs)["sequence_output"]
    real = inputs["input_mask"] > 0
    np.testing.assert_allclose(encoder(inputs)["sequence_output"], expected, atol=2e-5, rtol=0)
    packed = encoder(inputs, packed=True)["sequence_output"].numpy()
    np.testing.assert_allclose(packed[real], expected[real], atol=2e-5, rtol=0)


def loss_of(model, batch, packed):
    """Return the training loss for a batch with masked_lm_weights of 0 and 1."""
    if "masked_lm_weights" in batch:
        batch = batch | {"masked_lm_weights": loss_shares(batch["masked_lm_weights"])}
    losses, weights = model.loss_terms(batch, None, packed, batch_size=len(batch["input_mask"]))
    return tf.reduce_sum(losses * weights)


def labels_for(task: str, inputs: dict) -> dict:
    rng, lengths = np.random.default_rng(4), inputs["input_mask"].sum(1)
    count = len(lengths)
    if task == "classification":
        return {"label_ids": rng.integers(0, 3, count)}
    if task == "squad":
        return {"start_positions": rng.integers(0, lengths), "end_positions": rng.integers(0, lengths)}
    weights = (np.arange(3) < np.minimum(lengths, 3)[:, None]).astype(np.float32)
    positions = rng.integers(0, lengths[:, None], (count, 3)).astype(np.int32) * (weights > 0)
    ids = rng.integers(1, 23, (count, 3)).astype(np.int32) * (weights > 0)
    labels = {"masked_lm_positions": positions, "masked_lm_ids": ids, "masked_lm_weights": weights}
    return labels | {"next_sentence_labels": rng.integers(0, 2, count)}


def build(task: str, config):
    if task == "classification":
        model = BertTextClassifier(config, 3)
        model.head_dropout = 0.0
        return model
    return BertPretrainer(config) if task == "pretraining" else BertSpanModel(config)


@pytest.mark.parametrize(
    ("task", "name"),
    [
        *(("classification", name) for name in ("erf", "relu, one head", "three layers", "one token each")),
        ("pretraining", "all of the width"),
        ("squad", "tanh form"),
        *(
            pytest.param("classification", name, marks=pytest.mark.slow)
            for name in (
                "tanh form",
                "linear, as many heads as columns",
                "tanh, one layer",
                "all of the width",
                "all short",
            )
        ),
        pytest.param("pretraining", "erf", marks=pytest.mark.slow),
        pytest.param("pretraining", "relu, one head", marks=pytest.mark.slow),
        pytest.param("squad", "tanh, one layer", marks=pytest.mark.slow),
    ],
)
def test_gradients(case, task):
    """Compare all gradients without dropout, dense and packed, and their norm before rows are summed."""
    config, inputs = case
    model = build(task, config)
    weights = set_random_weights(model, task, config, seed=5)
    batch = inputs | labels_for(task, inputs)
    wanted_loss, expected, wanted_norm = numpy_bert.loss_and_gradients(
        task, dataclasses.asdict(config), weights, batch | oracle_batch(inputs), config.gelu
    )
    variables = {name: v for name, v in named_weights(model).items() if name in expected}
    for packed in (False, True):
        with tf.GradientTape() as tape:
            loss = loss_of(model, batch, packed)
        actual = tape.gradient(loss, [v.value for v in variables.values()])
        assert float(loss) == pytest.approx(wanted_loss, abs=1e-5)
        assert float(global_norm(actual)) == pytest.approx(wanted_norm, rel=1e-4)
        for name, gradient in zip(variables, actual, strict=True):
            gradient = tf.convert_to_tensor(gradient).numpy()
            limit = 1e-4 * np.abs(expected[name]).max() + 2e-6
            np.testing.assert_allclose(gradient, expected[name], rtol=0, atol=limit, err_msg=f"{name} packed={packed}")


def test_layer_normalization_uses_the_configs_epsilon(tiny_config, batch_of):
    config, inputs = tiny_config(layer_norm_eps=0.25), batch_of([9, 2, 5], WIDTH)
    encoder = BertEncoder(config)
    weights = set_random_weights(encoder, "", config, seed=8)
    words, types, positions = (weights[f"bert/embeddings/{k}_embeddings"] for k in ("word", "token_type", "position"))
    x = words[inputs["input_word_ids"]] + types[inputs["input_type_ids"]] + positions
    unit = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.25)
    gamma, beta = (weights[f"bert/embeddings/LayerNorm/{name}"] for name in ("gamma", "beta"))
    np.testing.assert_allclose(encoder(inputs)["embedding_output"], unit * gamma + beta, atol=2e-5, rtol=0)


def test_span_logits(tiny_config, batch_of):
    config, inputs = tiny_config(), batch_of([9, 2, 5], WIDTH)
    model = BertSpanModel(config)
    weights = set_random_weights(model, "squad", config, seed=6)
    sequence = numpy_bert.forward(dataclasses.asdict(config), weights, *oracle_batch(inputs).values())
    expected = numpy_bert.squad(weights, sequence["sequence_output"])
    start, end = model(inputs)
    np.testing.assert_allclose(start, expected["start_logits"], atol=5e-5, rtol=0)
    np.testing.assert_allclose(end, expected["end_logits"], atol=5e-5, rtol=0)


@pytest.mark.parametrize("packed", [False, True])
def test_bfloat16_products_are_close_and_outputs_are_float32(packed, tiny_config, batch_of):
    config, inputs = tiny_config(gelu="erf"), batch_of([9, 3, 6], WIDTH)
    exact, coarse = BertEncoder(config, seed=7), BertEncoder(config, compute_dtype="bfloat16", seed=7)
    actual = coarse(inputs, packed=packed)
    expected = exact(inputs, packed=packed)
    assert all(v.dtype == "float32" for v in named_weights(coarse).values())
    for key in ("embedding_output", "sequence_output", "pooled_output"):
        assert actual[key].dtype == tf.float32
        difference = np.abs(actual[key] - expected[key]).max()
        assert 0 < difference < 0.05, key


@pytest.mark.parametrize(("dtype", "gelu"), [("bfloat16", "tanh"), ("bfloat16", "erf"), ("float16", "erf")])
def test_gradients_of_low_precision_products_are_close_and_float32(dtype, gelu, tiny_config, batch_of):
    config, inputs = tiny_config(gelu=gelu, num_hidden_layers=1), batch_of([9, 3, 6], WIDTH)
    batch, actual = inputs | labels_for("classification", inputs), {}
    for name in ("float32", dtype):
        model = BertTextClassifier(config, 3, compute_dtype=name)
        model.head_dropout = 0.0
        set_random_weights(model, "classification", config, seed=5)
        with tf.GradientTape() as tape:
            loss = loss_of(model, batch, packed=True)
        gradients = tape.gradient(loss, [v.value for v in named_weights(model).values()])
        actual[name] = {n: tf.convert_to_tensor(g) for n, g in zip(named_weights(model), gradients, strict=True)}
    largest = max(np.abs(gradient).max() for gradient in actual["float32"].values())
    for name, gradient in actual["float32"].items():
        assert actual[dtype][name].dtype == tf.float32
        assert np.abs(actual[dtype][name] - gradient).max() < 0.05 * largest, name


def test_embeddings_are_gathered_from_a_value_not_from_the_variable(tiny_config, batch_of):
    """After a gather from a variable, TensorFlow copies the variable at each read and assignment."""
    encoder = BertEncoder(tiny_config())
    graph = tf.function(lambda inputs: encoder(inputs, packed=True)["pooled_output"])
    types = {
        operation.type
        for operation in graph.get_concrete_function(batch_of([3, 5], WIDTH, seed=1)).graph.get_operations()
    }
    assert "GatherV2" in types
    assert "ResourceGather" not in types
