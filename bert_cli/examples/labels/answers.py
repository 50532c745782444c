"""Answers from Prodigy: which labels of a file annotators accepted, rejected or ignored.

An accepted record has its label. A rejected one does not have it, but may have other labels. An
ignored one is left out. A record without an answer was not made by Prodigy, so its label counts.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more, list_names, quote
from bert_cli.base.log import LOG
from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.reading.columns.answers import ACCEPT, ANSWERS, REJECT, is_accepted
from bert_cli.reading.rows import LeftOutRows

Text = tuple[str, str | None]  # a text, or a pair of texts


class ProdigyAnswers(NamedTuple):
    """Answers of n rows.

    Attributes:
        values: accept, reject, ignore or "".
        texts: the text or pair of texts of each row.
    """

    values: Sequence[str]
    texts: Sequence[Text]


class AnsweredCells(NamedTuple):
    """Label cells after the answers were applied.

    Attributes:
        cells: label cells of the rows that are left.
        rows: their 0-based row numbers.
        problem_type: problem type that the answers require, or the given one.
        left_out: rows without a usable answer.
    """

    cells: LabelCells
    rows: list[int]
    problem_type: ProblemType | None
    left_out: tuple[LeftOutRows, ...]


def apply_answers(cells: LabelCells, answers: ProdigyAnswers, problem_type: ProblemType | None) -> AnsweredCells:
    """Leave out rows without a usable answer.

    Multi-label data keeps one row per text, with the accepted labels, which may be (). Other data
    keeps accepted rows, because a rejected row does not have another label.

    Args:
        cells: label cells of all rows, with lists as tuples.
        answers: the rows' answers.
        problem_type: problem type, None if the file decides it.

    Raises:
        InputError: no row is left.
    """
    file = _AnsweredFile(cells, answers)
    if problem_type is None and (reason := file.find_multi_label_reason()):
        LOG.info("%s: multi-label classification: %s", cells.path, reason)
        problem_type = MULTI_LABEL
    is_multi_label = problem_type is not None and problem_type.reader.takes_sets
    labels_by_row = file.join_texts() if is_multi_label else file.accepted_cells()
    rows = list(labels_by_row)
    left_out = file.find_left_out(rows, is_multi_label)
    file.log(rows, left_out)
    if not rows:
        counts = Counter(answers.values)
        found = ", ".join(f"{count} {answer}" for answer, count in counts.items())
        raise InputError(f"{cells.path}:{cells.lines[0]}: no row has the answer {ACCEPT} ({found}); check the file")
    answered = replace(cells.take(rows), rows=list(labels_by_row.values()))
    return AnsweredCells(answered, rows, problem_type, left_out)


class _AnsweredFile:
    """A file's rows by answer. A binary row asks about a single label, as in {"label": "A"}."""

    def __init__(self, cells: LabelCells, answers: ProdigyAnswers) -> None:
        self._cells, self._answers = cells, answers
        self._rows = {
            answer: [row for row, value in enumerate(answers.values) if (value or ACCEPT) == answer]
            for answer in ANSWERS
        }
        has_single_labels = len(cells.columns) == 1 and not cells.separator
        self._binary = {
            answer: [row for row in rows if has_single_labels and isinstance(cells.rows[row][0], str)]
            for answer, rows in self._rows.items()
        }

    def _label(self, row: int) -> str:
        return str(self._cells.rows[row][0])

    def _first_rows(self, answer: str) -> Mapping[tuple[Text, str], int]:
        """Return the first binary row with an answer, by text and label."""
        first: dict[tuple[Text, str], int] = {}
        for row in self._binary[answer]:
            if self._label(row):
                first.setdefault((self._answers.texts[row], self._label(row)), row)
        return first

    def find_multi_label_reason(self) -> str:
        """Return the reason why each text has any number of labels, or ""."""
        accepted = self._first_rows(ACCEPT)
        labels = {label for _, label in (*accepted, *self._first_rows(REJECT))}
        if len(labels) == 1 and accepted and self._binary[REJECT]:
            return f"all answers are about the label {quote(labels.pop())}"
        first_rows: dict[Text, int] = {}
        for (text, _), row in accepted.items():
            if text in first_rows:
                lines = [self._cells.lines[first_rows[text]], self._cells.lines[row]]
                return f"the text in lines {lines[0]} and {lines[1]} has two accepted labels"
            first_rows[text] = row
        return ""

    def accepted_cells(self) -> dict[int, tuple]:
        """Return the label cells of the accepted rows, by row."""
        return {row: self._cells.rows[row] for row in self._rows[ACCEPT]}

    def join_texts(self) -> dict[int, tuple]:
        """Return the label cells of multi-label data: one row per text of binary rows."""
        binary = {*self._binary[ACCEPT], *self._binary[REJECT]}
        names_by_text: dict[Text, dict[str, None]] = {}
        labels_by_row: dict[int, tuple] = {}
        rows_by_text: dict[Text, int] = {}
        for row in sorted({*self._rows[ACCEPT], *binary}):
            if row not in binary:
                labels_by_row[row] = self._cells.rows[row]
                continue
            text = self._answers.texts[row]
            rows_by_text.setdefault(text, row)
            names = names_by_text.setdefault(text, {})
            if self._label(row) and is_accepted(self._answers.values[row]):
                names[self._label(row)] = None
            labels_by_row[rows_by_text[text]] = (tuple(names),)
        return labels_by_row

    def find_left_out(self, kept_rows: Sequence[int], is_multi_label: bool) -> tuple[LeftOutRows, ...]:
        """Return the rows without a label by their answer."""
        used = {*self._rows[ACCEPT], *self._binary[REJECT]} if is_multi_label else set(kept_rows)
        lines = [line for row, line in enumerate(self._cells.lines) if row not in used]
        reason = "rows without a label by Prodigy's answers" if is_multi_label else "rows that are not accepted"
        return LeftOutRows.of_lines(reason, lines, is_requested=True)

    def log(self, kept_rows: Sequence[int], left_out: Sequence[LeftOutRows]) -> None:
        """Log the answers, and labels with different answers."""
        path, lines = self._cells.path, self._cells.lines
        counts = ", ".join(f"{len(rows)} {answer}" for answer, rows in self._rows.items() if rows)
        num_used = len(lines) - sum(rows.num_rows for rows in left_out)
        joined = f"; {num_used} rows are about {len(kept_rows)} texts" if num_used > len(kept_rows) else ""
        LOG.info("%s: read Prodigy's answers: %s%s", path, counts, joined)
        accepted, rejected = self._first_rows(ACCEPT), self._first_rows(REJECT)
        both = [(lines[row], (lines[rejected[key]], key[1])) for key, row in accepted.items() if key in rejected]
        if both:
            line, (other_line, label) = both[0]
            LOG.warning(
                "%s:%d: warning: the label %s is accepted here, and rejected for the same text in line %d%s; accept "
                "counts", path, line, quote(label), other_line, count_more(both),
            )  # fmt: skip
        unused = sorted({label for _, label in rejected} - {label for _, label in accepted})
        if unused:
            LOG.warning("%s: warning: no row is accepted with the label %s", path, list_names(unused))
