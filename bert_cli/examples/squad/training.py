"""Reader for training examples in SQuAD files: answers become word positions."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_some, quote
from bert_cli.base.log import LOG
from bert_cli.examples.squad.reading import (
    GoldAnswer,
    Question,
    QuestionExamples,
    read_answers,
    read_mark,
    read_questions,
)
from bert_cli.examples.squad.records import Paragraph, SquadExample
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.reading.rows import LeftOutRows
from bert_cli.settings.answering import MULTIPLE_ANSWERS
from bert_cli.text.offset_units import CODE_POINTS, OffsetUnit, choose_unit


def _is_impossible(question: Question, version_2_with_negative: bool) -> bool:
    """Return whether a training question is impossible.

    Raise InputError if it is impossible and the flag is not given.
    """
    mark = read_mark(question)
    # Refuse: without the flag, training would treat every question as answerable.
    refuse_if(
        mark and not version_2_with_negative,
        f"{question.location}: is_impossible is set, so this is SQuAD 2.0 data; give --version_2_with_negative",
    )
    if version_2_with_negative and mark is None:
        return not read_answers(question)  # same rule as the official scorer
    return bool(mark)


def _select_answers(question: Question, multiple_answers: str | None) -> list[GoldAnswer]:
    """Return the answers used for training.

    Raise InputError without answers, or with several answers and no rule for them.
    """
    answers = read_answers(question)
    if not answers:
        raise InputError(
            f"{question.location}: has no answer; training needs one, "
            'or "is_impossible": true together with --version_2_with_negative'
        )
    if len(answers) > 1 and multiple_answers is None:
        raise InputError(
            f"{question.location}: has {len(answers)} answers, training takes one (is this a dev "
            "file?); give --multiple_answers=first, or --multiple_answers=all to learn each of "
            "them"
        )
    answers = [answer if answer.start is not None else _find_answer(question, answer) for answer in answers]
    # Drop duplicates: annotators often mark the same words, which would count twice in training.
    return answers[:1] if multiple_answers != "all" else list(dict.fromkeys(answers))


def _find_answer(question: Question, answer: GoldAnswer) -> GoldAnswer:
    """Return an answer without offset with the offset of its only occurrence in the context, or -1.

    Raise InputError if there are several occurrences. Whole words are preferred.
    """
    text, context = answer.text.strip(), question.paragraph.context
    for pattern in (rf"(?<!\w){re.escape(text)}(?!\w)", re.escape(text)):
        starts = [match.start() for match in re.finditer(pattern, context)] if text else []
        if len(starts) > 1:
            raise InputError(
                f"{question.location}: the answer {quote(text)} occurs {len(starts)} times in its context, at the "
                f"characters {list_some(list(map(str, starts)), 3)}; give answer_start, the number of characters before it"
            )
        if starts:
            return GoldAnswer(text, starts[0])
    return GoldAnswer(answer.text, -1)


class _Words(NamedTuple):
    """Words of a context at an answer's position, and whether they contain the answer."""

    first: int
    last: int
    text: str
    have_answer: bool


def _find_words(paragraph: Paragraph, answer: GoldAnswer, unit: OffsetUnit) -> _Words:
    """Return the words at an answer's position; an answer may begin and end inside a word.

    Args:
        paragraph: the context.
        unit: unit of `answer_start`.
    """
    offset = -1 if answer.start is None else answer.start
    end = offset + unit.measure(answer.text)[-1]
    ((start, end),) = unit.to_code_points(paragraph.context, [(offset, end)])
    first = bisect_right(paragraph.token_starts, start) - 1
    last = bisect_right(paragraph.token_starts, end - 1) - 1
    text = " ".join(paragraph.doc_tokens[max(first, 0) : last + 1])
    is_inside = start >= 0 and end <= len(paragraph.context)
    cleaned = _clean(answer)
    return _Words(first, last, text, bool(cleaned) and is_inside and first >= 0 and cleaned in text)


def _clean(answer: GoldAnswer) -> str:
    """Return an answer without differences in white space, which the original ignores, too."""
    return " ".join(answer.text.split())


