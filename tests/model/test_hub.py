"""Weights from hub modules: those of bert-export, and ones with the published modules' names and shapes."""

import os
import tarfile

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.errors import InputError
from bert_cli.export_modules import save_encoder
from bert_cli.model.checkpoint import write_tf1
from bert_cli.model.config import BertConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.hub import google_name, load_hub_weights
from bert_cli.model.layers import named_weights

CONFIG = BertConfig(11, 12, 2, 3, intermediate_size=20, max_position_embeddings=7, type_vocab_size=2)
# Published name -> Google's, with n for the number of a layer.
NEW = {
    "word_embeddings/embeddings": "embeddings/word_embeddings",
    "type_embeddings/embeddings": "embeddings/token_type_embeddings",
    "position_embedding/embeddings": "embeddings/position_embeddings",
    "embeddings/layer_norm/gamma": "embeddings/LayerNorm/gamma",
    "embeddings/layer_norm/beta": "embeddings/LayerNorm/beta",
    "transformer/layer_n/self_attention/query/kernel": "encoder/layer_n/attention/self/query/kernel",
    "transformer/layer_n/self_attention/query/bias": "encoder/layer_n/attention/self/query/bias",
    "transformer/layer_n/self_attention/key/kernel": "encoder/layer_n/attention/self/key/kernel",
    "transformer/layer_n/self_attention/key/bias": "encoder/layer_n/attention/self/key/bias",
    "transformer/layer_n/self_attention/value/kernel": "encoder/layer_n/attention/self/value/kernel",
    "transformer/layer_n/self_attention/value/bias": "encoder/layer_n/attention/self/value/bias",
    "transformer/layer_n/self_attention/attention_output/kernel": "encoder/layer_n/attention/output/dense/kernel",
    "transformer/layer_n/self_attention/attention_output/bias": "encoder/layer_n/attention/output/dense/bias",
    "transformer/layer_n/self_attention_layer_norm/gamma": "encoder/layer_n/attention/output/LayerNorm/gamma",
    "transformer/layer_n/self_attention_layer_norm/beta": "encoder/layer_n/attention/output/LayerNorm/beta",
    "transformer/layer_n/intermediate/kernel": "encoder/layer_n/intermediate/dense/kernel",
    "transformer/layer_n/intermediate/bias": "encoder/layer_n/intermediate/dense/bias",
    "transformer/layer_n/output/kernel": "encoder/layer_n/output/dense/kernel",
    "transformer/layer_n/output/bias": "encoder/layer_n/output/dense/bias",
    "transformer/layer_n/output_layer_norm/gamma": "encoder/layer_n/output/LayerNorm/gamma",
    "transformer/layer_n/output_layer_norm/beta": "encoder/layer_n/output/LayerNorm/beta",
    "pooler_transform/kernel": "pooler/dense/kernel",
    "pooler_transform/bias": "pooler/dense/bias",
}
# What the modules of 2019 call otherwise, behind bert_model/.
OLD = {
    "type_embeddings/embeddings": "embedding_postprocessor/type_embeddings",
    "position_embedding/embeddings": "embedding_postprocessor/position_embeddings",
    "embeddings/layer_norm": "embedding_postprocessor/layer_norm",
    "self_attention/attention_output": "self_attention_output",
    "transformer/": "encoder/",
}


@pytest.fixture
def drawn() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    weights = named_weights(BertEncoder(CONFIG))
    return {name: rng.normal(size=value.shape).astype(np.float32) for name, value in weights.items()}


def published(drawn: dict, is_old: bool) -> dict[str, np.ndarray]:
    """The weights with published names, heads apart."""
    found = {}
    for name, ours in NEW.items():
        for number in range(2 if "layer_n/" in name else 1):
            value = drawn["bert/" + ours.replace("layer_n/", f"layer_{number}/")]
            if "/self/" in ours:
                value = value.reshape(*value.shape[:-1], 3, 4)
            if ours.endswith("attention/output/dense/kernel"):
                value = value.reshape(3, 4, 12)
            name_here = name.replace("layer_n/", f"layer_{number}/")
            for new, old in OLD.items() if is_old else ():
                name_here = name_here.replace(new, old)
            found["bert_model/" * is_old + name_here] = value
    assert len(found) == len(drawn)
    return found


