"""SQuAD 1.1 and 2.0 files, and lines of {"id", "question", "context"}, -> SquadExample records.

The words of a context and the position of an answer are found as in Google's run_squad.py. Other
layouts raise an InputError such as `train.json: data[3].paragraphs[0].qas[2]: has no "question"; …`.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import expect, expect_member, parse_json, read_json
from bert_cli.base.log import LOG
from bert_cli.base.messages import quote
from bert_cli.examples.squad.records import Paragraph, SquadExample, split_context

_LAYOUT = 'a SQuAD file is {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}'
_LINE_LAYOUT = 'each line is {"id": "…", "question": "…", "context": "…"}'
# pandas and spreadsheets write booleans as numbers or texts.
_MARKS = {"true": True, "1": True, "false": False, "0": False}
_ANSWER_LAYOUT = 'an answer is {"text": "…", "answer_start": characters before it in the context}'
_ANSWERS_LAYOUT = f"{_ANSWER_LAYOUT}; give [] for an impossible question"


class Question(NamedTuple):
    """A question as its file has it, with all members of its entry."""

    place: str  # path and position in the file, for messages
    qas_id: str
    text: str
    paragraph: Paragraph
    fields: dict


class Answer(NamedTuple):
    """An answer and its first character in the context."""

    text: str
    start: int


def _identifier(value: object, place: str, advice: str) -> str | None:
    """Return an id as text, None for null. Some data sets number their questions."""
    return str(value) if type(value) is int else None if value is None else expect(value, str, place, advice)


def _entries(path: str) -> Iterator[tuple[str, Paragraph, dict]]:
    """Yield place, paragraph and members of each question of a SQuAD file.

    Raise InputError for another layout.
    """
    for i, article in enumerate(expect_member(read_json(path), "data", list, path, _LAYOUT)):
        article_place = f"{path}: data[{i}]"
        for j, entry in enumerate(expect_member(article, "paragraphs", list, article_place, _LAYOUT)):
            place = f"{article_place}.paragraphs[{j}]"
            paragraph = split_context(expect_member(entry, "context", str, place, _LAYOUT))
            for k, fields in enumerate(expect_member(entry, "qas", list, place, _LAYOUT)):
                yield f"{place}.qas[{k}]", paragraph, fields


def read_questions(path: str) -> list[Question]:
    """Return the questions of a SQuAD file, in order.

    A question without id, or with null, gets `question-N`; N is its number in the file. The log has
    their count. Raises InputError for another layout, or if there is no question.
    """
    questions = []
    for place, paragraph, fields in _entries(path):
        text = expect_member(fields, "question", str, place, _LAYOUT)
        qas_id = _identifier(fields.get("id"), f"{place}.id", _LAYOUT)
        questions.append(Question(place, qas_id or "", text, paragraph, fields))
    refuse_if(not questions, f"{path}: holds no question; {_LAYOUT}")
    ids = {question.qas_id for question in questions}
    missing = [number for number, question in enumerate(questions) if question.fields.get("id") is None]
    for number in missing:
        qas_id = f"question-{number + 1}"
        while qas_id in ids:
            qas_id += "_"
        questions[number] = questions[number]._replace(qas_id=qas_id)
    if missing:
        counts = len(missing), len(questions), questions[missing[0]].qas_id
        LOG.info("%s: %d of %d questions have no id; each gets one by its number, such as %s", path, *counts)
    return questions


def _check_new(qas_id: str, place: str, places: dict[str, str]) -> None:
    """Raise InputError for a repeated id: its prediction would belong to two questions."""
    if qas_id in places:
        raise InputError(
            f"{place}: the id {quote(qas_id)} is also the id of {places[qas_id]}; give every question an id of its own"
        )
    places[qas_id] = place


def _new_questions(path: str) -> Iterator[Question]:
    """Yield the questions of a SQuAD file. Raise InputError for an id that comes twice."""
    places: dict[str, str] = {}
    for question in read_questions(path):
        _check_new(question.qas_id, question.place, places)
        yield question


def _unanswered(question: Question) -> SquadExample:
    return SquadExample(question.qas_id, question.text, question.paragraph)


def read_examples(path: str) -> list[SquadExample]:
    """Return the questions to predict, in file order.

    Answers are not read. Raise InputError for a repeated id.
    """
    return [_unanswered(question) for question in _new_questions(path)]


def parse_question(line: str, path: str, number: int) -> SquadExample:
    """Return the question of one line, {"id", "question", "context"}.

    A missing id is the line number.
    """
    place = f"{path}:{number}"
    fields = parse_json(line, path, number)
    question = expect_member(fields, "question", str, place, _LINE_LAYOUT)
    context = expect_member(fields, "context", str, place, _LINE_LAYOUT)
    qas_id = _identifier(fields.get("id"), f"{place}.id", _LINE_LAYOUT)
    return SquadExample(str(number) if qas_id is None else qas_id, question, split_context(context))


def parse_questions(lines: Iterable[str], path: str) -> Iterator[SquadExample]:
    """Yield the questions of lines as they come, see parse_question. Blank lines are skipped.

    `path` is the name of the lines in messages. Raises InputError for another layout and for a repeated id.
    """
    places: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            example = parse_question(line, path, number)
            _check_new(example.qas_id, f"{path}:{number}", places)
            yield example


def read_answers(question: Question) -> list[Answer]:
    """Return the answers as written.

    Raise InputError if the member is missing or has another layout.
    """
    answers = []
    for index, entry in enumerate(expect_member(question.fields, "answers", list, question.place, _ANSWERS_LAYOUT)):
        place = f"{question.place}.answers[{index}]"
        text = expect_member(entry, "text", str, place, _ANSWER_LAYOUT)
        answers.append(Answer(text, expect_member(entry, "answer_start", int, place, _ANSWER_LAYOUT)))
    return answers


def read_mark(question: Question) -> bool | None:
    """Return whether a question is marked as impossible, None without a mark."""
    value = question.fields.get("is_impossible")
    place = f"{question.place}.is_impossible"
    return None if value is None else expect(_MARKS.get(str(value).lower(), value), bool, place, "correct it")


def _gold_texts(question: Question) -> tuple[str, ...]:
    """Return the right answers, () if there is none.

    The official scorer needs "answers" and does not read is_impossible.
    """
    if question.fields.get("answers") is None and read_mark(question):
        return ()
    return tuple(answer.text for answer in read_answers(question))


def read_gold_answers(path: str) -> dict[str, tuple[str, ...]]:
    """Return the right answers to each question, () for an impossible question.

    Raises InputError for a repeated id, and for a question without "answers" that is not marked as
    impossible.
    """
    return {question.qas_id: _gold_texts(question) for question in _new_questions(path)}


def read_scored_examples(path: str) -> tuple[list[SquadExample], dict[str, tuple[str, ...]]]:
    """Return the questions to predict and the right answers to them; see read_gold_answers."""
    questions = list(_new_questions(path))
    return [_unanswered(question) for question in questions], {q.qas_id: _gold_texts(q) for q in questions}
