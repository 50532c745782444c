"""Keras .weights.h5 files under Google's names."""

import os
import struct

import h5py
import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, MASKED_LM, NEXT_SENTENCE, SPANS
from bert_cli.heads.all_heads import BertWithHeads
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.heads.squad import BertSpanModel
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.h5_files import KerasReader, write_keras
from bert_cli.weights.path import KERAS, CheckpointPath, find_checkpoint
from tests.snapshots import raises

# Keras 3.15 uses an old NumPy interface for TensorFlow variables. Python hides this warning from users.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture
def path(tmp_path) -> str:
    return str(tmp_path / "model.weights.h5")


def filled(model):
    rng = np.random.default_rng(1)
    for variable in named_weights(model).values():
        variable.assign(rng.normal(size=variable.shape).astype(np.float32))
    return model


MODELS = [
    (BertEncoder, ()),
    (BertPretrainer, (MASKED_LM, NEXT_SENTENCE)),
    (lambda config: BertTextClassifier(config, 3), (CLASSIFIER,)),
    (BertSpanModel, (SPANS,)),
]


@pytest.mark.parametrize(("make", "heads"), MODELS)
def test_a_file_of_keras_is_read(path, tiny_config, make, heads):
    config = tiny_config(num_hidden_layers=3)
    model = filled(make(config))
    model.save_weights(path)
    reader = open_checkpoint(find_checkpoint(path))
    weights = named_weights(model)
    assert reader.shapes == {name: tuple(variable.shape) for name, variable in weights.items()}
    assert reader.unused == []
    for name, variable in weights.items():
        assert reader.read(name).tobytes() == variable.numpy().tobytes(), name


@pytest.mark.parametrize(("make", "heads"), MODELS)
def test_keras_reads_written_weights(path, tiny_config, values_of, make, heads):
    config = tiny_config()
    model = filled(BertWithHeads(config, heads, {"output_weights": (3, 12)}))
    write_keras(path, model if heads else model.encoder, named_weights(model))
    target = make(config)
    target.load_weights(path)
    expected = values_of(named_weights(model))
    for name, value in values_of(named_weights(target)).items():
        assert value.tobytes() == expected[name].tobytes(), name


def test_all_heads_and_left_out_names(path, tiny_config):
    model = filled(
        BertWithHeads(tiny_config(), (MASKED_LM, NEXT_SENTENCE, CLASSIFIER, SPANS), {"output_weights": (3, 12)})
    )
    names = {name for name in named_weights(model) if not name.startswith("bert/pooler/")}
    write_keras(path, model, names)
    reader = KerasReader(path)
    assert set(reader.shapes) == names
    assert {"cls/squad/output_bias", "output_bias"} <= names


def test_a_directory_with_one_file(path, tmp_path, tiny_config):
    BertEncoder(tiny_config()).save_weights(path)
    assert find_checkpoint(str(tmp_path)) == CheckpointPath(KERAS, path)
    assert find_checkpoint(str(tmp_path)).folder == str(tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.6])
def test_a_cut_file(path, tiny_config, share):
    BertEncoder(tiny_config()).save_weights(path)
    os.truncate(path, int(os.path.getsize(path) * share))
    with raises(InputError, f"{path}: "):
        KerasReader(path)


@pytest.mark.parametrize("size", [0, 8, 1 << 62, (1 << 64) - 16])
def test_a_heap_that_makes_the_library_loop_forever(tmp_path, size):
    """The HDF5 library would loop forever on free space of size 0."""
    path = str(tmp_path / "x.weights.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset("layer/vars/0", data=np.zeros(2, np.float32)).parent.attrs["name"] = "pooler"
    KerasReader(path)
    with open(path, "r+b") as file:
        heap = file.read().index(b"GCOL\x01")
        # Skip the heap's header, and header and text of its only object. The free space follows.
        file.seek(heap + 16 + 16 + 8)
        assert file.read(2) == b"\0\0"
        file.seek(6, os.SEEK_CUR)
        file.write(struct.pack("<Q", size))
    with raises(InputError, "file: "):
        KerasReader(path)


def test_a_remote_file(path, tiny_config):
    BertEncoder(tiny_config()).save_weights(path)
    remote = "ram://keras_weights/model.weights.h5"
    tf.io.gfile.copy(path, remote, overwrite=True)
    assert KerasReader(remote).shapes == KerasReader(path).shapes


def test_a_name_that_is_not_utf_8(tmp_path):
    """h5py returns such a name as bytes."""
    path = str(tmp_path / "x.weights.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset(b"vars\x80", data=np.zeros(2, np.float32))
    with raises(InputError):
        KerasReader(path)


def test_advice_for_the_older_layout(tmp_path):
    path = str(tmp_path / "my_model.h5")
    with h5py.File(path, "w") as file:
        file.attrs["layer_names"] = [b"bert"]
        file["bert/tf_bert_model/bert/pooler/dense/kernel:0"] = np.zeros((2, 2), np.float32)
    with raises(InputError, "my_model.h5: "):
        KerasReader(path)
