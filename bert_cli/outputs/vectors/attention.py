"""Attention in one text for people: the strongest links, and a word's attention."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.features.extraction import WordSpan
from bert_cli.outputs.text_table import text_table

_MOST_WORDS = 30  # maximum words that an error lists


class WordOrSpecialToken(NamedTuple):
    """A word, or a token outside words such as [CLS]: tokens `first` to `last` (exclusive)."""

    name: str
    first: int
    last: int


def strongest_links(attention: np.ndarray, tokens: Sequence[str], count: int) -> list[tuple[float, str, str]]:
    """Return (probability, from, to) for the largest attention values, best first.

    Links with special tokens are left out: they get most attention, and mean little.

    Args:
        attention: [length, length].
        tokens: the text's tokens.
        count: maximum number of links.
    """
    inner = np.array([token not in ("[CLS]", "[SEP]") for token in tokens])
    scores = np.where(inner[:, None] & inner, attention, -1.0)
    best = np.argsort(-scores, axis=None, kind="stable")[:count]
    pairs = zip(*np.unravel_index(best, scores.shape), strict=True)
    return [(float(scores[i, j]), f"{tokens[i]}:{i}", f"{tokens[j]}:{j}") for i, j in pairs if scores[i, j] >= 0]


def words_and_special_tokens(tokens: Sequence[str], words: Sequence[WordSpan]) -> list[WordOrSpecialToken]:
    """Return a text's words and special tokens in order; each token is in one unit."""
    units: list[WordOrSpecialToken] = []
    starts = {word.first: word for word in words}
    position = 0
    while position < len(tokens):
        word = starts.get(position)
        units.append(
            WordOrSpecialToken(word.text, word.first, word.last)
            if word
            else WordOrSpecialToken(tokens[position], position, position + 1)
        )
        position = units[-1].last
    return units


def attention_of_words(attention: np.ndarray, units: Sequence[WordOrSpecialToken]) -> np.ndarray:
    """Return attention between words, float32 [length, length] -> [units, units].

    As in Clark et al., "What Does BERT Look At?" (2019), section 4.1, attention to a word is the
    sum over its pieces, and attention from a word is the mean over its pieces. Each row adds up to
    1.
    """
    starts = [unit.first for unit in units]
    lengths = np.array([unit.last - unit.first for unit in units])
    to_words = np.add.reduceat(attention, starts, axis=1)
    return np.add.reduceat(to_words, starts, axis=0) / lengths[:, np.newaxis]


def find_word(word: str, units: Sequence[WordOrSpecialToken]) -> list[int]:
    """Return the indices of units with this name, or with this name in another case.

    Raises:
        InputError: no unit has this name.
    """
    indices = [index for index, unit in enumerate(units) if unit.name == word]
    indices = indices or [index for index, unit in enumerate(units) if unit.name.casefold() == word.casefold()]
    if not indices:
        names = list(dict.fromkeys(unit.name for unit in units))
        listed = ", ".join(map(quote, names[:_MOST_WORDS]))
        raise InputError(f"--attention_of={word}: is not a word of the text; its words are {listed}")
    return indices


def word_table(attention: np.ndarray, units: Sequence[WordOrSpecialToken], index: int, count: int) -> list[str]:
    """Return a table: the `count` words that unit `index` attends to most, and both attentions.

    Args:
        attention: float32 [units, units], see attention_of_words.
        units: words and special tokens.
        index: number of the unit.
        count: number of rows.
    """
    name = f"{units[index].name}:{index}"
    best = np.argsort(-attention[index], kind="stable")[:count].tolist()
    rows = [
        (f"{units[target].name}:{target}", f"{attention[index, target]:.4f}", f"{attention[target, index]:.4f}")
        for target in best
    ]
    return text_table(rows, "lrr", ("word", f"{name} -> word", f"word -> {name}"))
