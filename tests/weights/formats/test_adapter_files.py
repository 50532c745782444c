"""LoRA adapters of peft, merged into their base model."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from bert_cli.base.errors import InputError
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.formats.adapter_files import read_adapter
from bert_cli.weights.path import content_digest, find_checkpoint
from tests.sentence_cases import WIDTH, folder_of

QUERY = "base_model.model.bert.encoder.layer.0.attention.self.query"
DENSE = "base_model.model.bert.encoder.layer.0.intermediate.dense"
CONFIG = {"peft_type": "LORA", "r": 2, "lora_alpha": 6, "target_modules": ["query", "dense"], "use_dora": False}


@pytest.fixture
def adapter(tmp_path):
    """Return an adapter's directory, and its tensors."""
    folder_of("mean", tmp_path / "base")
    folder = tmp_path / "adapter"
    folder.mkdir()
    rng = np.random.default_rng(0)
    shapes = {
        f"{QUERY}.lora_A.weight": (2, WIDTH), f"{QUERY}.lora_B.weight": (WIDTH, 2),
        f"{DENSE}.lora_A.weight": (2, WIDTH), f"{DENSE}.lora_B.weight": (12, 2),
        "base_model.model.classifier.weight": (3, WIDTH), "base_model.model.classifier.bias": (3,),
    }  # fmt: skip
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    save_file(tensors, folder / "adapter_model.safetensors")
    write_config(folder)
    return folder, tensors


def write_config(folder, **values):
    config = CONFIG | {"base_model_name_or_path": "../base"} | values
    (folder / "adapter_config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(("rslora", "scale"), [(False, 3), (True, 6 / 2**0.5)])
def test_the_base_model_is_changed(adapter, rslora, scale):
    folder, tensors = adapter
    write_config(folder, use_rslora=rslora)
    checkpoint = find_checkpoint(str(folder))
    assert checkpoint.name == checkpoint.argument == str(folder)
    reader = open_checkpoint(checkpoint)
    base = load_file(folder.parent / "base" / "model.safetensors")
    for name, stored, module in (
        ("attention/self/query", "attention.self.query", QUERY), ("intermediate/dense", "intermediate.dense", DENSE)
    ):  # fmt: skip
        expected = base[f"encoder.layer.0.{stored}.weight"] + scale * (
            tensors[f"{module}.lora_B.weight"] @ tensors[f"{module}.lora_A.weight"]
        )
        np.testing.assert_allclose(reader.read(f"bert/encoder/layer_0/{name}/kernel"), expected.T, rtol=1e-5)
    key = "encoder.layer.0.attention.self.key.weight"
    np.testing.assert_array_equal(reader.read("bert/encoder/layer_0/attention/self/key/kernel"), base[key].T)
    np.testing.assert_array_equal(reader.read("output_weights"), tensors["base_model.model.classifier.weight"])
    assert reader.unused == []


def test_two_adapters_of_one_model_have_different_digests(adapter):
    folder, tensors = adapter
    first = content_digest(find_checkpoint(str(folder)))
    save_file({name: values + 1 for name, values in tensors.items()}, folder / "adapter_model.safetensors")
    assert (
        content_digest(find_checkpoint(str(folder)))
        != first
        != content_digest(find_checkpoint(str(folder.parent / "base")))
    )


def test_a_base_model_that_is_not_here_is_named(adapter):
    folder, _ = adapter
    write_config(folder, base_model_name_or_path="google-bert/bert-base-uncased")
    with pytest.raises(
        InputError, match="an adapter of peft for google-bert/bert-base-uncased, which is not a directory here"
    ):
        find_checkpoint(str(folder))


@pytest.mark.parametrize(
    "values",
    [
        {"peft_type": "IA3"}, {"use_dora": True}, {"rank_pattern": {"query": 4}}, {"fan_in_fan_out": True},
        {"init_lora_weights": "pissa_niter_4"}, {"use_qalora": True}, {"alora_invocation_tokens": [5, 6]},
    ],
    ids=lambda values: next(iter(values)),
)  # fmt: skip
def test_other_adapters_are_refused_by_name(adapter, values):
    folder, _ = adapter
    write_config(folder, **values)
    with pytest.raises(InputError, match=rf"adapter_config\.json: {next(iter(values))} is .*merge it with peft"):
        read_adapter(str(folder))


def test_an_adapter_of_another_model_is_refused(adapter):
    folder, tensors = adapter
    save_file(
        {name.replace("layer.0.", "layer.7."): values for name, values in tensors.items()},
        folder / "adapter_model.safetensors",
    )
    with pytest.raises(InputError, match=r"layer\.7\..*the adapter belongs to another model"):
        open_checkpoint(find_checkpoint(str(folder)))


def test_damaged_adapters(adapter):
    folder, tensors = adapter
    del tensors[f"{QUERY}.lora_B.weight"]
    save_file(tensors, folder / "adapter_model.safetensors")
    with pytest.raises(InputError, match="query lacks lora_A or lora_B"):
        read_adapter(str(folder))
    (folder / "adapter_model.safetensors").unlink()
    with pytest.raises(InputError, match=r"has adapter_config\.json but no adapter_model\.safetensors"):
        read_adapter(str(folder))


def test_unknown_keys_of_an_adapter_are_named(adapter, caplog):
    folder, _ = adapter
    write_config(folder, init_lora_weights="gaussian", bias="none", new_key=1)
    assert read_adapter(str(folder)).changes
    assert caplog.messages == [f"warning: {folder / 'adapter_config.json'}: not known here, not used: new_key"]
