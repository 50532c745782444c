"""The Python classifier: the same numbers as bert-classify, and refusals."""

import subprocess
import sys

import numpy as np
import pytest

import bert_cli
from bert_cli import Classifier
from bert_cli.base.errors import InputError
from tests.snapshots import raises


@pytest.fixture
def texts(cola) -> list[str]:
    """The texts in test.tsv."""
    lines = (cola / "test.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[1] for line in lines[1:]]


def test_probabilities_equal_those_of_the_command(trained, run_folder, texts):
    classifier = Classifier.load(str(trained), precision="float32")
    assert (classifier.labels, classifier.max_seq_length) == (("0", "1"), 32)
    predictions = classifier.predict(texts)
    expected = run_folder(trained).probabilities()
    assert predictions.probabilities.dtype == np.float32
    np.testing.assert_allclose(predictions.probabilities, expected, atol=1e-6)
    assert predictions.best == [str(column) for column in expected.argmax(axis=1)]
    single_predictions = classifier.predict(texts[:3], batch_size=1)
    np.testing.assert_allclose(single_predictions.probabilities, expected[:3], atol=1e-6)


def test_pairs_empty_lists_and_other_labels(trained):
    (trained / "flags.txt").unlink()  # it records that the model was trained on single texts
    classifier = Classifier.load(trained, labels=["animal", "person"], max_seq_length=16, precision="float32")
    predictions = classifier.predict([("the dog", "a cat"), "a dog", ["the dog", "a cat"]])
    assert predictions.probabilities.shape == (3, 2)
    np.testing.assert_allclose(predictions.probabilities[0], predictions.probabilities[2], atol=1e-6)
    assert set(predictions.best) <= {"animal", "person"}
    nothing = classifier.predict([])
    assert (len(nothing), nothing.best, nothing.probabilities.shape) == (0, [], (0, 2))
    assert len(nothing.to_frame()) == 0
    for wrong in (3, None, ("a", "b", "c"), (None, "a")):
        with raises(InputError, "texts[1]: "):
            classifier.predict(["a", wrong])


def test_each_call_reports_its_cut_texts_once(trained, caplog):
    classifier = Classifier.load(trained, max_seq_length=8)
    counts = "1 of 2 texts were cut to 8 tokens: 3 of 11 tokens (27.3%) were left out"
    for answer in (classifier.predict, classifier.records):
        caplog.clear()
        answer(["a dog", "dog " * 9])
        assert [record.getMessage() for record in caplog.records if "cut" in record.getMessage()] == [
            f"warning: {counts}"
        ]
    caplog.clear()
    classifier.explain("dog " * 9, budget=8)
    assert "1 of 1 texts were cut to 8 tokens: 3 of 9 tokens" in caplog.records[-1].getMessage()


def test_refusals(trained, tmp_path):
    with pytest.raises(InputError, match="check path"):
        Classifier.load(str(tmp_path / "none"))
    with pytest.raises(InputError, match="another number of labels"):
        Classifier.load(str(trained), labels=["a", "b", "c"])
    (trained / "labels.txt").unlink()
    with raises(InputError, "labels.txt: "):
        Classifier.load(str(trained))


def test_import_is_light():
    code = "import sys, bert_cli, bert_cli.base.errors; print(sorted(sys.modules.keys() & {'tensorflow', 'numpy', 'keras'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    with pytest.raises(AttributeError, match="has no attribute 'Other'"):
        _ = bert_cli.Other
