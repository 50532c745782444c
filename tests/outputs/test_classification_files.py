"""test_results.tsv, predictions.tsv and eval_results.txt byte by byte."""

import csv

import numpy as np
import pandas
import pytest

from bert_cli.outputs.classification import write_predictions, write_test_results
from bert_cli.outputs.eval_results import write_eval_results

PROBABILITIES = np.array([[0.7757962, 0.22420382], [1.234e-05, 0.99998766], [1.0, 0.0]], np.float32)


def test_test_results(tmp_path):
    path = tmp_path / "test_results.tsv"
    write_test_results(str(path), PROBABILITIES)
    assert path.read_bytes() == b"0.7757962\t0.22420382\n1.234e-05\t0.99998766\n1.0\t0.0\n"


def test_test_results_of_float64_are_those_of_float32(tmp_path):
    path = tmp_path / "test_results.tsv"
    write_test_results(str(path), np.array([[0.1, 0.9]]))
    assert path.read_bytes() == b"0.1\t0.9\n"


@pytest.mark.parametrize(
    ("home", "task"),
    [("shared", "cola"), ("shared", "mrpc"), ("shared", "mnli"), ("fixtures", "cola"), ("fixtures", "mrpc")],
)
def test_test_results_of_the_original_come_back_byte_by_byte(home, request, tmp_path, task):
    golden = request.getfixturevalue(home) / "golden/classifier" / task / "test_results.tsv"
    path = tmp_path / "test_results.tsv"
    write_test_results(str(path), np.loadtxt(golden, dtype=np.float32, delimiter="\t"))
    assert path.read_bytes() == golden.read_bytes()


def test_predictions_of_single_texts(tmp_path):
    path = tmp_path / "predictions.tsv"
    texts = [("Tea", None), ("", None), ('"Milk', None)]
    write_predictions(str(path), ["test-1", "test-2", "test-3"], texts, ["no", "yes"], PROBABILITIES)
    assert path.read_bytes() == (
        b"id\tlabel\tprob_no\tprob_yes\ttext\n"
        b"test-1\tno\t0.7757962\t0.22420382\tTea\n"
        b"test-2\tyes\t1.234e-05\t0.99998766\t\n"
        b'test-3\tno\t1.0\t0.0\t"Milk\n'
    )


def test_predictions_of_pairs(tmp_path):
    path = tmp_path / "predictions.tsv"
    write_predictions(str(path), ["a", "b"], [("Tea", "Milk"), ("Rum", "")], ["0", "1"], PROBABILITIES[:2])
    assert path.read_text(encoding="utf-8").split("\n") == [
        "id\tlabel\tprob_0\tprob_1\ttext\ttext_b",
        "a\t0\t0.7757962\t0.22420382\tTea\tMilk",
        "b\t1\t1.234e-05\t0.99998766\tRum\t",
        "",
    ]


def test_predictions_without_examples(tmp_path):
    path = tmp_path / "predictions.tsv"
    write_predictions(str(path), [], [], ["0", "1"], np.zeros((0, 2), np.float32))
    assert path.read_bytes() == b"id\tlabel\tprob_0\tprob_1\ttext\n"


HARD_TEXTS = [
    'one " quote',
    '"whole"',
    "'",
    "NA",
    "null",
    "",
    "  blanks  ",
    "#",
    "a\u2028b\u2029c",
    "a\x85b",
    "a\x0bb\x0cc\x1cd",
    "back\\slash\\n",
    "1.50",
    "комета 😀",
    "\ufeffmark",
]


@pytest.mark.parametrize("engine", ["c", "python"])
def test_predictions_come_back_through_pandas(tmp_path, engine):
    path = tmp_path / "predictions.tsv"
    probabilities = np.random.default_rng(5).dirichlet([1, 1], len(HARD_TEXTS)).astype(np.float32)
    guids = [f"test-{number}" for number in range(len(HARD_TEXTS))]
    write_predictions(str(path), guids, [(text, None) for text in HARD_TEXTS], ["0", "1"], probabilities)
    table = pandas.read_csv(
        path, sep="\t", quoting=csv.QUOTE_NONE, keep_default_na=False, engine=engine, dtype={"text": str}
    )
    assert table["text"].tolist() == HARD_TEXTS
    assert table["id"].tolist() == guids
    assert table["label"].tolist() == probabilities.argmax(axis=1).tolist()
    assert (table[["prob_0", "prob_1"]].to_numpy(np.float32) == probabilities).all()


def test_characters_that_would_break_a_row_become_spaces(tmp_path):
    path = tmp_path / "predictions.tsv"
    write_predictions(str(path), ["a"], [("x\ty\nz\r\nw", None)], ["0", "1"], PROBABILITIES[:1])
    assert path.read_bytes().split(b"\n")[1:] == [b"a\t0\t0.7757962\t0.22420382\tx y z  w", b""]


def test_a_text_too_few_leaves_the_old_file(tmp_path):
    path = tmp_path / "predictions.tsv"
    path.write_text("old")
    with pytest.raises(ValueError, match="shorter"):
        write_predictions(str(path), ["a", "b"], [("x", None)], ["0", "1"], PROBABILITIES[:2])
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["predictions.tsv"]


def test_eval_results(tmp_path):
    path = tmp_path / "eval_results.txt"
    results = {
        "loss": np.float32(0.8917705),
        "eval_accuracy": np.float32(12 / 34),
        "global_step": 7,
        "eval_loss": np.float32(0.94299555),
    }
    write_eval_results(str(path), results)
    assert path.read_bytes() == (
        b"eval_accuracy = 0.3529412\neval_loss = 0.94299555\nglobal_step = 7\nloss = 0.8917705\n"
    )
