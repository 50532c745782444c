"""Marks in words of many scripts: accents, vowels and tones."""

import pytest

from bert_cli.text.vowel_marks import has_marks, has_vowel_marks, strip_marks


@pytest.mark.parametrize(
    ("word", "stripped"),
    [
        ("बहुत", "बहत"),
        ("ที่", "ท"),
        ("كَتَبَ", "كتب"),
        ("أن", "ان"),
        ("שָׁלוֹם", "שלום"),
        ("mạ", "ma"),
        ("ơn", "on"),
        ("が", "か"),
        ("ọmọ", "omo"),
    ],
)
def test_vowels_tones_and_parts_of_letters(word, stripped):
    assert has_marks(word)
    assert has_vowel_marks(word)
    assert strip_marks(word) == stripped


@pytest.mark.parametrize("word", ["été", "Größe", "naïve", "ñ", "čeština", "мой", "ώρα", "ğ"])
def test_accents_are_no_vowel_marks(word):
    assert has_marks(word)
    assert not has_vowel_marks(word)


@pytest.mark.parametrize("word", ["word", "中文", "한국어", "ß", "øl", "कहानी", "❤"])
def test_words_that_stripping_leaves(word):
    assert not has_marks(word)
    assert not has_vowel_marks(word)


def test_a_variation_selector_is_no_vowel():
    assert not has_vowel_marks("❤\ufe0f")
