"""The built-in model: commands that use it by default, and commands without it."""

import json
import logging
import pathlib
import shutil

import numpy as np
import pytest
from safetensors import safe_open

from bert_cli import Classifier, FeatureExtractor, fill_mask
from bert_cli import run_tagging as tagging
from bert_cli.base.errors import InputError
from bert_cli.base.names import BUILTIN_MODEL
from bert_cli.extract_features import main as extract_main
from bert_cli.opening import checkpoints, paths
from bert_cli.settings.groups import HubEncoder, ModelFiles
from bert_cli.weights.hugging_face import HuggingFaceReader
from tests.commands import helpers
from tests.commands.convert_run import TOKENS, convert, make_source
from tests.snapshots import check_message, raises

SIZES = {"max_position_embeddings": 64, "num_hidden_layers": 1}
USED = f"no model was given: the built-in one is used, pre-trained on English text: 1 layers of width 16, {len(TOKENS)} words"
RANDOM = "no model was given: the small built-in one is used, which starts from RANDOM weights"
# One step; the stand-in's vocabulary has few words of the texts.
FEW = ("--train_batch_size=8", "--num_train_epochs=0.34", "--precision=float32", "--allow_unknown", "--noreport")
MOST_BYTES = 16_000_000


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory) -> tuple[pathlib.Path, dict[str, np.ndarray]]:
    """A directory like the package's, made as by `make builtin-model`, and its original weights."""
    folder = tmp_path_factory.mktemp("box")
    source, tensors = make_source(folder, ("masked_lm",), **SIZES)
    convert(source, folder / "float16", head="masked_lm", float16=True)
    box = folder / "pretrained"
    box.mkdir()
    for path in (
        folder / "float16" / "model.safetensors",
        folder / "float16" / "vocab.txt",
        source / "bert_config.json",
    ):
        shutil.copy(path, box)
    return box, tensors


@pytest.fixture
def present(stand_in, monkeypatch) -> dict[str, np.ndarray]:
    monkeypatch.setattr(paths, "PRETRAINED", str(stand_in[0]))
    return stand_in[1]


@pytest.fixture
def absent(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "PRETRAINED", str(tmp_path / "none"))


def is_kept(written: dict[str, np.ndarray], tensors: dict[str, np.ndarray]) -> bool:
    """Return whether a checkpoint's encoder equals the built-in one, in float16."""
    names = [name for name in tensors if name.startswith("bert/") and "pooler" not in name]
    return all(np.array_equal(written[name], tensors[name].astype(np.float16).astype(np.float32)) for name in names)


def test_training_starts_from_the_built_in_model(present, cola, classify, run_folder, tmp_path):
    """The encoder stays the same with learning rate 0; the untrained pooler is new."""
    out = tmp_path / "out"
    flags = ["--task_name=cola", f"--data_dir={cola}", f"--output_dir={out}", *FEW, "--do_train", "--max_seq_length=16"]
    done = classify(*flags, "--learning_rate=0")
    assert done.code == 0, done.err
    assert done.lines.count(USED) == 1
    assert "missing" not in done.err
    assert is_kept(run_folder(out).tensors(1), present)
    assert json.loads((out / "run.json").read_text())["init_checkpoint"] == BUILTIN_MODEL
    assert "--init_checkpoint" not in (out / "flags.txt").read_text()
    second_outcome = classify(*flags, "--learning_rate=0")  # the run's directory has all settings
    assert second_outcome.code == 0
    assert "training is already finished" in second_outcome.err
    predict = ("--do_predict", "--data_dir", cola, "--allow_unknown", "--engine=onnxruntime")
    predicted = classify(*predict, f"--output_dir={out}")
    assert predicted.code == 0, predicted.err
    assert BUILTIN_MODEL not in predicted.err
    classify(*flags, "--learning_rate=0", "--init_checkpoint=random").assert_refused("holds another run", BUILTIN_MODEL)


@pytest.mark.slow
def test_random_equals_a_package_without_weights(present, cola, classify, run_folder, tmp_path, monkeypatch):
    """--init_checkpoint=random gives the run of a package without weights; flags.txt repeats it."""
    flags = ["--task_name=cola", f"--data_dir={cola}", *FEW, "--do_train", "--max_seq_length=16"]
    random_outcome = classify(*flags, "--init_checkpoint=random", f"--output_dir={tmp_path / 'asked'}")
    assert random_outcome.code == 0, random_outcome.err
    check_message(random_outcome.lines, "--init_checkpoint=random: ")
    assert "--init_checkpoint=random\n" in (tmp_path / "asked" / "flags.txt").read_text()
    monkeypatch.setattr(paths, "PRETRAINED", str(tmp_path / "none"))
    left_out = classify(*flags, f"--output_dir={tmp_path / 'left_out'}")
    assert left_out.code == 0, left_out.err
    assert RANDOM in left_out.lines
    helpers.assert_same_tensors(run_folder(tmp_path / "asked").tensors(1), run_folder(tmp_path / "left_out").tensors(1))
    with_random, without_model = (
        json.loads((tmp_path / name / "run.json").read_text()) for name in ("asked", "left_out")
    )
    assert with_random == without_model
    repeated = classify(f"--flagfile={tmp_path / 'asked' / 'flags.txt'}")
    assert "training is already finished" in repeated.err


