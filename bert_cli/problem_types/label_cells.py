"""The label cells of a user's own table, as a problem type parses them."""

from collections.abc import Sequence
from dataclasses import dataclass

from bert_cli.base.errors import InputError
from bert_cli.base.messages import listed, more, quoted

Cell = str | tuple[str, ...]  # a tuple: a JSON list of names


@dataclass(frozen=True)
class LabelCells:
    """The label columns of a table of n rows.

    path: for messages. lines: where each row begins. rows: of each row the cells of its label columns, without spaces at
    their ends. columns: the names of the label columns, or their numbers where has_header is False. separator: of several
    labels in one cell, None where a cell is one label.
    """

    path: str
    lines: Sequence[int]
    rows: Sequence[tuple[Cell, ...]]
    columns: tuple[str, ...]
    has_header: bool
    separator: str | None = None

    def names(self, row: int) -> tuple[str, ...]:
        """The labels in the first label cell of a row, which the separator divides."""
        cell = self.rows[row][0]
        if isinstance(cell, tuple):
            return cell
        return tuple(
            part.strip() for part in (cell.split(self.separator) if self.separator else [cell]) if part.strip()
        )

    def check_one_column(self, problem_type: str) -> None:
        """InputError for several label columns, where each row has one label."""
        if len(self.columns) > 1:
            raise InputError(
                f"--problem_type={problem_type}: {self.path} has several labels a row; give one label column, or "
                "--problem_type=multi_label"
            )

    def check_known(self, named: Sequence[Sequence[str]], labels: Sequence[str]) -> None:
        """InputError for the first label of any row that is not among `labels`. named: the labels of each row."""
        known = frozenset(labels)
        unknown = [
            (line, name) for line, names in zip(self.lines, named, strict=True) for name in names if name not in known
        ]
        if unknown:
            line, name = unknown[0]
            raise InputError(
                f"{self.path}:{line}: label {quoted(name)} is not among those of the training data, "
                f"{listed(labels)}{more(unknown)}; correct it, or name all labels with --labels"
            )
