"""Finds the columns of a table by flags and by usual names."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import quote
from bert_cli.base.names import join_names
from bert_cli.examples.table_files import column_names
from bert_cli.examples.table_files.column_names import plain
from bert_cli.examples.table_files.rows import Row
from bert_cli.examples.tables import find_column
from bert_cli.settings.data import Columns, TrainedColumns


def named_columns(columns: Columns, choices: Sequence[str]) -> list[str]:
    """Return the names or numbers of all columns that flags name."""
    named = (columns.text_column, columns.text_b_column, *choices, *columns.label_columns, columns.id_column)
    return [name for name in named if name is not None]


@dataclass(frozen=True)
class ColumnFinder:
    """Finds the columns of a table with several of them.

    Attributes:
        path: the file, for messages.
        sample: its first rows.
        names: cells of its header, or None if the first row is data.
        columns: the columns that flags name.
        needs_label: whether the file is for training or evaluation.
        trained: columns of the training run.
    """

    path: str
    sample: Sequence[Row]
    names: tuple[str, ...] | None
    columns: Columns
    needs_label: bool
    trained: TrainedColumns

    def find(self, name: str) -> int | None:
        """Return the column of a name or number, or None."""
        return find_column(name, self.names or (), len(self.sample[0].cells))

    def column(self, name: str, flag: str) -> int:
        """Return the column of a name or number; raise InputError, naming the flag, without one."""
        found = self.find(name)
        if found is not None:
            return found
        last = len(self.sample[0].cells) - 1
        there = f"{last + 1} columns without names, 0 to {last}"
        if self.names:
            there = f"columns {', '.join(map(quote, self.names[:20]))}"
        source, advice = "", ""
        if flag in self.trained.flags:
            source, advice = " (from the training run)", f"; give this file's --{flag}"
        raise InputError(
            f"{self.path}:1: --{flag}={name}{source}: there is no such column; the file has {there}{advice}"
        )

    def usual(self, known: Collection[str], used: Collection[int | None] = ()) -> list[int]:
        """Return the columns with one of the known names, without the used ones."""
        return [n for n, name in enumerate(self.names or ()) if plain(name) in known and n not in used]

    def doubt(self, what: str, flag: str) -> InputError:
        """Return the error that asks for a flag, if no column is the text or the label without doubt."""
        cells = self.sample[0].cells if self.names is None else self.names
        listed = ", ".join(f"{number} {quote(str(cell), 24)}" for number, cell in enumerate(cells[:12]))
        problem = f"no column that is the {what} without doubt; give --{flag} by name"
        if self.names is None:
            problem = (
                "no header with names that leave no doubt; give --text_column and --label_column, by name or number"
            )
        return InputError(f"{self.path}:1: {problem}: {listed}")

    def texts(self, choices: Sequence[str]) -> tuple[int, int | None]:
        """Return the columns of the texts: named by flags, else those with a usual name that occurs once."""
        first, second = self.columns.text_column, self.columns.text_b_column
        if first is None:
            return self._guessed_texts(choices)
        text_a = self.column(first, "text_column")
        text_b = None if second is None else self.column(second, "text_b_column")
        if second is None and not choices:
            self._log_unused_text(text_a)
        better = self.usual(column_names.TEXT_NAMES)
        # A number may be meant for another file, which an earlier run has read.
        if self.names and better and text_a in self.usual(column_names.ID_NAMES | column_names.LABEL_NAMES):
            LOG.warning(
                "%s:1: warning: --text_column=%d is %s, but there is a column %s; is it the text?",
                self.path, text_a, quote(self.names[text_a]), quote(self.names[better[0]]),
            )  # fmt: skip
        return text_a, text_b

    def _log_unused_text(self, text_a: int) -> None:
        """Log that the second text of a pair is there, by its usual name, and no flag names it."""
        names = [plain(name) for name in self.names or ()]
        for first, second in column_names.PAIRS:
            if names and names[text_a] == first and names.count(second) == 1 and self.names:
                name = self.names[names.index(second)]
                if name not in named_columns(self.columns, ()):
                    LOG.info(
                        "%s: the column %s is not read; --text_b_column=%s makes pairs", self.path, quote(name), name
                    )

    def _guessed_texts(self, choices: Sequence[str]) -> tuple[int, int | None]:
        names, second = self.names or (), self.columns.text_b_column
        written = [plain(name) for name in names]
        given = named_columns(self.columns, choices)
        free = ["" if name in given else plain(name) for name in names]
        pairs = (
            [pair for pair in column_names.PAIRS if all(free.count(name) == 1 for name in pair)] if not choices else []
        )
        alone = [name for name in free if name in column_names.TEXT_NAMES and not any(name in pair for pair in pairs)]
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
        taken = " and ".join(quote(names[column]) for column in (text_a, text_b) if column is not None)
        LOG.info("%s: took %s for the text", self.path, taken)
        return text_a, text_b

    def _check_pair(self, is_pair: bool) -> None:
        """Raise InputError if the table has pairs of texts and the training file had none, or vice versa."""
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
        """Return the columns of the label, () for a file to predict without any."""
        named = self.columns.label_columns
        # The name of a single column may hold a comma.
        whole = (self.columns.label_column or "").strip()
        if len(named) > 1 and (self.names or ()).count(whole) == 1:
            named = (whole,)
        if named:
            if not self.needs_label and all(self.find(name) is None for name in named):
                return ()
            return tuple(self.column(name, "label_column") for name in named)
        found = self.usual(column_names.LABEL_NAMES, used)
        if self.names and len(found) == 1:
            LOG.info("%s: took %s for the label", self.path, quote(self.names[found[0]]))
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
            both = join_names([self.names[n] for n in binary])
            raise InputError(f"{error}; these hold 0 and 1 alone, as multi-label data has: --label_column={both}")
        raise error

    def identifier(self, used: Collection[int | None]) -> int | None:
        """Return the column of ids, or None.

        A column that the flags name must be in a file to predict, whose ids are written.
        """
        name = self.columns.id_column
        if name is not None:
            is_there = name in (self.names or ()) or name.isdecimal()
            return self.column(name, "id_column") if is_there or not self.needs_label else None
        found = self.usual(column_names.ID_NAMES, used)
        return found[0] if len(found) == 1 else None
