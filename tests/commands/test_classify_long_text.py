"""Texts longer than a sequence: windows in training and prediction, resumed and remembered."""

import json
import shutil

import numpy as np
import pytest

from bert_cli import Classifier, export_model
from bert_cli.run_classifier import main
from tests.commands import helpers
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import assert_same_tensors, interrupted_after
from tests.rows import write_rows
from tests.snapshots import check_message


@pytest.fixture(scope="module")
def windowed(tmp_path_factory, model_flags):
    """An output_dir after training on windows, and its flags; 13 of 24 texts exceed 8 tokens."""
    folder = tmp_path_factory.mktemp("windows")
    rows = [(text, "person" if of_people else "animal") for text, of_people in SENTENCES]
    write_rows(folder / "train.tsv", [("text", "label"), *rows])
    flags = [*model_flags, f"--train_file={folder / 'train.tsv'}", "--max_seq_length=8", "--long_text=windows"]
    flags += ["--num_train_epochs=2", "--do_train"]
    assert main([*flags, f"--output_dir={folder / 'out'}"]) == 0
    return folder / "out", flags


@pytest.mark.slow
def test_windows_are_remembered(windowed, run_folder, classify, tmp_path):
    trained_folder, flags = windowed
    folder = shutil.copytree(trained_folder, tmp_path / "out")
    texts = [text for text, _ in SENTENCES[:7]]
    write_rows(tmp_path / "new.txt", texts)
    predict = ["--do_eval", f"--dev_file={trained_folder.parent / 'train.tsv'}", "--do_predict"]
    predict.append(f"--predict_file={tmp_path / 'new.txt'}")
    assert main([*flags, *predict, f"--output_dir={folder}"]) == 0
    expected = run_folder(folder).probabilities()
    np.testing.assert_allclose(
        Classifier.load(folder, precision="float32").predict(texts).probabilities, expected, atol=1e-6
    )
    done = classify(f"--output_dir={folder}", f"--text={texts[0]}", "--precision=float32")
    np.testing.assert_allclose(list(json.loads(done.out)["probabilities"].values()), expected[0], atol=1e-5)
    # Windows computed by hand: the mean of their logits; a constant added to a window's
    # logits has no effect.
    words = "a horse likes a small dog and a green bird ."
    alone = ["a horse likes a small dog", "a small dog and a green", "and a green bird ."]
    cut = Classifier.load(folder, precision="float32", long_text="truncate").predict(alone).probabilities
    mean = np.exp(np.log(cut).mean(axis=0))
    probabilities = Classifier.load(folder, precision="float32").predict([words, "a cat"]).probabilities
    np.testing.assert_allclose(probabilities[0], mean / mean.sum(), atol=1e-5)


@pytest.mark.slow
def test_stopped_run_ends_with_the_same_weights(windowed, run_folder, classify, tmp_path):
    folder, flags = windowed
    with interrupted_after("saved"):
        assert main([*flags, f"--output_dir={tmp_path / 'out'}"]) == 130
    done = classify(*flags, f"--output_dir={tmp_path / 'out'}")
    assert "resuming from" in done.err
    check_message(done.err, "8 tokens")
    assert_same_tensors(run_folder(tmp_path / "out").tensors(12), run_folder(folder).tensors(12))
    refused_outcome = classify(*flags, "--long_text=head_tail", f"--output_dir={tmp_path / 'out'}")
    refused_outcome.assert_refused()


def test_model_with_windows_is_not_exported(windowed, tmp_path, capfd):
    flags = helpers.words({"init_checkpoint": windowed[0], "export_dir": tmp_path / "serving"})
    done = helpers.call(capfd, "bert-export", export_model.main, *flags)
    done.assert_refused("--long_text=windows", "--format=hub")
