"""Files of a model come from flags, from the checkpoint's directory, or are built in."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runs.loading.paths import find_paths
from bert_cli.settings.groups import Hub, ModelFiles
from bert_cli.weights.path import TF1, CheckpointPath


@pytest.fixture
def checkpoint(tmp_path) -> CheckpointPath:
    return CheckpointPath(TF1, str(tmp_path / "bert_model.ckpt"))


def test_files_lie_next_to_the_checkpoint(checkpoint, tmp_path):
    for name in ("vocab.txt", "bert_config.json"):
        (tmp_path / name).write_text("{}")
    paths = find_paths(ModelFiles(), None, checkpoint, True, Hub())
    assert (paths.vocab_file, paths.config_file) == (f"{tmp_path}/vocab.txt", f"{tmp_path}/bert_config.json")
    assert not paths.is_builtin


def test_without_flags_the_small_network_is_built_in():
    paths = find_paths(ModelFiles(), None, None, True, Hub())
    assert paths.is_builtin
    assert paths.checkpoint is None


def test_a_missing_vocabulary_is_an_error(checkpoint, tmp_path):
    with pytest.raises(InputError, match=r"--vocab_file is needed \(.*bert_model\.ckpt has none\)"):
        find_paths(ModelFiles(), None, checkpoint, True, Hub())
    assert find_paths(ModelFiles(), None, checkpoint, False, Hub()).vocab_file is None


def test_flags_of_the_run_that_made_the_checkpoint(checkpoint, tmp_path):
    (tmp_path / "flags.txt").write_text("--do_lower_case=false\n# found in the data: --text_column=1\n")
    (tmp_path / "vocab.txt").write_text(json.dumps("a"))
    paths = find_paths(ModelFiles(), None, checkpoint, True, Hub())
    assert paths.saved_flags == {"do_lower_case": "false"}
    assert paths.guesses == {"text_column": "1"}
