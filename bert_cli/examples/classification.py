"""Files of the sentence and sentence-pair tasks -> ClassificationExample records.

Columns, guids, labels and header rules are those of Google's run_classifier.py. Unlike there, a row that does not fit
is an InputError that says `file:line`, a byte-order mark and blank lines do no harm, and a first row that speaks
against the header rule of its file is neither lost nor learnt without a word.
"""

import logging
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bert_cli.base.errors import InputError
from bert_cli.base.files import check_readable
from bert_cli.examples import tables
from bert_cli.examples.tables import Row, more, quoted

LOG = logging.getLogger("bert_cli")


@dataclass(frozen=True)
class ClassificationExample:
    """One row. `text_b` is None for single texts, `label` is None for the rows of a test file."""

    guid: str
    text_a: str
    text_b: str | None
    label: str | None


@dataclass(frozen=True)
class Layout:
    """Where the parts of an example stand in one file. All columns are 0-based, -1 is the last."""

    file: str  # below the data directory
    columns: str  # for messages
    minimum: int  # columns that every row has
    has_header: bool  # whether the original skips the first row
    guid: str  # guids are `<guid>-<row number, the header counted>` or `<guid>-<cell of guid_column>`
    text_a: int
    text_b: int | None = None
    label: int | None = None  # None: the file has no labels
    guid_column: int | None = None
    identifier: int | None = None  # a column of ids, used only to tell a header from data
    language: str | None = None  # only rows whose column 0 is this
    aliases: dict[str, str] = field(default_factory=dict)  # other spellings of labels

    @property
    def texts(self) -> tuple[int, ...]:
        return (self.text_a,) if self.text_b is None else (self.text_a, self.text_b)


@dataclass(frozen=True)
class Task:
    """The files of a task and its labels in the order of the output columns."""

    labels: tuple[str, ...]
    splits: dict[str, Layout]
    open_labels: bool = False  # whether train.tsv may bring labels of its own


def _cola(split: str) -> Layout:
    return Layout(f"{split}.tsv", "id, label, mark, text", 4, False, split, text_a=3, label=1, identifier=0)


def _mrpc(split: str) -> Layout:
    return Layout(f"{split}.tsv", "label, id, id, text, text", 5, True, split, 3, 4, label=0, identifier=1)


def _mnli(file: str, guid: str) -> Layout:
    columns = "index, 7 more, text, text, …, label"
    return Layout(file, columns, 11, True, guid, 8, 9, label=-1, guid_column=0, identifier=0)


TASKS: dict[str, Task] = {
    "cola": Task(
        labels=("0", "1"),
        splits={
            "train": _cola("train"),
            "dev": _cola("dev"),
            "test": Layout("test.tsv", "id, text", 2, True, "test", text_a=1, identifier=0),
        },
        open_labels=True,
    ),
    "mnli": Task(
        labels=("contradiction", "entailment", "neutral"),
        splits={
            "train": _mnli("train.tsv", "train"),
            "dev": _mnli("dev_matched.tsv", "dev_matched"),
            "test": replace(
                _mnli("test_matched.tsv", "test"), columns="index, 7 more, text, text", minimum=10, label=None
            ),
        },
    ),
    "mrpc": Task(
        labels=("0", "1"),
        splits={
            "train": _mrpc("train"),
            "dev": _mrpc("dev"),
            "test": replace(_mrpc("test"), columns="index, id, id, text, text", label=None, identifier=0),
        },
    ),
    "xnli": Task(
        labels=("contradiction", "entailment", "neutral"),
        splits={
            "train": replace(
                Layout("multinli/multinli.train.zh.tsv", "text, text, label", 3, True, "train", 0, 1, label=2),
                aliases={"contradictory": "contradiction"},
            ),
            "dev": replace(
                Layout("xnli.dev.tsv", "language, label, 4 more, text, text", 8, True, "dev", 6, 7, label=1),
                identifier=0,
                language="zh",
            ),
        },
    ),
}


def find_task(name: str) -> Task:
    """The task of that name, in any letter case. InputError for an unknown one."""
    if name.lower() not in TASKS:
        raise InputError(f"--task_name: {name!r} is not a task; choose one of {', '.join(TASKS)}")
    return TASKS[name.lower()]


