"""Tokenization: text to words, word pieces and ids, with the results of Google's tokenization.py.

    text      "Unaffable, isn't it?"
    chunks    "Unaffable,"  "isn't"  "it?"                     separated by white space
    words     "unaffable" ","  "isn" "'" "t"  "it" "?"         BasicTokenizer
    pieces    "una" "##ffa" "##ble" "," …                      WordpieceTokenizer
    ids       14477 20961 3468 1010 …                          FullTokenizer.encode

No step looks across white space, so a chunk's result never depends on its neighbors. This makes it
fast: results for chunks and words are cached, and most text repeats a few of them.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable

from bert_cli.text.added_tokens import AddedTokenSplitter
from bert_cli.text.characters import ASCII_CONTROLS, ASCII_WORDS, rules_of
from bert_cli.text.tokenizer_settings import GOOGLE, LONGEST_WORD, AddedToken, TokenizerSettings
from bert_cli.text.vocabulary import UNK, Vocabulary

# White space for str.split(), but deleted by Google's code before the split: "a\x0bb" is "ab".
DELETED_WHITE_SPACE = "\x0b\x0c\x1c\x1d\x1e\x1f\x85"
_DELETE_WHITE_SPACE = re.compile(f"[{DELETED_WHITE_SPACE}]+")

# Entries in a cache before it is emptied. Chunks and words of English text then use 30 MB together.
CACHE_SIZE = 1 << 17
# Longer chunks (a sentence without spaces, a URL, a line of base64) hardly ever repeat.
_LONGEST_CACHED = 64


class _Cache(dict):
    """Cache of results of `compute(text)`; a dict, so that a cache hit costs next to nothing.

    A full cache is emptied: a corpus uses different words as it goes on.
    """

    def __init__(self, compute: Callable[[str], tuple], size: int):
        super().__init__()
        self.compute = compute
        self.size = size

    def __missing__(self, text: str) -> tuple:
        result = self.compute(text)
        if self.size and len(text) <= _LONGEST_CACHED:
            # functools.lru_cache drops single entries, but updates an order at every look-up.
            if len(self) >= self.size:
                self.clear()
            self[text] = result
        return result

    def __reduce__(self) -> tuple[type, tuple]:
        # A worker process gets an empty cache.
        return _Cache, (self.compute, self.size)


def chunks(text: str) -> list[str]:
    """Return the text split at white space as in Google's code.

    White space is \\t \\n \\r, space, category Zs, U+2028 and U+2029.
    """
    for character in DELETED_WHITE_SPACE:
        if character in text:
            return _DELETE_WHITE_SPACE.sub("", text).split()
    return text.split()


class BasicTokenizer:
    """Tokenizer that splits text into words and single punctuation characters.

    If `do_lower_case` is true, it also lower-cases words and removes accents; if not, it does not
    normalize text. No word is protected: "[MASK]" gives "[", "mask", "]".
    """

    def __init__(self, do_lower_case: bool = True, cache_size: int = CACHE_SIZE, settings: TokenizerSettings = GOOGLE):
        """Prepare the tokenizer.

        Args:
            do_lower_case: whether to lower-case words and remove accents.
            cache_size: maximum number of cached chunks, 0 for no cache.
            settings: rules that differ from Google's.
        """
        self.do_lower_case = do_lower_case
        self.strips_accents = settings.removes_accents(do_lower_case)
        self.never_split = frozenset(settings.never_split)
        self._rules = rules_of(settings.character_rules)
        self._splits_ideographs = settings.tokenize_chinese_chars
        self._words = _Cache(self.split_chunk, cache_size)

    def tokenize(self, text: str) -> list[str]:
        """Return the words in a text in order."""
        return list(itertools.chain.from_iterable(map(self._words.__getitem__, chunks(text))))

    @property
    def _cleaner(self) -> Callable[[str], str]:
        return self._rules.clean if self._splits_ideographs else self._rules.remove_control

    def split_chunk(self, chunk: str) -> tuple[str, ...]:
        """Return the words in a text without white space, without using the cache."""
        if not self.never_split:
            return self._split(chunk)
        words: list[str] = []
        for word in "".join(map(self._cleaner, chunk)).split():
            words += [word] if word in self.never_split else self._split(word)
        return tuple(words)

    def normalize(self, text: str) -> str:
        """Return the text as it is before the split into words; all white space becomes spaces."""
        text = "".join(map(self._cleaner, re.sub(r"\s", " ", _DELETE_WHITE_SPACE.sub("", text))))
        text = self._rules.lower(text) if self.do_lower_case else text
        if not self.strips_accents:
            return text
        return "".join(itertools.filterfalse(self._rules.is_mark, unicodedata.normalize("NFD", text)))

    def _split(self, chunk: str) -> tuple[str, ...]:
        if chunk.isascii():
            if self.do_lower_case:
                chunk = chunk.lower()
            if chunk.isalnum():
                return (chunk,)
            return tuple(ASCII_WORDS.findall(ASCII_CONTROLS.sub("", chunk)))
        text = "".join(map(self._cleaner, chunk))
        # Lower-case first: this can produce an accent (U+0130). Nothing is composed again, so
        # Hangul stays jamo. Lower-case whole words: neighbors determine whether a sigma is final.
        if self.do_lower_case:
            text = self._rules.lower(text)
        if not self.strips_accents:
            return tuple("".join(map(self._rules.separate_punctuation, text)).split())
        text = unicodedata.normalize("NFD", text)
        return tuple("".join(map(self._rules.strip_accent, text)).split())


class WordpieceTokenizer:
    """Tokenizer that cuts words into the longest vocabulary pieces from the left.

    Pieces inside a word begin with "##". A word is [UNK] if it has more than `longest_word`
    characters, or if no piece matches at some position.
    """

    def __init__(self, vocab_ids: dict[str, int], cache_size: int = CACHE_SIZE, longest_word: int = LONGEST_WORD):
        self._longest_word = longest_word
        self._first = {token: token for token in vocab_ids}
        self._inside = {token[2:]: token for token in vocab_ids if token.startswith("##")}
        # Limit the search to the longest piece: a word of 200 letters then costs thousands of
        # look-ups, not tens of thousands.
        self._longest = max(map(len, vocab_ids), default=0)
        self._pieces = _Cache(self._cut, cache_size)

    def tokenize(self, text: str) -> list[str]:
        """Return the pieces of a word, or of a text's words with spaces between them."""
        return self.tokenize_words(text.split())

    def tokenize_words(self, words: Iterable[str]) -> list[str]:
        """Return the pieces of words that are not empty and have no white space."""
        return list(itertools.chain.from_iterable(map(self._pieces.__getitem__, words)))

    def _cut(self, word: str) -> tuple[str, ...]:
        length = len(word)
        if length > self._longest_word:
            return (UNK,)
        pieces = []
        vocabulary = self._first
        start = 0
        while start < length:
            for end in range(min(length, start + self._longest), start, -1):
                piece = vocabulary.get(word[start:end])
                if piece is not None:
                    break
            else:
                return (UNK,)
            pieces.append(piece)
            vocabulary = self._inside
            start = end
        return tuple(pieces)


