"""Weights in Hugging Face's format: names, orientation, stored dtypes and damage."""

import json
import os
import re

import h5py
import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from bert_cli.base.errors import InputError
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.heads.squad import BertSpanModel
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.serving.processes import SharedReader
from bert_cli.weights.checkpoint import load_weights, open_checkpoint
from bert_cli.weights.hugging_face import HuggingFaceReader, hugging_face_to_google_name
from bert_cli.weights.path import find_checkpoint
from tests.snapshots import raises


def hugging_face_name(name: str, has_old_names: bool = False) -> str:
    """Return the name in Hugging Face's BERT; in old files, LayerNorm has gamma and beta."""
    heads = {
        "output_weights": "classifier.weight",
        "output_bias": "classifier.bias",
        "cls/predictions/output_bias": "cls.predictions.bias",
        "cls/seq_relationship/output_weights": "cls.seq_relationship.weight",
        "cls/seq_relationship/output_bias": "cls.seq_relationship.bias",
        "cls/squad/output_weights": "qa_outputs.weight",
        "cls/squad/output_bias": "qa_outputs.bias",
    }
    if name in heads:
        return heads[name]
    name = name.replace("/", ".").replace("layer_", "layer.").removesuffix(".kernel")
    if name.endswith("_embeddings") or not name.endswith(("bias", "gamma", "beta")):
        return f"{name}.weight"
    return name if has_old_names else name.replace(".gamma", ".weight").replace(".beta", ".bias")


def hugging_face_tensors(variables: dict, prefix: str = "bert.", has_old_names: bool = False, dtype=np.float32) -> dict:
    """Return weights in Hugging Face's format, with `prefix` before the encoder's names."""
    tensors = {}
    for name, variable in variables.items():
        value = variable.numpy().T if name.endswith("kernel") else variable.numpy()
        renamed = re.sub(r"^bert\.", prefix, hugging_face_name(name, has_old_names))
        tensors[renamed] = np.ascontiguousarray(value).astype(dtype)
    assert len(tensors) == len(variables)
    return tensors


@pytest.fixture
def folder(tmp_path):
    """Return a function that writes config.json and model.safetensors and returns their directory."""

    def write(tensors: dict) -> str:
        (tmp_path / "config.json").write_text(json.dumps({"vocab_size": 23}))
        save_file(tensors, str(tmp_path / "model.safetensors"))
        return str(tmp_path)

    return write


def changed_pretrainer(config, seed: int):
    """Return a pretrainer with random values in all variables, including biases."""
    model, rng = BertPretrainer(config, seed=seed), np.random.default_rng(seed)
    for variable in named_weights(model).values():
        variable.assign(variable.numpy() + rng.normal(0, 0.1, variable.shape).astype(np.float32))
    return model


def test_names_in_hugging_faces_spelling(tiny_config):
    """Compare with names from real files: the helper might have the same error as the package."""
    names = hugging_face_tensors(named_weights(BertPretrainer(tiny_config())))
    assert {
        "bert.embeddings.word_embeddings.weight",
        "bert.embeddings.LayerNorm.weight",
        "bert.embeddings.LayerNorm.bias",
        "bert.encoder.layer.1.attention.self.query.weight",
        "bert.encoder.layer.1.attention.self.value.bias",
        "bert.encoder.layer.0.attention.output.dense.weight",
        "bert.encoder.layer.0.attention.output.LayerNorm.bias",
        "bert.encoder.layer.0.intermediate.dense.bias",
        "bert.encoder.layer.0.output.dense.weight",
        "bert.encoder.layer.0.output.LayerNorm.weight",
        "bert.pooler.dense.weight",
        "cls.predictions.transform.dense.weight",
        "cls.predictions.transform.LayerNorm.weight",
        "cls.predictions.bias",
    } <= names.keys()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bert.encoder.layer.11.attention.output.dense.weight", "bert/encoder/layer_11/attention/output/dense/kernel"),
        ("encoder.layer.0.output.LayerNorm.beta", "bert/encoder/layer_0/output/LayerNorm/beta"),
        ("bert.embeddings.token_type_embeddings.weight", "bert/embeddings/token_type_embeddings"),
        ("cls.predictions.decoder.weight", None),
        ("cls.predictions.decoder.bias", None),
        ("bert.embeddings.position_ids", None),
        ("bert.encoder.layer.0.attention.self.distance_embedding.weight", None),
        ("encoder.layer.x.output.dense.bias", None),
        ("my.pooler.dense.bias", None),
    ],
)  # fmt: skip
def test_google_name(name, expected):
    assert hugging_face_to_google_name(name) == expected


