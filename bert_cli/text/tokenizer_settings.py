"""Settings of a WordPiece tokenizer besides its vocabulary and casing."""

import dataclasses
import hashlib
import json
from typing import Any

from bert_cli.base.formats import list_names
from bert_cli.base.json_files import KeyTable, Requirement
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


_PADDING = "padding, which no batch has here"
_CALLS = "arguments of calls in other programs"
_NAMES = "names, versions and files"
# Keys of tokenizer_config.json.
TOKENIZER_KEYS = KeyTable(
    {
        LOWER_CASE: "whether texts are lower-cased; --do_lower_case replaces it",
        STRIP_ACCENTS: "whether accents are removed",
        CHINESE: "whether each ideograph is a word",
        NEVER_SPLIT: "words that stay unchanged",
        ADDED_TOKENS: "added tokens, with their ids",
        "additional_special_tokens": "special tokens that are searched for in texts",
        "extra_special_tokens": "the same, since transformers 5",
        "model_max_length": "largest number of tokens in a text",
        "max_len": "the same, of older releases",
        "tokenizer_class": "the tokenizer; other tokenizers than BERT's are refused",
        **dict.fromkeys(ROLES, "a special token; another name than BERT's is refused"),
        MAX_WORD: "characters of a word that is not [UNK], a key of bert_cli",
        OUTSIDE_WORDPIECE: "added tokens that are no word pieces, a key of bert_cli",
        CHARACTERS: "rules for characters, a key of bert_cli",
    },
    {
        **dict.fromkeys(("padding_side", "padding", "pad_to_multiple_of", "pad_token_type_id", "pad_to_max_length"), _PADDING),
        **dict.fromkeys(("max_length", "stride", "truncation", "truncation_strategy", "return_tensors", "model_input_names",
                         "chat_template", "verbose"), _CALLS),
        **dict.fromkeys(("bos_token", "eos_token"), "BERT has no such token in its texts"),
        "clean_up_tokenization_spaces": "for texts that are made from tokens",
        **dict.fromkeys(("name_or_path", "special_tokens_map_file", "tokenizer_file", "vocab_file", "full_tokenizer_file",
                         "transformers_version", "processor_class", "backend", "is_local", "local_files_only", "use_fast",
                         "from_slow", "_commit_hash", "init_inputs", "trust_remote_code", "revision", "token"), _NAMES),
    },
    {
        "do_basic_tokenize": Requirement((True, None), "texts are not split into words"),
        "word_tokenizer_type": Requirement(("basic", None), "another rule for words"),
        "subword_tokenizer_type": Requirement(("wordpiece", None), "other pieces than WordPiece"),
        "wordpieces_prefix": Requirement(("##", None), "another mark of inner pieces"),
        "clean_text": Requirement((True, None), "control characters stay in texts"),
        "split_special_tokens": Requirement((False, None), "special tokens in texts are split"),
        "truncation_side": Requirement(("right", None), "long texts lose their beginning"),
        "add_prefix_space": Requirement((False, None), "a space before each text"),
        "auto_map": Requirement((None, {}), "code of its own, which is not run"),
    },
    "only the WordPiece tokenizer of BERT can be computed here",
)  # fmt: skip
# Keys of `config` in the tokenizer.json of a KerasHub preset.
KERAS_HUB_TOKENIZER_KEYS = KeyTable(
    {
        "lowercase": "whether texts are lower-cased; --do_lower_case replaces it",
        STRIP_ACCENTS: "whether accents are removed",
        "special_tokens": "special tokens, which the vocabulary has",
    },
    {
        **dict.fromkeys(("name", "config_file", "vocabulary", "dtype"), _NAMES),
        "trainable": "for training in other programs",
        "sequence_length": _CALLS,
        "special_tokens_in_strings": _CALLS,
    },
    {
        "split": Requirement((True,), "texts are not split into words"),
        "split_on_cjk": Requirement((True, None), "ideographs are not split into words"),
        "suffix_indicator": Requirement(("##",), "another mark of inner pieces"),
        "oov_token": Requirement(("[UNK]",), "another token for unknown words"),
    },
    TOKENIZER_KEYS.ending,
)
