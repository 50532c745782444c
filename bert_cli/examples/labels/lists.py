"""Reader for label cells with lists: lists of names, or lists that use 0 or 1 per label."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names, quote
from bert_cli.base.log import LOG
from bert_cli.examples.labels.written_lists import (
    WrittenList,
    is_half_open_interval,
    is_span_list,
    parse_list,
    starts_like_list,
)
from bert_cli.problem_types.columns import FLAGS, LabelCell, LabelCells, may_be_missing, soft_labels_error
from bert_cli.problem_types.problem_type import ProblemType

_NAME_ADVICE = "--problem_type=single_label if it is the name of a class"


class ListCells(NamedTuple):
    """Label cells with every list converted to a tuple of label names.

    Attributes:
        cells: label cells of all rows.
        flag_count: list length if lists use 0 or 1 per label, else 0.
        index_names: label names "0", "1" … for such lists, if the user and the model gave no names.
    """

    cells: LabelCells
    flag_count: int = 0
    index_names: tuple[str, ...] | None = None


def read_lists(
    cells: LabelCells,
    problem_type: ProblemType | None,
    names: Sequence[str] | None,
) -> ListCells:
    """Convert all lists in label cells to tuples of names, including lists written as text.

    Args:
        cells: label cells as in the file.
        problem_type: problem type from flags or model, None if it will be inferred.
        names: label names from flags or model, None if they are not known yet, () for numbers to
            predict. A cell that equals a name is never a list.

    Raises:
        InputError: it is unclear whether a cell is a list or a name, or cells have different forms.
    """
    if len(cells.columns) > 1:
        # Numbers (no names) and labels in several columns are refused later.
        has_one_name = problem_type is not None and not problem_type.reader.takes_sets and names != ()
        return _join_columns(cells, names) if has_one_name else ListCells(cells)
    lists_by_text = _parse_cells(cells, problem_type, names)
    if lists_by_text:
        cells = _replace_cells(cells, lists_by_text)
    count = 0 if names == () else _count_flags(cells, names)
    if not count:
        return ListCells(cells)
    label_names = tuple(names or map(str, range(count)))
    if problem_type:
        LOG.info("%s: its lists of %d numbers 0 and 1 have a number per label", cells.path, count)
    lists = {cell for (cell,) in cells.rows if isinstance(cell, tuple)}
    names_by_flags: dict[LabelCell, tuple[str, ...]] = {
        flags: tuple(name for name, flag in zip(label_names, flags, strict=False) if FLAGS[flag]) for flags in lists
    }
    return ListCells(_replace_cells(cells, names_by_flags), count, None if names else label_names)


def _join_columns(cells: LabelCells, names: Sequence[str] | None) -> ListCells:
    """Convert columns of 0 and 1 to lists of the columns that have a 1.

    Raises:
        InputError: a cell is neither 0 nor 1, and another cell of its row is not empty.
    """
    is_labeled = [not all(isinstance(cell, str) and may_be_missing(cell) for cell in row) for row in cells.rows]
    cells.take([number for number, is_kept in enumerate(is_labeled) if is_kept]).check_flags()
    rows: list[tuple[LabelCell, ...]] = [
        (tuple(name for name, cell in zip(cells.columns, row, strict=True) if FLAGS.get(str(cell))),)
        for row in cells.rows
    ]
    joined = replace(cells, rows=rows, columns=(", ".join(cells.columns),))
    return ListCells(joined, len(cells.columns), None if names else cells.columns)


def split_label_names(text: str, place: str) -> tuple[str, ...]:
    """Return a list's items, or a single name, without looking at other cells.

    Two numbers in brackets are a name because they may be an interval. However, 0 and 1 are a list.

    Args:
        text: the label cell.
        place: file and line, for messages.

    Raises:
        InputError: the text is a list of probabilities.
    """
    value = parse_list(text)
    if value is None:
        return (text,)
    if value.sums_to_one:
        raise soft_labels_error(place, text)
    may_be_interval = len(value.items) == 2 and not value.is_certain and not _are_flags(value.items)
    return (text,) if may_be_interval else value.items


def _replace_cells(cells: LabelCells, lists: Mapping[LabelCell, tuple[str, ...]]) -> LabelCells:
    return replace(cells, rows=[(lists.get(cell, cell),) for (cell,) in cells.rows])


def _parse_cells(
    cells: LabelCells, problem_type: ProblemType | None, names: Sequence[str] | None
) -> Mapping[LabelCell, tuple[str, ...]]:
    """Return a list for each text in a label column, or {} if the texts are names."""
    lines: dict[str, int] = {}
    name_set = frozenset(names or ())
    for line, (cell,) in zip(cells.lines, cells.rows, strict=True):
        if isinstance(cell, str) and cell not in name_set and not may_be_missing(cell):
            lines.setdefault(cell, line)
    if not any(map(starts_like_list, lines)):
        return {}
    if spans := next(filter(is_span_list, lines), None):
        advice = "bert-tag learns to tag the words"
        raise InputError(
            f"{cells.path}:{lines[spans]}: the label is {quote(spans)}, a list of annotated spans; {advice}"
        )
    parsed = {text: parse_list(text) for text in lines}
    list_texts = {text: value for text, value in parsed.items() if value}
    if names != ():
        _refuse_probabilities(cells.path, lines, list_texts, problem_type)
    lists: dict[LabelCell, tuple[str, ...]] = {text: value.items for text, value in list_texts.items()}
    is_certain = any(value.is_certain for value in list_texts.values())
    other_texts = [text for text in lines if text not in list_texts]
    if problem_type is None:
        are_names = _are_names(cells.path, lines, list(lists.values()), other_texts, is_certain)
    elif problem_type.reader.takes_sets:
        are_names = False
    else:
        # With one label per row, several items can only be a name, unless they are 0 and 1.
        are_single = all(len(items) < 2 or _are_flags(items) for items in lists.values())
        are_names = not are_single or (bool(other_texts) and not is_certain)
    if are_names or not lists:
        return {}
    if broken := next(filter(starts_like_list, other_texts), None):
        raise _mixed_cells_error(cells.path, lines, broken, next(iter(list_texts)))
    return lists


def _refuse_probabilities(
    path: str, lines: Mapping[str, int], lists: Mapping[str, WrittenList], problem_type: ProblemType | None
) -> None:
    """Raise InputError if texts are lists of probabilities, see `_parse_cells`.

    Intervals such as [0.2, 0.5] are names if a flag declares a single label, or if others are
    half-open.
    """
    decimals = [text for text, value in lists.items() if value.are_decimals]
    if not decimals or any(map(is_half_open_interval, lines)):
        return
    may_be_names = not any(lists[text].is_certain for text in decimals)
    is_single = problem_type is not None and not problem_type.reader.takes_sets
    if is_single and may_be_names and not all(lists[text].sums_to_one for text in decimals):
        return
    advice = f"; {_NAME_ADVICE}" if problem_type is None and may_be_names else ""
    raise InputError(f"{soft_labels_error(f'{path}:{lines[decimals[0]]}', decimals[0])}{advice}")


def _are_names(
    path: str,
    lines: Mapping[str, int],
    lists: Sequence[tuple[str, ...]],
    other_texts: Sequence[str],
    is_certain: bool,
) -> bool:
    """Return whether texts that look like lists are class names (see `_parse_cells`).

    Raises:
        InputError: it is unclear whether they are lists or names.
    """
    if not lists:
        _refuse_unreadable(path, lines)
        return True
    has_flags = all(map(_are_flags, lists))
    has_pairs = all(len(items) == 2 for items in lists)
    if is_certain or (has_flags and not other_texts):
        return False
    if other_texts:
        # Number bins are names: [0, 10), [10, 20) … [90, 100].
        if has_pairs and any(map(is_half_open_interval, other_texts)):
            return True
        example = next(text for text in lines if text not in other_texts)
        raise _mixed_cells_error(path, lines, other_texts[0], example)
    if has_pairs:
        text, line = next(iter(lines.items()))
        raise InputError(
            f"{path}:{line}: the label is {quote(text)}: give --problem_type=multi_label if it is "
            f"a list of two labels, {_NAME_ADVICE}"
        )
    return False


def _mixed_cells_error(path: str, lines: Mapping[str, int], text: str, example: str) -> InputError:
    return InputError(
        f"{path}:{lines[text]}: the label is {quote(text)}, and line {lines[example]} has the list "
        f"{quote(example)}; write all labels as lists, or give {_NAME_ADVICE}"
    )


def _refuse_unreadable(path: str, lines: Mapping[str, int]) -> None:
    """Raise InputError if all texts have brackets or braces, and one has a comma."""
    are_bracketed = all(text[0] + text[-1] in ("[]", "{}") for text in lines)
    text = next((text for text in lines if "," in text), None)
    if are_bracketed and text:
        raise InputError(
            f"{path}:{lines[text]}: the label is {quote(text)}, which cannot be read as a list; "
            f'write a list such as ["a", "b"], or give {_NAME_ADVICE}'
        )


def _are_flags(items: Sequence[str]) -> bool:
    return len(items) > 1 and all(item in FLAGS for item in items)


def _count_flags(cells: LabelCells, names: Sequence[str] | None) -> int:
    """Return the list length if lists have 0 or 1 per label, 0 for other lists.

    Raises:
        InputError: such lists have different lengths, or their length is not the number of names.
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
    # A list never repeats a name, so [0, 1, 0] has flags. However, [0] and [1] have names.
    if all(len(set(items)) == len(items) for items in lines):
        are_flags = set(lengths) == {2} and not texts and (names is None or len(names) == 2)
        return 2 * are_flags
    count = len(names) if names else lengths.most_common(1)[0][0]
    invalid_line = next((line for items, line in lines.items() if len(items) != count), None)
    if invalid_line is not None or texts:
        line = next(iter(texts.values())) if invalid_line is None else invalid_line
        raise InputError(
            f"{cells.path}:{line}: a list of {count} numbers 0 and 1 is needed, one per label"
            f"{f' ({list_names(names)})' if names else ', as in other rows'}"
        )
    return count
