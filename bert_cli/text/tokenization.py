"""Text -> words -> word pieces -> ids, equal token for token to tokenization.py of the original
BERT.

    text      "Unaffable, isn't it?"
    chunks    "Unaffable,"  "isn't"  "it?"                     what white space separates
    words     "unaffable" ","  "isn" "'" "t"  "it" "?"         BasicTokenizer
    pieces    "una" "##ffa" "##ble" "," …                      WordpieceTokenizer
    ids       14477 20961 3468 1010 …                          FullTokenizer.encode

No step looks across white space, so the result of a chunk never depends on its neighbours. That is
what the speed rests on: results of chunks and words are remembered, and running text repeats a few
of them most of the time.
"""

import functools
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable

from bert_cli.text.added_tokens import AddedTokenSplitter
from bert_cli.text.tokenizer_settings import GOOGLE, LONGEST_WORD, AddedToken, TokenizerSettings
from bert_cli.text.vocabulary import UNK, Vocabulary

# Characters that str.split() takes for white space, but that the original deletes before it splits:
# "a\x0bb" is "ab".
_DELETED_WHITE_SPACE = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
_DELETE_WHITE_SPACE = re.compile(f"[{_DELETED_WHITE_SPACE}]+")

# For a chunk, which has no \t \n \r or space: nothing is left of other ASCII controls, punctuation
# is separate.
_ASCII_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")
_ASCII_WORDS = re.compile(r"[0-9A-Za-z]+|[!-/:-@\[-`{-~]")

# The original's blocks of ideographs, and no kana or hangul, which are written with spaces or stay
# whole words.
_CJK = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\U0002f800-\U0002fa1f]"
)

# Entries a memo holds before it is emptied. Chunks and words of English text then take about 30 MB
# together.
CACHE_SIZE = 1 << 17
# Longer chunks (a sentence without spaces, a URL, a line of base64) hardly ever come twice.
_LONGEST_CACHED = 64


class _Memo(dict):
    """Remembers `compute(text)`; a dict, because looking up a known text must cost next to nothing.

    A full memo is emptied, not frozen: the words of a corpus change on the way through it.
    """

    def __init__(self, compute: Callable[[str], tuple], size: int):
        super().__init__()
        self.compute = compute
        self.size = size

    def __missing__(self, text: str) -> tuple:
        result = self.compute(text)
        if self.size and len(text) <= _LONGEST_CACHED:
            # functools.lru_cache would drop single entries, for which it keeps an order at every
            # look-up.
            if len(self) >= self.size:
                self.clear()
            self[text] = result
        return result

    def __reduce__(self) -> tuple[type, tuple]:
        return _Memo, (
            self.compute,
            self.size,
        )  # a worker process gets the tokenizer, not what it remembers


def chunks(text: str) -> list[str]:
    """The text split where the original ends a word for white space: \\t \\n \\r, space, category
    Zs, U+2028 and U+2029.
    """
    for character in _DELETED_WHITE_SPACE:
        if character in text:
            return _DELETE_WHITE_SPACE.sub("", text).split()
    return text.split()


@functools.lru_cache(maxsize=1 << 16)
def _clean(character: str) -> str:
    """The character, or nothing for controls and formats, or the character between spaces for
    ideographs.

    Private-use characters, surrogates and unassigned code points stay (as in the original since
    March 2019).
    """
    return f" {character} " if _CJK.match(character) else _without_control(character)


def _without_control(character: str) -> str:
    """Return the character, or nothing for controls and formats."""
    if character in "\0\ufffd" or unicodedata.category(character) in ("Cc", "Cf"):
        return ""
    return character


@functools.lru_cache(maxsize=1 << 16)
def _separate_punctuation(character: str) -> str:
    """The character, between spaces for punctuation. ASCII symbols such as $ and ^ count as
    punctuation, € does not.
    """
    if _ASCII_WORDS.fullmatch(character):
        return character if character.isalnum() else f" {character} "
    return f" {character} " if unicodedata.category(character).startswith("P") else character


