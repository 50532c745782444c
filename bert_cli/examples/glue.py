"""Table of GLUE, XNLI and SWAG tasks: labels, metrics and file layouts.

The layouts match the files that the benchmarks distribute. Columns, guids and header rules of cola,
mrpc, mnli and xnli are the same as in Google's run_classifier.py. The label orders are the usual
ones, so model outputs are compatible with other software.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from bert_cli.base.formats import is_number
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import TASK_FACTS, TaskFacts, find_facts
from bert_cli.reading.columns.roles import TableColumns
from bert_cli.reading.header import KeyColumns, is_wordy
from bert_cli.reading.rows import Row
from bert_cli.settings.data import Columns

ACCURACY = "accuracy"
ACCURACY_F1 = "accuracy_f1"
MCC = "mcc"
PEARSON_SPEARMAN = "pearson_spearman"


@dataclass(frozen=True)
class FileLayout:
    """Columns and header of one data file. Column numbers are 0-based, and -1 is the last column.

    Attributes:
        file: path below the data directory; {language} is replaced by the run's language.
        columns: column description, for messages.
        minimum: smallest number of columns in a row.
        has_header: whether the original skips the first row.
        guid: prefix of guids. They end with the row number, counting the header, or with the cell
            of `guid_column`.
        text_a: text column.
        text_b: column with a pair's second text, or None.
        label: label column, or None if the file has no labels.
        guid_column: column that completes the guids, or None.
        identifier: column of ids that are copied to the predictions, or None.
        has_languages: whether column 0 is a language, and only rows in the run's language are used.
        aliases: alternative spellings of labels.
        has_broken_rows: whether the benchmark's file has truncated rows, which are skipped and
            counted in the log.
        pairs_file: file in the same directory with two ids per row, as in columns 1 and 2 of this
            file; it divides the rows into two splits.
        is_in_pairs_file: whether this split has the rows in `pairs_file`, or the remaining rows.
        named: for files with columns by name, names for the text and label columns.
        choices: for multiple choice, names of the columns that continue the text in text_b_column.
    """

    file: str
    columns: str
    minimum: int
    has_header: bool
    guid: str
    text_a: int = 0
    text_b: int | None = None
    label: int | None = None
    guid_column: int | None = None
    identifier: int | None = None
    has_languages: bool = False
    aliases: dict[str, str] = field(default_factory=dict)
    has_broken_rows: bool = False
    pairs_file: str | None = None
    is_in_pairs_file: bool = False
    named: Columns | None = None
    choices: tuple[str, ...] = ()

    @property
    def key_columns(self) -> KeyColumns:
        texts = (self.text_a,) if self.text_b is None else (self.text_a, self.text_b)
        return KeyColumns(self.label, texts, self.identifier)

    def columns_of(self, first: Row, has_header: bool, needs_label: bool = True) -> TableColumns:
        """Return the columns of a file with this layout.

        Args:
            first: the file's first row.
            has_header: whether it has the names.
            needs_label: whether the labels are used.
        """
        width = max(len(first.cells), self.minimum)
        names = tuple(cell.strip() for cell in first.cells) if has_header else None
        label = () if self.label is None or not needs_label else (self.label % width,)
        return TableColumns(width, names, self.text_a, self.text_b, label, self.identifier)


@dataclass(frozen=True)
class GlueTask:
    """One task.

    Attributes:
        facts: labels and problem type.
        metric: ACCURACY, ACCURACY_F1, MCC or PEARSON_SPEARMAN.
        splits: possible file layouts per split. The first existing file is read; if several layouts
            share a file, the number of columns in its first row decides.
        allows_new_labels: whether train.tsv may define other labels.
        submission: file name for the leaderboard, without .tsv.
        second_half: suffix for a second dev and test set, for example _mismatched. It is evaluated
            and predicted, too.
    """

    facts: TaskFacts
    metric: str
    splits: dict[str, tuple[FileLayout, ...]]
    allows_new_labels: bool = False
    submission: str = ""
    second_half: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the label names, see TaskFacts."""
        return self.facts.labels

    @property
    def problem_type(self) -> ProblemType:
        """Return the problem type."""
        return self.facts.problem_type

    def submission_name(self, half: str) -> str:
        """Return the submission name for a half ("" or second_half), such as MNLI-m or MNLI-mm."""
        return f"{self.submission}m" if half else self.submission

    def detect_split(self, sample: Sequence[Row], labels: Collection[str]) -> str | None:
        """Return the split, dev or test, that matches a file's layout, or None.

        A file matches if each row has the layout's number of columns and an allowed label, or a
        numeric id if the layout has no labels. Most texts must have several words.

        Args:
            sample: the file's first rows.
            labels: allowed labels.
        """
        for split in ("dev", "test"):
            for layout in self.splits.get(split, ()):
                if layout.named is None and self._fits(layout, sample, labels):
                    return split
        return None

    def _fits(self, layout: FileLayout, sample: Sequence[Row], labels: Collection[str]) -> bool:
        # Skip the first row: whether it is a header may differ from the layout.
        width = len(sample[0].cells)
        body = sample[1:]
        has_width = width == layout.minimum or (layout.label == -1 and width > layout.minimum)
        if not (body and has_width and all(len(row.cells) == width for row in body)):
            return False
        if layout.label is None:
            are_valid = all(is_number(row.cell(layout.identifier)) for row in body)
        elif not self.labels:
            are_valid = all(is_number(row.cell(layout.label)) for row in body)
        else:
            are_valid = {row.cell(layout.label) for row in body} <= {*labels, *layout.aliases}
        texts = layout.key_columns.texts
        return are_valid and all(is_wordy([row.cell(column) for row in body]) for column in texts)


