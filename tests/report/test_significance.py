"""Significance of the difference between two runs, on pages and in the log's lines."""

import json

import pytest

from bert_cli.report.page import compare_runs, comparison_page
from bert_cli.report.run_files import read_run
from tests.report import folders
from tests.report.reader import Reader


def folder_run(folder):
    return read_run(str(folder))


def write_rows(folder, kind, rows, **head):
    folders.write(folder, "eval_examples.jsonl", [{"kind": kind, "rows": len(rows), **head}, *rows])
    return folder_run(folder)


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
    compared = compare_runs(runs)
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
    compared = compare_runs([classified(tmp_path / "a", 10), classified(tmp_path / "b", 10)])
    assert compared.significance
    assert all("not different" in line for line in compared.significance.lines())
    assert "card-differing" not in Reader(comparison_page(compared)).ids


def test_numbers(tmp_path):
    numbers = [
        write_rows(
            folders.regression(tmp_path / name),
            "regression",
            [{"row": row, "value": float(row), "predicted": row + error * (-1) ** row} for row in range(30)],
            labels=[],
        )
        for name, error in (("near", 0.1), ("far", 2.0))
    ]
    lines = compare_runs(numbers).significance.lines()
    assert any(line.startswith("RMSE · different (0.1000 and 2.0000) · far minus near: +1.9000") for line in lines)
    assert not any("McNemar" in line for line in lines)


def answered(folder, exact):
    """Return a run that has these exact matches."""
    rows = [
        {
            "row": row, "exact": score, "f1": max(score, 0.5), "best_exact": score, "best_f1": score, "null_odds": None,
            "is_answerable": True, "is_answered": True, "is_right": score == 1, "question": f"question {row}?",
        }
        for row, score in enumerate(exact)
    ]  # fmt: skip
    return write_rows(folders.squad(folder), "squad", rows)


def test_questions(tmp_path):
    right, wrong = [1.0] * 30, [1.0] * 10 + [0.0] * 20
    compared = compare_runs([answered(tmp_path / "a", right), answered(tmp_path / "b", wrong)])
    rows, exact, f1 = compared.significance.lines()
    assert rows.startswith("right rows · different (McNemar, p = 1.91e-06) · 20 only a, 0 only b")
    assert exact.startswith("exact match · different (100.0 and 33.3333) · b minus a: -66.6667, 95% from -8")
    assert f1.startswith("F1 · different (100.0 and 66.6667) · b minus a: -33.3333, 95% from -4")
    text = Reader(comparison_page(compared)).text
    assert "question 10?" in text
    assert "F1 0.5" in text
    same = compare_runs([answered(tmp_path / "c", wrong), answered(tmp_path / "d", wrong)])
    assert [line.split(" (")[0] for line in same.significance.lines()] == [
        f"{name} · not different" for name in ("right rows", "exact match", "F1")
    ]


def tagged(folder, correct):
    """Return a tagging run that has two entities per sentence, and these counts of correct ones."""
    tags = {"words": ["Anna", "sees", "Bob"], "gold": ["B-PER", "O", "B-PER"], "predicted": ["O"] * 3}
    rows = [
        {
            "row": row,
            "gold_entities": 2,
            "predicted_entities": 2,
            "correct_entities": count,
            **(tags if row < 3 else {}),
        }
        for row, count in enumerate(correct)
    ]
    return write_rows(folders.tagging(folder), "tagging", rows)


def test_entities(tmp_path):
    compared = compare_runs([tagged(tmp_path / "a", [2] * 20), tagged(tmp_path / "b", [0, 1] * 10)])
    rows, f1 = compared.significance.lines()
    assert rows.startswith("right rows · different (McNemar, p = 1.91e-06) · 20 only a, 0 only b")
    assert f1.startswith("F1 · different (100.0 and 25.0000) · b minus a: -75.0000, 95% from -8")
    text = Reader(comparison_page(compared)).text
    assert "Anna sees Bob" in text
    assert "1 of 2 entities, 2 predicted" in text
    outdated = compare_runs([folder_run(folders.tagging(tmp_path / name)) for name in ("c", "d")])
    assert (outdated.significance, "evaluate it again" in outdated.untested) == (None, True)


@pytest.mark.parametrize("change", [{"num_rows": 21}, {"gold": 0}])
def test_other_rows_are_named(change, tmp_path):
    """The rows differ, and no digest does."""
    compared = compare_runs([classified(tmp_path / "a", 19), classified(tmp_path / "b", 6, **change)])
    assert (compared.significance, compared.warning) == (None, "")
    place = "rows" if "num_rows" in change else "row 0"
    assert f"eval_examples.jsonl of a and b differ in {place}; evaluate both on the same rows" in compared.untested
    assert compared.untested in Reader(comparison_page(compared)).text


def test_missing_rows_and_other_labels_are_named(tmp_path):
    first = classified(tmp_path / "a", 19)
    classified(tmp_path / "b", 19)
    rows = [json.loads(line) for line in (tmp_path / "b" / "eval_examples.jsonl").read_text("utf-8").splitlines()]
    folders.write(tmp_path / "b", "eval_examples.jsonl", [rows[0] | {"labels": ["yes", "no"]}, *rows[1:]])
    assert "differ in labels" in compare_runs([first, folder_run(tmp_path / "b")]).untested
    (tmp_path / "b" / "eval_examples.jsonl").unlink()
    assert compare_runs([first, folder_run(tmp_path / "b")]).untested == (
        "b has no rows in eval_examples.jsonl; evaluate it again with --report"
    )
    report = json.loads((tmp_path / "a" / "run_report.json").read_text("utf-8"))
    runs = []
    for folder, label in ((tmp_path / "a", "no"), (tmp_path / "b", "yes")):
        folders.write(folder, "run_report.json", report | {"positive_label": label})
        folders.write(folder, "eval_examples.jsonl", rows)
        runs.append(folder_run(folder))
    assert compare_runs(runs).untested == "F1 is of no and yes; evaluate both with one --positive_label"


def changed_run(folder, file, **members):
    """Return a run with other members in one of its JSON files."""
    classified(folder, 19)
    folders.write(folder, file, json.loads((folder / file).read_text("utf-8")) | members)
    return read_run(str(folder))


def test_other_data_is_named_instead(tmp_path):
    runs = [changed_run(tmp_path / name, "run_report.json", eval_data_digest=name) for name in "ab"]
    compared = compare_runs(runs)
    assert (compared.significance, "different data" in compared.warning) == (None, True)


def test_weights_that_are_not_used_are_named(tmp_path):
    compared = compare_runs([changed_run(tmp_path / name, "run.json", weighted_metrics=True) for name in "ab"])
    assert "without the weights of --weighted_metrics" in compared.significance.lines()[-1]
    assert "without the weights of --weighted_metrics" in Reader(comparison_page(compared)).text


def test_several_labels(tmp_path):
    runs = []
    for name, num_right in (("a", 30), ("b", 12)):
        rows = [
            {"row": row, "labels": [1, row % 2], "probabilities": [0.9 if row < num_right else 0.2, 0.1]}
            for row in range(30)
        ]
        head = {"labels": ["x", "y"], "thresholds": [0.5, 0.5]}
        runs.append(write_rows(folders.several_labels(tmp_path / name), "multi_label", rows, **head))
    rows, micro_f1, *others = compare_runs(runs).significance.lines()
    assert rows.startswith("right rows · different (McNemar, p = 0.00391) · 9 only a, 0 only b")
    assert micro_f1.startswith("micro F1 · different (0.8000 and ")
    assert not any(line.startswith("loss") for line in others)
