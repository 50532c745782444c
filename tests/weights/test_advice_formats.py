"""Advice for converting unsupported weight files, which are never opened."""

import pytest

from bert_cli.weights.advice import foreign_weights_error, is_foreign
from tests.snapshots import check_message


@pytest.mark.parametrize(
    ("names", "expected_texts"),
    [
        (["pytorch_model.bin"], ["pytorch_model.bin is a pickle", "BertForMaskedLM", "where it is trusted"]),
        (["pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin"], ["is a pickle", ".save_pretrained("]),
        (["pytorch_model.fp16.bin"], ["pytorch_model.fp16.bin is a pickle"]),
        (["flax_model.msgpack"], ["has weights of Flax", "transformers below 5", "from_flax=True"]),
        (["flax_model.msgpack.index.json"], ["has weights of Flax"]),
        (["tf_model.h5.index.json"], ["TensorFlow in shards", "from_tf=True"]),
        (["adapter_model.safetensors"], ["has an adapter without its model", "merge_and_unload"]),
        (["model.fp16.safetensors"], ["model.fp16.safetensors has another name", "call the file model.safetensors"]),
        (["weights.pt"], ["weights.pt is a pickle", "where it is trusted"]),
        (["rust_model.ot"], ["has weights of rust-bert"]),
        (["model.onnx"], ["has an exported network"]),
        (["ggml-model.gguf"], ["has weights of llama.cpp"]),
        (["model.onnx", "pytorch_model.bin"], ["pytorch_model.bin is a pickle"]),
    ],
)
def test_each_format_has_advice(tmp_path, names, expected_texts):
    (tmp_path / "config.json").write_text('{"architectures": ["BertForMaskedLM"]}')
    for name in names:
        (tmp_path / name).touch()
        assert is_foreign(name)
    message = str(foreign_weights_error(str(tmp_path)))
    assert message.startswith(f"{tmp_path}: ")
    assert [expected_text for expected_text in expected_texts if expected_text not in message] == []
    assert "\n" not in message


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.txt", "training_args.bin", "bert_model.ckpt.index"])
def test_other_files_have_no_advice(tmp_path, name):
    (tmp_path / name).touch()
    assert foreign_weights_error(str(tmp_path)) is None


@pytest.mark.parametrize(
    "config", [None, "", "{", "[]", '{"architectures": []}', '{"architectures": ["x; import os"]}', '{"architectures": 3}']
)  # fmt: skip
def test_the_advice_uses_automodel_without_a_class_in_the_config(tmp_path, config):
    (tmp_path / "pytorch_model.bin").touch()
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    check_message(str(foreign_weights_error(str(tmp_path))), tmp_path)
