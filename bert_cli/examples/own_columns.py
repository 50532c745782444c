"""Which columns of a user's own table are texts, label and id, and whether its first row names
them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import quoted
from bert_cli.examples import tables
from bert_cli.examples.own_rows import JSONL, TEXTS, format_of, how_to_separate
from bert_cli.examples.tables import KeyColumns, Row, find_column, has_usual_names, header_reason, plain
from bert_cli.examples.unnamed_columns import refuse_unclear_header, with_guesses
from bert_cli.settings.data import NOT_TRAINED, Columns, TrainedColumns

SAMPLE = 1000  # rows that are looked at to find out whether there is a header


@dataclass(frozen=True)
class ColumnIndices:
    """0-based columns of a table. names: of all columns, None without a header; width: how many
    there are.

    labels: the columns of the label, () where there is none; choices: the columns of the endings in
    multiple choice.
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


def find_columns(
    path: str,
    sample: Sequence[Row],
    columns: Columns,
    header: str,
    needs_label: bool,
    choices: Sequence[str] = (),
    trained: TrainedColumns = NOT_TRAINED,
) -> ColumnIndices:
    """Where the parts of an example are in a table whose first rows are `sample`.

    columns: what the flags say. header: yes, no or auto. needs_label: the file is for training or
    evaluation; without, a label column that the flags name may be missing. choices: columns of
    endings, as the flags name them. trained: of the training run; its guesses hold for a table that
    has these columns, other tables get their own. InputError where a column is missing or in doubt,
    where the header is, and where there is one text and the model was trained on pairs or the other
    way round.
    """
    # The first row decides the width; own_rows.check_width holds the others to it.
    width = len(sample[0].cells)
    columns = _without_missing_id(path, sample[0], columns, trained)
    # A list of texts; an object with one key still has a name.
    if width == 1 and format_of(path) != JSONL:
        if choices:
            raise InputError(f"{path}: has one column; a text and its endings, {', '.join(choices)}, are needed")
        return _list_of_texts(path, sample, columns, header, needs_label, trained)
    names = _names(path, sample, columns, header, choices, trained)
    columns = trained.by_name(columns, names)
    is_complete = columns.text_column and (columns.label_column or not needs_label)
    if names is None and not is_complete and not choices:
        columns = with_guesses(path, sample, columns, header, needs_label, trained)
    table = _Table(path, sample, names, columns, needs_label, trained)
    endings = tuple(table.column(name, "choice_columns") for name in choices)
    # What is taken for one thing is never guessed for another, so texts come before labels and
    # labels before ids.
    text_a, text_b = table.texts(choices)
    labels = table.labels((text_a, text_b, *endings))
    identifier = table.identifier((text_a, text_b, *labels, *endings))
    used = [column for column in (text_a, text_b, *labels, *endings) if column is not None]
    if len(set(used)) < len(used):
        flags = ("text_column", "text_b_column", *["choice_columns"] * bool(choices))
        named = ", ".join(f"--{flag}" for flag in flags)
        raise InputError(f"{path}: one column is named twice by {named} and --label_column")
    return ColumnIndices(width, table.names, text_a, text_b, labels, identifier, endings)


def _list_of_texts(
    path: str, sample: Sequence[Row], columns: Columns, header: str, needs_label: bool, trained: TrainedColumns
) -> ColumnIndices:
    if needs_label:
        raise InputError(f"{path}: has one column, and one of labels is needed too; {how_to_separate(path, sample)}")
    if columns.text_b_column or trained.guessed.text_b_column:
        raise InputError(f"{path}: has one column, and two of texts are needed, as the model was trained on pairs")
    if columns.id_column:
        raise InputError(
            f"{path}:1: --id_column={columns.id_column}: there is no such column; the file has texts alone"
        )
    cell = sample[0].cells[0]
    known = plain(cell) in tables.TEXT_NAMES or cell in (columns.text_column, trained.guessed.text_column)
    has_header = header == "yes" or (header == "auto" and format_of(path) != TEXTS and known)
    LOG.info("%s: a list of texts%s", path, f" under the header {quoted(cell)}" if has_header else "")
    return ColumnIndices(1, (cell,) if has_header else None, 0, None, (), None)


