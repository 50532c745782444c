"""Commands in containers with little memory."""

import functools
import re

import pytest

from bert_cli import doctor
from bert_cli.runtime import machine
from tests.commands import helpers
from tests.snapshots import check_message


@pytest.fixture
def container(tmp_path, monkeypatch):
    """Limit this process, as a container does, to 700 MB with 600 MB in use."""
    group = tmp_path / "groups" / "slurm" / "job_7"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("700000000\n")
    (group / "memory.current").write_text("600000000\n")
    (group / "cpu.max").write_text("50000 100000\n")
    (group / "memory.stat").write_text("inactive_file 0\n")
    (tmp_path / "own").write_text("0::/slurm/job_7/step\n")
    monkeypatch.setattr(machine, "_CGROUPS", str(tmp_path / "groups"))
    monkeypatch.setattr(machine, "_OWN_CGROUPS", str(tmp_path / "own"))
    monkeypatch.setattr("bert_cli.runs.dry_run.has_gpu", lambda: False)


def test_dry_run_predicts_before_it_allocates(container, classify, flags, tmp_path, monkeypatch):
    def refuse(*arguments):
        raise AssertionError("the model must not be built")

    monkeypatch.setattr("bert_cli.runs.dry_run.open_network", refuse)
    outcome = classify(*flags, "--do_train", "--dry_run", f"--output_dir={tmp_path / 'out'}")
    outcome.assert_refused("--dry_run: ", "100 MB")


def test_doctor_reports_the_limit_without_tensorflow(container, capfd, monkeypatch):
    def refuse():
        raise AssertionError("TensorFlow must not be started")

    monkeypatch.setattr(doctor, "setup_tensorflow", refuse)
    monkeypatch.setattr(doctor, "_TRIED_PACKAGES", ())
    outcome = functools.partial(helpers.call, capfd, "bert-doctor", doctor.main)()
    assert outcome.code == 0, outcome.err
    check_message(outcome.lines, "memory: ")
    assert "too little memory is free to start TensorFlow" in outcome.err
    assert re.search(r"^devices: 1 (of \d+ cores \(a cgroup's CPU quota of 0.5\)|core);", outcome.err, re.MULTILINE)
