"""SQuAD files -> training examples, whose answers are indices of words."""

from bisect import bisect_right

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.examples.squad.reading import Answer, Question, read_answers, read_mark, read_questions
from bert_cli.examples.squad.records import Paragraph, SquadExample
from bert_cli.settings.squad import MULTIPLE_ANSWERS


def _is_impossible(question: Question, version_2_with_negative: bool) -> bool:
    """Return whether a training question is impossible.

    Raise InputError if it is and the flag is not given.
    """
    mark = read_mark(question)
    # Without the flag, training would learn questions without an answer as if each had one.
    refuse_if(
        mark and not version_2_with_negative,
        f"{question.place}: is_impossible is set, so this is SQuAD 2.0 data; give --version_2_with_negative",
    )
    if version_2_with_negative and mark is None:
        return not read_answers(question)  # as in the official scorer
    return bool(mark)


def _chosen_answers(question: Question, multiple_answers: str | None) -> list[Answer]:
    """Return the answers to learn from.

    Raise InputError if there is none, or several and no rule for them.
    """
    answers = read_answers(question)
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


def _locate(paragraph: Paragraph, answer: Answer) -> tuple[int, int] | None:
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
    """Return the training examples of a SQuAD file, in file order.

    An answer that is not at its `answer_start` (in characters of the context) is skipped. The log
    has the counts of such answers, of repeated ids, and of questions without `is_impossible`.

    Args:
        path: the file.
        version_2_with_negative: whether questions may be impossible; of questions without a mark,
            those with "answers": [] are.
        multiple_answers: rule for several answers: "first", "all" (an example per different
            answer), None for an error.

    Raises:
        InputError: a question lacks an answer, or is impossible without `version_2_with_negative`;
            or no answer is at its position.
    """
    if multiple_answers not in (None, *MULTIPLE_ANSWERS):
        raise ValueError(f"no such rule for several answers: {multiple_answers!r}")
    examples: list[SquadExample] = []
    num_not_found = 0
    questions = read_questions(path)
    for question in questions:
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
    if num_repeated := len(questions) - len({question.qas_id for question in questions}):
        LOG.warning("%s: %d question(s) have the id of an earlier one", path, num_repeated)
    if version_2_with_negative:
        _log_marks(path, questions)
    return examples


def _log_marks(path: str, questions: list[Question]) -> None:
    """Log how questions without `is_impossible` were read."""
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