def _without_missing_id(path: str, first: Row, columns: Columns, trained: TrainedColumns) -> Columns:
    """`columns` without an --id_column of the training run that this file lacks: its rows are
    numbered.
    """
    name = columns.id_column
    if name is None or "id_column" not in trained.flags:
        return columns
    width = len(first.cells)
    # One column is the text.
    if width > 1 and (name in map(str.strip, map(str, first.cells)) or (name.isdecimal() and int(name) < width)):
        return columns
    LOG.info("%s: has no column %s, the --id_column of the training run", path, quoted(name))
    return replace(columns, id_column=None)


def _given(columns: Columns, choices: Sequence[str]) -> list[str]:
    named = (columns.text_column, columns.text_b_column, *choices, *columns.label_columns, columns.id_column)
    return [name for name in named if name is not None]


def _names(
    path: str, sample: Sequence[Row], columns: Columns, header: str, choices: Sequence[str], trained: TrainedColumns
) -> tuple[str, ...] | None:
    """The cells of the header; None where the first row is data."""
    first = sample[0]
    cells = tuple(str(cell).strip() for cell in first.cells)
    # The keys of JSON lines are names, whatever --header says of other files.
    if header == "yes" or format_of(path) == JSONL:
        return cells
    if header == "no":
        return None
    given = _given(columns, choices)
    by_number = [int(name) for name in given if name.isdecimal()]
    is_known = trained.guessed.text_column in cells and not str(trained.guessed.text_column).isdecimal()
    if any(not name.isdecimal() for name in given) or is_known or has_usual_names(cells):
        return cells
    if by_number and len(columns.label_columns) == 1 and columns.label_columns[0].isdecimal():
        texts = [int(columns.text_column)] if columns.text_column else []
        key_columns = KeyColumns(int(columns.label_columns[0]), texts)
        refuse_unclear_header(path, first.line, header_reason(first, sample[1:], None, key_columns))
    return None


