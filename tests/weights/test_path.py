"""Finding a checkpoint from a path."""

import json
import os
import pathlib

import pytest

from bert_cli.base.errors import InputError
from bert_cli.weights.advice import download_advice
from bert_cli.weights.path import HUGGING_FACE, TF1, CheckpointPath, find_checkpoint
from bert_cli.weights.training_folder import latest_checkpoint, numbered_checkpoints, step_number
from tests.snapshots import raises

DATA = ".data-00000-of-00001"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a function that creates empty files, and a `checkpoint` file, and returns their directory.

    The working directory is the parent of this directory.
    """
    directory = tmp_path / "model"
    directory.mkdir()
    monkeypatch.chdir(tmp_path)

    def fill(*names: str, checkpoint: str | None = None) -> str:
        for name in names:
            (directory / name).touch()
        if checkpoint is not None:
            (directory / "checkpoint").write_text(checkpoint, encoding="utf-8")
        return str(directory)

    return fill


def tf1(prefix: str) -> tuple[str, str]:
    return f"{prefix}.index", f"{prefix}{DATA}"


def state(path: str) -> str:
    return f'model_checkpoint_path: "{path}"\nall_model_checkpoint_paths: "{path}"\n'


@pytest.mark.parametrize("ending", ["", ".index", DATA, ".meta", ".data-00001-of-00002"])
def test_a_prefix_or_one_of_its_files(folder, ending):
    path = folder(*tf1("bert_model.ckpt"))
    expected = CheckpointPath(TF1, os.path.join(path, "bert_model.ckpt"))
    assert find_checkpoint(expected.location + ending) == expected
    assert expected.folder == path


def test_a_relative_prefix(folder):
    path = folder(*tf1("model.ckpt-7"))
    assert find_checkpoint("model/model.ckpt-7") == CheckpointPath(TF1, "model/model.ckpt-7")
    os.chdir(path)
    checkpoint = find_checkpoint("model.ckpt-7")
    assert (checkpoint.location, checkpoint.folder) == ("model.ckpt-7", ".")


def test_a_prefix_is_used_even_if_it_is_not_the_newest(folder):
    path = folder(*tf1("model.ckpt-7"), *tf1("model.ckpt-9"), checkpoint=state("model.ckpt-9"))
    assert find_checkpoint(f"{path}/model.ckpt-7").location == f"{path}/model.ckpt-7"


@pytest.mark.parametrize(
    "stored_path",
    ["model.ckpt-100", "/somewhere/else/before/model.ckpt-100", "../model/model.ckpt-100", "old/run/model.ckpt-100"],
)
def test_the_checkpoint_file_names_the_newest(folder, stored_path):
    """The stored path may be relative, absolute, or from before the directory was moved."""
    path = folder(*tf1("model.ckpt-100"), *tf1("model.ckpt-200"), checkpoint=state(stored_path))
    checkpoint = find_checkpoint(path)
    assert (checkpoint.kind, os.path.realpath(checkpoint.location)) == (TF1, os.path.realpath(f"{path}/model.ckpt-100"))


@pytest.mark.parametrize(
    "stored_path", ["{elsewhere}/model.ckpt-3", "../elsewhere/model.ckpt-3", "a/../../elsewhere/model.ckpt-3"]
)
def test_a_checkpoint_file_cannot_name_a_checkpoint_elsewhere(folder, tmp_path, stored_path):
    """A third-party directory could otherwise lead to any model of the machine."""
    path = folder(*tf1("model.ckpt-100"), checkpoint="")
    elsewhere = pathlib.Path(path).parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "model.ckpt-3.index").touch()
    (pathlib.Path(path) / "a").mkdir()
    stored_path = stored_path.format(elsewhere=elsewhere)
    (pathlib.Path(path) / "checkpoint").write_text(state(stored_path))
    with pytest.raises(InputError, match=r"checkpoint: names .*model\.ckpt-3, which is in another directory"):
        latest_checkpoint(path)
    # A copy of the directory has the checkpoint itself.
    (pathlib.Path(path) / "model.ckpt-3.index").touch()
    assert latest_checkpoint(path) == f"{path}/model.ckpt-3"


def test_a_checkpoint_file_may_name_one_in_a_directory_below_or_through_a_link(folder, tmp_path):
    path = folder(*tf1("model.ckpt-100"), checkpoint=state("below/model.ckpt-3"))
    (pathlib.Path(path) / "below").mkdir()
    (pathlib.Path(path) / "below" / "model.ckpt-3.index").touch()
    link = tmp_path / "link"
    link.symlink_to(path)
    assert latest_checkpoint(str(link)) == f"{link}/below/model.ckpt-3"


@pytest.mark.parametrize(
    ("content", "named"),
    [
        pytest.param(state("model.ckpt-300"), "model.ckpt-300", id="names one that is gone"),
        pytest.param(state("/etc/passwd"), "/etc/passwd", id="names another file"),
        pytest.param("", "", id="empty"),
        pytest.param("something else\n", "", id="names nothing"),
        pytest.param(None, "", id="missing"),
    ],
)
def test_the_highest_number_is_used_without_a_valid_checkpoint_file(folder, caplog, content, named):
    path = folder(*tf1("model.ckpt-9"), *tf1("model.ckpt-100"), *tf1("model.ckpt-20"), checkpoint=content)
    assert find_checkpoint(path).location == f"{path}/model.ckpt-100"
    assert latest_checkpoint(path) == f"{path}/model.ckpt-100"
    assert numbered_checkpoints(path) == [9, 20, 100]
    assert step_number(f"{path}/model.ckpt-100") == 100
    warning = f"warning: {path}/checkpoint: names {named!r}, which does not exist; model.ckpt-100 is used"
    assert caplog.messages == ([warning] if named else [])


def test_a_checkpoint_file_with_windows_line_ends(folder):
    path = folder(*tf1("model.ckpt-1"), *tf1("model.ckpt-2"), checkpoint=state("model.ckpt-1").replace("\n", "\r\n"))
    assert latest_checkpoint(path) == f"{path}/model.ckpt-1"


@pytest.mark.parametrize("more", [(), tf1("other"), ("model.safetensors", "config.json")])
def test_a_directory_from_google(folder, more):
    path = folder(*tf1("bert_model.ckpt"), "vocab.txt", *more)
    assert find_checkpoint(path) == CheckpointPath(TF1, f"{path}/bert_model.ckpt")


def test_a_folder_with_a_single_checkpoint_of_any_name(folder):
    path = folder(*tf1("best_model"))
    assert find_checkpoint(path).location == f"{path}/best_model"


def test_a_directory_with_several_checkpoints(folder):
    path = folder(*tf1("one"), *tf1("two"))
    with raises(InputError, f"{path}: "):
        find_checkpoint(path, "start_from")


@pytest.mark.parametrize("name", ["", "model.safetensors"])
def test_a_hugging_face_folder_or_its_file(folder, name):
    path = folder("model.safetensors", "config.json", "pytorch_model.bin")
    checkpoint = find_checkpoint(os.path.join(path, name) if name else path)
    assert (checkpoint.kind, checkpoint.location, checkpoint.folder) == (HUGGING_FACE, path, path)


def test_weights_next_to_a_bert_config_as_in_the_built_in_model(folder):
    path = folder("model.safetensors", "bert_config.json")
    checkpoint = find_checkpoint(path)
    assert (checkpoint, checkpoint.hugging_face_config) == (CheckpointPath(HUGGING_FACE, path), None)
    folder("config.json")
    assert find_checkpoint(path).hugging_face_config == f"{path}/config.json"
    folder(*tf1("bert_model.ckpt"))
    assert find_checkpoint(path).hugging_face_config is None


def test_a_hugging_face_file_in_the_working_directory(folder):
    os.chdir(folder("model.safetensors", "config.json"))
    assert find_checkpoint("model.safetensors") == CheckpointPath(HUGGING_FACE, ".")


@pytest.mark.parametrize("weights", ["model.safetensors.index.json", "tf_model.h5", "model.safetensors"])
def test_the_preferred_weights_of_a_hugging_face_folder(folder, weights):
    """A single safetensors file is preferred to shards, and shards to TensorFlow's file."""
    path = folder("config.json", weights, "tf_model.h5")
    assert find_checkpoint(path) == CheckpointPath(HUGGING_FACE, path)
    assert find_checkpoint(path).file == f"{path}/{weights}"