def _make_splits(train: FileLayout, test: FileLayout) -> dict[str, tuple[FileLayout, ...]]:
    """Return task layouts with train.tsv, dev.tsv like train.tsv, and test.tsv."""
    dev = replace(train, file="dev.tsv", guid="dev")
    return {"train": (train,), "dev": (dev,), "test": (test,)}


def _indexed_pair(texts: str) -> dict[str, tuple[FileLayout, ...]]:
    """Return task layouts with the columns index, two texts and, except in test, label."""
    train = FileLayout(
        "train.tsv", f"index, {texts}, label", 4, True, "train", 1, 2, label=3, guid_column=0, identifier=0
    )
    return _make_splits(
        train, replace(train, file="test.tsv", columns=f"index, {texts}", minimum=3, guid="test", label=None)
    )


def _cola(split: str) -> FileLayout:
    # CoLA's train and dev files have no header, but the test file has one.
    return FileLayout(f"{split}.tsv", "id, label, mark, text", 4, False, split, text_a=3, label=1, identifier=0)


def _mrpc(split: str) -> tuple[FileLayout, ...]:
    """Return layouts for the 2018 download script's file, the same without ids, and MSRP.

    MSRP is the corpus as distributed by Microsoft.
    """
    whole = FileLayout(f"{split}.tsv", "label, id, id, text, text", 5, True, split, 3, 4, label=0, identifier=1)
    corpus = "msr_paraphrase_test.txt" if split == "test" else "msr_paraphrase_train.txt"
    original = replace(whole, file=corpus)
    if split == "test":
        whole = replace(whole, columns="index, id, id, text, text", label=None, identifier=0)
    else:
        original = replace(original, pairs_file="dev_ids.tsv", is_in_pairs_file=split == "dev")
    short = replace(whole, columns=whole.columns.replace(" id,", ""), minimum=3, text_a=1, text_b=2)
    return (whole, replace(short, identifier=0 if split == "test" else None), original)


def _mnli(file: str, guid: str, has_label: bool = True) -> tuple[FileLayout, ...]:
    columns = "index, 7 more, text, text" + (", …, label" if has_label else "")
    # Count from the end: dev files have an additional column per annotator.
    label = -1 if has_label else None
    minimum = 11 if has_label else 10
    return (FileLayout(file, columns, minimum, True, guid, 8, 9, label=label, guid_column=0, identifier=0),)


def _sts_b() -> dict[str, tuple[FileLayout, ...]]:
    columns = "index, 6 more, text, text, score"
    train = FileLayout("train.tsv", columns, 10, True, "train", 7, 8, label=9, guid_column=0, identifier=0)
    test = replace(train, file="test.tsv", columns=columns.removesuffix(", score"), minimum=9, guid="test", label=None)
    return _make_splits(train, test)


def _qqp() -> dict[str, tuple[FileLayout, ...]]:
    train = FileLayout(
        "train.tsv", "id, id, id, text, text, label", 6, True, "train", 3, 4, label=5, guid_column=0, identifier=0,
        has_broken_rows=True,
    )  # fmt: skip
    test = FileLayout("test.tsv", "id, text, text", 3, True, "test", 1, 2, guid_column=0, identifier=0)
    return _make_splits(train, test)


