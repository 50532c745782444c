"""Search for added tokens in a text, with the rules of Hugging Face's `tokenizers`."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from bert_cli.text.tokenizer_settings import AddedToken


class AddedTokenSplitter:
    """Splitter that cuts a text at its added tokens.

    It first searches the original text for the tokens that are not `normalized`. It then normalizes
    the rest, and searches it for the other tokens, which are normalized as well. The leftmost match
    counts. If several tokens match at the same character, the longest one counts.
    """

    def __init__(self, tokens: Sequence[AddedToken], normalize: Callable[[str], str]):
        """Prepare the search.

        Args:
            tokens: the added tokens; empty ones never match.
            normalize: function that normalizes texts and the `normalized` tokens.
        """
        self._normalize = normalize
        self._plain = _Search({token.content: token for token in tokens if not token.normalized})
        normalized_tokens = (token for token in tokens if token.normalized)
        self._normalized = _Search({normalize(token.content): token for token in normalized_tokens})

    def split(self, text: str) -> list[AddedToken | str]:
        """Return the added tokens in a text and the texts between them, in order."""
        fragments: list[AddedToken | str] = []
        for fragment in self._plain.split(text):
            fragments += [fragment] if isinstance(fragment, AddedToken) else self._split_normalized(fragment)
        return fragments

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the (start, end) pairs for all added tokens in a text, in order."""
        spans: list[tuple[int, int]] = []
        done = 0
        for start, end, _ in self._plain.matches(text):
            spans += [*self._normalized_spans(text, done, start), (start, end)]
            done = end
        return spans + self._normalized_spans(text, done, len(text))

    def _normalized_spans(self, text: str, begin: int, stop: int) -> list[tuple[int, int]]:
        """Return the (start, end) pairs for `normalized` tokens in `text[begin:stop]`."""
        # Search first: few texts have such a token, and the loop over characters takes longer.
        if not any(self._normalized.matches(self._normalize(text[begin:stop]))):
            return []
        pieces = [self._normalize(character) for character in text[begin:stop]]
        positions = [begin + place for place, piece in enumerate(pieces) for _ in piece]
        spans = []
        for start, end, _ in self._normalized.matches("".join(pieces)):
            last = positions[end - 1] + 1
            # Accents that normalization removes belong to the letter before them.
            while last < stop and not pieces[last - begin]:
                last += 1
            spans.append((positions[start], last))
        return spans

    def _split_normalized(self, text: str) -> list[AddedToken | str]:
        if not self._normalized.tokens:
            return [text]
        fragments = self._normalized.split(self._normalize(text))
        # Without a match, return the original text: never_split holds words that
        # are not normalized.
        return fragments if any(isinstance(fragment, AddedToken) for fragment in fragments) else [text]


class _Search:
    """A search for tokens by their text."""

    def __init__(self, tokens: dict[str, AddedToken]):
        self.tokens = {text: token for text, token in tokens.items() if text}
        # Sort by length: a regular expression uses the first alternative that matches.
        longest_first = sorted(self.tokens, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def matches(self, text: str) -> Iterator[tuple[int, int, AddedToken]]:
        """Yield (start, end, token) per match."""
        for match in self._pattern.finditer(text) if self.tokens else ():
            token = self.tokens[match[0]]
            start, end = match.span()
            neighbors = text[max(start - 1, 0) : start] + text[end : end + 1]
            if not (token.single_word and any(map(_is_word_character, neighbors))):
                yield start, end, token

    def split(self, text: str) -> list[AddedToken | str]:
        """Return the tokens and the texts between them, in order."""
        fragments: list[AddedToken | str] = []
        done = 0
        for start, end, token in self.matches(text):
            fragments += [text[done:start], token]
            done = end
        return [fragment for fragment in (*fragments, text[done:]) if fragment]


# Letters in circles and squares, which have the category of symbols, are alphabetic in Unicode.
_ENCLOSED_LETTERS = re.compile("[\u24b6-\u24e9\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]")


def _is_word_character(character: str) -> bool:
    """Return whether a character matches \\w in Unicode, which includes marks, unlike Python's."""
    category = unicodedata.category(character)
    if category[0] in "LM" or category in ("Nd", "Nl", "Pc") or character in "\u200c\u200d":
        return True
    return _ENCLOSED_LETTERS.match(character) is not None
