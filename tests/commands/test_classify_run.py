"""bert-classify on small real files: its output files, and predictions with them."""

import json

import numpy as np
import pytest
import sklearn.metrics
import tensorflow as tf

from tests.rows import write_rows

LAYER_WEIGHTS = {
    "attention/self/query/kernel": (16, 16),
    "attention/self/query/bias": (16,),
    "attention/self/key/kernel": (16, 16),
    "attention/self/key/bias": (16,),
    "attention/self/value/kernel": (16, 16),
    "attention/self/value/bias": (16,),
    "attention/output/dense/kernel": (16, 16),
    "attention/output/dense/bias": (16,),
    "attention/output/LayerNorm/gamma": (16,),
    "attention/output/LayerNorm/beta": (16,),
    "intermediate/dense/kernel": (16, 32),
    "intermediate/dense/bias": (32,),
    "output/dense/kernel": (32, 16),
    "output/dense/bias": (16,),
    "output/LayerNorm/gamma": (16,),
    "output/LayerNorm/beta": (16,),
}
# Names and shapes of run_classifier.py's variables for this config (98 tokens in the vocabulary).
WEIGHTS = {
    "bert/embeddings/word_embeddings": (98, 16),
    "bert/embeddings/token_type_embeddings": (2, 16),
    "bert/embeddings/position_embeddings": (64, 16),
    "bert/embeddings/LayerNorm/gamma": (16,),
    "bert/embeddings/LayerNorm/beta": (16,),
    **{f"bert/encoder/layer_{n}/{name}": shape for n in (0, 1) for name, shape in LAYER_WEIGHTS.items()},
    "bert/pooler/dense/kernel": (16, 16),
    "bert/pooler/dense/bias": (16,),
    "output_weights": (2, 16),
    "output_bias": (2,),
}
RESULTS = {"test_results.tsv", "predictions.tsv", "run_report.json"}


def test_a_run_writes_these_files(trained, run_folder):
    checkpoints = {f"model.ckpt-{n}.{suffix}" for n in (10, 20, 30) for suffix in ("index", "data-00000-of-00001")}
    other_names = {"checkpoint", "vocab.txt", "bert_config.json", "labels.txt", "flags.txt", "run.json"}
    told = {"eval_results.txt", "eval_examples.jsonl", "history.jsonl", "report.html"}
    assert run_folder(trained).names() == checkpoints | other_names | told | RESULTS
    assert run_folder(trained).checkpoints() == [10, 20, 30]
    assert (trained / "labels.txt").read_text(encoding="utf-8") == "0\n1\n"


def test_model_files_are_next_to_the_checkpoint(trained, model):
    assert (trained / "vocab.txt").read_bytes() == (model / "vocab.txt").read_bytes()
    saved, original = (json.loads((folder / "bert_config.json").read_text("utf-8")) for folder in (trained, model))
    assert saved == original


def test_test_results_has_a_line_per_row(trained):
    lines = (trained / "test_results.tsv").read_text(encoding="utf-8").split("\n")
    assert lines.pop() == ""
    rows = [line.split("\t") for line in lines]
    assert [len(row) for row in rows] == [2] * 13
    assert all(cell == str(np.float32(cell)) for row in rows for cell in row)
    np.testing.assert_allclose(np.array(rows, np.float64).sum(axis=1), 1.0, atol=1e-6)


def test_predictions_has_the_same_numbers_with_names(trained, run_folder):
    table = run_folder(trained).predictions()
    assert list(table.columns) == ["id", "label", "prob_0", "prob_1", "text"]
    assert list(table["id"]) == [f"s{number:02}" for number in range(3, 16)]  # the ids in test.tsv
    probabilities = run_folder(trained).probabilities()
    np.testing.assert_array_equal(table[["prob_0", "prob_1"]], probabilities)
    assert list(table["label"]) == [str(best) for best in probabilities.argmax(axis=1)]
    assert table["text"][0] == "small green fish"


