"""Prodigy's member with the answer of an annotator: accept, reject or ignore."""

from collections.abc import Iterable

ANSWER = "answer"  # name of the member
ACCEPT, REJECT, IGNORE = "accept", "reject", "ignore"
ANSWERS = (ACCEPT, REJECT, IGNORE)


def is_answer(value: object) -> bool:
    """Return whether a value is one of Prodigy's answers."""
    return value in ANSWERS


def is_accepted(answer: object) -> bool:
    """Return whether a record's annotations count: they are accepted, or nobody answered."""
    return answer in (None, "", ACCEPT)


def are_answers(values: Iterable[object]) -> bool:
    """Return whether a column has Prodigy's answers and no other values; it may have empty cells."""
    distinct = {value if isinstance(value, str) else None for value in values}
    return distinct <= {*ANSWERS, ""} and bool(distinct - {""})
