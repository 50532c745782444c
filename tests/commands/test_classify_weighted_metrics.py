"""--weighted_metrics: weights of rows in the metrics of evaluations."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error, roc_auc_score

from bert_cli import Classifier
from bert_cli.base.errors import InputError
from bert_cli.problem_types.parts import LabelSet
from bert_cli.problem_types.registry import MULTI_LABEL, MULTIPLE_CHOICE, REGRESSION, SINGLE_LABEL
from bert_cli.runs.tasks.classification.decoder import FittingDecoder, ScoredTargets
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import words
from tests.snapshots import check_message, raises

TEXTS = [text for text, _ in SENTENCES]
LABELS = ["person" if of_people else "animal" for _, of_people in SENTENCES]
WEIGHTS = np.arange(len(TEXTS)) % 5 * 0.75


@pytest.mark.parametrize(
    "problem_type", [SINGLE_LABEL, MULTI_LABEL, REGRESSION, MULTIPLE_CHOICE], ids=lambda kind: kind.name
)
def test_whole_weights_repeat_rows(problem_type):
    """A row of weight 2 counts as two rows, and one of weight 0 as none."""
    rng = np.random.default_rng(5)
    count = 30
    weights = rng.integers(0, 4, count).astype(np.float32)
    logits = rng.normal(size=(count, 1 if problem_type is REGRESSION else 3)).astype(np.float32)
    label_ids = {
        "single_label": rng.integers(3, size=count),
        "multiple_choice": rng.integers(3, size=count),
        "multi_label": rng.integers(2, size=(count, 3)).astype(np.float32),
        "regression": rng.normal(size=count).astype(np.float32),
    }[problem_type.name]
    thresholds = np.full(3, 0.5) if problem_type is MULTI_LABEL else None
    decoder = FittingDecoder(problem_type, LabelSet(("1", "2", "3"), thresholds))
    rows = np.repeat(np.arange(count), weights.astype(int))

    def score(rows, weights=None):
        predictions = {**problem_type.decoder.postprocess(logits[rows], label_ids[rows]), "logits": logits[rows]}
        return decoder.score(label_ids[rows], predictions, predictions, 8, ScoredTargets(weights))

    weighted, repeated = score(np.arange(count), weights), score(rows)
    assert weighted.metrics["eval_examples"] == (weights > 0).sum()
    assert weighted.metrics["loss"] == weighted.metrics["eval_loss"]
    # Ranks count rows, and `loss` depends on batches.
    names = repeated.metrics.keys() - {"eval_examples", "loss", "eval_spearman"}
    assert weighted.metrics.keys() == repeated.metrics.keys()
    for name in names:
        assert weighted.metrics[name] == pytest.approx(repeated.metrics[name], rel=2e-5, abs=1e-6), name
    check_message(weighted.lines[0], "the metrics weight ")


@pytest.fixture
def options(model):
    return {
        "vocab_file": str(model / "vocab.txt"),
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 16,
        "train_batch_size": 8,
        "num_train_epochs": 1.0,
        "precision": "float32",
    }


def test_metrics_of_scikit_learn(classify, options, tmp_path):
    frame = pd.DataFrame({"text": TEXTS, "label": LABELS, "votes": WEIGHTS})
    table = tmp_path / "a.csv"
    frame.to_csv(table, index=False)
    flags = {"train_file": table, "dev_file": table, "weight_column": "votes", "output_dir": tmp_path / "out"}
    flags |= {"eval_every": "epoch", "bootstrap": 100}
    done = classify(*words(options | flags), "--do_train", "--do_eval", "--weighted_metrics")
    assert done.code == 0, done.err
    report = json.loads((tmp_path / "out" / "run_report.json").read_text("utf-8"))
    probabilities = Classifier.load(tmp_path / "out", precision="float32").predict(TEXTS).probabilities[:, 1]
    predicted = ["person" if probability > 0.5 else "animal" for probability in probabilities]
    expected = {
        "eval_accuracy": accuracy_score(LABELS, predicted, sample_weight=WEIGHTS),
        "eval_macro_f1": f1_score(LABELS, predicted, average="macro", sample_weight=WEIGHTS),
        "eval_roc_auc": roc_auc_score(np.array(LABELS) == "person", probabilities, sample_weight=WEIGHTS),
    }
    assert {name: report["eval"][name] for name in expected} == pytest.approx(expected, abs=1e-6)
    low, high = report["eval"]["intervals"]["eval_macro_f1"]
    assert low < expected["eval_macro_f1"] < high
    majority = accuracy_score(LABELS, [max(set(LABELS), key=LABELS.count)] * len(LABELS), sample_weight=WEIGHTS)
    assert report["baselines"]["majority"]["accuracy"] in (pytest.approx(majority), pytest.approx(1 - majority))
    # A later evaluation weights, too, unless it is told not to.
    for more, is_weighted in (([], True), (["--noweighted_metrics"], False)):
        done = classify(
            "--do_eval", f"--dev_file={table}", f"--output_dir={tmp_path / 'out'}", "--precision=float32", *more
        )
        assert done.code == 0, done.err
        again = json.loads((tmp_path / "out" / "run_report.json").read_text("utf-8"))["eval"]
        assert (again["eval_loss"] == report["eval"]["eval_loss"]) == is_weighted
    frame.drop(columns="votes").to_csv(table, index=False)
    done = classify("--do_eval", f"--dev_file={table}", f"--output_dir={tmp_path / 'out'}")
    done.assert_refused(f"{table}:1: --weight_column=votes")


def test_python(options, caplog):
    fitted = Classifier.fit(
        TEXTS, [float(len(text)) for text in TEXTS], sample_weight=WEIGHTS, dev_split=0.3, weighted_metrics=True, **options
    )  # fmt: skip
    assert fitted.report["eval"]["eval_examples"] < 8
    predictions = fitted.predict(TEXTS).values
    assert fitted.evaluate(TEXTS, [float(len(text)) for text in TEXTS])["eval_mae"] == pytest.approx(
        mean_absolute_error([len(text) for text in TEXTS], predictions), rel=1e-4
    )
    check_message(caplog.messages[-1], "the metrics count each text once")
    weighted = fitted.evaluate(TEXTS, [float(len(text)) for text in TEXTS], sample_weight=WEIGHTS)
    assert weighted["eval_mae"] == pytest.approx(
        mean_absolute_error([len(text) for text in TEXTS], predictions, sample_weight=WEIGHTS), rel=1e-4
    )
    with raises(InputError, "sample_weight: needs labels"):
        fitted.evaluate(pd.DataFrame({"text": TEXTS, "label": [1.0] * len(TEXTS)}), sample_weight=WEIGHTS)
    with raises(InputError, "sample_weight: "):
        fitted.evaluate(TEXTS, [1.0] * len(TEXTS), sample_weight=WEIGHTS[:3])
    with raises(InputError, "weighted_metrics: dev_texts have no weights"):
        Classifier.fit(TEXTS, LABELS, TEXTS, LABELS, sample_weight=WEIGHTS, weighted_metrics=True)
