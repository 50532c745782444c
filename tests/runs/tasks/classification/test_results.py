"""Prediction tables, baselines, and scores for a second split."""

import types

import numpy as np
import pytest

from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.glue import find_task
from bert_cli.outputs.classification import text_columns
from bert_cli.problem_types.calibration import Calibration
from bert_cli.problem_types.parts import Scores
from bert_cli.problem_types.registry import SINGLE_LABEL
from bert_cli.runs.tasks.classification.decoder import make_fitting_decoder
from bert_cli.runs.tasks.classification.results import PredictionTables, add_split_suffix, score_baselines
from bert_cli.settings.classification import TextsToLabel
from bert_cli.settings.groups import Inference
from tests.snapshots import check_message

DECODER = make_fitting_decoder(SINGLE_LABEL, ("0", "1"), Inference(), False, [])
PREDICTIONS = {"probabilities": np.array([[0.75, 0.25], [0.375, 0.625]], np.float32)}


SPLIT = types.SimpleNamespace(
    ids=["0", "1"],
    text_columns=lambda decisions: text_columns([("one", None), ("two", None)]),
    kept_columns={},
    features=None,
)


def test_names_of_tables():
    flags = Inference(glue_submission=True, output_format="jsonl")
    assert PredictionTables(flags, find_task("mnli"), True, TextsToLabel()).names("test_mismatched") == [
        "test_results_mismatched.tsv", "predictions_mismatched.jsonl", "to_label_mismatched.tsv", "MNLI-mm.tsv",
    ]  # fmt: skip
    assert PredictionTables(Inference(), None, False, TextsToLabel()).names("test") == [
        "test_results.tsv",
        "predictions.tsv",
    ]


def test_all_tables_of_a_split(tmp_path):
    names = ("test_results.tsv", "predictions.tsv", "to_label.tsv", "CoLA.tsv")
    paths = [str(tmp_path / name) for name in names]
    decoder = DECODER.with_calibration(Calibration((1.0,), 2))
    PredictionTables(Inference(), find_task("cola"), True, TextsToLabel()).write(paths, SPLIT, PREDICTIONS, decoder)
    assert [(tmp_path / name).read_text() for name in names] == [
        "0.75\t0.25\n0.375\t0.625\n",
        "id\tlabel\tprob_0\tprob_1\ttext\n0\t0\t0.75\t0.25\tone\n1\t1\t0.375\t0.625\ttwo\n",
        "id\tpredicted\tprobability\ttext\n1\t1\t0.625\ttwo\n0\t0\t0.75\tone\n",
        "index\tprediction\n0\t0\n1\t1\n",
    ]


def test_a_second_split_has_a_suffix():
    scores = add_split_suffix(
        Scores({"eval_accuracy": 0.5}, {"n": 2}, ["line"]), "_mismatched", "mnli", find_task("mnli")
    )
    assert scores.metrics == {"eval_accuracy_mismatched": 0.5}
    assert scores.details == {"n_mismatched": 2}
    check_message(scores.lines)
    assert add_split_suffix(Scores({}, {}, ["line"]), "", "", None).lines == ["  line"]


def rows(*pairs):
    texts = [ClassificationExample(str(row), text, None, label) for row, (text, label) in enumerate(pairs)]
    label_ids = SINGLE_LABEL.reader.label_array([label for _, label in pairs], ("0", "1"))
    return types.SimpleNamespace(texts=texts, features=types.SimpleNamespace(label_ids=label_ids))


def test_baselines_know_the_majority_and_the_words():
    train = rows(*[("good film", "1")] * 6, *[("bad film", "0")] * 4)
    scores = score_baselines(DECODER, train, rows(("good", "1"), ("bad", "0")), 2, 0, 8)
    assert list(scores) == ["majority", "tfidf"]
    assert (scores["majority"]["accuracy"], scores["tfidf"]["accuracy"]) == (0.5, 1.0)


@pytest.mark.parametrize("text", ["", " "])
def test_rows_without_words_have_one_baseline(text):
    scores = score_baselines(DECODER, rows((text, "1"), (text, "0")), rows((text, "1")), 2, 0, 8)
    assert list(scores) == ["majority"]
