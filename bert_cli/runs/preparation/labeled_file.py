"""A user's file of texts and labels, as bert-prepare reads it."""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import NamedTuple

from bert_cli.base.errors import refuse_if
from bert_cli.examples.labels.lists import split_label_names
from bert_cli.examples.user_tables import join_text, make_cell_check
from bert_cli.problem_types.columns import LabelCell
from bert_cli.reading.columns.facts import log_facts
from bert_cli.reading.columns.find import SAMPLE, find_columns
from bert_cli.reading.columns.roles import ColumnRules, TableColumns
from bert_cli.reading.columns.row_values import read_group
from bert_cli.reading.probe import TableFile, open_table
from bert_cli.reading.rows import LeftOutRows
from bert_cli.settings.data import PLAIN, TextForm

# A reason for leaving a row out.
NO_LABEL = "no label"
_ONE_CELL = str.maketrans("\t\n\r", "   ")


class LabeledRow(NamedTuple):
    """One row.

    Attributes:
        reason: reason to leave it out, or "".
        identifier: its id, or its number.
        label: its label.
        text: its text on one line.
        group: its group, None without --group_column.
    """

    reason: str
    identifier: str
    label: str
    text: str
    group: str | None = None


@dataclasses.dataclass(frozen=True)
class LabeledFile:
    """A file to read, and the columns of the parts of an example."""

    table: TableFile
    indices: TableColumns

    @property
    def path(self) -> str:
        """The file's name."""
        return self.table.path

    @staticmethod
    def open(path: str, rules: ColumnRules, form: TextForm = PLAIN) -> "LabeledFile":
        """Open the source of a file.

        Raise InputError for a file that the four columns cannot hold: of pairs, or of several
        labels per row.

        Args:
            path: the file.
            rules: how to find the columns.
            form: encoding, quoting and sheet, as the flags have them.
        """
        table = open_table(path, "", form).with_paths(rules.flag_columns)
        sample = list(itertools.islice(table.filled_rows(warns=False), SAMPLE))
        refuse_if(not sample, f"{path}: is empty; rows of a text and a label are needed")
        indices = find_columns(table, sample, rules)
        refuse_if(
            indices.text_b is not None,
            f"{path}: holds pairs of texts, and the four-column format has one; give the file to "
            "bert-classify as it is, or --text_column for one of the two",
        )
        refuse_if(
            len(indices.labels) > 1,
            "--label_column: the four-column format has one label; give the file to bert-classify as it is",
        )
        return LabeledFile(table, indices)

    def rows(self, warns: bool = False) -> Iterator[LabeledRow]:
        """Yield the rows.

        Args:
            warns: whether to log the account of the file; False if it is read again.

        Raises:
            InputError: a row has several labels.
        """
        indices = self.indices
        left_out: list[LeftOutRows] = []
        unread: dict[str, None] = {}
        rows = self.table.filled_rows(warns, left_out, unread if warns else None)
        headers: list[int] = []
        number = -1
        check_cells = make_cell_check(self.path, indices)
        for row in itertools.islice(rows, int(indices.names is not None), None):
            if indices.is_repeated_header(row):
                headers.append(row.line)
                continue
            number += 1
            if len(row.cells) != indices.width:
                yield LabeledRow("another number of columns", "", "", "")
                continue
            check_cells(row)
            cells = [_on_one_line(join_text(cell)) for cell in row.cells]
            identifier = "" if indices.identifier is None else cells[indices.identifier]
            label = _on_one_line(self._label(row.line, row.cells[indices.labels[0]]))
            text = cells[indices.text_a]
            reason = "not accepted" if indices.is_rejected(row) else "" if label else NO_LABEL
            reason = reason if text else "no text"
            group = None if reason else read_group(self.path, row, indices)
            yield LabeledRow(reason, identifier or str(number), label, text, group)
        if warns:
            left_out += LeftOutRows.of_lines("rows that repeat the header, as in joined files", headers)
            log_facts(indices.facts(self.path, number + 1, left_out, unread=unread))

    def _label(self, line: int, cell: LabelCell) -> str:
        """Return the label in a cell, also of a list with one label."""
        place = f"{self.path}:{line}"
        names = (cell if isinstance(cell, tuple) else split_label_names(cell.strip(), place)) or ("",)
        refuse_if(
            len(names) > 1,
            f"{place}: the label is a list of {len(names)}, and the four-column format "
            "has one label per text; give the file to bert-classify as it is",
        )
        return names[0]


def _on_one_line(cell: str) -> str:
    return cell.replace("\r\n", "\n").translate(_ONE_CELL).strip()