def read_examples(
    task_name: str, split: str, data_dir: str, header: str = "auto", labels: Sequence[str] | None = None
) -> list[ClassificationExample]:
    """Read the examples of one split ("train", "dev" or "test") in file order.

    `labels` None means the labels of the task; the training file of cola may then hold any labels (see `find_labels`).

    `header` says whether the first row of a file holds the names of its columns:
      auto  the original's rule: train and dev of cola have none, all other files have one. Where the first row speaks
            against the rule this is an InputError that asks for yes or no: a row that would be skipped although its
            label is a label of the task, or its id or its text are like those of data; or a row that would be read
            although its label cell is a name that no other row has (`tables.data_reason`, `tables.header_reason`).
      yes   the first row of every file is skipped.
      no    the first row of every file is data.

    Raises InputError for a task without that split (xnli has no test file), a missing or empty file, rows with too few
    columns, empty and unknown labels, and a test file of cola with labels where the texts are expected.
    """
    task = find_task(task_name)
    if split not in ("train", "dev", "test") or header not in ("auto", "yes", "no"):
        raise ValueError(f"no such split or header rule: {split!r}, {header!r}")
    if split not in task.splits:
        raise InputError(
            f"--do_predict: the task {task_name.lower()} has no {split} file; leave it out, or use --do_eval"
        )
    layout = task.splits[split]
    has_header = layout.has_header if header == "auto" else header == "yes"
    path = os.path.join(data_dir, layout.file)
    check_readable(path, "data_dir")
    rows = tables.read_rows(path)
    known = tuple(labels) if labels is not None else task.labels
    is_open = task.open_labels and split == "train" and labels is None
    # Row numbers in guids count the header, as the original's do.
    numbered = list(enumerate(rows))[int(has_header) :]
    if layout.language is not None:
        numbered = [(number, row) for number, row in numbered if row.cell(0) == layout.language]
    data = [row for _, row in numbered]
    tables.check_columns(path, data, layout.minimum, layout.columns)
    if layout.label is None and layout.text_b is None:
        _check_text_column(path, rows, layout, known)
    _check_first_row(path, rows, layout, header, has_header, None if is_open else known)
    if not data:
        wanted = "" if layout.language is None else f" of language {layout.language} (in column 1)"
        raise InputError(
            f"{path}: holds no data row{wanted}{' below its header' if has_header else ''}; check the file"
        )
    if layout.label is not None:
        _check_labels(path, data, layout, layout.label, None if is_open else known)
    return [_example(layout, number, row) for number, row in numbered]


def _example(layout: Layout, number: int, row: Row) -> ClassificationExample:
    cells = row.cells
    return ClassificationExample(
        guid=f"{layout.guid}-{number if layout.guid_column is None else cells[layout.guid_column]}",
        text_a=cells[layout.text_a],
        text_b=None if layout.text_b is None else cells[layout.text_b],
        label=None if layout.label is None else layout.aliases.get(cells[layout.label], cells[layout.label]),
    )


def _check_first_row(
    path: str, rows: list[Row], layout: Layout, header: str, has_header: bool, known: tuple[str, ...] | None
) -> None:
    """InputError in `auto`, a warning otherwise, where the first row does not look like what it is taken for."""
    first, others = rows[0], rows[1:]
    label, texts, identifier = layout.label, layout.texts, layout.identifier
    found = ""
    if has_header:
        labels = [*(known or ()), *layout.aliases]
        reason = tables.data_reason(first, others, labels=labels, label=label, texts=texts, identifier=identifier)
        found = reason and f"looks like data ({reason}) but is skipped as a header"
        advice = "give --header=no if it is data, --header=yes if it is a header"
    elif label is not None:
        reason = tables.header_reason(first, others, labels=known, label=label, texts=texts, identifier=identifier)
        found = reason and f"looks like a header ({reason}) but is read as data"
        advice = "give --header=yes if it is a header, --header=no if it is data"
    if found and header == "auto":
        raise InputError(f"{path}:{first.line}: the first row {found}; {advice}")
    if found:
        LOG.warning("%s:%d: the first row %s, as --header=%s says", path, first.line, found, header)
    elif has_header:
        names = ", ".join(quoted(cell, 20) for cell in first.cells[:12])
        LOG.info("%s:%d: skipped the header row: %s", path, first.line, names)


