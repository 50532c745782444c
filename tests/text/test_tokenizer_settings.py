"""Tokenizer settings: their values in files, and their description in the log."""

import pytest

from bert_cli.text.tokenizer_files import read_settings
from bert_cli.text.tokenizer_settings import GOOGLE, AddedToken, TokenizerSettings, special_token

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
