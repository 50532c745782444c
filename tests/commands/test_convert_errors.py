"""bert-convert reports each mistake in flags or files in one line and keeps existing files."""

import functools
import json
import os

import numpy as np
import pytest

from tests.commands.convert_run import convert, make_source, refused
from tests.snapshots import check_message

# Keras 3.15 reads TensorFlow variables through an old NumPy interface; Python hides this
# warning from users.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture
def source(tmp_path):
    """source(heads, labels, **config) -> a TF1 directory with random weights, and its tensors."""
    return functools.partial(make_source, tmp_path)


def test_a_pickle_is_refused(shared, tmp_path, capfd):
    line = refused(capfd, f"--from={shared / 'data' / 'checkpoint_hf_tiny'}", f"--to={tmp_path / 'x'}")
    assert "is a pickle" in line


def test_existing_files_are_kept(source, tmp_path, capfd, snapshot):
    folder, _ = source(("spans",), name="one")
    other_source, _ = source(("spans",), name="other", num_attention_heads=4)
    target = tmp_path / "target.ckpt"
    convert(folder, target)
    before = snapshot(tmp_path)
    check_message(refused(capfd, f"--from={other_source}", f"--to={target}"), "--to")
    check_message(refused(capfd, f"--from={other_source}", f"--to={tmp_path / 'second.ckpt'}"), "bert_config.json: ")
    check_message(refused(capfd, f"--from={other_source}", f"--to={tmp_path}"), "config.json: ")
    after = snapshot(tmp_path)
    for state in (before, after):
        del state["."]  # hidden files were created and removed
    assert after == before
    # The same model, so its config and vocabulary are there already.
    convert(folder, tmp_path / "second.ckpt")
    convert(other_source, target, overwrite=True)
    assert json.loads((tmp_path / "bert_config.json").read_text())["num_attention_heads"] == 4
    (tmp_path / "labels.txt").write_text("a\n")
    check_message(refused(capfd, f"--from={other_source}", f"--to={target}", "--overwrite"), "labels.txt: ")


def test_truncated_source(source, tmp_path, capfd):
    folder, _ = source(("spans",))
    convert(folder, tmp_path / "hf")
    convert(folder, tmp_path / "h5" / "x.weights.h5")
    for path in (tmp_path / "hf" / "model.safetensors", tmp_path / "h5" / "x.weights.h5"):
        size = path.stat().st_size
        for share in (0.99, 0.5, 0.0):
            os.truncate(path, int(size * share))
            line = refused(capfd, f"--from={path}", f"--to={tmp_path / 'new' / 'y.ckpt'}")
            assert str(path) in line
    assert not (tmp_path / "new").exists()


def test_incomplete_sources(source, tmp_path, capfd):
    import tensorflow as tf

    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    folder, tensors = source(("spans",), name="whole")
    prefix, flags = folder / "bert_model.ckpt", (f"--from={folder}", f"--to={tmp_path / 'hf'}")
    write_tf1(str(prefix), {"dense/kernel": np.zeros((2, 2), np.float32)})
    assert "is it a BERT checkpoint?" in refused(capfd, *flags)
    for name in ("bert/encoder/layer_1/output/dense/bias", "cls/squad/output_bias"):
        write_tf1(str(prefix), {key: value for key, value in tensors.items() if key != name})
        assert f"lacks {name}" in refused(capfd, *flags)
    write_tf1(str(prefix), tensors | {"output_weights": np.zeros((3, 7), np.float32)})
    check_message(refused(capfd, *flags, "--head=classifier"))
    head = {"output_weights": np.zeros((3, 16), np.float32), "output_bias": np.zeros(3, np.float32)}
    write_tf1(str(prefix), tensors | head)
    check_message(refused(capfd, *flags, "--head=multiple_choice"), "3 outputs")
    write_tf1(str(prefix), tensors)
    (folder / "bert_config.json").write_text((folder / "bert_config.json").read_text().replace("24", "20"))
    check_message(refused(capfd, *flags), "--bert_config_file")
    assert not (tmp_path / "hf").exists()
    assert tf.io.gfile.glob(str(tmp_path / ".writing-*")) == []


def test_labels_that_do_not_fit(source, tmp_path, capfd):
    folder, _ = source(("classifier",), ("a", "b"))
    flags = (f"--from={folder}", f"--to={tmp_path / 'hf'}")
    check_message(refused(capfd, *flags), "2 labels")
    (folder / "labels.txt").write_text("a\nb\na\n")
    check_message(refused(capfd, *flags), "'a'")


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (["--from=none", "--to=x"], "none: "),
        (["--form=x"], "--from"),
        (["--from={0}", "--to=x.h5"], ""),
        (["--from={0}", "--to=x.weights.h5", "--to_format=tf1"], "--to_format=h5"),
        (["--from={0}", "--to=x.ckpt.index"], ""),
        (["--from={0}", "--to={0}/vocab.txt"], ""),
        (["--from={0}", "--to=x", "--head=spans"], ""),
        (["--from={0}", "--to=x", "--resize_vocab=0"], "--resize_vocab"),
    ],
)
def test_wrong_flags(source, tmp_path, capfd, monkeypatch, flags, fragment):
    folder, _ = source(())
    monkeypatch.chdir(tmp_path)
    check_message(refused(capfd, *(flag.format(folder) for flag in flags)), fragment)
    assert {path.name for path in tmp_path.iterdir()} == {"google"}
