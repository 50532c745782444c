"""Training from heads that have the labels in another order, or other labels."""

import logging
import shutil

import numpy as np
import pandas as pd

from bert_cli import Classifier
from tests.commands import tag_run
from tests.commands.conftest import SENTENCES, write_cola
from tests.rows import write_rows
from tests.snapshots import check_message

HOLD = ("--learning_rate=1e-9", "--num_train_epochs=0.3", "--noreport")
HEAD = ("output_weights", "output_bias")


def foreign_copy(folder, target, labels):
    """Copy a run's model without flags.txt and run.json, and with other labels."""
    shutil.copytree(folder, target)
    for name in ("run.json", "flags.txt"):
        (target / name).unlink()
    write_rows(target / "labels.txt", labels)
    return target


def test_rows_follow_names_and_new_rows_the_seed(trained_once, model_flags, classify, run_folder, tmp_path):
    """Labels 1 and 0 become 0, 1 and 2; all runs in a sweep share one network."""
    start = foreign_copy(trained_once[0], tmp_path / "start", ("1", "0"))
    write_cola(tmp_path / "cola", ("0", "1", "2"))
    flags = ["--task_name=cola", f"--data_dir={tmp_path / 'cola'}", *model_flags, f"--init_checkpoint={start}", *HOLD]
    out = tmp_path / "out"
    done = classify(
        *flags, "--do_train", "--do_eval", "--learning_rate=1e-9,2e-9", "--num_runs=2", f"--output_dir={out}"
    )
    assert done.code == 0, done.err
    # All runs use the rows alike, so the first one says it for all.
    assert done.err.count("head has the labels 1, 0; its rows are used by name for 0, 1, 2; new, with") == 1
    old = run_folder(trained_once[0]).tensors(30)
    heads = {}
    for rate in ("1e-09", "2e-09"):
        for run in (1, 2):
            trial = run_folder(out / f"grid-learning_rate-{rate}" / f"run-{run}")
            assert (trial.path / "labels.txt").read_text("utf-8") == "0\n1\n2\n"
            tensors = trial.tensors(1)
            for name in HEAD:
                np.testing.assert_allclose(tensors[name][:2], old[name][[1, 0]], atol=1e-7)
            heads[rate, run] = tensors["output_weights"][2]
            assert abs(tensors["output_bias"][2]) < 1e-7
            assert 0.005 < heads[rate, run].std() < 0.05
    np.testing.assert_allclose(heads["1e-09", 1], heads["2e-09", 1], atol=1e-7)
    assert np.abs(heads["1e-09", 1] - heads["1e-09", 2]).max() > 1e-3


def test_rows_of_a_tagger_follow_another_form(tagger_once, two_layer_flags, tag, run_folder, tmp_path):
    """O, ANI_b, ANI_i, PER_b and PER_i become O, B-PER, I-PER, B-Z and I-Z."""
    folder, _ = tagger_once
    names = [label if label == "O" else f"{label[2:]}_{label[0].lower()}" for label in tag_run.LABELS]
    start = foreign_copy(folder, tmp_path / "start", [name.replace("ANI", "z") for name in names])
    data = tmp_path / "data"
    data.mkdir()
    text = (folder.parent / "data" / "train.txt").read_text("utf-8")
    (data / "train.txt").write_text(text.replace("-ANI", "-Z"), "utf-8")
    flags = [*two_layer_flags, f"--data_dir={data}", f"--init_checkpoint={start}", *HOLD, "--random_seed=7"]
    done = tag(*flags, "--do_train", f"--output_dir={tmp_path / 'out'}")
    assert done.code == 0, done.err
    assert "PER_b is B-PER, PER_i is I-PER, z_b is B-Z, z_i is I-Z" in done.err
    out = run_folder(tmp_path / "out")
    assert (out.path / "labels.txt").read_text("utf-8").split() == ["O", "B-PER", "I-PER", "B-Z", "I-Z"]
    for name in HEAD:
        old = run_folder(folder).tensors(60)[name]
        np.testing.assert_allclose(out.tensors(1)[name], old[[0, 3, 4, 1, 2]], atol=1e-7)


def test_columns_of_a_table_do_not_rename_outputs(trained, caplog):
    texts = [text for text, _ in SENTENCES]
    is_person = np.array([int(of_people) for _, of_people in SENTENCES])
    labels = pd.DataFrame({"animal": 1 - is_person, "person": is_person})
    (trained / "run.json").unlink()
    (trained / "labels.txt").write_text("no\nyes\n", "utf-8")
    options = {"init_checkpoint": str(trained), "learning_rate": 1e-9, "num_train_epochs": 0.3, "max_seq_length": 16}
    with caplog.at_level(logging.INFO, "bert_cli"):
        Classifier.fit(texts, labels, **options)
    check_message(caplog, "animal, person")


def test_a_teacher_may_write_its_labels_in_another_case(trained_once, model_flags, classify, tmp_path):
    teacher = foreign_copy(trained_once[0], tmp_path / "teacher", ("B", "a"))
    write_cola(tmp_path / "cola", ("a", "b"))
    flags = ["--task_name=cola", f"--data_dir={tmp_path / 'cola'}", *model_flags, *HOLD, f"--distill_from={teacher}"]
    done = classify(*flags, "--do_train", f"--output_dir={tmp_path / 'out'}")
    assert done.code == 0, done.err
    assert "taken for the same label: B is b" in done.err
    logits = np.load(tmp_path / "out" / "teacher.npy")
    texts = [text for text, _ in SENTENCES]
    predictions = Classifier.load(teacher, precision="float32").predict(texts).probabilities
    np.testing.assert_allclose(np.exp(logits), predictions[:, ::-1], atol=1e-4)
