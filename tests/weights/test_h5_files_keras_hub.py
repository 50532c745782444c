"""Presets of KerasHub: a preset that KerasHub wrote, with the numbers that it computes.

tests/reference/keras_hub_preset.py writes tests/fixtures/keras_hub.
"""

import json
import pathlib
import shutil

import h5py
import numpy as np
import pytest

from bert_cli import FeatureExtractor, Tokenizer, convert_checkpoint
from bert_cli.base.errors import InputError
from bert_cli.keras import Encoder
from bert_cli.model.config_files import report_unknown_keys
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.h5_files import KerasHubReader
from bert_cli.weights.path import find_checkpoint

PRESET = pathlib.Path(__file__).parents[1] / "fixtures" / "keras_hub"
EXPECTED = json.loads((PRESET / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def preset(tmp_path):
    """Return a preset that a test may change."""
    return shutil.copytree(PRESET, tmp_path / "preset")


def change(path, **changes):
    """Change members of `config` in a JSON file of a preset; None removes one."""
    values = json.loads(path.read_text(encoding="utf-8"))
    config = values["config"] | changes
    values["config"] = {name: value for name, value in config.items() if value is not None}
    path.write_text(json.dumps(values), encoding="utf-8")


@pytest.mark.parametrize("name", ["", "model.weights.h5"])
def test_keras_computes_the_same(name):
    encoder = Encoder.load(str(PRESET / name))
    ids = np.array([EXPECTED["ids"]])
    outputs = encoder({"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": np.zeros_like(ids)})
    for output in ("pooled_output", "sequence_output"):
        np.testing.assert_allclose(np.asarray(outputs[output])[0], EXPECTED[output], atol=1e-5)


def test_the_tokenizer_and_the_vectors():
    # KerasHub lowercases É but keeps its accent, unless strip_accents is true.
    tokens = Tokenizer.load(str(PRESET)).tokenize(EXPECTED["text"])
    assert tokens == ["the", "dog", "##s", "sat", "on", "é", ",", "mat", "."]
    extractor = FeatureExtractor.load(str(PRESET), layers=[-1], pooling="cls")
    vector = np.asarray(extractor.extract([EXPECTED["text"]]))[0]
    np.testing.assert_allclose(vector, EXPECTED["sequence_output"][0], atol=1e-5)


def test_a_converted_preset_is_the_same_model(preset, tmp_path, capfd):
    assert convert_checkpoint.main([f"--from={preset}", f"--to={tmp_path}/google/bert_model.ckpt"]) == 0
    assert "task.weights.h5: not read: it holds the head of a KerasHub task" in capfd.readouterr().err
    source, target = (open_checkpoint(find_checkpoint(str(path))) for path in (preset, tmp_path / "google"))
    assert source.shapes == {name: shape for name, shape in target.shapes.items() if name != "global_step"}
    for name in source.shapes:
        np.testing.assert_array_equal(source.read(name), target.read(name))
    config = json.loads((tmp_path / "google" / "bert_config.json").read_text())
    assert config["hidden_act"] == "gelu"
    assert "gelu" not in config, "Google's files have the tanh form without this key"


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("config.json", {"num_heads": None}, "config has no num_heads; copy the preset again"),
        ("config.json", {"hidden_dim": "8"}, "hidden_size must be a whole number above 0, found '8'"),
        ("config.json", {"num_layers": 2}, "lacks bert/encoder/layer_1/"),
        ("tokenizer.json", {"split": False}, "split is False: texts are not split into words"),
        ("tokenizer.json", {"oov_token": "<unk>"}, "oov_token is '<unk>': another token for unknown words"),
        ("tokenizer.json", {"lowercase": "yes"}, "lowercase: is a string, true or false is needed"),
    ],
)
def test_wrong_members_are_named(preset, file, changes, message):
    change(preset / file, **changes)
    with pytest.raises(InputError) as raised:
        FeatureExtractor.load(str(preset))
    assert message in str(raised.value)


def test_unknown_members_are_named_once(preset, caplog):
    change(preset / "config.json", rotary=True)
    change(preset / "tokenizer.json", byte_level=True)
    for file, key in (("config.json", "quantized"), ("tokenizer.json", "proto")):
        values = json.loads((preset / file).read_text())
        (preset / file).write_text(json.dumps(values | {key: True, "assets": [], "registered_name": "x"}))
    FeatureExtractor.load(str(preset))
    for file, key in (("config.json", "quantized"), ("tokenizer.json", "proto")):
        assert caplog.text.count(f"{preset / file}: not known here, not used: {key}") == 1
    for file, key in (("config.json", "rotary"), ("tokenizer.json", "byte_level")):
        assert caplog.text.count(f"{preset / file}: not known here, not used: {key}") == 1
    with pytest.raises(InputError, match="not known here, not used: quantized"):
        report_unknown_keys(str(preset / "config.json"), strict=True)


def test_other_backbones_and_missing_files_are_refused(preset):
    values = json.loads((preset / "config.json").read_text())
    (preset / "config.json").write_text(json.dumps(values | {"class_name": "RobertaBackbone"}))
    for path in (preset, preset / "model.weights.h5"):
        with pytest.raises(
            InputError, match=r"is a preset of KerasHub \(RobertaBackbone\), of which only BertBackbone is read"
        ):
            find_checkpoint(str(path))
    (preset / "config.json").write_text(json.dumps(values))
    (preset / "model.weights.h5").unlink()
    with pytest.raises(InputError, match=r"is a preset of KerasHub without model\.weights\.h5"):
        find_checkpoint(str(preset))


def test_weights_of_another_network_are_named(preset):
    path = preset / "model.weights.h5"
    with h5py.File(path, "r+") as file:
        file["layers/embedding/vars"].attrs["name"] = "other"
        file["layers/embedding/other"] = np.zeros(2)
    assert sorted(KerasHubReader(str(path)).unused) == ["layers/embedding/other", "layers/embedding/vars/0"]
    with h5py.File(path, "r+") as file:
        del file["layers/transformer_encoder"]
    with pytest.raises(InputError, match="has no layer of KerasHub's BertBackbone"):
        KerasHubReader(str(path))
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"is an incomplete or damaged model\.weights\.h5 of a KerasHub preset"):
        KerasHubReader(str(path))


def test_quantized_weights_are_refused(preset):
    """Keras stores int8 kernels under the same numbers, and their scales after them."""
    path = preset / "model.weights.h5"
    with h5py.File(path, "r+") as file:
        kernel = file["layers/dense/vars/0"]
        values = np.round(np.asarray(kernel) * 10).astype(np.int8)
        del file["layers/dense/vars/0"]
        file["layers/dense/vars/0"] = values
    with pytest.raises(InputError, match=r"layers/dense/vars/0 holds no floats; take a preset that is not quantized"):
        open_checkpoint(find_checkpoint(str(preset)))
