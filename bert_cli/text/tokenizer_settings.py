"""Settings of a WordPiece tokenizer besides its vocabulary and casing."""

import dataclasses
import hashlib
import json
from typing import Any

from bert_cli.base.formats import list_names
from bert_cli.text.characters import GOOGLE_CHARACTERS
from bert_cli.text.vocabulary import CLS, MASK, PAD, SEP, SPECIAL, UNK

LONGEST_WORD = 200  # characters; a longer word is [UNK]. The default in `tokenizers` is 100.

# Special tokens by their keys in tokenizer files.
ROLES = {"unk_token": UNK, "sep_token": SEP, "pad_token": PAD, "cls_token": CLS, "mask_token": MASK}

# Keys of tokenizer_config.json. transformers ignores the last three.
LOWER_CASE = "do_lower_case"
STRIP_ACCENTS = "strip_accents"
CHINESE = "tokenize_chinese_chars"
NEVER_SPLIT = "never_split"
ADDED_TOKENS = "added_tokens_decoder"
MAX_WORD = "max_input_chars_per_word"
OUTSIDE_WORDPIECE = "outside_wordpiece"
CHARACTERS = "character_rules"


@dataclasses.dataclass(frozen=True)
class AddedToken:
    """A token that is searched for in the text before the text is split into words.

    Attributes:
        content: the token's text.
        id: the token's id.
        lstrip: whether the token includes the white space before it. White space is dropped anyway,
            so this changes no id. Like `rstrip` and `special`, it is kept for other programs.
        rstrip: whether the token includes the white space after it.
        single_word: whether an adjacent letter or digit prevents a match.
        normalized: whether it is searched for in the normalized (lower-cased) text.
        special: whether it is a control token such as [SEP].
    """

    content: str
    id: int
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = True
    special: bool = False

    def flags(self) -> dict[str, bool]:
        """Return the flags by their names in tokenizer files."""
        names = ("single_word", "lstrip", "rstrip", "normalized", "special")
        return {name: getattr(self, name) for name in names}


@dataclasses.dataclass(frozen=True)
class TokenizerSettings:
    """Settings that determine the word pieces of a text, besides vocabulary and casing.

    The defaults are Google's rules.

    Attributes:
        strip_accents: whether to remove accents; None: if text is lower-cased.
        tokenize_chinese_chars: whether each ideograph is a word.
        never_split: words, separated by white space in the text, that stay unchanged.
        max_word_characters: a longer word is [UNK].
        added_tokens: tokens that are searched for in the text, in the order of ids.
        outside_wordpiece: ids of added tokens that cannot be pieces of other words.
        character_rules: GOOGLE_CHARACTERS or LIBRARY_CHARACTERS, see `text.characters`.
    """

    strip_accents: bool | None = None
    tokenize_chinese_chars: bool = True
    never_split: tuple[str, ...] = ()
    max_word_characters: int = LONGEST_WORD
    added_tokens: tuple[AddedToken, ...] = ()
    outside_wordpiece: tuple[int, ...] = ()
    character_rules: str = GOOGLE_CHARACTERS

    def removes_accents(self, do_lower_case: bool) -> bool:
        """Return whether accents are removed if `do_lower_case` is used."""
        return do_lower_case if self.strip_accents is None else self.strip_accents

    def values(self) -> dict[str, Any]:
        """Return the settings that differ from Google's, with the keys of tokenizer_config.json."""
        values: dict[str, Any] = {}
        if self.strip_accents is not None:
            values[STRIP_ACCENTS] = self.strip_accents
        if not self.tokenize_chinese_chars:
            values[CHINESE] = False
        if self.never_split:
            values[NEVER_SPLIT] = list(self.never_split)
        if self.max_word_characters != LONGEST_WORD:
            values[MAX_WORD] = self.max_word_characters
        if self.added_tokens:
            values[ADDED_TOKENS] = {
                str(token.id): {"content": token.content} | token.flags() for token in self.added_tokens
            }
        if self.outside_wordpiece:
            values[OUTSIDE_WORDPIECE] = list(self.outside_wordpiece)
        if self.character_rules != GOOGLE_CHARACTERS:
            values[CHARACTERS] = self.character_rules
        return values

    def facts(self) -> dict[str, Any]:
        """Return `values` for run.json, with a digest instead of the added tokens."""
        values = self.values()
        tokens = {key: values.pop(key) for key in (ADDED_TOKENS, OUTSIDE_WORDPIECE) if key in values}
        if tokens:
            text = json.dumps(tokens, sort_keys=True)
            values["added_tokens"] = hashlib.sha256(text.encode()).hexdigest()[:16]
        return values

    @property
    def has_google_rules(self) -> bool:
        """Return whether these are Google's rules, apart from those for characters.

        Added tokens may list the special tokens.

        A Hugging Face directory lists them; Google's scripts do not search for them.
        """
        listed_tokens = [
            special_token(token.content, token.id) for token in self.added_tokens if token.content in SPECIAL
        ]
        rules = TokenizerSettings(added_tokens=tuple(listed_tokens), character_rules=self.character_rules)
        return self == rules

    def describe(self, do_lower_case: bool) -> list[str]:
        """Return unusual settings for the log."""
        unusual = []
        if self.removes_accents(do_lower_case) != do_lower_case:
            unusual.append(f"{STRIP_ACCENTS} {str(self.strip_accents).lower()}")
        if not self.tokenize_chinese_chars:
            unusual.append(f"{CHINESE} false")
        if self.never_split:
            unusual.append(f"{NEVER_SPLIT} {list_names(self.never_split)}")
        if tokens := [token.content for token in self.added_tokens if token.content not in SPECIAL]:
            count = "1 added token" if len(tokens) == 1 else f"{len(tokens)} added tokens"
            unusual.append(f"{count} ({list_names(tokens)})")
        return unusual


GOOGLE = TokenizerSettings()


def special_token(content: str, index: int) -> AddedToken:
    """Return a special token with the flags that Hugging Face's BERT tokenizer uses."""
    return AddedToken(content, index, normalized=False, special=True)
