"""The tasks of GLUE, XNLI and SWAG: a task is one row of TASKS, with its files as the benchmark
ships them.

Columns, guids and header rules of cola, mrpc, mnli and xnli are as in Google's run_classifier.py;
the orders of labels are the usual ones, so that the outputs of a model mean the same elsewhere.
"""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number
from bert_cli.examples.table_files.rows import Row
from bert_cli.examples.tables import KeyColumns
from bert_cli.examples.unnamed_columns import is_wordy
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.regression import REGRESSION
from bert_cli.settings.data import Columns

ACCURACY = "accuracy"
ACCURACY_F1 = "accuracy_f1"
MCC = "mcc"
PEARSON_SPEARMAN = "pearson_spearman"


@dataclass(frozen=True)
class FileLayout:
    """Where the parts of an example are in one file. All columns are 0-based, -1 is the last.

    named: instead, their names in the header of a CSV, with `endings`, of which each continues the
    text in text_b_column.
    """

    file: str  # below the data directory; {language} is replaced by the run's language
    columns: str  # for messages
    minimum: int  # columns that every row has
    has_header: bool  # whether the original skips the first row
    guid: str  # guids are `<guid>-<row number, the header counted>` or `<guid>-<cell of guid_column>`
    text_a: int = 0
    text_b: int | None = None
    label: int | None = None  # None: the file has no labels
    guid_column: int | None = None
    identifier: int | None = None  # a column of ids, which predictions repeat
    by_language: bool = False  # only rows whose column 0 is the language of the run
    aliases: dict[str, str] = field(default_factory=dict)  # other spellings of labels
    broken_rows: bool = False  # the benchmark's own file has rows that are cut short; they are left out, and told
    pairs_file: str | None = None  # in the same folder: two ids per row, as in columns 1 and 2 here
    in_pairs_file: bool = False  # whether the split is the rows listed in pairs_file, or the others
    named: Columns | None = None
    endings: tuple[str, ...] = ()

    @property
    def key_columns(self) -> KeyColumns:
        texts = (self.text_a,) if self.text_b is None else (self.text_a, self.text_b)
        return KeyColumns(self.label, texts, self.identifier)


@dataclass(frozen=True)
class GlueTask:
    """One task.

    labels: in the order of the output columns, () for regression; of multiple choice the places of
    the endings. splits: the layouts in which a file may be; read is the first whose file is there,
    or of several of one file the one with as many columns as the first row. metric: a name from
    above.
    """

    labels: tuple[str, ...]
    metric: str
    splits: dict[str, tuple[FileLayout, ...]]
    problem_type: ProblemType = SINGLE_LABEL
    open_labels: bool = False  # whether train.tsv may bring labels of its own
    submission: str = ""  # name of its file on the leaderboard, without .tsv
    other_half: str = ""  # a second half, such as _mismatched, that is evaluated and predicted too: dev_mismatched

    def submission_of(self, half: str) -> str:
        """The name of the file of one half ("" or other_half): MNLI-m and MNLI-mm."""
        return f"{self.submission}m" if half else self.submission

    def split_of(self, sample: Sequence[Row], labels: Collection[str]) -> str | None:
        """The split, dev or test, in whose layout a file with these first rows is; None where it is
        in neither.

        labels: names that the column of labels may hold. Each row has as many columns as the
        layout, a label where the layout has one, else a number for its id, and most texts have
        several words.
        """
        for split in ("dev", "test"):
            for layout in self.splits.get(split, ()):
                if layout.named is None and self._is_in(layout, sample, labels):
                    return split
        return None

    def _is_in(self, layout: FileLayout, sample: Sequence[Row], labels: Collection[str]) -> bool:
        # The first row may be a header also where the layout has none, and the other way round.
        width = len(sample[0].cells)
        body = sample[1:]
        has_width = width == layout.minimum or (layout.label == -1 and width > layout.minimum)
        if not (body and has_width and all(len(row.cells) == width for row in body)):
            return False
        if layout.label is None:
            are_right = all(is_number(row.cell(layout.identifier)) for row in body)
        elif self.problem_type.is_numeric:
            are_right = all(is_number(row.cell(layout.label)) for row in body)
        else:
            are_right = {row.cell(layout.label) for row in body} <= {*labels, *layout.aliases}
        texts = layout.key_columns.texts
        return are_right and all(is_wordy([row.cell(column) for row in body]) for column in texts)

    @property
    def pairs(self) -> bool:
        """Whether an example has two texts."""
        return any(layout.text_b is not None for layouts in self.splits.values() for layout in layouts)


_ENTAILMENT = ("entailment", "not_entailment")
_NLI = ("contradiction", "entailment", "neutral")
_BINARY = ("0", "1")


def _three(train: FileLayout, test: FileLayout) -> dict[str, tuple[FileLayout, ...]]:
    """train.tsv and dev.tsv in one layout, test.tsv in another."""
    dev = replace(train, file="dev.tsv", guid="dev")
    return {"train": (train,), "dev": (dev,), "test": (test,)}


def _indexed_pair(texts: str) -> dict[str, tuple[FileLayout, ...]]:
    """index, two texts, and but in test.tsv a label."""
    train = FileLayout(
        "train.tsv", f"index, {texts}, label", 4, True, "train", 1, 2, label=3, guid_column=0, identifier=0
    )
    return _three(train, replace(train, file="test.tsv", columns=f"index, {texts}", minimum=3, guid="test", label=None))


def _cola(split: str) -> FileLayout:
    # The training and dev files of CoLA have no header, the test file has one.
    return FileLayout(f"{split}.tsv", "id, label, mark, text", 4, False, split, text_a=3, label=1, identifier=0)


