"""Files of the tasks of glue.py -> ClassificationExample records.

Columns, guids, labels and header rules come from the task's row of the table in glue.py. Unlike in
Google's script, a row that does not fit is an InputError that says `file:line`, a byte-order mark
and blank lines do no harm, and a first row that speaks against the header rule of its file is
neither lost nor learned without a word.
"""

import os
import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bert_cli.base.errors import InputError
from bert_cli.base.files import check_readable, exists
from bert_cli.base.formats import is_number
from bert_cli.base.log import LOG
from bert_cli.base.messages import list_names, quote
from bert_cli.examples import tables
from bert_cli.examples.glue import FileLayout, find_task
from bert_cli.examples.labels.unlabeled import leave_out_unlabeled
from bert_cli.examples.table_files.rows import Row
from bert_cli.examples.task_checks import (
    check_first_row,
    check_labels,
    check_numbers,
    check_text_column,
    is_data_by_label,
)
from bert_cli.problem_types.columns import LabelCells
from bert_cli.settings.data import PLAIN, TextForm


@dataclass(frozen=True, slots=True)
class ClassificationExample:
    """One row. `text_b` is None for single texts, `label` is None for the rows of a test file.

    identifier: the cell of the column of ids of a task's file, "" where there is none. label: one
    name, or the decimal of a regression as it is in the file; for multi-label tasks, 0 or 1 for
    each of them.
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
    path: str | None = None,
    id_column: str | None = None,
    form: TextForm = PLAIN,
    needs_label: bool = True,
    skip_unlabeled: bool = False,
) -> list[ClassificationExample]:
    """Read the examples of one split ("train", "dev" or "test", or the mismatched half of mnli's)
    in file order.

    `labels` None means the labels of the task; the training file of cola may then hold any labels
    (see `find_labels`). `path` is a file to read in place of the task's own. `id_column`: the
    column of the identifiers, by its name in the header or its number from 0, instead of the task's
    own; a file with labels may lack it. `form`: see tables.read_rows. Labels are read where
    `needs_label`. `skip_unlabeled`: rows without a label are left out and counted in the log.

    `header` says whether the first row of a file holds the names of its columns:
      auto  the original's rule: train and dev of cola have none, all other files have one. But a first row whose label
            is one of the task's, as are those in ten other rows, is read in any case. Where it only speaks against the rule
            this is an InputError that asks for yes or no: a row that would be skipped although its label is a label of
            the task, or its id or its text look like data; or a row that would be read although its label cell
            is a name that no other row has (`tables.data_reason`, `tables.header_reason`).
      yes   the first row of every file is skipped.
      no    the first row of every file is data.

    Raises InputError for a task without that split (xnli has no test file), a missing or empty
    file, rows with too few columns, empty and unknown labels, and a test file of cola with labels
    where the texts are expected.
    """
    task = find_task(task_name)
    if split.removesuffix(task.other_half) not in ("train", "dev", "test") or header not in ("auto", "yes", "no"):
        raise ValueError(f"no such split or header rule: {split!r}, {header!r}")
    if split not in task.splits:
        flag = {"train": "do_train", "dev": "do_eval"}.get(split, "do_predict")
        other = "--do_eval" if split == "test" else "--do_predict"
        raise InputError(f"--{flag}: the task {task_name.lower()} has no {split} file; leave it out, or use {other}")
    layout, path, rows = _open_split(task.splits[split], data_dir, language, path, form)
    known = tuple(labels) if labels is not None else task.labels
    has_header = layout.has_header if header == "auto" else header == "yes"
    if header == "auto" and has_header and is_data_by_label(rows[0], rows[1:], known, layout.label):
        LOG.info("%s:%d: there is no header, as the first row has a label like the others", path, rows[0].line)
        has_header = False
    if id_column is not None:
        layout = replace(layout, identifier=_id_column(path, rows[0], has_header, layout, id_column))
    # Own data is often laid out as CoLA, so its training file may bring other labels; they hold for
    # all other files.
    is_open = task.open_labels and split == "train" and labels is None
    numbers, data = _rows_of_split(path, rows, has_header, layout, language)
    # Before anything looks at cells: a cell that a row does not have counts as empty there.
    tables.check_columns(path, data, layout.minimum, layout.columns, form.encoding)
    if layout.label is None and layout.text_b is None:
        check_text_column(path, rows, layout, known)
    check_first_row(path, rows, layout, header, has_header, None if is_open else known)
    if not data:
        wanted = f" of language {language} (in column 1)" if layout.by_language else ""
        raise InputError(
            f"{path}: holds no data row{wanted}{' below its header' if has_header else ''}; check the file"
        )
    if not needs_label:
        layout = replace(layout, label=None)
    if layout.label is not None and skip_unlabeled:
        labeled = _labeled_rows(path, data, layout, None if is_open else known)
        numbers, data = [numbers[row] for row in labeled], [data[row] for row in labeled]
    if layout.label is not None and task.problem_type.is_numeric:
        check_numbers(path, data, layout.label)
    elif layout.label is not None:
        check_labels(path, data, layout, layout.label, None if is_open else known, skip_unlabeled)
    # Each row goes when its example is there: both of all rows would take half as much memory
    # again.
    del rows
    data.reverse()
    return [_example(layout, number, data.pop()) for number in numbers]


def _open_split(
    layouts: Sequence[FileLayout], data_dir: str, language: str, given: str | None, form: TextForm
) -> tuple[FileLayout, str, list[Row]]:
    """The layout that fits the file that is there (see Task.splits), the file's path, and its rows."""
    paths = [os.path.join(data_dir, layout.file.format(language=language)) for layout in layouts]
    path = given or next((path for path in paths if exists(path)), paths[0])
    check_readable(path, "data_dir")
    rows = tables.read_rows(path, form)
    fitting = [layout for layout, own in zip(layouts, paths, strict=True) if given or own == path]
    width = len(rows[0].cells)
    # Where no layout has this width, the first one gives the error about the columns.
    return next((layout for layout in fitting if layout.minimum == width), fitting[0]), path, rows


def _id_column(path: str, first: Row, has_header: bool, layout: FileLayout, name: str) -> int | None:
    """The column that --id_column names; InputError where a file to predict lacks it."""
    names = [cell.strip() for cell in first.cells] if has_header else []
    found = tables.find_column(name, names, len(first.cells))
    if found is not None:
        return found
    if layout.label is not None:
        return layout.identifier
    there = f"columns {list_names(names)}" if names else f"{len(first.cells)} columns without names"
    raise InputError(f"{path}:{first.line}: --id_column={name}: there is no such column; the file has {there}")


def _rows_of_split(
    path: str, rows: list[Row], has_header: bool, layout: FileLayout, language: str
) -> tuple[Sequence[int], list[Row]]:
    """(numbers, rows) of those rows that are examples of the split; numbers count the header, as
    the original's guids do.
    """
    # Numbers count the header, because guids of the original do.
    numbers: Sequence[int] = range(int(has_header), len(rows))
    if layout.by_language:
        numbers = array("q", [number for number in numbers if rows[number].cell(0) == language])
    if layout.broken_rows:
        broken = [rows[number].line for number in numbers if len(rows[number].cells) < layout.minimum]
        # A few rows are damage that the benchmark ships; many mean that the columns are others.
        if 0 < len(broken) < len(numbers) / 100:
            LOG.warning("%s: left out %d row(s) that are cut short, the first is line %d", path, len(broken), broken[0])
            numbers = array("q", [number for number in numbers if len(rows[number].cells) >= layout.minimum])
    if layout.pairs_file is not None:
        chosen = os.path.join(os.path.dirname(path), layout.pairs_file)
        if exists(chosen):
            pairs = {tuple(cell.strip() for cell in row.cells) for row in tables.read_rows(chosen)}
            is_in = [((row.cell(1), row.cell(2)) in pairs) == layout.in_pairs_file for row in rows]
            numbers = array("q", [number for number in numbers if is_in[number]])
        elif layout.in_pairs_file:
            raise InputError(
                f"{chosen}: no such file; it says which rows of {os.path.basename(path)} are for "
                "evaluation: put it there, or give --dev_split"
            )
    return numbers, [rows[number] for number in numbers]


def _labeled_rows(path: str, rows: Sequence[Row], layout: FileLayout, known: Sequence[str] | None) -> list[int]:
    labels = None if known is None else [*known, *layout.aliases]
    cells = LabelCells(
        path, [row.line for row in rows], [(row.cell(layout.label).strip(),) for row in rows], ("",), False
    )
    return leave_out_unlabeled(cells, labels, is_numeric=known == ())


def _example(layout: FileLayout, number: int, row: Row) -> ClassificationExample:
    cells = row.cells
    label = None if layout.label is None else layout.aliases.get(cells[layout.label], cells[layout.label])
    return ClassificationExample(
        guid=f"{layout.guid}-{number if layout.guid_column is None else cells[layout.guid_column]}",
        text_a=cells[layout.text_a],
        text_b=None if layout.text_b is None else cells[layout.text_b],
        label=None if label is None else sys.intern(label),  # one text for all rows with it
        identifier=row.cell(layout.identifier),
    )


def _label_key(label: str) -> tuple:
    return (0, float(label), label) if is_number(label) else (1, 0.0, label)


def find_labels(task_name: str, examples: Sequence[ClassificationExample]) -> tuple[str, ...]:
    """The labels of a task in the order of the output columns.

    They are the task's own where the examples have no others; otherwise the labels of the examples,
    numbers by value, then words by code point; () for a regression. InputError where that is a
    single label.
    """
    own = find_task(task_name).labels
    found = {str(example.label) for example in examples if example.label is not None}
    # A small training file may lack a label of the task, on which the outputs must not depend.
    if found <= set(own) or find_task(task_name).problem_type.is_numeric:
        return own
    if len(found) < 2:
        raise InputError(
            f"every row of the train file has the label {quote(next(iter(found)))}; two labels are needed, see --labels"
        )
    return tuple(sorted(found, key=_label_key))


def describe_examples(examples: Sequence[ClassificationExample], labels: Sequence[str] = ()) -> str:
    """For the log: the numbers of rows and of each label, e.g. `4 examples; labels: 0 3 (75.0%), 1
    1 (25.0%)`.

    labels: the names, where an example may have several. For a regression it logs the least, mean
    and greatest value.
    """
    found = [example.label for example in examples if example.label is not None]
    if not found:
        return f"{len(examples)} examples, no labels"
    rows = [label for label in found if isinstance(label, tuple)]
    single = [label for label in found if isinstance(label, str)]
    # A regression: to count every number would fill the log.
    if len(set(single)) > 20 and all(map(is_number, single)):
        numbers = [float(label) for label in single]
        mean = sum(numbers) / len(numbers)
        return f"{len(examples)} examples; from {min(numbers):g} to {max(numbers):g}, mean {mean:.4g}"
    counts: dict[str, int] = (
        {name: sum(row[place] for row in rows) for place, name in enumerate(labels)}
        if rows
        else dict(sorted(Counter(single).items(), key=lambda item: _label_key(item[0])))
    )
    parts = [f"{label} {count} ({count / len(examples):.1%})" for label, count in counts.items()]
    return f"{len(examples)} examples; labels: {', '.join(parts)}"
