"""The baselines of a run, which the page shows next to its result."""

import json

from bert_cli.report.baselines import baseline_tiles
from bert_cli.report.page import run_page
from bert_cli.report.run_files import read_run
from tests.report import folders
from tests.report.reader import Reader


def test_the_result_has_the_baselines_beside_it(tmp_path):
    folder = folders.one_label(tmp_path / "run")
    baselines = {"majority": {"accuracy": 0.5}, "tfidf": {"accuracy": 0.625, "mcc": float("nan")}}
    folders.write(
        folder, "run_report.json", json.loads((folder / "run_report.json").read_text()) | {"baselines": baselines}
    )
    found = Reader(run_page(read_run(str(folder)))).text
    head = found.partition("Training")[0].rpartition("}")[2]
    for part in ("0.7500", "0.5000", "the majority class", "0.6250", "TF-IDF with logistic regression"):
        assert part in head
    assert "1 min 15 s" not in head  # the tiles are for the result


def test_a_metric_that_is_no_number_has_no_tile(tmp_path):
    """A constant has no correlation."""
    folder = folders.one_label(tmp_path / "run")
    report = json.loads((folder / "run_report.json").read_text()) | {
        "baselines": {"majority": {"mcc": None}, "tfidf": {}}
    }
    folders.write(folder, "run_report.json", report)
    assert baseline_tiles([read_run(str(folder))], "eval_mcc") == []
    assert baseline_tiles([], "eval_mcc") == []
