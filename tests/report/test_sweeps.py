"""Directories with several runs by one command."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.report.sweeps import member_folders, read_sweep
from tests.report import folders


def test_member_folders(tmp_path):
    assert read_sweep(str(tmp_path)) is None
    assert member_folders(str(tmp_path)) == []
    cells = [{"folder": "a", "eval": {}}, {"folder": "b", "eval": {}}]
    folders.write(tmp_path, "run_report.json", {"several": {"kind": "grid", "members": cells, "best": "b"}})
    (tmp_path / "b").mkdir()
    seeds = [{"folder": "run-1", "eval": {}}, {"folder": "run-2", "eval": {}}]
    folders.write(tmp_path / "b", "run_report.json", {"several": {"kind": "runs", "members": seeds, "best": "run-1"}})
    assert read_sweep(str(tmp_path)).best == "b"
    assert member_folders(str(tmp_path)) == [str(tmp_path / name) for name in ("a", "b/run-1", "b/run-2")]


def test_suspects_of_a_cross_validation(tmp_path):
    members = [{"folder": "fold-1", "eval": {}}]
    folders.write(tmp_path, "run_report.json", {"several": {"kind": "folds", "members": members}})
    assert read_sweep(str(tmp_path)).suspects is None
    folders.write(tmp_path, "suspects.tsv", 'id\ttext\n7\ta "quoted" text\n')
    assert read_sweep(str(tmp_path)).suspects == [{"id": "7", "text": 'a "quoted" text'}]


def test_a_damaged_report_is_reported(tmp_path):
    folders.write(tmp_path, "run_report.json", '{"several": ')
    with pytest.raises(InputError, match=r"run_report\.json"):
        read_sweep(str(tmp_path))
