"""Column finder for user tables: text, label and id columns, and the header."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.log import LOG
from bert_cli.examples.column_finder import ColumnFinder, list_flag_columns
from bert_cli.examples.labels.answers import is_accepted
from bert_cli.examples.unnamed_columns import guess_columns, refuse_unclear_header
from bert_cli.reading.column_names import TEXT_NAMES, has_usual_names, normalize_name
from bert_cli.reading.header import AUTO, KeyColumns, Sign, decide_header, find_header_reason
from bert_cli.reading.probe import TableFile
from bert_cli.reading.rows import Row
from bert_cli.settings.data import NOT_TRAINED, Columns, TrainedColumns

SAMPLE = 1000  # rows used to detect a header and the columns


@dataclass(frozen=True)
class ColumnIndices:
    """Table columns as 0-based numbers.

    Attributes:
        width: number of columns.
        names: all column names, or None without a header.
        text_a: text column.
        text_b: column with a pair's second text, or None.
        labels: label columns, () without labels.
        identifier: column of ids, or None.
        choices: columns used for the choices in multiple choice.
        answer: column with Prodigy's answers, or None.
    """

    width: int
    names: tuple[str, ...] | None
    text_a: int
    text_b: int | None
    labels: tuple[int, ...]
    identifier: int | None
    choices: tuple[int, ...] = ()
    answer: int | None = None

    def column_name(self, column: int) -> str:
        """Return a column's name, or its number if it has no name."""
        return str(column) if self.names is None or not self.names[column] else self.names[column]

    def is_rejected(self, row: Row) -> bool:
        """Return whether an annotator rejected or ignored the row in Prodigy."""
        return self.answer is not None and not is_accepted(row.cell(self.answer))

    def is_repeated_header(self, row: Row) -> bool:
        """Return whether a row repeats the header, as in concatenated files."""
        # In a table with one column, a cell such as "text" may be a text.
        if self.names is None or self.width == 1 or len(row.cells) != self.width:
            return False
        cells = [str(cell).strip() for cell in row.cells]
        # Each concatenated file may begin with a byte-order mark.
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
    """Return the columns that contain texts, labels and ids.

    Args:
        table: the table.
        sample: its first rows.
        columns: column flag values.
        header: whether the first row is a header: yes, no or auto.
        needs_label: whether the file is for training or evaluation. Files to predict may lack the
            label column that a flag names.
        choices: choice columns, as flags name them.
        trained: columns from the training run. They are used if the table has the same columns.

    Raises:
        InputError: a column is missing or ambiguous, the header is ambiguous, or only one of the
            table and the training file has text pairs.
    """
    # The first row decides the width; TableFile.check_width compares all other rows with it.
    width = len(sample[0].cells)
    path = table.path
    columns = _without_missing_id(path, sample[0], columns, trained)
    # One column is a list of texts, unless the format always has column names, as JSON objects
    # have.
    if width == 1 and not table.has_names:
        if choices:
            raise InputError(f"{path}: has one column; a text and its endings, {', '.join(choices)}, are needed")
        return _find_text_list_columns(table, sample, columns, header, needs_label, trained)
    # --header does not apply to formats that always have column names.
    names = _read_header(path, sample, columns, "yes" if table.has_names else header, choices, trained)
    columns = trained.by_name(columns, names)
    is_complete = columns.text_column is not None and (columns.label_column or not needs_label)
    if names is None and not is_complete and not choices:
        columns = guess_columns(path, sample, columns, header, needs_label, trained)
    finder = ColumnFinder(path, sample, names, columns, needs_label, trained)
    choice_columns = tuple(finder.require(name, "choice_columns") for name in choices)
    # Find texts before labels, and labels before ids: a column must not have two uses.
    text_a, text_b = finder.find_texts(choices)
    labels = finder.find_labels((text_a, text_b, *choice_columns))
    identifier = finder.find_identifier((text_a, text_b, *labels, *choice_columns))
    used = [column for column in (text_a, text_b, *labels, *choice_columns) if column is not None]
    if len(set(used)) < len(used):
        text_flags = "--text_column, --text_b_column" + (", --choice_columns" if choices else "")
        raise InputError(f"{path}: one column is named twice by {text_flags} and --label_column")
    answer = finder.find_answer()
    answer = None if answer in (*used, identifier) else answer
    return ColumnIndices(width, names, text_a, text_b, labels, identifier, choice_columns, answer)


