"""Other labels, text pairs, other precisions and devices, and a start from trained weights."""

import shutil
import subprocess
import sys

import numpy as np
import pytest

from tests.snapshots import check_message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "flags", "order"),
    [
        (("3", "0", "2", "10"), (), ["0", "2", "3", "10"]),
        (("sound", "odd, or so"), (), ["odd, or so", "sound"]),
        (("no", "yes"), ("--labels=yes, no,unsure",), ["yes", "no", "unsure"]),
    ],
    ids=["numbers", "words", "given"],
)
def test_other_labels(labels, flags, order, cola_with_labels, trained_flags, tmp_path, classify, run_folder):
    data, output_dir = cola_with_labels(*labels), tmp_path / "out"
    outcome = classify(
        *trained_flags, "--num_train_epochs=1", f"--data_dir={data}", f"--output_dir={output_dir}", *flags
    )
    assert outcome.code == 0, outcome.err
    assert f"labels: {', '.join(order)}\n" in outcome.err
    assert (output_dir / "labels.txt").read_text(encoding="utf-8").splitlines() == order
    table = run_folder(output_dir).predictions()
    assert list(table.columns) == ["id", "label", *(f"prob_{label}" for label in order), "text"]
    best = run_folder(output_dir).probabilities().argmax(axis=1)
    assert list(table["label"]) == [order[number] for number in best]
    results = (output_dir / "predictions.tsv").read_bytes()
    assert classify("--do_predict", "--precision=float32", f"--output_dir={output_dir}").code == 0
    assert (output_dir / "predictions.tsv").read_bytes() == results
    # A name with a comma cannot be a flag's value: it is detected in train.tsv again.
    saved = (output_dir / "flags.txt").read_text(encoding="utf-8")
    assert ("--labels=" in saved) == ("odd, or so" not in order)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["mrpc", "mnli"])
def test_pairs(task, request, trained_flags, tmp_path, classify, run_folder):
    data, output_dir = request.getfixturevalue(task), tmp_path / "out"
    flags = (f"--task_name={task.upper()}", f"--data_dir={data}", f"--output_dir={output_dir}")
    outcome = classify(*trained_flags, *flags, "--num_train_epochs=1")
    assert outcome.code == 0, outcome.err
    table, eval_results = run_folder(output_dir).predictions(), run_folder(output_dir).eval_results()
    labels, rows, first, steps = {
        "mrpc": (["0", "1"], 9, ("0", "a farmer opens the house , and not the garden ."), 4),
        "mnli": (["contradiction", "entailment", "neutral"], 8, ("0", "the old farmer buys bread ."), 3),
    }[task]
    assert list(table.columns) == ["id", "label", *(f"prob_{label}" for label in labels), "text", "text_b"]
    assert len(table) == rows
    assert (table["id"][0], table["text_b"][0]) == first
    assert (eval_results["eval_examples"], eval_results["global_step"]) == (7, steps)


@pytest.mark.parametrize("precision", ["bfloat16", pytest.param("float16", marks=pytest.mark.slow)])
def test_half_precisions_stay_close(precision, trained_once, trained_flags, tmp_path, classify, run_folder):
    output_dir = tmp_path / "out"
    assert classify(*trained_flags, f"--output_dir={output_dir}", f"--precision={precision}", "--nodo_eval").code == 0
    assert run_folder(output_dir).report()["precision"] == precision
    actual, expected = (run_folder(folder).probabilities() for folder in (output_dir, trained_once[0]))
    assert (actual != expected).any()
    np.testing.assert_allclose(actual, expected, atol=0.05)


@pytest.mark.slow
def test_fine_tuned_model_is_a_start_for_another_run(trained, trained_flags, tmp_path, classify, run_folder):
    """Its casing, vocabulary and config are used; its head, too, if it has as many labels."""
    shutil.copytree(trained, tmp_path / "base")
    flags = [flag for flag in trained_flags if not flag.startswith(("--vocab_file", "--bert_config_file"))]
    outcome = classify(
        *flags, "--nodo_eval", "--nodo_predict", "--num_train_epochs=0.5", f"--output_dir={tmp_path / 'out'}",
        f"--init_checkpoint={tmp_path / 'base'}",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert f"{tmp_path / 'base' / 'model.ckpt-30'}: 25 variables loaded, 0 missing, 0 unused" in outcome.err
    report = run_folder(tmp_path / "out").report()
    assert report["global_step"] == 3
    assert report["first_loss"] < 0.4  # an untrained head starts at ln 2 = 0.69


@pytest.mark.slow
def test_remote_folders(trained_once, trained_flags, cola, classify):
    """TensorFlow's in-memory file system replaces the cloud; only tf.io.gfile can read it."""
    import tensorflow as tf  # after setup_tensorflow

    gfile = tf.io.gfile
    gfile.makedirs("ram://data")
    for path in cola.iterdir():
        gfile.copy(str(path), f"ram://data/{path.name}")
    outcome = classify(*trained_flags, "--report", "--data_dir=ram://data", "--output_dir=ram://out")
    assert outcome.code == 0, outcome.err
    checkpoints = {f"model.ckpt-{n}.{suffix}" for n in (10, 20, 30) for suffix in ("index", "data-00000-of-00001")}
    assert set(gfile.listdir("ram://out")) == {path.name for path in trained_once[0].iterdir()} | checkpoints
    for name in ("checkpoint", "test_results.tsv", "predictions.tsv", "eval_results.txt", "labels.txt", "vocab.txt"):
        with gfile.GFile(f"ram://out/{name}", "rb") as file:
            assert file.read() == (trained_once[0] / name).read_bytes(), name
    for number in range(2):
        with gfile.GFile(f"ram://data/part-{number}", "w") as file:
            file.write("a dog\n")
    flags = ["--output_dir=ram://out", "--input_file=ram://data/part-*", "--output_file=ram://data/answers"]
    assert classify(*flags).code == 0
    assert "2 of 2 shards are finished already" in classify(*flags).err
    assert set(gfile.glob("ram://data/answers*")) == {
        f"ram://data/answers{end}" for end in ("-00000-of-00002", "-00001-of-00002", ".shards.json")
    }


# Two virtual processors, which must be declared before TensorFlow starts.
ON_TWO_DEVICES = """
import sys
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from bert_cli.run_classifier import main
sys.exit(main(sys.argv[1:]))
"""


def run_on_two_devices(*flags):
    command = [sys.executable, "-c", ON_TWO_DEVICES, "--distribution_strategy=mirrored", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_two_devices_learn_the_same_as_one(trained_once, trained_flags, tmp_path, run_folder):
    """The numbers differ slightly because of dropout per device; 11 and 13 rows split unevenly."""
    done = run_on_two_devices(*trained_flags, f"--output_dir={tmp_path / 'out'}")
    assert done.returncode == 0, done.stderr
    assert "devices: 2 CPUs, precision float32" in done.stderr
    single, double = run_folder(trained_once[0]), run_folder(tmp_path / "out")
    assert double.checkpoints() == [10, 20, 30]
    assert double.eval_results()["eval_accuracy"] == single.eval_results()["eval_accuracy"]
    np.testing.assert_allclose(double.probabilities(), single.probabilities(), atol=0.1)


@pytest.mark.slow
def test_batch_that_two_devices_cannot_share(trained_flags, tmp_path):
    done = run_on_two_devices(*trained_flags, f"--output_dir={tmp_path / 'out'}", "--train_batch_size=5")
    assert done.returncode == 1
    check_message(done.stderr, "bert-classify: ")
    assert not (tmp_path / "out").exists()
