"""An export appears in one step, and only replaces an older export."""

import contextlib
import os

import pytest

from bert_cli.base.errors import InputError
from bert_cli.exports.exported import check_target, exporting
from tests.snapshots import raises


def test_an_export_replaces_an_older_one(tmp_path):
    folder = tmp_path / "deep" / "1"
    for number in range(2):
        with exporting(str(folder)) as staged:
            os.mkdir(staged)
            with open(os.path.join(staged, "saved_model.pb"), "w", encoding="utf-8") as file:
                file.write(str(number))
    assert (folder / "saved_model.pb").read_text() == "1"
    assert os.listdir(tmp_path / "deep") == ["1"]


def test_a_failure_keeps_the_older_export(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").write_text("before")
    with contextlib.suppress(KeyboardInterrupt), exporting(str(tmp_path / "1")) as staged:
        os.mkdir(staged)
        raise KeyboardInterrupt
    assert (tmp_path / "1" / "saved_model.pb").read_text() == "before"
    assert os.listdir(tmp_path) == ["1"]


def test_directories_for_an_export(tmp_path):
    check_target(str(tmp_path / "new"), overwrite=False)
    check_target(str(tmp_path), overwrite=False)
    (tmp_path / "saved_model.pb").write_text("x")
    check_target(str(tmp_path), overwrite=True)
    with pytest.raises(InputError, match="is not empty"):
        check_target(str(tmp_path), overwrite=False)
    (tmp_path / "notes.txt").write_text("x")
    with raises(InputError):
        check_target(str(tmp_path), overwrite=True)
