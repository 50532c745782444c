"""Tokenizer files that are written into a Hugging Face directory."""

import json

import pytest

from bert_cli.text.characters import LIBRARY_CHARACTERS
from bert_cli.text.tokenizer_files import TokenizerPaths, read_tokenizer
from bert_cli.text.tokenizer_json import (
    special_tokens_map,
    tokenizer_config,
    tokenizer_json,
)
from bert_cli.text.tokenizer_settings import AddedToken, TokenizerSettings, special_token
from bert_cli.text.vocabulary import Vocabulary, vocabulary_of
from tests.rows import write_rows

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "sea", "##side"]
STANDARD = tuple(special_token(token, index) for index, token in enumerate(TOKENS[:5]))
USER = AddedToken("<user>", 7)
SETTINGS = TokenizerSettings(
    strip_accents=False,
    tokenize_chinese_chars=False,
    never_split=("sea-side",),
    max_word_characters=100,
    added_tokens=(*STANDARD, USER, AddedToken("[E1]", 8, lstrip=True, normalized=False, special=True)),
    outside_wordpiece=(7, 8),
    character_rules=LIBRARY_CHARACTERS,
)


@pytest.fixture
def vocabulary():
    return Vocabulary({token: number for number, token in enumerate(TOKENS)}, TOKENS, len(TOKENS), "vocab.txt")


def read_back(folder, files, vocab="tokenizer.json"):
    for name, values in files.items():
        (folder / name).write_text(json.dumps(values), encoding="utf-8")
    paths = (str(folder / name) if name in files else None for name in ("tokenizer.json", "tokenizer_config.json"))
    return read_tokenizer(str(folder / vocab), TokenizerPaths(*paths))


@pytest.mark.parametrize("lower", [True, False])
def test_written_files_are_read_back(vocabulary, tmp_path, lower):
    stored = read_back(tmp_path, {"tokenizer.json": tokenizer_json(vocabulary, lower)})
    assert (stored.vocabulary.tokens, stored.casing[1]) == (TOKENS, lower)
    assert stored.settings == TokenizerSettings(added_tokens=STANDARD, character_rules=LIBRARY_CHARACTERS)
    assert stored.settings.has_google_rules


def test_settings_survive_a_hugging_face_directory(tmp_path):
    vocabulary = vocabulary_of([*TOKENS, "<user>", "[E1]"], "vocab.txt")
    values = tokenizer_json(vocabulary, True, SETTINGS)
    assert list(values["model"]["vocab"]) == TOKENS
    config = tokenizer_config(True, 16, vocabulary, settings=SETTINGS)
    assert {key: config[key] for key in ("strip_accents", "tokenize_chinese_chars", "never_split")} == {
        "strip_accents": False,
        "tokenize_chinese_chars": False,
        "never_split": ["sea-side"],
    }
    stored = read_back(tmp_path, {"tokenizer.json": values, "tokenizer_config.json": config})
    assert stored.vocabulary.tokens == vocabulary.tokens
    assert (stored.settings, stored.conflicts) == (SETTINGS, {})


def test_settings_survive_a_run_directory(tmp_path):
    write_rows(tmp_path / "vocab.txt", [*TOKENS, "<user>", "[E1]"])
    stored = read_back(tmp_path, {"tokenizer_config.json": {"do_lower_case": False} | SETTINGS.values()}, "vocab.txt")
    assert (stored.casing[1], stored.settings) == (False, SETTINGS)


def test_usual_tokenizer_config_has_no_additional_keys(vocabulary):
    usual = TokenizerSettings(max_word_characters=100, added_tokens=STANDARD)
    assert tokenizer_config(True, 16, vocabulary, settings=usual) == tokenizer_config(True, 16, vocabulary)
    assert tokenizer_config(True, 16, vocabulary) == {
        "do_lower_case": True,
        "model_max_length": 16,
        "strip_accents": None,
        "tokenize_chinese_chars": True,
        "tokenizer_class": "BertTokenizer",
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
    }


def test_rules_equal_google_rules(vocabulary):
    values = tokenizer_json(vocabulary, True)
    assert values["model"]["max_input_chars_per_word"] == 200
    assert values["model"]["vocab"]["##side"] == 6
    assert [token["content"] for token in values["added_tokens"]] == TOKENS[:5]
    pair = [next(iter(piece.values())) for piece in values["post_processor"]["pair"]]
    expected = [("[CLS]", 0), ("A", 0), ("[SEP]", 0), ("B", 1), ("[SEP]", 1)]
    assert [(piece["id"], piece["type_id"]) for piece in pair] == expected


def test_vocabulary_without_pad():
    ids = {token: number for number, token in enumerate(TOKENS[1:])}
    vocabulary = Vocabulary(ids, TOKENS[1:], 6, "vocab.txt")
    assert "pad_token" not in special_tokens_map(vocabulary)
    assert "pad_token" not in tokenizer_config(True, 8, vocabulary)
    assert [token["id"] for token in tokenizer_json(vocabulary, True)["added_tokens"]] == [0, 1, 2, 3]
