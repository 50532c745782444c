"""A text or a pair as a model reads it: tokens, ids and segments, with [CLS] and [SEP]."""

from typing import Any

from bert_cli.base.names import PAIR_MARK
from bert_cli.features.packing import pack
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, SEP, UNK


def divided(text: str) -> tuple[str, str | None]:
    """The two texts of a line with ` ||| ` between; (text, None) of a single one."""
    # The last sign divides, as in extract_features.py of the original.
    first, mark, second = text.rpartition(PAIR_MARK)
    return (first.strip(), second.strip()) if mark else (text.strip(), None)


def encoded_text(tokenizer: FullTokenizer, text: str, text_b: str | None = None) -> dict[str, Any]:
    """{"tokens": [t], "input_ids": [t], "segment_ids": [t]} of a text or a pair, of which nothing
    is cut.
    """
    ids_a = tokenizer.encode(text)
    ids_b = None if text_b is None else tokenizer.encode(text_b)
    whole = len(ids_a) + len(ids_b or ()) + 3
    packed = pack(ids_a, ids_b, whole, tokenizer.ids[CLS], tokenizer.ids[SEP])
    tokens = tokenizer.convert_ids_to_tokens(packed.token_ids)
    return {"tokens": tokens, "input_ids": list(packed.token_ids), "segment_ids": list(packed.segment_ids)}


def unknown_words(tokenizer: FullTokenizer, text: str) -> list[str]:
    """The words that [UNK] replaces, in the order of the text."""
    words = tokenizer.basic_tokenizer.tokenize(text)
    return [word for word in words if tokenizer.wordpiece_tokenizer.tokenize_words([word]) == [UNK]]
