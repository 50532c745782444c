"""Tokens of a text from Python:

    from bert_cli import Tokenizer
    Tokenizer.load("uncased_L-12_H-768_A-12").encode("the dog")["input_ids"]

is [101, 1996, 3899, 102].
"""

import os
from typing import Any

from bert_cli.api.arguments import named_arguments
from bert_cli.api.texts import check_text
from bert_cli.features.encoded_text import encoded_text
from bert_cli.flags.paths import path_text
from bert_cli.runs.loading.tokenizer import load_tokenizer
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.tokenization import FullTokenizer


class Tokenizer:
    """The tokenizer of a model. `vocab_size`: the number of its tokens; `do_lower_case`: as it was
    made. Made by `load`.
    """

    def __init__(self, tokenizer: FullTokenizer):
        self._tokenizer = tokenizer
        self.vocab_size = max(tokenizer.ids.values()) + 1
        self.do_lower_case = tokenizer.do_lower_case

    @classmethod
    @named_arguments(init_checkpoint="path", vocab_file="path")
    def load(cls, path: str | os.PathLike | None = None, do_lower_case: bool | None = None) -> "Tokenizer":
        """Return the tokenizer of a checkpoint of any format, of a vocab.txt or tokenizer.json, or
        by default of the built-in model. Raises InputError.
        """
        name = "" if path is None else path_text(path)
        is_vocabulary = name.endswith((".txt", ".json"))
        given = {"vocab_file": name} if is_vocabulary else {"init_checkpoint": name}
        return cls(load_tokenizer(ModelFiles(**given, do_lower_case=do_lower_case)))  # type: ignore[arg-type]

    def tokenize(self, text: str) -> list[str]:
        """The word pieces of a text, without [CLS] and [SEP]."""
        check_text(text)
        return self._tokenizer.tokenize(text)

    def encode(self, text: str, text_b: str | None = None) -> dict[str, Any]:
        """`tokens`, `input_ids` and `segment_ids` of a text or a pair, lists with [CLS] and [SEP],
        of which nothing is cut.
        """
        check_text(text)
        if text_b is not None:
            check_text(text_b, "text_b")
        return encoded_text(self._tokenizer, text, text_b)