def _swag(file: str, guid: str, has_label: bool = True) -> tuple[FileLayout, ...]:
    """Return SWAG's layout, by column names.

    Its files may have more columns, such as leading row numbers.
    """
    choices = tuple(f"ending{index}" for index in range(4))
    named = Columns(text_column="sent1", text_b_column="sent2", label_column="label" if has_label else None)
    columns = ["video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source", *choices]
    if has_label:
        columns.append("label")
    return (FileLayout(file, ", ".join(columns), len(columns), True, guid, named=named, choices=choices),)


def _sst_2() -> dict[str, tuple[FileLayout, ...]]:
    train = FileLayout("train.tsv", "text, label", 2, True, "train", text_a=0, label=1)
    return _make_splits(
        train, FileLayout("test.tsv", "index, text", 2, True, "test", text_a=1, guid_column=0, identifier=0)
    )


def _xnli() -> dict[str, tuple[FileLayout, ...]]:
    # The train texts are a translation of MultiNLI with a different spelling of one label.
    train = FileLayout(
        "multinli/multinli.train.{language}.tsv", "text, text, label", 3, True, "train", 0, 1, label=2,
        aliases={"contradictory": "contradiction"},
    )  # fmt: skip
    dev = FileLayout(
        "xnli.dev.tsv", "language, label, 4 more, text, text", 8, True, "dev", 6, 7, label=1, identifier=0,
        has_languages=True,
    )  # fmt: skip
    return {"train": (train,), "dev": (dev,)}


_COLA_TEST = FileLayout("test.tsv", "id, text", 2, True, "test", text_a=1, identifier=0)
_DIAGNOSTIC = FileLayout("diagnostic.tsv", "index, text, text", 3, True, "test", 1, 2, guid_column=0, identifier=0)
_MNLI_SPLITS = {
    "train": _mnli("train.tsv", "train"),
    "dev": _mnli("dev_matched.tsv", "dev_matched"),
    "test": _mnli("test_matched.tsv", "test", has_label=False),
    "dev_mismatched": _mnli("dev_mismatched.tsv", "dev_mismatched"),
    "test_mismatched": _mnli("test_mismatched.tsv", "test_mismatched", has_label=False),
}
_SWAG_SPLITS = {
    "train": _swag("train.csv", "train"),
    "dev": _swag("val.csv", "dev"),
    "test": _swag("test.csv", "test", has_label=False),
}

TASKS: dict[str, GlueTask] = {
    "cola": GlueTask(
        TASK_FACTS["cola"], MCC, {"train": (_cola("train"),), "dev": (_cola("dev"),), "test": (_COLA_TEST,)},
        allows_new_labels=True, submission="CoLA",
    ),
    "sst-2": GlueTask(TASK_FACTS["sst-2"], ACCURACY, _sst_2(), submission="SST-2"),
    "mrpc": GlueTask(
        TASK_FACTS["mrpc"], ACCURACY_F1, {split: _mrpc(split) for split in ("train", "dev", "test")}, submission="MRPC"
    ),
    "sts-b": GlueTask(TASK_FACTS["sts-b"], PEARSON_SPEARMAN, _sts_b(), submission="STS-B"),
    "qqp": GlueTask(TASK_FACTS["qqp"], ACCURACY_F1, _qqp(), submission="QQP"),
    "mnli": GlueTask(TASK_FACTS["mnli"], ACCURACY, _MNLI_SPLITS, submission="MNLI-m", second_half="_mismatched"),
    "qnli": GlueTask(TASK_FACTS["qnli"], ACCURACY, _indexed_pair("question, text"), submission="QNLI"),
    "rte": GlueTask(TASK_FACTS["rte"], ACCURACY, _indexed_pair("text, text"), submission="RTE"),
    "wnli": GlueTask(TASK_FACTS["wnli"], ACCURACY, _indexed_pair("text, text"), submission="WNLI"),
    # AX has only a test file, for models trained on mnli. The 2018 download script and the GLUE
    # site give the file different names.
    "ax": GlueTask(TASK_FACTS["ax"], MCC, {"test": (_DIAGNOSTIC, replace(_DIAGNOSTIC, file="AX.tsv"))}, submission="AX"),
    "xnli": GlueTask(TASK_FACTS["xnli"], ACCURACY, _xnli()),
    "swag": GlueTask(TASK_FACTS["swag"], ACCURACY, _SWAG_SPLITS),
}  # fmt: skip


def find_task(name: str) -> GlueTask:
    """Return the task with a name, in any letter case; raise InputError if it is unknown."""
    find_facts(name)
    return TASKS[name.lower()]