@dataclass(frozen=True)
class _Table:
    """The first rows of a file with several columns, and what the flags say of them.

    names: the cells of its header, None where the first row is data.
    """

    path: str
    sample: Sequence[Row]
    names: tuple[str, ...] | None
    columns: Columns
    needs_label: bool
    trained: TrainedColumns

    def find(self, name: str) -> int | None:
        """The column of a name or number, None where there is none."""
        return find_column(name, self.names or (), len(self.sample[0].cells))

    def column(self, name: str, flag: str) -> int:
        """The column of a name or number; InputError where there is none."""
        found = self.find(name)
        if found is not None:
            return found
        last = len(self.sample[0].cells) - 1
        there = f"{last + 1} columns without names, 0 to {last}"
        if self.names:
            there = f"columns {', '.join(map(quoted, self.names[:20]))}"
        source, advice = "", ""
        if flag in self.trained.flags:
            source, advice = " (from the training run)", f"; give this file's --{flag}"
        raise InputError(
            f"{self.path}:1: --{flag}={name}{source}: there is no such column; the file has {there}{advice}"
        )

    def usual(self, known: Collection[str], used: Collection[int | None] = ()) -> list[int]:
        """The columns with one of the known names, without the used ones."""
        return [n for n, name in enumerate(self.names or ()) if plain(name) in known and n not in used]

    def doubt(self, what: str, flag: str) -> InputError:
        """The error that asks for a flag, as no column is the text or the label without doubt."""
        cells = self.sample[0].cells if self.names is None else self.names
        listed = ", ".join(f"{number} {quoted(str(cell), 24)}" for number, cell in enumerate(cells[:12]))
        problem = f"no column that is the {what} without doubt; give --{flag} by name"
        if self.names is None:
            problem = (
                "no header with names that leave no doubt; give --text_column and --label_column, by name or number"
            )
        return InputError(f"{self.path}:1: {problem}: {listed}")

    def texts(self, choices: Sequence[str]) -> tuple[int, int | None]:
        """The columns of the texts: as the flags say, else the columns with usual names that are
        there once.
        """
        first, second = self.columns.text_column, self.columns.text_b_column
        if first is None:
            return self._guessed_texts(choices)
        text_a = self.column(first, "text_column")
        text_b = None if second is None else self.column(second, "text_b_column")
        better = self.usual(tables.TEXT_NAMES)
        # A number may be meant for another file, which an earlier run has read.
        if self.names and better and text_a in self.usual(tables.ID_NAMES | tables.LABEL_NAMES):
            LOG.warning(
                "%s:1: warning: --text_column=%d is %s, but there is a column %s; is it the text?",
                self.path, text_a, quoted(self.names[text_a]), quoted(self.names[better[0]]),
            )  # fmt: skip
        return text_a, text_b

    def _guessed_texts(self, choices: Sequence[str]) -> tuple[int, int | None]:
        names, second = self.names or (), self.columns.text_b_column
        written = [plain(name) for name in names]
        given = _given(self.columns, choices)
        free = ["" if name in given else plain(name) for name in names]
        pairs = [pair for pair in tables.PAIRS if all(free.count(name) == 1 for name in pair)] if not choices else []
        alone = [name for name in free if name in tables.TEXT_NAMES and not any(name in pair for pair in pairs)]
        text_b: int | None
        if len(pairs) == 1 and not alone and second is None:
            text_a, text_b = (written.index(name) for name in pairs[0])
        elif len(alone) == 1 and not pairs:
            text_a = written.index(alone[0])
            text_b = None if second is None else self.column(second, "text_b_column")
        elif (number := self.trained.number("text_column", len(self.sample[0].cells))) is not None and not choices:
            text_a, text_b = number, None
        else:
            raise self.doubt("text", "text_column")
        self._check_pair(text_b is not None)
        taken = " and ".join(quoted(names[column]) for column in (text_a, text_b) if column is not None)
        LOG.info("%s: took %s for the text", self.path, taken)
        return text_a, text_b

    def _check_pair(self, is_pair: bool) -> None:
        """InputError where the table has pairs of texts and the training file had none, or the
        other way round.
        """
        guessed = self.trained.guessed
        if guessed.text_column is None or is_pair == (guessed.text_b_column is not None):
            return
        found = "two columns of texts, and the model was trained on one; give --text_column"
        if not is_pair:
            found = (
                "one column that is a text, and the model was trained on pairs; give --text_column and --text_b_column"
            )
        raise InputError(f"{self.path}:1: has {found}")

    def labels(self, used: Collection[int | None]) -> tuple[int, ...]:
        """The columns of the label; () for a file to predict without any."""
        named = self.columns.label_columns
        if named:
            if not self.needs_label and all(self.find(name) is None for name in named):
                return ()
            return tuple(self.column(name, "label_column") for name in named)
        found = self.usual(tables.LABEL_NAMES, used)
        if self.names and len(found) == 1:
            LOG.info("%s: took %s for the label", self.path, quoted(self.names[found[0]]))
            return (found[0],)
        if not self.needs_label:
            return ()
        number = self.trained.number("label_column", len(self.sample[0].cells))
        if number is not None and number not in used:
            return (number,)
        error = self.doubt("label", "label_column")
        # A hint for the data of Kaggle, which has a column of 0 and 1 for each label.
        body = self.sample[1:]
        binary = [
            n for n, _ in enumerate(self.names or ())
            if n not in used and body and all(row.cell(n) in ("0", "1") for row in body)
        ]  # fmt: skip
        if self.names and len(binary) > 1 and not found:
            both = ",".join(self.names[n] for n in binary)
            raise InputError(f"{error}; these hold 0 and 1 alone, as multi-label data has: --label_column={both}")
        raise error

    def identifier(self, used: Collection[int | None]) -> int | None:
        """The column of ids. One that the flags name must be in a file that is predicted, whose ids
        are written.
        """
        name = self.columns.id_column
        if name is not None:
            is_there = name in (self.names or ()) or name.isdecimal()
            return self.column(name, "id_column") if is_there or not self.needs_label else None
        found = self.usual(tables.ID_NAMES, used)
        return found[0] if len(found) == 1 else None
