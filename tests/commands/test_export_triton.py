"""bert-export --triton: the directories and the configuration of Triton fit the model."""

import re

import numpy as np
import pytest

from bert_cli.export_model import main
from tests.commands import helpers
from tests.commands.test_export_vectors import id_inputs, run_onnx, serve

# onnx warns about functions that it calls itself.
pytestmark = pytest.mark.filterwarnings("ignore:.*onnx.*:DeprecationWarning")


def entries(folder, title) -> dict[str, tuple[str, str]]:
    """Return name -> (type, dims) of the inputs or outputs in config.pbtxt."""
    text = (folder / "config.pbtxt").read_text()
    block = re.search(rf"^{title} \[\n(.*?)^\]", text, re.DOTALL | re.MULTILINE)[1]
    found = re.findall(r'\{ name: "(\w+)" data_type: TYPE_(\w+) dims: \[ ([-\d, ]+) \]', block)
    assert len(found) == block.count("name:")
    return {name: (data_type, dims) for name, data_type, dims in found}


def test_onnx(trained, tmp_path, capfd):
    flags = [f"--init_checkpoint={trained}", f"--export_dir={tmp_path / 'm'}", "--triton", "--format=onnx"]
    assert main(flags) == 0
    assert {path.name for path in (tmp_path / "m").iterdir()} == {"config.pbtxt", "1"}
    outputs = run_onnx(tmp_path / "m" / "1" / "model.onnx", id_inputs(trained, ["a dog"]))
    assert entries(tmp_path / "m", "output") == {"probabilities": ("FP32", "2")}
    assert outputs["probabilities"].shape == (1, 2)
    assert set(entries(tmp_path / "m", "input").values()) == {("INT32", "-1")}
    helpers.call(capfd, "bert-export", main, *flags).assert_refused("is not empty")
    assert main([*flags, "--overwrite"]) == 0
    # A directory with versions of TensorFlow Serving is not replaced.
    (tmp_path / "m" / "config.pbtxt").unlink()
    helpers.call(capfd, "bert-export", main, *flags, "--overwrite").assert_refused("holds 1")


def test_saved_model(trained, tmp_path):
    assert main([f"--init_checkpoint={trained}", f"--export_dir={tmp_path / 'm'}", "--triton", "--pairs=yes"]) == 0
    outputs = serve(tmp_path / "m" / "1" / "model.savedmodel", text=["a dog", "fish"], text_b=["", ""])
    described = entries(tmp_path / "m", "output")
    assert entries(tmp_path / "m", "input") == {"text": ("STRING", "1"), "text_b": ("STRING", "1")}
    assert described.keys() == outputs.keys()
    assert described["label"] == ("STRING", "1")
    assert described["probabilities"][0] == "FP32"
    for name, (_, dims) in described.items():
        assert dims.count(",") + 1 == max(1, np.ndim(outputs[name]) - 1)
