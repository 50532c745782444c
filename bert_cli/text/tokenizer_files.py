"""Reader of tokenizer files: a directory gives vocabulary, casing and settings."""

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import FETCH, PRESET_KEYS, JsonObject, expect, json_type, read_json_object
from bert_cli.base.names import TOKENIZER_FILES
from bert_cli.text.characters import GOOGLE_CHARACTERS, LIBRARY_CHARACTERS
from bert_cli.text.hugging_face_files import (
    TokenizerJson,
    TokenizerPaths,
    read_added_tokens,
    read_added_tokens_decoder,
    read_tokenizer_json,
    with_added_tokens,
)
from bert_cli.text.tokenizer_settings import (
    CHARACTERS,
    CHINESE,
    GOOGLE,
    KERAS_HUB_TOKENIZER_KEYS,
    LONGEST_WORD,
    LOWER_CASE,
    MAX_WORD,
    NEVER_SPLIT,
    OUTSIDE_WORDPIECE,
    ROLES,
    STRIP_ACCENTS,
    TOKENIZER_KEYS,
    TokenizerSettings,
)
from bert_cli.text.vocabulary import PAD, Vocabulary, check_special_tokens, read_tokens, vocabulary_of

JSON_ENDING = ".json"  # suffix of a --vocab_file that is a tokenizer.json
_ADVICE = "correct the file"
_NETWORKS = (
    "Bert", "DistilBert", "Electra", "MobileBert", "SqueezeBert", "ConvBert", "LayoutLM", "Lxmert", "RetriBert",
    "DPRContextEncoder", "DPRQuestionEncoder", "DPRReader",
)  # fmt: skip
# The tokenizers of these networks are BERT's. The generic classes use tokenizer.json alone.
_BERT_CLASSES = {f"{network}Tokenizer" for network in _NETWORKS} | {"BertTokenizerLegacy"}
_GENERIC_CLASSES = {"PreTrainedTokenizer", "TokenizersBackend"}


@dataclasses.dataclass(frozen=True)
class StoredTokenizer:
    """Contents of a model's tokenizer files.

    Attributes:
        vocabulary: tokens with the added ones; None without a vocabulary file.
        casing: (file, do_lower_case), None if no file sets it.
        settings: the other settings.
        conflicts: messages about files that contradict each other, by setting, and about unknown keys.
    """

    vocabulary: Vocabulary | None
    casing: tuple[str, bool] | None = None
    settings: TokenizerSettings = GOOGLE
    conflicts: Mapping[str, str] = dataclasses.field(default_factory=dict)


def is_tokenizer_json(path: str) -> bool:
    """Return whether a vocabulary file is a tokenizer.json."""
    return path.endswith(JSON_ENDING)


def find_tokenizer_files(vocab_file: str) -> TokenizerPaths:
    """Return the tokenizer files next to a vocabulary file."""
    paths = (os.path.join(os.path.dirname(vocab_file), name) for name in TOKENIZER_FILES)
    return TokenizerPaths(*(path if files.exists(path) else None for path in paths))


def read_casing(path: str | None) -> tuple[str, bool] | None:
    """Return (file, do_lower_case) from a tokenizer_config.json, or None if it is not set there."""
    values = read_json_object(path, "give --do_lower_case") if path else {}
    lower = _read_flag(values, LOWER_CASE, path)
    return None if lower is None or path is None else (path, lower)


def read_model_length(path: str) -> int | None:
    """Return the maximum number of tokens in a tokenizer_config.json, or None without one.

    Files without a limit have a huge number, such as 1e30.
    """
    values = read_json_object(path, "give --max_seq_length")
    length = values.get("model_max_length", values.get("max_len"))
    if length is None:
        return None
    if isinstance(length, bool) or not isinstance(length, int | float) or not length >= 3:
        raise InputError(f"{path}: model_max_length must be a number above 2, found {length!r}; give --max_seq_length")
    return int(length)


