"""Detection of text and label columns in a table without a header, by their values."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number, quote
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.header import (
    AUTO,
    HeaderSign,
    KeyColumns,
    decide_header,
    find_header_reason,
    find_unlabeled_header_reason,
    has_column_numbers,
    is_wordy,
)
from bert_cli.reading.rows import Row
from bert_cli.settings.data import Columns, TrainedColumns

_MAX_LABELS = 20
_MAX_LABEL_LENGTH = 40  # characters
_MAX_PROPOSALS = 3  # combinations of flags in an error message


def guess_columns(
    path: str,
    sample: Sequence[Row],
    rules: ColumnRules,
) -> Columns:
    """Return the flags' columns with the text and label columns that flags do not name.

    A label column has at most 20 different short values, each in at least two rows. A text column
    is the other column of a table with two; otherwise it is the only column with several words in
    most cells. If values are ambiguous, the training run's column numbers are used.

    Args:
        path: the file, for messages.
        sample: its first rows.
        rules: flag values and the training run's columns.

    Raises:
        InputError: the columns are ambiguous, or the first row may be a header; with flags to add.
    """
    guesser = _Guesser(path, sample, rules.columns, rules.needs_label, frozenset(rules.flag_columns))
    texts = guesser.text_candidates()
    labels = guesser.label_candidates(texts)
    if len(texts) != 1 or len(labels) != 1:
        if (trained_columns := guesser.use_trained(rules.trained)) is not None:
            if not rules.needs_label and rules.header == AUTO:
                guesser.check_header(int(trained_columns.text_column or 0), None)
            return trained_columns
        guesser.refuse("no header of usual names, and the values leave a doubt about the columns")
    guess = guesser.make_guess(texts[0], labels[0])
    if rules.header == AUTO:
        guesser.check_header(texts[0], labels[0])
    return guess.columns


def refuse_unclear_header(
    path: str,
    line: int,
    reason: str,
    flags: str = "give --header=yes",
) -> None:
    """Raise InputError if there is a reason to think that the first row is a header.

    Args:
        path: file, for the message.
        line: line number; the first row has no usual column names.
        reason: see `find_header_reason`; "" if the row is data.
        flags: advice for the case that it is a header.
    """
    if reason:
        raise InputError(
            f"{path}:{line}: the first row looks like a header ({reason}), but its names are not "
            f"usual ones; {flags} if it is a header, --header=no if it is data"
        )


@dataclass(frozen=True)
class _Guess:
    """Guessed columns, and the flags for a message."""

    columns: Columns
    flags: str


@dataclass(frozen=True)
class _Guesser:
    """Column guesser for one file.

    Attributes:
        path: the file, for messages.
        sample: its first rows.
        columns: column flag values.
        needs_label: whether a label column is needed.
        flag_columns: columns that flags name.
    """

    path: str
    sample: Sequence[Row]
    columns: Columns
    needs_label: bool
    flag_columns: frozenset[str]

    def cells(self, column: int) -> list[str]:
        """Return the column's cells that are not empty."""
        return [cell for row in self.sample if (cell := row.cell(column).strip())]

    def free_columns(self) -> list[int]:
        """Return the columns that no flag names."""
        return [column for column in range(len(self.sample[0].cells)) if str(column) not in self.flag_columns]

    def text_candidates(self) -> list[int]:
        """Return the flag's text column, or the columns with values that may be texts."""
        if self.columns.text_column is not None:
            return [int(self.columns.text_column)]
        free = self.free_columns()
        candidates = [column for column in free if not self._is_label(column)]
        wordy = [column for column in candidates if is_wordy(self.cells(column))]
        if len(free) == 2 and not wordy:  # the texts are single words
            return [column for column in candidates if not all(map(is_number, self.cells(column)))]
        return wordy

    def label_candidates(self, texts: Sequence[int]) -> list[int | None]:
        """Return the flag's label column or possible label columns; [None] if it is not needed."""
        flag_columns = self.columns.label_columns
        if flag_columns:
            return [int(flag_columns[0])]
        if not self.needs_label:
            return [None]
        return [column for column in self.free_columns() if column not in texts and self._is_label(column)]

    def use_trained(self, trained: TrainedColumns) -> Columns | None:
        """Return the columns with the training run's column numbers, or None if one is missing."""
        columns = self.columns
        for field in ("text_column", "label_column") if self.needs_label else ("text_column",):
            if getattr(columns, field) is None:
                number = trained.number(field, len(self.sample[0].cells))
                if number is None:
                    return None
                columns = replace(columns, **{field: str(number)})
        return columns

    def _is_label(self, column: int) -> bool:
        cells = self.cells(column)
        values = set(cells)
        is_small = len(values) <= _MAX_LABELS and 2 * len(values) <= len(cells)
        # With more than two columns, a constant column is a filler, such as the * in CoLA.
        is_filler = len(values) == 1 and len(self.sample[0].cells) > 2
        return is_small and not is_filler and all(len(value) <= _MAX_LABEL_LENGTH for value in values)

    def make_guess(self, text: int, label: int | None) -> _Guess:
        """Return these columns with flags."""
        flags = [] if self.columns.text_column else [f"--text_column={self._flag_value(text)}"]
        columns = replace(self.columns, text_column=str(text))
        if label is not None and not self.columns.label_columns:
            flags.append(f"--label_column={self._flag_value(label)}")
            columns = replace(columns, label_column=str(label))
        return _Guess(columns, " ".join(flags))

    def _flag_value(self, column: int) -> str:
        """Return the flag value for a column: its number, or its name if names are numbers.

        Names take precedence over numbers: in the header "", 0, 1 the second column is called 0.
        """
        first, other_rows = self.sample[0], self.sample[1:]
        if not has_column_numbers(first, other_rows):
            return str(column)
        return first.cells[column] or "'\"\"'"

    def check_header(self, text: int, label: int | None) -> None:
        """Raise InputError with flags to add if the first row looks like a header."""
        first, other_rows = self.sample[0], self.sample[1:]
        if label is None:
            reason = find_unlabeled_header_reason(first, other_rows, text)
        else:
            reason = find_header_reason(first, other_rows, None, KeyColumns(label, [text]))
        flags = f"add --header=yes {self.make_guess(text, label).flags}"
        decision = decide_header(AUTO, [HeaderSign(is_header=True, doubt=reason)] if reason else [])
        refuse_unclear_header(self.path, first.line, decision.doubt, flags)

    def refuse(self, problem: str) -> NoReturn:
        """Raise InputError that lists flags for each possible guess and the first row's cells."""
        free = self.free_columns()
        longest = sorted(free, key=lambda column: -sum(map(len, self.cells(column))))
        texts = self.text_candidates()
        if not texts or set(texts) == set(free):
            texts = longest[:1]
        numbers = [column for column in free if column not in texts and all(map(is_number, self.cells(column)))]
        labels = (
            self.label_candidates(texts) or numbers[-1:] or [column for column in longest if column not in texts][-1:]
        )
        flags = [self.make_guess(text, label).flags for text in texts for label in labels]
        if len(texts) == 2 and len(labels) == 1 and not self.columns.text_b_column:
            flags.append(self.make_guess(texts[0], labels[0]).flags + f" --text_b_column={texts[1]}")
        binary = [str(column) for column in labels if column is not None and set(self.cells(column)) == {"0", "1"}]
        if len(binary) > 1:
            flags.append(f"{self.make_guess(texts[0], None).flags} --label_column={','.join(binary)}".strip())
        cells = self.sample[0].cells
        listed = ", ".join(f"{column} {quote(cell, 24)}" for column, cell in enumerate(cells[:12]))
        raise InputError(
            f"{self.path}:{self.sample[0].line}: {problem}; add "
            f"{' or '.join(flags[:_MAX_PROPOSALS])}, or other columns by number, and --header=yes "
            f"if the first row names them: {listed}"
        )