@pytest.mark.slow
def test_from_python(present, monkeypatch):
    texts, labels = ["all work", "no play", "all play", "no work"], ["a", "b", "a", "b"]
    options = {"num_train_epochs": 0.5, "train_batch_size": 2, "max_seq_length": 12, "precision": "float32"}
    start = Classifier.fit(texts, labels, init_checkpoint="random", **options)
    manifest = json.loads((pathlib.Path(start.output_dir) / "run.json").read_text())
    assert (manifest["init_checkpoint"], manifest["config"]["num_hidden_layers"]) == (None, 2)
    vectors = FeatureExtractor.load().extract(["all work and no play"])
    assert vectors.shape == (1, 16)
    monkeypatch.setattr(paths, "PRETRAINED", "none")
    with raises(InputError):
        FeatureExtractor.load()


@pytest.mark.slow
def test_fill_mask_and_features_use_the_built_in_model(present, stand_in, capfd, tmp_path):
    """The results equal those with the source directory and with the built-in directory by name.

    One line reports the model.
    """
    source = f"--init_checkpoint={stand_in[0].parent / 'float16'}"
    tokenizer_flag = (
        "--gelu=tanh",
        "--precision=float32",
    )  # config.json in the source directory has the same setting
    fill = [
        helpers.call(capfd, "bert-fill-mask", fill_mask.main, "all [MASK] and no play", *flags, *tokenizer_flag)
        for flags in ((), (source,), (f"--init_checkpoint={stand_in[0]}",))
    ]
    assert [done.code for done in fill] == [0, 0, 0], [done.err for done in fill]
    assert fill[0].out == fill[1].out == fill[2].out
    assert [done.lines.count(USED) for done in fill] == [1, 0, 0]
    (tmp_path / "in.txt").write_text("all work\nno play\n")
    texts = (f"--input_file={tmp_path / 'in.txt'}", "--output_file=-", "--pooling=mean", "--max_seq_length=12")
    vectors = [
        helpers.call(capfd, "bert-extract-features", extract_main, *texts, *flags, *tokenizer_flag)
        for flags in ((), (source,))
    ]
    assert [done.code for done in vectors] == [0, 0], vectors[0].err
    assert vectors[0].out == vectors[1].out
    assert vectors[0].lines.count(USED) == 1


def test_built_in_directory_is_converted_like_others(stand_in, tmp_path):
    box, tensors = stand_in
    convert(box, tmp_path / "hf", check=True)
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert (config["architectures"], config["hidden_act"]) == (["BertForMaskedLM"], "gelu_new")
    assert (config["vocab_size"], config["num_hidden_layers"]) == (len(TOKENS), 1)
    written = HuggingFaceReader(str(tmp_path / "hf"))
    assert is_kept({name: written.read(name) for name in written.shapes}, tensors)


def test_commands_without_the_built_in_model(absent, capfd, tmp_path, monkeypatch):
    """bert-fill-mask looks into bert_output, bert-extract-features needs a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text("all work\n")
    texts = ("--input_file=in.txt", "--output_file=out.jsonl")
    for command, main, words, otherwise in (
        ("bert-fill-mask", fill_mask.main, ["a [MASK]"], "bert_output: no checkpoint there"),
        ("bert-extract-features", extract_main, texts, "--init_checkpoint is needed: give a pre-trained model"),
    ):
        helpers.call(capfd, command, main, *words).assert_refused(otherwise)
        helpers.call(capfd, command, main, *words, "--init_checkpoint=random").assert_refused("is a start for training")


def test_prediction_alone_does_not_use_the_built_in_model(present, capfd, tmp_path):
    for flags in ([], ["--init_checkpoint=random"]):
        done = helpers.call(
            capfd,
            "bert-tag",
            tagging.main,
            f"--output_dir={tmp_path}",
            "--do_predict",
            "--data_dir=data/tagging",
            *flags,
        )
        done.assert_refused("holds no trained model")


@pytest.mark.parametrize("user_files", [{"vocab_file": "vocab.txt"}, {"bert_config_file": "bert_config.json"}])
def test_user_files_replace_the_built_in_model(present, user_files):
    model = ModelFiles(**user_files)
    assert checkpoints.checkpoint_to_start_from(model, HubEncoder()) is None
    assert checkpoints.checkpoint_to_start_from(ModelFiles(), HubEncoder()) == paths.pretrained_model() is not None
    level, line = checkpoints.random_start_message("", is_builtin=False)
    assert (level, line.startswith("warning: no --init_checkpoint")) == (logging.WARNING, True)
    expected = (logging.INFO, "--init_checkpoint=random: the model starts from random weights")
    assert checkpoints.random_start_message("random", is_builtin=False) == expected
    with pytest.raises(InputError, match="--init_checkpoint is needed"):
        checkpoints.model_to_use(model).find()


@pytest.mark.skipif(paths.pretrained_model() is None, reason="this version has no pre-trained weights in the box")
def test_shipped_files_match():
    folder = pathlib.Path(paths.PRETRAINED)
    path = folder / "model.safetensors"
    assert path.stat().st_size <= MOST_BYTES
    with safe_open(path, framework="np") as file:
        assert {file.get_slice(name).get_dtype() for name in file.keys()} == {"F16"}  # noqa: SIM118 (no dict)
    config = json.loads((folder / "bert_config.json").read_text("utf-8"))
    words = (folder / "vocab.txt").read_text("utf-8").splitlines()
    assert config.get("vocab_size", len(words)) == len(words) == len(set(words))
    assert [word for word in words if word != word.lower() and not word.startswith("[")] == []
    shapes = HuggingFaceReader(str(folder)).shapes
    assert shapes["bert/embeddings/word_embeddings"] == (len(words), config["hidden_size"])
    assert "cls/predictions/transform/dense/kernel" in shapes
    assert "model.safetensors" in (folder / "README.md").read_text("utf-8")
