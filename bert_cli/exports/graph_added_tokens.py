"""Search for added tokens in a TensorFlow graph: each becomes an unused code point.

Imports TensorFlow.
"""

import dataclasses
import re

import tensorflow as tf

from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.tokenizer_settings import AddedToken, TokenizerSettings

# Unassigned planes, of which no text has a character after `mark`: two signs around a match, then
# one code point for each token.
_FIRST, _LAST = 0x40000, 0xDFFFF
_OPEN, _CLOSE = chr(_FIRST), chr(_FIRST + 1)
PLACES = range(_FIRST + 2, _LAST)
_UNASSIGNED = "\ufdd0"
_PLANES = f"[{chr(_FIRST)}-{chr(_LAST)}]"


def marks_by_id(settings: TokenizerSettings) -> dict[int, str]:
    """Return the marks of the added tokens that are no pieces of words, by id."""
    outside = set(settings.outside_wordpiece)
    tokens = enumerate(settings.added_tokens)
    return {token.id: chr(PLACES[place]) for place, token in tokens if token.id in outside}


class AddedTokenMarker:
    """AddedTokenSplitter in a graph, for tokens without `single_word`.

    Attributes:
        has_normalized: whether there are tokens to search for in the normalized text.
    """

    def __init__(self, do_lower_case: bool, settings: TokenizerSettings):
        """Prepare the patterns of the tokens."""
        # Without spaces around ideographs, which the graph does not make, either.
        unspaced = dataclasses.replace(settings, tokenize_chinese_chars=False, never_split=())
        self._normalize = BasicTokenizer(do_lower_case, cache_size=0, settings=unspaced).normalize
        self._tokens = settings.added_tokens
        self._marks = marks_by_id(settings)
        self.has_normalized = any(token.normalized for token in self._tokens)

    def mark(self, texts: tf.Tensor, is_normalized: bool) -> tf.Tensor:
        """Return the texts, string [B], with a mark for each token of one of the two passes."""
        marks = {
            self._text(token): chr(place)
            for place, token in zip(PLACES, self._tokens, strict=False)
            if token.normalized is is_normalized
        }
        marks.pop("", None)
        if not is_normalized:
            texts = tf.strings.regex_replace(texts, _PLANES, _UNASSIGNED)
        if not marks:
            return texts
        # Longest first: of the alternatives of a pattern the first one that fits is taken.
        pattern = "|".join(map(_escape, sorted(marks, key=len, reverse=True)))
        texts = tf.strings.regex_replace(texts, f"({pattern})", rf"{_OPEN}\1{_CLOSE}")
        for text, mark in marks.items():
            texts = tf.strings.regex_replace(texts, f"{_OPEN}{_escape(text)}{_CLOSE}", mark)
        return texts

    def replace_marks(self, words: tf.Tensor, characters: tf.RaggedTensor) -> tf.Tensor:
        """Return the words, string [N], with the text of the vocabulary's table for each mark.

        Args:
            words: the words.
            characters: their code points, int32 [N, (characters)]; none is empty.
        """
        texts = tf.constant([self._marks.get(token.id, token.content) for token in self._tokens])
        places = tf.gather(characters.flat_values, characters.row_starts()) - PLACES.start
        is_mark = (places >= 0) & (places < len(self._tokens))
        return tf.where(is_mark, tf.gather(texts, tf.where(is_mark, places, 0)), words)

    def _text(self, token: AddedToken) -> str:
        return self._normalize(token.content) if token.normalized else token.content


def _escape(text: str) -> str:
    """Return a pattern of RE2 that fits the text alone."""
    if not text.isascii():
        return re.escape(text)
    return re.sub(r"([^\w\s]|_)", r"\\\1", text, flags=re.ASCII)
