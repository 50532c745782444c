"""bert-convert --check: texts through both tokenizers and both models."""

import json
import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.text.tokenizer_settings import TokenizerSettings
from tests.commands import convert_run
from tests.commands.convert_run import convert
from tests.snapshots import check_message, raises
from tests.tokenizer_folders import E1, USER, VOCABULARY, bert, decoder, write

# Keras 3.15 asks NumPy 2 for a TensorFlow variable's numbers in the old way; Python hides this warning from users.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def make_source(parent, heads, labels=(), **changes):
    """Return the directory of a model with one layer, because all texts go through it."""
    folder, _ = convert_run.make_source(parent, heads, labels, num_hidden_layers=1, **changes)
    return folder


@pytest.fixture(autouse=True)
def shown_log(caplog):
    caplog.set_level(logging.INFO, "bert_cli")


@pytest.fixture
def source(tmp_path):
    """A masked LM with a tokenizer that keeps accents and has added tokens."""
    folder = make_source(tmp_path, ("masked_lm",), tokens=[*VOCABULARY, "<user>", "[E1]"])
    values = bert(strip_accents=False, added_tokens_decoder=decoder(USER, E1))
    return write(folder, tokenizer_config=values)


@pytest.mark.parametrize("to_format", ["hf", "tf1", "h5"])
def test_texts_have_the_same_ids_and_outputs(source, tmp_path, to_format, caplog):
    differences = convert(source, tmp_path / "out", to_format=to_format, check=True)["differences"]
    # Hugging Face's masked LM has no pooler.
    pooled = [] if to_format == "hf" else ["pooled_output"]
    assert sorted(differences) == sorted(["token_ids", "sequence_output", *pooled, "masked_lm_logits"])
    assert set(differences.values()) == {0.0}
    lines = caplog.messages
    check_message(lines, "check: ")
    assert sum("the tokenizer has" in line for line in lines) == 1


def test_lost_added_tokens_are_found(source, tmp_path, monkeypatch):
    monkeypatch.setattr(TokenizerSettings, "has_google_rules", property(lambda self: True))
    with pytest.raises(InputError, match=r"other ids for \d+ of 41 texts, by up to \d+: .* nothing was written"):
        convert(source, tmp_path / "out", to_format="tf1", check=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("key", "shown"),
    [("added_tokens", "[E1]"), ("strip_accents", "was"), ("max_word_characters", "[UNK]")],
)
def test_a_lost_setting_is_found(source, tmp_path, monkeypatch, key, shown):
    from bert_cli.exports import hugging_face_files

    write_json = hugging_face_files.tokenizer_json

    def without_setting(vocabulary, do_lower_case, settings):
        default = {"max_word_characters": 5}.get(key, getattr(TokenizerSettings(), key))
        return write_json(vocabulary, do_lower_case, TokenizerSettings(**(vars(settings) | {key: default})))

    monkeypatch.setattr(hugging_face_files, "tokenizer_json", without_setting)
    monkeypatch.setattr(hugging_face_files, "tokenizer_config", lambda *_: {"do_lower_case": True})
    with raises(InputError) as error:
        convert(source, tmp_path / "out", check=True)
    assert shown in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_list_of_special_tokens_is_reported(tmp_path, caplog):
    """Google's scripts split [MASK] in a text; a Hugging Face directory lists it as a token."""
    folder = make_source(tmp_path, ("masked_lm",))
    assert convert(folder, tmp_path / "hf", check=True)["differences"]["token_ids"] == 0
    line = "check: special tokens in a text, such as [MASK], are {} in the {}, unlike in the source"
    assert line.format("one token", "Hugging Face folder") in caplog.messages
    convert(tmp_path / "hf", tmp_path / "tf1", to_format="tf1", check=True)
    assert line.format("split", "TF1 checkpoint") in caplog.messages
    caplog.clear()
    convert(tmp_path / "hf", tmp_path / "copy", check=True)
    assert "[MASK]" not in caplog.text


def test_without_a_vocabulary_the_models_are_compared(tmp_path, caplog):
    folder = make_source(tmp_path, ("masked_lm",))
    (folder / "vocab.txt").unlink()
    assert "token_ids" not in convert(folder, tmp_path / "hf", check=True)["differences"]
    check_message(caplog, "check: ")


def test_another_casing_than_the_run_had(tmp_path):
    folder = make_source(tmp_path, ("classifier",), ("a", "b", "c"))
    (folder / "flags.txt").write_text("--problem_type=single_label\n--do_lower_case=true\n")
    report = convert(folder, tmp_path / "tf1", to_format="tf1", do_lower_case=False, check=True)
    assert report["differences"]["token_ids"] == 0
    assert json.loads((tmp_path / "tf1" / "tokenizer_config.json").read_text())["do_lower_case"] is False
    assert (tmp_path / "tf1" / "flags.txt").read_text() == "--problem_type=single_label\n--do_lower_case=false\n"
