"""Table of annotation tools: how their records are recognized, and how they are read."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bert_cli.examples.annotations import dataturks, label_studio, label_studio_min, span_lists, training_pairs
from bert_cli.examples.annotations.annotated_texts import AnnotatedText
from bert_cli.examples.annotations.dataturks import DATATURKS
from bert_cli.examples.annotations.label_studio import LABEL_STUDIO, is_label_region
from bert_cli.examples.annotations.label_studio_min import LABEL_STUDIO_MIN
from bert_cli.examples.annotations.training_pairs import SPACY_PAIRS
from bert_cli.reading.exports.cells import find_unused_members
from bert_cli.reading.exports.label_studio import (
    ANNOTATIONS,
    count_further_annotations,
    find_annotation,
    is_task,
    list_region_types,
)
from bert_cli.reading.records import JsonRecord
from bert_cli.reading.rows import LeftOutRows


class ToolTexts(NamedTuple):
    """A file's texts, and everything in its records that is not used.

    Attributes:
        texts: the texts.
        not_used: paths of members.
        left_out: records.
    """

    texts: list[AnnotatedText]
    not_used: list[str]
    left_out: Sequence[LeftOutRows] = ()


class Tool(NamedTuple):
    """An annotation tool, or one of its export formats.

    Attributes:
        title: its name, for messages.
        is_record: returns whether a value is a record with annotations of this tool.
        read: converts records (path, records) to texts.
    """

    title: str
    is_record: Callable[[Any], bool]
    read: Callable[[str, Sequence[JsonRecord]], ToolTexts]


def _span_list(name: str, span_format: span_lists.SpanFormat) -> Tool:
    def read(path: str, records: Sequence[JsonRecord]) -> ToolTexts:
        return ToolTexts(
            span_lists.read_texts(path, records, name), span_lists.find_unused_record_members(records, name)
        )

    return Tool(span_format.title, lambda value: span_lists.has_spans(value, span_format), read)


def _read_pairs(path: str, records: Sequence[JsonRecord]) -> ToolTexts:
    skipped = [record.line for record in records if record.value is None]
    left_out = LeftOutRows.of_lines("texts that the annotator skipped", skipped, is_requested=True)
    annotations = [record.value[1] for record in records if record.value is not None]
    return ToolTexts(
        training_pairs.read_texts(path, records), find_unused_members(annotations, [("entities",)]), left_out
    )


def _read_tasks(path: str, records: Sequence[JsonRecord]) -> ToolTexts:
    key, texts = label_studio.read_tasks(path, records)
    tasks = [record.value for record in records]
    types = list_region_types([find_annotation(task) for task in tasks], lambda region: not is_label_region(region))
    num_further = count_further_annotations(tasks)
    further = [LeftOutRows("further annotations of tasks with several", num_further, is_requested=True)]
    used = (("id",), ("data", key), *ANNOTATIONS)
    not_used = [*find_unused_members(tasks, used), *(f"annotations of type {region_type}" for region_type in types)]
    return ToolTexts(texts, not_used, further if num_further else ())


def _read_small_tasks(path: str, records: Sequence[JsonRecord]) -> ToolTexts:
    tasks = label_studio_min.to_tasks(records)
    key, texts = label_studio.read_tasks(path, tasks)
    used = [(name,) for name in ("id", key, *label_studio_min.find_label_members(records))]
    num_repeated = len(records) - len(tasks)
    repeated = [LeftOutRows("records that annotate the same tasks again", num_repeated, is_requested=True)]
    not_used = find_unused_members((record.value for record in records), used)
    return ToolTexts(texts, not_used, repeated if num_repeated else ())


def _read_dataturks(path: str, records: Sequence[JsonRecord]) -> ToolTexts:
    not_used = find_unused_members((record.value for record in records), [("content",), ("annotation",)])
    return ToolTexts(dataturks.read_texts(path, records), not_used)


# One row per format; the first one that recognizes a record is used. outputs/annotations.py has the
# writers of formats without a list of spans.
TOOLS = {
    SPACY_PAIRS: Tool("spaCy's training data", training_pairs.is_training_pair, _read_pairs),
    LABEL_STUDIO: Tool("Label Studio", is_task, _read_tasks),
    LABEL_STUDIO_MIN: Tool("Label Studio (JSON-MIN)", label_studio_min.is_record, _read_small_tasks),
    DATATURKS: Tool("Dataturks", dataturks.is_record, _read_dataturks),
} | {name: _span_list(name, span_format) for name, span_format in span_lists.FORMATS.items()}
