"""Reader of GLUE and XNLI task files: rows become ClassificationExample records.

glue.py defines each task's columns, guids, labels and header rule. There are three differences from
Google's script: a malformed row is an InputError with file and line, a byte-order mark and blank
lines are ignored, and a first row that contradicts the header rule is reported.
"""

import os
import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number, list_names, quote
from bert_cli.base.log import LOG
from bert_cli.examples import tables
from bert_cli.examples.glue import FileLayout, find_task
from bert_cli.examples.labels.unlabeled import drop_unlabeled
from bert_cli.examples.task_checks import (
    check_labels,
    check_numbers,
    check_text_column,
    find_header,
    report_first_row,
)
from bert_cli.problem_types.columns import LabelCells
from bert_cli.reading.folder import find_existing
from bert_cli.reading.header import AUTO
from bert_cli.reading.rows import Row
from bert_cli.reading.source import Source
from bert_cli.settings.data import PLAIN, TextForm


@dataclass(frozen=True, slots=True)
class ClassificationExample:
    """One row.

    Attributes:
        guid: row id in the original's format, for example "train-17".
        text_a: the text, or a pair's first text.
        text_b: a pair's second text, or None.
        label: label name; for regression, the decimal as written in the file; for multi-label
            tasks, 0 or 1 per label. None in a test file.
        identifier: row id from the file's id column, or "".
    """

    guid: str
    text_a: str
    text_b: str | None
    label: str | tuple[int, ...] | None
    identifier: str = field(default="", compare=False)


def read_examples(
    task_name: str,
    split: str,
    data_dir: str,
    header: str = "auto",
    labels: Sequence[str] | None = None,
    language: str = "zh",
    source: Source | None = None,
    id_column: str | None = None,
    form: TextForm = PLAIN,
    needs_label: bool = True,
    skip_unlabeled: bool = False,
) -> list[ClassificationExample]:
    """Read one split for a task, in file order.

    Values of `header`:
      yes   Skip the first row.
      no    Read the first row as data.
      auto  Follow the original: CoLA's train and dev files have no header, all other files have
            one. However, read the first row if ten other rows share its label, a task label. If it
            contradicts the rule in another way, raise an InputError that asks for yes or no (see
            `header.find_data_reason` and `header.find_header_reason`).

    Args:
        task_name: key of glue.TASKS, in any letter case.
        split: "train", "dev" or "test", or mnli's "dev_mismatched" or "test_mismatched".
        data_dir: directory with the task's files.
        header: whether the first row is a header: yes, no or auto.
        labels: allowed labels; None means the task's labels, but any label in CoLA's train file
            (see `find_labels`).
        language: two-letter language code, used by xnli.
        source: file to read instead of the task's file, or None.
        id_column: name or 0-based number for the id column, None for the task's id column. A file
            with labels may lack it.
        form: values of --encoding, --quoting and --sheet.
        needs_label: whether labels are read.
        skip_unlabeled: whether rows without a label are skipped and counted in the log.

    Raises:
        InputError: the task has no such split, the file is missing or empty, a row has too few
            columns, or a label is empty or unknown. Also if a CoLA test file has labels in the text
            column.
    """
    task = find_task(task_name)
    if split.removesuffix(task.second_half) not in ("train", "dev", "test") or header not in ("auto", "yes", "no"):
        raise ValueError(f"no such split or header rule: {split!r}, {header!r}")
    if split not in task.splits:
        flag = {"train": "do_train", "dev": "do_eval"}.get(split, "do_predict")
        alternative = "--do_eval" if split == "test" else "--do_predict"
        raise InputError(
            f"--{flag}: the task {task_name.lower()} has no {split} file; leave it out, or use {alternative}"
        )
    layout, source, rows = _open_split(task.splits[split], data_dir, language, source, form)
    path = source.name
    allowed = tuple(labels) if labels is not None else task.labels
    # User data often has CoLA's layout, so the train file may define new labels for all files.
    is_open = task.allows_new_labels and split == "train" and labels is None
    decision = find_header(rows, layout, header, None if is_open else allowed)
    has_header = decision.is_header
    if header == AUTO and layout.has_header and not has_header:
        LOG.info("%s:%d: there is no header, as the first row has a label like the others", path, rows[0].line)
    if id_column is not None:
        layout = replace(layout, identifier=_id_column(path, rows[0], has_header, layout, id_column))
    numbers, data = _select_rows(path, rows, has_header, layout, language)
    # Check the columns before the cells, because later checks treat a missing cell as empty.
    tables.check_columns(source, data, layout.minimum, layout.columns)
    if layout.label is None and layout.text_b is None:
        check_text_column(path, rows, layout, allowed)
    report_first_row(path, rows[0], decision, header)
    if not data:
        condition = f" of language {language} (in column 1)" if layout.has_languages else ""
        raise InputError(
            f"{path}: holds no data row{condition}{' below its header' if has_header else ''}; check the file"
        )
    if not needs_label:
        layout = replace(layout, label=None)
    if layout.label is not None and skip_unlabeled:
        labeled = _labeled_rows(path, data, layout, None if is_open else allowed)
        numbers, data = [numbers[row] for row in labeled], [data[row] for row in labeled]
    if layout.label is not None and task.problem_type.reader.is_numeric:
        check_numbers(path, data, layout.label)
    elif layout.label is not None:
        check_labels(path, data, layout, layout.label, None if is_open else allowed, skip_unlabeled)
    # Free each row once it is an example: keeping both would take half as much memory again.
    del rows
    data.reverse()
    return [_example(layout, number, data.pop()) for number in numbers]