def test_eval_results_agree_with_predictions_of_the_same_rows(trained, cola, classify, run_folder):
    lines = (trained / "eval_results.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(lines)
    rows = [line.split("\t") for line in (cola / "dev.tsv").read_text(encoding="utf-8").splitlines()]
    write_rows(cola / "test.tsv", [("id", "text"), *((row[0], row[3]) for row in rows)])
    assert classify("--do_predict", f"--output_dir={trained}", f"--data_dir={cola}", "--precision=float32").code == 0

    gold = np.array([int(row[1]) for row in rows])
    probabilities = run_folder(trained).probabilities()
    losses = -np.log(probabilities[np.arange(len(gold)), gold])
    predicted = probabilities.argmax(axis=1)
    f1 = 2 * ((predicted == 1) & (gold == 1)).sum() / (predicted.sum() + gold.sum())
    results = run_folder(trained).eval_results()
    assert results == pytest.approx(
        {
            "eval_accuracy": (predicted == gold).mean(),
            "eval_loss": losses.mean(),
            "loss": (losses[:8].mean() + losses[8:].mean()) / 2,
            "eval_mcc": np.corrcoef(predicted, gold)[0, 1],
            "eval_f1": f1,
            "eval_f1_of_1": f1,
            "eval_macro_f1": sklearn.metrics.f1_score(gold, predicted, average="macro"),
            "eval_weighted_f1": sklearn.metrics.f1_score(gold, predicted, average="weighted"),
            "eval_roc_auc": sklearn.metrics.roc_auc_score(gold, probabilities[:, 1]),
            "eval_average_precision": sklearn.metrics.average_precision_score(gold, probabilities[:, 1]),
            "eval_balanced_accuracy": sklearn.metrics.balanced_accuracy_score(gold, predicted),
            "eval_kappa": sklearn.metrics.cohen_kappa_score(gold, predicted),
            "eval_brier": sklearn.metrics.brier_score_loss(gold, probabilities[:, 1]),
            "eval_examples": 11,
            "global_step": 30,
        },
        abs=1e-5,
    )
    assert results["eval_accuracy"] == pytest.approx(9 / 11)  # all except the two mislabeled rows


def test_checkpoint_has_googles_names(trained_two_layers):
    assert tf.train.latest_checkpoint(str(trained_two_layers)) == str(trained_two_layers / "model.ckpt-30")
    reader = tf.train.load_checkpoint(str(trained_two_layers))
    moments = {f"{name}/{ending}": shape for name, shape in WEIGHTS.items() for ending in ("adam_m", "adam_v")}
    shapes = {name: tuple(shape) for name, shape in reader.get_variable_to_shape_map().items()}
    assert shapes == {**WEIGHTS, **moments, "global_step": ()}
    types = reader.get_variable_to_dtype_map()
    assert types.pop("global_step") == tf.int64
    assert set(types.values()) == {tf.float32}
    assert reader.get_tensor("global_step") == 30


def test_predict_alone_needs_only_the_output_dir(trained, tmp_path, classify, monkeypatch):
    expected = {name: (trained / name).read_bytes() for name in ("test_results.tsv", "predictions.tsv")}
    for name in expected:
        (trained / name).unlink()
    monkeypatch.chdir(tmp_path)
    outcome = classify("--do_predict", "--output_dir=trained", "--precision=float32")
    assert outcome.code == 0, outcome.err
    assert {name: (trained / name).read_bytes() for name in expected} == expected


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "model.ckpt-30",
        pytest.param("model.ckpt-30.index", marks=pytest.mark.slow),
        pytest.param("model.ckpt-30.data-00000-of-00001", marks=pytest.mark.slow),
    ],
)
def test_predict_from_a_checkpoint_into_another_folder(ending, trained, tmp_path, classify, run_folder):
    elsewhere = tmp_path / "made" / "here"
    outcome = classify(
        "--do_predict", f"--init_checkpoint={trained / ending}", f"--output_dir={elsewhere}", "--precision=float32"
    )
    assert outcome.code == 0, outcome.err
    assert run_folder(elsewhere).names() == RESULTS
    assert (elsewhere / "test_results.tsv").read_bytes() == (trained / "test_results.tsv").read_bytes()


def test_an_older_checkpoint_of_the_output_dir_can_be_chosen(trained, classify):
    newest = (trained / "test_results.tsv").read_bytes()
    flags = ("--do_predict", f"--output_dir={trained}", "--precision=float32")
    assert classify(*flags, f"--init_checkpoint={trained / 'model.ckpt-20'}").code == 0
    assert (trained / "test_results.tsv").read_bytes() != newest
    assert classify(*flags, f"--init_checkpoint={trained / 'model.ckpt-30'}").code == 0
    assert (trained / "test_results.tsv").read_bytes() == newest


def test_byte_order_mark_and_crlf_change_nothing(trained, trained_flags, cola, classify):
    for path in cola.glob("*.tsv"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    expected = {
        name: (trained / name).read_bytes() for name in ("test_results.tsv", "predictions.tsv", "eval_results.txt")
    }
    outcome = classify(*trained_flags, f"--data_dir={cola}", f"--output_dir={trained}")
    assert outcome.code == 0, outcome.err
    assert "already finished" in outcome.err  # so train.tsv was read as the same data
    assert {name: (trained / name).read_bytes() for name in expected} == expected
