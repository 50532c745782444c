"""Files of a model come from flags, from the checkpoint's directory, or are built in."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.opening.paths import find_paths, read_vocab_size, refuse_other_network
from bert_cli.weights.path import TF1, CheckpointPath
from tests.snapshots import raises


@pytest.fixture
def checkpoint(tmp_path) -> CheckpointPath:
    return CheckpointPath(TF1, str(tmp_path / "bert_model.ckpt"))


def test_files_lie_next_to_the_checkpoint(checkpoint, tmp_path):
    for name in ("vocab.txt", "bert_config.json"):
        (tmp_path / name).write_text("{}")
    paths = find_paths(None, None, checkpoint, True)
    assert (paths.vocab_file, paths.config_file) == (f"{tmp_path}/vocab.txt", f"{tmp_path}/bert_config.json")
    assert not paths.is_builtin


def test_without_flags_the_small_network_is_built_in():
    paths = find_paths(None, None, None, True)
    assert paths.is_builtin
    assert paths.checkpoint is None


def test_a_missing_vocabulary_is_an_error(checkpoint, tmp_path):
    with raises(InputError, "--vocab_file"):
        find_paths(None, None, checkpoint, True)
    assert find_paths(None, None, checkpoint, False).vocab_file is None


def test_flags_of_the_run_that_made_the_checkpoint(checkpoint, tmp_path):
    (tmp_path / "flags.txt").write_text("--do_lower_case=false\n# found in the data: --text_column=1\n")
    (tmp_path / "vocab.txt").write_text(json.dumps("a"))
    paths = find_paths(None, None, checkpoint, True)
    assert paths.saved_flags == {"do_lower_case": "false"}
    assert paths.guesses == {"text_column": "1"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{}", None),
        ('{"vocab_size": 30522, "hidden_size": 7, "num_attention_heads": 2}', 30522),
        ('{"vocab_size": true}', "config.json: vocab_size must be a whole number above 0, found True"),
        ('{"vocab_size": 0}', "config.json: vocab_size must be a whole number above 0, found 0"),
        ("[]", "a bert_config.json is needed"),
        ('{"model_type": "roberta"}', "model_type is 'roberta', which is another network than BERT"),
    ],
)
def test_vocab_size(tmp_path, content, expected):
    """Other values may be wrong: a tokenizer does not need them."""
    path = tmp_path / "config.json"
    path.write_text(content)
    if isinstance(expected, str):
        with pytest.raises(InputError, match=expected):
            read_vocab_size(str(path))
    else:
        assert read_vocab_size(str(path)) == expected


def test_only_a_config_of_hugging_face_names_another_network(tmp_path):
    for name in ("config.json", "bert_config.json"):
        (tmp_path / name).write_text('{"model_type": "roberta"}')
    with pytest.raises(InputError, match="take bert-base-cased instead"):
        refuse_other_network(str(tmp_path / "config.json"))
    refuse_other_network(str(tmp_path / "bert_config.json"))
