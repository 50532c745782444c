"""tokenizer.json: files that are read, and files that are refused because they are not BERT's."""

import copy
import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.text.hugging_face_files import read_tokenizer_json
from bert_cli.text.tokenizer_settings import AddedToken

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
    ("changes", "message"),
    [
        ({"model__type": "BPE"}, "model.type is BPE, so it holds no WordPiece vocabulary; only the WordPiece"),
        ({"model__type": "Unigram"}, "model.type is Unigram"),
        ({"model": {"vocab": {}, "merges": []}}, "model.type is None"),
        ({"model": [1]}, "model: is an array, an object is needed"),
        ({"model__unk_token": "<unk>"}, "model.unk_token is '<unk>', not '[UNK]'"),
        ({"model__continuing_subword_prefix": "@@"}, "model.continuing_subword_prefix is '@@', not '##'"),
        ({"model__vocab": {"a": "x"}}, "model.vocab['a']: is 'x', an id is needed"),
        ({"model__vocab": {"a": -1}}, "model.vocab['a']: is -1"),
        ({"model__vocab": {"a": 5, "b": 5}}, "model.vocab['b']: has the id 5 of 'a'"),
        ({"model__vocab": {"a": 10**9}}, "model.vocab has ids up to 1000000000 for 1 tokens"),
        ({"model__max_input_chars_per_word": "x"}, "model.max_input_chars_per_word: is a string"),
        ({"normalizer__type": "Lowercase"}, "normalizer: is Lowercase, not BertNormalizer"),
        ({"normalizer__clean_text": False}, "normalizer.clean_text is false"),
        ({"normalizer__lowercase": "yes"}, "normalizer.lowercase: is a string, true or false is needed"),
        (
            {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "BertNormalizer"}]}},
            "normalizer.normalizers[0]: is NFC, not BertNormalizer",
        ),
        ({"normalizer": {"type": "Sequence", "normalizers": []}}, "normalizer: is a sequence of 0 steps"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer: is Whitespace, not BertPreTokenizer"),
        ({"post_processor__type": "RobertaProcessing"}, "post_processor: is RobertaProcessing, not TemplateProcessing"),
        ({"post_processor__sep": ["</s>", 2]}, "post_processor: adds [CLS] and </s>, not [CLS] and [SEP]"),
        (
            {"post_processor": {"type": "TemplateProcessing", "single": [SPECIAL], "pair": []}},
            "post_processor.single: is [CLS]:0, not [CLS]:0 A:0 [SEP]:0",
        ),
        ({"added_tokens": [{"content": "x"}]}, "added_tokens[0].id: is null, a whole number is needed"),
        ({"added_tokens": [{"id": 3, "content": "x\ny"}]}, "added_tokens[0].content: has a line end"),
        ({"added_tokens": [{"id": -3, "content": "x"}]}, "added_tokens[0].id: is below 0"),
    ],
)
def test_unsupported_values_are_named(tmp_path, changes, message):
    with pytest.raises(InputError) as raised:
        read(tmp_path, **changes)
    assert f"{tmp_path / 'tokenizer.json'}: {message}" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"), [("{\n{", "tokenizer.json:2: is not JSON"), ("[]", "holds no JSON object")]
)
def test_damaged_files(tmp_path, text, message):
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_tokenizer_json(str(tmp_path / "tokenizer.json"))