@functools.lru_cache(maxsize=1 << 16)
def _strip_accent(character: str) -> str:
    """_separate_punctuation, or nothing for a combining accent; of a character that comes out of
    NFD.
    """
    return "" if unicodedata.category(character) == "Mn" else _separate_punctuation(character)


class BasicTokenizer:
    """Splits text into words and single punctuation characters, lower-cased and without accents on
    request.

    With do_lower_case=False nothing is normalised at all. No word is protected: "[MASK]" gives "[",
    "mask", "]". `cache_size` bounds the number of remembered chunks; 0 remembers none.
    """

    def __init__(self, do_lower_case: bool = True, cache_size: int = CACHE_SIZE, settings: TokenizerSettings = GOOGLE):
        self.do_lower_case = do_lower_case
        self.strips_accents = settings.removes_accents(do_lower_case)
        self.never_split = frozenset(settings.never_split)
        self._clean = _clean if settings.tokenize_chinese_chars else _without_control
        self._words = _Memo(self.split_chunk, cache_size)

    def tokenize(self, text: str) -> list[str]:
        """Words of the text, in order."""
        return list(itertools.chain.from_iterable(map(self._words.__getitem__, chunks(text))))

    def split_chunk(self, chunk: str) -> tuple[str, ...]:
        """Words of a text without white space, never from memory."""
        if not self.never_split:
            return self._split(chunk)
        words: list[str] = []
        for word in "".join(map(self._clean, chunk)).split():
            words += [word] if word in self.never_split else self._split(word)
        return tuple(words)

    def normalize(self, text: str) -> str:
        """Return the text before it is split into words; all white space becomes spaces."""
        text = "".join(map(self._clean, re.sub(r"\s", " ", _DELETE_WHITE_SPACE.sub("", text))))
        text = text.lower() if self.do_lower_case else text
        if not self.strips_accents:
            return text
        decomposed = unicodedata.normalize("NFD", text)
        return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")

    def _split(self, chunk: str) -> tuple[str, ...]:
        if chunk.isascii():
            if self.do_lower_case:
                chunk = chunk.lower()
            if chunk.isalnum():
                return (chunk,)
            return tuple(_ASCII_WORDS.findall(_ASCII_CONTROLS.sub("", chunk)))
        text = "".join(map(self._clean, chunk))
        # Lower-casing first: it can itself make an accent (U+0130), and nothing is composed again
        # (Hangul stays jamo). It sees whole words, as its surroundings decide whether a sigma is
        # final.
        if self.do_lower_case:
            text = text.lower()
        if not self.strips_accents:
            return tuple("".join(map(_separate_punctuation, text)).split())
        text = unicodedata.normalize("NFD", text)
        return tuple("".join(map(_strip_accent, text)).split())


class WordpieceTokenizer:
    """Cuts words into the longest pieces of a vocabulary, from the left; pieces inside a word begin
    with "##".

    A word of more than `longest_word` characters, or with a rest that no piece begins, is [UNK].
    """

    def __init__(self, vocab_ids: dict[str, int], cache_size: int = CACHE_SIZE, longest_word: int = LONGEST_WORD):
        self._longest_word = longest_word
        self._first = {token: token for token in vocab_ids}
        self._inside = {token[2:]: token for token in vocab_ids if token.startswith("##")}
        # No piece is longer than this, so that a word of 200 letters costs thousands, not ten
        # thousands of look-ups.
        self._longest = max(map(len, vocab_ids), default=0)
        self._pieces = _Memo(self._cut, cache_size)

    def tokenize(self, text: str) -> list[str]:
        """Pieces of a word, or of all words of a text that BasicTokenizer has split and spaces have
        joined.
        """
        return self.tokenize_words(text.split())

    def tokenize_words(self, words: Iterable[str]) -> list[str]:
        """Pieces of words, none of which is empty or holds white space."""
        return list(itertools.chain.from_iterable(map(self._pieces.__getitem__, words)))

    def _cut(self, word: str) -> tuple[str, ...]:
        length = len(word)
        if length > self._longest_word:
            return (UNK,)
        pieces = []
        known = self._first
        start = 0
        while start < length:
            for end in range(min(length, start + self._longest), start, -1):
                piece = known.get(word[start:end])
                if piece is not None:
                    break
            else:
                return (UNK,)
            pieces.append(piece)
            known = self._inside
            start = end
        return tuple(pieces)


