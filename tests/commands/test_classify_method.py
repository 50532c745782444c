"""--method: heads that a logistic regression fits, and contrastive training of the encoder."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli import Classifier, run_classifier
from bert_cli.base.names import EVENTS
from bert_cli.heads.classification import BertContrastiveClassifier
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import find_checkpoint
from tests.commands.conftest import write_cola
from tests.rows import write_rows


def tensors_of(path) -> dict[str, np.ndarray]:
    reader = open_checkpoint(find_checkpoint(str(path)))
    return {name: reader.read(name) for name in reader.shapes}


def flags_of(folder, init_checkpoint, *more: str) -> list[str]:
    data = folder / "cola" if (folder / "cola").exists() else write_cola(folder / "cola")
    return [
        "--task_name=cola", f"--data_dir={data}", f"--init_checkpoint={init_checkpoint}", "--do_train", "--do_eval",
        "--max_seq_length=32", "--precision=float32", "--noreport", f"--output_dir={folder / 'out'}", *more,
    ]  # fmt: skip


def test_a_linear_probe_changes_the_head_alone(trained_two_layers_once, tmp_path, capfd):
    # TensorBoard's file has to be open for the evaluation, although no update opens it.
    flags = flags_of(tmp_path, trained_two_layers_once, "--method=linear_probe", "--tensorboard")
    assert run_classifier.main(flags) == 0
    assert "--learning_rate" not in capfd.readouterr().err, "nothing has a learning rate"
    before, after = tensors_of(trained_two_layers_once), tensors_of(tmp_path / "out")
    for name, values in after.items():
        if name.startswith("bert/encoder/"):
            np.testing.assert_array_equal(values, before[name], name)
    assert not np.array_equal(after["output_weights"], before["output_weights"])
    assert not any(name.endswith("/adam_m") for name in after)
    assert (tmp_path / "out" / EVENTS).stat().st_size > 0
    saved = (tmp_path / "out" / "flags.txt").read_text().splitlines()
    assert "--head_input=mean" in saved
    assert "--method=linear_probe" in saved
    # Later predictions need no flag, and the same command has nothing left to do.
    model = Classifier.load(tmp_path / "out", precision="float32")
    assert model.predict(["a dog chases a cat ."]).labels[0] in ("0", "1")
    assert run_classifier.main(flags) == 0
    assert "training is already finished (1 steps)" in capfd.readouterr().err


def test_contrastive_training_resumes_before_its_head(trained_two_layers_once, tmp_path):
    flags = flags_of(tmp_path, trained_two_layers_once, "--method=contrastive", "--num_train_epochs=2")
    flags += ["--train_batch_size=8", "--keep_moments=all", "--learning_rate=0.001"]
    assert run_classifier.main(flags) == 0
    expected = tensors_of(tmp_path / "out")
    assert expected["global_step"] == 7
    last_update = tensors_of(tmp_path / "out" / "model.ckpt-6")
    np.testing.assert_array_equal(
        last_update["bert/embeddings/word_embeddings"], expected["bert/embeddings/word_embeddings"]
    )
    # As if stopped after the last update: the head is not fitted yet.
    for path in (tmp_path / "out").glob("model.ckpt-7.*"):
        path.unlink()
    (tmp_path / "out" / "checkpoint").unlink()
    (tmp_path / "out" / "run_report.json").unlink()
    assert run_classifier.main(flags) == 0
    for name, values in tensors_of(tmp_path / "out").items():
        np.testing.assert_array_equal(values, expected[name], name)


def test_the_loss_compares_all_rows_of_a_batch(tiny_config, batch_of):
    model = BertContrastiveClassifier(tiny_config(), 3, seed=1)
    batch = batch_of([7, 3, 5], 7) | {"label_ids": np.array([2, 0, 2], np.int32)}
    inputs = {name: tf.constant(values) for name, values in batch.items()}
    losses, weights = model.loss_terms(inputs, tf.constant([1, 2]), False, 3)
    vectors = model.states(inputs).numpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    errors = (vectors @ vectors.T - np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]])) ** 2
    np.testing.assert_allclose(losses, (errors.sum(axis=1) - errors.diagonal()) / 2, atol=1e-5)
    np.testing.assert_allclose(weights, 1 / 3, rtol=1e-6)
    assert {"output_weights", "output_bias"} <= model.without_gradient()


@pytest.mark.parametrize("method", ["linear_probe", "contrastive"])
def test_labels_that_a_method_cannot_have(method, trained_two_layers_once, tmp_path, refused):
    table = tmp_path / "numbers.csv"
    write_rows(table, [["text", "label"], *([f"text {n}", f"{n / 7:.3f}"] for n in range(40))], ",")
    flags = (
        f"--train_file={table}",
        "--do_train",
        f"--init_checkpoint={trained_two_layers_once}",
        "--max_seq_length=32",
    )
    refused((*flags, f"--method={method}", "--problem_type=regression"), f"--method={method}", "needs labels of texts")
