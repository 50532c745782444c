"""Learning rate and epochs if no flags give them."""

import json
import logging

import pytest

from bert_cli.runs.tasks.interface import Recipe
from bert_cli.runs.training_plan import GOOGLE, defaults_of, resolve_recipe
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.pretraining import PretrainSettings
from tests.settings.test_training_grids import settings_of
from tests.snapshots import check_message


@pytest.fixture
def write_run(tmp_path):
    """run_of(**values) writes a run with a checkpoint, and these values in run.json."""

    def write(**values):
        (tmp_path / "run.json").write_text(json.dumps({"command": "bert-classify", "config": {}} | values))
        (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-5"\n')
        (tmp_path / "model.ckpt-5.index").write_bytes(b"")
        return f"--output_dir={tmp_path}"

    return write


def choose(settings, width=256, command="bert-classify"):
    return resolve_recipe(settings, width, command)


@pytest.mark.parametrize(
    ("width", "expected"),
    [(16, (3e-4, 4)), (256, (3e-4, 4)), (384, (1e-4, 4)), (512, (1e-4, 4)), (768, (5e-5, 3)), (1024, (5e-5, 3))],
)
def test_defaults_depend_on_the_width(width, expected):
    assert defaults_of(width) == expected


def test_bert_base_keeps_the_defaults_of_google():
    assert defaults_of(768) == GOOGLE == Recipe(5e-5, 3.0)


def test_flags_have_priority_and_defaults_are_logged(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    out = f"--output_dir={tmp_path}"
    assert choose(settings_of(out)) == (3e-4, 4.0)
    assert choose(settings_of(out, "--learning_rate=0.01")) == (0.01, 4.0)
    assert choose(settings_of(out, "--learning_rate=0", "--num_train_epochs=2")) == (0.0, 2.0)
    check_message(caplog)


def test_a_resumed_run_keeps_its_values(write_run, caplog):
    caplog.set_level(logging.INFO)
    out = write_run(learning_rate=0.003, num_train_epochs=5.0)
    assert choose(settings_of(out)) == (0.003, 5.0)
    check_message(caplog.messages[0], "--learning_rate=0.003, --num_train_epochs=5: ")
    assert choose(settings_of(out, "--num_train_epochs=6")) == (0.003, 6.0)
    assert choose(settings_of(out, "--overwrite_output_dir")) == (3e-4, 4.0)
    assert choose(settings_of(out), command="bert-tag") == (3e-4, 4.0)


def test_a_run_without_checkpoint_does_not_decide_the_values(write_run, tmp_path):
    out = write_run(learning_rate=0.003, num_train_epochs=5.0)
    (tmp_path / "checkpoint").unlink()
    (tmp_path / "model.ckpt-5.index").unlink()
    assert choose(settings_of(out)) == (3e-4, 4.0)


def test_a_damaged_value_in_run_json_is_ignored(write_run):
    assert choose(settings_of(write_run(learning_rate="fast", num_train_epochs=5.0))) == (3e-4, 4.0)


def test_pretraining_has_another_default():
    settings = PretrainSettings()
    assert settings.training.learning_rate == 5e-5
    recipe = resolve_recipe(settings, 16, "bert-pretrain")
    assert recipe.flag_values(settings) == {"learning_rate": 5e-5}
    assert ClassifySettings().training.learning_rate is None
