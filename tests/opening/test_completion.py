"""Settings are completed with a training's flags."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.option import build
from bert_cli.opening.completion import complete_settings
from bert_cli.settings.tagging import TagSettings
from tests.snapshots import raises


@pytest.fixture
def run(tmp_path):
    """A run's directory with flags and a checkpoint; its contents do not matter here."""
    for ending in ("index", "data-00000-of-00001"):
        (tmp_path / f"model.ckpt-4.{ending}").write_bytes(b"x")
    (tmp_path / "flags.txt").write_text("--max_seq_length=37\n--learning_rate=0.5\n")
    return tmp_path


def settings_of(folder, **values):
    return build(TagSettings, {"output_dir": str(folder), "max_seq_length": 99, **values})


def test_prediction_uses_the_values_of_the_training(run):
    assert complete_settings(settings_of(run, do_predict=True), ()).encoding.max_seq_length == 37


def test_given_flags_are_not_replaced(run):
    settings = settings_of(run, do_predict=True)
    assert complete_settings(settings, ("max_seq_length",)).encoding.max_seq_length == 99


@pytest.mark.parametrize(("data_dir", "expected"), [("/data/new", None), ("/data/old", "/data/dev.txt")])
def test_a_given_flag_replaces_remembered_files(data_dir, expected, run):
    """Unless the training was given the same value, together with these files."""
    with (run / "flags.txt").open("a") as file:
        file.write("--data_dir=/data/old\n--dev_file=/data/dev.txt\n")
    settings = settings_of(run, do_eval=True, data_dir=data_dir)
    data = complete_settings(settings, ("data_dir",), {"data_dir": ("dev_file",)}).data
    assert (data.data_dir, data.dev_file) == (data_dir, expected)
    assert (
        complete_settings(settings_of(run, do_eval=True), (), {"data_dir": ("dev_file",)}).data.dev_file
        == "/data/dev.txt"
    )


def test_training_does_not_read_flags_of_an_older_run(run):
    assert complete_settings(settings_of(run, do_train=True), ()).encoding.max_seq_length == 99


def test_prediction_needs_a_model(tmp_path):
    with raises(InputError, "empty: "):
        complete_settings(settings_of(tmp_path / "empty", do_predict=True), ())
