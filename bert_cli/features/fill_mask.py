"""Tokenizer of texts with [MASK]: token ids and the positions to fill."""

from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.names import PAIR_MARK
from bert_cli.features.encoded_text import split_pair
from bert_cli.features.packing import pack
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, MASK, SEP


class MaskedText(NamedTuple):
    """Token ids, segment ids and mask positions of `[CLS] a [SEP]`, or `[CLS] a [SEP] b [SEP]`."""

    token_ids: list[int]
    segment_ids: list[int]
    positions: list[int]
    is_pair: bool


def masked_text(text: str, tokenizer: FullTokenizer, max_seq_length: int, place: str) -> MaskedText:
    """Tokenize a text that contains [MASK], or two texts with ` ||| ` between them.

    Args:
        text: the line to tokenize.
        tokenizer: the model's tokenizer.
        max_seq_length: the model's number of positions.
        place: file and line, for messages.

    Raises:
        InputError: a single text has no mask, a text is empty, or the text has more tokens than the
            model has positions, so that a mask might be cut off.
    """
    texts = [single_text for single_text in split_pair(text) if single_text is not None]
    encoded = [_encode(single_text, tokenizer) for single_text in texts]
    is_pair = len(encoded) == 2
    if not all(encoded):
        raise InputError(f"{place}: a text is empty: {text[:60]!r}")
    mask_id = tokenizer.ids[MASK]
    if not is_pair and mask_id not in encoded[0]:
        raise InputError(f"{place}: has no [MASK], nor two texts with '{PAIR_MARK}' between: {text[:60]!r}")
    packed = pack(
        encoded[0], encoded[1] if is_pair else None, max_seq_length, tokenizer.ids[CLS], tokenizer.ids[SEP]
    )  # fmt: skip
    if packed.num_cut:
        raise InputError(f"{place}: is too long for the model, which has {max_seq_length} positions: {text[:60]!r}")
    # Search the packed ids: packing moves the masks in a second text.
    positions = [index for index, token_id in enumerate(packed.token_ids) if token_id == mask_id]
    return MaskedText(packed.token_ids, packed.segment_ids, positions, is_pair)


def _encode(text: str, tokenizer: FullTokenizer) -> list[int]:
    """Return a text's ids with [MASK] as one token, which the tokenizer alone would split."""
    token_ids: list[int] = []
    for index, unmasked_text in enumerate(text.split(MASK)):
        if index:
            token_ids.append(tokenizer.ids[MASK])
        token_ids += tokenizer.encode(unmasked_text)
    return token_ids