@pytest.mark.parametrize(
    ("prefix", "old"),
    [
        ("bert.", False),
        ("", True),
        pytest.param("", False, marks=pytest.mark.slow),
        pytest.param("bert.", True, marks=pytest.mark.slow),
    ],
)
def test_same_outputs_from_either_layout(folder, tiny_config, batch_of, prefix, old):
    config = tiny_config(gelu="erf")
    source, target = changed_pretrainer(config, seed=1), BertPretrainer(config, seed=2)
    tensors = hugging_face_tensors(named_weights(source), prefix, old)
    buffers = {
        "cls.predictions.decoder.weight": tensors[f"{prefix}embeddings.word_embeddings.weight"].copy(),
        f"{prefix}embeddings.position_ids": np.arange(9)[None],
    }
    reader = open_checkpoint(find_checkpoint(folder(tensors | buffers)))
    report = load_weights(named_weights(target), reader)
    assert report.missing == []
    assert sorted(report.unused) == sorted(buffers)
    assert report.source.endswith("model.safetensors")
    inputs = batch_of([9, 3, 1], 9) | {"masked_lm_positions": np.array([[1, 5], [0, 2], [0, 0]], np.int32)}
    for key, value in source(inputs).items():
        np.testing.assert_array_equal(target(inputs)[key], value)
    np.testing.assert_array_equal(source.encoder(inputs)["sequence_output"], target.encoder(inputs)["sequence_output"])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_other_stored_dtypes_become_float32(folder, tiny_config, dtype):
    source = changed_pretrainer(tiny_config(), seed=3)
    reader = HuggingFaceReader(folder(hugging_face_tensors(named_weights(source), dtype=dtype)))
    target = BertPretrainer(tiny_config())
    load_weights(named_weights(target), reader)
    for name, variable in named_weights(source).items():
        value = reader.read(name)
        assert (value.dtype, value.flags.c_contiguous) == (np.float32, True)
        assert value.shape == reader.shapes[name]
        assert np.array_equal(value, variable.numpy().astype(dtype).astype(np.float32)), name
        assert np.array_equal(value, named_weights(target)[name].numpy()), name


@pytest.mark.parametrize(
    "build", [lambda config: BertTextClassifier(config, 3, seed=4), lambda c: BertSpanModel(c, seed=4)]
)
def test_heads_of_fine_tuned_models(folder, tiny_config, build):
    source = build(tiny_config())
    reader = HuggingFaceReader(folder(hugging_face_tensors(named_weights(source))))
    assert reader.unused == []
    for name, variable in named_weights(source).items():
        assert np.array_equal(reader.read(name), variable.numpy()), name


def test_shapes_have_googles_orientation(folder, tiny_config):
    tensors = hugging_face_tensors(named_weights(BertEncoder(tiny_config(intermediate_size=8))))
    reader = HuggingFaceReader(folder(tensors))
    assert reader.shapes["bert/encoder/layer_0/intermediate/dense/kernel"] == (12, 8)
    assert reader.shapes["bert/encoder/layer_0/output/dense/kernel"] == (8, 12)
    with pytest.raises(InputError, match=r"(\[12, 8\].* \[12, 17\]|\[8, 12\].* \[17, 12\])"):
        load_weights(named_weights(BertEncoder(tiny_config())), reader)


def test_weights_of_another_model(folder, tiny_config):
    reader = HuggingFaceReader(folder({"transformer.wte.weight": np.zeros((2, 2), np.float32)}))
    with raises(InputError):
        load_weights(named_weights(BertEncoder(tiny_config())), reader)


@pytest.mark.parametrize("size", [0, 5, 100, -1])
def test_a_cut_file(folder, tiny_config, size):
    path = os.path.join(folder(hugging_face_tensors(named_weights(BertEncoder(tiny_config())))), "model.safetensors")
    os.truncate(path, size if size >= 0 else os.path.getsize(path) + size)
    with raises(InputError, f"{path}: "):
        HuggingFaceReader(os.path.dirname(path))