def _open_split(
    layouts: Sequence[FileLayout],
    data_dir: str,
    language: str,
    user_file: Source | None,
    form: TextForm,
) -> tuple[FileLayout, Source, list[Row]]:
    """Read the split's file; return its layout (see `GlueTask.splits`), source and rows."""
    paths = [os.path.join(data_dir, layout.file.format(language=language)) for layout in layouts]
    source = user_file or Source(find_existing(paths) or paths[0], form.encoding, "data_dir")
    rows = tables.read_rows(source, form.quoting)
    fitting = [
        layout for layout, layout_path in zip(layouts, paths, strict=True) if user_file or layout_path == source.path
    ]
    width = len(rows[0].cells)
    # If no layout has this width, check_columns will report the first layout's columns.
    return next((layout for layout in fitting if layout.minimum == width), fitting[0]), source, rows


def _id_column(
    path: str,
    first: Row,
    has_header: bool,
    layout: FileLayout,
    name: str,
) -> int | None:
    """Return the index of --id_column; raise InputError if a file to predict lacks it."""
    names = [cell.strip() for cell in first.cells] if has_header else []
    column = tables.find_column(name, names, len(first.cells))
    if column is not None:
        return column
    if layout.label is not None:
        return layout.identifier
    columns = f"columns {list_names(names)}" if names else f"{len(first.cells)} columns without names"
    raise InputError(f"{path}:{first.line}: --id_column={name}: there is no such column; the file has {columns}")


def _select_rows(
    path: str, rows: list[Row], has_header: bool, layout: FileLayout, language: str
) -> tuple[Sequence[int], list[Row]]:
    """Return the numbers and rows that belong to the split."""
    # Row numbers include the header, because the original's guids do.
    numbers: Sequence[int] = range(int(has_header), len(rows))
    if layout.has_languages:
        numbers = array("q", [number for number in numbers if rows[number].cell(0) == language])
    if layout.has_broken_rows:
        broken = [rows[number].line for number in numbers if len(rows[number].cells) < layout.minimum]
        # The benchmark's file has a few damaged rows. Many mean that the file has other columns.
        if 0 < len(broken) < len(numbers) / 100:
            LOG.warning("%s: left out %d row(s) that are cut short, the first is line %d", path, len(broken), broken[0])
            numbers = array("q", [number for number in numbers if len(rows[number].cells) >= layout.minimum])
    if layout.pairs_file is not None:
        pairs_path = os.path.join(os.path.dirname(path), layout.pairs_file)
        if find_existing([pairs_path]):
            pairs = {tuple(cell.strip() for cell in row.cells) for row in tables.read_rows(Source(pairs_path))}
            is_selected = [((row.cell(1), row.cell(2)) in pairs) == layout.is_in_pairs_file for row in rows]
            numbers = array("q", [number for number in numbers if is_selected[number]])
        elif layout.is_in_pairs_file:
            raise InputError(
                f"{pairs_path}: no such file; it says which rows of {os.path.basename(path)} are for "
                "evaluation: put it there, or give --dev_split"
            )
    return numbers, [rows[number] for number in numbers]


def _labeled_rows(
    path: str,
    rows: Sequence[Row],
    layout: FileLayout,
    allowed: Sequence[str] | None,
) -> list[int]:
    labels = None if allowed is None else [*allowed, *layout.aliases]
    cells = LabelCells(
        path, [row.line for row in rows], [(row.cell(layout.label).strip(),) for row in rows], ("",), False
    )
    return drop_unlabeled(cells, labels, is_numeric=allowed == ())


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


def _label_key(label: str) -> tuple:
    return (0, float(label), label) if is_number(label) else (1, 0.0, label)


def find_labels(task_name: str, examples: Sequence[ClassificationExample]) -> tuple[str, ...]:
    """Return a task's labels, in output column order; () for regression.

    If the examples have other labels than the task, return the examples' labels: numbers by value,
    then words by code point. Raise InputError if there is only one such label.
    """
    task_labels = find_task(task_name).labels
    labels = {str(example.label) for example in examples if example.label is not None}
    # A small train file may lack a label of the task; the output columns must stay the same.
    if labels <= set(task_labels) or find_task(task_name).problem_type.reader.is_numeric:
        return task_labels
    if len(labels) < 2:
        raise InputError(
            f"every row of the train file has the label {quote(next(iter(labels)))}; two labels "
            "are needed, see --labels"
        )
    return tuple(sorted(labels, key=_label_key))


def describe_examples(examples: Sequence[ClassificationExample], labels: Sequence[str] = ()) -> str:
    """Summarize examples for the log: rows per label, or the range and mean of numbers.

    For example "4 examples; labels: 0 3 (75.0%), 1 1 (25.0%)".

    Args:
        examples: the examples.
        labels: label names, used if an example may have several labels.
    """
    values = [example.label for example in examples if example.label is not None]
    if not values:
        return f"{len(examples)} examples, no labels"
    rows = [label for label in values if isinstance(label, tuple)]
    single = [label for label in values if isinstance(label, str)]
    # Regression has a count of 1 for nearly every number, which would fill the log.
    if len(set(single)) > 20 and all(map(is_number, single)):
        numbers = [float(label) for label in single]
        mean = sum(numbers) / len(numbers)
        return f"{len(examples)} examples; from {min(numbers):g} to {max(numbers):g}, mean {mean:.4g}"
    counts: dict[str, int] = (
        {name: sum(row[index] for row in rows) for index, name in enumerate(labels)}
        if rows
        else dict(sorted(Counter(single).items(), key=lambda item: _label_key(item[0])))
    )
    shares = [f"{label} {count} ({count / len(examples):.1%})" for label, count in counts.items()]
    return f"{len(examples)} examples; labels: {', '.join(shares)}"
