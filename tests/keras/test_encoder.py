"""The encoder in Keras 3 models: outputs, training with fit, saving and loading."""

import collections
import json
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file

from bert_cli.base.errors import InputError
from bert_cli.base.spec import INPUTS
from bert_cli.keras import Encoder
from bert_cli.model.layers import named_weights
from bert_cli.weights.checkpoint import Tf1Reader
from tests.reference import numpy_bert
from tests.sentence_cases import folder_of

# Keras 3.15 itself causes this warning when it writes variables to a file.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
NAMES = ("sequence_output", "pooled_output", "encoder_outputs")


def inputs(length):
    return {name: keras.Input((length,), dtype="int32", name=name) for name in INPUTS}


def classifier(encoder, length=None):
    model_inputs = inputs(length)
    outputs = encoder(model_inputs)
    # Train both outputs: the pooler's and the tokens'.
    joined = keras.layers.Concatenate()([outputs["pooled_output"], outputs["sequence_output"][:, 0]])
    probability = keras.layers.Dense(1, activation="sigmoid", kernel_initializer=keras.initializers.Constant(0.1))
    return keras.Model(model_inputs, probability(joined))


def rows(count, length=9):
    rng = np.random.default_rng(5)
    mask = (np.arange(length) < rng.integers(2, length + 1, count)[:, None]).astype(np.int32)
    words = rng.integers(5, 90, mask.shape).astype(np.int32) * mask
    types = (np.arange(length) > 4).astype(np.int32) * mask
    return dict(zip(INPUTS, (words, mask, types), strict=True)), (words[:, :1] % 2).astype(np.float32)


def reference(folder, batch):
    """Return the NumPy BERT's outputs and its function for gradients."""
    reader = Tf1Reader(str(folder / "bert_model.ckpt"))
    weights = {name: reader.read(name).astype(np.float64) for name in reader.shapes}
    config = json.loads((folder / "bert_config.json").read_text())
    return numpy_bert.encode(config, weights, *(batch[name] for name in INPUTS), gelu="tanh")


def test_outputs_equal_the_numpy_reference(pretrained):
    batch, _ = rows(4)
    outputs = Encoder.load(pretrained, return_attention=True)(batch)
    assert tuple(outputs) == (*NAMES, "attention_probs")
    expected, _ = reference(pretrained, batch)
    for name in NAMES[:2]:
        np.testing.assert_allclose(outputs[name], expected[name], atol=2e-5)
    for name in ("encoder_outputs", "attention_probs"):
        for actual_states, expected_states in zip(outputs[name], expected[name], strict=True):
            np.testing.assert_allclose(actual_states, expected_states, atol=2e-5)


def with_embeddings(encoder, batch):
    """Return the batch with word embeddings instead of ids."""
    words = {"input_word_embeddings": encoder.embed_words(batch["input_word_ids"])}
    return words | {name: batch[name] for name in INPUTS[1:]}


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_word_embeddings_give_the_numbers_of_their_ids(pretrained, dtype):
    batch, _ = rows(4)
    encoder = Encoder.load(pretrained, dtype=dtype)
    expected = encoder(batch)
    replaced = batch | {"input_word_ids": np.zeros_like(batch["input_word_ids"])}
    for embedded in (with_embeddings(encoder, batch), replaced | with_embeddings(encoder, batch)):
        np.testing.assert_array_equal(encoder(embedded)["pooled_output"], expected["pooled_output"])


def test_gradients_of_word_embeddings_equal_the_numpy_reference(pretrained):
    batch, _ = rows(4)
    encoder = Encoder.load(pretrained)
    embedded = with_embeddings(encoder, batch)
    with tf.GradientTape() as tape:
        tape.watch(embedded["input_word_embeddings"])
        total = tf.reduce_sum(encoder(embedded)["pooled_output"])
    _, back = reference(pretrained, batch)
    expected = back(np.zeros((4, 9, 16)), np.ones((4, 16)), collections.defaultdict(float))
    actual = tape.gradient(total, embedded["input_word_embeddings"])
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-4)


def trained_names(encoder):
    names = {
        name.removeprefix("bert/").removeprefix("encoder/").split("/")[0]
        for name, variable in named_weights(encoder).items()
        if any(variable is trained for trained in encoder.trainable_variables)
    }
    return sorted(names)


