"""Tokenizer settings: their values in files, and their description in the log."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.opening.vocab_file import report_tokenizer
from bert_cli.text.tokenizer_files import find_tokenizer_files, read_model_length, read_settings, read_tokenizer
from bert_cli.text.tokenizer_settings import GOOGLE, TOKENIZER_KEYS, AddedToken, TokenizerSettings, special_token
from tests.tokenizer_folders import VOCABULARY, write

USER = AddedToken("<user>", 7)


@pytest.mark.parametrize(
    ("settings", "keys"),
    [
        (GOOGLE, set()),
        (TokenizerSettings(strip_accents=False), {"strip_accents"}),
        (TokenizerSettings(tokenize_chinese_chars=False), {"tokenize_chinese_chars"}),
        (TokenizerSettings(never_split=("a",)), {"never_split"}),
        (TokenizerSettings(max_word_characters=100), {"max_input_chars_per_word"}),
        (
            TokenizerSettings(added_tokens=(USER,), outside_wordpiece=(7,)),
            {"added_tokens_decoder", "outside_wordpiece"},
        ),
    ],
)
def test_values_are_the_differences_from_google_rules(settings, keys):
    assert set(settings.values()) == keys
    assert read_settings(settings.values(), "tokenizer") == settings


@pytest.mark.parametrize(
    ("settings", "lower", "lines"),
    [
        (GOOGLE, True, []),
        (TokenizerSettings(max_word_characters=100, added_tokens=(special_token("[SEP]", 3),)), True, []),
        (TokenizerSettings(strip_accents=True), True, []),
        (TokenizerSettings(strip_accents=True), False, ["strip_accents true"]),
        (TokenizerSettings(strip_accents=False), True, ["strip_accents false"]),
        (TokenizerSettings(tokenize_chinese_chars=False), True, ["tokenize_chinese_chars false"]),
        (TokenizerSettings(never_split=("a", "b")), True, ["never_split a, b"]),
        (TokenizerSettings(added_tokens=(USER,)), True, ["1 added token (<user>)"]),
        (TokenizerSettings(added_tokens=(USER, AddedToken("[E1]", 8))), True, ["2 added tokens (<user>, [E1])"]),
    ],
)
def test_describe_lists_unusual_settings(settings, lower, lines):
    assert settings.describe(lower) == lines


def test_facts_include_a_digest_of_added_tokens():
    assert GOOGLE.facts() == {}
    assert TokenizerSettings(strip_accents=False).facts() == {"strip_accents": False}
    facts = [TokenizerSettings(added_tokens=(token,)).facts() for token in (USER, AddedToken("<user>", 8))]
    assert [list(values) for values in facts] == [["added_tokens"]] * 2
    assert facts[0] != facts[1]
    assert len(facts[0]["added_tokens"]) == 16


def test_listed_special_tokens_are_google_rules():
    tokens = (special_token("[CLS]", 2), special_token("[SEP]", 3))
    assert TokenizerSettings(added_tokens=tokens).has_google_rules
    assert not TokenizerSettings(added_tokens=tokens, max_word_characters=100).has_google_rules
    assert not TokenizerSettings(added_tokens=(AddedToken("[CLS]", 2),)).has_google_rules
    assert not TokenizerSettings(added_tokens=(special_token("[E1]", 2),)).has_google_rules


# Values that describe another tokenizer.
REFUSED = {
    "do_basic_tokenize": False,
    "word_tokenizer_type": "mecab",
    "subword_tokenizer_type": "character",
    "wordpieces_prefix": "@@",
    "clean_text": False,
    "split_special_tokens": True,
    "truncation_side": "left",
    "add_prefix_space": True,
    "auto_map": {"AutoTokenizer": ["tokenization_other.OtherTokenizer", None]},
}
# Keys that transformers 4 and 5 write for BERT, and those of the first releases.
TRANSFORMERS = """
added_tokens_decoder additional_special_tokens backend clean_up_tokenization_spaces cls_token do_basic_tokenize do_lower_case
extra_special_tokens is_local local_files_only mask_token max_length max_len model_max_length name_or_path never_split
pad_to_multiple_of pad_token pad_token_type_id padding_side sep_token special_tokens_map_file stride strip_accents
tokenize_chinese_chars tokenizer_class tokenizer_file truncation_side truncation_strategy unk_token
"""


def read(folder):
    return read_tokenizer(str(folder / "vocab.txt"), find_tokenizer_files(str(folder / "vocab.txt")))


def test_every_key_has_one_entry():
    names = [*TOKENIZER_KEYS.obeyed, *TOKENIZER_KEYS.no_effect, *TOKENIZER_KEYS.required]
    assert len(set(names)) == len(names)
    assert set(REFUSED) == set(TOKENIZER_KEYS.required)
    assert set(TRANSFORMERS.split()) <= set(names)


@pytest.mark.parametrize("key", REFUSED)
def test_values_of_other_tokenizers_are_refused(key, tmp_path):
    with pytest.raises(InputError, match=rf"tokenizer_config\.json: {key} is .*; only the WordPiece tokenizer of BERT"):
        read(write(tmp_path, VOCABULARY, tokenizer_config={key: REFUSED[key]}))
    usual = TOKENIZER_KEYS.required[key].values
    assert all(read(write(tmp_path, VOCABULARY, tokenizer_config={key: value})).conflicts == {} for value in usual)


def test_unknown_keys_are_named_or_refused(tmp_path, caplog):
    stored = read(write(tmp_path, VOCABULARY, tokenizer_config={"other": 1}))
    report_tokenizer(stored, None)
    assert "tokenizer_config.json: not known here, not used: other" in caplog.text
    with pytest.raises(InputError, match=r"not used: other \(an error with --strict\)"):
        report_tokenizer(stored, None, strict=True)


def test_older_files_have_another_name_for_the_length(tmp_path):
    write(tmp_path, VOCABULARY, tokenizer_config={"max_len": 64})
    assert read_model_length(str(tmp_path / "tokenizer_config.json")) == 64
