"""The flags of data files that bert-classify, bert-squad, bert-tag and bert-prepare share."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import refuse_if
from bert_cli.base.formats import parse_number
from bert_cli.base.names import read_name, split_names, write_name
from bert_cli.base.recoding import UTF_8
from bert_cli.flags.option import FlagGroup, option, passing, remembered
from bert_cli.problem_types.registry import PROBLEM_TYPES
from bert_cli.settings.groups import file_names, names_of

LITERAL, CSV_QUOTES = "none", "csv"  # of --quoting
QUOTING_HELP = (
    f"quotes in .tsv and .txt files; {LITERAL}: ordinary characters, as in Google's files; {CSV_QUOTES}: a cell in "
    "quotes may hold tabs, line ends and doubled quotes, as pandas writes it"
)


class DataFiles(FlagGroup, heading="Data"):
    """Files of examples: a directory with all of them, or each by its name."""

    data_dir: str = remembered("", "directory with the data files", path=True)
    train_file: str = option("", "training file", path=True)
    dev_file: str | None = remembered(None, "dev file, instead of data_dir's", path=True)
    test_file: str | None = remembered(None, "test file to predict, instead of data_dir's", path=True)
    predict_file: str = option("", "file to predict", path=True, read=file_names("predict_file"))
    header: str = remembered(
        "auto",
        "whether the first row of a file is a header; auto: Google's rule for a task, detected for your own file",
        choices=("auto", "yes", "no"),
    )
    predict_header: str | None = passing(
        None,
        "whether the first row of --predict_file is a header; default: --header of the same command, else detected",
        choices=("auto", "yes", "no"),
    )
    quoting: str = remembered(
        LITERAL,
        QUOTING_HELP,
        choices=(LITERAL, CSV_QUOTES),
    )
    sheet: str | None = option(
        None, "sheet of a workbook (.xlsx, .xls, .ods), by name or by number from 0; default: the only one with rows"
    )


class TextForm(NamedTuple):
    """The form of a table file: the values of --encoding, --quoting and --sheet."""

    encoding: str = UTF_8
    quoting: str = LITERAL
    sheet: str | None = None


PLAIN = TextForm()


# A column may have no name, which is "" in quotes on the command line.
_NAME: dict[str, Any] = {"read": read_name, "write": write_name, "csv_quotes": True}


class Columns(FlagGroup, heading="Your own files"):
    """The columns of the parts of an example: the name of a column in the header, or its number
    from 0.

    None: the column is detected by its name, or without a header by its values.
    """

    text_column: str | None = remembered(
        None,
        "column of the text, by name or by number from 0; default: detected by its name (text, "
        "sentence, review, comment_text, …), or without a header by its values",
        **_NAME,
    )
    text_b_column: str | None = remembered(None, "column of the second text of a pair", **_NAME)
    label_column: str | None = remembered(
        None,
        "column of the label; several columns of 0 and 1, separated by commas, are multi-label "
        "(a name with a comma in double quotes); "
        "default: detected by its name (label, class, stars, category, …), or without a header by "
        "its values",
        csv_quotes=True,
    )
    id_column: str | None = remembered(
        None, "column of the id, which is copied to the predictions; default: id, or none", **_NAME
    )

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The names or numbers in label_column; () if it is not given."""
        return split_names(self.label_column) if self.label_column else ()


# Of a table of texts that needs no labels.
TEXT_COLUMNS = ("text_column", "text_b_column", "id_column")
TABLE_FORM = ("header", "quoting", "sheet")


@dataclasses.dataclass(frozen=True)
class TrainedColumns:
    """What a training run left of its columns, for the files of later runs.

    flags: names of the flags that it was given and that the later run has from it. guessed: the
    columns that it found by itself, by name or number; None where a flag named the column.
    """

    flags: frozenset[str] = frozenset()
    guessed: Columns = dataclasses.field(default_factory=Columns)

    def by_name(self, columns: Columns, names: Sequence[str] | None) -> Columns:
        """`columns` with the guesses that a header has; None: there is no header."""
        guessed = self.guessed
        found: dict[str, str] = {}
        # The two texts of a pair belong together.
        for fields in (("text_column", "text_b_column"), ("label_column",)):
            wanted = {field: getattr(guessed, field) for field in fields if getattr(guessed, field) is not None}
            are_free = all(getattr(columns, field) is None for field in wanted)
            listed = guessed.label_columns if fields == ("label_column",) else wanted.values()
            if are_free and all((names or ()).count(name) == 1 for name in listed):
                found |= wanted
        return dataclasses.replace(columns, **found)

    def number(self, field: str, width: int) -> int | None:
        """The guess of a column by its number, in a table of `width` columns; None without one."""
        number = getattr(self.guessed, field)
        return int(number) if number and number.isdecimal() and int(number) < width else None


