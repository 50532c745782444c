"""Attention probabilities of one text, for people: the strongest links, and the attention of a
word.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.messages import quoted
from bert_cli.features.extraction import WordSpan
from bert_cli.outputs.text_table import text_table

_MOST_WORDS = 30  # words of the text that an error lists


class Unit(NamedTuple):
    """A word, or a token that belongs to no word, such as [CLS]; tokens `first` to `last`
    (exclusive).
    """

    name: str
    first: int
    last: int


def strongest_links(attention: np.ndarray, tokens: Sequence[str], count: int) -> list[tuple[float, str, str]]:
    """(probability, from, to) of the largest entries of attention [length, length], best first.

    Links of the special tokens at the ends of texts are left out: most attention goes there, and
    says little.
    """
    inner = np.array([token not in ("[CLS]", "[SEP]") for token in tokens])
    scores = np.where(inner[:, None] & inner, attention, -1.0)
    best = np.argsort(-scores, axis=None, kind="stable")[:count]
    pairs = zip(*np.unravel_index(best, scores.shape), strict=True)
    return [(float(scores[i, j]), f"{tokens[i]}:{i}", f"{tokens[j]}:{j}") for i, j in pairs if scores[i, j] >= 0]


def units_of(tokens: Sequence[str], words: Sequence[WordSpan]) -> list[Unit]:
    """The words of a text and its special tokens, in order; each token belongs to one of them."""
    units: list[Unit] = []
    starts = {word.first: word for word in words}
    place = 0
    while place < len(tokens):
        word = starts.get(place)
        units.append(Unit(word.text, word.first, word.last) if word else Unit(tokens[place], place, place + 1))
        place = units[-1].last
    return units


def attention_of_words(attention: np.ndarray, units: Sequence[Unit]) -> np.ndarray:
    """Attention between words: float32 [length, length] -> [units, units]; each row adds up to 1.

    As in Clark et al., "What Does BERT Look At?" (2019), section 4.1: attention to a word is the
    sum over its pieces, attention from a word the mean over its pieces.
    """
    starts = [unit.first for unit in units]
    lengths = np.array([unit.last - unit.first for unit in units])
    to_words = np.add.reduceat(attention, starts, axis=1)
    return np.add.reduceat(to_words, starts, axis=0) / lengths[:, np.newaxis]


def find_word(word: str, units: Sequence[Unit]) -> list[int]:
    """Indices of the units with this name, else with this name in other case. InputError for none."""
    found = [index for index, unit in enumerate(units) if unit.name == word]
    found = found or [index for index, unit in enumerate(units) if unit.name.casefold() == word.casefold()]
    if not found:
        names = list(dict.fromkeys(unit.name for unit in units))
        listed = ", ".join(map(quoted, names[:_MOST_WORDS]))
        raise InputError(f"--attention_of={word}: is not a word of the text; its words are {listed}")
    return found


def word_table(attention: np.ndarray, units: Sequence[Unit], index: int, count: int) -> list[str]:
    """Lines of a table: the `count` words that unit `index` attends to most, and their attention to
    it.

    attention: float32 [units, units], see attention_of_words.
    """
    name = f"{units[index].name}:{index}"
    best = np.argsort(-attention[index], kind="stable")[:count].tolist()
    rows = [
        (f"{units[other].name}:{other}", f"{attention[index, other]:.4f}", f"{attention[other, index]:.4f}")
        for other in best
    ]
    return text_table(rows, "lrr", ("word", f"{name} -> word", f"word -> {name}"))