def read_tokenizer(vocab_file: str, paths: TokenizerPaths) -> StoredTokenizer:
    """Return vocabulary, casing and settings.

    tokenizer_config.json takes precedence over tokenizer.json, as in transformers' classes for
    BERT. For the generic classes it is the other way round.

    Args:
        vocab_file: a vocab.txt or a tokenizer.json.
        paths: the files next to it.

    Raises:
        InputError: a file is damaged, files contradict each other about an id, or they describe a
            tokenizer that is not BERT's.
    """
    config = read_json_object(paths.config, FETCH) if paths.config else {}
    is_generic = _check_class(config, paths)
    if is_tokenizer_json(vocab_file):
        stored: TokenizerJson | None = read_tokenizer_json(vocab_file)
    else:
        stored = read_tokenizer_json(paths.tokenizer) if paths.tokenizer else None
    unknown = TOKENIZER_KEYS.describe_unknown(str(paths.config), config)
    conflicts = {"unknown keys": unknown} if unknown else {}
    if stored and is_tokenizer_json(vocab_file):
        tokens = _tokens_by_id(stored.model_ids)
    else:
        tokens = read_tokens(vocab_file)
        if stored and (conflict := _find_id_conflict(stored, tokens, vocab_file)):
            conflicts["vocab"] = conflict
    choices = _Choices(config, paths.config, stored, is_generic)
    casing = choices.choose(LOWER_CASE, "lowercase", stored.lowercase if stored else None)
    accents = choices.choose(STRIP_ACCENTS, STRIP_ACCENTS, stored.strip_accents if stored else None)
    chinese = choices.choose(CHINESE, "handle_chinese_chars", stored.tokenize_chinese_chars if stored else None)
    added = sorted(read_added_tokens(config, paths, stored, tokens), key=lambda token: token.id)
    outside_wordpiece = set(_read_outside_wordpiece(config, paths.config))
    if added:
        model_tokens = set(stored.model_ids if stored else tokens)
        outside_wordpiece |= {token.id for token in added if token.content not in model_tokens}
    vocabulary = vocabulary_of(with_added_tokens(tokens, added, vocab_file), vocab_file)
    check_special_tokens(vocabulary)
    settings = TokenizerSettings(
        strip_accents=accents[1] if accents else None,
        tokenize_chinese_chars=chinese is None or chinese[1],
        never_split=_read_never_split(config, paths.config),
        max_word_characters=stored.max_word_characters if stored else _read_longest_word(config, paths.config),
        added_tokens=tuple(added),
        outside_wordpiece=tuple(sorted(outside_wordpiece)),
        character_rules=LIBRARY_CHARACTERS if stored else _read_characters(config, paths.config),
    )
    return StoredTokenizer(vocabulary, casing, settings, conflicts | choices.conflicts)


def read_keras_hub_tokenizer(vocab_file: str, path: str) -> StoredTokenizer:
    """Return vocabulary, casing and settings of a preset of KerasHub.

    Args:
        vocab_file: the vocabulary in the preset.
        path: the preset's tokenizer.json.

    Raises:
        InputError: if a file is damaged or missing, or the tokenizer is not BERT's.
    """
    values = read_json_object(path, FETCH)
    class_name, cannot = values.get("class_name"), KERAS_HUB_TOKENIZER_KEYS.ending
    refuse_if(class_name != "BertTokenizer", f"{path}: class_name is {class_name}; {cannot}")
    config = expect(values.get("config"), dict, f"{path}: config", _ADVICE)
    KERAS_HUB_TOKENIZER_KEYS.check(path, config)
    messages = PRESET_KEYS.describe_unknown(path, values), KERAS_HUB_TOKENIZER_KEYS.describe_unknown(path, config)
    unknown = "; ".join(filter(None, messages))
    vocabulary = vocabulary_of(read_tokens(vocab_file), vocab_file)
    check_special_tokens(vocabulary)
    return StoredTokenizer(
        vocabulary,
        (path, bool(_read_flag(config, "lowercase", path))),
        TokenizerSettings(strip_accents=bool(_read_flag(config, STRIP_ACCENTS, path))),
        {"unknown keys": unknown} if unknown else {},
    )


def read_settings(values: Mapping[str, Any], place: str) -> TokenizerSettings:
    """Return settings from the values that TokenizerSettings.values returns.

    Raise InputError at `place` for values of a wrong type.
    """
    config = dict(values)
    chinese = _read_flag(config, CHINESE, place)
    return TokenizerSettings(
        strip_accents=_read_flag(config, STRIP_ACCENTS, place),
        tokenize_chinese_chars=chinese is not False,
        never_split=_read_never_split(config, place),
        max_word_characters=_read_longest_word(config, place),
        added_tokens=tuple(token for _, token in read_added_tokens_decoder(config, place)),
        outside_wordpiece=_read_outside_wordpiece(config, place),
        character_rules=_read_characters(config, place),
    )


