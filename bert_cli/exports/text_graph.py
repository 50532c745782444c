"""Tokenizer as a TensorFlow graph from bytes to token ids, for exported models.

A table with an entry per code point splits texts into words. It is made with BasicTokenizer during
the export. tensorflow-text only does the decomposition (NFD) and the search for word pieces. For
all texts, the graph returns the same ids as the Python tokenizer, with one exception (see
CharacterTable). tensorflow-text's BertTokenizer differs for 233 of 1,603 hard texts, for example
with ß, a final sigma, symbols, control characters or line separators. Bytes that are not UTF-8 are
ignored, like in Google's code.
"""

import unicodedata

import tensorflow as tf
import tensorflow_text as tf_text

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.exports.graph_added_tokens import MARK_CODES, AddedTokenMarker, marks_by_id
from bert_cli.text.character_table import (
    ALONE,
    CASED,
    DELETED,
    IGNORED,
    IN_WORD,
    PAGE,
    SPACE,
    make_entries,
    unique_pages,
)
from bert_cli.text.characters import GOOGLE_CHARACTERS
from bert_cli.text.tokenizer_settings import GOOGLE, TokenizerSettings
from bert_cli.text.vocabulary import UNK, Vocabulary

_SIGMA, _FINAL_SIGMA = ord("Σ"), ord("ς")
# A noncharacter, which never decomposes, replaces all unassigned code points.
_UNASSIGNED = 0xFDD0
TEXTS = tf.TensorSpec([None], tf.string, name="text")


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
        rules = TokenizerSettings(
            settings.strip_accents, settings.tokenize_chinese_chars, character_rules=settings.character_rules
        )
        entries = make_entries(do_lower_case, rules, unknown_characters)
        if settings.added_tokens:
            entries = entries.copy()
            codes = MARK_CODES[: len(settings.added_tokens)]
            entries[codes.start : codes.stop] = ALONE << 21 | ALONE << 23
        pages, numbers = unique_pages(entries)
        self._pages = tf.constant(pages.reshape(-1), tf.int32)
        self._numbers = tf.constant(numbers.reshape(-1), tf.int32)

    def look_up(self, codes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return lowercase codes, kinds before and after decomposition, and cases, all int32 [N]."""
        page = tf.gather(self._numbers, codes // PAGE)
        entry = tf.gather(self._pages, page * PAGE + codes % PAGE)

        def extract_bits(first: int, count: int) -> tf.Tensor:
            return tf.bitwise.bitwise_and(tf.bitwise.right_shift(entry, first), (1 << count) - 1)

        lower = tf.where(entry >= 1 << 27, _UNASSIGNED, tf.bitwise.bitwise_xor(codes, extract_bits(0, 21)))
        return lower, extract_bits(21, 2), extract_bits(23, 2), extract_bits(25, 2)


def _final_sigmas(codes: tf.Tensor, cases: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Return whether each code point is a capital sigma that ends a word, bool [N].

    They follow a cased character and precede an uncased one, not counting ignored characters. All
    arguments are [N]; `rows` has each character's text index.
    """
    counted = tf.not_equal(cases, IGNORED)
    position = tf.cumsum(tf.cast(counted, tf.int32), exclusive=True)
    # Pad both ends, so that there is always a neighbor.
    cased = tf.pad(tf.boolean_mask(tf.equal(cases, CASED), counted), [[1, 1]])
    row = tf.pad(tf.boolean_mask(rows, counted), [[1, 1]], constant_values=-1)

    def is_cased(neighbor: tf.Tensor) -> tf.Tensor:
        neighbor = tf.minimum(neighbor, tf.size(row) - 1)
        return tf.gather(cased, neighbor) & tf.equal(tf.gather(row, neighbor), rows)

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
        self._has_final_sigma = do_lower_case and settings.character_rules == GOOGLE_CHARACTERS
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
            is_kept = tf.not_equal(kinds, DELETED)
            rows = tf.boolean_mask(codes.value_rowids(), is_kept)
            original_codes, lower, cases = (
                tf.boolean_mask(values, is_kept) for values in (codes.flat_values, lower, cases)
            )
            if self._has_final_sigma:
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
        is_kept = tf.not_equal(last_kinds, DELETED)
        values, kinds, rows = (tf.boolean_mask(tensor, is_kept) for tensor in (codes.flat_values, last_kinds, rows))
        in_word = tf.equal(kinds, IN_WORD)
        continues = tf.pad(in_word[:-1] & tf.equal(rows[:-1], rows[1:]), [[1, 0]])[: tf.size(rows)]
        begins = tf.equal(kinds, ALONE) | (in_word & ~continues)
        is_visible = tf.not_equal(kinds, SPACE)
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
        present = tf.not_equal(kinds, DELETED)
        spaced = tf.where(tf.equal(kinds, SPACE), ord(" "), codes.flat_values)
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
