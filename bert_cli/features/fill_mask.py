"""Texts with [MASK] in them -> token ids and the places to fill."""

from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.names import PAIR_MARK
from bert_cli.features.encoded_text import divided
from bert_cli.features.packing import pack
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, MASK, SEP


class MaskedText(NamedTuple):
    """`[CLS] a [SEP]`, or `[CLS] a [SEP] b [SEP]` where is_pair: ids, segments, and the positions
    of the masks.
    """

    token_ids: list[int]
    segment_ids: list[int]
    positions: list[int]
    is_pair: bool


def masked_text(text: str, tokenizer: FullTokenizer, max_seq_length: int, place: str) -> MaskedText:
    """Tokenize a text with [MASK] in it, or two with ` ||| ` between.

    InputError, naming `place` (such as a file and line), where there is no mask and no pair, a part
    is empty, or the text has more tokens than the model has positions: a mask might be cut off.
    """
    texts = [part for part in divided(text) if part is not None]
    encoded = [_encode(part, tokenizer) for part in texts]
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
    # Found in the packed ids: packing moves the masks of the second text.
    positions = [index for index, token_id in enumerate(packed.token_ids) if token_id == mask_id]
    return MaskedText(packed.token_ids, packed.segment_ids, positions, is_pair)


def _encode(text: str, tokenizer: FullTokenizer) -> list[int]:
    """Ids of a text in which [MASK] is one token; the tokenizer itself would take it apart."""
    token_ids: list[int] = []
    for index, part in enumerate(text.split(MASK)):
        if index:
            token_ids.append(tokenizer.ids[MASK])
        token_ids += tokenizer.encode(part)
    return token_ids
