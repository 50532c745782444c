"""Files of other programs are recognized by their contents."""

import pickle
import zipfile

import pytest

from bert_cli.base.errors import InputError
from bert_cli.weights.formats.foreign_files import describe_file
from bert_cli.weights.path import find_checkpoint
from tests.snapshots import check_message


def archive(path, *names):
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, "x")


@pytest.mark.parametrize(
    ("name", "names", "title"),
    [
        (
            "epoch=3-step=40.ckpt",
            ["epoch=3-step=40/data.pkl", "epoch=3-step=40/data/0"],
            "is a checkpoint of PyTorch or",
        ),
        ("model.keras", ["metadata.json", "config.json", "model.weights.h5"], r"is a model of Keras \(\.keras\)"),
        ("archive.ckpt", ["bert_model.ckpt.index"], "is an archive; unpack it"),
    ],
)
def test_archives(name, names, title, tmp_path):
    archive(tmp_path / name, *names)
    with pytest.raises(InputError, match=f"{name}: {title}"):
        find_checkpoint(str(tmp_path / name))


def test_pickles_and_other_files(tmp_path):
    for name in ("head.pkl", "head.model"):
        (tmp_path / name).write_bytes(pickle.dumps({"weights": [1]}))
        with pytest.raises(InputError, match=rf"{name}: is a pickle, which could run code, and is not read"):
            find_checkpoint(str(tmp_path / name))
    (tmp_path / "notes").write_text("a text")
    assert describe_file(str(tmp_path / "notes")) == ""
    with pytest.raises(
        InputError, match="notes: is not a checkpoint in a format that is read; check --init_checkpoint"
    ):
        find_checkpoint(str(tmp_path / "notes"))


def test_files_next_to_a_foreign_one_are_not_taken_for_it(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"")
    archive(tmp_path / "other.ckpt", "other/data.pkl")
    with pytest.raises(InputError, match=r"other\.ckpt: is a checkpoint of PyTorch"):
        find_checkpoint(str(tmp_path / "other.ckpt"))


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("a.ckpt", "is a checkpoint of PyTorch Lightning, a pickle"),
        ("b.keras", "is a model of Keras"),
        ("c.pkl", "is a pickle"),
    ],
)
def test_directories_name_the_file(name, title, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(InputError, match=f"{tmp_path}: {name} {title}"):
        find_checkpoint(str(tmp_path))


def test_a_head_that_is_not_read_is_named(tmp_path, caplog):
    """SetFit stores its classifier as a pickle, next to an encoder that is read."""
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "model_head.pkl").write_bytes(pickle.dumps(1))
    find_checkpoint(str(tmp_path))
    check_message(caplog.text, "model_head.pkl: not read: the classifier of SetFit")
