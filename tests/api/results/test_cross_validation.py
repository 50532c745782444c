"""Results of cross-validations: tables as a command writes them, and their form in a notebook."""

import json

import pandas as pd
import pytest

from bert_cli.api.results.cross_validation import CrossValidation, read_cross_validation

FOLDS = [{"eval_accuracy": 0.5, "eval_examples": 2}, {"eval_accuracy": 1.0, "eval_examples": 2}]
REPORT = {
    "several": {
        "kind": "folds",
        "metric": "eval_accuracy",
        "members": [{"folder": f"fold-{number}", "eval": metrics} for number, metrics in enumerate(FOLDS, 1)],
        "mean": {"eval_accuracy": 0.75, "eval_examples": 2},
        "std": {"eval_accuracy": 0.3535534},
    }
}


@pytest.fixture
def read(tmp_path):
    def read_tables(problem_type: str | None, out_of_fold: str, suspects: str) -> CrossValidation:
        (tmp_path / "out_of_fold.tsv").write_text(out_of_fold)
        (tmp_path / "suspects.tsv").write_text(suspects)
        (tmp_path / "fold-1").mkdir(exist_ok=True)
        (tmp_path / "fold-1" / "run.json").write_text(
            json.dumps({"problem_type": problem_type} if problem_type else {})
        )
        return read_cross_validation(str(tmp_path), REPORT, None)

    return read_tables


def test_labels_and_texts_stay_texts(read):
    result = read(
        "single_label",
        "id\tfold\tgiven\tpredicted\tprob_01\tprob_NA\ttext\n"
        "train-0\t2\t01\t01\t0.75\t0.25\tNA\ntrain-2\t1\tNA\t01\t0.5\t0.5\t7\n",
        "id\tgiven\tpredicted\tprobability\ttext\ntrain-2\tNA\t01\t0.5\t7\n",
    ).with_index(pd.Index(["a", "b", "c"]))
    assert result.out_of_fold.index.tolist() == ["a", "c"]
    assert result.out_of_fold.to_dict("list") == {
        "fold": [2, 1],
        "given": ["01", "NA"],
        "predicted": ["01", "01"],
        "prob_01": [0.75, 0.5],
        "prob_NA": [0.25, 0.5],
        "text": ["NA", "7"],
    }
    assert result.suspects.to_dict("index") == {
        "c": {"given": "NA", "predicted": "01", "probability": 0.5, "text": "7"}
    }


def test_labels_have_their_type(read):
    head = "id\tgiven\tpredicted\tprobability\n"
    result = read("single_label", head + "0\t1\t2\t0.5\n", head + "0\t1\t2\t0.5\n").with_label_type("int")
    assert result.out_of_fold.loc[0, ["given", "predicted"]].tolist() == [1, 2]
    assert result.suspects["given"].dtype == int
    several = read("multi_label", head + '0\t"1,2"\t\t0.5\n', "id\tlabel\tgiven\tpredicted\n0\t1\tyes\tno\n")
    several = several.with_label_type("int")
    assert several.out_of_fold.loc[0, ["given", "predicted"]].tolist() == [(1, 2), ()]
    assert several.suspects.loc[0, ["label", "given"]].tolist() == [1, "yes"]
    assert several.with_label_type(None) is several


@pytest.mark.parametrize(
    ("problem_type", "cell", "value"),
    [("multi_label", '"a,b"', ("a", "b")), ("multi_label", '""', ()), ("regression", "-0.5", -0.5)]
    + [(None, "B-PER O", ("B-PER", "O"))],
)
def test_other_labels(read, problem_type, cell, value):
    row = f"id\tgiven\tpredicted\n1\t{cell}\t{cell}\n"
    result = read(problem_type, row, "id\tgiven\tpredicted\tdifference\n1\t0.5\t0.25\t-0.25\n")
    assert result.out_of_fold.loc[0, "given"] == result.out_of_fold.loc[0, "predicted"] == value
    is_number = problem_type == "regression"
    assert result.suspects.loc[0, "given"] == (0.5 if is_number else "0.5")
    assert result.suspects.loc[0, "difference"] == -0.25


def test_metrics(read):
    result = read("regression", "id\tgiven\tpredicted\n", "id\tgiven\tpredicted\n")
    assert (len(result), result.metric) == (2, "eval_accuracy")
    assert (result.mean["eval_accuracy"], result.std["eval_accuracy"]) == (0.75, 0.3535534)
    frame = result.to_frame()
    assert frame.index.tolist() == [1, 2]
    assert frame.to_dict("records") == FOLDS
    assert repr(result).splitlines()[0] == "CrossValidation with 2 folds"
    assert repr(result).splitlines()[-1].split() == ["mean", "±", "standard", "deviation", "0.7500", "±", "0.3536"]
    html = result._repr_html_()
    assert all(f"<td>{number}</td>" in html for number in ("0.5000", "1.0000", "0.7500", "0.3536"))