def _find_text_list_columns(
    table: TableFile,
    sample: Sequence[Row],
    columns: Columns,
    header: str,
    needs_label: bool,
    trained: TrainedColumns,
) -> ColumnIndices:
    path = table.path
    if needs_label:
        advice = table.advise_separator(sample)
        raise InputError(f"{path}: has one column, and one of labels is needed too; {advice}")
    if columns.text_b_column is not None or trained.guessed.text_b_column is not None:
        raise InputError(f"{path}: has one column, and two of texts are needed, as the model was trained on pairs")
    if columns.id_column is not None:
        raise InputError(
            f"{path}:1: --id_column={columns.id_column}: there is no such column; the file has texts alone"
        )
    cell = sample[0].cells[0]
    is_name = normalize_name(cell) in TEXT_NAMES or cell in (columns.text_column, trained.guessed.text_column)
    has_header = decide_header(header, [Sign(is_header=is_name and not table.is_text_list)]).is_header
    LOG.info("%s: a list of texts%s", path, f" under the header {quote(cell)}" if has_header else "")
    return ColumnIndices(1, (cell,) if has_header else None, 0, None, (), None)


def _without_missing_id(
    path: str,
    first: Row,
    columns: Columns,
    trained: TrainedColumns,
) -> Columns:
    """Return `columns` without the training run's --id_column if this file lacks it.

    Such a file's rows are numbered.
    """
    name = columns.id_column
    if name is None or "id_column" not in trained.flags:
        return columns
    width = len(first.cells)
    # A single column is the text, not the id.
    if width > 1 and (name in map(str.strip, map(str, first.cells)) or (name.isdecimal() and int(name) < width)):
        return columns
    LOG.info("%s: has no column %s, the --id_column of the training run", path, quote(name))
    return replace(columns, id_column=None)


def _read_header(
    path: str,
    sample: Sequence[Row],
    columns: Columns,
    header: str,
    choices: Sequence[str],
    trained: TrainedColumns,
) -> tuple[str, ...] | None:
    """Return the header cells, or None if the first row is data."""
    cells = tuple(str(cell).strip() for cell in sample[0].cells)
    decision = decide_header(header, _header_signs(sample, cells, columns, choices, trained))
    if header == AUTO:
        refuse_unclear_header(path, sample[0].line, decision.doubt)
    return cells if decision.is_header else None


def _header_signs(
    sample: Sequence[Row], cells: Sequence[str], columns: Columns, choices: Sequence[str], trained: TrainedColumns
) -> Iterator[Sign]:
    flag_columns = list_flag_columns(columns, choices)
    has_trained_name = trained.guessed.text_column in cells and not str(trained.guessed.text_column).isdecimal()
    if any(not name.isdecimal() for name in flag_columns) or has_trained_name or has_usual_names(cells):
        yield Sign(is_header=True)
    elif len(columns.label_columns) == 1:
        texts = [] if columns.text_column is None else [int(columns.text_column)]
        key_columns = KeyColumns(int(columns.label_columns[0]), texts)
        if reason := find_header_reason(sample[0], sample[1:], None, key_columns):
            yield Sign(is_header=True, doubt=reason)


def warn_about_repeated_headers(path: str, lines: Sequence[int]) -> None:
    """Log the number of skipped rows that repeat the header, if there are such rows."""
    if lines:
        LOG.warning(
            "%s:%d: warning: left out %d row(s) that repeat the header, as in joined files",
            path, lines[0], len(lines),
        )  # fmt: skip