@pytest.mark.parametrize(
    ("name", "weights_name"),
    [
        ("model.safetensors", ""),
        ("model.safetensors.index.json", "model.safetensors.index.json"),
        ("model-00001-of-00002.safetensors", "model.safetensors.index.json"),
        ("tf_model.h5", "tf_model.h5"),
        ("pytorch_model.bin", ""),
    ],
)
def test_a_named_weights_file_is_used_next_to_another(folder, name, weights_name):
    path = folder(*{"config.json", "model.safetensors", name, weights_name or name})
    checkpoint = find_checkpoint(os.path.join(path, name))
    assert checkpoint == CheckpointPath(HUGGING_FACE, path, weights_name=weights_name)
    assert checkpoint.file == f"{path}/{weights_name or 'model.safetensors'}"
    assert find_checkpoint(checkpoint.argument) == checkpoint
    assert checkpoint.companion("config.json") == f"{path}/config.json"


def test_companions(folder):
    path = folder(*tf1("bert_model.ckpt"), "config.json", "bert_config.json")
    checkpoint = find_checkpoint(path)
    assert checkpoint.companion("bert_config.json", "config.json") == f"{path}/bert_config.json"
    assert checkpoint.companion("missing.json", "config.json") == f"{path}/config.json"
    assert checkpoint.companion("vocab.txt") is None


