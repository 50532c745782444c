"""Changed model files of a run, compared with its run.json."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.model.config import BertConfig
from bert_cli.run_directory.manifest import check_config, check_same_labels, check_vocabulary, vocabulary_digest
from bert_cli.weights.path import find_checkpoint
from tests.snapshots import raises


@pytest.fixture
def run(tmp_path, tiny_config):
    """A directory with a run.json, and its checkpoint."""
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    values = {
        "config": vars(tiny_config()).copy(),
        "vocabulary": vocabulary_digest(b"a\nb\n"),
        "labels": ["x", "y"],
    }
    (tmp_path / "run.json").write_text(json.dumps(values))
    (tmp_path / "bert_config.json").write_text("{}")
    for name in ("index", "data-00000-of-00001"):
        (tmp_path / f"model.ckpt-3.{name}").write_bytes(b"x")
    return tmp_path, find_checkpoint(str(tmp_path / "model.ckpt-3"), "init_checkpoint")


def test_a_changed_vocabulary_is_refused(run):
    folder, checkpoint = run
    path = str(folder / "vocab.txt")
    check_vocabulary(path, checkpoint)
    (folder / "vocab.txt").write_text("b\na\n")
    with raises(InputError):
        check_vocabulary(path, checkpoint)
    other_path = folder / "other.txt"
    other_path.write_text("c\n")
    check_vocabulary(str(other_path), checkpoint)  # a vocabulary from a flag may differ


def test_changed_labels_are_refused(run):
    check_same_labels(("x", "y"), run[1])
    with raises(InputError, "labels.txt: "):
        check_same_labels(("y", "x"), run[1])


def test_a_changed_config_is_refused(run, tiny_config):
    folder, checkpoint = run
    path = str(folder / "bert_config.json")
    check_config(tiny_config(), path, checkpoint)
    changed: BertConfig = tiny_config(hidden_dropout_prob=0.5)
    with raises(InputError):
        check_config(changed, path, checkpoint)
    check_config(changed, path, checkpoint, ignored_keys=("hidden_dropout_prob",))
