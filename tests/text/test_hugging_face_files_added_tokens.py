"""Added tokens in files: special tokens, and ids that do not fit the vocabulary."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.text.hugging_face_files import TokenizerPaths, read_added_tokens, with_added_tokens
from bert_cli.text.tokenizer_settings import AddedToken
from tests.snapshots import raises
from tests.tokenizer_folders import write

TOKENS = ["[PAD]", "[UNK]", "a", "", "b c"]


def read(folder, config=None, **files):
    write(folder, **files)
    names = ("added_tokens", "special_tokens_map")
    paths = [str(folder / f"{name}.json") if name in files else None for name in names]
    return read_added_tokens(config or {}, TokenizerPaths(None, "tokenizer_config.json", *paths), None, TOKENS)


@pytest.mark.parametrize(
    ("config", "special_map"),
    [
        ({"additional_special_tokens": ["[E1]"]}, {}),
        ({"extra_special_tokens": ["[E1]"]}, {}),
        ({"extra_special_tokens": {"e1_token": "[E1]"}}, {}),
        ({}, {"additional_special_tokens": ["[E1]"]}),
        ({}, {"additional_special_tokens": [{"content": "[E1]", "lstrip": False}]}),
    ],
)
def test_special_tokens_are_not_normalized(tmp_path, config, special_map):
    tokens = read(tmp_path, config, added_tokens={"[E1]": 5, "<user>": 6}, special_tokens_map=special_map)
    assert tokens == [AddedToken("[E1]", 5, normalized=False, special=True), AddedToken("<user>", 6)]


def test_special_token_may_be_in_the_vocabulary(tmp_path):
    assert read(tmp_path, {"additional_special_tokens": ["a"]}) == [AddedToken("a", 2, normalized=False, special=True)]


def test_token_with_two_ids_is_refused(tmp_path):
    config = {"added_tokens_decoder": {"5": {"content": "[E1]"}}}
    with raises(InputError, "added_tokens.json: "):
        read(tmp_path, config, added_tokens={"[E1]": 6})


@pytest.mark.parametrize("index", ["7", 7.0, None, True, -1])
def test_id_must_be_a_whole_number(tmp_path, index):
    with raises(InputError, "added_tokens.json: "):
        read(tmp_path, added_tokens={"[E1]": index})


@pytest.mark.parametrize(
    ("added", "tokens"),
    [
        ([("x", 5), ("y", 6)], [*TOKENS, "x", "y"]),
        ([("a", 2)], TOKENS),
        ([("x", 3)], ["[PAD]", "[UNK]", "a", "x", "b c"]),
        ([(" b c ", 4)], ["[PAD]", "[UNK]", "a", "", " b c "]),
    ],
)
def test_added_tokens_are_inserted_at_their_ids(added, tokens):
    assert with_added_tokens(TOKENS, [AddedToken(*token) for token in added], "vocab.txt") == tokens


@pytest.mark.parametrize(
    ("content", "index"),
    [
        ("a", 5),
        ("x", 2),
        ("x", 9),
    ],
)
def test_ids_that_do_not_fit_are_refused(content, index):
    with raises(InputError, "vocab.txt: "):
        with_added_tokens(TOKENS, [AddedToken(content, index)], "vocab.txt")
