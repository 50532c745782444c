"""Label cells that hold lists: names of labels, or a number 0 or 1 per label."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import list_names, quote
from bert_cli.examples.labels.written_lists import (
    is_half_open_interval,
    parse_list,
    starts_like_list,
)
from bert_cli.problem_types.columns import FLAGS, Cell, LabelCells
from bert_cli.problem_types.missing_labels import may_be_missing
from bert_cli.problem_types.problem_type import ProblemType

_NAME_ADVICE = "--problem_type=single_label if it is the name of a class"


class ListCells(NamedTuple):
    """Label cells in which every list is a tuple of label names.

    Attributes:
        cells: label cells of all rows.
        flag_count: length of lists of numbers 0 and 1, a number per label; 0 for other cells.
        index_names: names of these labels, "0", "1" …, if neither flags nor model have names.
    """

    cells: LabelCells
    flag_count: int = 0
    index_names: tuple[str, ...] | None = None


def read_lists(
    cells: LabelCells,
    problem_type: ProblemType | None,
    names: Sequence[str] | None,
) -> ListCells:
    """Return the label cells with all lists read, also those that are written as text.

    Args:
        cells: label cells as in the file.
        problem_type: of the flags or the model; None to infer it later.
        names: label names of the flags or the model, None if the file decides them. A cell that
            is such a name is never a list.

    Raises:
        InputError: a cell may be a list or a name, or is not a list like the others.
    """
    if len(cells.columns) > 1:
        return ListCells(cells)
    written = _written_lists(cells, problem_type, frozenset(names or ()))
    if written:
        cells = _with_cells(cells, written)
    count = 0 if problem_type and problem_type.is_numeric else _flag_count(cells, names)
    if not count:
        return ListCells(cells)
    label_names = tuple(names or map(str, range(count)))
    if problem_type:
        LOG.info("%s: its lists of %d numbers 0 and 1 have a number per label", cells.path, count)
    lists = {cell for (cell,) in cells.rows if isinstance(cell, tuple)}
    named: dict[Cell, tuple[str, ...]] = {
        flags: tuple(name for name, flag in zip(label_names, flags, strict=False) if FLAGS[flag]) for flags in lists
    }
    return ListCells(_with_cells(cells, named), count, None if names else label_names)


def names_in(text: str) -> tuple[str, ...]:
    """Return the labels in a cell without looking at other cells: of a list its items.

    Two numbers in brackets are a name, as they may be an interval; 0 and 1 are a list.
    """
    value = parse_list(text)
    if value is None:
        return (text,)
    may_be_interval = len(value.items) == 2 and not value.is_certain and not _are_flags(value.items)
    return (text,) if may_be_interval else value.items


def _with_cells(cells: LabelCells, lists: Mapping[Cell, tuple[str, ...]]) -> LabelCells:
    return replace(cells, rows=[(lists.get(cell, cell),) for (cell,) in cells.rows])


def _written_lists(
    cells: LabelCells, problem_type: ProblemType | None, names: Collection[str]
) -> Mapping[Cell, tuple[str, ...]]:
    """Return the list in each text of a column; {} if all of its texts are names."""
    lines: dict[str, int] = {}
    for line, (cell,) in zip(cells.lines, cells.rows, strict=True):
        if isinstance(cell, str) and cell not in names and not may_be_missing(cell):
            lines.setdefault(cell, line)
    if not any(map(starts_like_list, lines)):
        return {}
    parsed = {text: parse_list(text) for text in lines}
    written = {text: value for text, value in parsed.items() if value}
    lists: dict[Cell, tuple[str, ...]] = {text: value.items for text, value in written.items()}
    is_certain = any(value.is_certain for value in written.values())
    others = [text for text in lines if text not in written]
    if problem_type is None:
        are_names = _are_names(cells.path, lines, list(lists.values()), others, is_certain)
    elif problem_type.has_thresholds:
        are_names = False
    else:
        # A text of several items can only be a name, unless they are numbers 0 and 1.
        are_single = all(len(items) < 2 or _are_flags(items) for items in lists.values())
        are_names = not are_single or (bool(others) and not is_certain)
    if are_names or not lists:
        return {}
    if broken := next(filter(starts_like_list, others), None):
        raise _mixed(cells.path, lines, broken, next(iter(written)))
    return lists


def _are_names(
    path: str,
    lines: Mapping[str, int],
    lists: Sequence[tuple[str, ...]],
    others: Sequence[str],
    is_certain: bool,
) -> bool:
    """Return whether texts that look like lists are names of classes; see `_written_lists`.

    Raises:
        InputError: they may be lists or names.
    """
    if not lists:
        _refuse_unread(path, lines)
        return True
    has_flags = all(map(_are_flags, lists))
    has_pairs = all(len(items) == 2 for items in lists)
    if is_certain or (has_flags and not others):
        return False
    if others:
        # Bins of numbers: [0, 10), [10, 20) … [90, 100].
        if has_pairs and any(map(is_half_open_interval, others)):
            return True
        example = next(text for text in lines if text not in others)
        raise _mixed(path, lines, others[0], example)
    if has_pairs:
        text, line = next(iter(lines.items()))
        raise InputError(
            f"{path}:{line}: the label is {quote(text)}: give --problem_type=multi_label if it is "
            f"a list of two labels, {_NAME_ADVICE}"
        )
    return False


def _mixed(path: str, lines: Mapping[str, int], text: str, example: str) -> InputError:
    return InputError(
        f"{path}:{lines[text]}: the label is {quote(text)}, and line {lines[example]} has the list "
        f"{quote(example)}; write all labels as lists, or give {_NAME_ADVICE}"
    )


def _refuse_unread(path: str, lines: Mapping[str, int]) -> None:
    """Raise InputError if all texts have square brackets or braces, and one has several words."""
    are_bracketed = all(text[0] + text[-1] in ("[]", "{}") for text in lines)
    text = next((text for text in lines if "," in text), None)
    if are_bracketed and text:
        raise InputError(
            f"{path}:{lines[text]}: the label is {quote(text)}, which cannot be read as a list; "
            f'write a list such as ["a", "b"], or give {_NAME_ADVICE}'
        )


def _are_flags(items: Sequence[str]) -> bool:
    return len(items) > 1 and all(item in FLAGS for item in items)


def _flag_count(cells: LabelCells, names: Sequence[str] | None) -> int:
    """Return the length of lists of numbers 0 and 1 with a number per label, 0 for other lists.

    Raises:
        InputError: such lists have different lengths, or not as many numbers as there are names.
    """
    lines: dict[tuple[str, ...], int] = {}
    texts: dict[str, int] = {}
    for line, (cell,) in zip(cells.lines, cells.rows, strict=True):
        if isinstance(cell, tuple) and cell:
            lines.setdefault(cell, line)
        elif isinstance(cell, str) and not may_be_missing(cell):
            texts.setdefault(cell, line)
    lengths = Counter(map(len, lines))
    if not lines or not all(item in FLAGS for items in lines for item in items):
        return 0
    # A list of names has each name once: [0, 1, 0] are flags, and [0] and [1] are names.
    if all(len(set(items)) == len(items) for items in lines):
        are_flags = set(lengths) == {2} and not texts and (names is None or len(names) == 2)
        return 2 * are_flags
    count = len(names) if names else lengths.most_common(1)[0][0]
    wrong = next((line for items, line in lines.items() if len(items) != count), None)
    if wrong is not None or texts:
        line = next(iter(texts.values())) if wrong is None else wrong
        raise InputError(
            f"{cells.path}:{line}: a list of {count} numbers 0 and 1 is needed, one per label"
            f"{f' ({list_names(names)})' if names else ', as in other rows'}"
        )
    return count
