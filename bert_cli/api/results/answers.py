"""Answers to questions, as methods return them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bert_cli.api.results.sequence import ItemResults, ResultColumn, shorten_text


@dataclasses.dataclass(frozen=True)
class Answer:
    """Answer to a question.

    Attributes:
        question, context: the texts.
        answer: text from the context, "" if there is no answer.
        probability: the answer's probability among `nbest`, or None.
        start, end: the answer's characters in the context, None if there is no answer.
        sentence: the sentence around the answer, or None.
        nbest: candidates as dicts, see predicting.question_answerer.answer_record.
    """

    question: str
    context: str
    answer: str
    probability: float | None
    start: int | None
    end: int | None
    sentence: str | None
    nbest: list[dict[str, Any]]


_NAMES = [field.name for field in dataclasses.fields(Answer)]


def make_answer(record: Mapping[str, Any], context: str) -> Answer:
    """Return an Answer for a record of bert-squad's JSON lines."""
    return Answer(context=context, **{name: record[name] for name in _NAMES if name != "context"})


class Answers(ItemResults[Answer]):
    """Answers to n questions: a sequence of `Answer`."""

    @property
    def best(self) -> list[str]:
        """Return the answers as texts, "" if there is no answer."""
        return [item.answer for item in self]

    def columns(self) -> dict[str, ResultColumn]:
        """Return the answers as columns, without the candidates."""
        names = [name for name in _NAMES if name not in ("question", "context", "nbest")]
        return {name: [getattr(item, name) for item in self] for name in names}

    def _examples(self) -> dict[str, object]:
        return {"answer": "", "probability": 0.0, "start": 0, "end": 0, "sentence": ""}

    def _summary(self, item: Answer) -> str:
        return f"{shorten_text(item.question)}  {shorten_text(item.answer) or 'no answer'}"
