"""tokenizer.json: files that are read, and files that are refused because they are not BERT's."""

import copy
import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.text.hugging_face_files import read_tokenizer_json
from bert_cli.text.tokenizer_settings import AddedToken
from tests.snapshots import raises

SPECIAL = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
SOUND = {
    "model": {"type": "WordPiece", "vocab": {"a": 0, "##b": 2}, "max_input_chars_per_word": 90},
    "added_tokens": [{"id": 1, "content": "[X]", "special": True}, {"id": 3, "content": "y", "single_word": True}],
    "normalizer": {"type": "BertNormalizer", "lowercase": False, "strip_accents": None, "handle_chinese_chars": True},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "BertPreTokenizer"}]},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
}


def read(folder, **changes):
    """Read SOUND with changed values, given by paths such as model__type."""
    values = copy.deepcopy(SOUND)
    for path, value in changes.items():
        *outer, last = path.split("__")
        inner = values
        for key in outer:
            inner = inner[key]
        inner[last] = value
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(values))
    return read_tokenizer_json(str(path))


def test_sound_file(tmp_path):
    stored = read(tmp_path)
    assert (stored.model_ids, stored.max_word_characters) == ({"a": 0, "##b": 2}, 90)
    assert (stored.lowercase, stored.strip_accents, stored.tokenize_chinese_chars) == (False, None, True)
    assert stored.added_tokens == (
        AddedToken("[X]", 1, normalized=False, special=True),
        AddedToken("y", 3, single_word=True),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"normalizer": None, "pre_tokenizer": None, "post_processor": None, "added_tokens": None},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "BertNormalizer"}]}},
        {"model": {"vocab": {"a": 0}, "unk_token": "[UNK]", "continuing_subword_prefix": "##"}},
    ],
)
def test_accepted_variants(tmp_path, changes):
    assert read(tmp_path, **changes).model_ids["a"] == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"model__type": "BPE"},
        {"model__type": "Unigram"},
        {"model": {"vocab": {}, "merges": []}},
        {"model": [1]},
        {"model__unk_token": "<unk>"},
        {"model__continuing_subword_prefix": "@@"},
        {"model__vocab": {"a": "x"}},
        {"model__vocab": {"a": -1}},
        {"model__vocab": {"a": 5, "b": 5}},
        {"model__vocab": {"a": 10**9}},
        {"model__max_input_chars_per_word": "x"},
        {"normalizer__type": "Lowercase"},
        {"normalizer__clean_text": False},
        {"normalizer__lowercase": "yes"},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "BertNormalizer"}]}},
        {"normalizer": {"type": "Sequence", "normalizers": []}},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"post_processor__type": "RobertaProcessing"},
        {"post_processor__sep": ["</s>", 2]},
        {"post_processor": {"type": "TemplateProcessing", "single": [SPECIAL], "pair": []}},
        {"added_tokens": [{"content": "x"}]},
        {"added_tokens": [{"id": 3, "content": "x\ny"}]},
        {"added_tokens": [{"id": -3, "content": "x"}]},
    ],
)
def test_unsupported_values_are_named(tmp_path, changes):
    with raises(InputError, f"{tmp_path / 'tokenizer.json'}: "):
        read(tmp_path, **changes)


@pytest.mark.parametrize(("text", "place"), [("{\n{", "tokenizer.json:2: "), ("[]", "")])
def test_damaged_files(tmp_path, text, place):
    (tmp_path / "tokenizer.json").write_text(text)
    with raises(InputError, place):
        read_tokenizer_json(str(tmp_path / "tokenizer.json"))
