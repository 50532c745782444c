"""SQuAD 1.1 and 2.0 files, and lines of {"id", "question", "context"}, -> SquadExample records.

The words of a context and the place of an answer are found as in Google's run_squad.py. Unlike
there, what is missing or does not fit is an InputError that says where: `train.json:
data[3].paragraphs[0].qas[2]: has no "question"; …`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import expect, member, parse_json, read_json
from bert_cli.base.log import LOG
from bert_cli.base.messages import quoted
from bert_cli.settings.squad import MULTIPLE_ANSWERS

# The original's white space: U+202F splits, other spaces of Unicode such as U+00A0 and U+3000 are
# parts of words.
_WORD = re.compile("[^ \t\r\n\u202f]+")

_LAYOUT = 'a SQuAD file is {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}'
_LINE_LAYOUT = 'each line is {"id": "…", "question": "…", "context": "…"}'
_ANSWER_LAYOUT = 'an answer is {"text": "…", "answer_start": characters before it in the context}'


@dataclass(frozen=True, eq=False)
class Paragraph:
    """A context and its words; one object for all its questions, told from others by identity.

    context       the text
    doc_tokens    its words, which white space separates
    token_starts  index in `context` (in characters, which are code points) of each word's first character
    """

    context: str
    doc_tokens: tuple[str, ...]
    token_starts: tuple[int, ...]


@dataclass(frozen=True)
class SquadExample:
    """A question about a paragraph.

    answer_text     the answer as written; None in prediction, "" for an impossible question
    start_position  index of the answer's first word; None in prediction, -1 for an impossible question
    end_position    index of its last word
    is_impossible   whether the context has no answer; False in prediction
    """

    qas_id: str
    question: str
    paragraph: Paragraph
    answer_text: str | None = None
    start_position: int | None = None
    end_position: int | None = None
    is_impossible: bool = False


class _Question(NamedTuple):
    place: str  # path and position in the file, for messages
    qas_id: str
    text: str
    paragraph: Paragraph
    fields: dict


class _Answer(NamedTuple):
    text: str
    start: int


def split_context(context: str) -> Paragraph:
    """The words of a context: cut at space, tab, carriage return, line feed and U+202F only."""
    words = list(_WORD.finditer(context))
    return Paragraph(context, tuple(word.group() for word in words), tuple(word.start() for word in words))


def _identifier(value: object, place: str, advice: str) -> str:
    # Some data sets number their questions; predictions are an object, whose keys are texts.
    return str(value) if type(value) is int else expect(value, str, place, advice)


def _questions(path: str) -> Iterator[_Question]:
    """The questions of a SQuAD file in order. InputError where the file is not laid out as one, or
    holds none.
    """
    empty = True
    for i, article in enumerate(member(read_json(path), "data", list, path, _LAYOUT)):
        article_place = f"{path}: data[{i}]"
        for j, entry in enumerate(member(article, "paragraphs", list, article_place, _LAYOUT)):
            place = f"{article_place}.paragraphs[{j}]"
            paragraph = split_context(member(entry, "context", str, place, _LAYOUT))
            for k, fields in enumerate(member(entry, "qas", list, place, _LAYOUT)):
                here = f"{place}.qas[{k}]"
                text = member(fields, "question", str, here, _LAYOUT)
                qas_id = _identifier(fields.get("id"), f"{here}.id", _LAYOUT)
                empty = False
                yield _Question(here, qas_id, text, paragraph, fields)
    if empty:
        raise InputError(f"{path}: holds no question; {_LAYOUT}")


def _check_new(qas_id: str, place: str, places: dict[str, str]) -> None:
    """InputError where an id was seen before: its prediction would belong to two questions."""
    if qas_id in places:
        raise InputError(
            f"{place}: the id {quoted(qas_id)} is also the id of {places[qas_id]}; give every question an id of its own"
        )
    places[qas_id] = place


def read_examples(path: str) -> list[SquadExample]:
    """Questions to predict, in file order; answers are not read. InputError for an id that comes
    twice.
    """
    examples: list[SquadExample] = []
    places: dict[str, str] = {}
    for question in _questions(path):
        _check_new(question.qas_id, question.place, places)
        examples.append(SquadExample(question.qas_id, question.text, question.paragraph))
    return examples


def parse_question(line: str, path: str, number: int) -> SquadExample:
    """The question of one line, {"id", "question", "context"}; without "id" it is the line's
    number. InputError.
    """
    place = f"{path}:{number}"
    fields = parse_json(line, path, number)
    question = member(fields, "question", str, place, _LINE_LAYOUT)
    context = member(fields, "context", str, place, _LINE_LAYOUT)
    qas_id = _identifier(fields.get("id", number), f"{place}.id", _LINE_LAYOUT)
    return SquadExample(qas_id, question, split_context(context))


def parse_questions(lines: Iterable[str], path: str) -> Iterator[SquadExample]:
    """The questions of lines as they come (see parse_question); blank lines are passed over.
    InputError as there.

    `path` is what messages call the place of the lines. An id that comes twice is an InputError.
    """
    places: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            example = parse_question(line, path, number)
            _check_new(example.qas_id, f"{path}:{number}", places)
            yield example


def _answers(question: _Question) -> list[_Answer]:
    answers = []
    for index, entry in enumerate(member(question.fields, "answers", list, question.place, _ANSWER_LAYOUT)):
        place = f"{question.place}.answers[{index}]"
        text = member(entry, "text", str, place, _ANSWER_LAYOUT)
        answers.append(_Answer(text, member(entry, "answer_start", int, place, _ANSWER_LAYOUT)))
    return answers


def read_gold_answers(path: str) -> dict[str, tuple[str, ...]]:
    """The texts of the right answers to each question, to score predictions with; none for an
    impossible question.

    InputError for a question without "answers" that is not marked impossible, and for an id that
    comes twice.
    """
    gold: dict[str, tuple[str, ...]] = {}
    places: dict[str, str] = {}
    for question in _questions(path):
        _check_new(question.qas_id, question.place, places)
        unanswered = question.fields.get("is_impossible") is True and "answers" not in question.fields
        gold[question.qas_id] = () if unanswered else tuple(answer.text for answer in _answers(question))
    return gold


def _is_impossible(question: _Question, version_2_with_negative: bool) -> bool:
    """Whether a training question is impossible. InputError where the flag and the data disagree."""
    if not version_2_with_negative:
        # A file of 2.0 read as 1.1 would train on questions without an answer, or end at the first
        # of them.
        if question.fields.get("is_impossible", False) is not False:
            raise InputError(
                f"{question.place}: is_impossible is set, so this is SQuAD 2.0 data; give --version_2_with_negative"
            )
        return False
    if "is_impossible" not in question.fields:
        raise InputError(
            f'{question.place}: has no "is_impossible", which --version_2_with_negative needs for training; '
            "leave the flag out for SQuAD 1.1 data"
        )
    return expect(question.fields["is_impossible"], bool, f"{question.place}.is_impossible", "correct it")


def _chosen_answers(question: _Question, multiple_answers: str | None) -> list[_Answer]:
    """The answers to learn from. InputError for a question without any, or with several and no rule
    for them.
    """
    answers = _answers(question)
    if not answers:
        raise InputError(
            f"{question.place}: has no answer; training needs one, "
            'or "is_impossible": true together with --version_2_with_negative'
        )
    if len(answers) > 1 and multiple_answers is None:
        raise InputError(
            f"{question.place}: has {len(answers)} answers, training takes one (is this a dev "
            "file?); give --multiple_answers=first, or --multiple_answers=all to learn each of "
            "them"
        )
    # Annotators often mark the same words; equal answers would count twice in training.
    return answers[:1] if multiple_answers != "all" else list(dict.fromkeys(answers))


def _locate(paragraph: Paragraph, answer: _Answer) -> tuple[int, int] | None:
    """Indices of the first and the last word of an answer; None, and a line in the log, where it is
    not there.

    An answer may be a part of its words; white space of either is compared as one space.
    """
    # As in the original: an answer is found if it is the same text but for white space.
    cleaned = " ".join(answer.text.split())
    last_character = answer.start + len(answer.text) - 1
    first = bisect_right(paragraph.token_starts, answer.start) - 1
    last = bisect_right(paragraph.token_starts, last_character) - 1
    actual = " ".join(paragraph.doc_tokens[max(first, 0) : last + 1])
    inside = answer.start >= 0 and last_character < len(paragraph.context)
    if not cleaned or not inside or first < 0 or cleaned not in actual:
        LOG.warning("Could not find answer: '%s' vs. '%s'", actual, cleaned)
        return None
    return first, last


def read_training_examples(
    path: str, version_2_with_negative: bool = False, multiple_answers: str | None = None
) -> list[SquadExample]:
    """Training examples of a SQuAD file, in file order.

    `multiple_answers` says what to do with a question of several answers: None, an InputError;
    "first", take the first; "all", an example for each different one. An answer that is not at its
    `answer_start` (in characters of the context) is left out, with a line in the log, and so is
    logged how many questions have the id of an earlier one. InputError
    for a question with no answer that is not impossible, for impossible questions without
    `version_2_with_negative`, for questions that do not say whether they are impossible with it,
    and where no answer can be found.
    """
    if multiple_answers not in (None, *MULTIPLE_ANSWERS):
        raise ValueError(f"no such rule for several answers: {multiple_answers!r}")
    examples: list[SquadExample] = []
    ids: set[str] = set()
    num_not_found = num_repeated = 0
    for question in _questions(path):
        num_repeated += question.qas_id in ids
        ids.add(question.qas_id)
        common = (question.qas_id, question.text, question.paragraph)
        if _is_impossible(question, version_2_with_negative):
            examples.append(SquadExample(*common, "", -1, -1, is_impossible=True))
            continue
        for answer in _chosen_answers(question, multiple_answers):
            words = _locate(question.paragraph, answer)
            if words is None:
                num_not_found += 1
            else:
                examples.append(SquadExample(*common, answer.text, *words))
    if not examples:
        raise InputError(
            f"{path}: none of its {num_not_found} answers is at its answer_start; "
            "answer_start counts characters of the context from 0"
        )
    if num_not_found:
        LOG.warning("%s: left out %d answer(s) that are not at their answer_start", path, num_not_found)
    if num_repeated:
        LOG.warning("%s: %d question(s) have the id of an earlier one", path, num_repeated)
    return examples


def describe_examples(examples: Sequence[SquadExample]) -> str:
    """For the log: `5173 questions about 1033 contexts`, and how many are impossible, and contexts
    without a word.
    """
    paragraphs = {id(example.paragraph): example.paragraph for example in examples}
    text = f"{len(examples)} questions about {len(paragraphs)} contexts"
    impossible = sum(example.is_impossible for example in examples)
    empty = sum(not paragraph.doc_tokens for paragraph in paragraphs.values())
    text += f", {impossible} of them impossible" if impossible else ""
    return text + (f"; {empty} contexts hold no word" if empty else "")