def test_frozen_layers_are_those_of_the_flag(pretrained):
    """The embeddings and the lowest layers, as with --freeze_layers."""
    everything = ["embeddings", "layer_0", "layer_1", "pooler"]
    encoder = Encoder.load(pretrained)
    for number, names in ((None, everything), (0, everything[1:]), (np.int64(1), everything[2:]), (2, everything[3:])):
        encoder.freeze_layers = number
        assert trained_names(encoder) == names == trained_names(Encoder.from_config(encoder.get_config()))
    encoder.trainable = False
    assert encoder.trainable_variables == []
    encoder.trainable = True  # as Keras sets it on a model's layers
    assert trained_names(encoder) == ["pooler"]
    assert trained_names(Encoder.load(pretrained, freeze_layers=1)) == everything[2:]


def test_fit_leaves_frozen_layers_unchanged(pretrained):
    encoder = Encoder.load(pretrained, freeze_layers=1)
    model = classifier(encoder)
    before = {name: variable.numpy() for name, variable in named_weights(encoder).items()}
    batch, labels = rows(8)
    model.compile(keras.optimizers.AdamW(1e-2), "binary_crossentropy")
    model.fit(batch, labels, verbose=0)
    for name, variable in named_weights(encoder).items():
        is_frozen = "embeddings" in name or "layer_0" in name
        assert is_frozen == np.array_equal(variable.numpy(), before[name]), name


def test_frozen_layers_attention_and_embeddings_survive_a_file(pretrained, tmp_path):
    batch, _ = rows(4)
    encoder = Encoder.load(pretrained, freeze_layers=1, return_attention=True, name="bert")
    embedded = with_embeddings(encoder, batch)
    shapes = {"input_word_embeddings": (None, 16)} | dict.fromkeys(INPUTS[1:], (None,))
    model_inputs = {name: keras.Input(shape, name=name) for name, shape in shapes.items()}
    outputs = encoder(model_inputs)
    assert [probabilities.shape for probabilities in outputs["attention_probs"]] == [(None, 2, None, None)] * 2
    model = keras.Model(model_inputs, [outputs["pooled_output"], *outputs["attention_probs"]])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    expected = encoder(batch)
    for actual, values in zip(
        loaded.predict(embedded, verbose=0), [expected["pooled_output"], *expected["attention_probs"]], strict=True
    ):
        np.testing.assert_allclose(actual, values, atol=1e-6)
    assert trained_names(loaded.get_layer("bert")) == ["layer_1", "pooler"]


@pytest.mark.parametrize("length", [None, 9])
def test_shapes_of_a_functional_model(pretrained, length):
    outputs = Encoder.load(pretrained)(inputs(length))
    assert outputs["sequence_output"].shape == (None, length, 16)
    assert outputs["pooled_output"].shape == (None, 16)
    assert [state.shape for state in outputs["encoder_outputs"]] == [(None, length, 16)] * 2


def test_fit_trains_like_a_gradient_tape(without_dropout):
    batch, labels = rows(8)
    fitted, taped = (classifier(Encoder.load(without_dropout)) for _ in range(2))
    fitted_optimizer = keras.optimizers.Adam(1e-3)
    fitted_optimizer.build(fitted.trainable_variables)  # otherwise Keras traces the step twice
    fitted.compile(fitted_optimizer, "binary_crossentropy")
    fitted.fit(batch, labels, batch_size=8, epochs=3, verbose=0)
    optimizer, loss = keras.optimizers.Adam(1e-3), keras.losses.BinaryCrossentropy()
    start = [variable.numpy() for variable in taped.trainable_variables]
    for _ in range(3):
        with tf.GradientTape() as tape:
            value = loss(labels, taped(batch, training=True))
        optimizer.apply(tape.gradient(value, taped.trainable_variables), taped.trainable_variables)
    for fitted_variable, taped_variable, start_value in zip(
        fitted.trainable_variables, taped.trainable_variables, start, strict=True
    ):
        np.testing.assert_allclose(
            fitted_variable.numpy(), taped_variable.numpy(), atol=1e-5, err_msg=fitted_variable.path
        )
        # The key bias has no effect: it changes all attention scores in a row by the same amount.
        assert np.abs(fitted_variable.numpy() - start_value).max() > 1e-3 or "key" in fitted_variable.path, (
            fitted_variable.path
        )


def test_frozen_encoder_has_no_trainable_variables(one_layer):
    encoder = Encoder.load(one_layer, trainable=False)
    assert encoder.trainable_variables == []
    model = classifier(encoder)
    assert len(model.trainable_variables) == 2
    before = [variable.numpy() for variable in encoder.variables]
    batch, labels = rows(8)
    model.compile("sgd", "binary_crossentropy")
    model.fit(batch, labels, verbose=0)
    for variable, value in zip(encoder.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)
    assert Encoder.from_config(encoder.get_config()).trainable_variables == []