class FullTokenizer:
    """Tokenizer from text to word pieces and ids, as in Google's code, without [CLS] and [SEP].

    `ids` is a dict from token to id, and `splitter` the search for added tokens (or None).
    """

    def __init__(
        self,
        vocabulary: Vocabulary | dict[str, int],
        do_lower_case: bool = True,
        cache_size: int = CACHE_SIZE,
        settings: TokenizerSettings = GOOGLE,
    ):
        """Prepare the tokenizer.

        Args:
            vocabulary: a Vocabulary, or ids by token.
            do_lower_case: whether to lower-case words and remove accents.
            cache_size: maximum number of cached chunks and words, 0 for none. Results are the same.
            settings: rules that differ from Google's.
        """
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
        self.splitter = AddedTokenSplitter(settings.added_tokens, normalize) if settings.added_tokens else None
        self._chunk_pieces = _Cache(self._tokenize_chunk, cache_size)
        self._chunk_ids = _Cache(self._encode_chunk, cache_size)

    def tokenize(self, text: str) -> list[str]:
        """Return a text's word pieces in order."""
        return self._tokenize_fragments(text, self._tokenize)

    def _tokenize(self, text: str) -> list[str]:
        return list(itertools.chain.from_iterable(map(self._chunk_pieces.__getitem__, chunks(text))))

    def encode(self, text: str) -> list[int]:
        """Return the ids of the word pieces that `tokenize` returns."""
        ids: list[int] = []
        for fragment in self.splitter.split(text) if self.splitter else (text,):
            if isinstance(fragment, AddedToken):
                ids.append(self.ids[fragment.content])
            else:
                ids.extend(itertools.chain.from_iterable(map(self._chunk_ids.__getitem__, chunks(fragment))))
        return ids

    def words(self, text: str) -> list[str]:
        """Return a text's words and added tokens, before words are cut into pieces."""
        return self._tokenize_fragments(text, self.basic_tokenizer.tokenize)

    def _tokenize_fragments(self, text: str, tokenize: Callable[[str], list[str]]) -> list[str]:
        """Return the added tokens in a text, and `tokenize` of the texts between them, in order."""
        result: list[str] = []
        for fragment in self.splitter.split(text) if self.splitter else (text,):
            result += [fragment.content] if isinstance(fragment, AddedToken) else tokenize(fragment)
        return result

    def convert_ids_to_tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the token for each id; raise KeyError for an unknown id, as Google's code does."""
        return [self._tokens[index] for index in ids]

    def _tokenize_chunk(self, chunk: str) -> tuple[str, ...]:
        words = self.basic_tokenizer.split_chunk(chunk)
        tokenize_words = self.wordpiece_tokenizer.tokenize_words
        never_split = self.basic_tokenizer.never_split
        if not never_split:
            return tuple(tokenize_words(words))
        # A word in never_split is not cut into pieces, either.
        pieces = (
            [word if word in self.ids else UNK] if word in never_split else tokenize_words([word]) for word in words
        )
        return tuple(itertools.chain.from_iterable(pieces))

    def _encode_chunk(self, chunk: str) -> tuple[int, ...]:
        return tuple([self.ids[piece] for piece in self._tokenize_chunk(chunk)])
