"""The loader reads tokenizer files that belong to the vocabulary, logs unusual settings, and keeps them in a run."""

import dataclasses
import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.opening.loader import load_model
from bert_cli.settings.groups import ModelFiles
from bert_cli.weights.path import HUGGING_FACE, TF1, CheckpointPath
from tests.snapshots import check_message, raises
from tests.tokenizer_folders import CONFIGURATIONS, E1, SIZE, USER, VOCABULARY, bert, tokenizer_json, write

FLAGS = ModelFiles()
SIZES = {
    "vocab_size": SIZE + 2, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
    "hidden_act": "gelu", "max_position_embeddings": 16, "type_vocab_size": 2, "initializer_range": 0.02,
}  # fmt: skip
SAVED = {"tokenizer": tokenizer_json([USER, E1]), "tokenizer_config": bert()}


@pytest.fixture
def model(tmp_path):
    """model(files, flags) loads a model with these tokenizer files; its weights are not read."""

    def load(files, flags=FLAGS, checkpoint_kind=HUGGING_FACE, **config):
        folder = write(tmp_path / "m", config=SIZES | {"model_type": "bert"} | config, **files)
        if checkpoint_kind == TF1:
            write(folder, bert_config=SIZES)
        location = folder / "bert_model.ckpt" if checkpoint_kind == TF1 else folder
        return load_model(flags, CheckpointPath(checkpoint_kind, str(location)), 16)

    return load


@pytest.mark.parametrize("checkpoint_kind", [HUGGING_FACE, TF1])
def test_tokenizer_json_replaces_vocab_txt(model, checkpoint_kind, tmp_path):
    loaded = model(SAVED, checkpoint_kind=checkpoint_kind)
    assert loaded.vocab_file == str(tmp_path / "m" / "tokenizer.json")
    assert loaded.tokenizer.tokenize("The <USER>[E1]") == ["the", "<user>", "[E1]"]
    assert loaded.vocab_bytes.decode().split("\n")[:-1] == [*VOCABULARY, "<user>", "[E1]"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("accents kept", "the tokenizer has strip_accents false"),
        ("ideographs joined", "the tokenizer has tokenize_chinese_chars false"),
        ("added tokens", "the tokenizer has 2 added tokens (<user>, [E1])"),
        ("tokenizer.json alone", None),
    ],
)
def test_unusual_settings_are_logged(model, name, line, caplog):
    with caplog.at_level("INFO", "bert_cli"):
        model(CONFIGURATIONS[name])
    assert [
        record.getMessage().partition(": ")[2] for record in caplog.records if "tokenizer has" in record.getMessage()
    ] == ([line] if line else [])


def test_a_conflict_is_a_warning_and_an_error_with_strict(model, caplog):
    files = CONFIGURATIONS["tokenizer_config.json against tokenizer.json"]
    assert model(files).do_lower_case
    assert "warning: " in caplog.text
    check_message(caplog)
    caplog.clear()
    assert model(files, dataclasses.replace(FLAGS, do_lower_case=True)).do_lower_case
    assert "do_lower_case is true, but in" not in caplog.text
    with raises(InputError):
        model(files, dataclasses.replace(FLAGS, strict=True), vocab_size=SIZE)


def test_a_vocabulary_file_from_another_directory_is_used_without_the_tokenizer_files(model, tmp_path):
    files = {
        "vocab": VOCABULARY,
        "tokenizer_config": bert(do_lower_case=False, strip_accents=True),
        "added_tokens": {"[E1]": SIZE},
    }
    elsewhere = write(tmp_path / "other", [*VOCABULARY, "more"]) / "vocab.txt"
    loaded = model(files, dataclasses.replace(FLAGS, vocab_file=str(elsewhere)))
    assert loaded.tokenizer.tokenize("The café [E1] more") == ["The", "café", "[", "[UNK]", "]", "more"]
    loaded = model(files, dataclasses.replace(FLAGS, vocab_file=str(tmp_path / "m" / "vocab.txt")))
    assert loaded.tokenizer.tokenize("The café [E1]") == ["The", "cafe", "[E1]"]


def test_a_tokenizer_json_from_another_directory_is_used_with_the_files_next_to_it(model, tmp_path):
    elsewhere = write(tmp_path / "other", **CONFIGURATIONS["accents kept"]) / "tokenizer.json"
    loaded = model(SAVED, dataclasses.replace(FLAGS, vocab_file=str(elsewhere)))
    assert loaded.tokenizer.tokenize("MÖCHTE <user>") == ["möchte", "<", "user", ">"]


def test_the_flag_decides_the_casing(model):
    lower = dataclasses.replace(FLAGS, do_lower_case=True)
    assert model(CONFIGURATIONS["cased"], lower).tokenizer.tokenize("The Möchte") == ["the", "mochte"]


def test_more_tokens_than_rows_are_refused(model):
    with raises(InputError):
        model(SAVED, vocab_size=SIZE)


def test_another_network_is_refused_before_its_tokenizer_json(model):
    with raises(InputError, "'roberta'"):
        model({"tokenizer": {"model": {"type": "BPE"}}}, model_type="roberta")
    with raises(InputError, "tokenizer.json: "):
        model({"tokenizer": {"model": {"type": "BPE"}}})


def test_a_run_keeps_vocabulary_and_settings(model, tmp_path):
    plain = model({"vocab": VOCABULARY})
    assert plain.tokenizer_files == {"vocab.txt": (tmp_path / "m" / "vocab.txt").read_bytes()}
    (tmp_path / "m" / "vocab.txt").unlink()
    loaded = model(SAVED)
    contents = loaded.tokenizer_files
    assert contents["vocab.txt"] == loaded.vocab_bytes
    run = write(tmp_path / "run", bert_config=SIZES)
    for name, values in contents.items():
        (run / name).write_bytes(values)
    reloaded = load_model(FLAGS, CheckpointPath(TF1, str(run / "model.ckpt-1")), 16)
    assert reloaded.tokenizer_settings == loaded.tokenizer_settings
    assert reloaded.tokenizer_files == contents
    assert json.loads(contents["tokenizer_config.json"])["outside_wordpiece"] == [SIZE, SIZE + 1]
    assert {key for key, value in reloaded.fingerprint.items() if value != plain.fingerprint[key]} >= {"vocab_file"}
