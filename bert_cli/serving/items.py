"""Input items of models, the values that models compute for them, and columns of answers."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base.json_files import Json, JsonObject


class Item(NamedTuple):
    """A text, a pair of texts, or a question and its context.

    Attributes:
        first: the text, the first text or the question.
        second: the second text, the context or None.
        id: the client's id for a question, or None.
        prompt_name: name of the prompt before a text for `embed`, or None for the model's default.
        place: position in the request, for error messages.
    """

    first: str
    second: str | None = None
    id: str | None = None
    prompt_name: str | None = None
    place: str = ""

    @property
    def text_or_pair(self) -> str | tuple[str, str]:
        """Return the text, or both texts of a pair."""
        return self.first if self.second is None else (self.first, self.second)

    @property
    def characters(self) -> int:
        """Return the number of characters in all texts."""
        return len(self.first) + len(self.second or "")


class MaskedCopy(NamedTuple):
    """A masked copy of a text for an explanation: token_ids int32 [T], segment_ids int8 [T]."""

    token_ids: np.ndarray
    segment_ids: np.ndarray


class PreparedExplanation(NamedTuple):
    """The work for an explanation.

    Attributes:
        copies: masked copies of the text.
        num_cut: number of tokens that were cut.
        score: returns one score per masked copy; the copies may belong to several texts. Equal for
            all explanations by one model.
        answer: function from the scores of `copies` to the answer, a JSON object.
    """

    copies: Sequence[MaskedCopy]
    num_cut: int
    score: Callable[[Sequence[MaskedCopy]], list[Any]]
    answer: Callable[[Sequence[Any]], JsonObject]


class Embedding(NamedTuple):
    """A text's vector, float32 [W], the number of tokens that it uses, and the number that was cut."""

    vector: np.ndarray
    num_tokens: int
    num_cut: int


class Token(NamedTuple):
    """A token.

    Attributes:
        text: the characters that became the token; [CLS] and [SEP] have their names.
        token_id: its id.
        span: its start and end in the text, in characters, or None for [CLS] and [SEP].
    """

    text: str
    token_id: int
    span: tuple[int, int] | None


# Data types as KServe names them.
TEXT, FP32, INT64, BOOL = "BYTES", "FP32", "INT64", "BOOL"
_EMPTY: dict[str, Json] = {TEXT: "", FP32: 0.0, INT64: -1, BOOL: False}


class AnswerField(NamedTuple):
    """A member that a model's answers have.

    Attributes:
        name: the member's name.
        datatype: TEXT, FP32, INT64 or BOOL; other values are JSON in a text.
        width: numbers per text, or None for a single value.
    """

    name: str
    datatype: str
    width: int | None = None

    def values(self, records: Sequence[JsonObject]) -> list[Json]:
        """Return each answer's value; null becomes -1, 0 or an empty text."""
        return [self._convert(record[self.name]) for record in records]

    def _convert(self, value: Json) -> Json:
        if value is None:
            return _EMPTY[self.datatype]
        if self.datatype == TEXT:
            return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return list(value.values()) if isinstance(value, Mapping) else value
