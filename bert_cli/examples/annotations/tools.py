"""Table of annotation tools: how their records are recognized, and how they are read."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bert_cli.examples.annotations import dataturks, label_studio, label_studio_min, span_lists, training_pairs
from bert_cli.examples.annotations.annotated_texts import AnnotatedText
from bert_cli.examples.annotations.dataturks import DATATURKS
from bert_cli.examples.annotations.label_studio import LABEL_STUDIO
from bert_cli.examples.annotations.label_studio_min import LABEL_STUDIO_MIN
from bert_cli.examples.annotations.training_pairs import SPACY_PAIRS
from bert_cli.reading.columns.answers import ANSWER
from bert_cli.reading.exports.label_studio import ADDED_MEMBERS, is_task
from bert_cli.reading.records import JsonRecord
from bert_cli.reading.rows import LeftOut

Reader = Callable[[str, Sequence[JsonRecord], list[LeftOut]], list[AnnotatedText]]


class Tool(NamedTuple):
    """An annotation tool, or one of its export formats.

    Attributes:
        title: its name, for messages.
        is_record: returns whether a value is a record with annotations of this tool.
        read: converts records (path, records, left_out) to texts, and extends the last argument.
        is_used: returns whether a record's member of this name is used.
    """

    title: str
    is_record: Callable[[Any], bool]
    read: Reader
    is_used: Callable[[str], bool]


def _span_list(name: str, span_format: span_lists.SpanFormat) -> Tool:
    used = {*span_lists.TEXT_KEYS, span_format.key, ANSWER}
    return Tool(
        span_format.title,
        lambda value: span_lists.has_spans(value, span_format),
        lambda path, records, _: span_lists.read_texts(path, records, name),
        used.__contains__,
    )


def _read_pairs(path: str, records: Sequence[JsonRecord], left_out: list[LeftOut]) -> list[AnnotatedText]:
    skipped = [record.line for record in records if record.value is None]
    left_out.extend(LeftOut.of_lines("texts that the annotator skipped", skipped, is_requested=True))
    return training_pairs.read_texts(path, records)


def _read_small_tasks(path: str, records: Sequence[JsonRecord], left_out: list[LeftOut]) -> list[AnnotatedText]:
    tasks = label_studio_min.to_tasks(records)
    if count := len(records) - len(tasks):
        left_out.append(LeftOut("records that annotate the same tasks again", count, is_requested=True))
    return label_studio.read_tasks(path, tasks)


# One row per format; the first one that recognizes a record is used. outputs/annotations.py has the
# writers of formats without a list of spans.
TOOLS = {
    SPACY_PAIRS: Tool("spaCy's training data", training_pairs.is_pair, _read_pairs, lambda _: True),
    LABEL_STUDIO: Tool(
        "Label Studio",
        is_task,
        lambda path, records, _: label_studio.read_tasks(path, records),
        {"id", "data", "annotations", "completions"}.__contains__,
    ),
    # The data have members of any names, but those that Label Studio adds are known.
    LABEL_STUDIO_MIN: Tool(
        "Label Studio (JSON-MIN)",
        label_studio_min.is_record,
        _read_small_tasks,
        lambda name: name == "id" or name not in ADDED_MEMBERS,
    ),
    DATATURKS: Tool(
        "Dataturks",
        dataturks.is_record,
        lambda path, records, _: dataturks.read_texts(path, records),
        {"content", "annotation"}.__contains__,
    ),
} | {name: _span_list(name, span_format) for name, span_format in span_lists.FORMATS.items()}
