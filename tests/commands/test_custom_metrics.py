"""--metric: the user's metrics in results, folds, the choice of the best checkpoint, and Python."""

import json

import pytest
from sklearn.metrics import accuracy_score, matthews_corrcoef, roc_auc_score

from bert_cli import Classifier
from bert_cli.base.errors import InputError
from tests.commands.conftest import SENTENCES
from tests.snapshots import raises

TEXTS = [text for text, _ in SENTENCES]
LABELS = ["person" if of_people else "animal" for _, of_people in SENTENCES]
MCC = "sklearn.metrics:matthews_corrcoef"


def test_training_reports_and_ranks_by_them(classify, model_flags, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{text}\t{label}\n" for text, label in zip(TEXTS, LABELS, strict=True)]
    (tmp_path / "a.tsv").write_text("text\tlabel\n" + "".join(rows), encoding="utf-8")
    (tmp_path / "my_metrics.py").write_text(
        "def mean_cost(labels, predictions, probabilities):\n    return 2.5 * (labels != predictions).mean()\n",
        encoding="utf-8",
    )
    flags = ["--train_file=a.tsv", *model_flags, "--num_train_epochs=1", "--noreport"]
    data = [*flags, "--dev_file=a.tsv"]
    chosen = [
        f"--metric={MCC}",
        "--metric=my_metrics.py:mean_cost",
        "--metric_for_best=mean_cost",
        "--eval_every=epoch",
        "--bootstrap=100",
    ]
    done = classify(*data, "--do_train", "--do_eval", *chosen, "--output_dir=out")
    assert done.code == 0, done.err
    results = dict(
        line.split(" = ") for line in (tmp_path / "out" / "eval_results.txt").read_text("utf-8").splitlines()
    )
    predicted = Classifier.load("out").predict(TEXTS).best
    assert float(results["eval_matthews_corrcoef"]) == pytest.approx(matthews_corrcoef(LABELS, predicted), abs=1e-6)
    cost = 2.5 * (1 - accuracy_score(LABELS, predicted))
    assert float(results["eval_mean_cost"]) == pytest.approx(cost)
    assert float(results["eval_mean_cost_low"]) <= cost <= float(results["eval_mean_cost_high"])
    assert json.loads((tmp_path / "out" / "best.json").read_text("utf-8"))["metric"] == "eval_mean_cost"
    # A broken function is named before the training.
    (tmp_path / "my_metrics.py").write_text("def bad(labels, predictions):\n    return 1 / 0\n", encoding="utf-8")
    done = classify(*data, "--do_train", "--do_eval", "--metric=my_metrics.py:bad", "--output_dir=new")
    done.assert_refused("--metric=my_metrics.py:bad: ZeroDivisionError: division by zero")
    assert not (tmp_path / "new").exists()


def test_python(model_flags):
    options = dict(flag.removeprefix("--").split("=", 1) for flag in model_flags if "=" in flag)
    options = {name: options[name] for name in ("vocab_file", "bert_config_file")} | {
        "num_train_epochs": 1.0,
        "max_seq_length": 16,
    }
    folds = Classifier.fit(TEXTS, LABELS, cross_validation=2, metric=MCC, metrics={"mean_cost": _cost}, **options)
    assert all({"eval_matthews_corrcoef", "eval_mean_cost"} <= metrics.keys() for metrics in folds.metrics)
    fitted = Classifier.fit(TEXTS, LABELS, TEXTS, LABELS, metrics={"mean_cost": _cost}, **options)
    results = fitted.evaluate(TEXTS, LABELS, metrics={"mcc2": matthews_corrcoef, "mean_cost": _cost})
    assert results["eval_mcc2"] == pytest.approx(matthews_corrcoef(LABELS, fitted.predict(TEXTS).best))
    assert fitted.report["eval"]["eval_mean_cost"] == pytest.approx(results["eval_mean_cost"])
    # The function fails if a sample has a single label, as one in eight does.
    rows = [row for label in set(LABELS) for row in [row for row in range(len(TEXTS)) if LABELS[row] == label][:2]]
    texts, labels = [TEXTS[row] for row in rows], [LABELS[row] for row in rows]
    with_intervals = fitted.evaluate(texts, labels, bootstrap=100, metrics={"auc": _area})
    assert with_intervals["eval_auc_low"] <= with_intervals["eval_auc"] <= with_intervals["eval_auc_high"]
    with raises(InputError, "metrics['f']: TypeError"):
        fitted.evaluate(TEXTS, LABELS, metrics={"f": lambda labels, predictions: None})


def _area(labels, predictions, probabilities):
    assert len(set(labels)) == 2
    return roc_auc_score(labels, probabilities[:, 1])


def _cost(labels, predictions, probabilities):
    return 2.5 * (labels != predictions).mean()
