"""The encoder in Keras 3 models: outputs, training with fit, saving and loading."""

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


def test_outputs_equal_the_numpy_reference(pretrained):
    batch, _ = rows(4)
    outputs = Encoder.load(pretrained)(batch)
    assert tuple(outputs) == NAMES
    reader = Tf1Reader(str(pretrained / "bert_model.ckpt"))
    weights = {name: reader.read(name).astype(np.float64) for name in reader.shapes}
    config = json.loads((pretrained / "bert_config.json").read_text())
    expected, _ = numpy_bert.encode(config, weights, *(batch[name] for name in INPUTS), gelu="tanh")
    for name in NAMES[:2]:
        np.testing.assert_allclose(outputs[name], expected[name], atol=2e-5)
    for actual_states, expected_states in zip(outputs["encoder_outputs"], expected["encoder_outputs"], strict=True):
        np.testing.assert_allclose(actual_states, expected_states, atol=2e-5)


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
        with pytest.raises(InputError, match="pooled_output: this model has no pooler; use sequence_output, or load"):
            outputs["pooled_output"]
        with pytest.raises(KeyError):
            outputs["other"]
    assert not Encoder.from_config(encoder.get_config()).has_pooler
    assert Encoder.load(folder, new_pooler=True)(batch)["pooled_output"].shape == (1, 8)
