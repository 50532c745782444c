"""Checks of a task's data file: first row, text column and labels."""

from collections import Counter
from collections.abc import Collection, Sequence

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more, is_number, list_names, quote
from bert_cli.base.log import LOG
from bert_cli.examples import tables
from bert_cli.examples.glue import FileLayout, GlueTask
from bert_cli.examples.labels.label_names import check_names, natural_key, refuse_texts, warn_about_few_rows
from bert_cli.problem_types.columns import SKIP_ADVICE, skip_advice
from bert_cli.reading.formats import is_tab_separated
from bert_cli.reading.rows import Row, refuse_rows

_MIN_EQUAL_LABELS = 10  # rows with the first row's label


def has_user_test_file(task: GlueTask | None, predict_file: str, test_file: str | None) -> bool:
    """Return whether the rows to predict are in a user's table, not in the task's test file.

    Args:
        task: the task of --task_name, or None.
        predict_file: value of --predict_file, "" if it is not given.
        test_file: value of --test_file, None if it is not given.
    """
    return bool(predict_file) or (
        task is not None and not task.problem_type.has_choices and not is_tab_separated(test_file or "")
    )


def is_data_by_label(
    first: Row,
    other_rows: Sequence[Row],
    labels: Collection[str],
    label_column: int | None,
) -> bool:
    """Return whether the first row is certainly data: ten other rows have its label.

    Args:
        first: the first row.
        other_rows: all other rows.
        labels: known labels.
        label_column: 0-based column, or None if the file has no labels.
    """
    cell = first.cell(label_column)
    if label_column is None or cell not in labels or tables.is_numbering(first.cells):
        return False
    return sum(row.cell(label_column) == cell for row in other_rows if row.cells != first.cells) >= _MIN_EQUAL_LABELS


def check_first_row(
    path: str,
    rows: list[Row],
    layout: FileLayout,
    header: str,
    has_header: bool,
    allowed: tuple[str, ...] | None,
) -> None:
    """Report a first row that contradicts `has_header`.

    Args:
        path: file, for messages.
        rows: all rows.
        layout: the file's columns.
        header: value of --header. In `auto`, a contradiction is an error, otherwise a warning.
        has_header: whether the first row is skipped as a header.
        allowed: the labels, None if they are unknown.

    Raises:
        InputError: the first row contradicts `has_header`, and `header` is auto.
    """
    first, other_rows = rows[0], rows[1:]
    problem = ""
    if has_header:
        labels = [*(allowed or ()), *layout.aliases]
        reason = tables.find_data_reason(first, other_rows, labels, layout.key_columns)
        problem = reason and f"looks like data ({reason}) but is skipped as a header"
        advice = "give --header=no if it is data, --header=yes if it is a header"
    elif layout.label is not None:
        reason = tables.find_header_reason(first, other_rows, allowed, layout.key_columns)
        problem = reason and f"looks like a header ({reason}) but is read as data"
        advice = "give --header=yes if it is a header, --header=no if it is data"
    if problem and header == "auto":
        raise InputError(f"{path}:{first.line}: the first row {problem}; {advice}")
    if problem:
        LOG.warning("%s:%d: the first row %s, as --header=%s says", path, first.line, problem, header)
    elif has_header:
        names = ", ".join(quote(cell, 20) for cell in first.cells[:12])
        LOG.info("%s:%d: skipped the header row: %s", path, first.line, names)


def check_text_column(
    path: str,
    rows: list[Row],
    layout: FileLayout,
    labels: tuple[str, ...],
) -> None:
    """Raise InputError if a file with the columns id, text has labels or ids as texts.

    The original reads them as texts. This happens if a test file has the columns of train.tsv (id,
    label, mark, text), the columns text, label, or row numbers before the ids. The check applies if
    all cells in the column are labels or numbers, and rows have four columns or a sentence in
    another column.

    Args:
        path: file, for messages.
        rows: all rows.
        layout: the file's layout, which has a single text and no labels.
        labels: known labels.
    """
    body = rows[1:] or rows
    if not all(row.cell(layout.text_a) in labels or is_number(row.cell(layout.text_a)) for row in body):
        return
    if min(len(row.cells) for row in body) >= 4 or any(tables.is_sentence_like(c) for row in body for c in row.cells):
        raise InputError(
            f"{path}:{body[0].line}: column {layout.text_a + 1} holds labels or numbers "
            f"({quote(body[0].cell(layout.text_a))}) where the text is expected; "
            "lay the file out as id<TAB>text under a header row"
        )


def check_labels(
    path: str,
    rows: list[Row],
    layout: FileLayout,
    column: int,
    allowed: tuple[str, ...] | None,
    skips_unlabeled: bool = False,
) -> None:
    """Raise InputError for rows with an empty or invalid label.

    Args:
        path: file, for messages.
        rows: all rows without the header.
        layout: the file's layout.
        column: 0-based label column.
        allowed: valid labels. None allows all names without leading or trailing spaces.
        skips_unlabeled: whether --skip_unlabeled is given.
    """
    labeled = [(row.line, row.cells[column]) for row in rows]
    empty = [(line, label) for line, label in labeled if not label.strip()]
    column_name = "the last column" if column < 0 else f"column {column + 1}"
    refuse_rows(path, empty, lambda _: f"the label in {column_name} is empty", f"every row needs one; {SKIP_ADVICE}")
    if allowed is not None:
        unknown = [(line, label) for line, label in labeled if layout.aliases.get(label, label) not in allowed]
        advice = f"correct it, or name all labels with --labels{skip_advice(unknown[0][1]) if unknown else ''}"
        refuse_rows(path, unknown, lambda label: f"label {quote(label)} is not among {list_names(allowed)}", advice)
        return
    padded = [(line, label) for line, label in labeled if label != label.strip()]
    refuse_rows(path, padded, lambda label: f"label {quote(label)} has a space at its end or start", "remove it")
    counts = Counter(label for _, label in labeled)
    location = f"{path}:{labeled[0][0]}: column {column + 1}" if labeled else path
    refuse_texts(location, counts, len(rows), f"check the order of the columns ({layout.columns})")
    warn_about_few_rows(path, len(counts), len(rows))
    sorted_counts = {label: counts[label] for label in sorted(counts, key=natural_key)}
    check_names(path, sorted_counts, {label: line for line, label in reversed(labeled)}, skips_unlabeled)


def check_numbers(path: str, rows: list[Row], column: int) -> None:
    """Raise InputError for the first label that is not a decimal.

    Args:
        path: file, for messages.
        rows: all rows without the header.
        column: 0-based label column.
    """
    invalid = [(row.line, row.cells[column]) for row in rows if not is_number(row.cells[column])]
    if invalid:
        line, label = invalid[0]
        raise InputError(
            f"{path}:{line}: column {column + 1} is {quote(label)}, a decimal such as 2.5 is needed{count_more(invalid)}"
            f"{skip_advice(label)}"
        )
