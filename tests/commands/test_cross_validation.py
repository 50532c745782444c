"""Cross-validation with early stopping, repeats and grids, by commands and in Python."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold

from bert_cli import Classifier
from bert_cli.api.results.cross_validation import read_cross_validation
from bert_cli.examples.splitting import assign_folds
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import words
from tests.rows import write_rows
from tests.snapshots import check_message

TEXTS = [text for text, _ in SENTENCES]
LABELS = ["person" if of_people else "animal" for _, of_people in SENTENCES]
AUTHORS = [f"author {number * 7 % 6}" for number in range(len(TEXTS))]


def read(path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", keep_default_na=False)


@pytest.fixture
def options(model):
    return {
        "vocab_file": str(model / "vocab.txt"),
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 16,
        "train_batch_size": 4,
        "learning_rate": 0.003,
        "num_train_epochs": 1,
        "precision": "float32",
    }


@pytest.fixture
def flags(options, tmp_path):
    rows = [("text", "label", "author"), *zip(TEXTS, LABELS, AUTHORS, strict=True)]
    table = write_rows(tmp_path / "train.tsv", rows)
    return [*words(options), f"--train_file={table}", "--do_train", "--noreport"]


def evaluated_rows(folder) -> list[tuple[int, float]]:
    """Return the number of rows and the accuracy of each evaluation in the history of a run."""
    entries = map(json.loads, (folder / "history.jsonl").read_text("utf-8").splitlines())
    metrics = [entry["metrics"] for entry in entries if "metrics" in entry]
    return [(entry["eval_examples"], entry["eval_accuracy"]) for entry in metrics]


def test_other_rows_choose_the_checkpoint_of_a_fold(classify, flags, tmp_path, run_folder):
    out = tmp_path / "out"
    early = ["--dev_split=0.3", "--eval_every=1", "--early_stopping_patience=1", "--metric_for_best=accuracy"]
    done = classify(*flags, *early, "--cross_validation=2", "--group_column=author", f"--output_dir={out}")
    assert done.code == 0, done.err
    rows = read(out / "out_of_fold.tsv")
    assert rows["text"].tolist() == TEXTS
    # No author is on two sides: of the folds, or of the rows that choose a checkpoint.
    assert len(set(zip(AUTHORS, rows["fold"], strict=True))) == 6
    inner_groups = [line for line in done.lines if "--dev_split=0.3: 3 groups, each in one part" in line]
    assert len(inner_groups) == 2
    selected = [int(line.split()[1]) for line in done.lines if line.startswith("selection: ")]
    for number in (1, 2):
        folder = out / f"fold-{number}"
        evaluations = evaluated_rows(folder)
        assert {count for count, _ in evaluations} == {selected[number - 1]}
        # Patience 1 stops at the first evaluation that is not better than the ones before.
        values = [value for _, value in evaluations]
        report = run_folder(folder).report()
        assert report["best"]["value"] == pytest.approx(max(values))
        assert not report["stopped_early"] or values[-1] <= max(values[:-1])
        # The best checkpoint has predicted the rows of the fold.
        held_out = rows[rows["fold"] == number]
        new = write_rows(tmp_path / "new.tsv", [("text",), *((text,) for text in held_out["text"])])
        assert (
            classify("--do_predict", f"--output_dir={folder}", f"--predict_file={new}", "--precision=float32").code == 0
        )
        predicted = read(folder / "predictions.tsv")
        np.testing.assert_allclose(predicted["prob_person"], held_out["prob_person"], rtol=1e-5)
        assert report["eval"]["eval_examples"] == len(held_out)
        assert "--dev_split=" not in (folder / "flags.txt").read_text("utf-8").replace("--dev_split=0.0", "")


def test_repeats_have_other_folds_and_average(classify, flags, tmp_path):
    done = classify(
        *flags,
        "--cross_validation=2",
        "--cross_validation_repeats=2",
        "--random_seed=7",
        f"--output_dir={tmp_path / 'both'}",
    )
    assert done.code == 0, done.err
    check_message(next(line for line in done.lines if "seeds" in line), "the seeds 7, 8")
    folds = read(tmp_path / "both" / "folds.tsv")
    names = [f"repeat-{repeat}-fold-{fold}" for repeat in (1, 2) for fold in (1, 2)]
    assert folds["folder"].tolist() == [*names, "mean", "std"]
    assert folds["random_seed"].tolist() == ["7", "7", "8", "8", "", ""]
    both = read(tmp_path / "both" / "out_of_fold.tsv")
    assert both["text"].tolist() == TEXTS
    singles = []
    for seed in (7, 8):
        out = tmp_path / str(seed)
        assert classify(*flags, "--cross_validation=2", f"--random_seed={seed}", f"--output_dir={out}").code == 0
        singles.append(read(out / "out_of_fold.tsv"))
    assert [both[f"fold_{n}"].tolist() for n in (1, 2)] == [single["fold"].tolist() for single in singles]
    assert both["fold_1"].tolist() != both["fold_2"].tolist()
    mean = np.mean([single["prob_person"] for single in singles], axis=0)
    np.testing.assert_allclose(both["prob_person"], mean, rtol=1e-6)
    assert (both["predicted"] == np.where(mean > 0.5, "person", "animal")).all()


def test_stratified_like_scikit_learn():
    labels = np.array(["a"] * 31 + ["b"] * 12 + ["c"] * 5)
    peer = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=1)
    peer_counts = [sorted(Counter(labels[test]).items()) for _, test in peer.split(labels, labels)]
    counts = [
        sorted(Counter(labels[folds == fold]).items())
        for folds in (assign_folds(labels.tolist(), 4, seed) for seed in (1, 2, 3))
        for fold in range(4)
    ]
    for label in "abc":
        ours, theirs = ([dict(fold)[label] for fold in each] for each in (counts, peer_counts))
        assert sorted(ours) == sorted(theirs)


def test_grid_of_folds_in_python(options, tmp_path):
    arguments = options | {"learning_rate": "1e-4,3e-3", "cross_validation": 2, "report": False}
    result = Classifier.fit(TEXTS, LABELS, output_dir=tmp_path / "out", **arguments)
    cells = ["grid-learning_rate-0.0001", "grid-learning_rate-0.003"]
    assert result.grid["folder"].tolist() == cells
    best = cells[int(result.grid[f"eval_{result.metric.removeprefix('eval_')}"].argmax())]
    assert result.output_dir == str(tmp_path / "out" / best)
    assert result.mean[result.metric] == result.grid[result.metric].max()
    assert result.out_of_fold["text"].tolist() == TEXTS
    assert len(result) == 2
    assert repr(result).startswith("CrossValidation with 2 folds")


def test_repeats_in_python(options):
    arguments = options | {
        "cross_validation": 2,
        "cross_validation_repeats": 2,
        "dev_split": 0.2,
        "eval_every": "epoch",
    }
    result = Classifier.fit(TEXTS, LABELS, report=False, **arguments)
    assert len(result) == 4
    assert result.to_frame().index.tolist() == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert result.out_of_fold["fold_2"].tolist() != result.out_of_fold["fold_1"].tolist()
    assert "repeat 2 fold 1" in repr(result)


@pytest.mark.parametrize("share", ["0.01", "12"])
def test_shares_without_rows_are_refused(classify, flags, tmp_path, share):
    done = classify(
        *flags, "--cross_validation=2", f"--dev_split={share}", "--eval_every=1", f"--output_dir={tmp_path / 'out'}"
    )
    done.assert_refused(f"--dev_split={share}: leaves no row of 12 to ")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_other_sentences_choose_the_checkpoint_of_a_tagger(tagger_once, tmp_path, tag, run_folder):
    out = tmp_path / "out"
    flags = [flag for flag in tagger_once[1] if flag not in ("--do_predict", "--do_eval")]
    flags += ["--num_train_epochs=2", "--cross_validation=2", "--dev_split=0.25", "--eval_every=epoch"]
    done = tag(*flags, f"--output_dir={out}")
    assert done.code == 0, done.err
    assert sum(line.startswith("selection: ") for line in done.lines) == 2
    assert len(read(out / "out_of_fold.tsv")) == 24
    for number in (1, 2):
        assert run_folder(out / f"fold-{number}").report()["best"]["metric"] == "eval_f1"


PROBABILITIES = ("prob_animal", "prob_person")


class StoredModel(ClassifierMixin, BaseEstimator):
    """Estimator of scikit-learn that predicts rows as the runs of a nested cross-validation did.

    Its inputs are row numbers. The rows of a `fit` tell which run it is.
    """

    def __init__(self, folder="", learning_rate=0.0):
        self.folder = folder
        self.learning_rate = learning_rate

    def fit(self, rows, labels):
        self.classes_ = np.unique(labels)
        outer = read(self.folder / "out_of_fold.tsv")
        all_rows = np.arange(len(outer))
        self.probabilities_ = {}
        for fold in (1, 2):
            training = all_rows[outer["fold"] != fold]
            if set(training) == set(rows):
                # scikit-learn trains the fold with the same choice.
                chosen = read(self.folder / "folds.tsv").set_index("folder").loc[f"fold-{fold}", "learning_rate"]
                assert float(chosen) == self.learning_rate
                self.probabilities_ = dict(enumerate(outer[list(PROBABILITIES)].to_numpy()))
            inner = read(self.folder / f"search/fold-{fold}/grid-learning_rate-{self.learning_rate:g}/out_of_fold.tsv")
            assert inner["text"].tolist() == outer["text"][training].tolist()
            for inner_fold in (1, 2):
                if set(training[inner["fold"] != inner_fold]) == set(rows):
                    self.probabilities_ = dict(zip(training, inner[list(PROBABILITIES)].to_numpy(), strict=True))
        assert self.probabilities_
        return self

    def predict_proba(self, rows):
        return np.array([self.probabilities_[row] for row in rows])


def test_nested_folds_choose_as_scikit_learn(classify, flags, tmp_path):
    out = tmp_path / "out"
    nested = ["--learning_rate=0.003,0.0001", "--cross_validation=2", "--inner_cross_validation=2"]
    done = classify(*flags, *nested, "--metric_for_best=loss", f"--output_dir={out}")
    assert done.code == 0, done.err
    table = read(out / "out_of_fold.tsv")
    assert table["text"].tolist() == TEXTS
    splits = {
        fold: [(np.flatnonzero(inner["fold"] != number), np.flatnonzero(inner["fold"] == number)) for number in (1, 2)]
        for fold in (1, 2)
        for inner in [read(out / f"search/fold-{fold}/grid-learning_rate-0.003/out_of_fold.tsv")]
    }
    losses, choices = [], []
    for fold in (1, 2):
        training, held_out = (np.flatnonzero((table["fold"] == fold) == is_held_out) for is_held_out in (False, True))
        rates = {"learning_rate": [0.003, 0.0001]}
        search = GridSearchCV(StoredModel(out), rates, cv=splits[fold], scoring="neg_log_loss")
        losses.append(-search.fit(training, np.array(LABELS)[training]).score(held_out, np.array(LABELS)[held_out]))
        choices.append(search.best_params_["learning_rate"])
    folds = read(out / "folds.tsv").set_index("folder")
    measured = folds["eval_loss"][["fold-1", "fold-2", "mean"]].astype(float).tolist()
    assert measured == pytest.approx([*losses, np.mean(losses)], rel=1e-5)
    assert folds["learning_rate"][["fold-1", "fold-2"]].astype(float).tolist() == choices
    members = json.loads((out / "run_report.json").read_text("utf-8"))["several"]["members"]
    assert [member["learning_rate"] for member in members] == choices
    for fold, choice in zip((1, 2), choices, strict=True):
        assert f"fold-{fold}: the inner folds choose --learning_rate={choice:g}" in done.lines
    check_message(next(line for line in done.lines if line.startswith("the inner folds chose")), "--learning_rate=")
    check_message(next(line for line in done.lines if "inner folds of fold-2 are drawn" in line), "the seed 12345")
    # The model of a fold is the one of its choice.
    assert f"--learning_rate={choices[0]:g}" in (out / "fold-1" / "flags.txt").read_text("utf-8")
    result = read_cross_validation(str(out), json.loads((out / "run_report.json").read_text("utf-8")), None)
    assert (len(result), result.grid) == (2, None)
    assert result.choices["learning_rate"].to_dict() == dict(zip((1, 2), choices, strict=True))
