"""Which columns of a table without a header are the text and the label, as far as their values
leave no doubt.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number
from bert_cli.base.log import LOG
from bert_cli.base.messages import quote
from bert_cli.examples.table_files.column_names import USUAL_NAMES, plain
from bert_cli.examples.table_files.rows import Row
from bert_cli.examples.tables import KeyColumns, header_reason, holds_column_numbers, is_sentence_like
from bert_cli.settings.data import NOT_TRAINED, Columns, TrainedColumns

_MOST_LABELS = 20
_LONGEST_LABEL = 40  # characters
_MOST_CHOICES = 3  # combinations of flags that a message lists


def with_guesses(
    path: str,
    sample: Sequence[Row],
    columns: Columns,
    header: str,
    needs_label: bool,
    trained: TrainedColumns = NOT_TRAINED,
) -> Columns:
    """`columns` with the numbers of the text and of the label where the flags do not name them.

    A label column has at most 20 different short values, and at least two rows for each of them. A
    text column is the other one of two; of several, the only one in which most cells have several
    words. The taken columns are logged. Where the values leave a doubt, the columns that the
    training run found by number decide. InputError, with the flags to add, where there are none,
    and where the first row may be a header after all.
    """
    guess = _Guess(path, sample, columns, needs_label)
    texts = guess.texts()
    labels = guess.labels(texts)
    if len(texts) != 1 or len(labels) != 1:
        if (known := guess.as_trained(trained)) is not None:
            if not needs_label and header == "auto":
                guess.check_header(int(known.text_column or 0), None)
            return known
        guess.refuse("no header of usual names, and the values leave a doubt about the columns")
    found = guess.choice(texts[0], labels[0])
    if header == "auto":
        guess.check_header(texts[0], labels[0])
    LOG.info("%s: there is no header; took %s", path, found.described)
    return found.columns


def refuse_unclear_header(path: str, line: int, reason: str, flags: str = "give --header=yes") -> None:
    """InputError where there is a reason to take the first row, which has no usual names, for a
    header. flags: what to give if it is one.
    """
    if reason:
        raise InputError(
            f"{path}:{line}: the first row looks like a header ({reason}), but its names are not "
            f"usual ones; {flags} if it is a header, --header=no if it is data"
        )


@dataclass(frozen=True)
class _Choice:
    """Columns that were chosen, as flags and as words for the log."""

    columns: Columns
    flags: str
    described: str


@dataclass(frozen=True)
class _Guess:
    """The first rows of a file without a header, and what the flags say of its columns."""

    path: str
    sample: Sequence[Row]
    columns: Columns
    needs_label: bool

    def cells(self, column: int) -> list[str]:
        """The cells of a column that are not empty, in all rows of the sample."""
        return [cell for row in self.sample if (cell := row.cell(column).strip())]

    def free(self) -> list[int]:
        """The columns that no flag names."""
        given = {self.columns.text_column, self.columns.text_b_column, self.columns.id_column}
        given.update(self.columns.label_columns)
        return [column for column in range(len(self.sample[0].cells)) if str(column) not in given]

    def texts(self) -> list[int]:
        """Columns that may be the text: the column of the flag, else those that their values allow."""
        if self.columns.text_column is not None:
            return [int(self.columns.text_column)]
        free = self.free()
        candidates = [column for column in free if not self._is_label(column)]
        wordy = [column for column in candidates if is_wordy(self.cells(column))]
        if len(free) == 2 and not wordy:  # single words, of which one column is labels
            return [column for column in candidates if not all(map(is_number, self.cells(column)))]
        return wordy

    def labels(self, texts: Sequence[int]) -> list[int | None]:
        """Columns that may be the label; [None] for a file that needs none."""
        given = self.columns.label_columns
        if given:
            return [int(given[0])]
        if not self.needs_label:
            return [None]
        return [column for column in self.free() if column not in texts and self._is_label(column)]

    def as_trained(self, trained: TrainedColumns) -> Columns | None:
        """The columns with the numbers that the training run found; None where one is missing."""
        found = self.columns
        for field in ("text_column", *["label_column"] * self.needs_label):
            if getattr(found, field) is None:
                number = trained.number(field, len(self.sample[0].cells))
                if number is None:
                    return None
                found = replace(found, **{field: str(number)})
        return found

    def _is_label(self, column: int) -> bool:
        cells = self.cells(column)
        values = set(cells)
        is_small = len(values) <= _MOST_LABELS and 2 * len(values) <= len(cells)
        # In a file of more than two columns, one that never changes is a filler, such as the * of
        # CoLA.
        is_filler = len(values) == 1 and len(self.sample[0].cells) > 2
        return is_small and not is_filler and all(len(value) <= _LONGEST_LABEL for value in values)

    def choice(self, text: int, label: int | None) -> _Choice:
        """Return the flags for these columns, and words for the log."""
        flags = [] if self.columns.text_column else [f"--text_column={self._named(text)}"]
        described = [] if self.columns.text_column else [f"column {text} for the text"]
        chosen = replace(self.columns, text_column=str(text))
        if label is not None and not self.columns.label_columns:
            flags.append(f"--label_column={self._named(label)}")
            values = ", ".join(map(quote, sorted(set(self.cells(label)))[:5]))
            described.append(f"column {label} for the label ({values})")
            chosen = replace(chosen, label_column=str(label))
        return _Choice(chosen, " ".join(flags), " and ".join(described))

    def _named(self, column: int) -> str:
        """Return how a flag names a column: by its number, or by its name in a header of column numbers.

        A name counts before a number, and in the header "", 0, 1 column 1 has the name 0.
        """
        first, others = self.sample[0], self.sample[1:]
        if not holds_column_numbers(first, others):
            return str(column)
        return first.cells[column] or "'\"\"'"

    def check_header(self, text: int, label: int | None) -> None:
        """Raise InputError, with the flags to add, if the first row looks like a header."""
        first, others = self.sample[0], self.sample[1:]
        if label is None:
            reason = _unlabelled_header_reason(first, others, text)
        else:
            reason = header_reason(first, others, None, KeyColumns(label, [text]))
        flags = f"add --header=yes {self.choice(text, label).flags}"
        refuse_unclear_header(self.path, first.line, reason, flags)

    def refuse(self, problem: str) -> NoReturn:
        """InputError with the flags to add, of every choice that the values allow, and the columns
        of the first row.
        """
        free = self.free()
        longest = sorted(free, key=lambda column: -sum(map(len, self.cells(column))))
        texts = self.texts()
        if not texts or set(texts) == set(free):
            texts = longest[:1]
        numbers = [column for column in free if column not in texts and all(map(is_number, self.cells(column)))]
        labels = self.labels(texts) or numbers[-1:] or [column for column in longest if column not in texts][-1:]
        flags = [self.choice(text, label).flags for text in texts for label in labels]
        if len(texts) == 2 and len(labels) == 1 and not self.columns.text_b_column:
            flags.append(self.choice(texts[0], labels[0]).flags + f" --text_b_column={texts[1]}")
        binary = [str(column) for column in labels if column is not None and set(self.cells(column)) == {"0", "1"}]
        if len(binary) > 1:
            flags.append(f"{self.choice(texts[0], None).flags} --label_column={','.join(binary)}".strip())
        cells = self.sample[0].cells
        listed = ", ".join(f"{column} {quote(cell, 24)}" for column, cell in enumerate(cells[:12]))
        raise InputError(
            f"{self.path}:{self.sample[0].line}: {problem}; add "
            f"{' or '.join(flags[:_MOST_CHOICES])}, or other columns by number, and --header=yes "
            f"if the first row names them: {listed}"
        )


def _unlabelled_header_reason(first: Row, others: Sequence[Row], text: int) -> str:
    """Why the first row of a file without labels looks like a header; "" where it does not.

    Column numbers are a header. A row is data if one of its cells is a number, looks like a
    sentence or comes again in its column. Any other row is a header if a cell is a usual name or is
    above numbers only, or if its text is one word and all other texts have several.
    """
    if holds_column_numbers(first, others):
        return "its cells are column numbers"
    others = [row for row in others if row.cells != first.cells]  # joined files repeat their header
    columns = [{row.cell(column).strip() for row in others} - {""} for column in range(len(first.cells))]
    cells = [cell.strip() for cell in first.cells]
    if any(is_number(cell) or is_sentence_like(cell) for cell in cells):
        return ""
    if not columns[text] or any(cell in below for cell, below in zip(cells, columns, strict=True)):
        return ""
    for column, (cell, below) in enumerate(zip(cells, columns, strict=True)):
        is_above_numbers = bool(cell) and bool(below) and all(map(is_number, below))
        if is_above_numbers or plain(cell) in USUAL_NAMES:
            return f"its cell in column {column} is {quote(cell)}"
    if cells[text] and not _has_words(cells[text]) and all(map(_has_words, columns[text])):
        return f"its text is {quote(cells[text])}"
    return ""


def is_wordy(cells: Sequence[str]) -> bool:
    """Whether most cells have two words of letters or more, or are of a script that writes no
    spaces between words.
    """
    wordy = sum(map(_has_words, cells))
    return 2 * wordy > len(cells)


def _has_words(cell: str) -> bool:
    words = sum(any(map(str.isalpha, word)) for word in cell.split())
    return words > 1 or sum(unicodedata.category(character) == "Lo" for character in cell) >= 4
