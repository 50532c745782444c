"""--threshold for two exclusive labels: evaluation, predictions, report, Python and SavedModel."""

import json

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score

from bert_cli import Classifier
from bert_cli.report.run_files import read_run
from tests.commands.helpers import RunFolder

FLAGS = ("--precision=float32", "--engine=onnxruntime")


@pytest.fixture
def data_flag(trained_flags) -> str:
    return next(flag for flag in trained_flags if flag.startswith("--data_dir="))


def evaluated_rows(folder) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and probabilities for the dev rows, using label 1."""
    examples = read_run(str(folder)).examples
    assert examples
    return np.array([row["label"] for row in examples.rows]), np.array(
        [row["probabilities"][1] for row in examples.rows]
    )


def test_tuned_threshold(trained, classify, data_flag):
    done = classify("--do_eval", "--threshold=tuned", data_flag, f"--output_dir={trained}", *FLAGS)
    assert done.code == 0, done.err
    run = RunFolder(trained)
    thresholds = json.loads((trained / "thresholds.json").read_text("utf-8"))
    assert thresholds.keys() == {"1"}
    assert f"1 is predicted from the probability {thresholds['1']:.4g} on" in done.err
    gold, probability = evaluated_rows(trained)
    predicted = probability >= thresholds["1"]
    results = run.eval_results()
    candidates = [f1_score(gold, probability >= cut) for cut in np.unique(probability)]
    assert results["eval_f1"] == pytest.approx(max(candidates))
    assert results["eval_f1"] == pytest.approx(f1_score(gold, predicted))
    assert results["eval_accuracy"] == pytest.approx((gold == predicted).mean())
    assert run.report()["eval"]["confusion_matrix"] == confusion_matrix(gold, predicted).tolist()


def test_fixed_threshold_decides_everywhere(trained, classify, data_flag):
    """No row reaches the probability 1, so that all get the label 0."""
    done = classify("--do_eval", "--do_predict", "--threshold=1", data_flag, f"--output_dir={trained}", *FLAGS)
    assert done.code == 0, done.err
    run = RunFolder(trained)
    gold, _ = evaluated_rows(trained)
    assert run.report()["eval"]["confusion_matrix"] == [[int((gold == 0).sum()), 0], [int((gold == 1).sum()), 0]]
    assert run.eval_results()["eval_f1"] == 0
    assert "every row gets the label 0, and no row is predicted as 1" in done.err
    table = run.predictions()
    assert set(table["label"]) == {"0"}
    assert (table["prob_1"].astype(float) > 0.5).any()
    # The other label from its threshold on.
    both = classify("--do_eval", "--threshold=1", "--positive_label=0", data_flag, f"--output_dir={trained}", *FLAGS)
    assert both.code == 0, both.err
    assert run.report()["eval"]["confusion_matrix"] == [[0, int((gold == 0).sum())], [0, int((gold == 1).sum())]]


def test_new_texts_follow_the_threshold(trained, classify):
    texts = ["the old farmer buys bread .", "a dog runs", "Anna sees a red house"]
    flags = (f"--output_dir={trained}", "--text", texts[0], *FLAGS)
    labels = {flag: json.loads(classify(*flags, f"--threshold={flag}").out)["label"] for flag in ("0", "1")}
    assert labels == {"0": "1", "1": "0"}
    explained = classify(f"--output_dir={trained}", "--explain", texts[0], "--threshold=1", *FLAGS)
    assert json.loads(explained.out)["label"] == "0"

    model = Classifier.load(trained, precision="float32")
    probability = model.predict(texts).probabilities[:, 1]
    threshold = float(np.sort(probability)[1])  # the second of three texts is on it
    predictions = Classifier.load(trained, precision="float32", threshold=threshold).predict(texts)
    assert [int(label) for label in predictions.best] == (probability >= threshold).astype(int).tolist()
    assert predictions.to_frame()["probability"].to_numpy() == pytest.approx(
        np.where(probability >= threshold, probability, predictions.probabilities[:, 0])
    )
    nearest = predictions.most_doubtful(count=1)
    assert nearest[0].text == texts[int(np.abs(probability - threshold).argmin())]


def test_folds_follow_the_threshold(model_flags, cola, classify, tmp_path):
    phases = ["--do_train", "--cross_validation=2", "--num_train_epochs=0.1", "--threshold=1"]
    done = classify(
        "--task_name=cola", f"--data_dir={cola}", *model_flags, *phases, f"--output_dir={tmp_path / 'folds'}"
    )
    assert done.code == 0, done.err
    header, *rows = (line.split("\t") for line in (tmp_path / "folds" / "out_of_fold.tsv").read_text().splitlines())
    assert {row[header.index("predicted")] for row in rows} == {"0"}


@pytest.mark.slow
def test_saved_model_follows_the_threshold(trained, tmp_path):
    import tensorflow as tf

    from bert_cli.export_model import main

    texts = ["the old farmer buys bread .", "a dog runs"]
    for threshold in ("0", "1"):
        flags = (trained / "flags.txt").read_text("utf-8")
        (trained / "flags.txt").write_text(f"{flags}--threshold={threshold}\n", "utf-8")
        assert main([f"--init_checkpoint={trained}", f"--export_dir={tmp_path / threshold}"]) == 0
        signature = tf.saved_model.load(str(tmp_path / threshold)).signatures["serving_default"]
        outputs = signature(text=tf.constant(texts))
        assert outputs["label"].numpy().tolist() == [b"1" if threshold == "0" else b"0"] * 2
