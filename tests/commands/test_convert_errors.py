"""bert-convert reports each mistake in flags or files in one line and keeps existing files."""

import functools
import json
import os

import numpy as np
import pytest

from tests.commands.convert_run import convert, make_source, refused

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
    assert "exists already; give another --to, or --overwrite" in refused(
        capfd, f"--from={other_source}", f"--to={target}"
    )
    line = refused(capfd, f"--from={other_source}", f"--to={tmp_path / 'second.ckpt'}")
    assert "bert_config.json: exists already and differs" in line
    assert "config.json: describes another model" in refused(capfd, f"--from={other_source}", f"--to={tmp_path}")
    after = snapshot(tmp_path)
    for state in (before, after):
        del state["."]  # hidden files were created and removed
    assert after == before
    # The same model, so its config and vocabulary are there already.
    convert(folder, tmp_path / "second.ckpt")
    convert(other_source, target, overwrite=True)
    assert json.loads((tmp_path / "bert_config.json").read_text())["num_attention_heads"] == 4
    (tmp_path / "labels.txt").write_text("a\n")
    assert "labels.txt: belongs to another model" in refused(
        capfd, f"--from={other_source}", f"--to={target}", "--overwrite"
    )


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
    assert "output_weights has the shape [3, 7]" in refused(capfd, *flags, "--head=classifier")
    head = {"output_weights": np.zeros((3, 16), np.float32), "output_bias": np.zeros(3, np.float32)}
    write_tf1(str(prefix), tensors | head)
    assert "the classifier has 3 outputs; a multiple-choice head has one" in refused(
        capfd, *flags, "--head=multiple_choice"
    )
    write_tf1(str(prefix), tensors)
    (folder / "bert_config.json").write_text((folder / "bert_config.json").read_text().replace("24", "20"))
    assert "does --bert_config_file belong to this checkpoint?" in refused(capfd, *flags)
    assert not (tmp_path / "hf").exists()
    assert tf.io.gfile.glob(str(tmp_path / ".writing-*")) == []


def test_labels_that_do_not_fit(source, tmp_path, capfd):
    folder, _ = source(("classifier",), ("a", "b"))
    flags = (f"--from={folder}", f"--to={tmp_path / 'hf'}")
    assert "names 2 labels, but the classifier has 3 outputs" in refused(capfd, *flags)
    (folder / "labels.txt").write_text("a\nb\na\n")
    assert "label 'a' (number 2): names must differ" in refused(capfd, *flags)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--from=none", "--to=x"], "none: no checkpoint there"),
        (["--form=x"], "did you mean --from?"),
        (["--from={0}", "--to=x.h5"], "ends in .weights.h5"),
        (["--from={0}", "--to=x.weights.h5", "--to_format=tf1"], "a name for --to_format=h5, not for --to_format=tf1"),
        (["--from={0}", "--to=x.ckpt.index"], "give the prefix, x.ckpt"),
        (["--from={0}", "--to={0}/vocab.txt"], "is a file, a folder is needed"),
        (["--from={0}", "--to=x", "--head=spans"], "the checkpoint has no spans; it has no head"),
        (["--from={0}", "--to=x", "--resize_vocab=0"], "--resize_vocab"),
    ],
)
def test_wrong_flags(source, tmp_path, capfd, monkeypatch, flags, message):
    folder, _ = source(())
    monkeypatch.chdir(tmp_path)
    assert message in refused(capfd, *(flag.format(folder) for flag in flags))
    assert {path.name for path in tmp_path.iterdir()} == {"google"}
