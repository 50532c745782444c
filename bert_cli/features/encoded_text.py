"""Texts and pairs, and their encoder as tokens, ids and segments, with [CLS] and [SEP]."""

from typing import Any, Protocol

from bert_cli.base.json_files import JsonObject
from bert_cli.base.names import PAIR_MARK
from bert_cli.features.packing import pack
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, SEP, UNK


class LabeledText(Protocol):
    """A text or a pair with a label, such as examples.classification.ClassificationExample."""

    @property
    def guid(self) -> str: ...

    @property
    def text_a(self) -> str: ...

    @property
    def text_b(self) -> str | None: ...

    @property
    def label(self) -> Any: ...


def split_pair(text: str) -> tuple[str, str | None]:
    """Split a line at ` ||| ` into two texts; return (text, None) if it is a single text."""
    # Split at the last mark, as the original extract_features.py does.
    first, mark, second = text.rpartition(PAIR_MARK)
    return (first.strip(), second.strip()) if mark else (text.strip(), None)


def encode_text(tokenizer: FullTokenizer, text: str, text_b: str | None = None) -> JsonObject:
    """Return "tokens", "input_ids" and "segment_ids" of an uncut text or pair, all [t].

    Args:
        tokenizer: the model's tokenizer.
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
