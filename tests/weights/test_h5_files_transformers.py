"""TensorFlow weights of transformers under PyTorch's names."""

import h5py
import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.weights.h5_files import TransformersH5, pytorch_name
from tests.snapshots import check_message

LAYER = "bert/tf_bert_model/bert/encoder/layer_._11"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (f"{LAYER}/attention/self/query/kernel:0", "bert.encoder.layer.11.attention.self.query.weight"),
        (f"{LAYER}/output/LayerNorm/beta:0", "bert.encoder.layer.11.output.LayerNorm.bias"),
        ("bert/tf_bert_model/bert/embeddings/word_embeddings/weight:0", "bert.embeddings.word_embeddings.weight"),
        ("bert/tf_bert_model/bert/embeddings/position_embeddings/embeddings:0", "bert.embeddings.position_embeddings.weight"),
        ("bert/tf_bert_model/bert/embeddings/LayerNorm/gamma:0", "bert.embeddings.LayerNorm.weight"),
        ("mlm___cls/tf_bert_for_masked_lm/mlm___cls/predictions/bias:0", "cls.predictions.bias"),
        ("nsp___cls/tf_bert_for_pre_training/nsp___cls/seq_relationship/kernel:0", "cls.seq_relationship.weight"),
        ("classifier/tf_bert_for_sequence_classification/classifier/bias:0", "classifier.bias"),
        ("distilbert/tf_distil_bert_model/distilbert/transformer/layer_._0/ffn/lin1/kernel:0",
         "distilbert.transformer.layer.0.ffn.lin1.weight"),
        ("top", ""),
    ],
)  # fmt: skip
def test_names(path, name):
    assert pytorch_name(path) == (name or path)


def test_kernels_have_the_orientation_of_pytorch(tmp_path):
    kernel, table = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((4, 2), np.float32)
    path = str(tmp_path / "tf_model.h5")
    with h5py.File(path, "w") as file:
        file["classifier/m/classifier/kernel:0"] = kernel
        file["bert/m/bert/embeddings/word_embeddings/weight:0"] = table
    tensors = TransformersH5(path)
    assert tensors.shapes == {"classifier.weight": (3, 2), "bert.embeddings.word_embeddings.weight": (4, 2)}
    np.testing.assert_array_equal(tensors.read("classifier.weight"), kernel.T)
    np.testing.assert_array_equal(tensors.read("bert.embeddings.word_embeddings.weight"), table)


@pytest.mark.parametrize("content", [b"", b"not HDF5", b"\x89HDF\r\n\x1a\n" + bytes(90)])
def test_a_damaged_file_has_advice_in_one_line(tmp_path, content):
    path = tmp_path / "tf_model.h5"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        TransformersH5(str(path))
    message = str(caught.value)
    check_message(message, f"{path}: ")
    assert "from_tf=True" in message
    assert "\n" not in message