NOT_TRAINED = TrainedColumns()
_LISTS = ("label_column",)  # a list of names, which is in quotes already


def written_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the text of values of the flags of columns, as flags.txt has them."""
    return {name: value if name in _LISTS else write_name(value) for name, value in columns.items()}


def read_columns(written: Mapping[str, str]) -> Columns:
    """Return the columns of texts that `written_columns` gave; other flags are left out."""
    names = [field.name for field in dataclasses.fields(Columns) if field.name in written]
    return Columns(**{name: written[name] if name in _LISTS else read_name(written[name]) for name in names})


class Endings(FlagGroup, heading="Your own files"):
    """The endings in multiple-choice files."""

    choice_columns: tuple[str, ...] | None = remembered(
        None,
        "multiple choice: columns of the endings, two or more, separated by commas",
        **names_of("choice_columns", 2),
    )
    choice_labels: str = remembered(
        "auto",
        "multiple choice: meaning of the label column; 0 or 1: index of the correct ending, "
        "counted from 0 or from 1; letter: A, B, …; name: the name of its column; auto: detected "
        "in the first file with labels",
        choices=("auto", "0", "1", "letter", "name"),
    )


class LabelKind(FlagGroup, heading="Your own files"):
    """What the labels of a file are."""

    label_separator: str | None = remembered(
        None, "separator of several labels in one cell, such as ','; an empty cell has no label"
    )
    problem_type: str | None = remembered(
        None,
        "problem type of the labels; "
        + "; ".join(f"{each.name}: {each.summary}" for each in PROBLEM_TYPES.values())
        + "; default: detected in the data",
        choices=tuple(PROBLEM_TYPES),
    )


class MissingLabels(FlagGroup, heading="Your own files"):
    """Rows without a label."""

    skip_unlabeled: bool = remembered(
        False,
        "leave out rows without a label from training and dev data; a label is missing if its cell is empty, a sign "
        "such as - or ?, or nan, null, n/a or unlabeled; none, NA and -1 count only if nothing else in the column does",
    )


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """The training rows that are held out for evaluation: a fraction or a number, the first rows or
    stratified by label.

    False where none are.
    """

    share: float = 0.0
    count: int = 0
    is_first: bool = False

    def __bool__(self) -> bool:
        return bool(self.share or self.count)

    def __str__(self) -> str:
        return _FIRST * self.is_first + str(self.count or self.share)


_FIRST = "first:"
_MOST = 0.9
_MOST_DIGITS = 12


def read_held_out(text: str, flag: str = "dev_split", by_order: bool = True) -> HeldOut:
    """The value of --dev_split, or of another flag. by_order: the first rows may be chosen.
    InputError for another text.
    """
    number = text.removeprefix(_FIRST)
    is_first = number != text
    # isdecimal alone would take digits of other scripts.
    is_count = number.isascii() and number.isdecimal() and len(number) < _MOST_DIGITS
    if is_count and (int(number) or not is_first) and (by_order or not is_first):
        return HeldOut(count=int(number), is_first=is_first)
    share = parse_number(number)
    counts = f"a count of rows such as 200, or {_FIRST}200 is needed" if by_order else "or a count of rows is needed"
    refuse_if(is_first or not 0 <= share <= _MOST, f"--{flag}={text}: a fraction up to {_MOST} such as 0.1, {counts}")
    return HeldOut(share)


class DevSplit(FlagGroup, heading="Your own files"):
    """Training rows that are held out for evaluation."""

    dev_split: HeldOut = remembered(
        HeldOut(),
        "hold out training rows as dev data: a fraction such as 0.1 or a number such as 200, "
        f"stratified by label; {_FIRST}200: the first 200 rows",
        read=read_held_out,
        write=str,
    )
    dev_split_seed: int | None = remembered(None, "seed of --dev_split; default: random_seed", lower=0)
