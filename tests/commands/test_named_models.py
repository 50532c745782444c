"""The model that a flag names answers, in all commands, although another run is in ./bert_output."""

import json
import pathlib
import shutil

import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, Tagger, extract_features, fill_mask
from bert_cli.exports.exported import find_model_to_export
from bert_cli.flags.option import build
from bert_cli.opening.paths import PRETRAINED
from bert_cli.settings.tools import ExportSettings
from tests.commands import helpers, squad_run
from tests.rows import write_rows
from tests.snapshots import check_message

TEXT = "the old farmer buys bread ."


def copy_run(source: pathlib.Path, target: pathlib.Path, labels: list[str], **manifest: object) -> None:
    """Copy a run as one with other labels, and with other entries in its run.json."""
    shutil.copytree(source, target)
    write_rows(target / "labels.txt", labels)
    values = json.loads((target / "run.json").read_text()) | {"labels": labels, **manifest}
    (target / "run.json").write_text(json.dumps(values))


@pytest.fixture
def place(trained_once, tmp_path, monkeypatch) -> pathlib.Path:
    """A working directory with two classifiers: bert_output with 0 and 1, other with news and sport."""
    shutil.copytree(trained_once[0], tmp_path / "bert_output")
    copy_run(trained_once[0], tmp_path / "other", ["news", "sport"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def labels_in(outcome) -> set[str]:
    assert outcome.code == 0, outcome.err
    assert "warning" not in outcome.err
    answer = json.loads(outcome.out.splitlines()[0])
    return set(answer.get("probabilities") or [answer["label"]])


def test_a_named_classifier_answers(place, classify):
    (place / "flags.txt").write_text(f"--init_checkpoint=other\n--text={TEXT}\n")
    (place / "texts.txt").write_text(f"{TEXT}\n")
    for flags in (
        ["--init_checkpoint=other/model.ckpt-30", "--input_file=texts.txt"],
        ["--init_checkpoint=~/other/", f"--text={TEXT}"],
        ["--flagfile=flags.txt"],
    ):
        assert labels_in(classify(*flags)) == {"news", "sport"}
    assert labels_in(classify("--init_checkpoint=other", f"--explain={TEXT}")) < {"news", "sport"}
    assert labels_in(classify(f"--text={TEXT}")) == {"0", "1"}


def test_two_named_classifiers_are_refused(place, classify, snapshot):
    (place / "link").symlink_to(place / "bert_output")
    before = snapshot(place)
    table = f"--predict_file={place / 'bert_output' / 'predictions.tsv'}"
    for output_dir in ("bert_output", "link"):
        for flags in ([f"--text={TEXT}"], [f"--explain={TEXT}"], ["--do_predict", table], ["--do_eval"]):
            outcome = classify("--init_checkpoint=other", f"--output_dir={output_dir}", *flags)
            outcome.assert_refused(
                "--init_checkpoint=other", f"--output_dir={output_dir}", "leave --init_checkpoint out"
            )
    classify("--init_checkpoint=other", "--do_predict", table).assert_refused(
        "--init_checkpoint=other: ", "give another --output_dir"
    )
    assert snapshot(place) == before


def test_a_checkpoint_of_the_run_and_its_start(place, classify):
    (place / "link").symlink_to(place / "bert_output")
    older = ["--init_checkpoint=bert_output/model.ckpt-20", "--output_dir=link", f"--text={TEXT}"]
    assert labels_in(classify(*older)) == {"0", "1"}
    start = str(place / "other" / "model.ckpt-30")
    copy_run(place / "bert_output", place / "tuned", ["0", "1"], init_checkpoint=start)
    tuned = classify("--init_checkpoint=other", "--output_dir=tuned", f"--text={TEXT}")
    assert labels_in(tuned) == {"0", "1"}
    check_message(tuned.err, "other: ")


def test_a_named_tagger_answers(place, tagger, tag):
    shutil.rmtree(place / "bert_output")
    shutil.copytree(tagger, place / "bert_output")
    labels = [label.replace("PER", "HUMAN") for label in (tagger / "labels.txt").read_text().split()]
    copy_run(tagger, place / "tagger", labels)
    outcome = tag("--init_checkpoint=tagger", f"--text={TEXT}")
    assert outcome.code == 0, outcome.err
    assert "PER" not in outcome.out
    tag("--init_checkpoint=tagger", "--output_dir=bert_output", f"--text={TEXT}").assert_refused(
        "--init_checkpoint=tagger"
    )
    assert "B-HUMAN" in Tagger.load("tagger").labels


def test_two_named_question_models_are_refused(place, answering, capfd):
    (place / "q.jsonl").write_text(json.dumps({"id": "1", "question": "who ?", "context": "a cat"}) + "\n")
    flags = {"init_checkpoint": "other", "output_dir": answering}
    for question in ({"question": "who ?", "context": "a cat"}, {"input_file": "q.jsonl"}):
        outcome = squad_run.call(capfd, [], flags | question)
        outcome.assert_refused("--init_checkpoint=other", f"--output_dir={answering}", "leave --output_dir out")


def test_vectors_words_exports_and_python_use_the_named_model(place, capfd):
    (place / "texts.txt").write_text(f"{TEXT}\n")
    flags = {"input_file": "texts.txt", "output_file": "out.npy", "output_format": "npy", "pooling": "mean"}
    flags["max_seq_length"] = 32
    assert extract_features.main(helpers.words(flags | {"init_checkpoint": "other/model.ckpt-20"})) == 0
    expected = FeatureExtractor.load("other/model.ckpt-20").extract([TEXT])
    np.testing.assert_allclose(np.load("out.npy"), expected, atol=1e-5)
    assert not np.allclose(expected, FeatureExtractor.load("bert_output").extract([TEXT]))
    outcome = helpers.call(
        capfd, "bert-fill-mask", fill_mask.main, "the [MASK] sings .", f"--init_checkpoint={PRETRAINED}"
    )
    assert outcome.code == 0, outcome.err
    assert find_model_to_export(build(ExportSettings, {"init_checkpoint": "other", "export_dir": "e"})).labels == (
        "news",
        "sport",
    )
    assert Classifier.load("other").labels == ("news", "sport")
