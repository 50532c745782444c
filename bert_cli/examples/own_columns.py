"""The columns of a user's table: texts, label and id, and whether the first row names them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import quote
from bert_cli.examples.column_finder import ColumnFinder, named_columns
from bert_cli.examples.table_files.column_names import TEXT_NAMES, has_usual_names, plain
from bert_cli.examples.table_files.probe import TableFile
from bert_cli.examples.table_files.rows import Row
from bert_cli.examples.tables import KeyColumns, header_reason
from bert_cli.examples.unnamed_columns import refuse_unclear_header, with_guesses
from bert_cli.settings.data import NOT_TRAINED, Columns, TrainedColumns

SAMPLE = 1000  # rows that are looked at to find out whether there is a header


@dataclass(frozen=True)
class ColumnIndices:
    """0-based columns of a table.

    Attributes:
        width: number of columns.
        names: names of all columns, or None without a header.
        text_a: column of the text.
        text_b: column of the second text of a pair, or None.
        labels: columns of the label, () if there is none.
        identifier: column of ids, or None.
        choices: columns of the choices in multiple choice.
    """

    width: int
    names: tuple[str, ...] | None
    text_a: int
    text_b: int | None
    labels: tuple[int, ...]
    identifier: int | None
    choices: tuple[int, ...] = ()

    def called(self, column: int) -> str:
        """Return the name of a column, or its number if it has none."""
        return str(column) if self.names is None or not self.names[column] else self.names[column]

    def is_repeated_header(self, row: Row) -> bool:
        """Return whether a row is the header again, as in files that were joined."""
        # A single cell such as "text" may be a text.
        if self.names is None or self.width == 1 or len(row.cells) != self.width:
            return False
        cells = [str(cell).strip() for cell in row.cells]
        # Each of the joined files may begin with a byte-order mark.
        cells[0] = cells[0].removeprefix("\ufeff").strip('"')
        return tuple(cells) == self.names


def find_columns(
    table: TableFile,
    sample: Sequence[Row],
    columns: Columns,
    header: str,
    needs_label: bool,
    choices: Sequence[str] = (),
    trained: TrainedColumns = NOT_TRAINED,
) -> ColumnIndices:
    """Return the columns that hold the parts of an example.

    Args:
        table: the table.
        sample: its first rows.
        columns: the columns that flags name.
        header: yes, no or auto.
        needs_label: whether the file is for training or evaluation; if not, a label column that
            the flags name may be missing.
        choices: columns of choices, as the flags name them.
        trained: columns of the training run. Its guesses hold for a table that has these columns,
            and other tables get guesses of their own.

    Raises:
        InputError: if a column is missing or in doubt, if the header is, and if the table has one
            text and the model was trained on pairs, or the other way round.
    """
    # The first row decides the width; TableFile.check_width holds the others to it.
    width = len(sample[0].cells)
    path = table.path
    columns = _without_missing_id(path, sample[0], columns, trained)
    # A list of texts; an object with one key still has a name.
    if width == 1 and not table.has_names:
        if choices:
            raise InputError(f"{path}: has one column; a text and its endings, {', '.join(choices)}, are needed")
        return _list_of_texts(table, sample, columns, header, needs_label, trained)
    # Such names are names, whatever --header says of other files.
    names = _names(path, sample, columns, "yes" if table.has_names else header, choices, trained)
    columns = trained.by_name(columns, names)
    is_complete = columns.text_column is not None and (columns.label_column or not needs_label)
    if names is None and not is_complete and not choices:
        columns = with_guesses(path, sample, columns, header, needs_label, trained)
    finder = ColumnFinder(path, sample, names, columns, needs_label, trained)
    endings = tuple(finder.column(name, "choice_columns") for name in choices)
    # A column that is taken for one part is never guessed for another, so texts come before labels
    # and labels before ids.
    text_a, text_b = finder.texts(choices)
    labels = finder.labels((text_a, text_b, *endings))
    identifier = finder.identifier((text_a, text_b, *labels, *endings))
    used = [column for column in (text_a, text_b, *labels, *endings) if column is not None]
    if len(set(used)) < len(used):
        flags = ("text_column", "text_b_column", *["choice_columns"] * bool(choices))
        named = ", ".join(f"--{flag}" for flag in flags)
        raise InputError(f"{path}: one column is named twice by {named} and --label_column")
    return ColumnIndices(width, names, text_a, text_b, labels, identifier, endings)


def _list_of_texts(
    table: TableFile, sample: Sequence[Row], columns: Columns, header: str, needs_label: bool, trained: TrainedColumns
) -> ColumnIndices:
    path = table.path
    if needs_label:
        advice = table.how_to_separate(sample)
        raise InputError(f"{path}: has one column, and one of labels is needed too; {advice}")
    if columns.text_b_column is not None or trained.guessed.text_b_column is not None:
        raise InputError(f"{path}: has one column, and two of texts are needed, as the model was trained on pairs")
    if columns.id_column is not None:
        raise InputError(
            f"{path}:1: --id_column={columns.id_column}: there is no such column; the file has texts alone"
        )
    cell = sample[0].cells[0]
    known = plain(cell) in TEXT_NAMES or cell in (columns.text_column, trained.guessed.text_column)
    has_header = header == "yes" or (header == "auto" and not table.is_text_list and known)
    LOG.info("%s: a list of texts%s", path, f" under the header {quote(cell)}" if has_header else "")
    return ColumnIndices(1, (cell,) if has_header else None, 0, None, (), None)


def _without_missing_id(path: str, first: Row, columns: Columns, trained: TrainedColumns) -> Columns:
    """Return `columns` without an --id_column of the training run that this file lacks.

    Its rows are numbered instead.
    """
    name = columns.id_column
    if name is None or "id_column" not in trained.flags:
        return columns
    width = len(first.cells)
    # One column is the text.
    if width > 1 and (name in map(str.strip, map(str, first.cells)) or (name.isdecimal() and int(name) < width)):
        return columns
    LOG.info("%s: has no column %s, the --id_column of the training run", path, quote(name))
    return replace(columns, id_column=None)


def _names(
    path: str, sample: Sequence[Row], columns: Columns, header: str, choices: Sequence[str], trained: TrainedColumns
) -> tuple[str, ...] | None:
    """Return the cells of the header, or None if the first row is data."""
    first = sample[0]
    cells = tuple(str(cell).strip() for cell in first.cells)
    if header == "yes":
        return cells
    if header == "no":
        return None
    given = named_columns(columns, choices)
    by_number = [int(name) for name in given if name.isdecimal()]
    is_known = trained.guessed.text_column in cells and not str(trained.guessed.text_column).isdecimal()
    if any(not name.isdecimal() for name in given) or is_known or has_usual_names(cells):
        return cells
    if by_number and len(columns.label_columns) == 1 and columns.label_columns[0].isdecimal():
        texts = [] if columns.text_column is None else [int(columns.text_column)]
        key_columns = KeyColumns(int(columns.label_columns[0]), texts)
        refuse_unclear_header(path, first.line, header_reason(first, sample[1:], None, key_columns))
    return None


def warn_of_headers(path: str, lines: Sequence[int]) -> None:
    """Log that rows were left out which repeat the header."""
    if lines:
        LOG.warning(
            "%s:%d: warning: left out %d row(s) that repeat the header, as in joined files",
            path, lines[0], len(lines),
        )  # fmt: skip
