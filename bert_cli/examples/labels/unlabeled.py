"""Detection of unlabeled rows, and of labels that mark a missing label."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.log import LOG
from bert_cli.problem_types.columns import (
    MINUS_ONE,
    SKIP_ADVICE,
    LabelCell,
    LabelCells,
    is_doubtful_word,
    is_missing_sign,
    is_missing_word,
    may_be_missing,
)
from bert_cli.reading.rows import LeftOutRows

_MAX_DIGITS = 10  # digits in a class index
_MAX_NAMES = 10  # names in a message


class MissingMarkers(NamedTuple):
    """Labels that mark a missing label.

    Attributes:
        signs: punctuation, such as SNLI's hyphen, if all class names have letters or digits.
        words: words such as nan and null.
        doubtful: names that are classes in other data, such as none, NA and -1.
    """

    signs: tuple[str, ...]
    words: tuple[str, ...]
    doubtful: tuple[str, ...]


def find_markers(counts: Mapping[str, int]) -> MissingMarkers:
    """Return the labels that mark a missing label; `counts` has the rows for all labels."""
    classes = [name for name in counts if name != MINUS_ONE and not may_be_missing(name)]
    # If other names are signs, too, a hyphen is a class: +, - and = for sentiment, for example.
    has_words = bool(classes) and all(re.search(r"\w", name) for name in classes)
    return MissingMarkers(
        tuple(name for name in counts if has_words and is_missing_sign(name)),
        tuple(filter(is_missing_word, counts)),
        tuple(name for name in counts if is_doubtful_word(name) or (name == MINUS_ONE and _is_odd(counts, classes))),
    )


def _is_odd(counts: Mapping[str, int], classes: Sequence[str]) -> bool:
    """Return whether -1 marks a missing label, because it does not belong to the class indices."""
    if not classes or not all(name.isdecimal() and len(name) < _MAX_DIGITS for name in classes):
        return False
    # -1, 0 and 1 are a sentiment scale, unless -1 is rare.
    is_rare = 2 * counts[MINUS_ONE] < min(counts[name] for name in classes)
    return is_rare or max(map(int, classes)) > 1


def check_markers(
    path: str,
    counts: Mapping[str, int],
    first_lines: Mapping[str, int],
    skips_unlabeled: bool,
) -> None:
    """Raise InputError for a sign that marks a missing label, and warn about such words.

    Args:
        path: file, for messages.
        counts: rows per label in a training file.
        first_lines: first line per label.
        skips_unlabeled: whether --skip_unlabeled is given, so only doubtful names are left.
    """
    for name in find_markers(counts).signs:
        names = [*(label for label in counts if label != name), name]
        fits_flag = len(names) <= _MAX_NAMES and not any("," in label for label in names)
        labels_flag = f"--labels={','.join(names)}" if fits_flag else "--labels with all names"
        raise InputError(
            f"{path}:{first_lines[name]}: {counts[name]} row(s) have the label {quote(name)}, "
            f"which means no label; {SKIP_ADVICE}, and {labels_flag} keeps it as a class"
        )
    warn_about_markers(path, counts, skips_unlabeled)


def warn_about_markers(path: str, counts: Mapping[str, int], skips_unlabeled: bool) -> None:
    """Warn about labels that other programs write for a missing value; see `check_markers`."""
    markers = find_markers(counts)
    for name in (*markers.signs, *markers.words):
        LOG.warning(
            "%s: warning: %d row(s) have the label %s, which other programs write for a missing "
            "value; %s", path, counts[name], quote(name), SKIP_ADVICE,
        )  # fmt: skip
    advice = "remove such rows" if skips_unlabeled else SKIP_ADVICE
    for name in markers.doubtful:
        LOG.warning(
            "%s: warning: %d row(s) have the label %s: a class here, but other programs write it "
            "for a missing value; if it means no label, %s", path, counts[name], quote(name), advice,
        )  # fmt: skip


def find_missing_names(counts: Mapping[str, int], has_empty: bool) -> set[str]:
    """Return the labels that --skip_unlabeled skips.

    Args:
        counts: rows per label.
        has_empty: whether rows have an empty label; if so, none, NA and -1 are classes.
    """
    markers = find_markers(counts)
    certain = {*markers.signs, *markers.words}
    return certain if certain or has_empty else set(markers.doubtful)


def find_labeled_rows(
    cells: LabelCells,
    labels: Collection[str] | None,
) -> list[int]:
    """Return the 0-based row numbers with a label, for --skip_unlabeled.

    The names none, NA and -1 are missing labels only if the column has no other missing labels.

    Args:
        cells: label cells of all rows.
        labels: the model's labels, which are never missing labels; () for numbers to predict, which
            -1 may be; None if this file decides them.
    """
    if len(cells.columns) > 1:
        are_missing = [all(map(_is_missing_flag, row)) for row in cells.rows]
        return [number for number, is_missing in enumerate(are_missing) if not is_missing]
    texts = [_join_single(row[0]) for row in cells.rows]
    counts = Counter(text for text in texts if text is not None)
    missing = _find_missing_texts(counts, labels)
    return [number for number, text in enumerate(texts) if text not in missing]


class LabeledRows(NamedTuple):
    """Rows with a label, as 0-based numbers, and the rows that are left out."""

    rows: list[int]
    left_out: tuple[LeftOutRows, ...]


def drop_unlabeled(
    cells: LabelCells,
    labels: Collection[str] | None,
) -> LabeledRows:
    """Return the labeled rows, see `find_labeled_rows`.

    Raises:
        InputError: no row has a label.
    """
    rows = find_labeled_rows(cells, labels)
    if not rows:
        raise InputError(f"{cells.path}:{cells.lines[0]}: no row has a label; check --label_column")
    skipped = sorted(set(range(len(cells.rows))).difference(rows))
    counts = Counter(_join_single(cells.rows[row][0]) for row in skipped)
    contents = ", ".join(f"{count} {quote(text) if text else 'empty'}" for text, count in counts.most_common())
    lines = [cells.lines[row] for row in skipped]
    return LabeledRows(rows, LeftOutRows.of_lines("rows without a label", lines, True, contents))


def _is_missing_flag(cell: LabelCell) -> bool:
    """Return whether a cell in a column of 0 and 1 has no value."""
    return isinstance(cell, str) and (cell == MINUS_ONE or may_be_missing(cell))


def _join_single(cell: LabelCell) -> str | None:
    """Return a cell's label, "" for an empty list, or None for a list with several labels."""
    if isinstance(cell, str):
        return cell
    return None if len(cell) > 1 else "".join(cell)


def _find_missing_texts(
    counts: Mapping[str, int],
    labels: Collection[str] | None,
) -> Collection[str]:
    if labels is not None and not labels:
        return set(filter(may_be_missing, counts))
    if labels is not None:
        unknown = counts.keys() - set(labels)
        return {text for text in unknown if text == MINUS_ONE or may_be_missing(text)}
    empty = {""} & counts.keys()
    return empty | find_missing_names(counts, has_empty=bool(empty))
