"""Flags for data files that bert-classify, bert-squad, bert-tag and bert-prepare share."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import refuse_if
from bert_cli.base.formats import parse_number
from bert_cli.base.names import read_name, split_names, write_name
from bert_cli.base.recoding import UTF_8
from bert_cli.flags.option import FlagGroup, option, remembered_option, transient_option
from bert_cli.flags.paths import file_list_reader, name_list_properties
from bert_cli.problem_types.registry import PROBLEM_TYPES

LITERAL, CSV_QUOTES = "none", "csv"  # values of --quoting
QUOTING_HELP = (
    f"quotes in .tsv and .txt files; {LITERAL}: ordinary characters, as in Google's files; {CSV_QUOTES}: a cell in "
    "quotes may hold tabs, line ends and doubled quotes, as pandas writes it"
)


class DataFiles(FlagGroup, heading="Data"):
    """Data files: a directory that contains all of them, or separate files."""

    data_dir: str = remembered_option("", "directory with the data files", path=True)
    train_file: str = option("", "training file", path=True)
    dev_file: str | None = remembered_option(None, "dev file, instead of data_dir's", path=True)
    test_file: str | None = remembered_option(
        None, "test file to predict, instead of data_dir's", path=True, excludes="predict_file", python_argument=False
    )
    predict_file: str = option(
        "", "file to predict", path=True, read=file_list_reader("predict_file"), python_argument=False
    )
    header: str = remembered_option(
        "auto",
        "whether the first row of a file is a header; auto: Google's rule for a task, detected for your own file",
        choices=("auto", "yes", "no"),
        decides_predictions=True,
        of_tables=True,
    )
    predict_header: str | None = transient_option(
        None,
        "whether the first row of --predict_file is a header; default: --header of the same command, else detected",
        choices=("auto", "yes", "no"),
        decides_predictions=True,
        of_tables=True,
    )
    quoting: str = remembered_option(
        LITERAL,
        QUOTING_HELP,
        choices=(LITERAL, CSV_QUOTES),
        decides_predictions=True,
        of_tables=True,
    )
    sheet: str | None = option(
        None,
        "sheet of a workbook (.xlsx, .xls, .ods), by name or by number from 0; default: the only one with rows",
        decides_predictions=True,
        of_tables=True,
    )


class TextForm(NamedTuple):
    """Form of table files: the values of --encoding, --quoting and --sheet."""

    encoding: str = UTF_8
    quoting: str = LITERAL
    sheet: str | None = None


PLAIN = TextForm()


# A column's name may be empty, which is "" in quotes on the command line.
_NAME: dict[str, Any] = {"read": read_name, "write": write_name, "csv_quotes": True}
_OUTPUT_COLUMN = {**_NAME, "decides_predictions": True, "of_tables": True}


class Columns(FlagGroup, heading="Your own files"):
    """Columns with texts, labels and ids, by name in the header or by number from 0.

    A field with None is detected by its name, or by its values if there is no header.
    """

    text_column: str | None = remembered_option(
        None,
        "column of the text, by name or by number from 0; default: detected by its name (text, "
        "sentence, review, comment_text, …), or without a header by its values",
        **_OUTPUT_COLUMN,
    )
    text_b_column: str | None = remembered_option(None, "column of the second text of a pair", **_OUTPUT_COLUMN)
    label_column: str | None = remembered_option(
        None,
        "column of the label; several columns of 0 and 1, separated by commas, are multi-label "
        "(a name with a comma in double quotes); "
        "default: detected by its name (label, class, stars, category, …), or without a header by "
        "its values",
        csv_quotes=True,
    )
    id_column: str | None = remembered_option(
        None, "column of the id, which is copied to the predictions; default: id, or none", **_OUTPUT_COLUMN
    )

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Return the names or numbers in label_column; () if it is not given."""
        return split_names(self.label_column) if self.label_column else ()


class RowColumns(FlagGroup, heading="Your own files"):
    """Columns with properties of training rows, besides texts and labels."""

    group_column: str | None = remembered_option(
        None,
        "column of the group of a row, such as its patient, author or document; --dev_split and --cross_validation keep "
        "the rows of a group together",
        needs="dev_split or cross_validation",
        excludes="task_name",
        because={
            "dev_split or cross_validation": "they divide the training rows",
            "task_name": "the files of a task have no such column",
        },
        **_NAME,
    )
    weight_column: str | None = remembered_option(
        None,
        "column with the weight of a row's loss, 0 or more; only their ratios matter",
        needs="do_train or weighted_metrics",
        excludes="task_name",
        because={
            "do_train or weighted_metrics": "it weights the loss of training",
            "task_name": "the files of a task have no such column",
        },
        **_NAME,
    )
    weighted_metrics: bool = remembered_option(
        False,
        "weight the metrics of an evaluation with --weight_column, which the dev file needs then",
        needs="weight_column",
    )

    def for_split(self, split: str) -> "RowColumns":
        """Return the columns that a split needs; a dev file needs weights for metrics."""
        if split == "train":
            return self
        return RowColumns(weight_column=self.weight_column if self.weighted_metrics and split == "dev" else None)

    @property
    def is_empty(self) -> bool:
        """Return whether no column is named."""
        return self.group_column is None and self.weight_column is None


