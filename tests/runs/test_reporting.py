"""A run's end: an error in the report is a single warning."""

import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.outputs.eval_examples import EvalExamples, read_eval_examples
from bert_cli.report.run_files import read_run
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.reporting import finish, keep_examples, make_page, run_summary_lines
from bert_cli.settings.training import ReportPage
from tests.report import folders
from tests.snapshots import check_message

EXAMPLES = EvalExamples({"kind": "squad", "rows": 1}, [{"row": 0}])


@pytest.fixture
def warnings(caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("bert_cli"), "propagate", True)
    caplog.set_level(logging.WARNING, "bert_cli")
    return lambda: [record.getMessage() for record in caplog.records]


def test_examples_are_written(tmp_path, warnings):
    keep_examples(RunDirectory(str(tmp_path)), lambda: EXAMPLES, writes=True)
    assert read_eval_examples(str(tmp_path / "eval_examples.jsonl")) == EXAMPLES
    keep_examples(RunDirectory(str(tmp_path)), lambda: EvalExamples({"kind": "other"}, []), writes=False)
    assert read_eval_examples(str(tmp_path / "eval_examples.jsonl")) == EXAMPLES
    # An evaluation without examples removes an earlier file.
    keep_examples(RunDirectory(str(tmp_path)), None, writes=True)
    assert not (tmp_path / "eval_examples.jsonl").exists()
    assert warnings() == []


@pytest.mark.parametrize(
    ("error", "place"),
    [(InputError("no memory left"), ""), (KeyError("row"), "KeyError: ")],
)
def test_an_error_in_the_examples_is_one_warning(tmp_path, warnings, error, place):
    def compute():
        raise error

    (tmp_path / "eval_examples.jsonl").write_text('{"kind": "old"}\n', encoding="utf-8")
    keep_examples(RunDirectory(str(tmp_path)), compute, writes=True)
    (line,) = warnings()
    check_message(line, place)
    assert not (tmp_path / "eval_examples.jsonl").exists()  # it belonged to an earlier evaluation


def test_an_interrupt_is_not_a_warning(tmp_path):
    def compute():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep_examples(RunDirectory(str(tmp_path)), compute, writes=True)


def test_a_folder_without_a_run_gets_no_page(tmp_path, warnings):
    finish(RunDirectory(str(tmp_path)), ReportPage())
    assert list(tmp_path.iterdir()) == []
    assert warnings() == []


def test_a_sweep_has_one_page(tmp_path):
    run_folders = [
        folders.one_label(tmp_path / name, seed, 0.5 + seed / 10) for name, seed in (("run-1", 1), ("run-2", 2))
    ]
    folders.write(
        tmp_path, "run.json", {"command": "bert-classify", "several": "runs", "config": {}, "files": ["report.html"]}
    )
    finish(RunDirectory(str(tmp_path)), ReportPage())  # the runs have not been compared yet
    assert not (tmp_path / "report.html").exists()
    members = [{"folder": run_folder.name, "eval": {}} for run_folder in run_folders]
    folders.write(tmp_path, "run_report.json", {"several": {"kind": "runs", "members": members}, "total_seconds": 1.0})
    assert make_page(RunDirectory(str(tmp_path))) == [f"wrote {tmp_path / 'report.html'}, a page to look at"]
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "best accuracy" in page
    assert "0.6500" in page  # the mean


def test_the_summary_has_the_metric_and_the_next_command(tmp_path):
    lines = run_summary_lines(read_run(str(folders.one_label(tmp_path / "run"))), "wrote it")
    check_message(lines)
    # The best checkpoint was chosen by another metric than the main one.
    folders.write(tmp_path / "run", "best.json", {"folder": "best", "step": 90, "metric": "eval_loss", "value": 0.6})
    line = "done in 1 min 20 s: accuracy 0.7500, loss 0.6000 at step 90"
    assert run_summary_lines(read_run(str(tmp_path / "run")), "wrote it")[0] == line
    folders.write(tmp_path / "run", "best.json", {"folder": "best", "step": 60, "metric": "eval_loss", "value": 0.5})
    assert run_summary_lines(read_run(str(tmp_path / "run")), "wrote it")[0] == f"{line} (best loss 0.5000 at step 60)"
    (tmp_path / "run" / "best.json").unlink()
    # A temporary directory will be removed before anybody can type the command.
    assert run_summary_lines(read_run(str(tmp_path / "run")), "wrote it", names_next=False) == lines[:2]
