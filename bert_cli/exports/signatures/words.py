"""Graph version of examples.text_lines.split_text: a text's words and their offsets."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.exports.graph_added_tokens import literal_re2_pattern
from bert_cli.text.character_table import ALONE, make_entries
from bert_cli.text.tokenizer_settings import GOOGLE, TokenizerSettings

# White space that separates words. BasicTokenizer deletes the other white space of str.isspace.
_SPACE = r"[\t\n\r\pZ]"


class Words(NamedTuple):
    """The words of B texts.

    Attributes:
        texts: string [B, (words)].
        starts: offsets of the words in their texts, in characters, int32 [B, (words)].
    """

    texts: tf.RaggedTensor
    starts: tf.RaggedTensor


class WordSplitter:
    """Splitter of texts into words without a change of a character."""

    def __init__(self, settings: TokenizerSettings):
        """Make the regular expression.

        Args:
            settings: the tokenizer's settings; an added token without white space is one word.

        Raises:
            InputError: if an added token is searched for in the normalized text.
        """
        if normalized := [token.content for token in settings.added_tokens if token.normalized]:
            raise InputError(
                f"the tokenizer searches for added tokens ({list_names(normalized)}) in the normalized text, whose "
                "offsets no TensorFlow graph computes; predict with the commands, or export with --format=onnx"
            )
        tokens = [token.content for token in settings.added_tokens if not any(map(str.isspace, token.content))]
        # Put longer tokens first: RE2 uses the first alternative that matches.
        alternatives = [
            *map(literal_re2_pattern, sorted(filter(None, tokens), key=len, reverse=True)),
            _alone_class(),
            f"{_SPACE}+",
        ]
        self._pattern = f"({'|'.join(alternatives)})"

    def split(self, texts: tf.Tensor) -> Words:
        """Return the words of texts, string [B]."""
        return split_with_offsets(texts, self._pattern, f"{_SPACE}*")


def split_with_offsets(texts: tf.Tensor, delimiters: str, spaces: str) -> Words:
    """Return the words of texts, string [B].

    Args:
        texts: the texts.
        delimiters: RE2 pattern of the delimiters, which are words, too.
        spaces: RE2 pattern of the delimiters that are no words.
    """
    parts, _, _ = tf_text.regex_split_with_offsets(texts, delimiters, r"(.|\n)+")
    lengths = parts.with_flat_values(tf.strings.length(parts.flat_values, unit="UTF8_CHAR"))
    ends = tf.cumsum(lengths.flat_values)
    # Subtract the lengths of the texts before.
    before = tf.gather(tf.pad(ends, [[1, 0]]), parts.row_starts())
    starts = ends - lengths.flat_values - tf.gather(before, parts.value_rowids())
    is_word = ~tf.strings.regex_full_match(parts.flat_values, spaces)
    words = (parts, parts.with_flat_values(starts))
    return Words(*(tf.ragged.boolean_mask(values, parts.with_flat_values(is_word)) for values in words))


def _alone_class() -> str:
    """Return an RE2 class of the characters that are words by themselves."""
    entries = make_entries(False, GOOGLE, frozenset())
    codes = np.flatnonzero((entries >> 21 & 3 == ALONE) & (entries < 1 << 27))
    ranges = np.split(codes, np.flatnonzero(np.diff(codes) > 1) + 1)
    return "[" + "".join(rf"\x{{{codes[0]:x}}}-\x{{{codes[-1]:x}}}" for codes in ranges) + "]"
