"""Reader of tokenizer.json, which names what is not BERT's."""

import dataclasses
from typing import Any

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import expect, json_type, read_json_object
from bert_cli.text.tokenizer_settings import MAX_WORD, AddedToken
from bert_cli.text.vocabulary import CLS, SEP, UNK

_ADVICE = "only the WordPiece tokenizer of BERT can be computed here"
_PREFIX = "##"
# What the post-processor adds to a text and to a pair: (token or text, segment).
_SINGLE = [(CLS, 0), ("A", 0), (SEP, 0)]
_PAIR = [*_SINGLE, ("B", 1), (SEP, 1)]


@dataclasses.dataclass(frozen=True)
class TokenizerJson:
    """The contents of a tokenizer.json.

    Attributes:
        path: the file.
        model_ids: id of each token of the WordPiece vocabulary.
        added_tokens: the added tokens; some are in the vocabulary, too.
        max_word_characters: a longer word is [UNK].
        lowercase: whether its normalizer lower-cases; None if it has no normalizer.
        strip_accents: whether its normalizer removes accents; None: as `lowercase`.
        tokenize_chinese_chars: whether each ideograph is a word; None if it has no normalizer.
    """

    path: str
    model_ids: dict[str, int]
    added_tokens: tuple[AddedToken, ...]
    max_word_characters: int
    lowercase: bool | None
    strip_accents: bool | None
    tokenize_chinese_chars: bool | None


def read_tokenizer_json(path: str) -> TokenizerJson:
    """Read a tokenizer.json.

    Raises:
        InputError: the file is damaged, or not the tokenizer of a BERT.
    """
    values = read_json_object(path, advice="fetch the file again")
    model = expect(values.get("model"), dict, f"{path}: model", _ADVICE)
    # Files of 2020 have no type; only WordPiece has a prefix of inner pieces and no merges.
    kind = model.get("type", "WordPiece" if "continuing_subword_prefix" in model and "merges" not in model else None)
    refuse_if(kind != "WordPiece", f"{path}: model.type is {kind}, so it holds no WordPiece vocabulary; {_ADVICE}")
    prefix, unknown = model.get("continuing_subword_prefix", _PREFIX), model.get("unk_token", UNK)
    refuse_if(prefix != _PREFIX, f"{path}: model.continuing_subword_prefix is {prefix!r}, not {_PREFIX!r}; {_ADVICE}")
    refuse_if(unknown != UNK, f"{path}: model.unk_token is {unknown!r}, not {UNK!r}; {_ADVICE}")
    ids = expect(model.get("vocab"), dict, f"{path}: model.vocab", _ADVICE)
    _check_ids(ids, path)
    longest = expect(model.get(MAX_WORD, 100), int, f"{path}: model.{MAX_WORD}", "correct the file")
    normalizer = _only(values.get("normalizer"), "normalizers", "BertNormalizer", f"{path}: normalizer")
    clean = normalizer is None or _flag(normalizer, "clean_text", f"{path}: normalizer") is not False
    refuse_if(not clean, f"{path}: normalizer.clean_text is false; {_ADVICE}")
    _only(values.get("pre_tokenizer"), "pretokenizers", "BertPreTokenizer", f"{path}: pre_tokenizer")
    _check_post_processor(values.get("post_processor"), f"{path}: post_processor")
    flags = [
        _flag(normalizer or {}, key, f"{path}: normalizer")
        for key in ("lowercase", "strip_accents", "handle_chinese_chars")
    ]
    added = expect(values.get("added_tokens") or [], list, f"{path}: added_tokens", "correct the file")
    tokens = [
        read_added_token(token, token.get("id") if isinstance(token, dict) else None, f"{path}: added_tokens[{number}]")
        for number, token in enumerate(added)
    ]
    return TokenizerJson(path, ids, tuple(tokens), longest, *flags)


def read_added_token(values: object, index: object, place: str) -> AddedToken:
    """Return an added token of a file; InputError at `place` for values of other types."""
    advice = "correct the file"
    members = expect(values, dict, place, advice)
    content = expect(members.get("content"), str, f"{place}.content", advice)
    number = expect(index, int, f"{place}.id", advice)
    refuse_if(number < 0, f"{place}.id: is below 0; {advice}")
    refuse_if("\n" in content, f"{place}.content: has a line end, which no vocab.txt can hold; {advice}")
    flags = {name: _flag(members, name, place) for name in AddedToken(content, number).flags()}
    # The defaults of `tokenizers`: a special token is searched for in the text as it is.
    defaults = {"normalized": not flags["special"]}
    return AddedToken(
        content,
        number,
        **{name: bool(defaults.get(name, False) if flag is None else flag) for name, flag in flags.items()},
    )


def _check_ids(ids: dict[str, Any], path: str) -> None:
    """InputError unless all ids are different whole numbers."""
    taken: dict[int, str] = {}
    for token, index in ids.items():
        place = f"{path}: model.vocab[{token!r}]"
        refuse_if(type(index) is not int or index < 0, f"{place}: is {index!r}, an id is needed; correct the file")
        refuse_if(index in taken, f"{place}: has the id {index} of {taken.get(index)!r}; correct the file")
        taken[index] = token
    # A larger gap is no vocabulary, and would take all memory.
    refuse_if(
        taken and max(taken) > 2 * len(taken) + 1000,
        f"{path}: model.vocab has ids up to {max(taken, default=0)} for {len(taken)} tokens; correct the file",
    )


def _only(values: object, members: str, kind: str, place: str) -> dict[str, Any] | None:
    """Return the settings of the only step, which must be of this kind; None for no step."""
    if values is None:
        return None
    step = expect(values, dict, place, _ADVICE)
    if step.get("type") == "Sequence":
        steps = expect(step.get(members), list, f"{place}.{members}", _ADVICE)
        for number, inner in enumerate(steps):
            _only(inner, members, kind, f"{place}.{members}[{number}]")
        refuse_if(len(steps) != 1, f"{place}: is a sequence of {len(steps)} steps, not one {kind}; {_ADVICE}")
        step = steps[0]
    refuse_if(step.get("type") != kind, f"{place}: is {step.get('type')}, not {kind}; {_ADVICE}")
    return step


def _flag(values: dict[str, Any], key: str, place: str) -> bool | None:
    value = values.get(key)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"{place}.{key}: is {json_type(value)}, true or false is needed; correct the file")
    return value


def _check_post_processor(values: object, place: str) -> None:
    """InputError for a post-processor that packs texts otherwise than [CLS] A [SEP] B [SEP]."""
    if values is None:
        return
    members = expect(values, dict, place, _ADVICE)
    kind = members.get("type")
    if kind == "BertProcessing":
        ends = [(members.get(name) or [None])[0] for name in ("cls", "sep")]
        refuse_if(ends != [CLS, SEP], f"{place}: adds {ends[0]} and {ends[1]}, not {CLS} and {SEP}; {_ADVICE}")
        return
    refuse_if(kind != "TemplateProcessing", f"{place}: is {kind}, not TemplateProcessing; {_ADVICE}")
    for name, wanted in (("single", _SINGLE), ("pair", _PAIR)):
        pieces = members.get(name)
        steps = [step for piece in pieces for step in piece.values()] if isinstance(pieces, list) else []
        packed = [(step.get("id"), step.get("type_id")) for step in steps]
        if packed != wanted:
            texts = [" ".join(f"{text}:{segment}" for text, segment in row) for row in (packed, wanted)]
            raise InputError(f"{place}.{name}: is {texts[0]}, not {texts[1]}; {_ADVICE}")
