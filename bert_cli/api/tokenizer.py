"""Tokenizer for Python programs.

   from bert_cli import Tokenizer
   Tokenizer.load("uncased_L-12_H-768_A-12").encode("the dog")["input_ids"]

returns [101, 1996, 3899, 102].
"""

import os
from typing import Any

from bert_cli.api.inputs.made_by_methods import MadeByMethods
from bert_cli.base.errors import check_text, name_arguments_in_errors
from bert_cli.features.encoded_text import encode_text
from bert_cli.flags.paths import path_text
from bert_cli.opening.tokenizer import load_tokenizer
from bert_cli.text.tokenization import FullTokenizer


class Tokenizer(MadeByMethods):
    """A model's tokenizer, made by `load`.

    Attributes:
        vocab_size: number of tokens.
        do_lower_case: whether it lower-cases texts and strips accents.
    """

    def __init__(self, tokenizer: FullTokenizer):
        self._tokenizer = tokenizer
        self.vocab_size = max(tokenizer.ids.values()) + 1
        self.do_lower_case = tokenizer.do_lower_case

    @classmethod
    @name_arguments_in_errors(init_checkpoint="path", vocab_file="path")
    def load(cls, path: str | os.PathLike | None = None, do_lower_case: bool | None = None) -> "Tokenizer":
        """Load the tokenizer of a model.

        Args:
            path: a checkpoint in any format, a vocab.txt or a tokenizer.json; None for the built-in
                model.
            do_lower_case: whether to lower-case texts and strip accents; None to use the model's
                setting.

        Raises:
            InputError: if the files are missing, damaged or do not belong together.
        """
        name = "" if path is None else path_text(path)
        is_vocabulary = name.endswith((".txt", ".json"))
        init_checkpoint, vocab_file = ("", name) if is_vocabulary else (name, None)
        return cls(load_tokenizer(init_checkpoint, vocab_file, do_lower_case))

    def tokenize(self, text: str) -> list[str]:
        """Return a text's word pieces, without [CLS] and [SEP]."""
        check_text(text)
        return self._tokenizer.tokenize(text)

    def encode(self, text: str, text_b: str | None = None) -> dict[str, Any]:
        """Return `tokens`, `input_ids` and `segment_ids` of a text or a pair.

        They are lists that include [CLS] and [SEP]. Nothing is cut.

        Args:
            text: the text.
            text_b: the second text if this is a pair, else None.
        """
        check_text(text)
        if text_b is not None:
            check_text(text_b, "text_b")
        return encode_text(self._tokenizer, text, text_b)
