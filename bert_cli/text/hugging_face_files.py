"""Reader of Hugging Face's tokenizer files: tokenizer.json, and added tokens from all files.

It refuses tokenizers that are not BERT's and names the difference.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import FETCH, JsonObject, expect, json_type, read_json_object
from bert_cli.text.tokenizer_settings import ADDED_TOKENS, MAX_WORD, AddedToken
from bert_cli.text.vocabulary import CLS, SEP, SPECIAL, UNK

_CORRECT = "correct the file"
_ADVICE = "only the WordPiece tokenizer of BERT can be computed here"
_PREFIX = "##"
# Required post-processor output for a text and for a pair: (token or text, segment).
_SINGLE = [(CLS, 0), ("A", 0), (SEP, 0)]
_PAIR = [*_SINGLE, ("B", 1), (SEP, 1)]


@dataclasses.dataclass(frozen=True)
class TokenizerJson:
    """Contents of a tokenizer.json.

    Attributes:
        path: the file.
        model_ids: id by token in the WordPiece vocabulary.
        added_tokens: added tokens; some are also in the vocabulary.
        max_word_characters: a longer word is [UNK].
        lowercase: whether the normalizer lower-cases text; None without a normalizer.
        strip_accents: whether the normalizer removes accents; None: same as `lowercase`.
        tokenize_chinese_chars: whether each ideograph is a word; None without a normalizer.
    """

    path: str
    model_ids: dict[str, int]
    added_tokens: tuple[AddedToken, ...]
    max_word_characters: int
    lowercase: bool | None
    strip_accents: bool | None
    tokenize_chinese_chars: bool | None


def read_tokenizer_json(path: str) -> TokenizerJson:
    """Return the contents of a tokenizer.json.

    Raises:
        InputError: the file is damaged, or the tokenizer is not BERT's.
    """
    values = read_json_object(path, advice=FETCH)
    model = expect(values.get("model"), dict, f"{path}: model", _ADVICE)
    # Files from 2020 have no type. Only WordPiece has a prefix for inner pieces but no merges.
    model_type = model.get(
        "type", "WordPiece" if "continuing_subword_prefix" in model and "merges" not in model else None
    )
    refuse_if(
        model_type != "WordPiece", f"{path}: model.type is {model_type}, so it holds no WordPiece vocabulary; {_ADVICE}"
    )
    prefix, unknown_token = model.get("continuing_subword_prefix", _PREFIX), model.get("unk_token", UNK)
    refuse_if(prefix != _PREFIX, f"{path}: model.continuing_subword_prefix is {prefix!r}, not {_PREFIX!r}; {_ADVICE}")
    refuse_if(unknown_token != UNK, f"{path}: model.unk_token is {unknown_token!r}, not {UNK!r}; {_ADVICE}")
    ids = expect(model.get("vocab"), dict, f"{path}: model.vocab", _ADVICE)
    _check_ids(ids, path)
    longest = expect(model.get(MAX_WORD, 100), int, f"{path}: model.{MAX_WORD}", _CORRECT)
    normalizer = _read_only_step(values.get("normalizer"), "normalizers", "BertNormalizer", f"{path}: normalizer")
    cleans_text = normalizer is None or _read_flag(normalizer, "clean_text", f"{path}: normalizer") is not False
    refuse_if(not cleans_text, f"{path}: normalizer.clean_text is false; {_ADVICE}")
    _read_only_step(values.get("pre_tokenizer"), "pretokenizers", "BertPreTokenizer", f"{path}: pre_tokenizer")
    _check_post_processor(values.get("post_processor"), f"{path}: post_processor")
    flags = [
        _read_flag(normalizer or {}, key, f"{path}: normalizer")
        for key in ("lowercase", "strip_accents", "handle_chinese_chars")
    ]
    added = expect(values.get("added_tokens") or [], list, f"{path}: added_tokens", _CORRECT)
    tokens = [
        read_added_token(token, token.get("id") if isinstance(token, dict) else None, f"{path}: added_tokens[{number}]")
        for number, token in enumerate(added)
    ]
    return TokenizerJson(path, ids, tuple(tokens), longest, *flags)


def read_added_token(values: object, index: object, place: str) -> AddedToken:
    """Return an added token from a file; raise InputError at `place` for values of other types.

    Args:
        values: JSON object with content and flags.
        index: the token's id.
        place: file and key for messages.
    """
    members = expect(values, dict, place, _CORRECT)
    content = expect(members.get("content"), str, f"{place}.content", _CORRECT)
    token_id = expect(index, int, f"{place}.id", _CORRECT)
    refuse_if(token_id < 0, f"{place}.id: is below 0; {_CORRECT}")
    refuse_if("\n" in content, f"{place}.content: has a line end, which no vocab.txt can hold; {_CORRECT}")
    flags = {name: _read_flag(members, name, place) for name in AddedToken(content, token_id).flags()}
    # Defaults in `tokenizers`: special tokens are searched for in the original text.
    defaults = {"normalized": not flags["special"]}
    return AddedToken(
        content,
        token_id,
        **{name: bool(defaults.get(name, False) if flag is None else flag) for name, flag in flags.items()},
    )


def _check_ids(ids: JsonObject, path: str) -> None:
    """Raise InputError unless the ids are distinct whole numbers."""
    # Most files number their tokens in order. The loop takes 20 ms for 30,000 tokens.
    indices = list(ids.values())
    if set(map(type, indices)) == {int} and indices == list(range(len(indices))):
        return
    tokens_by_id: dict[int, str] = {}
    for token, index in ids.items():
        place = f"{path}: model.vocab[{token!r}]"
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            raise InputError(f"{place}: is {index!r}, an id is needed; {_CORRECT}")
        refuse_if(index in tokens_by_id, f"{place}: has the id {index} of {tokens_by_id.get(index)!r}; {_CORRECT}")
        tokens_by_id[index] = token
    # A larger gap is no vocabulary, and its list of tokens would use all memory.
    refuse_if(
        tokens_by_id and max(tokens_by_id) > 2 * len(tokens_by_id) + 1000,
        f"{path}: model.vocab has ids up to {max(tokens_by_id, default=0)} for {len(tokens_by_id)} tokens; {_CORRECT}",
    )


def _read_only_step(values: object, members: str, step_type: str, place: str) -> JsonObject | None:
    """Return the settings of the only step, which must have this type, or None if there is no step.

    Args:
        values: JSON object: the step, or a Sequence that contains just this step.
        members: key of the steps in a Sequence.
        step_type: required type.
        place: file and key for messages.
    """
    if values is None:
        return None
    step = expect(values, dict, place, _ADVICE)
    if step.get("type") == "Sequence":
        steps = expect(step.get(members), list, f"{place}.{members}", _ADVICE)
        for number, inner in enumerate(steps):
            _read_only_step(inner, members, step_type, f"{place}.{members}[{number}]")
        refuse_if(len(steps) != 1, f"{place}: is a sequence of {len(steps)} steps, not one {step_type}; {_ADVICE}")
        step = steps[0]
    refuse_if(step.get("type") != step_type, f"{place}: is {step.get('type')}, not {step_type}; {_ADVICE}")
    return step


def _read_flag(values: JsonObject, key: str, place: str) -> bool | None:
    value = values.get(key)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"{place}.{key}: is {json_type(value)}, true or false is needed; {_CORRECT}")
    return value


def _check_post_processor(values: object, place: str) -> None:
    """Raise InputError unless texts are packed as [CLS] A [SEP] B [SEP]."""
    if values is None:
        return
    members = expect(values, dict, place, _ADVICE)
    processor_type = members.get("type")
    if processor_type == "BertProcessing":
        ends = [(members.get(name) or [None])[0] for name in ("cls", "sep")]
        refuse_if(ends != [CLS, SEP], f"{place}: adds {ends[0]} and {ends[1]}, not {CLS} and {SEP}; {_ADVICE}")
        return
    refuse_if(
        processor_type != "TemplateProcessing", f"{place}: is {processor_type}, not TemplateProcessing; {_ADVICE}"
    )
    for name, expected in (("single", _SINGLE), ("pair", _PAIR)):
        pieces = members.get(name)
        steps = [step for piece in pieces for step in piece.values()] if isinstance(pieces, list) else []
        packed = [(step.get("id"), step.get("type_id")) for step in steps]
        if packed != expected:
            texts = [" ".join(f"{text}:{segment}" for text, segment in row) for row in (packed, expected)]
            raise InputError(f"{place}.{name}: is {texts[0]}, not {texts[1]}; {_ADVICE}")


_EXTRA = ("additional_special_tokens", "extra_special_tokens")


class TokenizerPaths(NamedTuple):
    """Tokenizer files in a directory; None for a missing file."""

    tokenizer: str | None = None
    config: str | None = None
    added_tokens: str | None = None
    special_tokens: str | None = None
    model_config: str | None = None


def read_added_tokens(
    config: JsonObject, paths: TokenizerPaths, stored: TokenizerJson | None, tokens: list[str]
) -> list[AddedToken]:
    """Return the added tokens from all files; raise InputError if two files disagree about an id.

    Args:
        config: contents of tokenizer_config.json.
        paths: the tokenizer files.
        stored: contents of tokenizer.json, None if there is no such file.
        tokens: vocabulary, used to look up special tokens without an id.
    """
    sources = [
        read_added_tokens_decoder(config, paths.config),
        _read_added_tokens_json(config, paths),
        ((stored.path, token) for token in stored.added_tokens) if stored else iter(()),
    ]
    by_content: dict[str, tuple[str, AddedToken]] = {}
    for source in sources:
        for path, token in source:
            previous = by_content.setdefault(token.content, (path, token))
            refuse_if(
                previous[1].id != token.id,
                f"{path}: {token.content} has the id {token.id}, but {previous[1].id} in {previous[0]}; {_CORRECT}",
            )
    unlisted = [extra for extra in _extra_tokens(config, paths) if extra[1] not in by_content]
    ids = {token: index for index, token in enumerate(tokens)} if unlisted else {}
    for path, content in unlisted:
        refuse_if(
            content not in ids,
            f"{path}: {content} is a special token, but no file has its id; add it to added_tokens.json",
        )
        by_content[content] = path, AddedToken(content, ids[content], normalized=False, special=True)
    return [token for _, token in by_content.values()]


def read_added_tokens_decoder(config: JsonObject, path: str | None) -> Iterator[tuple[str, AddedToken]]:
    """Yield (path, token) for each token in the added_tokens_decoder of a tokenizer_config.json."""
    values = expect(config.get(ADDED_TOKENS) or {}, dict, f"{path}: {ADDED_TOKENS}", _CORRECT)
    for index, token in values.items():
        place = f"{path}: {ADDED_TOKENS}[{index!r}]"
        refuse_if(not (index.isascii() and index.isdigit()), f"{place}: an id is needed; {_CORRECT}")
        yield str(path), read_added_token(token, int(index), place)


def _read_added_tokens_json(config: JsonObject, paths: TokenizerPaths) -> Iterator[tuple[str, AddedToken]]:
    path = paths.added_tokens
    if not path:
        return
    special = set(SPECIAL) | {content for _, content in _extra_tokens(config, paths)}
    for content, index in read_json_object(path, FETCH).items():
        values = {"content": content, "special": content in special}
        yield path, read_added_token(values, index, f"{path}: {content}")


def _extra_tokens(config: JsonObject, paths: TokenizerPaths) -> Iterator[tuple[str, str]]:
    """Yield (path, token) for the special tokens besides BERT's five."""
    special: JsonObject = {}
    if paths.special_tokens:
        special = read_json_object(paths.special_tokens, FETCH)
    for path, values in ((paths.config, config), (paths.special_tokens, special)):
        for key in _EXTRA:
            tokens = values.get(key) or []
            listed = list(tokens.values()) if isinstance(tokens, dict) else tokens
            for token in listed if isinstance(listed, Sequence) else ():
                content = token.get("content") if isinstance(token, dict) else token
                yield str(path), expect(content, str, f"{path}: {key}", _CORRECT)


