"""Encoder for a text or a pair, with [CLS] and [SEP], as tokens or with masks to fill."""

from typing import Any, NamedTuple, Protocol

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.base.names import PAIR_MARK
from bert_cli.features.packing import pack
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, MASK, SEP, UNK


class WeightedExample(Protocol):
    """An example with a factor of its loss, None for equal ones."""

    @property
    def weight(self) -> float | None: ...


class LabeledText(WeightedExample, Protocol):
    """A text or a pair with a label, such as examples.classification.ClassificationExample."""

    @property
    def guid(self) -> str: ...

    @property
    def text_a(self) -> str: ...

    @property
    def text_b(self) -> str | None: ...

    @property
    def label(self) -> Any: ...

    @property
    def distribution(self) -> tuple[float, ...] | None: ...


def split_pair(text: str) -> tuple[str, str | None]:
    """Split a line at ` ||| ` into two texts; return (text, None) if it is a single text."""
    # Split at the last mark, as the original extract_features.py does.
    first, mark, second = text.rpartition(PAIR_MARK)
    return (first.strip(), second.strip()) if mark else (text.strip(), None)


def encode_text(tokenizer: FullTokenizer, text: str, text_b: str | None = None) -> JsonObject:
    """Return "tokens", "input_ids" and "segment_ids" of an uncut text or pair, all [t].

    Args:
        text: the text, or a pair's first text.
        text_b: a pair's second text.
    """
    ids_a = tokenizer.encode(text)
    ids_b = None if text_b is None else tokenizer.encode(text_b)
    length = len(ids_a) + len(ids_b or ()) + 3
    packed = pack(ids_a, ids_b, length, tokenizer.ids[CLS], tokenizer.ids[SEP])
    tokens = tokenizer.convert_ids_to_tokens(packed.token_ids)
    return {"tokens": tokens, "input_ids": list(packed.token_ids), "segment_ids": list(packed.segment_ids)}


def unknown_words(tokenizer: FullTokenizer, text: str) -> list[str]:
    """Return the words that [UNK] replaces, in text order."""
    return [word for word in tokenizer.words(text) if tokenizer.tokenize(word) == [UNK]]


class MaskedText(NamedTuple):
    """A line as `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`, with the positions of its masks.

    Attributes:
        text: the line.
        place: file and line, for messages.
        token_ids, segment_ids: ids of the t tokens.
        positions: indices of [MASK], ascending.
        is_pair: whether the line has two texts.
    """

    text: str
    place: str
    token_ids: list[int]
    segment_ids: list[int]
    positions: list[int]
    is_pair: bool


def encode_masked_text(text: str, tokenizer: FullTokenizer, max_seq_length: int, place: str) -> MaskedText:
    """Tokenize a text that contains [MASK], or two texts with ` ||| ` between them.

    Args:
        text: the line to tokenize.
        max_seq_length: the model's number of positions.
        place: file and line, for messages.

    Raises:
        InputError: a single text has no mask, a text is empty, or the text has more tokens than the
            model has positions, so that a mask might be cut off.
    """
    masked = _pack_text(text, tokenizer, max_seq_length, place)
    if not masked.is_pair and not masked.positions:
        raise InputError(f"{place}: has no [MASK]: {text[:60]!r}; for a second text, put '{PAIR_MARK}' between them")
    return masked


def encode_candidate_text(text: str, tokenizer: FullTokenizer, max_seq_length: int, place: str) -> MaskedText:
    """Tokenize a text or pair that needs a [MASK] for candidates; see `encode_masked_text`."""
    masked = _pack_text(text, tokenizer, max_seq_length, place)
    if not masked.positions:
        raise InputError(f"{place}: has no [MASK] for the candidates: {text[:60]!r}")
    return masked


def encode_unmasked_text(text: str, tokenizer: FullTokenizer, max_seq_length: int, place: str) -> MaskedText:
    """Tokenize a text or pair without [MASK]; see `encode_masked_text`."""
    unmasked = _pack_text(text, tokenizer, max_seq_length, place)
    if unmasked.positions:
        raise InputError(f"{place}: has a [MASK], which cannot be scored: {text[:60]!r}; give the whole text")
    return unmasked


def _pack_text(text: str, tokenizer: FullTokenizer, max_seq_length: int, place: str) -> MaskedText:
    texts = [single_text for single_text in split_pair(text) if single_text is not None]
    encoded = [_encode(single_text, tokenizer) for single_text in texts]
    if not all(encoded):
        raise InputError(f"{place}: a text is empty: {text[:60]!r}")
    is_pair = len(encoded) == 2
    packed = pack(
        encoded[0], encoded[1] if is_pair else None, max_seq_length, tokenizer.ids[CLS], tokenizer.ids[SEP]
    )  # fmt: skip
    if packed.num_cut:
        raise InputError(f"{place}: is too long for the model, which has {max_seq_length} positions: {text[:60]!r}")
    # Search the packed ids: packing moves the masks in a second text.
    mask_id = tokenizer.ids[MASK]
    positions = [index for index, token_id in enumerate(packed.token_ids) if token_id == mask_id]
    return MaskedText(text, place, packed.token_ids, packed.segment_ids, positions, is_pair)


def _encode(text: str, tokenizer: FullTokenizer) -> list[int]:
    """Return a text's ids with [MASK] as one token, which the tokenizer alone would split."""
    token_ids: list[int] = []
    for index, unmasked_text in enumerate(text.split(MASK)):
        if index:
            token_ids.append(tokenizer.ids[MASK])
        token_ids += tokenizer.encode(unmasked_text)
    return token_ids
