"""Keys of config.json in all callers: obeyed keys change the numbers, and others are refused by name."""

import json
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest

from bert_cli import FeatureExtractor, convert_checkpoint, doctor, export_model, extract_features
from bert_cli.base.errors import InputError
from bert_cli.serving.items import Item
from bert_cli.serving.loading import load_served
from bert_cli.settings.model_use import ModelFlags
from bert_cli.weights.path import find_checkpoint
from tests.model.test_config_keys import REFUSED
from tests.sentence_cases import folder_of
from tests.snapshots import check_message

# Keras 3.15 asks NumPy 2 for a TensorFlow variable's numbers in the old way; Python hides this warning from users.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
TEXT = "the dog of a house"
# Keys that change numbers without another shape of weights.
CHANGES = {"hidden_act": "relu", "layer_norm_eps": 0.1, "num_attention_heads": 4}


def write_config(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


def run(main, *flags):
    """Run a command, and raise its error as in Python."""
    if main([*map(str, flags)]) != 0:
        raise InputError("see standard error")


def python(folder, tmp_path):
    return FeatureExtractor.load(str(folder)).extract([TEXT])


def server(folder, tmp_path):
    return load_served("m", find_checkpoint(str(folder)), ModelFlags()).vectors.embed([Item(TEXT)])[0].vector


def command(folder, tmp_path):
    (tmp_path / "in.txt").write_text(TEXT + "\n")
    flags = [f"--init_checkpoint={folder}", f"--input_file={tmp_path / 'in.txt'}", f"--output_file={tmp_path / 'out'}"]
    run(extract_features.main, *flags)
    return json.loads((tmp_path / "out").read_text())["values"]


def keras(folder, tmp_path):
    from bert_cli.keras import Encoder

    ids = np.int32([[2, 5, 7, 3]])
    inputs = {"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": np.zeros_like(ids)}
    return Encoder.load(str(folder), new_pooler=True)(inputs)["sequence_output"].numpy()


def convert(folder, tmp_path):
    run(convert_checkpoint.main, f"--from={folder}", f"--to={tmp_path / 'tf1' / 'bert_model.ckpt'}")
    return FeatureExtractor.load(str(tmp_path / "tf1")).extract([TEXT])


def export(folder, tmp_path):
    run(export_model.main, "--format=onnx", f"--init_checkpoint={folder}", f"--export_dir={tmp_path / 'onnx'}")
    session = onnxruntime.InferenceSession(tmp_path / "onnx" / "model.onnx")
    ids = np.int64([[2, 5, 7, 3]])
    values = {"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": np.zeros_like(ids)}
    types = {node.name: np.int32 if "int32" in node.type else np.int64 for node in session.get_inputs()}
    return session.run(None, {name: values[name].astype(types[name]) for name in types})[0]


CALLERS = (python, server, command, keras, convert, export)


@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: caller.__name__)
def test_obeyed_keys_change_the_numbers(caller, tmp_path):
    plain = caller(folder_of("mean", tmp_path / "plain"), tmp_path)
    for key, value in CHANGES.items():
        folder = folder_of("mean", tmp_path / key)
        write_config(folder, **{key: value})
        (tmp_path / f"of_{key}").mkdir()
        changed = caller(folder, tmp_path / f"of_{key}")
        assert np.abs(np.asarray(changed) - np.asarray(plain)).max() > 1e-4, key


@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: caller.__name__)
def test_refused_keys_are_named(caller, tmp_path, capsys):
    for key, value in REFUSED.items():
        folder = folder_of("mean", tmp_path / key)
        write_config(folder, **{key: value})
        (tmp_path / f"of_{key}").mkdir()
        with pytest.raises(InputError) as error:
            caller(folder, tmp_path / f"of_{key}")
        assert f"config.json: {key} is" in str(error.value) + capsys.readouterr().err


def test_doctor_names_a_refused_key(tmp_path, capsys):
    folder = folder_of("mean", tmp_path / "m")
    write_config(folder, is_decoder=True)
    assert doctor.main([f"--init_checkpoint={folder}"]) != 0
    output = capsys.readouterr()
    assert "is_decoder is True: a causal network" in output.out + output.err


def test_unknown_keys_are_an_error_with_strict(tmp_path):
    folder = folder_of("mean", tmp_path / "m")
    write_config(folder, foo=1)
    (tmp_path / "in.txt").write_text(TEXT + "\n")
    flags = [f"--init_checkpoint={folder}", f"--input_file={tmp_path / 'in.txt'}", f"--output_file={tmp_path / 'out'}"]
    command_line = [sys.executable, "-m", "bert_cli.extract_features", *flags]
    done = subprocess.run([*command_line, "--strict"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    check_message(done.stderr, "config.json: ")
    done = subprocess.run(command_line, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.count("config.json: not known here, not used: foo") == 1
