"""The model that a flag names answers, in all commands, although another run is in output_dir."""

import json
import pathlib
import shutil

import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, QuestionAnswerer, Tagger, extract_features, fill_mask
from tests.commands import helpers, squad_run

TEXT = "the old farmer buys bread ."


@pytest.fixture
def other_once(trained_once, tmp_path_factory) -> pathlib.Path:
    """A classifier of two other labels, made from the trained one."""
    folder = pathlib.Path(shutil.copytree(trained_once[0], tmp_path_factory.mktemp("other") / "other"))
    (folder / "labels.txt").write_text("sport\nnews\n")
    manifest = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(manifest | {"labels": ["sport", "news"]}))
    return folder


@pytest.fixture
def place(trained_once, other_once, tmp_path, monkeypatch) -> pathlib.Path:
    """The working directory: bert_output holds the trained classifier, and other is another one."""
    shutil.copytree(trained_once[0], tmp_path / "bert_output")
    shutil.copytree(other_once, tmp_path / "other")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def labels_in(text):
    return set(json.loads(text.splitlines()[0])["probabilities"])


def test_a_named_classifier_answers(place, classify):
    (place / "texts.txt").write_text(f"{TEXT}\n")
    for flags in (
        ["--init_checkpoint=other", f"--text={TEXT}"],
        ["--init_checkpoint=other/model.ckpt-30", f"--explain={TEXT}"],
        ["--init_checkpoint=other/", "--input_file=texts.txt"],
    ):
        outcome = classify(*flags)
        assert outcome.code == 0, outcome.err
        assert {"sport", "news"} <= set(json.dumps(json.loads(outcome.out)).replace('"', " ").replace(":", " ").split())
        assert "warning" not in outcome.err
    assert labels_in(classify(f"--text={TEXT}").out) == {"0", "1"}