def test_a_missing_file(tmp_path):
    with raises(InputError):
        HuggingFaceReader(str(tmp_path))


@pytest.mark.parametrize("build", [BertPretrainer, lambda config: BertTextClassifier(config, 3), BertSpanModel])
def test_shards_are_read_bit_for_bit(tmp_path, tiny_config, build):
    source = named_weights(build(tiny_config()))
    tensors = sorted(hugging_face_tensors(source).items())
    weight_map = {}
    for number in range(3):
        shard = f"model-{number + 1:05d}-of-00003.safetensors"
        save_file(dict(tensors[number::3]), str(tmp_path / shard))
        weight_map |= dict.fromkeys(dict(tensors[number::3]), shard)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    reader = HuggingFaceReader(str(tmp_path))
    assert {name: reader.read(name).tobytes() for name in reader.shapes} == {
        name: variable.numpy().tobytes() for name, variable in source.items()
    }


def tensorflow_path(name: str) -> str:
    """Return the path in tf_model.h5 for PyTorch's `name`."""
    head = {"cls.predictions": "mlm___cls", "cls.seq_relationship": "nsp___cls"}
    group = next((group for start, group in head.items() if name.startswith(start)), name.partition(".")[0])
    name = name.replace("cls.", f"{group}.", 1) if name.startswith("cls.") else name
    if "LayerNorm" in name:
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
    elif name.endswith(("position_embeddings.weight", "token_type_embeddings.weight")):
        name = name.replace(".weight", ".embeddings")
    elif not name.endswith("word_embeddings.weight"):
        name = name.replace(".weight", ".kernel")
    path = re.sub(r"layer/(\d+)", r"layer_._\1", name.replace(".", "/"))
    return f"{group}/tf_model/{path}:0"


@pytest.mark.parametrize("build", [BertPretrainer, lambda config: BertTextClassifier(config, 3), BertSpanModel])
def test_tensorflow_weights_of_transformers_are_read_bit_for_bit(tmp_path, tiny_config, build):
    source = named_weights(build(tiny_config()))
    with h5py.File(tmp_path / "tf_model.h5", "w") as file:
        for name, values in hugging_face_tensors(source).items():
            path = tensorflow_path(name)
            file[path] = values.T if path.endswith("kernel:0") else values
    reader = HuggingFaceReader(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"of another model")
    assert HuggingFaceReader(str(tmp_path), "tf_model.h5").shapes == reader.shapes
    assert (reader.unused, reader.description) == ([], str(tmp_path / "tf_model.h5"))
    assert {name: reader.read(name).tobytes() for name in reader.shapes} == {
        name: variable.numpy().tobytes() for name, variable in source.items()
    }
    assert {name: reader.shapes[name] for name in source} == {
        name: tuple(value.shape) for name, value in source.items()
    }


@pytest.mark.parametrize(
    "name", ["cls.predictions.decoder.weight", "vocab_projector.weight", "generator_lm_head.weight"]
)
def test_an_untied_masked_lm_is_refused_and_its_encoder_is_used(folder, tiny_config, name):
    config = tiny_config()
    tensors = hugging_face_tensors(named_weights(BertPretrainer(config)))
    table = tensors["bert.embeddings.word_embeddings.weight"]
    path = folder(tensors | {name: table + 1})
    shared = SharedReader(HuggingFaceReader(path))
    for reader in (HuggingFaceReader(path), shared):
        with raises(InputError, f"{name} differs"):
            load_weights(named_weights(BertPretrainer(config)), reader)
        assert load_weights(named_weights(BertEncoder(config)), reader).missing == []
    os.remove(os.path.join(path, "model.safetensors"))
    equal = HuggingFaceReader(folder(tensors | {name: table.copy()}))
    assert load_weights(named_weights(BertPretrainer(config)), equal).missing == []


def test_an_untied_bias_is_refused(folder, tiny_config):
    tensors = hugging_face_tensors(named_weights(BertPretrainer(tiny_config())))
    different_bias = tensors["cls.predictions.bias"] + 1
    reader = HuggingFaceReader(folder(tensors | {"cls.predictions.decoder.bias": different_bias}))
    with raises(InputError):
        load_weights(named_weights(BertPretrainer(tiny_config())), reader)
