"""Character table: kinds compared with the words of single characters, and different pages."""

import numpy as np
import pytest

from bert_cli.text.character_table import ALONE, DELETED, IN_WORD, PAGE, SPACE, classify, unique_pages
from bert_cli.text.tokenization import BasicTokenizer

# ASCII and Latin-1, accents and sigmas, spaces and punctuation, ideographs, Hangul, symbols, tags.
PAGES = (0x0, 0x1, 0x3, 0x6, 0x16, 0x20, 0x30, 0x4E, 0xAC, 0xFE, 0xFF, 0x1D4, 0x1F6, 0x2FA, 0xE00)


@pytest.mark.parametrize("do_lower_case", [True, False])
def test_kinds_equal_the_words_of_single_characters(do_lower_case):
    tokenizer = BasicTokenizer(do_lower_case, cache_size=0)
    kinds_by_length = {2: SPACE, 3: ALONE}
    seen = set()
    for page in PAGES:
        characters = [chr(page * PAGE + number) for number in range(PAGE)]
        kinds = classify(tokenizer, characters)
        for character, kind in zip(characters, kinds, strict=True):
            words = tokenizer.tokenize(f"a{character}a")
            expected = kinds_by_length.get(len(words)) or (DELETED if words == ["aa"] else IN_WORD)
            assert kind == expected, hex(ord(character))
        seen |= set(kinds)
    assert seen == {IN_WORD, ALONE, SPACE, DELETED}


def test_single_characters():
    assert classify(BasicTokenizer(), "b,\t\0é") == [IN_WORD, ALONE, SPACE, DELETED, IN_WORD]


def test_pages_are_those_of_numpy():
    rows = np.random.default_rng(0).integers(-3, 3, (5, PAGE), dtype=np.int32)
    entries = rows[[4, 2, 2, 0, 4, 1, 3, 1]]
    pages, numbers = unique_pages(entries.reshape(-1))
    np.testing.assert_array_equal(pages[numbers], entries)
    np.testing.assert_array_equal(pages, np.unique(rows, axis=0))
