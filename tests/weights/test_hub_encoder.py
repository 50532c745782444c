"""tensorflow-hub modules that are not a BERT and run their own graph."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.spec import INPUTS
from bert_cli.heads.model import make_encoder
from bert_cli.model.config import ModuleConfig
from bert_cli.model.config_files import read_config, read_module_config, write_config
from bert_cli.weights.hub_encoder import module_config, preprocessor_lower_cases
from bert_cli.weights.module_path import find_module
from tests.snapshots import raises

SPEC = {name: tf.TensorSpec([None, None], tf.int32, name=name) for name in INPUTS}


class Averages(tf.Module):
    """An encoder that adds the mean of all words to each; only pooled_output depends on `dense`."""

    def __init__(self, with_training: bool):
        super().__init__()
        rng = np.random.default_rng(2)
        self.words = tf.Variable(rng.normal(size=(9, 4)), dtype=tf.float32, name="words")
        self.position_table = tf.Variable(rng.normal(size=(16, 4)), dtype=tf.float32, name="position_table")
        self.dense = tf.Variable(rng.normal(size=(4, 4)), dtype=tf.float32, name="dense")
        self.twin = tf.Variable(tf.ones([4]), name="dense")

        def encode(inputs, training=False):
            mask = tf.cast(inputs["input_mask"], tf.float32)[..., tf.newaxis]
            rows = tf.gather(self.words, inputs["input_word_ids"]) * mask
            rows += self.position_table[: tf.shape(mask)[1]]
            rows = tf.nn.dropout(rows, 0.5) if training else rows
            mean = tf.reduce_sum(rows, axis=1) / tf.reduce_sum(mask, axis=1)
            pooled = tf.tanh(mean @ self.dense) * self.twin
            return {"pooled_output": pooled, "sequence_output": rows + mean[:, tf.newaxis]}

        if with_training:
            self.function = tf.function(encode)
            for training in (False, True):
                self.function.get_concrete_function(SPEC, training=training)
        else:
            self.function = tf.function(lambda inputs: encode(inputs, False), input_signature=[SPEC])

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)


def save(path, with_training=True) -> str:
    module = Averages(with_training)
    saved = tf.train.Checkpoint(words=module.words, position_table=module.position_table)
    saved.dense, saved.twin = module.dense, module.twin
    saved.__call__ = module.function
    saved.trainable_variables = [module.words, module.position_table, module.dense, module.twin]
    tf.saved_model.save(saved, str(path))
    return str(path)


INPUT = {
    "input_word_ids": tf.constant([[1, 2, 3], [4, 5, 0]]),
    "input_mask": tf.constant([[1, 1, 1], [1, 1, 0]]),
    "input_type_ids": tf.zeros([2, 3], tf.int32),
}


@pytest.mark.parametrize("with_training", [True, False])
def test_outputs_equal_those_of_the_module(tmp_path, with_training):
    path = save(tmp_path / "module", with_training)
    config = module_config(find_module(path, "hub_module"), 9)
    assert config == ModuleConfig(path, 9, 4, 1, 16)
    encoder = make_encoder(config)
    outputs = encoder(INPUT, packed=True)
    module = tf.saved_model.load(path)
    expected = module(INPUT, training=False) if with_training else module(INPUT)
    for name, values in expected.items():
        assert np.array_equal(outputs[name], values)
    assert np.array_equal(outputs["encoder_outputs"][-1], expected["sequence_output"])
    dropped = encoder(INPUT, training=True)["pooled_output"]
    assert np.array_equal(dropped, expected["pooled_output"]) is not with_training


def test_variables_have_names_and_gradients(tmp_path):
    encoder = make_encoder(module_config(find_module(save(tmp_path / "module"), "hub_module"), 9))
    assert list(encoder.named_variables()) == ["hub/words", "hub/position_table", "hub/dense", "hub/dense_"]
    assert encoder.without_gradient(0) == {"hub/dense", "hub/dense_"}
    assert encoder.without_gradient(None) == set()
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(encoder(INPUT)["pooled_output"])
    assert all(gradient is not None for gradient in tape.gradient(total, list(encoder.named_variables().values())))


def test_config_files(tmp_path):
    config = ModuleConfig("/a/module", 9, 4, 1, 16)
    path = str(tmp_path / "bert_config.json")
    write_config(path, config)
    assert read_module_config(path) == config
    with raises(InputError, "bert_config.json: "):
        read_config(path)
    (tmp_path / "bert_config.json").write_text('{"hub_module": "x", "size": 3}')
    with raises(InputError):
        read_module_config(path)
    (tmp_path / "bert_config.json").write_text('{"vocab_size": 3}')
    assert read_module_config(path) is None


def assert_refused(tmp_path, function, *parts):
    module = tf.train.Checkpoint()
    if function:
        module.__call__ = function
    module.value = tf.Variable(1.0)
    tf.saved_model.save(module, str(tmp_path / "module"))
    with pytest.raises(InputError) as error:
        module_config(find_module(str(tmp_path / "module"), "hub_module"), 9)
    for part in (str(tmp_path / "module"), *parts):
        assert part in str(error.value)


def test_modules_that_are_not_encoders(tmp_path):
    assert_refused(tmp_path / "bare", None, "is not an encoder in TF2's format", "--hub_module needs an encoder")
    texts = tf.function(lambda text: {"pooled_output": text}, input_signature=[tf.TensorSpec([None], tf.string)])
    assert_refused(tmp_path / "texts", texts, "is not an encoder of token ids")
    returning_list = tf.function(lambda inputs: [inputs["input_mask"]], input_signature=[SPEC])
    assert_refused(tmp_path / "listed", returning_list, "is not an encoder of token ids")
    incomplete = tf.function(lambda inputs: {"pooled_output": tf.ones([1, 4])}, input_signature=[SPEC])
    assert_refused(tmp_path / "half", incomplete, "gives no pooled_output [batch, H] and sequence_output")


def test_a_module_that_changed_and_one_that_is_cut_short(tmp_path):
    path = save(tmp_path / "module")
    with raises(InputError, "4 wide"):
        make_encoder(ModuleConfig(path, 9, 5, 1, 16))
    graph = tmp_path / "module" / "saved_model.pb"
    graph.write_bytes(graph.read_bytes()[:200])
    with raises(InputError):
        make_encoder(ModuleConfig(path, 9, 4, 1, 16))


@pytest.mark.parametrize("lower", [True, False])
def test_casing_of_a_preprocessor(tmp_path, lower):
    def preprocess(text):
        text = tf.strings.lower(text) if lower else text
        return {"input_word_ids": tf.cast(text == "cat", tf.int32)[:, tf.newaxis]}

    module = tf.train.Checkpoint()
    module.__call__ = tf.function(preprocess, input_signature=[tf.TensorSpec([None], tf.string)])
    tf.saved_model.save(module, str(tmp_path / "module"))
    assert preprocessor_lower_cases(str(tmp_path / "module"), "name", "cat") is lower
    module.__call__ = tf.function(lambda text: text, input_signature=[tf.TensorSpec([None], tf.string)])
    tf.saved_model.save(module, str(tmp_path / "other"))
    with raises(InputError, "name: "):
        preprocessor_lower_cases(str(tmp_path / "other"), "name", "cat")
