"""The flags of data files: bert-prepare's, and the groups that bert-classify, bert-squad and bert-tag share with it."""

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.errors import refuse_if
from bert_cli.base.lines import UTF_8
from bert_cli.flags.option import FlagGroup, group, option, passing, remembered
from bert_cli.problem_types.registry import PROBLEM_TYPES
from bert_cli.settings.groups import Log, TextFiles, names_of
from bert_cli.settings.training import Seed

LITERAL, CSV_QUOTES = "none", "csv"  # of --quoting


class DataFiles(FlagGroup, heading="Data"):
    """Files of examples: a directory with all of them, or each by its name."""

    data_dir: str = remembered("", "folder with the data", path=True)
    train_file: str = option("", "the file to train on", path=True)
    dev_file: str | None = remembered(None, "the file to evaluate, instead of that of data_dir", path=True)
    test_file: str | None = remembered(None, "the file to predict, instead of that of data_dir", path=True)
    predict_file: str = option("", "the file to predict", path=True)
    header: str = remembered(
        "auto",
        "whether the first row of a file is a header; auto: Google's rule for a task, what it looks like for your own file",
        choices=("auto", "yes", "no"),
    )
    predict_header: str | None = passing(
        None,
        "whether the first row of --predict_file is a header; default: what --header says in the same command, else what "
        "it looks like",
        choices=("auto", "yes", "no"),
    )
    quoting: str = remembered(
        LITERAL,
        f"quotes in .tsv and .txt files; {LITERAL}: ordinary characters, as in Google's files; {CSV_QUOTES}: a cell in quotes "
        "may hold tabs, line ends and doubled quotes, as pandas writes it",
        choices=(LITERAL, CSV_QUOTES),
    )


class TextForm(NamedTuple):
    """How the text of a file is written: the values of --encoding and --quoting."""

    encoding: str = UTF_8
    quoting: str = LITERAL


PLAIN = TextForm()


class Columns(FlagGroup, heading="Your own files"):
    """Where the parts of an example stand in a table: the name of a column in the header, or its number from 0. None: the
    column whose name leaves no doubt, or without a header the column whose values leave no doubt.
    """

    text_column: str | None = remembered(
        None,
        "column of the text, by name or by number from 0; default: the column whose name (text, sentence, review, "
        "comment_text, …), or without a header whose values, leave no doubt",
    )
    text_b_column: str | None = remembered(None, "column of the second text of a pair")
    label_column: str | None = remembered(
        None,
        "column of the label; default: the column whose name (label, class, stars, category, …), or without a header "
        "whose values, leave no doubt; several columns of 0 and 1, with commas between, are labels that do not exclude "
        "each other",
    )
    id_column: str | None = remembered(None, "column of an id, which the predictions repeat; default: id, or none")

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The names or numbers in label_column; () where it is not given."""
        return tuple(part.strip() for part in self.label_column.split(",")) if self.label_column else ()


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
            if are_free and all((names or ()).count(name) == 1 for name in wanted.values()):
                found |= wanted
        return dataclasses.replace(columns, **found)

    def number(self, field: str, width: int) -> int | None:
        """The guess of a column by its number, in a table of so many columns; None without one."""
        number = getattr(self.guessed, field)
        return int(number) if number and number.isdecimal() and int(number) < width else None


NOT_TRAINED = TrainedColumns()


class Endings(FlagGroup, heading="Your own files"):
    """The endings of multiple choice."""

    choice_columns: tuple[str, ...] | None = remembered(
        None,
        "columns of two or more endings of the text in --text_column, one of them the right one (multiple choice)",
        **names_of("choice_columns", 2),
    )
    choice_labels: str = remembered(
        "auto",
        "what the label column says of the right ending: its place, counted from 0 or from 1, its letter from A on, or the "
        "name of its column; auto: what the first file with labels leaves no doubt of",
        choices=("auto", "0", "1", "letter", "name"),
    )


class LabelKind(FlagGroup, heading="Your own files"):
    """What the labels of a file are."""

    label_separator: str | None = remembered(
        None, "what stands between several labels in one cell, such as ','; an empty cell has none"
    )
    problem_type: str | None = remembered(
        None,
        "what the labels are; "
        + "; ".join(f"{each.name}: {each.summary}" for each in PROBLEM_TYPES.values())
        + "; default: what the data is",
        choices=tuple(PROBLEM_TYPES),
    )


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """The training rows that are held out for evaluation: a share of them, or a count; the first ones, or of each label alike.

    False where none are.
    """

    share: float = 0.0
    count: int = 0
    is_first: bool = False

    def __bool__(self) -> bool:
        return bool(self.share or self.count)

    def __str__(self) -> str:
        return _FIRST * self.is_first + str(self.count or self.share)


_FIRST, _MOST, _MOST_DIGITS = "first:", 0.9, 12


def read_held_out(text: str) -> HeldOut:
    """The value of --dev_split. InputError for another text."""
    number = text.removeprefix(_FIRST)
    is_first = number != text
    # isdecimal alone would take digits of other scripts.
    is_count = number.isascii() and number.isdecimal() and len(number) < _MOST_DIGITS
    if is_count and (int(number) or not is_first):
        return HeldOut(count=int(number), is_first=is_first)
    try:
        share = float(number)
    except ValueError:
        share = math.nan
    refuse_if(
        is_first or not 0 <= share <= _MOST,
        f"--dev_split={text}: a share up to {_MOST} such as 0.1, a count of rows such as 200, or {_FIRST}200 is needed",
    )
    return HeldOut(share)


class DevSplit(FlagGroup, heading="Your own files"):
    """Training rows that are held out for evaluation."""

    dev_split: HeldOut = remembered(
        HeldOut(),
        f"training rows to evaluate on: a share such as 0.1 or a count such as 200, of each label alike; {_FIRST}200: the "
        "first 200 rows",
        read=read_held_out,
        write=str,
    )
    dev_split_seed: int | None = remembered(None, "seed of the choice of --dev_split; default: random_seed", lower=0)


class Paths(FlagGroup, heading="From and to"):
    """What is no flag on the command line of bert-prepare."""

    paths: tuple[str, ...] = option(
        (), "the file to read (.tsv, .csv, .jsonl, each also .gz) and the folder to write to", words=True, file=True
    )


class RowSelection(FlagGroup, heading="Which rows go where"):
    """Which rows of the file bert-prepare takes, and which of them go where."""

    dev_split: float = option(0.1, "share of the rows, of each label alike, for dev.tsv", lower=0.0, upper=_MOST)
    test_split: float = option(0.0, "share of the rows for test.tsv", lower=0.0, upper=_MOST)
    max_rows: int | None = option(None, "at most so many rows, of each label in proportion", lower=1)
    balance: bool = option(False, "as many rows of each label, namely those of the rarest")


@dataclasses.dataclass(frozen=True)
class PrepareSettings:
    """The flags of bert-prepare."""

    paths: Paths = group(Paths)
    columns: Columns = group(Columns)
    data: DataFiles = group(
        DataFiles, {"header": "whether the first row is a header; auto: what it looks like"}, only=("header", "quoting")
    )
    text_files: TextFiles = group(TextFiles)
    selection: RowSelection = group(RowSelection)
    seed: Seed = group(Seed, {"random_seed": "seed of the choice of rows"})
    log: Log = group(Log)
