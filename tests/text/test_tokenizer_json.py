"""The tokenizer's files in a Hugging Face folder."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.text.tokenizer_json import read_tokenizer_json, special_tokens_map, tokenizer_config, tokenizer_json
from bert_cli.text.vocabulary import Vocabulary

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "sea", "##side"]


@pytest.fixture
def vocabulary():
    return Vocabulary({token: number for number, token in enumerate(TOKENS)}, TOKENS, len(TOKENS), "vocab.txt")


@pytest.mark.parametrize("lower", [True, False])
def test_what_is_written_is_read_back(vocabulary, tmp_path, lower):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(tokenizer_json(vocabulary, lower)), encoding="utf-8")
    assert read_tokenizer_json(str(path)) == (TOKENS, lower)


def test_rules_are_those_of_google(vocabulary):
    values = tokenizer_json(vocabulary, True)
    assert values["model"]["max_input_chars_per_word"] == 200
    assert values["model"]["vocab"]["##side"] == 6
    assert [token["content"] for token in values["added_tokens"]] == TOKENS[:5]
    pair = [next(iter(piece.values())) for piece in values["post_processor"]["pair"]]
    wanted = [("[CLS]", 0), ("A", 0), ("[SEP]", 0), ("B", 1), ("[SEP]", 1)]
    assert [(piece["id"], piece["type_id"]) for piece in pair] == wanted


def test_a_vocabulary_without_pad():
    ids = {token: number for number, token in enumerate(TOKENS[1:])}
    vocabulary = Vocabulary(ids, TOKENS[1:], 6, "vocab.txt")
    assert "pad_token" not in special_tokens_map(vocabulary)
    assert "pad_token" not in tokenizer_config(True, 8, vocabulary)
    assert [token["id"] for token in tokenizer_json(vocabulary, True)["added_tokens"]] == [0, 1, 2, 3]


def test_a_token_that_only_stands_among_the_added_ones(tmp_path):
    path = tmp_path / "tokenizer.json"
    model = {"type": "WordPiece", "vocab": {"a": 0, "b": 2}}
    path.write_text(json.dumps({"model": model, "added_tokens": [{"id": 1, "content": "[X]"}]}))
    assert read_tokenizer_json(str(path)) == (["a", "[X]", "b"], None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{\n{", "tokenizer.json:2: is not JSON"),
        ("[]", "holds no WordPiece vocabulary"),
        ('{"model": {"type": "BPE", "vocab": {}}}', "holds no WordPiece vocabulary"),
        ('{"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 2}}}', "without gaps"),
        ('{"model": {"type": "WordPiece", "vocab": {"a": 0, "b": "x"}}}', "without gaps"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_tokenizer_json(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
