"""Search for added tokens in a text, as Hugging Face's `tokenizers` does it."""

import re
import unicodedata
from collections.abc import Callable, Sequence

from bert_cli.text.tokenizer_settings import AddedToken


class AddedTokenSplitter:
    """Cut a text at its added tokens.

    First the tokens that are not `normalized` are searched for in the text as it is. Then the others
    are searched for in the rest, after text and tokens are normalized. The leftmost match counts;
    of several matches at the same character, the longest one.
    """

    def __init__(self, tokens: Sequence[AddedToken], normalize: Callable[[str], str]):
        """Prepare the search.

        Args:
            tokens: the tokens; empty ones are never found.
            normalize: returns the text that `normalized` tokens are searched for in.
        """
        self._normalize = normalize
        self._plain = _Search({token.content: token for token in tokens if not token.normalized})
        others = (token for token in tokens if token.normalized)
        self._normalized = _Search({normalize(token.content): token for token in others})

    def split(self, text: str) -> list[AddedToken | str]:
        """Return the added tokens of a text and the texts between them, in order."""
        fragments: list[AddedToken | str] = []
        for fragment in self._plain.split(text):
            fragments += [fragment] if isinstance(fragment, AddedToken) else self._split_normalized(fragment)
        return fragments

    def _split_normalized(self, text: str) -> list[AddedToken | str]:
        if not self._normalized.tokens:
            return [text]
        fragments = self._normalized.split(self._normalize(text))
        # Without a match the text stays as it was, as never_split has words as they are written.
        return fragments if any(isinstance(fragment, AddedToken) for fragment in fragments) else [text]


class _Search:
    """One pass of the search, for tokens by their text."""

    def __init__(self, tokens: dict[str, AddedToken]):
        self.tokens = {text: token for text, token in tokens.items() if text}
        # Longest first: of the alternatives of a pattern the first one that fits is taken.
        longest_first = sorted(self.tokens, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def split(self, text: str) -> list[AddedToken | str]:
        """Return the tokens and the texts between them."""
        if not self.tokens:
            return [text] if text else []
        fragments: list[AddedToken | str] = []
        done = 0
        for match in self._pattern.finditer(text):
            token = self.tokens[match[0]]
            start, end = match.span()
            neighbors = text[max(start - 1, 0) : start] + text[end : end + 1]
            if token.single_word and any(map(_is_of_word, neighbors)):
                continue
            if done < match.start():
                fragments.append(text[done : match.start()])
            fragments.append(token)
            done = match.end()
        if done < len(text):
            fragments.append(text[done:])
        return fragments


def _is_of_word(character: str) -> bool:
    """Return whether a character is \\w of Unicode, which has marks and joiners, unlike Python's."""
    category = unicodedata.category(character)
    return category[0] in "LM" or category in ("Nd", "Nl", "Pc") or character in "\u200c\u200d"
