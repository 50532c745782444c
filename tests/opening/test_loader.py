"""The loader uses files from flags or next to a checkpoint, and refuses files that do not fit."""

import dataclasses
import json
import pathlib

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, MEAN, TAGGER
from bert_cli.model.config import BertConfig
from bert_cli.model.config_files import hugging_face_config
from bert_cli.opening.loader import load_model
from bert_cli.problem_types.registry import PROBLEM_TYPES
from bert_cli.serving.processes import SharedCheckpoints
from bert_cli.settings.groups import ModelFiles
from bert_cli.weights import checkpoint as checkpoint_files
from bert_cli.weights.formats import checkpoint_writer
from bert_cli.weights.path import HUGGING_FACE, TF1, CheckpointPath, find_checkpoint
from tests.commands.convert_run import TOKENS, make_source
from tests.rows import write_rows
from tests.snapshots import check_message, raises

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog"]
SIZES = {
    "vocab_size": 7, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
    "hidden_act": "gelu", "max_position_embeddings": 16, "type_vocab_size": 2, "initializer_range": 0.02,
}  # fmt: skip
FLAGS = ModelFiles()


@pytest.fixture
def checkpoint(tmp_path) -> CheckpointPath:
    """A Google checkpoint with 7 words and without weights, which the loader does not read."""
    write_rows(tmp_path / "vocab.txt", WORDS)
    (tmp_path / "bert_config.json").write_text(json.dumps(SIZES))
    return CheckpointPath(TF1, str(tmp_path / "bert_model.ckpt"))


def folder_of(checkpoint: CheckpointPath) -> pathlib.Path:
    return pathlib.Path(checkpoint.folder)


def test_a_google_checkpoint_is_loaded(checkpoint):
    model = load_model(FLAGS, checkpoint, 16)
    assert model.config.hidden_size == 8
    assert model.tokenizer.tokenize("A dog") == ["a", "dog"]
    assert (model.head.labels, model.head.problem_type, model.head.classifier_type) == (None, None, None)
    assert model.head.text_input.reads_pooler
    assert model.head.layers == (-1,)
    assert not model.is_builtin


def test_shared_weights_give_the_sizes_of_an_electra(tmp_path):
    shapes = {f"electra/embeddings/{name}_embeddings": (7, 8) for name in ("word", "position", "token_type")}
    shapes["electra/encoder/layer_0/intermediate/dense/kernel"] = (16, 24)
    path = str(tmp_path / "electra_small")
    checkpoint_writer.write_tf1(path, {name: np.zeros(shape, np.float32) for name, shape in shapes.items()})
    write_rows(tmp_path / "vocab.txt", WORDS)
    checkpoint = SharedCheckpoints({path: find_checkpoint(path)}).find(path)
    model = load_model(FLAGS, checkpoint, None)
    config = model.config
    assert model.required_checkpoint.opened is checkpoint.opened
    assert (config.model_type, config.hidden_size, config.embedding_size) == ("electra", 16, 8)


def test_a_tensorflow_checkpoint_is_opened_once(checkpoint, monkeypatch):
    checkpoint_writer.write_tf1(checkpoint.location, {"bert/pooler/dense/bias": np.zeros(8, np.float32)})
    prefixes = []
    read_index = checkpoint_files.read_index
    monkeypatch.setattr(checkpoint_files, "read_index", lambda *a, **k: prefixes.append(a[0]) or read_index(*a, **k))
    model = load_model(FLAGS, checkpoint, 16)
    reader = checkpoint_files.open_checkpoint(model.required_checkpoint)
    assert reader.shapes == {"bert/pooler/dense/bias": (8,)}
    assert model.checkpoint == checkpoint
    assert prefixes == [checkpoint.location]


def test_without_checkpoint_the_builtin_network_is_loaded():
    model = load_model(FLAGS, None, 16)
    assert model.is_builtin
    assert model.checkpoint is None


def test_a_run_has_saved_flags_and_labels(checkpoint):
    folder = folder_of(checkpoint)
    (folder / "flags.txt").write_text(
        "--problem_type=multi_label\n--do_lower_case=false\n--head_input=mean\n--layers=-1,0\n"
    )
    (folder / "labels.txt").write_text("yes\nno\n")
    model = load_model(FLAGS, checkpoint, 16)
    assert model.head.labels == ("yes", "no")
    assert model.head.problem_type.name == "multi_label"
    assert model.head.text_input is MEAN
    assert model.head.layers == (-1, 0)
    assert not model.do_lower_case
    (folder / "flags.txt").write_text("--tag_scheme=BIO\n")
    assert load_model(FLAGS, checkpoint, 16).head.classifier_type == TAGGER


def test_the_fingerprint_depends_on_contents(checkpoint):
    before = load_model(FLAGS, checkpoint, 16).fingerprint
    assert load_model(FLAGS, checkpoint, 16).fingerprint == before
    folder = folder_of(checkpoint)
    write_rows(folder / "vocab.txt", [*WORDS[:-1], "cat"])
    changed = load_model(FLAGS, checkpoint, 16).fingerprint
    assert {flag for flag, value in changed.items() if value != before[flag]} == {"vocab_file"}


