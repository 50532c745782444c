"""Inputs in a directory that --overwrite_output_dir clears."""

import json
import os
import signal

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.option import build
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.resuming import advising_to_resume, check_inputs, checkpoint_to_resume, describe_resuming_command
from bert_cli.runtime.signals import Stopped
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.tagging import TagSettings
from tests.snapshots import check_message, raises

FILES = ("model.ckpt-2.index", "vocab.txt", "predictions.tsv")


@pytest.fixture
def folder(tmp_path):
    """A run's directory, with a file that the run did not write."""
    run = tmp_path / "m"
    (run / "best").mkdir(parents=True)
    for name in (*FILES, "own.tsv", "best/model.ckpt-1.index"):
        (run / name).touch()
    (run / "run.json").write_text(
        json.dumps({"config": {}, "files": ["vocab.txt", "predictions.tsv", "best"]}), encoding="utf-8"
    )
    os.symlink(run, tmp_path / "link")
    return run


def check(folder, settings_class=ClassifySettings, **flags):
    paths = {name: str(folder.parent / value) for name, value in flags.items()}
    check_inputs(build(settings_class, {"output_dir": str(folder)} | paths))


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("distill_from", "m"),
        ("distill_from", "link"),
        ("distill_from", "m/model.ckpt-2"),
        ("init_checkpoint", "m/best"),
        ("init_checkpoint", "m/best/model.ckpt-1"),
        ("vocab_file", "m/vocab.txt"),
        ("train_file", "m/predictions.tsv"),
        ("unlabeled_file", "link/predictions.tsv"),
        ("predict_file", "m/pred*.tsv"),
        ("predict_file", "other.tsv,m/predictions.tsv"),
    ],
)
def test_an_input_that_would_be_removed_is_refused(folder, flag, value):
    if "," in value:
        value = f"other.tsv,{folder}/predictions.tsv"
    with raises(InputError, flag):
        check(folder, **{flag: value})
    assert all((folder / name).exists() for name in FILES)


def test_inputs_that_stay_are_accepted(folder):
    check(
        folder, distill_from="teacher", init_checkpoint="m-2", train_file="m/own.tsv", data_dir="m", output_file="m/x"
    )
    check(folder, TagSettings, train_file="m/own.tsv", init_checkpoint="elsewhere/bert_model.ckpt")
    check(folder.parent / "new", distill_from="m")


def test_models_in_a_sweep_are_refused(folder):
    """Each run in a sweep has a subdirectory."""
    for name in ("run-1", "notes"):
        (folder / name).mkdir()
        (folder / name / "model.ckpt-3.index").touch()
    (folder / "run-1" / "run.json").write_text('{"config": {}}', encoding="utf-8")
    with pytest.raises(InputError, match=r"^--distill_from="):
        check(folder, distill_from="m/run-1")
    check(folder, distill_from="m/notes")


@pytest.mark.parametrize(
    ("error", "rerun"),
    [
        (KeyboardInterrupt(), describe_resuming_command(False)),
        (Stopped(signal.SIGTERM), describe_resuming_command(True)),
        (Stopped(signal.SIGTERM, "saved"), describe_resuming_command(False)),
    ],
)  # fmt: skip
def test_an_interruption_names_the_command_that_resumes(folder, error, rerun):
    with (
        raises(BaseException) as caught,
        advising_to_resume(RunDirectory(str(folder)), rerun),
    ):
        raise error
    assert caught.value.exit_code == (130 if isinstance(error, KeyboardInterrupt) else 143)


def test_an_interruption_before_the_first_checkpoint_stays(tmp_path):
    with pytest.raises(KeyboardInterrupt, match=r"^$"), advising_to_resume(RunDirectory(str(tmp_path)), "again"):
        raise KeyboardInterrupt


def test_a_dry_run_logs_a_refusal(folder, caplog):
    values = {"output_dir": str(folder), "data_dir": "d", "do_train": True}
    settings = build(TagSettings, values)
    with raises(InputError, "m: "):
        checkpoint_to_resume(settings, {"random_seed": 7}, None, ())
    settings = build(TagSettings, values | {"dry_run": True})
    assert checkpoint_to_resume(settings, {"random_seed": 7}, None, ()) is None
    check_message(caplog.messages[0], "--dry_run")
