"""Tokenizer files in a directory: settings that each file determines, conflicts, and token ids."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import find_tokenizer_files, read_casing, read_tokenizer
from tests.snapshots import raises
from tests.tokenizer_folders import CONFIGURATIONS, E1, SIZE, USER, VOCABULARY, bert, decoder, tokenizer_json, write


def read(folder):
    name = "vocab.txt" if (folder / "vocab.txt").exists() else "tokenizer.json"
    return read_tokenizer(str(folder / name), find_tokenizer_files(str(folder / name)))


def tokens_of(folder, text):
    stored = read(folder)
    lower = stored.casing is None or stored.casing[1]
    return FullTokenizer(stored.vocabulary, lower, settings=stored.settings).tokenize(text)


LITERAL = {
    "tokenizer.json alone": ("Schön [SEP] The", "schon [SEP] the"),
    "cased": ("The THE", "The [UNK]"),
    "accents kept": ("Ich MÖCHTE", "i ##ch möchte"),
    "cased, accents stripped": ("The möchte", "The mochte"),
    "ideographs joined": ("中文 中", "中文 中"),
    "tokenizer_config.json against tokenizer.json": ("The MÖCHTE", "the möchte"),
    "generic class against its tokenizer_config.json": ("The möchte 中文", "The mochte 中文"),
    "added tokens": ("<USER>the [E1] [e1]", "<user> the [E1] [ [UNK] ]"),
    "added tokens, cased": ("<USER> <user>", "< [UNK] > <user>"),
    "added tokens of a generic class": ("<USER> <user>", "<user> <user>"),
    "added_tokens_decoder": ("a<user> [CLS]", "a <user> [CLS]"),
    "added_tokens_decoder without tokenizer.json": ("a<user> [CLS]", "a <user> [CLS]"),
    "added_tokens.json": ("a <User>[E1][e1]", "a <user> [E1] [ [UNK] ]"),
    "token within words": ("covidfoo COVID", "Covid foo Covid"),
    "single word": ("covidfoo COVID ax x", "[UNK] Covid a ##x x"),
    "stripped on both sides": ("a [E1] [e2]", "a [E1] [E2]"),
    "token with spaces, one within another": ("New York new York", "New york New York"),
    "accents and ideographs in tokens": ("MO\u0308CHTE 文本中文", "Möchte 文本 中文"),
    "tokens of the vocabulary": ("foobar CAFÉ", "foo [UNK] café"),
    "generic class, long words": ("word wordword", "word [UNK]"),
    "Fast class, all at once": ("<user> The 中文", "<user> The 中文"),
    "no tokenizer_config.json": ("<USER> The", "<user> the"),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_tokens_for_each_configuration(tmp_path, name):
    text, expected = LITERAL[name]
    folder = write(tmp_path, **CONFIGURATIONS[name])
    stored = read(folder)
    tokens = tokens_of(folder, text)
    assert " ".join(tokens) == expected
    lower = stored.casing is None or stored.casing[1]
    ids = FullTokenizer(stored.vocabulary, lower, settings=stored.settings).encode(text)
    assert [stored.vocabulary.tokens[index] for index in ids] == tokens
    assert stored.vocabulary.tokens[:SIZE] == VOCABULARY


def test_added_tokens_have_the_ids_in_the_file(tmp_path):
    stored = read(write(tmp_path, VOCABULARY, added_tokens={"[E2]": SIZE + 1, "[E1]": SIZE}))
    assert (stored.vocabulary.tokens[SIZE:], stored.vocabulary.size) == (["[E1]", "[E2]"], SIZE + 2)
    assert stored.settings.outside_wordpiece == (SIZE, SIZE + 1)


@pytest.mark.parametrize(
    ("files", "conflict"),
    [
        ("tokenizer_config.json against tokenizer.json", "tokenizer_config.json counts (--do_lower_case decides)"),
        ("generic class against its tokenizer_config.json", "tokenizer.json counts (--do_lower_case decides)"),
    ],
)
def test_contradictory_files_are_named(tmp_path, files, conflict):
    first, second = read(write(tmp_path, **CONFIGURATIONS[files])).conflicts.values()
    begin = (
        f"{tmp_path / 'tokenizer_config.json'}: do_lower_case is true, but in {tmp_path / 'tokenizer.json'} lowercase"
    )
    assert first == f"{begin} is false; {tmp_path / conflict}"
    assert "strip_accents is false, but in" in second


def test_contradictory_vocabularies_are_named(tmp_path):
    vocab = [*VOCABULARY[:-2], VOCABULARY[-1], VOCABULARY[-2]]
    (conflict,) = read(write(tmp_path, vocab, tokenizer=tokenizer_json())).conflicts.values()
    assert conflict == (
        f"{tmp_path / 'tokenizer.json'}: 'it' has the id {SIZE - 2}, but line {SIZE} in {tmp_path / 'vocab.txt'}, which counts"
    )


def test_unused_ids_are_blank_lines(tmp_path):
    values = tokenizer_json()
    del values["model"]["vocab"]["foo"]
    stored = read(write(tmp_path, tokenizer=values))
    assert stored.vocabulary.tokens[VOCABULARY.index("foo")] == ""
    assert stored.vocabulary.size == SIZE


def test_run_config_sets_never_split_and_longest_word(tmp_path):
    folder = write(tmp_path, VOCABULARY, tokenizer_config=bert(never_split=["The"], max_input_chars_per_word=4))
    assert tokens_of(folder, "The THE word words") == ["The", "the", "word", "[UNK]"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "tokenizer_class is BertJapaneseTokenizer; only the WordPiece"),
        ({"tokenizer_class": "RobertaTokenizerFast"}, "tokenizer_class is RobertaTokenizerFast"),
        ({"tokenizer_class": ["x"]}, "tokenizer_class is ['x']"),
        ({"word_tokenizer_type": "mecab"}, "word_tokenizer_type is 'mecab'"),
        ({"subword_tokenizer_type": "character"}, "subword_tokenizer_type is 'character'"),
        ({"do_basic_tokenize": False}, "do_basic_tokenize is False"),
        ({"cls_token": "<s>"}, "cls_token is <s>, [CLS] is needed"),
        ({"unk_token": {"content": "<unk>", "lstrip": False}}, "unk_token is <unk>, [UNK] is needed"),
        ({"strip_accents": "false"}, "strip_accents: is a string, true or false is needed"),
        ({"do_lower_case": 1}, "do_lower_case: is a number, true or false is needed"),
        ({"never_split": "the"}, "never_split: is a string, an array is needed"),
        ({"never_split": [1]}, "never_split[0]: is a number, a string is needed"),
        ({"added_tokens_decoder": []}, None),
        ({"added_tokens_decoder": {"x": {"content": "y"}}}, "added_tokens_decoder['x']: an id is needed"),
        ({"added_tokens_decoder": {"5": "y"}}, "added_tokens_decoder['5']: is a string, an object is needed"),
        ({"extra_special_tokens": ["[E9]"]}, "[E9] is a special token, but no file has its id"),
    ],
)
def test_unsupported_settings_are_named(tmp_path, config, message):
    folder = write(tmp_path, VOCABULARY, tokenizer_config=config)
    if message is None:
        assert read(folder).settings.added_tokens == ()
        return
    with pytest.raises(InputError) as raised:
        read(folder)
    assert f"{tmp_path / 'tokenizer_config.json'}: {message}" in str(raised.value)


def test_class_in_config_json_is_the_fallback(tmp_path):
    folder = write(tmp_path, VOCABULARY, config={"tokenizer_class": "BertJapaneseTokenizer"}, tokenizer_config={})
    with raises(InputError):
        read(folder)
    write(tmp_path, VOCABULARY, tokenizer_config={"tokenizer_class": "BertTokenizer"})
    assert read(folder).conflicts == {}


def test_vocabulary_without_special_tokens_is_refused(tmp_path):
    with raises(InputError, "tokenizer.json: "):
        read(write(tmp_path, tokenizer=tokenizer_json(standard=[], vocabulary=[t for t in VOCABULARY if t != "[SEP]"])))


def test_read_casing(tmp_path):
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"do_lower_case": False}))
    assert read_casing(str(path)) == (str(path), False)
    path.write_text("{}")
    assert read_casing(str(path)) is None
    assert read_casing(None) is None
    path.write_text('{"do_lower_case": "no"}')
    with raises(InputError, "do_lower_case: "):
        read_casing(str(path))


def test_token_in_several_files_has_the_flags_in_the_first(tmp_path):
    files = {
        "tokenizer": tokenizer_json([USER | {"single_word": True}]),
        "added_tokens": {"<user>": SIZE, "[E1]": SIZE + 1},
    }
    stored = read(write(tmp_path, VOCABULARY, tokenizer_config=bert(added_tokens_decoder=decoder(USER, E1)), **files))
    (user,) = [token for token in stored.settings.added_tokens if token.content == "<user>"]
    assert not user.single_word