def _check_text_column(path: str, rows: list[Row], layout: Layout, known: tuple[str, ...]) -> None:
    """InputError where the column of the texts in an unlabelled file (id, text) holds labels or ids.

    The original reads them as texts. It happens with files laid out as train.tsv (id, label, mark, text), as `text,
    label`, or with a column of row numbers before the id. There all cells of the column are known labels or numbers,
    and the rows have four columns or a sentence in some other column.
    """
    body = rows[1:] or rows
    if not all(row.cell(layout.text_a) in known or tables.is_number(row.cell(layout.text_a)) for row in body):
        return
    if min(len(row.cells) for row in body) >= 4 or any(tables.is_sentence_like(c) for row in body for c in row.cells):
        raise InputError(
            f"{path}:{body[0].line}: column {layout.text_a + 1} holds labels or numbers "
            f"({quoted(body[0].cell(layout.text_a))}) where the text is expected; "
            "lay the file out as id<TAB>text under a header row"
        )


def _check_labels(path: str, rows: list[Row], layout: Layout, column: int, known: tuple[str, ...] | None) -> None:
    """InputError for rows whose label is empty or not among `known`; None: any label without blanks at its ends."""
    labelled = [(row.line, row.cells[column]) for row in rows]
    empty = [line for line, label in labelled if not label.strip()]
    if empty:
        where = "the last column" if column < 0 else f"column {column + 1}"
        raise InputError(f"{path}:{empty[0]}: the label in {where} is empty{more(empty)}; every row needs one")
    if known is not None:
        unknown = [(line, label) for line, label in labelled if layout.aliases.get(label, label) not in known]
        if unknown:
            line, label = unknown[0]
            listed = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
            raise InputError(
                f"{path}:{line}: label {quoted(label)} is not among {listed}{more(unknown)}; "
                f"correct it, or name all labels with --labels"
            )
        return
    padded = [(line, label) for line, label in labelled if label != label.strip()]
    if padded:
        line, label = padded[0]
        raise InputError(
            f"{path}:{line}: label {quoted(label)} has a blank at its end or start{more(padded)}; remove it"
        )
    distinct = len({label for _, label in labelled})
    if distinct > 20 and distinct > len(rows) / 2:
        line, label = labelled[0]
        raise InputError(
            f"{path}:{line}: column {column + 1} holds {distinct} different labels in {len(rows)} rows "
            f"({quoted(label)}); check the order of the columns ({layout.columns}), or name all labels with --labels"
        )


def _label_key(label: str) -> tuple:
    return (0, float(label), label) if tables.is_number(label) else (1, 0.0, label)


def find_labels(task_name: str, examples: Sequence[ClassificationExample]) -> tuple[str, ...]:
    """The labels of a task in the order of the output columns.

    They are the task's own where the examples have no others; otherwise those of the examples, numbers by value, then
    words by code point. InputError where that is a single label.
    """
    own = find_task(task_name).labels
    found = {example.label for example in examples if example.label is not None}
    if found <= set(own):
        return own
    if len(found) < 2:
        raise InputError(
            f"every row of the train file has the label {quoted(next(iter(found)))}; two labels are needed, see --labels"
        )
    return tuple(sorted(found, key=_label_key))


def describe_examples(examples: Sequence[ClassificationExample]) -> str:
    """For the log: the numbers of rows and of each label, e.g. `4 examples; labels: 0 3 (75.0%), 1 1 (25.0%)`."""
    counts = Counter(example.label for example in examples if example.label is not None)
    if not counts:
        return f"{len(examples)} examples, no labels"
    parts = [
        f"{label} {counts[label]} ({counts[label] / len(examples):.1%})" for label in sorted(counts, key=_label_key)
    ]
    return f"{len(examples)} examples; labels: {', '.join(parts)}"
