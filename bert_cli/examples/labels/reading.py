"""Reader for a file's label cells: problem type, label names, and a label per row."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.examples.labels.answers import ProdigyAnswers, apply_answers
from bert_cli.examples.labels.indices import name_indices
from bert_cli.examples.labels.label_names import check_column_names, find_label_names, warn_about_few_rows
from bert_cli.examples.labels.lists import read_lists
from bert_cli.examples.labels.problem_type import infer_problem_type
from bert_cli.examples.labels.unlabeled import drop_unlabeled, find_labeled_rows
from bert_cli.problem_types.columns import SKIP_ADVICE, LabelCells
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.parts import CellReader
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.reading.rows import LeftOutRows


class FileRole(NamedTuple):
    """A file's role in a run.

    Attributes:
        decides_names: whether it is the training file, which decides the model's labels.
        keeps_rows: whether it is a file to predict, which keeps unlabeled rows.
        skips_unlabeled: value of --skip_unlabeled.
    """

    decides_names: bool
    keeps_rows: bool
    skips_unlabeled: bool


class FileLabels(NamedTuple):
    """A file's labels.

    Attributes:
        problem_type: problem type.
        names: label names in output order, () if outputs have no names.
        rows: label per row from LabelReader.parse, None for an unlabeled row.
        left_out: rows without a label, which training and evaluation do not use.
        distributions: probability per label name for each row, None for an unlabeled row; () for
            labels without probabilities.
    """

    problem_type: ProblemType
    names: tuple[str, ...]
    rows: list[Any]
    left_out: tuple[LeftOutRows, ...] = ()
    distributions: Sequence[tuple[float, ...] | None] = ()


def read_labels(
    cells: LabelCells,
    problem_type: ProblemType | None,
    names: tuple[str, ...] | None,
    role: FileRole,
    answers: ProdigyAnswers | None = None,
) -> FileLabels:
    """Read a file's labels.

    Args:
        cells: label cells of all rows.
        problem_type: problem type from flags, the model or an earlier file; None to infer it.
        names: label names from the same source, None to use the names in the cells.
        role: the file's role in the run.
        answers: Prodigy's answers, None for other files.

    Raises:
        InputError: a label is invalid, or it is unclear which problem type or names are meant.
    """
    if problem_type:
        names = problem_type.reader.keep_names(names)
    lists = read_lists(cells, problem_type, names)
    rows: Sequence[int] = range(len(cells.rows))
    left_out: tuple[LeftOutRows, ...] = ()
    if answers is not None:
        answered, rows, problem_type, left_out = apply_answers(lists.cells, answers, problem_type)
        lists = lists._replace(cells=answered)
    if role.skips_unlabeled:
        if role.keeps_rows:
            labeled = find_labeled_rows(lists.cells, names)
        else:
            labeled, unlabeled = drop_unlabeled(lists.cells, names)
            left_out += unlabeled
        lists = lists._replace(cells=lists.cells.take(labeled))
        rows = [rows[row] for row in labeled]
    if names:
        lists = lists._replace(cells=name_indices(lists.cells, names, role.decides_names))
    inferred = None
    if problem_type is None:
        inferred = infer_problem_type(lists)
        problem_type = inferred.problem_type
    reader = require(problem_type.cell_reader, cells.path)
    if names is None and role.decides_names:
        names = lists.index_names
        if names is None:
            names = find_label_names(lists.cells, problem_type, role.skips_unlabeled)
        else:
            check_column_names(cells.path, names)
    elif names is None and not role.keeps_rows:
        # A third-party model has no label names, and the rows do not show its output order.
        names = reader.labels_from_columns(lists.cells)
        if names is None:
            raise InputError(f"{cells.path}: the model has no labels.txt; give --labels in the order of its outputs")
    if role.decides_names:
        warn_about_few_rows(cells.path, len(names or ()), len(rows))
    if inferred:
        LOG.info("%s: %s", cells.path, inferred.describe(len(names or ())))
    parsed = reader.parse(lists.cells, names or ())
    if role.decides_names:
        _warn_about_targets(cells.path, reader, parsed)
        _warn_about_empty_cells(lists.cells)
    labels: list[Any] = [None] * len(cells.rows)
    for row, label in zip(rows, parsed, strict=True):
        labels[row] = label
    return FileLabels(problem_type, names or (), labels, left_out)


def _warn_about_empty_cells(cells: LabelCells) -> None:
    """Log a warning if most rows have an empty cell, which may be a mistake in multi-label data."""
    # An empty list, or a 0 per label, is written for a text without labels. Other data has no empty
    # cells: they were refused.
    empty_lines = [line for line, row in zip(cells.lines, cells.rows, strict=True) if row == ("",)]
    if 2 * len(empty_lines) > len(cells.rows):
        LOG.warning(
            "%s:%d: warning: %d of %d rows have an empty label cell, and are texts without labels; check the column, "
            "such as for cells that apply to the rows below; %s",
            cells.path, empty_lines[0], len(empty_lines), len(cells.rows), SKIP_ADVICE,
        )  # fmt: skip


def _warn_about_targets(path: str, reader: CellReader, labels: Sequence[Any]) -> None:
    """Log a warning if training rows have all the same label, or numbers that a model cannot reach."""
    if doubt := reader.label_doubt(labels):
        LOG.warning("%s: warning: %s", path, doubt)
