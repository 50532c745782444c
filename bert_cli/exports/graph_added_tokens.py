"""Search for added tokens in a TensorFlow graph, which replaces each by an unused code point."""

import dataclasses
import re

import tensorflow as tf

from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.tokenizer_settings import AddedToken, TokenizerSettings

# Code points in unassigned planes, which `mark` removes from texts: two signs around a match, and
# one mark per token.
_FIRST_CODE, _LAST_CODE = 0x40000, 0xDFFFF
_OPEN, _CLOSE = chr(_FIRST_CODE), chr(_FIRST_CODE + 1)
MARK_CODES = range(_FIRST_CODE + 2, _LAST_CODE)
_UNASSIGNED = "\ufdd0"
_PLANES = f"[{chr(_FIRST_CODE)}-{chr(_LAST_CODE)}]"


def marks_by_id(settings: TokenizerSettings) -> dict[int, str]:
    """Return the marks of added tokens that are not word pieces, by token id."""
    outside = set(settings.outside_wordpiece)
    tokens = enumerate(settings.added_tokens)
    return {token.id: chr(MARK_CODES[index]) for index, token in tokens if token.id in outside}


class AddedTokenMarker:
    """Graph version of AddedTokenSplitter, for tokens without `single_word`.

    Attributes:
        has_normalized: whether some tokens are searched for in the normalized text.
    """

    def __init__(self, do_lower_case: bool, settings: TokenizerSettings):
        """Prepare the search for the added tokens in `settings`."""
        # Do not add spaces around ideographs: the graph does not do it at this point, either.
        unspaced = dataclasses.replace(settings, tokenize_chinese_chars=False, never_split=())
        self._normalize = BasicTokenizer(do_lower_case, cache_size=0, settings=unspaced).normalize
        self._tokens = settings.added_tokens
        self._marks = marks_by_id(settings)
        self.has_normalized = any(token.normalized for token in self._tokens)

    def mark(self, texts: tf.Tensor, is_normalized: bool) -> tf.Tensor:
        """Return texts with the tokens for one pass replaced by marks.

        Args:
            texts: string [B].
            is_normalized: whether to search for the tokens with `normalized`, or for the others.
        """
        marks = {
            self._text(token): chr(code)
            for code, token in zip(MARK_CODES, self._tokens, strict=False)
            if token.normalized is is_normalized
        }
        marks.pop("", None)
        if not is_normalized:
            texts = tf.strings.regex_replace(texts, _PLANES, _UNASSIGNED)
        if not marks:
            return texts
        # Put longer tokens first: RE2 uses the first alternative that matches.
        pattern = "|".join(map(literal_re2_pattern, sorted(marks, key=len, reverse=True)))
        texts = tf.strings.regex_replace(texts, f"({pattern})", rf"{_OPEN}\1{_CLOSE}")
        for text, mark in marks.items():
            texts = tf.strings.regex_replace(texts, f"{_OPEN}{literal_re2_pattern(text)}{_CLOSE}", mark)
        return texts

    def replace_marks(self, words: tf.Tensor, characters: tf.RaggedTensor) -> tf.Tensor:
        """Return words with each mark replaced by its entry in the vocabulary table.

        Args:
            words: string [N].
            characters: the words' code points, int32 [N, (characters)], without empty rows.
        """
        texts = tf.constant([self._marks.get(token.id, token.content) for token in self._tokens])
        indices = tf.gather(characters.flat_values, characters.row_starts()) - MARK_CODES.start
        is_mark = (indices >= 0) & (indices < len(self._tokens))
        return tf.where(is_mark, tf.gather(texts, tf.where(is_mark, indices, 0)), words)

    def _text(self, token: AddedToken) -> str:
        return self._normalize(token.content) if token.normalized else token.content


def literal_re2_pattern(text: str) -> str:
    """Return an RE2 pattern that matches only `text`."""
    if not text.isascii():
        return re.escape(text)
    return re.sub(r"([^\w\s]|_)", r"\\\1", text, flags=re.ASCII)
