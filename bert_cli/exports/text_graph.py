"""Our tokenizer as a TensorFlow graph, for exported models: bytes in, token ids out. Imports
TensorFlow.

Words are cut by a table with an entry for each code point, which is asked of BasicTokenizer itself
when a model is exported; only decomposition (NFD) and the search for pieces are tensorflow-text's.
The graph gives the ids of the Python tokenizer for all texts, with one exception: see
CharacterTable. (tensorflow-text's own BertTokenizer gives others for 233 of 1,603 hard texts: with
ß, a final sigma, symbols, controls, line separators and more.) Bytes that are no UTF-8 are left
out, as the original does with byte strings.
"""

import dataclasses
import functools
import sys
import unicodedata

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from bert_cli.base.errors import InputError
from bert_cli.base.messages import list_names
from bert_cli.exports.graph_added_tokens import PLACES, AddedTokenMarker, marks_by_id
from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.tokenizer_settings import GOOGLE, TokenizerSettings
from bert_cli.text.vocabulary import UNK, Vocabulary

# What happens to a character: it is part of a word, a word by itself, between words, or deleted.
_INSIDE, _ALONE, _SPACE, _DELETED = range(4)
# What it means for a sigma near it.
_UNCASED, _CASED, _IGNORED = range(3)
_SIGMA, _FINAL_SIGMA = ord("Σ"), ord("ς")
# Replaces all unassigned code points: a noncharacter, which never decomposes.
_UNASSIGNED = 0xFDD0
_UNUSED_PLANES = 0x40000  # from here on there are tags, variation selectors and private use, and the rest is unassigned
_PAGE = 256
TEXTS = tf.TensorSpec([None], tf.string, name="text")


def _kind(tokenizer: BasicTokenizer, character: str) -> int:
    words = tokenizer.tokenize(f"a{character}a")
    if len(words) == 1:
        return _DELETED if words[0] == "aa" else _INSIDE
    return _SPACE if len(words) == 2 else _ALONE


def _case(character: str) -> int:
    if f"{character}Σ".lower().endswith("ς"):
        return _CASED
    return _IGNORED if f"A{character}Σ".lower().endswith("ς") else _UNCASED


@functools.cache  # a second's work, and the same for all vocabularies that have no character that is new
def _entries(do_lower_case: bool, rules: TokenizerSettings, kept: frozenset[str]) -> np.ndarray:
    """Return int32 [0x110000]. kept: characters of the vocabulary that Python does not know.

    Bits 0-20: what to exclusive-or the code with to have its lower-case form, so that most pages
    are equal; 21-22 and 23-24: its kind before and after decomposition; 25-26: its case; 27: it is
    unknown.
    """
    before = dataclasses.replace(rules, strip_accents=False)
    plain = BasicTokenizer(False, cache_size=0, settings=before)
    last = BasicTokenizer(do_lower_case, cache_size=0, settings=rules)
    entries = np.full((sys.maxunicode + 1,), 1 << 27, np.int32)
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        category = unicodedata.category(character)
        is_unknown = category == "Cn" and character not in kept
        if category == "Co":  # 137,468 of them, which differ in nothing
            entries[code] = 0
        elif category == "Cs" or (is_unknown and code >= _UNUSED_PLANES):
            continue
        elif is_unknown:  # but the original's blocks of ideographs have unassigned places
            if _kind(plain, character) == _ALONE:
                entries[code] = _ALONE << 21 | _ALONE << 23
        else:
            # Of the only longer result, of U+0130, the rest is an accent. It goes, or is added later.
            is_changed = do_lower_case and (last.strips_accents or len(character.lower()) == 1)
            change = code ^ ord(character.lower()[0]) if is_changed else 0
            case = _case(character) if do_lower_case else _UNCASED
            entries[code] = change | _kind(plain, character) << 21 | _kind(last, character) << 23 | case << 25
    return entries