NO_COLUMN = "none"  # value of --score_column and --negative_columns


class PairColumns(FlagGroup, heading="Your own files"):
    """Columns of pairs of texts, besides the two texts."""

    # None, not (): flags.txt has no empty list.
    negative_columns: tuple[str, ...] | None = remembered_option(
        None,
        "columns of texts that do not belong to the first text, separated by commas; "
        f"{NO_COLUMN}: no column; default: detected by their names (negative, negative_1, …)",
        **name_list_properties("negative_columns", 1),
    )
    score_column: str | None = remembered_option(
        None,
        f"column of the similarity of a pair, a number; {NO_COLUMN}: no column; default: detected by its "
        "name (score, similarity, label, …), or none",
        **_NAME,
    )


ALL_COLUMNS = "all"  # value of --keep_columns
# Flags for a table of texts without labels.
TEXT_COLUMNS = ("text_column", "text_b_column", "id_column")
TABLE_FORM = ("header", "quoting", "sheet")


@dataclasses.dataclass(frozen=True)
class TrainedColumns:
    """Columns that a training run used, and that later runs look for in their files.

    Attributes:
        flags: names of column flags that the training run was given and the later run takes from
            it.
        guessed: columns that the training run detected, by name or number; None for given columns.
        num_texts: texts per row in the training data: 1 or 2, None if unknown.
    """

    flags: frozenset[str] = frozenset()
    guessed: Columns = dataclasses.field(default_factory=Columns)
    num_texts: int | None = None

    def by_name(self, columns: Columns, names: Sequence[str] | None) -> Columns:
        """Return `columns`, filled with the guessed columns that the file's header contains.

        Args:
            columns: the columns that this run was given.
            names: column names in the header; None without a header.
        """
        guessed = self.guessed
        used_guesses: dict[str, str] = {}
        # A pair's two texts belong together, so use both guesses or neither.
        for fields in (("text_column", "text_b_column"), ("label_column",)):
            field_guesses = {field: getattr(guessed, field) for field in fields if getattr(guessed, field) is not None}
            are_free = all(getattr(columns, field) is None for field in field_guesses)
            guessed_names = guessed.label_columns if fields == ("label_column",) else field_guesses.values()
            if are_free and all((names or ()).count(name) == 1 for name in guessed_names):
                used_guesses |= field_guesses
        return dataclasses.replace(columns, **used_guesses)

    def number(self, field: str, width: int) -> int | None:
        """Return a guessed column's number, or None without one.

        Args:
            field: a field of Columns.
            width: number of columns in the table; a larger guess does not count.
        """
        number = getattr(self.guessed, field)
        return int(number) if number and number.isdecimal() and int(number) < width else None


NOT_TRAINED = TrainedColumns()
_LISTS = ("label_column",)  # a list of names that are quoted already


