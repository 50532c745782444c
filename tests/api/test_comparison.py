"""bert_cli.compare: the figures of bert-report for two runs, and the rows that differ."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

import bert_cli
from bert_cli.base.errors import InputError, InputTypeError
from bert_cli.report.page import compare_runs
from bert_cli.report.run_files import read_run
from tests.report import folders
from tests.report.test_significance import answered, classified, tagged, write_rows
from tests.snapshots import raises


def test_figures_and_differing_rows(tmp_path):
    classified(tmp_path / "a", 19)
    classified(tmp_path / "b", 6)
    comparison = bert_cli.compare(tmp_path / "a", str(tmp_path / "b"))
    test = comparison.mcnemar
    assert (comparison.names, comparison.num_rows) == (("a", "b"), 20)
    assert (test.only_first, test.only_second, test.is_different) == (13, 0, True)
    assert test.p_value == pytest.approx(binomtest(0, 13).pvalue)
    rows = comparison.rows
    assert (rows.index.name, rows.index.tolist()) == ("row", list(range(6, 19)))
    assert rows.loc[6].to_dict() == {"text": "text 6", "label": "yes", "first": "yes", "second": "no"}
    accuracy = comparison.to_frame().loc["eval_accuracy"]
    assert (accuracy["first"], accuracy["second"], accuracy["difference"]) == pytest.approx((1.0, 0.35, -0.65))
    assert accuracy["low"] < -0.65 < accuracy["high"] < 0
    assert accuracy["is_different"]
    # The command has the same lines and the same page.
    compared = compare_runs([read_run(str(tmp_path / name)) for name in "ab"])
    assert [line.strip() for line in repr(comparison).splitlines()[1:]] == compared.significance.lines()
    assert "card-significance" in comparison.page().html
    assert "eval_accuracy" in comparison._repr_html_()


def test_labels_have_the_type_of_the_training(tmp_path):
    for name, num_right in (("a", 19), ("b", 18)):
        classified(tmp_path / name, num_right)
        path = tmp_path / name / "eval_examples.jsonl"
        path.write_text(path.read_text("utf-8").replace('["no", "yes"]', '["0", "1"]'), encoding="utf-8")
        path = tmp_path / name / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"label_type": "int"}), encoding="utf-8")
    rows = bert_cli.compare(tmp_path / "a", tmp_path / "b").rows
    assert rows.drop(columns="text").loc[18].tolist() == [1, 1, 0]


def test_other_commands(tmp_path):
    tagged(tmp_path / "a", [2] * 20)
    tagged(tmp_path / "b", [0, 1] * 10)
    rows = bert_cli.compare(tmp_path / "a", tmp_path / "b").rows
    assert rows.iloc[0].tolist() == ["Anna sees Bob", 2, 2, 0]
    assert rows.columns[1] == "gold_entities"
    assert rows["text"].isna().tolist() == [False] * 3 + [True] * 17
    answered(tmp_path / "c", [1.0] * 30)
    answered(tmp_path / "d", [1.0] * 10 + [0.0] * 20)
    rows = bert_cli.compare(tmp_path / "c", tmp_path / "d").rows
    assert rows.loc[10].to_dict() == {"text": "question 10?", "first": 1.0, "second": 0.5}


def test_several_labels_and_numbers(tmp_path):
    for name, probability in (("a", 0.9), ("b", 0.2)):
        labels = [{"row": row, "labels": [1, 0], "probabilities": [probability, 0.1]} for row in range(4)]
        head = {"labels": ["x", "y"], "thresholds": [0.5, 0.5]}
        write_rows(folders.one_label(tmp_path / name), "multi_label", labels, **head)
        numbers = [{"row": row, "value": float(row), "predicted": row + probability * (-1) ** row} for row in range(30)]
        write_rows(folders.regression(tmp_path / f"{name}-numbers"), "regression", numbers, labels=[])
    comparison = bert_cli.compare(tmp_path / "a", tmp_path / "b")
    assert comparison.rows.loc[0].tolist()[1:] == [("x",), ("x",), ()]
    numbers = bert_cli.compare(tmp_path / "a-numbers", tmp_path / "b-numbers")
    assert numbers.mcnemar is None
    assert numbers.to_frame().loc["eval_rmse", "difference"] == pytest.approx(-0.7, abs=1e-6)
    assert list(numbers.rows) == ["text", "label", "first", "second"]
    assert numbers.rows.empty


def test_no_difference(tmp_path):
    classified(tmp_path / "a", 10)
    classified(tmp_path / "b", 10)
    comparison = bert_cli.compare(tmp_path / "a", tmp_path / "b")
    assert comparison.mcnemar.p_value == 1
    assert not comparison.to_frame()["is_different"].any()
    assert comparison.rows.empty
    assert isinstance(comparison.rows, pd.DataFrame)


def test_refusals(tmp_path):
    classified(tmp_path / "a", 19)
    classified(tmp_path / "b", 19, num_rows=21)
    tagged(tmp_path / "tags", [2] * 20)
    with raises(InputError, "differ in rows"):
        bert_cli.compare(tmp_path / "a", tmp_path / "b")
    with raises(InputError, "is both runs"):
        bert_cli.compare(tmp_path / "a", tmp_path / "x" / ".." / "a")
    with raises(InputError, "bert-classify and bert-tag"):
        bert_cli.compare(tmp_path / "a", tmp_path / "tags")
    with raises(InputError, "no such folder"):
        bert_cli.compare(tmp_path / "a", tmp_path / "missing")
    with raises(InputTypeError, "second: is a int"):
        bert_cli.compare(tmp_path / "a", 5)
    with raises(InputTypeError, "first: is a ndarray"):
        bert_cli.compare(np.zeros(3), 5)
    for name in "cd":
        folders.pretraining(tmp_path / name)
    with raises(InputError, "bert-pretrain"):
        bert_cli.compare(tmp_path / "c", tmp_path / "d")
    several = {"several": {"kind": "runs", "metric": "eval_accuracy", "best": "run-1", "members": [{"folder": "a"}]}}
    folders.write(tmp_path, "run_report.json", several)
    with raises(InputError, "has 1 runs; give one of them"):
        bert_cli.compare(tmp_path / "a", tmp_path)
