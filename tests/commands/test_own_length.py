"""Models of other programs have a length of their own in all commands, unless --max_seq_length is given."""

import json
import shutil

import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, export_model, extract_features
from tests.commands.test_head_labels import foreign_copy
from tests.rows import write_rows

WORDS = 280
LONG = "the old dog sees a cat . " * (WORDS // 7)
POSITIONS = 64


@pytest.fixture(scope="module")
def folder(tmp_path_factory, trained_once):
    """A Hugging Face directory: a classifier with 64 positions."""
    target = tmp_path_factory.mktemp("hf") / "model"
    Classifier.load(str(trained_once[0])).to_hugging_face(target)
    return target


@pytest.fixture(params=[24, None], ids=["stored", "positions"])
def foreign(request, folder, tmp_path):
    """A copy with model_max_length 24, or without one; and the length that counts."""
    target = tmp_path / "copy"
    shutil.copytree(folder, target)
    path = target / "tokenizer_config.json"
    values = json.loads(path.read_text(encoding="utf-8")) | {"model_max_length": request.param}
    path.write_text(json.dumps(values), encoding="utf-8")
    return target, request.param or POSITIONS


def test_new_texts_of_a_classifier(foreign, classify, tmp_path):
    folder, length = foreign
    expected = Classifier.load(str(folder)).predict([LONG])[0]
    done = classify(f"--init_checkpoint={folder}", "--text", LONG)
    assert done.code == 0, done.err
    record = json.loads(done.out)
    assert record["cut"] == WORDS - (length - 2)
    np.testing.assert_allclose(list(record["probabilities"].values()), list(expected.probabilities.values()), atol=1e-5)
    (tmp_path / "in.txt").write_text(f"{LONG}\n", encoding="utf-8")
    files = (f"--input_file={tmp_path / 'in.txt'}", f"--output_file={tmp_path / 'out.jsonl'}")
    assert classify(f"--init_checkpoint={folder}", *files).code == 0
    assert json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))["cut"] == record["cut"]
    done = classify(f"--init_checkpoint={folder}", "--max_seq_length=10", "--text", LONG)
    assert json.loads(done.out)["cut"] == WORDS - 8
    assert "sequences have up to" not in done.err


def test_a_table_of_a_classifier(foreign, classify, tmp_path):
    folder, length = foreign
    write_rows(tmp_path / "new.csv", ["text", LONG])
    out = tmp_path / "out"
    done = classify(
        "--do_predict", f"--init_checkpoint={folder}", f"--output_dir={out}", f"--predict_file={tmp_path / 'new.csv'}"
    )
    assert done.code == 0, done.err
    assert f"{WORDS - (length - 2)} of {WORDS} tokens" in done.err


def test_the_length_is_said_once(folder, classify, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "said")
    done = classify(f"--init_checkpoint={copy}", "--text", "a dog")
    assert done.err.count(f"{copy}: sequences have up to ") == 1


def test_a_run_keeps_its_length(trained_once, classify):
    done = classify(f"--output_dir={trained_once[0]}", "--text", LONG)
    assert json.loads(done.out)["cut"] == WORDS - (32 - 2)


def test_windows_of_a_tagger(tagger_once, tag, tmp_path):
    labels = (tagger_once[0] / "labels.txt").read_text(encoding="utf-8").split()
    copy = foreign_copy(tagger_once[0], tmp_path / "copy", labels)
    done = tag(f"--init_checkpoint={copy}", "--text", LONG)
    assert done.code == 0, done.err
    assert f"sequences have up to {POSITIONS} tokens" in done.err


def test_vectors(foreign, tmp_path):
    folder, length = foreign
    (tmp_path / "in.txt").write_text(f"{LONG}\n", encoding="utf-8")
    flags = [f"--init_checkpoint={folder}", f"--input_file={tmp_path / 'in.txt'}", "--pooling=mean"]
    assert extract_features.main([*flags, f"--output_file={tmp_path / 'out.jsonl'}"]) == 0
    vector = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8"))["values"]
    expected = FeatureExtractor.load(str(folder), max_seq_length=length).extract([LONG])[0]
    np.testing.assert_allclose(vector, expected, atol=1e-5)


def test_an_export(foreign, tmp_path):
    folder, length = foreign
    flags = [
        "--format=onnx",
        "--names=hugging_face",
        f"--init_checkpoint={folder}",
        f"--export_dir={tmp_path / 'onnx'}",
    ]
    assert export_model.main(flags) == 0
    stored = json.loads((tmp_path / "onnx" / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert stored["model_max_length"] == length