def _locate(paragraph: Paragraph, answer: GoldAnswer, unit: OffsetUnit) -> tuple[int, int] | None:
    """Return the indices of an answer's first and last word; log and return None if it is absent."""
    words = _find_words(paragraph, answer, unit)
    if words.have_answer:
        return words.first, words.last
    LOG.warning("Could not find answer: '%s' vs. '%s'", words.text, _clean(answer))
    return None


def _choose_unit(path: str, answers_of_questions: Sequence[tuple[Question, list[GoldAnswer]]]) -> OffsetUnit:
    """Return the offset unit that finds most answers, and log an unusual one."""

    def list_fits(item: tuple[Question, list[GoldAnswer]], unit: OffsetUnit) -> list[bool]:
        question, answers = item
        return [_find_words(question.paragraph, answer, unit).have_answer for answer in answers]

    unit = choose_unit(answers_of_questions, list_fits)
    if unit != CODE_POINTS:
        LOG.info("%s: answer_start is read as offsets %s", path, unit)
    return unit


def read_training_examples(
    source: QuestionSource, version_2_with_negative: bool = False, multiple_answers: str | None = None
) -> QuestionExamples:
    """Read training examples in the order of their questions.

    `answer_start` has the offset unit that finds most answers (see offset_units). Without it, the
    answer is searched in its context, and must occur once. An answer that is
    not at its `answer_start` is left out. The log counts repeated ids, and questions without
    `is_impossible`.

    Args:
        version_2_with_negative: whether questions may be impossible. A question without
            `is_impossible` is impossible if it has no answers.
        multiple_answers: rule for questions with several answers: "first", "all" (one example per
            different answer), or None to raise an error.

    Raises:
        InputError: a question has no answer, a question is impossible without
            `version_2_with_negative`, or no answer in the file is at its `answer_start`.
    """
    if multiple_answers not in (None, *MULTIPLE_ANSWERS):
        raise ValueError(f"no such rule for several answers: {multiple_answers!r}")
    examples: list[SquadExample] = []
    num_not_found = num_used = 0
    path, file = source.path, read_questions(source)
    questions = file.questions
    answers_of_questions = [
        (
            question,
            [] if _is_impossible(question, version_2_with_negative) else _select_answers(question, multiple_answers),
        )
        for question in questions
    ]
    unit = _choose_unit(path, answers_of_questions)
    for question, answers in answers_of_questions:
        common = (question.qas_id, question.text, question.paragraph)
        if not answers:
            examples.append(SquadExample(*common, "", -1, -1, is_impossible=True))
        num_examples = len(examples)
        for answer in answers:
            words = _locate(question.paragraph, answer, unit)
            if words is None:
                num_not_found += 1
            else:
                examples.append(SquadExample(*common, answer.text, *words))
        num_used += not answers or len(examples) > num_examples
    if not examples:
        raise InputError(
            f"{path}: none of its {num_not_found} answers is in its context, at its answer_start if it has one; "
            "answer_start counts characters of the context from 0"
        )
    left_out = [LeftOutRows("answers that are not at their answer_start", num_not_found)] if num_not_found else []
    if num_repeated := len(questions) - len({question.qas_id for question in questions}):
        LOG.warning("%s: %d question(s) have the id of an earlier one", path, num_repeated)
    if version_2_with_negative:
        _log_marks(path, questions)
    return QuestionExamples(examples, file.facts(num_used, left_out))


def _log_marks(path: str, questions: list[Question]) -> None:
    """Log how many questions without `is_impossible` are answerable or impossible."""
    unmarked = [question for question in questions if read_mark(question) is None]
    if unmarked:
        unanswerable = sum(not read_answers(question) for question in unmarked)
        counts = len(unmarked), len(questions), len(unmarked) - unanswerable, unanswerable
        LOG.info(
            "%s: %d of %d questions have no is_impossible: %d with answers are answerable, %d without are impossible",
            path,
            *counts,
        )
        if len(unmarked) == len(questions) and not unanswerable:
            LOG.warning(
                "warning: %s: no question is impossible; leave --version_2_with_negative out for SQuAD 1.1 data", path
            )
