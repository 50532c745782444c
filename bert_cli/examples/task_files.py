"""Reader of GLUE and XNLI task files: rows become ClassificationExample records.

A task's file is a table with given columns and a given header rule, which glue.py defines together
with guids and labels. There are three differences from Google's script: a malformed row is an
InputError with file and line, a byte-order mark and blank lines are ignored, and a first row that
contradicts the header rule is reported.
"""

import os
import sys
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.log import LOG
from bert_cli.examples import tables
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.glue import FileLayout, GlueTask, find_task
from bert_cli.examples.labels.indices import find_index_names
from bert_cli.examples.labels.unlabeled import drop_unlabeled
from bert_cli.examples.task_checks import (
    check_decimals,
    check_labels,
    check_text_column,
    find_header,
    report_first_row,
)
from bert_cli.problem_types.columns import LabelCells
from bert_cli.reading.columns.facts import DataFacts
from bert_cli.reading.columns.roles import find_column
from bert_cli.reading.folder import find_existing
from bert_cli.reading.header import AUTO
from bert_cli.reading.rows import LeftOutRows, Row
from bert_cli.reading.source import Source
from bert_cli.settings.data import PLAIN, TextForm


class TaskOptions(NamedTuple):
    """Flags for the rows of a task's file.

    Attributes:
        header: whether the first row is a header: yes, no or auto, see `read_examples`.
        language: two-letter language code, used by xnli.
        id_column: name or 0-based number for the id column, None for the task's id column. A file
            with labels may lack it.
        form: values of --encoding, --quoting and --sheet.
        needs_label: whether labels are used.
        skip_unlabeled: whether rows without a label are left out.
    """

    header: str = AUTO
    language: str = "zh"
    id_column: str | None = None
    form: TextForm = PLAIN
    needs_label: bool = True
    skip_unlabeled: bool = False


DEFAULTS = TaskOptions()


class TaskExamples(NamedTuple):
    """Examples of a task's file, in file order, and the account of the file."""

    examples: list[ClassificationExample]
    facts: DataFacts


def read_examples(
    task_name: str,
    split: str,
    source: Source | str,
    labels: Sequence[str] | None = None,
    options: TaskOptions = DEFAULTS,
) -> TaskExamples:
    """Read one split for a task.

    Values of `options.header`:
      yes   Skip the first row.
      no    Read the first row as data.
      auto  Follow the original: CoLA's train and dev files have no header, all other files have
            one. However, read the first row if ten other rows share its label, a task label. If it
            contradicts the rule in another way, raise an InputError that asks for yes or no (see
            `header.find_data_reason` and `header.find_header_reason`).

    Args:
        task_name: key of glue.TASKS, in any letter case.
        split: "train", "dev" or "test", or mnli's "dev_mismatched" or "test_mismatched".
        source: directory with the task's files, or an open file to use instead.
        labels: allowed labels; None means the task's labels, but any label in CoLA's train file
            (see `find_labels`).

    Raises:
        InputError: the task has no such split, the file is missing or empty, a row has too few
            columns, or a label is empty or unknown. Also if a CoLA test file has labels in the text
            column.
    """
    task = find_task(task_name)
    layouts = _find_layouts(task, task_name, split)
    file = _open_split(layouts, source, options)
    layout, rows, path = file.layout, file.rows, file.source.name
    # User data often has CoLA's layout, so the train file may define new labels for all files.
    is_open = task.allows_new_labels and split == "train" and labels is None
    allowed = tuple(labels) if labels is not None else task.labels
    known_labels = None if is_open else allowed
    decision = find_header(rows, layout, options.header, known_labels)
    if options.header == AUTO and layout.has_header and not decision.is_header:
        LOG.info("%s:%d: there is no header, as the first row has a label like the others", path, rows[0].line)
    if options.id_column is not None:
        identifier = _id_column(path, rows[0], decision.is_header, layout, options.id_column)
        layout = replace(layout, identifier=identifier)
    columns = layout.columns_of(rows[0], decision.is_header, options.needs_label)
    selected = _select_rows(file, decision.is_header, options.language)
    # Check the columns before the cells, because later checks treat a missing cell as empty.
    tables.check_columns(file.source, selected.data, layout.minimum, layout.columns)
    if layout.label is None and layout.text_b is None:
        check_text_column(path, rows, layout, allowed)
    report_first_row(path, rows[0], decision, options.header)
    if not selected.data:
        condition = f" of language {options.language} (in column 1)" if layout.has_languages else ""
        below = " below its header" if decision.is_header else ""
        raise InputError(f"{path}: holds no data row{condition}{below}; check the file")
    if not options.needs_label:
        layout = replace(layout, label=None)
    if layout.label is not None and options.skip_unlabeled:
        selected = _take_labeled(path, selected, layout, known_labels)
    # Other programs number a task's own labels in another order.
    if layout.label is not None and known_labels and known_labels != task.labels:
        labels_by_line = [(row.line, row.cells[layout.label].strip()) for row in selected.data]
        index_names = find_index_names(path, labels_by_line, known_labels, split == "train")
        layout = replace(layout, aliases={**layout.aliases, **index_names})
    if layout.label is not None and not task.labels:
        check_decimals(path, selected.data, layout.label)
    elif layout.label is not None:
        check_labels(path, selected.data, layout, layout.label, known_labels, options.skip_unlabeled)
    facts = columns.facts(path, len(selected.data), (*file.left_out, *selected.left_out))
    # Free each row once it is an example: keeping both would take half as much memory again.
    del rows, file
    numbers, data = selected.numbers, selected.data
    data.reverse()
    return TaskExamples([_example(layout, number, data.pop()) for number in numbers], facts)


