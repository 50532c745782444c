"""Which columns of a user's own table are texts, label and id, and whether its first row names them."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bert_cli.base.errors import InputError
from bert_cli.base.messages import quoted
from bert_cli.examples.own_rows import JSONL, TEXTS, format_of
from bert_cli.examples.tables import LABEL_COLUMN_NAMES, Row, header_reason, is_number
from bert_cli.settings.data import Columns

LOG = logging.getLogger("bert_cli")
# Names that leave no doubt, as `_plain` writes them.
_TEXT_NAMES = frozenset(
    (
        "text",
        "sentence",
        "review",
        "comment_text",
        "comment",
        "content",
        "body",
        "message",
        "tweet",
        "utterance",
        "post",
    )
    + ("review_text", "review_body", "document")
)
_PAIRS = (
    ("text_a", "text_b"), ("text", "text_b"), ("text1", "text2"), ("text_1", "text_2"), ("sentence1", "sentence2"),
    ("sentence_1", "sentence_2"), ("sentence_a", "sentence_b"), ("premise", "hypothesis"), ("question1", "question2"),
    ("question", "sentence"),
)  # fmt: skip
_LABEL_NAMES = LABEL_COLUMN_NAMES | {"stars", "class_index", "class_name", "label_name", "is_duplicate"}
_ID_NAMES = frozenset(("id", "idx", "index", "guid", "uid", "text_id", "review_id", "comment_id", "tweet_id"))
SAMPLE = 1000  # rows that are looked at to tell a header from data


@dataclass(frozen=True)
class ColumnIndices:
    """0-based columns of a table. names: of all columns, None without a header; width: how many there are.

    labels: the columns of the label, () where there is none; choices: those of the endings of a choice.
    """

    width: int
    names: tuple[str, ...] | None
    text_a: int
    text_b: int | None
    labels: tuple[int, ...]
    identifier: int | None
    choices: tuple[int, ...] = ()

    def called(self, column: int) -> str:
        """The name of a column, or its number."""
        return str(column) if self.names is None else self.names[column]


def place_columns(
    path: str, sample: Sequence[Row], columns: Columns, header: str, needs_label: bool, choices: Sequence[str] = ()
) -> ColumnIndices:
    """Where the parts of an example stand in a table whose first rows are `sample`.

    columns: what the flags say. header: yes, no or auto. needs_label: the file is for training or evaluation; without, a
    label column that the flags name may be missing. choices: columns of endings, as the flags name them. InputError where a
    column is missing or in doubt, and where the header is.
    """
    # The first row decides the width; own_rows.check_width holds the others to it.
    width = len(sample[0].cells)
    if width == 1 and format_of(path) != JSONL:
        if choices:
            raise InputError(f"{path}: has one column; a text and its endings, {', '.join(choices)}, are needed")
        return _list_of_texts(path, sample[0], columns, header, needs_label)
    names = _names(path, sample, columns, header, choices)
    endings = tuple(_column(path, names, width, name, "choice_columns") for name in choices)
    if columns.text_column is not None:
        text_a = _column(path, names, width, columns.text_column, "text_column")
        second = columns.text_b_column
        text_b = None if second is None else _column(path, names, width, second, "text_b_column")
        _tell_of_a_better_name(path, names, text_a)
    else:
        text_a, text_b = _guessed_texts(path, sample, names, columns, choices)
    labels = _labels(path, sample, names, columns, needs_label, (text_a, text_b, *endings))
    identifier = _identifier(path, names, width, columns, needs_label, (text_a, text_b, *labels, *endings))
    used = [column for column in (text_a, text_b, *labels, *endings) if column is not None]
    if len(set(used)) < len(used):
        flags = ("text_column", "text_b_column", *["choice_columns"] * bool(choices))
        named = ", ".join(f"--{flag}" for flag in flags)
        raise InputError(f"{path}: one column is named twice by {named} and --label_column")
    return ColumnIndices(width, names, text_a, text_b, labels, identifier, endings)


def _tell_of_a_better_name(path: str, names: tuple[str, ...] | None, text: int) -> None:
    """A number may be that of another file, which the run before has read."""
    better = [name for name in names or () if _plain(name) in _TEXT_NAMES]
    if names and better and _plain(names[text]) in _ID_NAMES | _LABEL_NAMES:
        LOG.warning(
            "%s:1: warning: --text_column=%d is %s, beside a column %s; is it the text?",
            path, text, quoted(names[text]), quoted(better[0]),
        )  # fmt: skip


def _list_of_texts(path: str, first: Row, columns: Columns, header: str, needs_label: bool) -> ColumnIndices:
    if needs_label:
        raise InputError(f"{path}: has one column, and one of labels is needed too; put a tab between them")
    cell = first.cells[0]
    known = _plain(cell) in _TEXT_NAMES or cell == columns.text_column
    has_header = header == "yes" or (header == "auto" and format_of(path) != TEXTS and known)
    LOG.info("%s: a list of texts%s", path, f" under the header {quoted(cell)}" if has_header else "")
    return ColumnIndices(1, (cell,) if has_header else None, 0, None, (), None)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.strip().lower()).strip("_")


def _given(columns: Columns, choices: Sequence[str]) -> list[str]:
    named = (columns.text_column, columns.text_b_column, *choices, *columns.label_columns, columns.id_column)
    return [name for name in named if name is not None]


def _names(
    path: str, sample: Sequence[Row], columns: Columns, header: str, choices: Sequence[str]
) -> tuple[str, ...] | None:
    """The cells of the header; None where the first row is data."""
    first = sample[0]
    cells = tuple(str(cell).strip() for cell in first.cells)
    if header == "yes" or format_of(path) == JSONL:
        return cells
    if header == "no":
        return None
    given = _given(columns, choices)
    by_number = [int(name) for name in given if name.isdecimal()]
    if any(not name.isdecimal() for name in given) or _is_header(cells):
        return cells
    if by_number and len(columns.label_columns) == 1 and columns.label_columns[0].isdecimal():
        reason = header_reason(
            first,
            sample[1:],
            labels=None,
            label=int(columns.label_columns[0]),
            texts=[int(columns.text_column)] if columns.text_column else (),
            identifier=None,
        )
        if reason:
            raise InputError(
                f"{path}:{first.line}: the first row looks like a header ({reason}), but its names are not usual ones; give "
                "--header=yes if it is a header, --header=no if it is data"
            )
    return None


def _is_header(cells: Sequence[str]) -> bool:
    """Whether the first row holds two usual names or more, and no number and nothing twice."""
    known = _TEXT_NAMES | {name for pair in _PAIRS for name in pair} | _LABEL_NAMES | _ID_NAMES
    # A header never repeats a name; two equal cells are data.
    is_plausible = len(set(cells)) == len(cells) and not any(map(is_number, cells))
    return is_plausible and sum(_plain(cell) in known for cell in cells) >= 2


def _find(names: tuple[str, ...] | None, width: int, name: str) -> int | None:
    if names and names.count(name) == 1:
        return names.index(name)
    return int(name) if name.isdecimal() and int(name) < width else None


def _column(path: str, names: tuple[str, ...] | None, width: int, name: str, flag: str) -> int:
    """The column of a name or number; InputError where there is none."""
    found = _find(names, width, name)
    if found is not None:
        return found
    there = (
        f"columns {', '.join(map(quoted, names[:20]))}" if names else f"{width} columns without names, 0 to {width - 1}"
    )
    raise InputError(f"{path}:1: --{flag}={name}: there is no such column; the file has {there}")


def _ask(path: str, sample: Sequence[Row], names: tuple[str, ...] | None, what: str, flag: str) -> InputError:
    cells = sample[0].cells if names is None else names
    shown = ", ".join(f"{number} {quoted(str(cell), 24)}" for number, cell in enumerate(cells[:12]))
    if names is None:
        return InputError(
            f"{path}:1: no header with names that leave no doubt; give --text_column and --label_column, by name or number: "
            f"{shown}"
        )
    return InputError(f"{path}:1: no column that is the {what} without doubt; give --{flag} by name: {shown}")


def _guessed_texts(
    path: str, sample: Sequence[Row], names: tuple[str, ...] | None, columns: Columns, choices: Sequence[str]
) -> tuple[int, int | None]:
    plain = [_plain(name) for name in names or ()]
    free = [_plain(name) if name not in _given(columns, choices) else "" for name in names or ()]
    pairs = [pair for pair in _PAIRS if all(free.count(name) == 1 for name in pair)] if not choices else []
    alone = [name for name in free if name in _TEXT_NAMES and not any(name in pair for pair in pairs)]
    second = columns.text_b_column
    if len(pairs) == 1 and not alone and second is None:
        text_a, text_b = (plain.index(name) for name in pairs[0])
    elif len(alone) == 1 and not pairs:
        text_a, text_b = plain.index(alone[0]), None
        text_b = None if second is None else _column(path, names, len(plain), second, "text_b_column")
    else:
        raise _ask(path, sample, names, "text", "text_column")
    LOG.info(
        "%s: took %s for the text",
        path,
        " and ".join(quoted(names[n]) for n in (text_a, text_b) if names and n is not None),
    )
    return text_a, text_b


def _labels(
    path: str,
    sample: Sequence[Row],
    names: tuple[str, ...] | None,
    columns: Columns,
    needs_label: bool,
    texts: Sequence[int | None],
) -> tuple[int, ...]:
    width = len(sample[0].cells)
    if columns.label_columns:
        if not needs_label and all(_find(names, width, name) is None for name in columns.label_columns):
            return ()
        return tuple(_column(path, names, width, name, "label_column") for name in columns.label_columns)
    found = [n for n, name in enumerate(names or ()) if _plain(name) in _LABEL_NAMES and n not in texts]
    if names and len(found) == 1:
        LOG.info("%s: took %s for the label", path, quoted(names[found[0]]))
        return (found[0],)
    if not needs_label:
        return ()
    error = _ask(path, sample, names, "label", "label_column")
    body = sample[1:] if names else sample
    # A hint for the data of Kaggle, which has a column of 0 and 1 for each label.
    binary = [n for n in range(width) if n not in texts and body and all(row.cell(n) in ("0", "1") for row in body)]
    if names and len(binary) > 1 and not found:
        both = ",".join(names[n] for n in binary)
        raise InputError(
            f"{error}; these hold 0 and 1 alone, as labels that do not exclude each other: --label_column={both}"
        )
    raise error


def _identifier(
    path: str,
    names: tuple[str, ...] | None,
    width: int,
    columns: Columns,
    needs_label: bool,
    used: Sequence[int | None],
) -> int | None:
    """The column of ids. One that the flags name must be in a file that is predicted, whose ids are written."""
    if columns.id_column is not None:
        is_there = columns.id_column in (names or ()) or columns.id_column.isdecimal()
        return _column(path, names, width, columns.id_column, "id_column") if is_there or not needs_label else None
    found = [n for n, name in enumerate(names or ()) if _plain(name) in _ID_NAMES and n not in used]
    return found[0] if len(found) == 1 else None
