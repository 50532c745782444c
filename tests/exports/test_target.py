"""The target for --to, and publishing the converted files."""

import os

import pytest

from bert_cli.base.errors import InputError
from bert_cli.exports.target import Target, check_free, find_target, publish
from tests.snapshots import raises

CONFIG = '{"vocab_size": 9, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}'


@pytest.mark.parametrize(
    ("path", "to_format", "expected"),
    [
        ("out/", "auto", Target("hf", "out", "model.safetensors")),
        ("out", "tf1", Target("tf1", "out", "bert_model.ckpt")),
        ("out/model.ckpt-7", "auto", Target("tf1", "out", "model.ckpt-7")),
        ("x.weights.h5", "auto", Target("h5", ".", "x.weights.h5")),
        ("out", "hub", Target("hub", "out", "saved_model.pb")),
    ],
)
def test_names(path, to_format, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_target(path, to_format) == expected


@pytest.mark.parametrize(
    ("path", "to_format"),
    [
        ("a.ckpt", "hf"),
        ("a.h5", "auto"),
        ("a.safetensors", "auto"),
        ("a.ckpt.index", "auto"),
    ],
)
def test_names_that_are_refused(path, to_format):
    with raises(InputError):
        find_target(path, to_format)


def written(folder, **contents) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in contents.items():
        (folder / name.replace("_json", ".json").replace("_txt", ".txt")).write_text(text)
    return str(folder)


def test_existing_weights_are_not_replaced(tmp_path):
    target = Target("tf1", written(tmp_path / "out", **{"m.ckpt.index": "old"}), "m.ckpt")
    with pytest.raises(InputError, match=r"m\.ckpt\.index: exists already"):
        check_free(target, overwrite=False)
    check_free(target, overwrite=True)


def test_companions_and_weights_are_published(tmp_path):
    weights = {"m.ckpt.index": "i", "m.ckpt.data-00000-of-00001": "d"}
    staged = written(tmp_path / "staged", bert_config_json=CONFIG, vocab_txt="a\n", **weights)
    out = tmp_path / "out"
    target = Target("tf1", written(out, vocab_txt="a\n", notes_txt="mine"), "m.ckpt")
    published = publish(staged, target, ["bert_config.json", "vocab.txt"], overwrite=False, is_source_folder=False)
    assert published == ["bert_config.json", "m.ckpt.data-00000-of-00001", "m.ckpt.index"]
    assert {path.name: path.read_text() for path in out.iterdir()} == weights | {
        "bert_config.json": CONFIG, "vocab.txt": "a\n", "notes.txt": "mine",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("existing", "place"),
    [
        ({"vocab_txt": "b\n"}, "vocab.txt: "),
        ({"labels_txt": "x\n"}, "labels.txt: "),
        ({"config_json": CONFIG.replace("9", "8")}, "config.json: "),
    ],
)
def test_companions_of_another_model(tmp_path, existing, place):
    staged = written(tmp_path / "staged", bert_config_json=CONFIG, vocab_txt="a\n", **{"m.weights.h5": "w"})
    target = Target("h5", written(tmp_path / "out", **existing), "m.weights.h5")
    before = os.listdir(target.folder)
    with raises(InputError, place):
        publish(staged, target, ["bert_config.json", "vocab.txt"], overwrite=False, is_source_folder=False)
    assert os.listdir(target.folder) == before
