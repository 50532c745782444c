"""--distill_from: a student of a trained classifier with unlabeled texts, resuming, and refusals."""

import json

import numpy as np
import pytest

from bert_cli import Classifier
from bert_cli.run_classifier import main
from tests.commands.conftest import SENTENCES, write_cola
from tests.commands.helpers import assert_same_tensors, interrupted_after
from tests.rows import write_rows


@pytest.fixture(scope="module")
def student_flags(tmp_path_factory, trained_once, model_flags) -> list[str]:
    """Flags for 12 steps on 24 labeled rows and 8 unlabeled texts."""
    folder = tmp_path_factory.mktemp("student")
    write_cola(folder / "cola")
    write_rows(folder / "more.txt", (text.replace("the", "my") for text, _ in SENTENCES[:8]))
    flags = ["--task_name=cola", f"--data_dir={folder / 'cola'}", *model_flags, "--num_train_epochs=1.5", "--do_train"]
    return [
        *flags, f"--distill_from={trained_once[0]}", f"--unlabeled_file={folder / 'more.txt'}", "--distill_share=0.9",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def student(tmp_path_factory, student_flags):
    """A student's output_dir, and the flags of its run."""
    output_dir = tmp_path_factory.mktemp("trained_student") / "out"
    assert main([*student_flags, "--do_eval", f"--output_dir={output_dir}"]) == 0
    return output_dir, student_flags


def test_stopped_run_ends_with_the_same_weights(student, run_folder, classify, tmp_path, trained_once):
    folder, flags = student
    assert run_folder(folder).report()["global_step"] == 12
    logits = np.load(folder / "teacher.npy")
    assert (logits.shape, logits.dtype) == ((32, 2), np.float32)
    with interrupted_after("model.ckpt-10"):
        assert main([*flags, f"--output_dir={tmp_path / 'out'}"]) == 130
    done = classify(*flags, f"--output_dir={tmp_path / 'out'}")
    assert done.code == 0, done.err
    assert "resuming from" in done.err
    assert "asking the teacher" not in done.err  # its predictions were kept
    assert_same_tensors(run_folder(tmp_path / "out").tensors(12), run_folder(folder).tensors(12))
    refused_outcome = classify(*flags, "--distill_temperature=3", f"--output_dir={tmp_path / 'out'}")
    refused_outcome.assert_refused()
    # The student is a normal classifier, which does not need the teacher any more.
    assert classify(f"--output_dir={tmp_path / 'out'}", "--text=a cat", "--precision=float32").code == 0
    (tmp_path / "out" / "model.ckpt-12.index").unlink()
    (tmp_path / "out" / "checkpoint").unlink()
    (tmp_path / "out" / "teacher.npy").write_bytes(b"no array")
    classify(*flags, f"--output_dir={tmp_path / 'out'}").assert_refused("teacher.npy: ")


def test_weights_of_rows_and_a_teacher(trained_once, tmp_path, model, run_folder):
    """Rows of weight 0 do not matter, whatever their labels are."""
    texts, labels = map(list, zip(*SENTENCES[:8], strict=True))
    options = {
        "vocab_file": str(model / "vocab.txt"), "bert_config_file": str(model / "bert_config.json"), "max_seq_length": 16,
        "train_batch_size": 8, "num_train_epochs": 1.0, "precision": "float32", "distill_from": str(trained_once[0]),
        "distill_share": 0.5, "report": False,
    }  # fmt: skip
    weights = [1.0] * 6 + [0.0] * 2
    for name, last in (("a", ["0", "1"]), ("b", ["1", "0"])):
        names = [str(int(label)) for label in labels[:6]] + last
        Classifier.fit(texts, names, sample_weight=weights, output_dir=tmp_path / name, **options)
    assert_same_tensors(run_folder(tmp_path / "a").tensors(1), run_folder(tmp_path / "b").tensors(1))
    manifest = json.loads((tmp_path / "a" / "run.json").read_text("utf-8"))
    assert manifest["weights"]
    assert manifest["distill_from"]


@pytest.mark.slow
def test_each_fold_learns_from_the_teacher(student_flags, classify, tmp_path):
    """Each fold trains on its 12 rows and on the 8 unlabeled texts."""
    done = classify(*student_flags, "--cross_validation=2", f"--output_dir={tmp_path / 'out'}")
    assert done.code == 0, done.err
    for number in (1, 2):
        assert np.load(tmp_path / "out" / f"fold-{number}" / "teacher.npy").shape == (20, 2)


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (["--labels=0,1,2"], ""),
        (["--distill_from=/none/there"], "check --distill_from"),
        (["--distill_temperature=0"], "--distill_temperature=0: "),
        (["--task_name=sts-b"], "--distill_from: "),
    ],
)
def test_refused(student_flags, classify, tmp_path, flags, fragment):
    if "--task_name=sts-b" in flags:
        write_rows(tmp_path / "pairs.txt", ["a cat ||| a dog"])
        flags = [*flags, f"--unlabeled_file={tmp_path / 'pairs.txt'}"]
        names = "index\tgenre\tfile\tyear\told\ts1\ts2\ta\tb\tscore"
        write_rows(tmp_path / "train.tsv", [names, *[["0", *["-"] * 6, "a cat", "a dog", "1.5"]] * 4])
        flags = [*flags, f"--data_dir={tmp_path}"]
    classify(*student_flags, *flags, f"--output_dir={tmp_path / 'out'}").assert_refused(fragment)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_flags_without_a_teacher(classify, flags, tagger):
    classify(*flags, "--do_train", f"--distill_from={tagger}").assert_refused("holds a model of bert-tag")


@pytest.mark.slow
def test_dry_run_does_not_compute_teacher_logits(student_flags, classify, tmp_path):
    done = classify(*student_flags, f"--output_dir={tmp_path / 'out'}", "--dry_run")
    assert done.code == 0, done.err
    assert "the estimate excludes the teacher's single pass over the data" in done.err
    assert "asking the teacher" not in done.err
    assert "\n  unlabeled: 8 rows\n" in done.err
    assert not (tmp_path / "out").exists()