def with_added_tokens(tokens: list[str], added_tokens: list[AddedToken], vocab_file: str) -> list[str]:
    """Return the tokens and the added ones, each at its id.

    Raise InputError if an id is taken or leaves a gap.

    Args:
        tokens: vocabulary ordered by id.
        added_tokens: tokens to add; some may be in the vocabulary already.
        vocab_file: file name for messages.
    """
    if not added_tokens:
        return tokens
    tokens = list(tokens)
    ids = {token: index for index, token in enumerate(tokens)}
    for token in added_tokens:
        if token.content in ids:
            refuse_if(
                ids[token.content] != token.id,
                f"{vocab_file}: {token.content} has the id {ids[token.content]}, but {token.id} as an added token; "
                "they belong to different models",
            )
            continue
        if token.id == len(tokens):
            tokens.append(token.content)
            continue
        if token.id > len(tokens):
            raise InputError(
                f"{vocab_file}: ends with the id {len(tokens) - 1}, but the added token {token.content} has the id "
                f"{token.id}: the ids between have no token; add lines such as [unused1] for them"
            )
        # A blank line is no token. White space around a token is not part of a vocabulary line.
        refuse_if(
            tokens[token.id] not in ("", token.content.strip()),
            f"{vocab_file}: has {tokens[token.id]} for the id {token.id}, but it is the added token {token.content}; "
            "they belong to different models",
        )
        tokens[token.id] = token.content
    return tokens