class FullTokenizer:
    """Text to word pieces and ids, as FullTokenizer of the original. [CLS] and [SEP] are not added.

    `vocabulary` is a Vocabulary or a dict token -> id; `ids` is that dict. `cache_size` bounds the
    number of remembered chunks and words; 0 remembers none. Results never depend on it. `settings`:
    rules that differ from the original's.
    """

    def __init__(
        self,
        vocabulary: Vocabulary | dict[str, int],
        do_lower_case: bool = True,
        cache_size: int = CACHE_SIZE,
        settings: TokenizerSettings = GOOGLE,
    ):
        if isinstance(vocabulary, Vocabulary):
            self.ids = vocabulary.ids
            self._tokens = dict(enumerate(vocabulary.tokens))
        else:
            self.ids = vocabulary
            self._tokens = {index: token for token, index in vocabulary.items()}
        self.do_lower_case = do_lower_case
        self.settings = settings
        self.basic_tokenizer = BasicTokenizer(do_lower_case, cache_size, settings)
        pieces = self.ids
        if outside := set(settings.outside_wordpiece):
            pieces = {token: index for token, index in pieces.items() if index not in outside}
        self.wordpiece_tokenizer = WordpieceTokenizer(pieces, cache_size, settings.max_word_characters)
        normalize = self.basic_tokenizer.normalize
        self._splitter = AddedTokenSplitter(settings.added_tokens, normalize) if settings.added_tokens else None
        self._chunk_pieces = _Memo(self._tokenize_chunk, cache_size)
        self._chunk_ids = _Memo(self._encode_chunk, cache_size)

    def tokenize(self, text: str) -> list[str]:
        """Word pieces of the text, in order."""
        if self._splitter:
            return self._each_fragment(text, self._tokenize)
        return self._tokenize(text)

    def _tokenize(self, text: str) -> list[str]:
        return list(itertools.chain.from_iterable(map(self._chunk_pieces.__getitem__, chunks(text))))

    def encode(self, text: str) -> list[int]:
        """Ids of the word pieces that tokenize(text) gives."""
        if self._splitter is None:
            return list(itertools.chain.from_iterable(map(self._chunk_ids.__getitem__, chunks(text))))
        return [self.ids[piece] for piece in self.tokenize(text)]

    def words(self, text: str) -> list[str]:
        """Return the words and added tokens of the text, before words are cut into pieces."""
        return self._each_fragment(text, self.basic_tokenizer.tokenize)

    def _each_fragment(self, text: str, tokenize: Callable[[str], list[str]]) -> list[str]:
        """Return the added tokens of the text, and what `tokenize` makes of the rest."""
        result: list[str] = []
        for fragment in self._splitter.split(text) if self._splitter else (text,):
            result += [fragment.content] if isinstance(fragment, AddedToken) else tokenize(fragment)
        return result

    def convert_ids_to_tokens(self, ids: Iterable[int]) -> list[str]:
        """Token of each id. Raises KeyError for one that is not in the vocabulary, as the original
        does.
        """
        return [self._tokens[index] for index in ids]

    def _tokenize_chunk(self, chunk: str) -> tuple[str, ...]:
        words = self.basic_tokenizer.split_chunk(chunk)
        cut = self.wordpiece_tokenizer.tokenize_words
        kept = self.basic_tokenizer.never_split
        if not kept:
            return tuple(cut(words))
        # A word that is never split is no longer cut into pieces, either.
        pieces = ([word if word in self.ids else UNK] if word in kept else cut([word]) for word in words)
        return tuple(itertools.chain.from_iterable(pieces))

    def _encode_chunk(self, chunk: str) -> tuple[int, ...]:
        return tuple([self.ids[piece] for piece in self._tokenize_chunk(chunk)])
