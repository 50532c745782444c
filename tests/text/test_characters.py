"""Google's rules for single characters, and those in the library tokenizers."""

import pytest

from bert_cli.text.characters import GOOGLE_CHARACTERS, LIBRARY_CHARACTERS, rules_of
from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.tokenizer_settings import TokenizerSettings


def words(text, rules, do_lower_case=True, **settings):
    return BasicTokenizer(do_lower_case, settings=TokenizerSettings(character_rules=rules, **settings)).tokenize(text)


@pytest.mark.parametrize(
    ("text", "google", "library"),
    [
        # A word ends with a capital sigma.
        ("ΟΔΟΣ ΣΑΣ", ["οδος", "σας"], ["οδοσ", "σασ"]),
        # Private use is removed.
        ("a\ue000b \U000f0000", ["a\ue000b", "\U000f0000"], ["ab"]),
        # A block with ideographs, and a mark and two signs that are newer than Unicode 8.
        ("a\U0002b820b\U0002b740c", ["a", "\U0002b820", "b", "\U0002b740", "c"], ["a\U0002b820b", "\U0002b740", "c"]),
        ("a\u0afab", ["ab"], ["a\u0afab"]),
        ("a\u2e43b", ["a", "\u2e43", "b"], ["a\u2e43b"]),
        # An older sign that was punctuation then.
        ("a\u166db", ["a\u166db"], ["a", "\u166d", "b"]),
        # Both alike.
        ("ÉCOLE, İzmir $4€ a\u200bb c\u0301", ["ecole", ",", "izmir", "$", "4€", "ab", "c"], None),
        ("中文 \x0b\u0378x", ["中", "文", "\u0378x"], None),
    ],
)
def test_words(text, google, library):
    assert words(text, GOOGLE_CHARACTERS) == google
    assert words(text, LIBRARY_CHARACTERS) == (google if library is None else library)


def test_normalization_follows_the_rules():
    settings = TokenizerSettings(character_rules=LIBRARY_CHARACTERS)
    assert BasicTokenizer(True, settings=settings).normalize("ΟΔΌΣ\ue000 É") == "οδοσ e"
    assert BasicTokenizer(False, settings=settings).normalize("ΟΔΌΣ\ue000") == "ΟΔΌΣ"
    assert words("ÉΣ", LIBRARY_CHARACTERS, strip_accents=False) == ["éσ"]


def test_ranges_have_both_ends():
    rules = rules_of(LIBRARY_CHARACTERS)
    assert [rules.remove_control(character) for character in "\ue000\uf8ff\ud7fb\uf900\0\x1f"] == [
        "",
        "",
        "\ud7fb",
        "\uf900",
        "",
        "",
    ]
    assert [rules.is_mark(character) for character in "\u02ff\u0300\u036f\u0370"] == [False, True, True, False]