class CharacterTable:
    """Properties of all code points, as BasicTokenizer and the running Python have them, for
    look-up in a graph.

    A code point that Python's Unicode does not know, and that is in no token of the vocabulary,
    becomes U+FDD0: tables of tensorflow-text may know it, and take it apart or reorder it. One in a
    vocabulary is left as it is, and is the exception: such vocabularies are newer than this Python.
    """

    def __init__(self, do_lower_case: bool, characters: set[str], settings: TokenizerSettings = GOOGLE):
        """characters: of the vocabulary."""
        kept = frozenset(character for character in characters if unicodedata.category(character) == "Cn")
        rules = TokenizerSettings(settings.strip_accents, settings.tokenize_chinese_chars)
        entries = _entries(do_lower_case, rules, kept)
        if settings.added_tokens:
            entries = entries.copy()
            places = PLACES[: len(settings.added_tokens)]
            entries[places.start : places.stop] = _ALONE << 21 | _ALONE << 23
        pages, numbers = np.unique(entries.reshape(-1, _PAGE), axis=0, return_inverse=True)
        self._pages = tf.constant(pages.reshape(-1), tf.int32)
        self._numbers = tf.constant(numbers.reshape(-1), tf.int32)

    def look_up(self, codes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """int32 [N] -> four int32 [N]: lower-case codes, kinds before and kinds after
        decomposition, cases.
        """
        page = tf.gather(self._numbers, codes // _PAGE)
        entry = tf.gather(self._pages, page * _PAGE + codes % _PAGE)

        def bits(first, count):
            return tf.bitwise.bitwise_and(tf.bitwise.right_shift(entry, first), (1 << count) - 1)

        lower = tf.where(entry >= 1 << 27, _UNASSIGNED, tf.bitwise.bitwise_xor(codes, bits(0, 21)))
        return lower, bits(21, 2), bits(23, 2), bits(25, 2)


def _final_sigmas(codes: tf.Tensor, cases: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """bool [N]: the capital sigmas that end a word: a cased letter before them, none after; ignored
    ones do not count.
    """
    counted = tf.not_equal(cases, _IGNORED)
    place = tf.cumsum(tf.cast(counted, tf.int32), exclusive=True)
    # A stop at both ends, so that there is always a neighbour.
    cased = tf.pad(tf.boolean_mask(tf.equal(cases, _CASED), counted), [[1, 1]])
    row = tf.pad(tf.boolean_mask(rows, counted), [[1, 1]], constant_values=-1)

    def is_cased(neighbour):
        neighbour = tf.minimum(neighbour, tf.size(row) - 1)
        return tf.gather(cased, neighbour) & tf.equal(tf.gather(row, neighbour), rows)

    return tf.equal(codes, _SIGMA) & is_cased(place) & ~is_cased(place + 2)


class GraphTokenizer(tf.Module):
    """FullTokenizer in a graph. `vocab_table` reads `vocab_path`, which becomes an asset of the
    saved model.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        do_lower_case: bool,
        vocab_path: str | None = None,
        settings: TokenizerSettings = GOOGLE,
    ):
        """Make the tables.

        Args:
            vocabulary: the vocabulary, added tokens included.
            do_lower_case: whether text is lower-cased.
            vocab_path: a file as vocabulary_lines has it; None: the table is in the graph itself.
            settings: the other settings; InputError for one that a graph cannot have.
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
        # The original's limit is one of characters; longer words are replaced before.
        self._pieces = tf_text.WordpieceTokenizer(
            self.vocab_table,
            max_bytes_per_word=4 * max(self._longest_word, *lengths, 0),
            token_out_type=tf.int64,
            unknown_token=UNK,
        )

    def words(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Return the words, string [B] -> ragged string [B, (words)]; a too long word is [UNK]."""
        if self._added:
            texts = self._added.mark(texts, is_normalized=False)
        codes = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")
        lower, kinds, last_kinds, cases = self._characters.look_up(codes.flat_values)
        if self.do_lower_case or self._strips_accents:
            kept = tf.not_equal(kinds, _DELETED)  # before decomposition, which reorders accents that then meet
            rows = tf.boolean_mask(codes.value_rowids(), kept)
            found, lower, cases = (tf.boolean_mask(values, kept) for values in (codes.flat_values, lower, cases))
            if self.do_lower_case:
                lower = tf.where(_final_sigmas(found, cases, rows), _FINAL_SIGMA, lower)
            kept_codes = tf.RaggedTensor.from_value_rowids(lower, rows, codes.nrows(), validate=False)
            lowered = tf.strings.unicode_encode(kept_codes, "UTF-8")
            if self._strips_accents:
                lowered = tf_text.normalize_utf8(lowered, "NFD")
            else:
                lowered = tf.strings.regex_replace(lowered, "\u0130", "\u0130".lower())
            codes = tf.strings.unicode_decode(lowered, "UTF-8", errors="ignore")
            _, _, last_kinds, _ = self._characters.look_up(codes.flat_values)
        if self._added and self._added.has_normalized:
            codes, last_kinds = self._mark_normalized(self._added, codes, last_kinds)
        rows = codes.value_rowids()
        present = tf.not_equal(last_kinds, _DELETED)
        values, kinds, rows = (tf.boolean_mask(part, present) for part in (codes.flat_values, last_kinds, rows))
        inside = tf.equal(kinds, _INSIDE)
        goes_on = tf.pad(inside[:-1] & tf.equal(rows[:-1], rows[1:]), [[1, 0]])[: tf.size(rows)]
        begins = tf.equal(kinds, _ALONE) | (inside & ~goes_on)
        of_word = tf.not_equal(kinds, _SPACE)
        numbers = tf.boolean_mask(tf.cumsum(tf.cast(begins, tf.int64)) - 1, of_word)
        count = tf.math.count_nonzero(begins)
        characters = tf.RaggedTensor.from_value_rowids(tf.boolean_mask(values, of_word), numbers, count, validate=False)
        words = tf.strings.unicode_encode(characters, "UTF-8")
        words = tf.where(characters.row_lengths() > self._longest_word, UNK, words)
        if self._added:
            words = self._added.replace_marks(words, characters)
        return tf.RaggedTensor.from_value_rowids(words, tf.boolean_mask(rows, begins), codes.nrows(), validate=False)

    def _mark_normalized(
        self, added: AddedTokenMarker, codes: tf.RaggedTensor, kinds: tf.Tensor
    ) -> tuple[tf.RaggedTensor, tf.Tensor]:
        """Return codes and kinds with a mark for each added token of the normalized text."""
        present = tf.not_equal(kinds, _DELETED)
        spaced = tf.where(tf.equal(kinds, _SPACE), ord(" "), codes.flat_values)
        values = tf.boolean_mask(spaced, present)
        rows = tf.boolean_mask(codes.value_rowids(), present)
        texts = tf.RaggedTensor.from_value_rowids(values, rows, codes.nrows(), validate=False)
        marked = added.mark(tf.strings.unicode_encode(texts, "UTF-8"), is_normalized=True)
        codes = tf.strings.unicode_decode(marked, "UTF-8", errors="ignore")
        return codes, self._characters.look_up(codes.flat_values)[2]

    def pieces(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """string [B] -> ragged int32 [B, (words), (pieces)], ids as FullTokenizer.encode gives
        them.
        """
        return tf.cast(self._pieces.tokenize(self.words(texts)), tf.int32)


def check_settings(settings: TokenizerSettings) -> None:
    """Raise InputError for a setting that the graph does not compute."""
    whole = [token.content for token in settings.added_tokens if token.single_word]
    kinds = {"never_split": settings.never_split, "added tokens with single_word": whole}
    for kind, texts in kinds.items():
        if texts:
            raise InputError(
                f"the tokenizer has {kind} ({list_names(texts)}), which no TensorFlow graph computes; "
                "predict with the commands, or export with --format=onnx"
            )


def vocabulary_lines(vocabulary: Vocabulary, settings: TokenizerSettings = GOOGLE) -> str:
    """Return the vocabulary for TextFileInitializer, which wants no empty line and none twice.

    Of a repeated token the last line counts. An added token that is no piece of words is its mark.
    """
    lines = []
    marks = marks_by_id(settings)
    for number, token in enumerate(vocabulary.tokens):
        # No word has a bracket and more, so such a line is never found; nor is a token with a
        # carriage return, which the reader of tables drops.
        can_be_found = token and vocabulary.ids[token] == number and "\r" not in token
        lines.append(marks.get(number) or (token if can_be_found else f"[line {number}]"))
    return "".join(f"{line}\n" for line in lines)
