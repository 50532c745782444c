"""Reader for SQuAD 1.1 and 2.0 files, and for lines of {"id", "question", "context"}.

Files may also have a record per question, as Hugging Face's data sets do: JSON lines, an array, an
array in "data", or a table. Context words and answer positions are the same as in Google's run_squad.py. A
file with a different layout raises InputError, for example `train.json:
data[3].paragraphs[0].qas[2]: has no "question"`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeGuard, cast

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import quote
from bert_cli.base.json_files import as_object, expect, expect_member
from bert_cli.base.log import LOG
from bert_cli.examples.squad.records import Paragraph, SquadExample, split_context
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.examples.squad.tables import read_question_table
from bert_cli.reading.columns.facts import DataFacts
from bert_cli.reading.records import unwrap_answer
from bert_cli.reading.rows import LeftOutRows

_LAYOUT = (
    'a SQuAD file is {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}, '
    'or has records {"id", "question", "context", "answers"}'
)
# pandas and spreadsheets write booleans as numbers or texts.
_MARKS = {"true": True, "1": True, "false": False, "0": False}
_ANSWER_LAYOUT = 'an answer is {"text": "…", "answer_start": characters before it in the context}'
# Members of questions, contexts and articles.
_USED_MEMBERS = {"id", "question", "context", "answers", "answer", "is_impossible", "paragraphs", "qas"}
_ANSWERS_LAYOUT = f"{_ANSWER_LAYOUT}; give [] for an impossible question"


class Question(NamedTuple):
    """A question in its file.

    Attributes:
        location: path and position in the file, for messages.
        qas_id: the question's id.
        text: the question.
        paragraph: its context.
        fields: its JSON object.
    """

    location: str
    qas_id: str
    text: str
    paragraph: Paragraph
    fields: dict


class QuestionFile(NamedTuple):
    """Questions in order, and names of members that are not used."""

    path: str
    questions: list[Question]
    not_used: tuple[str, ...]

    def facts(self, num_questions: int, left_out: Sequence[LeftOutRows] = ()) -> DataFacts:
        """Return the account of the file.

        Args:
            num_questions: number of questions that are used.
            left_out: answers or questions that are not used.
        """
        return DataFacts(self.path, num_questions, "questions", not_used=self.not_used, left_out=left_out)


class QuestionExamples(NamedTuple):
    """Examples, and their file's account."""

    examples: list[SquadExample]
    facts: DataFacts


class GoldAnswer(NamedTuple):
    """An answer, and the offset of its first character in the context, None if the file lacks it."""

    text: str
    start: int | None


def read_id(value: object, location: str, advice: str) -> str | None:
    """Return an id as text, or None for null; some data sets use numbers.

    Args:
        value: value for the id.
        location: file and position, for messages.
        advice: how to write questions, for messages.
    """
    if value is None:
        return None
    return str(value) if type(value) is int else expect(value, str, location, advice)


def _iterate_articles(source: QuestionSource, members: dict[str, None]) -> Iterator[tuple[str, object]]:
    """Yield the location and JSON value of each article, or of each record with one question."""
    path = source.path
    if table := source.table():
        records = read_question_table(table)
        members.update(dict.fromkeys(records.not_used))
        yield from records.rows
        return
    document = source.document()
    root = document.root
    if isinstance(root, list):
        for i, article in enumerate(root):
            yield f"{path}: [{i}]", article
    elif (unwrapped := unwrap_answer(root)) is not None:
        members.update(dict.fromkeys(unwrapped.unread))
        for i, record in enumerate(unwrapped.values):
            yield f"{path}: rows[{i}]", record
    elif len(document.values) == 1 and not _is_record(root):
        articles = expect_member(root, "data", list, path, _LAYOUT)
        members.update(dict.fromkeys(name for name in as_object(root) if name != "data"))
        for i, article in enumerate(articles):
            yield f"{path}: data[{i}]", article
    else:
        for value in document.values:
            yield f"{path}:{value.line}", value.value


def _is_record(value: object) -> TypeGuard[dict]:
    """Return whether a value is a context with one question, and no article."""
    return isinstance(value, dict) and "context" in value and "qas" not in value


def _iterate_entries(source: QuestionSource, members: dict[str, None]) -> Iterator[tuple[str, Paragraph, dict]]:
    """Yield the location, paragraph and JSON object for each question.

    Args:
        members: collector for member names.
    """
    paragraph = split_context("")
    for article_location, article in _iterate_articles(source, members):
        if _is_record(article):
            members.update(dict.fromkeys(article))
            # Records about the same context usually follow one another.
            context = expect_member(article, "context", str, article_location, _LAYOUT)
            paragraph = paragraph if context == paragraph.context else split_context(context)
            yield article_location, paragraph, article
            continue
        for j, entry in enumerate(expect_member(article, "paragraphs", list, article_location, _LAYOUT)):
            location = f"{article_location}.paragraphs[{j}]"
            paragraph = split_context(expect_member(entry, "context", str, location, _LAYOUT))
            for k, fields in enumerate(expect_member(entry, "qas", list, location, _LAYOUT)):
                yield f"{location}.qas[{k}]", paragraph, fields
                members.update(dict.fromkeys(fields))
            members.update(dict.fromkeys(entry))
        members.update(dict.fromkeys(cast(dict, article)))


