"""Tokenizer as a TensorFlow graph from bytes to token ids, for exported models.

A table with an entry per code point splits texts into words. It is made with BasicTokenizer during
the export. tensorflow-text only does the decomposition (NFD) and the search for word pieces. For
all texts, the graph returns the same ids as the Python tokenizer, with one exception (see
CharacterTable). tensorflow-text's BertTokenizer differs for 233 of 1,603 hard texts, for example
with ß, a final sigma, symbols, control characters or line separators. Bytes that are not UTF-8 are
ignored, like in Google's code.
"""

import dataclasses
import functools
import sys
import unicodedata
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.exports.graph_added_tokens import MARK_CODES, AddedTokenMarker, marks_by_id
from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.tokenizer_settings import GOOGLE, TokenizerSettings
from bert_cli.text.vocabulary import UNK, Vocabulary

# Kinds: a character is part of a word, a word by itself, between words, or deleted.
_IN_WORD, _ALONE, _SPACE, _DELETED = range(4)
# Cases: how a character affects a sigma near it.
_UNCASED, _CASED, _IGNORED = range(3)
_SIGMA, _FINAL_SIGMA = ord("Σ"), ord("ς")
# A noncharacter, which never decomposes, replaces all unassigned code points.
_UNASSIGNED = 0xFDD0
# From here on, only tags, variation selectors and private use are assigned.
_UNUSED_PLANES = 0x40000
_PAGE = 256
TEXTS = tf.TensorSpec([None], tf.string, name="text")


def _classify(tokenizer: BasicTokenizer, characters: Sequence[str]) -> list[int]:
    """Return the kinds of characters, which are all from one page.

    One call splits all of them, each between two letters. A call per character takes three times as
    long.
    """
    # The separator must be punctuation in another page.
    separator = "\u3001" if "," in characters else ","
    groups: list[list[str]] = [[]]
    for word in tokenizer.tokenize(separator.join(f"a{character}a" for character in characters)):
        if word == separator:
            groups.append([])
        else:
            groups[-1].append(word)
    kinds = {2: _SPACE, 3: _ALONE}
    return [kinds.get(len(words)) or (_DELETED if words == ["aa"] else _IN_WORD) for words in groups]


def _character_case(character: str) -> int:
    if f"{character}Σ".lower().endswith("ς"):
        return _CASED
    return _IGNORED if f"A{character}Σ".lower().endswith("ς") else _UNCASED


# Cache the table: it takes a second, and is equal for all vocabularies without unknown characters.
@functools.cache
def _make_entries(do_lower_case: bool, rules: TokenizerSettings, unknown_characters: frozenset[str]) -> np.ndarray:
    """Return an entry per code point, int32 [0x110000].

    Bits 0-20 are the code point XOR its lowercase form, so that most pages are equal. Bits 21-22
    and 23-24 are the kind before and after decomposition. Bits 25-26 are the case. Bit 27 is set if
    the character is unknown.

    Args:
        do_lower_case: whether text is lowercased.
        rules: settings that change the kinds.
        unknown_characters: characters in the vocabulary that Python does not know.
    """
    first_settings = dataclasses.replace(rules, strip_accents=False)
    first_tokenizer = BasicTokenizer(False, cache_size=0, settings=first_settings)
    final_tokenizer = BasicTokenizer(do_lower_case, cache_size=0, settings=rules)
    entries = np.full((sys.maxunicode + 1,), 1 << 27, np.int32)
    for start in range(0, sys.maxunicode + 1, _PAGE):
        known, unknown = [], []
        for code in range(start, start + _PAGE):
            character = chr(code)
            category = unicodedata.category(character)
            # Skip private use: these 137,468 characters are all equal.
            if category == "Co":
                entries[code] = 0
            elif category == "Cn" and character not in unknown_characters:
                if code < _UNUSED_PLANES:
                    unknown.append(character)
            elif category != "Cs":
                known.append(character)
        if unknown:
            # Keep unassigned code points in Google's blocks of ideographs as words.
            for character, kind in zip(unknown, _classify(first_tokenizer, unknown), strict=True):
                if kind == _ALONE:
                    entries[ord(character)] = _ALONE << 21 | _ALONE << 23
        if known:
            kinds = _classify(first_tokenizer, known), _classify(final_tokenizer, known)
            for character, first_kind, final_kind in zip(known, *kinds, strict=True):
                # Ignore the second character: only U+0130 has one, an accent, which is removed, or
                # else added later.
                lower = character.lower() if do_lower_case else character
                is_changed = final_tokenizer.strips_accents or len(lower) == 1
                change = ord(character) ^ ord(lower[0]) if is_changed else 0
                case = _character_case(character) if do_lower_case else _UNCASED
                entries[ord(character)] = change | first_kind << 21 | final_kind << 23 | case << 25
    return entries