def test_weights_give_a_vocab_size_that_the_config_lacks(tmp_path):
    """Neither a longer vocabulary nor a shorter one changes the model, in whatever format it is."""
    folder, _ = make_source(tmp_path, ())
    values = json.loads((folder / "bert_config.json").read_text())
    del values["vocab_size"]
    (folder / "bert_config.json").write_text(json.dumps(values))
    checkpoint = find_checkpoint(str(folder))
    extended = write_rows(tmp_path / "extended.txt", [*TOKENS, "more", "words"])
    flags = ModelFiles(vocab_file=str(extended))
    model = load_model(flags, checkpoint, None, to_convert=True)
    assert model.config.vocab_size == len(TOKENS)
    size = len(TOKENS) + 2
    with raises(InputError, f"{size} entries"):
        load_model(flags, checkpoint, 8)
    write_rows(folder / "vocab.txt", TOKENS[:-1])
    assert load_model(FLAGS, checkpoint, 8).config.vocab_size == len(TOKENS)


@pytest.mark.parametrize(
    ("name", "content", "length", "flag"),
    [
        ("vocab.txt", None, 16, "--vocab_file"),
        ("bert_config.json", None, 16, "--bert_config_file"),
        ("vocab.txt", "\n".join([*WORDS, "more"]), 16, "--resize_vocab="),
        ("unrelated", "", 17, "--max_seq_length=17"),
    ],
)
def test_missing_or_unsuitable_files_are_refused(checkpoint, name, content, length, flag):
    path = folder_of(checkpoint) / name
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_text(content)
    with raises(InputError, flag):
        load_model(FLAGS, checkpoint, length)


@pytest.mark.parametrize(("end", "line"), [("\n", "line is"), ("\n\n", "2 lines are"), (" \n\t\n\r\n", "3 lines are")])
def test_blank_lines_at_the_end_of_a_vocabulary_are_ignored(checkpoint, end, line, caplog):
    path = folder_of(checkpoint) / "vocab.txt"
    path.write_text(path.read_text() + end, newline="")
    for length in (16, None):
        with caplog.at_level("INFO", "bert_cli"):
            assert load_model(FLAGS, checkpoint, length).vocabulary.size == 7
        check_message(caplog, f"{path}: ", line)


def test_strict_refuses_a_vocabulary_that_is_too_small(checkpoint):
    (folder_of(checkpoint) / "vocab.txt").write_text("\n".join(WORDS[:-1]))
    assert load_model(FLAGS, checkpoint, 16).vocabulary.size == 6
    with pytest.raises(InputError, match="fewer than vocab_size 7"):
        load_model(dataclasses.replace(FLAGS, strict=True), checkpoint, 16)


def test_token_ids_need_no_vocabulary(checkpoint):
    (folder_of(checkpoint) / "vocab.txt").unlink()
    model = load_model(FLAGS, checkpoint, 16, needs_bert=True, needs_vocab=False)
    assert (model.optional_vocabulary, model.vocab_bytes) == (None, None)


def test_a_converted_hugging_face_folder_is_read_by_its_own_config(checkpoint):
    folder = folder_of(checkpoint)
    (folder / "config.json").write_text(json.dumps(SIZES | {"hidden_act": "gelu_new", "model_type": "bert"}))
    hugging_face_checkpoint = CheckpointPath(HUGGING_FACE, str(folder))
    assert load_model(FLAGS, hugging_face_checkpoint, 16).config_file == str(folder / "bert_config.json")
    model = load_model(FLAGS, hugging_face_checkpoint, None, needs_bert=True, needs_vocab=False, to_convert=True)
    assert model.config_file == str(folder / "config.json")
    assert model.config.activation == "gelu_tanh"
    assert model.vocab_bytes == (folder / "vocab.txt").read_bytes()
    (folder / "labels.txt").write_text("")
    with pytest.raises(InputError, match=r"labels.txt: is empty"):
        load_model(FLAGS, hugging_face_checkpoint, None, needs_bert=True, needs_vocab=False, to_convert=True)


def test_another_network_is_refused_before_a_missing_vocabulary(tmp_path):
    """RoBERTa has a vocab.json and merges.txt, and no vocab.txt."""
    (tmp_path / "config.json").write_text(json.dumps(SIZES | {"model_type": "roberta"}))
    checkpoint = CheckpointPath(HUGGING_FACE, str(tmp_path))
    with raises(InputError, "'roberta'"):
        load_model(FLAGS, checkpoint, 16)
    (tmp_path / "config.json").write_text(json.dumps(SIZES | {"model_type": "bert"}))
    with pytest.raises(InputError, match="has no vocab"):
        load_model(FLAGS, checkpoint, 16)


@pytest.mark.parametrize("name", ["single_label", "multi_label", "regression", "multiple_choice", None])
def test_a_config_json_names_the_problem_type(checkpoint, name):
    folder = folder_of(checkpoint)
    problem_type = PROBLEM_TYPES.get(name)
    head_type = problem_type.head_type if problem_type else CLASSIFIER
    stored_name = problem_type.hugging_face if problem_type else "a_new_type"
    values = hugging_face_config(BertConfig(**SIZES), head_type, None, problem_type=stored_name)
    (folder / "config.json").write_text(json.dumps(values))
    model = load_model(FLAGS, CheckpointPath(HUGGING_FACE, str(folder)), 8)
    assert model.head.named_problem_type is problem_type
