"""Search for added tokens in a text, with the rules of Hugging Face's `tokenizers`."""

import re
import unicodedata
from collections.abc import Callable, Sequence

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

    def split(self, text: str) -> list[AddedToken | str]:
        """Return the tokens and the texts between them, in order."""
        if not self.tokens:
            return [text] if text else []
        fragments: list[AddedToken | str] = []
        last_end = 0
        for match in self._pattern.finditer(text):
            token = self.tokens[match[0]]
            start, end = match.span()
            neighbors = text[max(start - 1, 0) : start] + text[end : end + 1]
            if token.single_word and any(map(_is_word_character, neighbors)):
                continue
            if last_end < match.start():
                fragments.append(text[last_end : match.start()])
            fragments.append(token)
            last_end = match.end()
        if last_end < len(text):
            fragments.append(text[last_end:])
        return fragments


def _is_word_character(character: str) -> bool:
    """Return whether a character matches \\w in Unicode, which includes marks, unlike Python's."""
    category = unicodedata.category(character)
    return category[0] in "LM" or category in ("Nd", "Nl", "Pc") or character in "\u200c\u200d"