def format_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the values of column flags as flags.txt stores them."""
    return {name: value if name in _LISTS else write_name(value) for name, value in columns.items()}


def read_columns(saved_flags: Mapping[str, str]) -> Columns:
    """Return the columns in saved flags, which format_columns wrote; other flags are ignored."""
    names = [field.name for field in dataclasses.fields(Columns) if field.name in saved_flags]
    return Columns(**{name: saved_flags[name] if name in _LISTS else read_name(saved_flags[name]) for name in names})


class Choices(FlagGroup, heading="Your own files"):
    """Columns with the choices in multiple-choice files."""

    choice_columns: tuple[str, ...] | None = remembered_option(
        None,
        "multiple choice: columns of the endings, two or more, separated by commas",
        excludes=("cross_validation", "text_b_column", "label_separator", "labels"),
        because="a row has endings of a text, of which one is right",
        **name_list_properties("choice_columns", 2),
        decides_predictions=True,
        of_tables=True,
    )
    choice_labels: str = remembered_option(
        "auto",
        "multiple choice: meaning of the label column; 0 or 1: index of the correct ending, "
        "counted from 0 or from 1; letter: A, B, …; name: the name of its column; auto: detected "
        "in the first file with labels",
        choices=("auto", "0", "1", "letter", "name"),
        needs="choice_columns or task_name=swag",
    )


class LabelKind(FlagGroup, heading="Your own files"):
    """Problem type, the labels' form in a cell, and the label to find."""

    label_separator: str | None = remembered_option(
        None,
        "separator of several labels in one cell, such as ','; an empty cell has no label",
        decides_predictions=True,
        of_tables=True,
    )
    problem_type: str | None = remembered_option(
        None,
        "problem type of the labels; "
        + "; ".join(f"{label_type.name}: {label_type.summary}" for label_type in PROBLEM_TYPES.values())
        + "; default: detected in the data",
        choices=tuple(PROBLEM_TYPES),
        needs={"=multiple_choice": "choice_columns or task_name=swag"},
    )
    soft_labels: bool = remembered_option(
        False,
        "label distributions: --label_column names a column of probabilities per label, or a column with a list of them; "
        "the loss is the cross-entropy with the distribution",
        needs="problem_type=single_label",
        excludes=("task_name", "label_separator", "choice_columns"),
        because={"problem_type=single_label": "a distribution is over single labels"},
    )
    normalize_soft_labels: bool = remembered_option(
        False, "divide the numbers of each row by their sum, such as counts of annotators", needs="soft_labels"
    )
    # None, not "": run.json of older versions lacks it.
    positive_label: str | None = remembered_option(
        None,
        "label that eval_f1 is of if there are two, the one to find; default: the last label",
        decides=True,
        needs="do_train or do_eval",
        because="it is the label whose F1 is measured",
    )


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Training rows held out for evaluation: a share or a number, stratified or the first rows.

    It is false if no rows are held out.

    Attributes:
        share: fraction of rows, 0 if `count` is used.
        count: number of rows, 0 if `share` is used.
        is_first: whether the first rows are held out; otherwise they are stratified by label.
    """

    share: float = 0.0
    count: int = 0
    is_first: bool = False

    def __bool__(self) -> bool:
        return bool(self.share or self.count)

    def __str__(self) -> str:
        return f"{_FIRST if self.is_first else ''}{self.count or self.share}"


_FIRST = "first:"
_MOST = 0.9
_MOST_DIGITS = 12


def read_held_out(text: str, flag: str = "dev_split", allows_first: bool = True) -> HeldOut:
    """Return the value of --dev_split or a similar flag; raise InputError if the text is invalid.

    Args:
        text: a fraction such as 0.1, a count such as 200, or first:200.
        flag: the flag's name, for messages.
        allows_first: whether the first rows may be chosen.
    """
    number = text.removeprefix(_FIRST)
    is_first = number != text
    # isdecimal alone would accept digits of other scripts.
    is_count = number.isascii() and number.isdecimal() and len(number) < _MOST_DIGITS
    if is_count and (int(number) or not is_first) and (allows_first or not is_first):
        return HeldOut(count=int(number), is_first=is_first)
    share = parse_number(number)
    counts = (
        f"a count of rows such as 200, or {_FIRST}200 is needed" if allows_first else "or a count of rows is needed"
    )
    refuse_if(is_first or not 0 <= share <= _MOST, f"--{flag}={text}: a fraction up to {_MOST} such as 0.1, {counts}")
    return HeldOut(share)


class DevSplit(FlagGroup, heading="Your own files"):
    """Training rows that are held out for evaluation."""

    dev_split: HeldOut = remembered_option(
        HeldOut(),
        "hold out training rows as dev data: a fraction such as 0.1 or a number such as 200, "
        f"stratified by label; {_FIRST}200: the first 200 rows; with --cross_validation, rows of each fold's training "
        "that choose its best checkpoint",
        read=read_held_out,
        write=str,
        excludes="dev_file",
    )
    dev_split_seed: int | None = remembered_option(
        None, "seed of --dev_split; default: random_seed", lower=0, keeps_network=True
    )


class KeptColumns(FlagGroup, heading="Your own files"):
    """Columns of the file to predict that the predictions also have."""

    # None, not (): flags.txt has no empty list.
    keep_columns: tuple[str, ...] | None = option(
        None,
        f"columns that the predictions also have, by name or by number from 0, separated by commas; {ALL_COLUMNS}: "
        "all columns of the file, in its order; a column with the name of another one gets input_ in front",
        needs="do_predict",
        because="they are columns of the predictions",
        **name_list_properties("keep_columns", 1),
        decides_predictions=True,
        of_tables=True,
    )


class MissingLabels(FlagGroup, heading="Your own files"):
    """Treatment of rows without a label."""

    skip_unlabeled: bool = remembered_option(
        False,
        "leave out rows without a label from training and dev data; a label is missing if its cell is empty, a sign "
        "such as - or ?, or nan, null, n/a or unlabeled; none, NA and -1 count only if nothing else in the column does",
    )
