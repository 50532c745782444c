"""Rows without a label: which rows they are, and labels that only mark a missing one."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import quote
from bert_cli.problem_types.columns import Cell, LabelCells
from bert_cli.problem_types.missing_labels import (
    MINUS_ONE,
    SKIP_ADVICE,
    is_doubtful_word,
    is_missing_sign,
    is_missing_word,
    may_be_missing,
)

_MOST_DIGITS = 10  # in a class index
_MOST_NAMES = 10  # that a message lists


class MissingMarkers(NamedTuple):
    """Labels of a column that mark a missing label.

    Attributes:
        signs: punctuation among names of words or digits, such as SNLI's hyphen.
        words: words such as nan and null.
        doubtful: names that are classes in other data, such as none, NA and -1.
    """

    signs: tuple[str, ...]
    words: tuple[str, ...]
    doubtful: tuple[str, ...]


def find_markers(counts: Mapping[str, int]) -> MissingMarkers:
    """Return the labels that mark a missing label, judged by the other labels of the column.

    Args:
        counts: rows per label.
    """
    classes = [name for name in counts if name != MINUS_ONE and not may_be_missing(name)]
    # A hyphen among signs is a class: +, - and = of sentiment, or the marks of punctuation.
    has_words = bool(classes) and all(re.search(r"\w", name) for name in classes)
    return MissingMarkers(
        tuple(name for name in counts if has_words and is_missing_sign(name)),
        tuple(filter(is_missing_word, counts)),
        tuple(name for name in counts if is_doubtful_word(name) or (name == MINUS_ONE and _is_odd(counts, classes))),
    )


def _is_odd(counts: Mapping[str, int], classes: Sequence[str]) -> bool:
    """Return whether -1 does not belong to the class indices of a column."""
    if not classes or not all(name.isdecimal() and len(name) < _MOST_DIGITS for name in classes):
        return False
    # -1, 0 and 1 are a scale of sentiment, unless -1 is rare.
    is_rare = 2 * counts[MINUS_ONE] < min(counts[name] for name in classes)
    return is_rare or max(map(int, classes)) > 1


def check_markers(
    path: str,
    counts: Mapping[str, int],
    first_lines: Mapping[str, int],
    skips: bool,
) -> None:
    """Raise InputError for a sign that would become a class, and warn of words that may be none.

    Args:
        path: file, for messages.
        counts: rows per label of a training file.
        first_lines: first line of each label.
        skips: whether --skip_unlabeled is given, so that only doubtful names are left.
    """
    for name in find_markers(counts).signs:
        names = [*(label for label in counts if label != name), name]
        can_be_given = len(names) <= _MOST_NAMES and not any("," in label for label in names)
        labels_flag = f"--labels={','.join(names)}" if can_be_given else "--labels with all names"
        raise InputError(
            f"{path}:{first_lines[name]}: {counts[name]} row(s) have the label {quote(name)}, "
            f"which means no label; {SKIP_ADVICE}, and {labels_flag} keeps it as a class"
        )
    warn_of_markers(path, counts, skips)


def warn_of_markers(path: str, counts: Mapping[str, int], skips: bool) -> None:
    """Warn of each label that other programs write for a missing value; see `check_markers`."""
    markers = find_markers(counts)
    for name in (*markers.signs, *markers.words):
        LOG.warning(
            "%s: warning: %d row(s) have the label %s, which other programs write for a missing "
            "value; %s", path, counts[name], quote(name), SKIP_ADVICE,
        )  # fmt: skip
    advice = "remove such rows" if skips else SKIP_ADVICE
    for name in markers.doubtful:
        LOG.warning(
            "%s: warning: %d row(s) have the label %s: a class here, but other programs write it "
            "for a missing value; if it means no label, %s", path, counts[name], quote(name), advice,
        )  # fmt: skip


def missing_names(counts: Mapping[str, int], has_empty: bool) -> set[str]:
    """Return the labels that --skip_unlabeled leaves out.

    Args:
        counts: rows per label.
        has_empty: whether rows have an empty label, so that none, NA and -1 are classes.
    """
    markers = find_markers(counts)
    certain = {*markers.signs, *markers.words}
    return certain if certain or has_empty else set(markers.doubtful)


def find_labeled_rows(
    cells: LabelCells,
    labels: Collection[str] | None,
    is_numeric: bool,
) -> list[int]:
    """Return the 0-based numbers of the rows that have a label, for --skip_unlabeled.

    The names none, NA and -1 count as a missing label only if nothing else in the column does.

    Args:
        cells: label cells of all rows.
        labels: labels of the model, which are never missing ones; None if this file decides them.
        is_numeric: whether labels are numbers to predict, so that -1 is one.
    """
    if len(cells.columns) > 1:
        are_missing = [all(map(_is_missing_flag, row)) for row in cells.rows]
        return [number for number, is_missing in enumerate(are_missing) if not is_missing]
    texts = [_single_text(row[0]) for row in cells.rows]
    counts = Counter(text for text in texts if text is not None)
    missing = _missing_texts(counts, labels, is_numeric)
    return [number for number, text in enumerate(texts) if text not in missing]


def leave_out_unlabeled(
    cells: LabelCells,
    labels: Collection[str] | None,
    is_numeric: bool,
) -> list[int]:
    """Return the rows as `find_labeled_rows` does, and log how many are left out.

    Raises:
        InputError: no row has a label.
    """
    rows = find_labeled_rows(cells, labels, is_numeric)
    if not rows:
        raise InputError(f"{cells.path}:{cells.lines[0]}: no row has a label; check --label_column")
    left_out = sorted(set(range(len(cells.rows))).difference(rows))
    if left_out:
        counts = Counter(_single_text(cells.rows[row][0]) for row in left_out)
        contents = [f"{count} {quote(text) if text else 'empty'}" for text, count in counts.most_common()]
        LOG.info(
            "%s: left out %d row(s) without a label (%s); the first is line %d",
            cells.path, len(left_out), ", ".join(contents), cells.lines[left_out[0]],
        )  # fmt: skip
    return rows


def _is_missing_flag(cell: Cell) -> bool:
    """Return whether a cell of a column of 0 and 1 holds neither."""
    return isinstance(cell, str) and (cell == MINUS_ONE or may_be_missing(cell))


def _single_text(cell: Cell) -> str | None:
    """Return the text of a label cell, "" for an empty list; None for a list of several labels."""
    if isinstance(cell, str):
        return cell
    return None if len(cell) > 1 else "".join(cell)


def _missing_texts(
    counts: Mapping[str, int],
    labels: Collection[str] | None,
    is_numeric: bool,
) -> Collection[str]:
    if is_numeric:
        return set(filter(may_be_missing, counts))
    if labels is not None:
        unknown = counts.keys() - set(labels)
        return {text for text in unknown if text == MINUS_ONE or may_be_missing(text)}
    empty = {""} & counts.keys()
    return empty | missing_names(counts, has_empty=bool(empty))
