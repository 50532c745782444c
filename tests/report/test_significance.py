"""Significance of the difference between two runs, on pages and in the log's lines."""

import json

import pytest

from bert_cli.report.page import compare, comparison_page
from bert_cli.report.run_files import read_run
from tests.report import folders
from tests.report.reader import Reader


def write_rows(folder, kind, rows, **head):
    folders.write(folder, "eval_examples.jsonl", [{"kind": kind, "rows": len(rows), **head}, *rows])
    return read_run(str(folder))


def classified(folder, num_right, num_rows=20, gold=1):
    """Return a run with these numbers of right and all rows."""
    right, wrong = [0.2, 0.8], [0.6, 0.4]
    rows = [
        {"row": row, "label": gold, "probabilities": right if row < num_right else wrong, "text": f"text {row}"}
        for row in range(num_rows)
    ]
    rows[-1]["label"] = 0
    return write_rows(folders.one_label(folder), "single_label", rows, labels=["no", "yes"])


@pytest.mark.parametrize(("num_right", "verdict"), [(16, "not different"), (6, "different")])
def test_single_label(num_right, verdict, tmp_path):
    runs = [classified(tmp_path / "a", 19), classified(tmp_path / "b", num_right)]
    compared = compare(runs)
    assert compared.significance
    only_a = 19 - num_right
    first, accuracy = compared.significance.lines()[:2]
    assert f"right rows · {verdict} (McNemar, p = " in first
    assert f"{only_a} only a, 0 only b" in first
    assert (
        f"accuracy · {'different' if num_right == 6 else 'not different'} (1.0000 and " in accuracy or num_right == 16
    )
    reader = Reader(comparison_page(compared))
    assert {"card-significance", "card-differing"} <= set(reader.ids)
    assert f"text {num_right}" in reader.text
    assert f"of {only_a} rows that one of the runs predicts right" in reader.text


def test_equal_runs_are_not_different(tmp_path):
    compared = compare([classified(tmp_path / "a", 10), classified(tmp_path / "b", 10)])
    assert compared.significance
    assert all("not different" in line for line in compared.significance.lines())
    assert "card-differing" not in Reader(comparison_page(compared)).ids


def test_numbers_and_questions(tmp_path):
    numbers = [
        write_rows(
            folders.regression(tmp_path / name),
            "regression",
            [{"row": row, "value": float(row), "predicted": row + error * (-1) ** row} for row in range(30)],
            labels=[],
        )
        for name, error in (("near", 0.1), ("far", 2.0))
    ]
    lines = compare(numbers).significance.lines()
    assert any(line.startswith("RMSE · different (0.1000 and 2.0000) · far minus near: +1.9000") for line in lines)
    assert not any("McNemar" in line for line in lines)


@pytest.mark.parametrize("change", [{"num_rows": 21}, {"gold": 0}])
def test_other_rows_are_not_compared(change, tmp_path):
    assert compare([classified(tmp_path / "a", 19), classified(tmp_path / "b", 6, **change)]).significance is None


def test_other_data_is_named_instead(tmp_path):
    runs = []
    for name in "ab":
        classified(tmp_path / name, 19)
        report = json.loads((tmp_path / name / "run_report.json").read_text("utf-8"))
        folders.write(tmp_path / name, "run_report.json", report | {"eval_data_digest": name})
        runs.append(read_run(str(tmp_path / name)))
    compared = compare(runs)
    assert (compared.significance, "different data" in compared.warning) == (None, True)
