"""Disk space for checkpoints, checked before the first step."""

import logging
import shutil
import types

import pytest

from bert_cli.base.errors import InputError
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.engine.disk_space import CheckpointPlan, check_space
from bert_cli.settings.training import Saving
from tests.snapshots import check_message, raises

MB = 1_000_000


def make_plan(saves, keep=5, moments="newest", keeps_best=False) -> CheckpointPlan:
    return CheckpointPlan(90 * MB, 30 * MB, saves, Saving(keep_checkpoint_max=keep, keep_moments=moments), keeps_best)


@pytest.fixture
def free(monkeypatch):
    """free(size) replaces the disk's free space by a number of bytes."""

    def set_free(size):
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: types.SimpleNamespace(free=size))

    return set_free


@pytest.mark.parametrize(
    ("plan", "megabytes"),
    [
        (make_plan(1), 90),
        (make_plan(2), 180),
        (make_plan(4), 2 * 90 + 2 * 30),
        (make_plan(100), 2 * 90 + 4 * 30),
        (make_plan(100, keep=1), 180),
        (make_plan(100, keep=0), 2 * 90 + 98 * 30),
        (make_plan(100, moments="all"), 6 * 90),
        (make_plan(100, keep=1, moments="all"), 180),
        (make_plan(3, keep=0, moments="all"), 3 * 90),
        (make_plan(100, keeps_best=True), 2 * 90 + 4 * 30 + 2 * 30),
    ],
)
def test_most_bytes_counts_all_checkpoints_during_a_save(plan, megabytes):
    assert plan.most_bytes == megabytes * MB


def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path, free):
    free(20_900_000)
    folder = tmp_path / "not" / "yet"
    with raises(InputError, f"{folder}: "):
        check_space(RunDirectory(str(folder)), make_plan(3))


def test_checkpoints_that_do_not_fit_together_are_a_warning(tmp_path, free, caplog):
    free(200 * MB)
    check_space(RunDirectory(str(tmp_path)), make_plan(100))
    check_message(caplog)


@pytest.mark.parametrize(("megabytes", "plan"), [(300, make_plan(100)), (90, make_plan(1)), (0, make_plan(0))])
def test_enough_space_is_not_logged(megabytes, plan, tmp_path, free, caplog):
    caplog.set_level(logging.INFO)
    free(megabytes * MB)
    check_space(RunDirectory(str(tmp_path)), plan)
    assert caplog.messages == []


def test_a_resumed_run_has_already_written_checkpoints(tmp_path, free, caplog):
    free(200 * MB)
    (tmp_path / "best").mkdir()
    for name in ("model.ckpt-10.data-00000-of-00001", "best/model.ckpt-10.data-00000-of-00001", "train.csv"):
        with open(tmp_path / name, "wb") as file:
            file.truncate(50 * MB)
    check_space(RunDirectory(str(tmp_path)), make_plan(100))
    assert caplog.messages == []


def test_a_remote_directory_is_not_checked(free):
    free(0)
    check_space(RunDirectory("gs://bucket/run"), make_plan(3))
