"""bert-export --ensemble: one file answers with the mean of bert-classify --ensemble."""

import functools
import json
import subprocess
import sys

import numpy as np
import pytest

from bert_cli.export_model import main
from tests.commands import helpers
from tests.commands.ensemble_runs import TEXTS, mean_records, variant
from tests.commands.test_export_vectors import id_inputs

TUNED = [{"0": 0.2, "1": 0.9}, {"1": 0.5, "0": 0.4}]
ALONE = """
import json, sys
import numpy as np, tensorflow as tf, tensorflow_text
outputs = tf.saved_model.load(sys.argv[1]).signatures["serving_default"](text=tf.constant(json.loads(sys.argv[2])))
print(json.dumps({name: x.numpy().tolist() for name, x in outputs.items() if name not in ("labels", "label")}
    | {name: x.numpy().astype(str).tolist() for name, x in outputs.items() if name in ("labels", "label")}))
assert not [name for name in sys.modules if name.startswith("bert_cli")]
"""


@pytest.fixture
def export(capfd, tmp_path):
    """Export an ensemble, and return its directory."""

    def call(*members, flags=()):
        folder = tmp_path / "export"
        done = helpers.call(
            capfd, "bert-export", main, f"--ensemble={','.join(map(str, members))}", f"--export_dir={folder}", *flags
        )
        assert done.code == 0, done.err
        return folder

    return call


@pytest.fixture
def records(classify, tmp_path):
    """Return the records of bert-classify --ensemble for TEXTS."""
    return functools.partial(mean_records, classify, tmp_path)


def make_members(trained, folder, problem_type="single_label", thresholds=(None, None)):
    second = ("0", "1") if problem_type == "regression" else ("1", "0")
    return [
        variant(trained, folder / "a", 1.0, ("0", "1"), problem_type, thresholds[0]),
        variant(trained, folder / "b", 0.25, second, problem_type, thresholds[1]),
    ]


def probabilities(records):
    return [[record["probabilities"][label] for label in ("0", "1")] for record in records]


def test_a_saved_model_with_tensorflow_alone(export, records, trained_once, tmp_path):
    members = make_members(trained_once[0], tmp_path, thresholds=({"1": 0.7}, {"0": 0.6}))
    command = [sys.executable, "-c", ALONE, str(export(*members)), json.dumps(TEXTS)]
    outputs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    expected = records(*members)
    np.testing.assert_allclose(outputs["probabilities"], probabilities(expected), atol=1e-6)
    assert outputs["labels"] == [["0", "1"]] * len(TEXTS)
    assert outputs["label"] == [record["label"] for record in expected]


@pytest.mark.parametrize("problem_type", ["multi_label", "regression"])
def test_an_onnx_file_and_its_quantized_form(export, records, trained_once, tmp_path, problem_type):
    thresholds = TUNED if problem_type == "multi_label" else (None, None)
    members = make_members(trained_once[0], tmp_path, problem_type, thresholds)
    folder = export(*members, flags=["--format=onnx", "--quantize=int8", "--triton"])
    assert 'name: "' in (folder / "config.pbtxt").read_text()
    folder = folder / "1"
    names = {"model.onnx", "model_int8.onnx", "vocab.txt", "tokenizer_config.json"}
    assert {path.name for path in folder.iterdir()} - {"labels.txt"} == names
    import onnxruntime

    expected = records(*members)
    for name, tolerance in (("model.onnx", 1e-6), ("model_int8.onnx", 0.1)):
        session = onnxruntime.InferenceSession(folder / name)
        (outputs,) = session.run(None, id_inputs(folder, TEXTS))
        if problem_type == "multi_label":
            np.testing.assert_allclose(outputs, probabilities(expected), atol=tolerance)
        else:
            np.testing.assert_allclose(outputs, [record["value"] for record in expected], atol=10 * tolerance)


@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated:UserWarning")
def test_a_tflite_file(export, records, trained_once, tmp_path):
    members = make_members(trained_once[0], tmp_path)
    folder = export(*members, flags=["--format=tflite"])
    import tensorflow as tf

    run = tf.lite.Interpreter(str(folder / "model.tflite")).get_signature_runner("serving_default")
    outputs = run(**id_inputs(folder, TEXTS))["probabilities"]
    np.testing.assert_allclose(outputs, probabilities(records(*members)), atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": ("0", "2")}, "has the labels 0, 2, and "),
        ({"problem_type": "regression"}, "is a model for regression, and "),
        ({"vocab.txt": "more"}, "has another vocabulary than "),
        ({"tokenizer_config.json": '{"do_lower_case": true, "strip_accents": false}'}, "has another tokenizer than "),
        ({"flags.txt": "--max_seq_length=24"}, "has sequences of 24 tokens, and "),
        ({"labels.txt": None}, "has no labels.txt"),
    ],
    ids=["labels", "problem type", "vocabulary", "tokenizer", "length", "no labels"],
)
def test_members_that_do_not_belong_together(changes, message, trained_once, capfd, tmp_path):
    options = {name: value for name, value in changes.items() if "." not in name}
    members = [variant(trained_once[0], tmp_path / "a"), variant(trained_once[0], tmp_path / "b", **options)]
    for name, text in changes.items():
        path = members[1] / name
        if name == "vocab.txt":
            path.write_text(path.read_text().replace("teacher", text))
        elif name == "flags.txt":
            lines = [line for line in path.read_text().splitlines() if not line.startswith(text.partition("=")[0])]
            path.write_text("\n".join([*lines, text, ""]))
        elif text is None:
            path.unlink()
        elif "." in name:
            path.write_text(text)
    folder = tmp_path / "out"
    flags = [f"--ensemble={members[0]},{members[1]}", f"--export_dir={folder}", "--format=onnx"]
    helpers.call(capfd, "bert-export", main, *flags).assert_refused(message)
    assert not folder.exists()


def test_other_models_are_refused(trained_once, tagger_once, capfd, tmp_path):
    for members, message in (
        ([tagger_once[0], trained_once[0]], "is no classifier of texts, and an ensemble is exported for those alone"),
        ([trained_once[0]], "is one run; give several directories"),
    ):
        names = ",".join(map(str, members))
        flags = [f"--ensemble={names}", f"--export_dir={tmp_path / 'out'}"]
        helpers.call(capfd, "bert-export", main, *flags).assert_refused(message)
