"""Tokenizer for Python programs.

   from bert_cli import Tokenizer
   Tokenizer.load("uncased_L-12_H-768_A-12").encode("the dog")["input_ids"]

returns [101, 1996, 3899, 102].
"""

import operator
import os
from collections.abc import Iterable
from typing import Any, overload

from bert_cli.api.inputs.made_by_methods import MadeByMethods
from bert_cli.api.inputs.texts import SINGLE_TEXTS, list_items, read_texts_argument
from bert_cli.api.results.pieces import Pieces
from bert_cli.base.errors import InputError, check_text, name_arguments_in_errors, refuse_if
from bert_cli.features.encoded_text import encode_text
from bert_cli.flags.paths import path_text
from bert_cli.opening.tokenizer import load_tokenizer
from bert_cli.text.offsets import find_pieces
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import CLS, PAD, SEP


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
    @name_arguments_in_errors(absent=None, init_checkpoint="path", vocab_file="path")
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

    def __repr__(self) -> str:
        form = "lower case without accents" if self.do_lower_case else "case as it is"
        return f"Tokenizer: {self.vocab_size:,} tokens, {form}"

    @property
    def vocab(self) -> tuple[str, ...]:
        """Return the tokens in the order of their ids."""
        ids = self._tokenizer.ids
        return tuple(sorted(ids, key=ids.__getitem__))

    @overload
    def tokenize(self, text: str) -> list[str]: ...  # type: ignore[overload-overlap]
    @overload
    def tokenize(self, text: Iterable[str]) -> list[list[str]]: ...
    @name_arguments_in_errors()
    def tokenize(self, text: str | Iterable[str]) -> list[str] | list[list[str]]:
        """Return a text's word pieces, without [CLS] and [SEP].

        Args:
            text: a text; or texts in any sequence, or a table with a column of texts, for a list
                per text.
        """
        if isinstance(text, str):
            return self._tokenizer.tokenize(text)
        return [
            self._tokenizer.tokenize(single) for single in read_texts_argument(text, SINGLE_TEXTS, name="text").singles
        ]

    def pieces(self, text: str) -> Pieces:
        """Return a text's word pieces with their ids and places; a notebook shows them in colors."""
        check_text(text)
        return Pieces(text, find_pieces(self._tokenizer, text))

    @overload
    def encode(self, text: str, text_b: str | None = None) -> dict[str, Any]: ...  # type: ignore[overload-overlap]
    @overload
    def encode(self, text: Iterable[str | tuple[str, str]], text_b: None = None) -> list[dict[str, Any]]: ...
    @name_arguments_in_errors()
    def encode(
        self, text: str | Iterable[str | tuple[str, str]], text_b: str | None = None
    ) -> dict[str, Any] | list[dict[str, Any]]:
        """Return `tokens`, `input_ids` and `segment_ids` of a text or a pair.

        They are lists that include [CLS] and [SEP]. Nothing is cut.

        Args:
            text: the text; or texts or pairs in any sequence, or a table, for a dict per text.
            text_b: the second text if this is a pair, else None.
        """
        if not isinstance(text, str):
            refuse_if(text_b is not None, "text_b: put pairs (text, text_b) into the list")
            return [encode_text(self._tokenizer, *pair) for pair in read_texts_argument(text, name="text").pairs]
        if text_b is not None:
            check_text(text_b, "text_b")
        return encode_text(self._tokenizer, text, text_b)

    @name_arguments_in_errors()
    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """Return the text of token ids, with a space before each piece that begins a word.

        Case, accents and spaces that the tokenizer removed do not come back.

        Args:
            ids: token ids, such as `input_ids`.
            skip_special_tokens: whether [CLS], [SEP] and [PAD] are left out.
        """
        left_out = {CLS, SEP, PAD} if skip_special_tokens else set()
        tokens = [token for token in self.convert_ids_to_tokens(ids) if token not in left_out]
        return " ".join(tokens).replace(" ##", "")

    @name_arguments_in_errors()
    def convert_ids_to_tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the token of each id; raise InputError for an id that the vocabulary lacks."""
        try:
            return self._tokenizer.convert_ids_to_tokens(map(operator.index, ids))
        except KeyError as error:
            raise InputError(f"ids: {error.args[0]} is no id; they go from 0 to {self.vocab_size - 1}") from None

    @name_arguments_in_errors()
    def convert_tokens_to_ids(self, tokens: Iterable[str]) -> list[int]:
        """Return the id of each token; raise InputError for a token that the vocabulary lacks."""
        names = list_items("tokens", tokens, "a list of tokens")
        for place, name in enumerate(names):
            refuse_if(name not in self._tokenizer.ids, f"tokens[{place}]: {name!r:.60} is not in the vocabulary")
        return [self._tokenizer.ids[name] for name in names]