class _TaskFile(NamedTuple):
    """A task's file: its layout, all rows, and the blank lines, which are not used."""

    layout: FileLayout
    source: Source
    rows: list[Row]
    left_out: list[LeftOutRows]


class _SelectedRows(NamedTuple):
    """Rows of a split, their numbers in the file, and the rows that this split does not use."""

    numbers: Sequence[int]
    data: list[Row]
    left_out: list[LeftOutRows]


def _find_layouts(task: GlueTask, task_name: str, split: str) -> Sequence[FileLayout]:
    """Return the layouts that a split's file may have; raise InputError if there is no such split."""
    if split.removesuffix(task.second_half) not in ("train", "dev", "test"):
        raise ValueError(f"no such split: {split!r}")
    if split not in task.splits:
        flag = {"train": "do_train", "dev": "do_eval"}.get(split, "do_predict")
        alternative = "--do_eval" if split == "test" else "--do_predict"
        raise InputError(
            f"--{flag}: the task {task_name.lower()} has no {split} file; leave it out, or use {alternative}"
        )
    return task.splits[split]


def _open_split(layouts: Sequence[FileLayout], source: Source | str, options: TaskOptions) -> _TaskFile:
    """Read the rows of the first existing file in a directory, or of an open file."""
    left_out: list[LeftOutRows] = []
    if isinstance(source, str):
        paths = [os.path.join(source, layout.file.format(language=options.language)) for layout in layouts]
        source = Source(find_existing(paths) or paths[0], options.form.encoding, "data_dir")
        layouts = [layout for layout, path in zip(layouts, paths, strict=True) if path == source.path]
    rows = tables.read_rows(source, options.form.quoting, left_out)
    width = len(rows[0].cells)
    # If no layout has this width, check_columns will report the first layout's columns.
    layout = next((layout for layout in layouts if layout.minimum == width), layouts[0])
    return _TaskFile(layout, source, rows, left_out)


def _id_column(
    path: str,
    first: Row,
    has_header: bool,
    layout: FileLayout,
    name: str,
) -> int | None:
    """Return the index of --id_column; raise InputError if a file to predict lacks it."""
    names = [cell.strip() for cell in first.cells] if has_header else []
    column = find_column(name, names, len(first.cells))
    if column is not None:
        return column
    if layout.label is not None:
        return layout.identifier
    columns = f"columns {list_names(names)}" if names else f"{len(first.cells)} columns without names"
    raise InputError(f"{path}:{first.line}: --id_column={name}: there is no such column; the file has {columns}")


def _select_rows(file: _TaskFile, has_header: bool, language: str) -> _SelectedRows:
    """Return the rows that belong to the split."""
    layout, rows, path = file.layout, file.rows, file.source.name
    # Row numbers include the header, because the original's guids do.
    numbers: Sequence[int] = range(int(has_header), len(rows))
    left_out: list[LeftOutRows] = []

    def keep(reason: str, selected: Sequence[int], is_requested: bool = True) -> Sequence[int]:
        lines = [rows[number].line for number in sorted(set(numbers).difference(selected))]
        left_out.extend(LeftOutRows.of_lines(reason, lines, is_requested))
        return selected

    if layout.has_languages:
        selected = array("q", [number for number in numbers if rows[number].cell(0) == language])
        numbers = keep("rows of other languages", selected)
    if layout.has_broken_rows:
        whole = array("q", [number for number in numbers if len(rows[number].cells) >= layout.minimum])
        # The benchmark's file has a few damaged rows. Many mean that the file has other columns.
        if 0 < len(numbers) - len(whole) < len(numbers) / 100:
            numbers = keep("rows that are cut short", whole, is_requested=False)
    if layout.pairs_file is not None:
        pairs_path = os.path.join(os.path.dirname(path), layout.pairs_file)
        if find_existing([pairs_path]):
            pairs = {tuple(cell.strip() for cell in row.cells) for row in tables.read_rows(Source(pairs_path))}
            is_selected = [((row.cell(1), row.cell(2)) in pairs) == layout.is_in_pairs_file for row in rows]
            purpose = "training" if layout.is_in_pairs_file else "evaluation"
            selected = array("q", [number for number in numbers if is_selected[number]])
            numbers = keep(f"rows for {purpose} by {layout.pairs_file}", selected)
        elif layout.is_in_pairs_file:
            raise InputError(
                f"{pairs_path}: no such file; it says which rows of {os.path.basename(path)} are for "
                "evaluation: put it there, or give --dev_split"
            )
    return _SelectedRows(numbers, [rows[number] for number in numbers], left_out)


def _take_labeled(
    path: str, selected: _SelectedRows, layout: FileLayout, allowed: Sequence[str] | None
) -> _SelectedRows:
    """Return the rows with a label."""
    numbers, data, left_out = selected
    labels = None if allowed is None else [*allowed, *layout.aliases]
    cells = LabelCells(
        path, [row.line for row in data], [(row.cell(layout.label).strip(),) for row in data], ("",), False
    )
    labeled, unlabeled = drop_unlabeled(cells, labels)
    return _SelectedRows([numbers[row] for row in labeled], [data[row] for row in labeled], [*left_out, *unlabeled])


def _example(layout: FileLayout, number: int, row: Row) -> ClassificationExample:
    cells = row.cells
    label = None if layout.label is None else layout.aliases.get(cells[layout.label], cells[layout.label])
    return ClassificationExample(
        guid=f"{layout.guid}-{number if layout.guid_column is None else cells[layout.guid_column]}",
        text_a=cells[layout.text_a],
        text_b=None if layout.text_b is None else cells[layout.text_b],
        label=None if label is None else sys.intern(label),  # one string object per label saves memory
        identifier=row.cell(layout.identifier),
    )