@pytest.mark.parametrize(
    ("names", "suffix", "message"),
    [
        (["model.safetensors"], "", "{folder}: has model.safetensors but no config.json; both are needed for --f"),
        (["model.safetensors"], "/model.safetensors", "{folder}: has model.safetensors but no config.json; both are"),
        (["model.safetensors.index.json"], "", "{folder}: has model.safetensors.index.json but no config.json; both"),
        (["tf_model.h5"], "/tf_model.h5", "{folder}: has tf_model.h5 but no config.json; both are needed for --f"),
        (["flax_model.msgpack"], "", "{folder}: flax_model.msgpack has weights of Flax; make model.safetensors once"),
        (["x.safetensors"], "/x.safetensors", "{folder}: x.safetensors has another name than transformers gives to"),
        (["pytorch_model.bin"], "", "{folder}: pytorch_model.bin is a pickle, which could run code"),
        (["pytorch_model.bin"], "/pytorch_model.bin", "{folder}: pytorch_model.bin is a pickle, which could run code"),
        ([], "", "{folder}: holds no checkpoint (no checkpoint file, *.index or model.safetensors); check --f"),
        (["vocab.txt"], "", "{folder}: holds no checkpoint (no checkpoint file, *.index or model.safetensors)"),
        (
            ["a.zip"],
            "/a.zip",
            "{folder}/a.zip: is an archive; unpack it and give the path of its bert_model.ckpt to --f",
        ),
        (["a.tar.gz"], "/a.tar.gz", "{folder}/a.tar.gz: is an archive; unpack it"),
        (["vocab.txt"], "/vocab.txt", "{folder}/vocab.txt: is not a checkpoint in a format that is read; check --f"),
        (
            [],
            "/bert_model.ckpt",
            "{folder}/bert_model.ckpt: no checkpoint there (bert_model.ckpt.index does not exist)",
        ),
        (
            [f"m.ckpt{DATA}"],
            "/m.ckpt",
            "{folder}/m.ckpt: no checkpoint there (m.ckpt.index does not exist); check --f",
        ),
        ([], "/gone/", "{folder}/gone/: no checkpoint there"),
        ([], "/model.safetensors", "{folder}/model.safetensors: no checkpoint there"),
    ],
)
def test_refusals(folder, names, suffix, message):
    path = folder(*names)
    with pytest.raises(InputError) as caught:
        find_checkpoint(path + suffix, "f")
    assert str(caught.value).startswith(message.format(folder=path))
    assert any(part in str(caught.value) for part in ("--f", "pickle", "model.safetensors"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("weights", [[], ["pytorch_model.bin"], ["flax_model.msgpack"], ["model.onnx"]])
@pytest.mark.parametrize("model_type", ["roberta", "deberta-v2", "t5"])
def test_another_network_is_named_before_its_weights(folder, weights, model_type):
    path = folder(*weights)
    pathlib.Path(path, "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    with pytest.raises(InputError, match=f"model_type is '{model_type}', which is another network than BERT"):
        find_checkpoint(path)


def test_only_complete_names_are_numbered_checkpoints(folder):
    path = folder(*tf1("model.ckpt-5"), "model.ckpt-6.index.tmp", "old_model.ckpt-7.index", f"model.ckpt-8{DATA}")
    assert numbered_checkpoints(path) == [5]
    assert latest_checkpoint(os.path.join(path, "missing")) is None
    assert numbered_checkpoints(os.path.join(path, "missing")) == []


@pytest.mark.parametrize("prefix", ["model/bert_model.ckpt", "model.ckpt-", "model.ckpt-5b"])
def test_a_name_without_a_step(prefix):
    with raises(InputError):
        step_number(prefix)


@pytest.mark.parametrize(
    "path",
    ["bert_output", "model/bert_model.ckpt", "./bert-base-uncased", "runs/my/bert-1", "bert-base.zip", "resnet-50"],
)
def test_paths_have_no_download_advice(path):
    assert download_advice(path, "init_checkpoint") is None


@pytest.mark.parametrize(
    ("name", "expected_texts"),
    [
        (
            "bert-base-cased",
            ["2018_10_18/cased_L-12_H-768_A-12.zip", "--do_lower_case=false", "google-bert/bert-base-cased"],
        ),
        (
            "google-bert/bert-large-uncased",
            ["uncased_L-24_H-1024_A-16.zip", "huggingface.co/google-bert/bert-large-uncased"],
        ),
        ("dbmdz/bert-base-german-cased", ["from https://huggingface.co/dbmdz/bert-base-german-cased into a folder"]),
        ("bert-tiny-of-mine", ["from its page on huggingface.co into a folder"]),
    ],
)
def test_a_model_name_as_a_path(name, expected_texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        find_checkpoint(name)
    assert all(
        part in str(caught.value) for part in [*expected_texts, f"{name}: is not a path here", "--init_checkpoint="]
    )
