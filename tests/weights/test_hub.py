"""Weights in tensorflow-hub modules: those of bert-export, and ones like published modules."""

import io
import os
import pathlib
import re
import tarfile

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.exports.hub_writing import save_encoder
from bert_cli.model.config import BertConfig
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.opening.tokenizer import module_lower_cases
from bert_cli.weights import checkpoint
from bert_cli.weights.checkpoint import load_weights, open_checkpoint
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.hub import hub_to_google_name
from bert_cli.weights.module_path import find_module
from bert_cli.weights.path import HUB, CheckpointPath
from tests.snapshots import raises

CONFIG = BertConfig(11, 12, 2, 3, intermediate_size=20, max_position_embeddings=7, type_vocab_size=2)
# Google's names by published name, with n for a layer's number.
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
# Replacements in names for modules from 2019, which also begin with bert_model/.
OLD = {
    "type_embeddings/embeddings": "embedding_postprocessor/type_embeddings",
    "position_embedding/embeddings": "embedding_postprocessor/position_embeddings",
    "embeddings/layer_norm": "embedding_postprocessor/layer_norm",
    "self_attention/attention_output": "self_attention_output",
    "transformer/": "encoder/",
}


@pytest.fixture(scope="module")
def drawn() -> dict[str, np.ndarray]:
    """Return random values for an encoder's weights. Do not change them."""
    rng = np.random.default_rng(5)
    weights = named_weights(BertEncoder(CONFIG))
    return {name: rng.normal(size=value.shape).astype(np.float32) for name, value in weights.items()}


def published(drawn: dict, is_old: bool) -> dict[str, np.ndarray]:
    """Return weights under published names, with separate attention heads."""
    tensors = {}
    for name, ours in NEW.items():
        for number in range(2 if "layer_n/" in name else 1):
            value = drawn["bert/" + ours.replace("layer_n/", f"layer_{number}/")]
            if "/self/" in ours:
                value = value.reshape(*value.shape[:-1], 3, 4)
            if ours.endswith("attention/output/dense/kernel"):
                value = value.reshape(3, 4, 12)
            stored_name = name.replace("layer_n/", f"layer_{number}/")
            for new, old in OLD.items() if is_old else ():
                stored_name = stored_name.replace(new, old)
            tensors["bert_model/" * is_old + stored_name] = value
    assert len(tensors) == len(drawn)
    return tensors


def load(handle):
    """Load a module into an encoder, and return the weights by name, the report and the reader."""
    weights = named_weights(BertEncoder(CONFIG))
    reader = open_checkpoint(find_module(str(handle), "hub_module"))
    return weights, load_weights(weights, reader), reader


def assert_loads(handle, drawn: dict) -> tuple:
    weights, report, reader = load(handle)
    assert report.missing == []
    for name, value in drawn.items():
        assert np.array_equal(weights[name].numpy(), value), name
    return report, reader


def filled_encoder(drawn: dict) -> BertEncoder:
    model = BertEncoder(CONFIG)
    for name, variable in named_weights(model).items():
        variable.assign(drawn[name])
    return model


@pytest.mark.parametrize("is_old", [False, True])
def test_published_names(drawn, tmp_path, is_old):
    module = tf.train.Checkpoint()
    module.variables = [tf.Variable(value, name=name) for name, value in published(drawn, is_old).items()]
    module.other = tf.Variable(3.0, name="predictions/output_bias")
    module.do_lower_case = tf.Variable(False, trainable=False)
    tf.saved_model.save(module, str(tmp_path / "module"))
    report, reader = assert_loads(tmp_path / "module", drawn)
    assert reader.config() == CONFIG
    assert module_lower_cases(str(tmp_path / "module"), "m") is False
    assert report.unused == ["predictions/output_bias"]


def test_modules_of_bert_export(drawn, tmp_path):
    save_encoder(str(tmp_path / "module"), filled_encoder(drawn), CONFIG, b"words\n", {"do_lower_case": True})
    report, reader = assert_loads(tmp_path / "module", drawn)
    assert report.unused == []
    assert module_lower_cases(str(tmp_path / "module"), "m") is True
    # Only its bert_config.json has the number of heads.
    with pytest.raises(InputError, match="number of attention heads"):
        reader.config()
    with tarfile.open(tmp_path / "module.tar.gz", "w:gz") as archive:
        for name in os.listdir(tmp_path / "module"):
            archive.add(tmp_path / "module" / name, arcname=name)
    report, _ = assert_loads(tmp_path / "module.tar.gz", drawn)
    assert report.source == str(tmp_path / "module.tar.gz")
    # Load it like the tutorials from 2020.
    loaded = tf.saved_model.load(str(tmp_path / "module"))
    assert pathlib.Path(loaded.vocab_file.asset_path.numpy().decode()).read_bytes() == b"words\n"
    assert bool(loaded.do_lower_case.numpy())


def test_modules_of_tf1(drawn, tmp_path):
    """Kernels without a head axis do not give the number of heads, which are 64 wide then."""
    (tmp_path / "variables").mkdir()
    (tmp_path / "saved_model.pb").touch()
    more = {f"module/{name}": value for name, value in drawn.items()}
    more |= {"module/cls/predictions/output_bias": np.ones(11)}
    write_tf1(str(tmp_path / "variables" / "variables"), more)
    report, reader = assert_loads(tmp_path, drawn)
    assert report.unused == ["module/cls/predictions/output_bias"]
    assert module_lower_cases(str(tmp_path), "m") is None
    with raises(InputError, "--bert_config_file"):
        reader.config()
    wide = BertConfig(11, 128, 1, 2, intermediate_size=20, max_position_embeddings=7, type_vocab_size=2)
    weights = {name: np.zeros(value.shape, np.float32) for name, value in named_weights(BertEncoder(wide)).items()}
    write_tf1(str(tmp_path / "variables" / "variables"), weights)
    assert open_checkpoint(find_module(str(tmp_path), "hub_module")).config() == wide


