"""Checks of the cells of a task's file: its first row, its text column, its labels; all errors say
`file:line`.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number
from bert_cli.base.log import LOG
from bert_cli.base.messages import count_more, list_names, quote
from bert_cli.examples import tables
from bert_cli.examples.glue import FileLayout
from bert_cli.examples.labels.label_names import check_names, natural_key, refuse_texts, warn_of_few_rows
from bert_cli.examples.table_files.rows import Row, refuse_rows
from bert_cli.problem_types.missing_labels import SKIP_ADVICE, skip_advice

_MANY = 10  # rows that have a label


def is_data_by_label(first: Row, others: Sequence[Row], labels: Collection[str], label: int | None) -> bool:
    """Whether the first row is one of data without doubt: its label is a known one that ten other
    rows have too.
    """
    cell = first.cell(label)
    if label is None or cell not in labels or tables.is_numbering(first.cells):
        return False
    return sum(row.cell(label) == cell for row in others if row.cells != first.cells) >= _MANY


def check_first_row(
    path: str, rows: list[Row], layout: FileLayout, header: str, has_header: bool, known: tuple[str, ...] | None
) -> None:
    """InputError in `auto`, a warning otherwise, where the first row does not look like what it is
    taken for.
    """
    first, others = rows[0], rows[1:]
    found = ""
    if has_header:
        labels = [*(known or ()), *layout.aliases]
        reason = tables.data_reason(first, others, labels, layout.key_columns)
        found = reason and f"looks like data ({reason}) but is skipped as a header"
        advice = "give --header=no if it is data, --header=yes if it is a header"
    elif layout.label is not None:
        reason = tables.header_reason(first, others, known, layout.key_columns)
        found = reason and f"looks like a header ({reason}) but is read as data"
        advice = "give --header=yes if it is a header, --header=no if it is data"
    if found and header == "auto":
        raise InputError(f"{path}:{first.line}: the first row {found}; {advice}")
    if found:
        LOG.warning("%s:%d: the first row %s, as --header=%s says", path, first.line, found, header)
    elif has_header:
        names = ", ".join(quote(cell, 20) for cell in first.cells[:12])
        LOG.info("%s:%d: skipped the header row: %s", path, first.line, names)


def check_text_column(path: str, rows: list[Row], layout: FileLayout, known: tuple[str, ...]) -> None:
    """InputError where the column of the texts in an unlabelled file (id, text) holds labels or
    ids.

    The original reads them as texts. It happens with files laid out as train.tsv (id, label, mark,
    text), as `text, label`, or with a column of row numbers before the id. There all cells of the
    column are known labels or numbers, and the rows have four columns or a sentence in some other
    column.
    """
    body = rows[1:] or rows
    if not all(row.cell(layout.text_a) in known or is_number(row.cell(layout.text_a)) for row in body):
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
    known: tuple[str, ...] | None,
    skips: bool = False,
) -> None:
    """Raise InputError for rows with an empty label, or one that is not allowed.

    Args:
        path: file, for messages.
        rows: rows of data.
        layout: layout of the file.
        column: 0-based column of the labels.
        known: allowed labels; None: any label without spaces around it that can be a name.
        skips: whether --skip_unlabeled is given.
    """
    labelled = [(row.line, row.cells[column]) for row in rows]
    empty = [(line, label) for line, label in labelled if not label.strip()]
    where = "the last column" if column < 0 else f"column {column + 1}"
    refuse_rows(path, empty, lambda _: f"the label in {where} is empty", f"every row needs one; {SKIP_ADVICE}")
    if known is not None:
        unknown = [(line, label) for line, label in labelled if layout.aliases.get(label, label) not in known]
        advice = f"correct it, or name all labels with --labels{skip_advice(unknown[0][1]) if unknown else ''}"
        refuse_rows(path, unknown, lambda label: f"label {quote(label)} is not among {list_names(known)}", advice)
        return
    padded = [(line, label) for line, label in labelled if label != label.strip()]
    refuse_rows(path, padded, lambda label: f"label {quote(label)} has a space at its end or start", "remove it")
    counts = Counter(label for _, label in labelled)
    place = f"{path}:{labelled[0][0]}: column {column + 1}" if labelled else path
    refuse_texts(place, counts, len(rows), f"check the order of the columns ({layout.columns})")
    warn_of_few_rows(path, len(counts), len(rows))
    ordered = {label: counts[label] for label in sorted(counts, key=natural_key)}
    check_names(path, ordered, {label: line for line, label in reversed(labelled)}, skips)


def check_numbers(path: str, rows: list[Row], column: int) -> None:
    """InputError for the first row whose label is no decimal."""
    wrong = [(row.line, row.cells[column]) for row in rows if not is_number(row.cells[column])]
    if wrong:
        line, label = wrong[0]
        raise InputError(
            f"{path}:{line}: column {column + 1} is {quote(label)}, a decimal such as 2.5 is needed{count_more(wrong)}"
            f"{skip_advice(label)}"
        )