def read_questions(source: QuestionSource) -> QuestionFile:
    """Read a SQuAD file's or a table's questions in order.

    Questions without id get the id "question-N", using their number in the file, and are counted in
    the log. Raise InputError for a file with a different layout or without questions.
    """
    path = source.path
    questions = []
    members: dict[str, None] = {}
    for location, paragraph, fields in _iterate_entries(source, members):
        text = expect_member(fields, "question", str, location, _LAYOUT)
        qas_id = read_id(fields.get("id"), f"{location}.id", _LAYOUT)
        questions.append(Question(location, qas_id or "", text, paragraph, fields))
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
    return QuestionFile(path, questions, find_unused(members))


def check_new_id(qas_id: str, location: str, locations: dict[str, str]) -> None:
    """Raise InputError for a repeated id, because predictions are stored by id.

    Args:
        qas_id: new id.
        location: file and position.
        locations: positions by id so far; gets this one.
    """
    if qas_id in locations:
        raise InputError(
            f"{location}: the id {quote(qas_id)} is also the id of {locations[qas_id]}; give every question an id of its own"
        )
    locations[qas_id] = location


def _read_unique_questions(source: QuestionSource) -> QuestionFile:
    """Read a SQuAD file's questions; raise InputError for a repeated id."""
    locations: dict[str, str] = {}
    file = read_questions(source)
    for question in file.questions:
        check_new_id(question.qas_id, question.location, locations)
    return file


def _make_example(question: Question) -> SquadExample:
    return SquadExample(question.qas_id, question.text, question.paragraph)


def read_squad_examples(source: QuestionSource) -> QuestionExamples:
    """Read the questions to predict in file order, without answers.

    Raise InputError for a repeated id.
    """
    file = _read_unique_questions(source)
    return QuestionExamples([_make_example(question) for question in file.questions], file.facts(len(file.questions)))


def find_unused(members: Iterable[str]) -> tuple[str, ...]:
    """Return the members that have no meaning here."""
    return tuple(name for name in members if name not in _USED_MEMBERS)


def read_answers(question: Question) -> list[GoldAnswer]:
    """Return a question's answers; raise InputError if "answers" is missing or malformed.

    Hugging Face's data sets have an object with a list of texts and a list of offsets. Other files
    have the text of the only answer in "answer".
    """
    location = f"{question.location}.answers"
    columns = question.fields.get("answers")
    if columns is None and isinstance(question.fields.get("answer"), str):
        return [GoldAnswer(question.fields["answer"], None)] if question.fields["answer"].strip() else []
    if isinstance(columns, dict):
        texts = expect_member(columns, "text", list, location, _ANSWERS_LAYOUT)
        starts = expect_member(columns, "answer_start", list, location, _ANSWERS_LAYOUT)
        refuse_if(
            len(texts) != len(starts),
            f"{location}: has {len(texts)} texts, but answer_start has {len(starts)} numbers; {_ANSWERS_LAYOUT}",
        )
        entries = [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    else:
        entries = expect_member(question.fields, "answers", list, question.location, _ANSWERS_LAYOUT)
    return [
        GoldAnswer(
            expect_member(entry, "text", str, f"{location}[{index}]", _ANSWER_LAYOUT),
            expect_member(entry, "answer_start", int, f"{location}[{index}]", _ANSWER_LAYOUT)
            if entry.get("answer_start") is not None
            else None,
        )
        for index, entry in enumerate(entries)
    ]


def read_mark(question: Question) -> bool | None:
    """Return whether a question is marked as impossible, or None if it has no mark."""
    value = question.fields.get("is_impossible")
    location = f"{question.location}.is_impossible"
    return None if value is None else expect(_MARKS.get(str(value).lower(), value), bool, location, "correct it")


def _read_gold_texts(question: Question) -> tuple[str, ...]:
    """Return the correct answers, or () for an impossible question.

    If there are answers, is_impossible is ignored, as in the official scorer.
    """
    if question.fields.get("answers") is None and question.fields.get("answer") is None and read_mark(question):
        return ()
    return tuple(answer.text for answer in read_answers(question))


def read_gold_answers(source: QuestionSource) -> dict[str, tuple[str, ...]]:
    """Return the correct answers by question id, using () for impossible questions.

    Raise InputError if an id is repeated, or if a question has no answers and is not marked as
    impossible.
    """
    return {question.qas_id: _read_gold_texts(question) for question in _read_unique_questions(source).questions}


def read_scored_examples(source: QuestionSource) -> tuple[QuestionExamples, dict[str, tuple[str, ...]]]:
    """Return the questions to predict, and their correct answers (see read_gold_answers)."""
    file = _read_unique_questions(source)
    examples = QuestionExamples(
        [_make_example(question) for question in file.questions], file.facts(len(file.questions))
    )
    return examples, {question.qas_id: _read_gold_texts(question) for question in file.questions}
