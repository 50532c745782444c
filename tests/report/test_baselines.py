"""Baselines, which a run's page shows next to its result."""

import json

from bert_cli.report.baselines import baseline_tiles
from bert_cli.report.page import run_page
from bert_cli.report.run_files import read_run
from tests.report import folders
from tests.report.reader import Reader


def test_baselines_are_next_to_the_result(tmp_path):
    folder = folders.one_label(tmp_path / "run")
    baselines = {"majority": {"accuracy": 0.5}, "tfidf": {"accuracy": 0.625, "mcc": float("nan")}}
    folders.write(
        folder, "run_report.json", json.loads((folder / "run_report.json").read_text()) | {"baselines": baselines}
    )
    text = Reader(run_page(read_run(str(folder)))).text
    head = text.partition("Training")[0].rpartition("}")[2]
    for expected in ("0.7500", "0.5000", "the majority class", "0.6250", "TF-IDF with logistic regression"):
        assert expected in head
    assert "1 min 15 s" not in head  # the tiles are for the result


def test_an_undefined_metric_has_no_tile(tmp_path):
    """A constant prediction has no correlation."""
    folder = folders.one_label(tmp_path / "run")
    report = json.loads((folder / "run_report.json").read_text()) | {
        "baselines": {"majority": {"mcc": None}, "tfidf": {}}
    }
    folders.write(folder, "run_report.json", report)
    assert baseline_tiles([read_run(str(folder))], "eval_mcc") == []
    assert baseline_tiles([], "eval_mcc") == []
