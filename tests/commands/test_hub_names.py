"""Names such as hf:owner/name in every flag and argument that takes a model, from a server on this machine."""

import hashlib
import json
import sys

import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, convert_checkpoint, extract_features, tokenize_text
from bert_cli.base.errors import InputError
from bert_cli.serving.loading import load_served
from bert_cli.settings.answering import ModelFlags
from bert_cli.weights.path import find_checkpoint
from tests.hub_server import Repository, connected, running_hub
from tests.snapshots import raises

pytest.importorskip("huggingface_hub", reason="needs the extra hub")
TEXT = "the old farmer buys bread ."
NAME = "hf:someone/people"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, trained_once):
    """A classifier in Hugging Face's format."""
    target = tmp_path_factory.mktemp("hf") / "model"
    Classifier.load(str(trained_once[0])).to_hugging_face(target)
    return target


@pytest.fixture(scope="module")
def server():
    with running_hub() as hub:
        yield hub


@pytest.fixture
def hub(server, tmp_path, folder):
    """The hub with this classifier."""
    with connected(server, tmp_path / "cache") as hub:
        hub.models["someone/people"] = Repository({path.name: path.read_bytes() for path in folder.iterdir()})
        yield hub


def test_a_training_names_the_commit_and_the_weights(hub, folder, classify, flags, tmp_path):
    start = [*(flag for flag in flags if "_file=" not in flag), f"--init_checkpoint={NAME}"]
    output = [f"--output_dir={tmp_path / 'out'}", "--num_train_epochs=1"]
    trained = classify(*start, *output, "--do_train")
    assert trained.code == 0, trained.err
    manifest = json.loads((tmp_path / "out" / "run.json").read_text())
    assert manifest["init_checkpoint"] == f"{NAME}@{hub.models['someone/people'].commit}"
    assert manifest["init_checkpoint_sha256"] == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert f"--init_checkpoint={NAME}\n" in (tmp_path / "out" / "flags.txt").read_text()
    # Google's scripts are called with the same flags for a prediction.
    evaluated = classify(*start, *output, "--do_eval")
    assert "the run in" in evaluated.err
    assert evaluated.code == 0, evaluated.err
    # The same flags continue the run.
    resumed = classify(*start, *output, "--do_train")
    assert resumed.code == 0, resumed.err


def test_the_flags_of_every_command(hub, folder, classify, flags, tmp_path):
    answer = classify(f"--init_checkpoint={NAME}@main", f"--text={TEXT}")
    assert answer.out == classify(f"--init_checkpoint={folder}", f"--text={TEXT}").out != ""
    assert convert_checkpoint.main([f"--from={NAME}", f"--to={tmp_path / 'converted'}", "--to_format=hf"]) == 0
    assert (tmp_path / "converted" / "model.safetensors").exists()
    vectors = tmp_path / "vectors.npy"
    (tmp_path / "texts.txt").write_text(f"{TEXT}\n")
    where = [f"--input_file={tmp_path / 'texts.txt'}", f"--output_file={vectors}", "--output_format=npy"]
    assert extract_features.main([f"--init_checkpoint={NAME}", "--pooling=mean", *where]) == 0
    expected = FeatureExtractor.load(str(folder), pooling="mean").extract([TEXT])
    np.testing.assert_allclose(np.load(vectors), expected, atol=1e-5)
    assert tokenize_text.main([TEXT, f"--init_checkpoint={NAME}"]) == 0
    student = [
        *flags,
        f"--distill_from={NAME}",
        "--do_train",
        "--num_train_epochs=1",
        f"--output_dir={tmp_path / 'out'}",
    ]
    distilled = classify(*student)
    assert distilled.code == 0, distilled.err


def test_python_and_the_server(hub, folder):
    expected = Classifier.load(str(folder)).predict([TEXT])
    assert Classifier.load(NAME).predict([TEXT])[0].label == expected[0].label
    np.testing.assert_array_equal(
        FeatureExtractor.load(NAME, pooling="mean").extract([TEXT]),
        FeatureExtractor.load(str(folder), pooling="mean").extract([TEXT]),
    )
    served = load_served("people", ModelFlags(), find_checkpoint(NAME, "output_dir"))
    assert served.checkpoint.name.startswith(f"{NAME}@")
    with raises(InputError, "hf:someone/unknown"):
        Classifier.load("hf:someone/unknown")


def test_without_the_extra(hub, classify, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # as if it were not installed
    classify("--init_checkpoint=hf:someone/new", f"--text={TEXT}").assert_refused("pip install -e '.[hub]'")
