"""bert-export's one-line refusals, and overwriting on request."""

import shutil

import pytest

from bert_cli.export_model import main
from tests.commands import helpers


def export(*flags) -> None:
    assert main([str(flag) for flag in flags]) == 0


@pytest.fixture
def refused(capfd, tmp_path):
    """refused(flags, fragments): the command writes one line with all fragments and leaves no file."""

    def check(flags, *fragments):
        before = sorted(tmp_path.rglob("*"))
        helpers.call(capfd, "bert-export", main, *flags).assert_refused(*fragments)
        assert sorted(tmp_path.rglob("*")) == before

    return check


@pytest.mark.slow
def test_overwrite(exported, trained, tmp_path, refused):
    flags = [f"--init_checkpoint={trained}", f"--export_dir={tmp_path / 'model'}"]
    shutil.copytree(exported, tmp_path / "model")
    refused(flags, tmp_path / "model", "is not empty", "--overwrite")
    export(*flags, "--overwrite", "--labels=0,1")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {
        "assets", "fingerprint.pb", "saved_model.pb", "variables",
    }  # fmt: skip
    (tmp_path / "model" / "notes.txt").write_text("mine", encoding="utf-8")
    refused([*flags, "--overwrite"], "notes.txt", "--export_dir")
    assert not list(tmp_path.glob(".writing-*"))


def test_refusals(trained, model, tmp_path, refused):
    there = [f"--init_checkpoint={trained}"]
    to = [f"--export_dir={tmp_path / 'model'}"]
    refused([*to, f"--init_checkpoint={tmp_path / 'no'}"], "no checkpoint there", "--init_checkpoint")
    refused([*to, f"--init_checkpoint={model}"], "holds no checkpoint")
    refused([*there, *to, "--labels=1,0"])
    refused([*there, *to, "--labels=1,1"], "--labels=1,1: different names")
    refused([*there, *to, "--format=coreml"], "--format")
    refused([*there, *to, "--top_k=3"], "--top_k=3: the model in", "does not fill masks")
    refused([*there, *to, "--max_seq_length=65"], "--max_seq_length=65", "64 positions")
    refused([*there, *to, "--max_seq_length=4", "--pairs=yes"], "--max_seq_length: 4", "pairs")
    refused([*there, f"--export_dir={trained}"])
    refused([*there, f"--export_dir={trained / 'labels.txt'}"], "labels.txt", "--export_dir")
    flags = (trained / "flags.txt").read_text(encoding="utf-8")
    (trained / "flags.txt").write_text(
        flags.replace("--task_name=cola\n", "").replace("=single_label", "=regression"), encoding="utf-8"
    )
    for output in ("saved_model", "onnx"):
        refused([*there, *to, f"--format={output}"], "has 2 outputs, a number needs one")
        refused([*there, *to, f"--format={output}", "--labels=0,1"], "--labels: the model in", "predicts a number")
    (trained / "flags.txt").write_text(flags, encoding="utf-8")
    (trained / "labels.txt").unlink()
    refused([*there, *to], "labels.txt: ", "(0, 1)")
    refused([*there, *to, "--labels=0,1,2"], "has 2 outputs, but there are 3 labels; check --labels")
    (trained / "run.json").unlink()  # it has the classifier's labels
    (trained / "labels.txt").write_text("O\nB-X\n", encoding="utf-8")
    (trained / "flags.txt").unlink()
    refused([*there, *to, "--labels=O"], "--labels=O")
    (trained / "vocab.txt").unlink()
    refused([*there, *to, "--format=hub"], "has no vocab.txt and no tokenizer.json")


def test_windows_without_a_place_for_the_context(answering, tmp_path, refused):
    flags = [f"--init_checkpoint={answering}", f"--export_dir={tmp_path / 'out'}"]
    refused([*flags, "--max_seq_length=10"], "--max_seq_length: 10 has no room for a context")


def test_checkpoint_without_classifier(trained, tmp_path, refused):
    import tensorflow as tf

    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    reader = tf.train.load_checkpoint(str(trained))
    tensors = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map() if name.startswith("bert/")}
    folder = tmp_path / "encoder"
    folder.mkdir()
    for name in ("vocab.txt", "bert_config.json"):
        (folder / name).write_bytes((trained / name).read_bytes())
    write_tf1(str(folder / "bert_model.ckpt"), tensors)
    flags = [f"--init_checkpoint={folder}", f"--export_dir={tmp_path / 'out'}"]
    refused([*flags, "--labels=0,1"], "has no classifier", "--labels")
    del tensors["bert/pooler/dense/kernel"]
    write_tf1(str(folder / "bert_model.ckpt"), tensors)
    refused([*flags, "--format=hub"])