def _unique_pages(entries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return different pages in ascending order, int32 [P, 256], and each page's index, [4352]."""
    # Remove equal pages first: np.unique alone takes a quarter of a second to sort all of them.
    first_numbers: dict[bytes, int] = {}
    firsts = [first_numbers.setdefault(page.tobytes(), len(first_numbers)) for page in entries.reshape(-1, _PAGE)]
    different = np.frombuffer(b"".join(first_numbers), entries.dtype).reshape(-1, _PAGE)
    pages, numbers = np.unique(different, axis=0, return_inverse=True)
    return pages, numbers.reshape(-1)[firsts]


class CharacterTable:
    """Properties of code points, for lookup in a graph.

    They come from BasicTokenizer and the running Python. A code point that Python does not know
    becomes U+FDD0, because newer tables in tensorflow-text might decompose or reorder it. A
    vocabulary that is newer than this Python may contain such a character. It is unchanged then,
    and ids may differ from the Python tokenizer's.
    """

    def __init__(self, do_lower_case: bool, characters: set[str], settings: TokenizerSettings = GOOGLE):
        """Make the table.

        Args:
            do_lower_case: whether text is lowercased.
            characters: all characters in the vocabulary.
            settings: the other tokenizer settings.
        """
        unknown_characters = frozenset(character for character in characters if unicodedata.category(character) == "Cn")
        rules = TokenizerSettings(settings.strip_accents, settings.tokenize_chinese_chars)
        entries = _make_entries(do_lower_case, rules, unknown_characters)
        if settings.added_tokens:
            entries = entries.copy()
            codes = MARK_CODES[: len(settings.added_tokens)]
            entries[codes.start : codes.stop] = _ALONE << 21 | _ALONE << 23
        pages, numbers = _unique_pages(entries)
        self._pages = tf.constant(pages.reshape(-1), tf.int32)
        self._numbers = tf.constant(numbers.reshape(-1), tf.int32)

    def look_up(self, codes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return lowercase codes, kinds before and after decomposition, and cases, all int32 [N]."""
        page = tf.gather(self._numbers, codes // _PAGE)
        entry = tf.gather(self._pages, page * _PAGE + codes % _PAGE)

        def extract_bits(first: int, count: int) -> tf.Tensor:
            return tf.bitwise.bitwise_and(tf.bitwise.right_shift(entry, first), (1 << count) - 1)

        lower = tf.where(entry >= 1 << 27, _UNASSIGNED, tf.bitwise.bitwise_xor(codes, extract_bits(0, 21)))
        return lower, extract_bits(21, 2), extract_bits(23, 2), extract_bits(25, 2)


def _final_sigmas(codes: tf.Tensor, cases: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Return whether each code point is a capital sigma that ends a word, bool [N].

    They follow a cased character and precede an uncased one, not counting ignored characters. All
    arguments are [N]; `rows` has each character's text index.
    """
    counted = tf.not_equal(cases, _IGNORED)
    position = tf.cumsum(tf.cast(counted, tf.int32), exclusive=True)
    # Pad both ends, so that there is always a neighbor.
    cased = tf.pad(tf.boolean_mask(tf.equal(cases, _CASED), counted), [[1, 1]])
    row = tf.pad(tf.boolean_mask(rows, counted), [[1, 1]], constant_values=-1)

    def is_cased(neighbour: tf.Tensor) -> tf.Tensor:
        neighbour = tf.minimum(neighbour, tf.size(row) - 1)
        return tf.gather(cased, neighbour) & tf.equal(tf.gather(row, neighbour), rows)

    return tf.equal(codes, _SIGMA) & is_cased(position) & ~is_cased(position + 2)


class GraphTokenizer(tf.Module):
    """Graph version of FullTokenizer."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        do_lower_case: bool,
        vocab_path: str | None = None,
        settings: TokenizerSettings = GOOGLE,
    ):
        """Make the tables.

        Args:
            vocabulary: the vocabulary, including added tokens.
            do_lower_case: whether text is lowercased.
            vocab_path: file with `vocabulary_lines`, which becomes an asset in a SavedModel. If
                None, the graph contains the vocabulary.
            settings: the other tokenizer settings.

        Raises:
            InputError: if a graph does not support a setting.
        """
        super().__init__()
        check_settings(settings)
        self.do_lower_case = do_lower_case
        self._longest_word = settings.max_word_characters
        self._characters = CharacterTable(do_lower_case, set().union(*vocabulary.ids), settings)
        self._strips_accents = settings.removes_accents(do_lower_case)
        self._added = AddedTokenMarker(do_lower_case, settings) if settings.added_tokens else None
        if vocab_path is None:
            lines = vocabulary_lines(vocabulary, settings).split("\n")[:-1]
            initializer = tf.lookup.KeyValueTensorInitializer(lines, range(len(lines)), tf.string, tf.int64)
        else:
            initializer = tf.lookup.TextFileInitializer(
                vocab_path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
            )
        self.vocab_table = tf.lookup.StaticHashTable(initializer, default_value=-1)
        lengths = [len(token.content) for token in settings.added_tokens]
        # Allow 4 bytes per character: Google's limit counts characters, and `words` applies it.
        self._pieces = tf_text.WordpieceTokenizer(
            self.vocab_table,
            max_bytes_per_word=4 * max(self._longest_word, *lengths, 0),
            token_out_type=tf.int64,
            unknown_token=UNK,
        )

    def words(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the words of texts, string [B], as ragged string [B, (words)].

        Words that are too long become [UNK].
        """
        if self._added:
            texts = self._added.mark(texts, is_normalized=False)
        codes = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")
        lower, kinds, last_kinds, cases = self._characters.look_up(codes.flat_values)
        if self.do_lower_case or self._strips_accents:
            # Delete characters before decomposition, which reorders adjacent accents.
            is_kept = tf.not_equal(kinds, _DELETED)
            rows = tf.boolean_mask(codes.value_rowids(), is_kept)
            original_codes, lower, cases = (
                tf.boolean_mask(values, is_kept) for values in (codes.flat_values, lower, cases)
            )
            if self.do_lower_case:
                lower = tf.where(_final_sigmas(original_codes, cases, rows), _FINAL_SIGMA, lower)
            lowered_codes = tf.RaggedTensor.from_value_rowids(lower, rows, codes.nrows(), validate=False)
            lowered = tf.strings.unicode_encode(lowered_codes, "UTF-8")
            if self._strips_accents:
                lowered = tf_text.normalize_utf8(lowered, "NFD")
            else:
                lowered = tf.strings.regex_replace(lowered, "\u0130", "\u0130".lower())
            codes = tf.strings.unicode_decode(lowered, "UTF-8", errors="ignore")
            _, _, last_kinds, _ = self._characters.look_up(codes.flat_values)
        if self._added and self._added.has_normalized:
            codes, last_kinds = self._mark_normalized(self._added, codes, last_kinds)
        rows = codes.value_rowids()
        is_kept = tf.not_equal(last_kinds, _DELETED)
        values, kinds, rows = (tf.boolean_mask(tensor, is_kept) for tensor in (codes.flat_values, last_kinds, rows))
        in_word = tf.equal(kinds, _IN_WORD)
        continues = tf.pad(in_word[:-1] & tf.equal(rows[:-1], rows[1:]), [[1, 0]])[: tf.size(rows)]
        begins = tf.equal(kinds, _ALONE) | (in_word & ~continues)
        is_visible = tf.not_equal(kinds, _SPACE)
        word_indices = tf.boolean_mask(tf.cumsum(tf.cast(begins, tf.int64)) - 1, is_visible)
        count = tf.math.count_nonzero(begins)
        characters = tf.RaggedTensor.from_value_rowids(
            tf.boolean_mask(values, is_visible), word_indices, count, validate=False
        )
        words = tf.strings.unicode_encode(characters, "UTF-8")
        words = tf.where(characters.row_lengths() > self._longest_word, UNK, words)
        if self._added:
            words = self._added.replace_marks(words, characters)
        return tf.RaggedTensor.from_value_rowids(words, tf.boolean_mask(rows, begins), codes.nrows(), validate=False)

    def _mark_normalized(
        self, added: AddedTokenMarker, codes: tf.RaggedTensor, kinds: tf.Tensor
    ) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Return codes and kinds with a mark for each added token in the normalized text."""
        present = tf.not_equal(kinds, _DELETED)
        spaced = tf.where(tf.equal(kinds, _SPACE), ord(" "), codes.flat_values)
        values = tf.boolean_mask(spaced, present)
        rows = tf.boolean_mask(codes.value_rowids(), present)
        texts = tf.RaggedTensor.from_value_rowids(values, rows, codes.nrows(), validate=False)
        marked = added.mark(tf.strings.unicode_encode(texts, "UTF-8"), is_normalized=True)
        codes = tf.strings.unicode_decode(marked, "UTF-8", errors="ignore")
        return codes, self._characters.look_up(codes.flat_values)[2]

    def pieces(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return token ids for texts, string [B], as ragged int32 [B, (words), (pieces)].

        The ids are equal to those from FullTokenizer.encode.
        """
        return tf.cast(self._pieces.tokenize(self.words(texts)), tf.int32)


def check_settings(settings: TokenizerSettings) -> None:
    """Raise InputError for a setting that the graph does not support."""
    single_words = [token.content for token in settings.added_tokens if token.single_word]
    unsupported = {"never_split": settings.never_split, "added tokens with single_word": single_words}
    for feature, texts in unsupported.items():
        if texts:
            raise InputError(
                f"the tokenizer has {feature} ({list_names(texts)}), which no TensorFlow graph computes; "
                "predict with the commands, or export with --format=onnx"
            )


def vocabulary_lines(vocabulary: Vocabulary, settings: TokenizerSettings = GOOGLE) -> str:
    """Return the vocabulary for TextFileInitializer, which refuses empty and repeated lines.

    The last of several equal tokens counts. An added token that is not a word piece is represented
    by its mark.
    """
    lines = []
    marks = marks_by_id(settings)
    for number, token in enumerate(vocabulary.tokens):
        # Use a placeholder that no word is equal to, because a bracket is always a separate word.
        # Carriage returns need one, too: TextFileInitializer drops them.
        can_be_found = token and vocabulary.ids[token] == number and "\r" not in token
        lines.append(marks.get(number) or (token if can_be_found else f"[line {number}]"))
    return "".join(f"{line}\n" for line in lines)
