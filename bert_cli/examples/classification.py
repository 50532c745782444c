"""Examples of text classification, their labels and a summary of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import is_number, quote
from bert_cli.base.names import show_name
from bert_cli.examples.glue import find_task


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
        kept: cells that the predictions also have, by column name; None without --keep_columns.
        group: the row's group, such as a patient; None without --group_column.
        weight: factor of the row's loss, with a mean of 1 over the table; None for equal weights.
        distribution: probability per label name, of which `label` is the most probable one; None
            without --soft_labels.
    """

    guid: str
    text_a: str
    text_b: str | None
    label: str | tuple[int, ...] | None
    identifier: str = field(default="", compare=False)
    kept: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    group: str | None = field(default=None, compare=False, repr=False)
    weight: float | None = field(default=None, compare=False, repr=False)
    distribution: tuple[float, ...] | None = field(default=None, compare=False, repr=False)


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
    # A task without labels has numbers.
    if not task_labels or labels <= set(task_labels):
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
    shares = [f"{show_name(label)} {count} ({count / len(examples):.1%})" for label, count in counts.items()]
    return f"{len(examples)} examples; labels: {', '.join(shares)}"