def assert_loads(handle, drawn: dict) -> tuple:
    weights = named_weights(BertEncoder(CONFIG))
    report, heads = load_hub_weights(str(handle), weights)
    assert report.missing == []
    for name, value in drawn.items():
        assert np.array_equal(weights[name].numpy(), value), name
    return report, heads


@pytest.mark.parametrize("is_old", [False, True])
def test_published_names(drawn, tmp_path, is_old):
    module = tf.train.Checkpoint()
    module.variables = [tf.Variable(value, name=name) for name, value in published(drawn, is_old).items()]
    module.other = tf.Variable(3.0, name="predictions/output_bias")
    tf.saved_model.save(module, str(tmp_path / "module"))
    report, heads = assert_loads(tmp_path / "module", drawn)
    assert heads == 3
    assert report.unused == ["predictions/output_bias"]


def test_modules_of_bert_export(drawn, tmp_path):
    model = BertEncoder(CONFIG)
    for name, variable in named_weights(model).items():
        variable.assign(drawn[name])
    save_encoder(str(tmp_path / "module"), model)
    report, _ = assert_loads(tmp_path / "module", drawn)
    assert report.unused == []
    with tarfile.open(tmp_path / "module.tar.gz", "w:gz") as archive:
        for part in os.listdir(tmp_path / "module"):
            archive.add(tmp_path / "module" / part, arcname=part)
    report, _ = assert_loads(tmp_path / "module.tar.gz", drawn)
    assert report.source == str(tmp_path / "module.tar.gz")


def test_modules_of_tf1(drawn, tmp_path):
    (tmp_path / "variables").mkdir()
    more = {f"module/{name}": value for name, value in drawn.items()} | {
        "module/cls/predictions/output_bias": np.ones(11)
    }
    write_tf1(str(tmp_path / "variables" / "variables"), more)
    report, heads = assert_loads(tmp_path, drawn)
    assert report.unused == ["module/cls/predictions/output_bias"]
    assert heads is None


def test_names():
    assert google_name("transformer/layer_11/output/kernel:0") == "bert/encoder/layer_11/output/dense/kernel"
    assert (
        google_name("transformer/layer_1/self_attention/query/kernel")
        == "bert/encoder/layer_1/attention/self/query/kernel"
    )
    for name in ("save_counter", "output/kernel", "cls/predictions/output_bias", "embeddings/embeddings"):
        assert google_name(name) is None


def test_refusals(drawn, tmp_path):
    weights = named_weights(BertEncoder(CONFIG))
    (tmp_path / "broken.tar.gz").write_bytes(b"no archive")
    with pytest.raises(InputError, match="no such module"):
        load_hub_weights(str(tmp_path / "missing"), weights)
    with pytest.raises(InputError, match=r"is no whole \.tar\.gz"):
        load_hub_weights(str(tmp_path / "broken.tar.gz"), weights)
    with pytest.raises(InputError, match=r"no variables/variables\.index"):
        load_hub_weights(str(tmp_path), weights)
    (tmp_path / "variables").mkdir()
    prefix = str(tmp_path / "variables" / "variables")
    write_tf1(prefix, {"some/kernel": np.ones(3)})
    with pytest.raises(InputError, match="holds no variable of this encoder"):
        load_hub_weights(str(tmp_path), weights)
    write_tf1(prefix, drawn | {"bert/embeddings/word_embeddings": np.ones((12, 12), np.float32)})
    with pytest.raises(InputError, match="word_embeddings has the shape"):
        load_hub_weights(str(tmp_path), weights)