def test_training_uses_the_dropout_in_the_config(one_layer, without_dropout):
    batch, _ = rows(8)
    for folder, differs in ((one_layer, True), (without_dropout, False)):
        encoder = Encoder.load(folder)
        plain, trained = (encoder(batch, training=training)["pooled_output"].numpy() for training in (False, True))
        assert (np.abs(plain - trained).max() > 1e-3) == differs


def test_weights_are_saved_and_loaded(one_layer, tmp_path):
    batch, _ = rows(4)
    model = classifier(Encoder.load(one_layer))
    model.save_weights(tmp_path / "model.weights.h5")
    second_model = classifier(Encoder(Encoder.load(one_layer).config))
    assert np.abs(second_model.predict(batch, verbose=0) - model.predict(batch, verbose=0)).max() > 1e-4
    second_model.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(second_model.predict(batch, verbose=0), model.predict(batch, verbose=0))


@pytest.mark.slow
def test_saved_model_is_loaded_by_another_process(one_layer, tmp_path):
    """That process imports bert_cli.keras; the pre-trained model's directory no longer exists."""
    folder = tmp_path / "model"
    shutil.copytree(one_layer, folder)
    batch, _ = rows(4)
    model = classifier(Encoder.load(folder, name="bert"))
    shutil.rmtree(folder)
    model.save(tmp_path / "model.keras")
    np.savez(tmp_path / "batch.npz", wanted=model.predict(batch, verbose=0), **batch)
    program = """
import sys, keras, numpy as np, bert_cli.keras
batch = dict(np.load(sys.argv[2]))
wanted = batch.pop("wanted")
model = keras.models.load_model(sys.argv[1])
np.testing.assert_array_equal(model.predict(batch, verbose=0), wanted)
assert type(model.get_layer("bert")) is bert_cli.keras.Encoder
"""
    command = [sys.executable, "-c", program, tmp_path / "model.keras", tmp_path / "batch.npz"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_bfloat16_encoder_keeps_float32_weights(one_layer):
    batch, _ = rows(4)
    encoder = Encoder.load(one_layer, dtype="mixed_bfloat16")
    assert {variable.dtype for variable in encoder.variables} == {"float32"}
    outputs, expected = encoder(batch)["pooled_output"], Encoder.load(one_layer)(batch)["pooled_output"]
    assert outputs.dtype == tf.float32
    assert 0 < np.abs(outputs - expected).max() < 0.05


def test_refusals(one_layer, tmp_path):
    with pytest.raises(InputError, match="no checkpoint there"):
        Encoder.load(tmp_path / "missing")
    encoder = Encoder.load(one_layer)
    with pytest.raises(InputError, match="a dict of input_word_ids, input_mask, input_type_ids is needed"):
        encoder(np.zeros((2, 3), np.int32))
    with pytest.raises(InputError, match=r"int \[B, S\] each"):
        encoder(dict.fromkeys(INPUTS, np.ones(3, np.int32)))
    with pytest.raises(InputError, match="65 tokens a row, and the model has 64 positions"):
        encoder(inputs(65))
    batch, _ = rows(2)
    with pytest.raises(InputError, match=r"input_word_embeddings has width 3, the model has 16"):
        encoder(batch | {"input_word_embeddings": np.zeros((2, 9, 3), np.float32)})
    for number, problem in ((2, "the model has 1 layers; give 0 to 1"), (-1, "give 0 to 1"), (True, "whole number")):
        with pytest.raises(InputError, match=f"freeze_layers={number}: .*{problem}"):
            encoder.freeze_layers = number


def test_a_missing_pooler_is_an_error_or_new(tmp_path):
    folder = str(folder_of("mean", tmp_path / "m"))
    tensors = load_file(f"{folder}/model.safetensors")
    save_file({name: values for name, values in tensors.items() if "pooler" not in name}, f"{folder}/model.safetensors")
    ids = np.int32([[2, 5, 3]])
    batch = dict(zip(INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
    encoder = Encoder.load(folder)
    for given in (batch, inputs(None)):
        outputs = encoder(given)
        assert list(outputs) == ["sequence_output", "encoder_outputs"]
        with pytest.raises(InputError, match="this model has no pooler, so it has sequence_output and encoder_outputs"):
            outputs["pooled_output"]
    model = keras.Model(model_inputs := inputs(None), encoder(model_inputs)["sequence_output"])
    np.testing.assert_allclose(model.predict(batch, verbose=0), encoder(batch)["sequence_output"], atol=1e-6)
    assert not any("pooler" in variable.path for variable in encoder.trainable_variables)
    assert not Encoder.from_config(encoder.get_config()).has_pooler
    assert Encoder.load(folder, new_pooler=True)(batch)["pooled_output"].shape == (1, 8)