@pytest.mark.parametrize(
    "change",
    [
        lambda values: values.pop("transformer/layer_1/output/bias"),
        lambda values: values.update({"embedding_projection/kernel": np.ones((3, 3), np.float32)}),
        lambda values: values.update({"word_embeddings/embeddings": np.ones((11, 5), np.float32)}),
    ],
    ids=["a layer lacks a bias", "a projection of the embeddings", "narrow embeddings"],
)
def test_variables_that_are_not_a_bert(drawn, tmp_path, change):
    values = published(drawn, False)
    change(values)
    module = tf.train.Checkpoint()
    module.variables = [tf.Variable(value, name=name) for name, value in values.items()]
    tf.saved_model.save(module, str(tmp_path / "module"))
    assert open_checkpoint(find_module(str(tmp_path / "module"), "hub_module")).config() is None


def test_names():
    assert hub_to_google_name("transformer/layer_11/output/kernel:0") == "bert/encoder/layer_11/output/dense/kernel"
    assert (
        hub_to_google_name("transformer/layer_1/self_attention/query/kernel")
        == "bert/encoder/layer_1/attention/self/query/kernel"
    )
    # bert-export writes this for an ELECTRA.
    assert hub_to_google_name("bert/embeddings_project/kernel") == "bert/embeddings_project/kernel"
    for name in ("save_counter", "output/kernel", "cls/predictions/output_bias", "embeddings/embeddings"):
        assert hub_to_google_name(name) is None


def test_handles(drawn, tmp_path):
    """Find a module by its directory, by bert-export's output, and in two kinds of archives."""
    save_encoder(str(tmp_path / "export" / "encoder"), filled_encoder(drawn), CONFIG, None, {"do_lower_case": True})
    encoder = str(tmp_path / "export" / "encoder")
    assert find_module(encoder, "hub_module").location == encoder
    assert find_module(str(tmp_path / "export"), "hub_module").location == encoder
    for arcname in (".", "bert_en_1"):
        path = tmp_path / "module.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            archive.add(encoder, arcname=arcname)
        module = find_module(str(path), "hub_module")
        assert module.name == module.identity == str(path)
        assert (pathlib.Path(module.location) / "saved_model.pb").exists()


def write_archive(path, *members):
    """Write an archive with members that have the content b"x", unless they are links or devices."""
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            member.size = int(member.isreg())
            archive.addfile(member, io.BytesIO(b"x"))


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/../evil", ".."])
def test_an_archive_cannot_write_elsewhere(tmp_path, name):
    path = tmp_path / "evil.tar.gz"
    write_archive(path, tarfile.TarInfo(name))
    message = f"{path}: holds {name!r}, which is a link, a device or a path outside the archive; "
    with pytest.raises(InputError, match=re.escape(message) + ".* --hub_module"):
        find_module(str(path), "hub_module")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_an_archive_with_links_or_devices_is_refused(tmp_path, kind):
    member = tarfile.TarInfo("saved_model.pb")
    member.type, member.linkname = kind, "/etc/passwd"
    write_archive(tmp_path / "links.tar.gz", member)
    with raises(InputError, "'saved_model.pb'"):
        find_module(str(tmp_path / "links.tar.gz"), "hub_module")


def test_absolute_paths_in_an_archive_lead_into_its_directory(tmp_path):
    path = tmp_path / "module.tar.gz"
    names = ("/module/saved_model.pb", "/module/variables/variables.index")
    write_archive(path, *map(tarfile.TarInfo, names))
    module = pathlib.Path(find_module(str(path), "hub_module").location)
    assert module.name == "module"
    assert (module / "saved_model.pb").read_bytes() == b"x"


def test_refusals(drawn, tmp_path):
    (tmp_path / "broken.tar.gz").write_bytes(b"no archive")
    with raises(InputError, "--hub_module"):
        find_module(str(tmp_path / "missing"), "hub_module")
    with raises(InputError):
        find_module(str(tmp_path / "broken.tar.gz"), "hub_module")
    with raises(InputError, "--hub_module"):
        find_module(str(tmp_path), "hub_module")
    (tmp_path / "saved_model.pb").touch()
    (tmp_path / "variables").mkdir()
    with pytest.raises(InputError, match=r"no variables/variables\.index"):
        load(tmp_path)
    prefix = str(tmp_path / "variables" / "variables")
    write_tf1(prefix, {"some/kernel": np.ones(3)})
    with raises(InputError):
        load(tmp_path)
    write_tf1(prefix, drawn | {"bert/embeddings/word_embeddings": np.ones((12, 12), np.float32)})
    with raises(InputError):
        load(tmp_path)
    write_tf1(prefix, drawn)
    data = tmp_path / "variables" / "variables.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(InputError, match="this module is damaged"):
        load(tmp_path)


def test_a_url_that_does_not_resolve():
    with raises(InputError):
        find_module("http://127.0.0.1:9/module/1", "hub_module")


def test_opening_a_module_sets_tensorflow_up(tmp_path, monkeypatch):
    """Otherwise TensorFlow's import prints its noise, for example with --engine=onnxruntime."""
    calls = []
    monkeypatch.setattr(checkpoint, "setup_tensorflow", lambda: calls.append("set up"))
    with raises(InputError):
        open_checkpoint(CheckpointPath(HUB, str(tmp_path)))
    assert calls == ["set up"]
