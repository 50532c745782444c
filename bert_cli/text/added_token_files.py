"""Added tokens from all tokenizer files that may list them, and their ids in the vocabulary."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import JsonObject, expect, read_json_object
from bert_cli.text.tokenizer_json_reading import TokenizerJson, read_added_token
from bert_cli.text.tokenizer_settings import ADDED_TOKENS, AddedToken
from bert_cli.text.vocabulary import SPECIAL

_ADVICE = "correct the file"
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
                f"{path}: {token.content} has the id {token.id}, but {previous[1].id} in {previous[0]}; {_ADVICE}",
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
    values = expect(config.get(ADDED_TOKENS) or {}, dict, f"{path}: {ADDED_TOKENS}", _ADVICE)
    for index, token in values.items():
        place = f"{path}: {ADDED_TOKENS}[{index!r}]"
        refuse_if(not (index.isascii() and index.isdigit()), f"{place}: an id is needed; {_ADVICE}")
        yield str(path), read_added_token(token, int(index), place)


def _read_added_tokens_json(config: JsonObject, paths: TokenizerPaths) -> Iterator[tuple[str, AddedToken]]:
    path = paths.added_tokens
    if not path:
        return
    special = set(SPECIAL) | {content for _, content in _extra_tokens(config, paths)}
    for content, index in read_json_object(path, "fetch the file again").items():
        values = {"content": content, "special": content in special}
        yield path, read_added_token(values, index, f"{path}: {content}")


def _extra_tokens(config: JsonObject, paths: TokenizerPaths) -> Iterator[tuple[str, str]]:
    """Yield (path, token) for the special tokens besides BERT's five."""
    special: JsonObject = {}
    if paths.special_tokens:
        special = read_json_object(paths.special_tokens, "fetch the file again")
    for path, values in ((paths.config, config), (paths.special_tokens, special)):
        for key in _EXTRA:
            tokens = values.get(key) or []
            listed = list(tokens.values()) if isinstance(tokens, dict) else tokens
            for token in listed if isinstance(listed, Sequence) else ():
                content = token.get("content") if isinstance(token, dict) else token
                yield str(path), expect(content, str, f"{path}: {key}", _ADVICE)


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