def _check_class(config: JsonObject, paths: TokenizerPaths) -> bool:
    """Return whether the tokenizer class is generic; raise InputError if it is not BERT's."""
    path, name = paths.config, config.get("tokenizer_class")
    if name is None and paths.model_config:
        path, name = paths.model_config, read_json_object(paths.model_config).get("tokenizer_class")
    cannot = TOKENIZER_KEYS.ending
    class_name = str(name).removesuffix("Fast")
    is_supported = name is None or class_name in _BERT_CLASSES or class_name in _GENERIC_CLASSES
    refuse_if(not is_supported, f"{path}: tokenizer_class is {name}; {cannot}")
    TOKENIZER_KEYS.check(str(paths.config), config)
    for role, token in ROLES.items():
        value = config.get(role)
        value = value.get("content") if isinstance(value, dict) else value
        # [PAD] is never looked up.
        is_different = value is not None and value != token and token != PAD
        refuse_if(is_different, f"{paths.config}: {role} is {value}, {token} is needed; {cannot}")
    return name is not None and class_name in _GENERIC_CLASSES


class _Choices:
    """Choices between tokenizer_config.json and the normalizer in tokenizer.json."""

    def __init__(self, config: JsonObject, path: str | None, stored: TokenizerJson | None, is_generic: bool):
        self._config = config
        self._path = path
        self._stored = stored
        self._is_generic = is_generic
        self.conflicts: dict[str, str] = {}

    def choose(self, key: str, name: str, normalizer_value: bool | None) -> tuple[str, bool] | None:
        """Return (file, value), or None if neither file has it; note a conflict.

        Args:
            key: key in tokenizer_config.json.
            name: key in the normalizer.
        """
        config_value = _read_flag(self._config, key, self._path)
        stored = None if self._stored is None or normalizer_value is None else (self._stored.path, normalizer_value)
        configured = None if self._path is None or config_value is None else (self._path, config_value)
        if not (stored and configured):
            return stored or configured
        chosen = stored if self._is_generic else configured
        if config_value != normalizer_value:
            values = [str(value).lower() for value in (config_value, normalizer_value)]
            ending = " (--do_lower_case decides)" if key == LOWER_CASE else ""
            self.conflicts[key] = (
                f"{self._path}: {key} is {values[0]}, but in {stored[0]} {name} is {values[1]}; "
                f"{chosen[0]} counts{ending}"
            )
        return chosen


def _read_flag(values: JsonObject, key: str, path: str | None) -> bool | None:
    value = values.get(key)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"{path}: {key}: is {json_type(value)}, true or false is needed; {_ADVICE}")
    return value


def _read_longest_word(config: JsonObject, path: str | None) -> int:
    return expect(config.get(MAX_WORD, LONGEST_WORD), int, f"{path}: {MAX_WORD}", _ADVICE)


def _read_never_split(config: JsonObject, path: str | None) -> tuple[str, ...]:
    words = expect(config.get(NEVER_SPLIT) or [], list, f"{path}: {NEVER_SPLIT}", _ADVICE)
    return tuple(expect(word, str, f"{path}: {NEVER_SPLIT}[{number}]", _ADVICE) for number, word in enumerate(words))


def _read_outside_wordpiece(config: JsonObject, path: str | None) -> tuple[int, ...]:
    ids = expect(config.get(OUTSIDE_WORDPIECE, []), list, f"{path}: {OUTSIDE_WORDPIECE}", _ADVICE)
    return tuple(expect(index, int, f"{path}: {OUTSIDE_WORDPIECE}", _ADVICE) for index in ids)


def _read_characters(config: JsonObject, path: str | None) -> str:
    rules = (GOOGLE_CHARACTERS, LIBRARY_CHARACTERS)
    name = config.get(CHARACTERS, GOOGLE_CHARACTERS)
    refuse_if(name not in rules, f"{path}: {CHARACTERS} is {name}, not one of {', '.join(rules)}; {_ADVICE}")
    return str(name)


def _tokens_by_id(ids: dict[str, int]) -> list[str]:
    """Return the tokens ordered by id, "" for an unused id."""
    tokens = [""] * (max(ids.values(), default=-1) + 1)
    for token, index in ids.items():
        # Strip white space, as when reading a vocab.txt: no word has white space around it.
        tokens[index] = token.strip()
    return tokens


def _find_id_conflict(stored: TokenizerJson, tokens: list[str], vocab_file: str) -> str:
    """Return a message about the first token with two ids, or ""."""
    # Most files agree. The loop takes 10 ms for 30,000 tokens.
    if list(stored.model_ids) == tokens and list(stored.model_ids.values()) == list(range(len(tokens))):
        return ""
    ids = {token: index for index, token in enumerate(tokens)}
    for token, index in stored.model_ids.items():
        if token == token.strip() != "" and ids.get(token) != index:
            where = f"line {ids[token] + 1}" if token in ids else "no line"
            return f"{stored.path}: {token!r} has the id {index}, but {where} in {vocab_file}, which counts"
    return ""
