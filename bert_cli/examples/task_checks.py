"""Checks of a task's data file: first row, text column and labels."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more, is_number, list_names, quote
from bert_cli.base.log import LOG
from bert_cli.examples.glue import FileLayout
from bert_cli.examples.labels.label_names import check_data_label_names, natural_key, refuse_texts, warn_about_few_rows
from bert_cli.problem_types.columns import SKIP_ADVICE, skip_advice
from bert_cli.reading.header import (
    AUTO,
    HeaderDecision,
    HeaderSign,
    decide_header,
    find_data_reason,
    find_header_reason,
    has_common_label,
    is_sentence_like,
)
from bert_cli.reading.rows import Row, refuse_rows


def find_header(rows: Sequence[Row], layout: FileLayout, header: str, labels: tuple[str, ...] | None) -> HeaderDecision:
    """Decide whether a file's first row is a header.

    Args:
        layout: the file's columns, and the original's rule for its first row.
        labels: the labels, None if they are unknown.
    """
    return decide_header(header, _signs(rows[0], rows[1:], layout, labels), layout.has_header)


def _signs(
    first: Row, other_rows: Sequence[Row], layout: FileLayout, labels: tuple[str, ...] | None
) -> Iterator[HeaderSign]:
    columns = layout.key_columns
    if layout.has_header and has_common_label(first, other_rows, labels or (), layout.label):
        yield HeaderSign(is_header=False)
    if reason := find_data_reason(first, other_rows, [*(labels or ()), *layout.aliases], columns):
        yield HeaderSign(is_header=False, doubt=reason)
    if layout.label is not None and (reason := find_header_reason(first, other_rows, labels, columns)):
        yield HeaderSign(is_header=True, doubt=reason)


def report_first_row(path: str, first: Row, found: HeaderDecision, header: str) -> None:
    """Report a first row that may contradict the decision.

    Args:
        path: file, for messages.
        found: whether it is a header.
        header: value of --header. In `auto`, a contradiction is an error, otherwise a warning.

    Raises:
        InputError: the first row may contradict the decision, and `header` is auto.
    """
    looks, use = ("data", "skipped as a header") if found.is_header else ("a header", "read as data")
    other, same = ("no", "yes") if found.is_header else ("yes", "no")
    problem = found.doubt and f"looks like {looks} ({found.doubt}) but is {use}"
    if problem and header == AUTO:
        other_name, same_name = ("data", "a header") if found.is_header else ("a header", "data")
        advice = f"give --header={other} if it is {other_name}, --header={same} if it is {same_name}"
        raise InputError(f"{path}:{first.line}: the first row {problem}; {advice}")
    if problem:
        LOG.warning("%s:%d: the first row %s, as --header=%s says", path, first.line, problem, header)


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
        layout: the file's layout, which has a single text and no labels.
        labels: known labels.
    """
    body = rows[1:] or rows
    if not all(row.cell(layout.text_a) in labels or is_number(row.cell(layout.text_a)) for row in body):
        return
    if min(len(row.cells) for row in body) >= 4 or any(is_sentence_like(c) for row in body for c in row.cells):
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
    check_data_label_names(path, sorted_counts, {label: line for line, label in reversed(labeled)}, skips_unlabeled)


def check_decimals(path: str, rows: list[Row], column: int) -> None:
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