def _mrpc(split: str) -> tuple[FileLayout, ...]:
    """The file of the 2018 download script; else without its columns of ids; else the corpus as
    Microsoft ships it.
    """
    whole = FileLayout(f"{split}.tsv", "label, id, id, text, text", 5, True, split, 3, 4, label=0, identifier=1)
    corpus = "msr_paraphrase_test.txt" if split == "test" else "msr_paraphrase_train.txt"
    shipped = replace(whole, file=corpus)
    if split == "test":
        whole = replace(whole, columns="index, id, id, text, text", label=None, identifier=0)
    else:
        shipped = replace(shipped, pairs_file="dev_ids.tsv", in_pairs_file=split == "dev")
    short = replace(whole, columns=whole.columns.replace(" id,", ""), minimum=3, text_a=1, text_b=2)
    return (whole, replace(short, identifier=0 if split == "test" else None), shipped)


def _mnli(file: str, guid: str, has_label: bool = True) -> tuple[FileLayout, ...]:
    columns = "index, 7 more, text, text" + (", …, label" if has_label else "")
    # Counted from the end: dev files have more columns than train.tsv, for each annotator one.
    label = -1 if has_label else None
    minimum = 11 if has_label else 10
    return (FileLayout(file, columns, minimum, True, guid, 8, 9, label=label, guid_column=0, identifier=0),)


def _sts_b() -> dict[str, tuple[FileLayout, ...]]:
    columns = "index, 6 more, text, text, score"
    train = FileLayout("train.tsv", columns, 10, True, "train", 7, 8, label=9, guid_column=0, identifier=0)
    test = replace(train, file="test.tsv", columns=columns.removesuffix(", score"), minimum=9, guid="test", label=None)
    return _three(train, test)


def _qqp() -> dict[str, tuple[FileLayout, ...]]:
    train = FileLayout(
        "train.tsv", "id, id, id, text, text, label", 6, True, "train", 3, 4, label=5, guid_column=0, identifier=0,
        broken_rows=True,
    )  # fmt: skip
    test = FileLayout("test.tsv", "id, text, text", 3, True, "test", 1, 2, guid_column=0, identifier=0)
    return _three(train, test)


def _swag(file: str, guid: str, has_label: bool = True) -> tuple[FileLayout, ...]:
    """Its files have further columns, and perhaps one of row numbers before all: the names count."""
    endings = tuple(f"ending{place}" for place in range(4))
    named = Columns(text_column="sent1", text_b_column="sent2", label_column="label" if has_label else None)
    columns = ["video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source", *endings, *["label"] * has_label]
    return (FileLayout(file, ", ".join(columns), len(columns), True, guid, named=named, endings=endings),)


def _sst_2() -> dict[str, tuple[FileLayout, ...]]:
    train = FileLayout("train.tsv", "text, label", 2, True, "train", text_a=0, label=1)
    return _three(train, FileLayout("test.tsv", "index, text", 2, True, "test", text_a=1, guid_column=0, identifier=0))


def _xnli() -> dict[str, tuple[FileLayout, ...]]:
    # The training texts are a translation of MultiNLI, with another spelling of one label.
    train = FileLayout(
        "multinli/multinli.train.{language}.tsv", "text, text, label", 3, True, "train", 0, 1, label=2,
        aliases={"contradictory": "contradiction"},
    )  # fmt: skip
    dev = FileLayout(
        "xnli.dev.tsv", "language, label, 4 more, text, text", 8, True, "dev", 6, 7, label=1, identifier=0,
        by_language=True,
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
        _BINARY, MCC, {"train": (_cola("train"),), "dev": (_cola("dev"),), "test": (_COLA_TEST,)}, open_labels=True,
        submission="CoLA",
    ),
    "sst-2": GlueTask(_BINARY, ACCURACY, _sst_2(), submission="SST-2"),
    "mrpc": GlueTask(
        _BINARY, ACCURACY_F1, {split: _mrpc(split) for split in ("train", "dev", "test")}, submission="MRPC"
    ),
    "sts-b": GlueTask((), PEARSON_SPEARMAN, _sts_b(), REGRESSION, submission="STS-B"),
    "qqp": GlueTask(_BINARY, ACCURACY_F1, _qqp(), submission="QQP"),
    "mnli": GlueTask(_NLI, ACCURACY, _MNLI_SPLITS, submission="MNLI-m", other_half="_mismatched"),
    "qnli": GlueTask(_ENTAILMENT, ACCURACY, _indexed_pair("question, text"), submission="QNLI"),
    "rte": GlueTask(_ENTAILMENT, ACCURACY, _indexed_pair("text, text"), submission="RTE"),
    "wnli": GlueTask(_BINARY, ACCURACY, _indexed_pair("text, text"), submission="WNLI"),
    # A test file alone, for a model that was trained on mnli. The file has one name in the download
    # script of 2018, and another one on the site of GLUE.
    "ax": GlueTask(_NLI, MCC, {"test": (_DIAGNOSTIC, replace(_DIAGNOSTIC, file="AX.tsv"))}, submission="AX"),
    "xnli": GlueTask(_NLI, ACCURACY, _xnli()),
    "swag": GlueTask(("0", "1", "2", "3"), ACCURACY, _SWAG_SPLITS, MULTIPLE_CHOICE),
}  # fmt: skip


def find_task(name: str) -> GlueTask:
    """The task of that name, in any letter case. InputError for an unknown one."""
    if name.lower() not in TASKS:
        close = difflib.get_close_matches(name.lower(), TASKS, n=1)
        hint = f"did you mean {close[0]}? The tasks are" if close else "choose one of"
        raise InputError(f"--task_name: {name!r} is not a task; {hint} {', '.join(TASKS)}")
    return TASKS[name.lower()]
