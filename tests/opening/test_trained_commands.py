"""The command that trained a model, from its run.json, flags.txt or config.json."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.opening.trained import check_command, command_of
from bert_cli.weights.path import HUGGING_FACE, CheckpointPath
from tests.snapshots import raises


def test_run_json_names_the_command(checkpoint, tmp_path):
    (tmp_path / "run.json").write_text('{"command": "bert-tag", "config": {}}')
    (tmp_path / "flags.txt").write_text("--n_best_size=20\n")
    assert command_of(checkpoint) == "bert-tag"
    check_command(checkpoint, "bert-tag")
    with raises(InputError):
        check_command(checkpoint, "bert-squad")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--threshold=0.5", "bert-classify"),
        ("--tag_scheme=BIO", "bert-tag"),
        ("--n_best_size=20", "bert-squad"),
        ("--a=b", None),
    ],
)
def test_converted_models_have_only_flags(checkpoint, tmp_path, flags, expected):
    (tmp_path / "flags.txt").write_text(f"{flags}\n")
    assert command_of(checkpoint) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"architectures": ["BertForTokenClassification"]}, "bert-tag"),
        ({"architectures": ["DistilBertForQuestionAnswering"]}, "bert-squad"),
        ({"architectures": ["Unknown"]}, None),
        ({"architectures": "damaged"}, None),
        ([], None),
    ],
)
def test_hugging_face_names_a_class(tmp_path, values, expected):
    (tmp_path / "config.json").write_text(json.dumps(values))
    assert command_of(CheckpointPath(HUGGING_FACE, str(tmp_path))) == expected


def test_unknown_commands_are_allowed(checkpoint):
    check_command(checkpoint, "bert-squad")
