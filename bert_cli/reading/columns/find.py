"""Finder of a table's columns and header, by flags, a training run, names and values."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.log import LOG
from bert_cli.reading.column_names import TEXT_NAMES, has_usual_names, normalize_name
from bert_cli.reading.columns.finder import ColumnFinder
from bert_cli.reading.columns.roles import ColumnRules, TableColumns
from bert_cli.reading.columns.unnamed import guess_columns, refuse_unclear_header
from bert_cli.reading.header import AUTO, YES, HeaderSign, KeyColumns, decide_header, find_header_reason
from bert_cli.reading.probe import TableFile
from bert_cli.reading.rows import Row
from bert_cli.settings.data import ALL_COLUMNS

SAMPLE = 1000  # rows used to detect a header and the columns


def find_columns(table: TableFile, sample: Sequence[Row], rules: ColumnRules) -> TableColumns:
    """Return the columns that contain texts, labels and ids.

    Args:
        sample: its first rows.
        rules: flag values and the training run's columns.

    Raises:
        InputError: a column is missing or ambiguous, the header is ambiguous, or only one of the
            table and the training file has text pairs.
    """
    # The first row decides the width; TableFile.check_width compares all other rows with it.
    width = len(sample[0].cells)
    path, choices = table.path, rules.choices
    rules = _without_missing_id(path, sample[0], rules)
    # One column is a list of texts, unless the format always has column names, as JSON objects
    # have.
    if width == 1 and not table.has_names:
        if choices:
            raise InputError(f"{path}: has one column; a text and its endings, {', '.join(choices)}, are needed")
        return _find_text_list_columns(table, sample, rules)
    # --header does not apply to formats that always have column names.
    rules = rules._replace(header=YES) if table.has_names else rules
    names = _read_header(path, sample, rules)
    columns = rules.trained.by_name(rules.columns, names)
    is_complete = columns.text_column is not None and (columns.label_column or not rules.needs_label)
    if names is None and not is_complete and not choices:
        columns = guess_columns(path, sample, rules._replace(columns=columns))
    finder = ColumnFinder(path, sample, names, rules._replace(columns=columns))
    choice_columns = tuple(finder.require(name, "choice_columns") for name in choices)
    # Find texts before labels, and labels before ids: a column must not have two uses.
    text_a, text_b = finder.find_texts()
    group = finder.find_named(rules.rows.group_column, "group_column")
    weight = finder.find_named(rules.rows.weight_column, "weight_column")
    labels = finder.find_labels((text_a, text_b, *choice_columns, group, weight))
    identifier = finder.find_identifier((text_a, text_b, *labels, *choice_columns))
    used = [column for column in (text_a, text_b, *labels, *choice_columns) if column is not None]
    if len(set(used)) < len(used):
        text_flags = "--text_column, --text_b_column" + (", --choice_columns" if choices else "")
        raise InputError(f"{path}: one column is named twice by {text_flags} and --label_column")
    if group in labels or (weight is not None and weight in (*used, group, identifier)):
        flags = "--label_column and --group_column" if group in labels else "--weight_column and another flag"
        raise InputError(f"{path}: one column is named twice by {flags}")
    answer = finder.find_answer()
    answer = None if answer in (*used, identifier) else answer
    return TableColumns(width, names, text_a, text_b, labels, identifier, choice_columns, answer, group, weight)


def _find_text_list_columns(table: TableFile, sample: Sequence[Row], rules: ColumnRules) -> TableColumns:
    path, columns, guessed = table.path, rules.columns, rules.trained.guessed
    if rules.needs_label:
        advice = table.advise_separator(sample)
        raise InputError(f"{path}: has one column, and one of labels is needed too; {advice}")
    if columns.text_b_column is not None and "text_b_column" not in rules.trained.flags:
        raise InputError(
            f"{path}:1: --text_b_column={columns.text_b_column}: there is no such column; the file has one"
        )
    if columns.id_column is not None:
        raise InputError(
            f"{path}:1: --id_column={columns.id_column}: there is no such column; the file has texts alone"
        )
    cell = sample[0].cells[0]
    is_name = normalize_name(cell) in TEXT_NAMES or cell in (columns.text_column, guessed.text_column)
    has_header = decide_header(rules.header, [HeaderSign(is_header=is_name and not table.is_text_list)]).is_header
    may_have_pairs = rules.trained.num_texts != 1
    return TableColumns(1, (cell,) if has_header else None, 0, None, (), None, may_have_pairs=may_have_pairs)


def _without_missing_id(path: str, first: Row, rules: ColumnRules) -> ColumnRules:
    """Return the rules without the training run's --id_column if this file lacks it.

    Such a file's rows are numbered.
    """
    name = rules.columns.id_column
    if name is None or "id_column" not in rules.trained.flags:
        return rules
    width = len(first.cells)
    # A single column is the text, not the id.
    if width > 1 and (name in map(str.strip, map(str, first.cells)) or (name.isdecimal() and int(name) < width)):
        return rules
    LOG.info("%s: has no column %s, the --id_column of the training run", path, quote(name))
    return rules._replace(columns=replace(rules.columns, id_column=None))


def _read_header(path: str, sample: Sequence[Row], rules: ColumnRules) -> tuple[str, ...] | None:
    """Return the header cells, or None if the first row is data."""
    cells = tuple(str(cell).strip() for cell in sample[0].cells)
    decision = decide_header(rules.header, _header_signs(sample, cells, rules))
    if rules.header == AUTO:
        refuse_unclear_header(path, sample[0].line, decision.doubt)
    return cells if decision.is_header else None


def _header_signs(sample: Sequence[Row], cells: Sequence[str], rules: ColumnRules) -> Iterator[HeaderSign]:
    columns, trained_text = rules.columns, rules.trained.guessed.text_column
    has_trained_name = trained_text in cells and not str(trained_text).isdecimal()
    flag_names = [*rules.flag_columns, *(rules.keep if list(rules.keep) != [ALL_COLUMNS] else ())]
    if any(not name.isdecimal() for name in flag_names) or has_trained_name or has_usual_names(cells):
        yield HeaderSign(is_header=True)
    elif len(columns.label_columns) == 1:
        texts = [] if columns.text_column is None else [int(columns.text_column)]
        key_columns = KeyColumns(int(columns.label_columns[0]), texts)
        if reason := find_header_reason(sample[0], sample[1:], None, key_columns):
            yield HeaderSign(is_header=True, doubt=reason)
