"""Files with results of cross-validation, checked by hand."""

import numpy as np

from bert_cli.features.ragged import RaggedFeatures
from bert_cli.outputs.folds import write_folds, write_suspects
from bert_cli.problem_types.columns import NumberColumn, Probabilities, TextColumn
from bert_cli.problem_types.optional_parts import Suspects

TEXTS = [("one", None), ("two", None), ("three", None), ("four", None)]
IDS = ("a", "b", "c", "d")


def test_rows_of_ragged_features_are_taken():
    features = RaggedFeatures(
        np.arange(6, dtype=np.int32), np.array([0, 0, 1, 0, 1, 1], np.int8), np.array([0, 2, 3, 6])
    )
    taken = features.take(np.array([2, 0]))
    assert taken.token_ids.tolist() == [3, 4, 5, 0, 1]
    assert taken.segment_ids.tolist() == [0, 1, 1, 0, 0]
    assert taken.offsets.tolist() == [0, 3, 5]
    assert features.take(np.zeros(0, np.int64)).offsets.tolist() == [0]


PROBABILITIES = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875], [0.25, 0.75]], np.float32)


def test_suspects_have_the_columns_of_their_problem_type(tmp_path):
    path = tmp_path / "suspects.tsv"
    columns = {"given": TextColumn(["no", "yes"]), "probability": NumberColumn(np.array([0.125, 0.25], np.float32))}
    write_suspects(str(path), IDS, Suspects([2, 0], columns), TEXTS)
    assert path.read_text().splitlines() == [
        "id\tgiven\tprobability\ttext",
        "c\tno\t0.125\tthree",
        "a\tyes\t0.25\tone",
    ]


def test_out_of_fold_has_every_row(tmp_path):
    path = tmp_path / "out_of_fold.tsv"
    columns = {"given": TextColumn(["no"] * 4), "predicted": TextColumn(["no", "no", "yes", "yes"])}
    columns["probabilities"] = Probabilities(("no", "yes"), PROBABILITIES)
    folds = np.array([0, 1, 1, 0])
    write_folds(str(path), IDS, [folds], columns, [*TEXTS[:3], ("four", "five")])
    assert path.read_text().splitlines()[:2] == [
        "id\tfold\tgiven\tpredicted\tprob_no\tprob_yes\ttext\ttext_b",
        "a\t1\tno\tno\t0.75\t0.25\tone\t",
    ]
    write_folds(str(path), IDS, [folds, 1 - folds], columns, TEXTS)
    assert path.read_text().splitlines()[1].startswith("a\t1\t2\tno\t")
