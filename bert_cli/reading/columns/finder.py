"""Finder of text, label and id columns by flags and by usual names."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.log import LOG
from bert_cli.base.names import join_names
from bert_cli.reading import column_names
from bert_cli.reading.column_names import normalize_name
from bert_cli.reading.columns.answers import ANSWER, are_answers
from bert_cli.reading.columns.roles import ColumnRules, find_column
from bert_cli.reading.exports import label_studio
from bert_cli.reading.exports.cells import split_path
from bert_cli.reading.rows import Row
from bert_cli.settings.data import Columns


@dataclass(frozen=True)
class ColumnFinder:
    """Column finder for one table, by flags and by usual names.

    Attributes:
        path: the file, for messages.
        sample: its first rows.
        names: its header cells, or None if the first row is data.
        rules: flag values and the training run's columns.
    """

    path: str
    sample: Sequence[Row]
    names: tuple[str, ...] | None
    rules: ColumnRules

    @property
    def columns(self) -> Columns:
        """Return the column flag values."""
        return self.rules.columns

    def find(self, name: str) -> int | None:
        """Return the column index for a name or number, or None."""
        return find_column(name, self.names or (), len(self.sample[0].cells))

    def require(self, name: str, flag: str) -> int:
        """Return the column index for a flag value; raise InputError if it is missing.

        Args:
            name: column name or number.
            flag: flag name without hyphens.
        """
        column = self.find(name)
        if column is not None:
            return column
        last = len(self.sample[0].cells) - 1
        columns = f"{last + 1} columns without names, 0 to {last}"
        if self.names:
            columns = f"columns {', '.join(map(quote, self.names[:20]))}"
            if split_path(name, self.names):
                columns += ", and no record has this member"
        source, advice = "", ""
        if flag in self.rules.trained.flags:
            source, advice = " (from the training run)", f"; give this file's --{flag}"
        raise InputError(
            f"{self.path}:1: --{flag}={name}{source}: there is no such column; the file has {columns}{advice}"
        )

    def find_named(self, name: str | None, flag: str) -> int | None:
        """Return the column that a flag names, None without the flag; see `require`."""
        return None if name is None else self.require(name, flag)

    def find_usual(
        self,
        usual_names: Collection[str],
        used: Collection[int | None] = (),
    ) -> list[int]:
        """Return the columns with usual names, except used columns."""
        return [n for n, name in enumerate(self.names or ()) if normalize_name(name) in usual_names and n not in used]

    def unclear_column_error(self, role: str, flag: str) -> InputError:
        """Return the error that asks for a flag because no column is clearly the text or label.

        Args:
            role: "text" or "label".
            flag: flag that would name the column.
        """
        cells = self.sample[0].cells if self.names is None else self.names
        listed = ", ".join(f"{number} {quote(str(cell), 24)}" for number, cell in enumerate(cells[:12]))
        problem = f"no column that is the {role} without doubt; give --{flag} by name"
        if self.names is None:
            problem = (
                "no header with names that leave no doubt; give --text_column and --label_column, by name or number"
            )
        return InputError(f"{self.path}:1: {problem}: {listed}")

    def find_texts(self) -> tuple[int, int | None]:
        """Return the columns for the text and for a pair's second text.

        Flags decide; without a flag, the column has a usual name that occurs once.
        """
        first, second = self.columns.text_column, self.columns.text_b_column
        if first is None:
            return self._guess_texts()
        text_a = self.require(first, "text_column")
        text_b = None if second is None else self.require(second, "text_b_column")
        if second is None and not self.rules.choices:
            self._log_unused_text(text_a)
        better = self.find_usual(column_names.TEXT_NAMES)
        # A remembered number may refer to columns in an earlier run's file.
        if self.names and better and text_a in self.find_usual(column_names.ID_NAMES | column_names.LABEL_NAMES):
            LOG.warning(
                "%s:1: warning: --text_column=%d is %s, but there is a column %s; is it the text?",
                self.path, text_a, quote(self.names[text_a]), quote(self.names[better[0]]),
            )  # fmt: skip
        return text_a, text_b

    def _log_unused_text(self, text_a: int) -> None:
        """Log that the file has a pair's second text, by its usual name, and no flag selects it."""
        names = [normalize_name(name) for name in self.names or ()]
        for first, second in column_names.PAIRS:
            if names and names[text_a] == first and names.count(second) == 1 and self.names:
                name = self.names[names.index(second)]
                if name not in self.rules.flag_columns:
                    LOG.info(
                        "%s: the column %s is not read; --text_b_column=%s makes pairs", self.path, quote(name), name
                    )

    def _guess_texts(self) -> tuple[int, int | None]:
        names, second, choices = self.names or (), self.columns.text_b_column, self.rules.choices
        plain_names = [normalize_name(name) for name in names]
        flag_columns = self.rules.flag_columns
        free = ["" if name in flag_columns else normalize_name(name) for name in names]
        pairs = (
            [pair for pair in column_names.PAIRS if all(free.count(name) == 1 for name in pair)] if not choices else []
        )
        alone = [name for name in free if name in column_names.TEXT_NAMES and not any(name in pair for pair in pairs)]
        text_b: int | None
        if len(pairs) == 1 and not alone and second is None:
            text_a, text_b = (plain_names.index(name) for name in pairs[0])
        elif len(alone) == 1 and not pairs:
            text_a = plain_names.index(alone[0])
            text_b = None if second is None else self.require(second, "text_b_column")
        elif plain_names.count("data") == 1 and {"id", "label"} <= set(plain_names) and not pairs and second is None:
            text_a, text_b = plain_names.index("data"), None  # doccano
        elif (
            number := self.rules.trained.number("text_column", len(self.sample[0].cells))
        ) is not None and not choices:
            text_a, text_b = number, None
        else:
            raise self.unclear_column_error("text", "text_column")
        self._check_pair(text_b is not None)
        return text_a, text_b

    def _check_pair(self, is_pair: bool) -> None:
        """Raise InputError if pairs meet a model of single texts, or vice versa."""
        guessed = self.rules.trained.guessed
        if guessed.text_column is None or is_pair == (guessed.text_b_column is not None):
            return
        problem = "two columns of texts, and the model was trained on one; give --text_column"
        if not is_pair:
            problem = (
                "one column that is a text, and the model was trained on pairs; give --text_column and --text_b_column"
            )
        raise InputError(f"{self.path}:1: has {problem}")

    def find_labels(self, used: Collection[int | None]) -> tuple[int, ...]:
        """Return the label columns, or () if a file to predict has no labels.

        Args:
            used: columns that have another use.
        """
        flag_names = self.columns.label_columns
        # A single column name may contain a comma.
        whole = (self.columns.label_column or "").strip()
        if len(flag_names) > 1 and (self.names or ()).count(whole) == 1:
            flag_names = (whole,)
        if flag_names:
            if not self.rules.needs_label and all(self.find(name) is None for name in flag_names):
                return ()
            return tuple(self.require(name, "label_column") for name in flag_names)
        candidates = self._find_label_candidates(used)
        if self.names and len(candidates) == 1:
            return (candidates[0],)
        if not self.rules.needs_label:
            return ()
        number = self.rules.trained.number("label_column", len(self.sample[0].cells))
        if number is not None and number not in used:
            return (number,)
        error = self.unclear_column_error("label", "label_column")
        # Kaggle's multi-label data has a column of 0 and 1 per label, so name these columns.
        body = self.sample[1:]
        binary = [
            n for n, _ in enumerate(self.names or ())
            if n not in used and body and all(row.cell(n) in ("0", "1") for row in body)
        ]  # fmt: skip
        if self.names and len(binary) > 1 and not candidates:
            names = join_names([self.names[n] for n in binary])
            raise InputError(f"{error}; these hold 0 and 1 alone, as multi-label data has: --label_column={names}")
        raise error

    def _find_label_candidates(self, used: Collection[int | None]) -> list[int]:
        """Return the columns with usual names of labels; in Prodigy's files, only its own name."""
        candidates = self.find_usual(column_names.LABEL_NAMES, used)
        if self.find_answer() is not None:
            # Prodigy also writes scores.
            own_names = [n for name in ("accept", "label") for n in self.find_usual((name,), used)]
            candidates = own_names[:1] or candidates
        if not candidates and {label_studio.ANNOTATION_ID, label_studio.LEAD_TIME} <= set(self.names or ()):
            # Label Studio's members besides its own are the data and a column per project tag.
            data_columns = [n for n, name in enumerate(self.names or ()) if name not in label_studio.ADDED_MEMBERS]
            candidates = [n for n in data_columns if n not in used]
            candidates = candidates if len(candidates) == 1 else []
        if not candidates:
            # spaCy's and Prodigy's {"text": …, "cats": {"pos": 1, "neg": 0}}
            candidates = [
                n for n in self.find_usual(("cats",), used)
                if all(str(row.cell(n)).startswith("{") for row in self.sample[1:])
            ]  # fmt: skip
        return candidates

    def find_answer(self) -> int | None:
        """Return the column with Prodigy's answers, or None."""
        columns = [n for n, name in enumerate(self.names or ()) if name == ANSWER]
        is_present = len(columns) == 1 and are_answers(row.cell(columns[0]) for row in self.sample[1:])
        return columns[0] if is_present else None

    def find_identifier(self, used: Collection[int | None]) -> int | None:
        """Return the id column, or None.

        A file to predict must have the column of --id_column, because its ids are written. Other
        files may lack it.
        """
        name = self.columns.id_column
        if name is not None:
            is_present = name in (self.names or ()) or name.isdecimal()
            return self.require(name, "id_column") if is_present or not self.rules.needs_label else None
        candidates = self.find_usual(column_names.ID_NAMES, used)
        return candidates[0] if len(candidates) == 1 else None
