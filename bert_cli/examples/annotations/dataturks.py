"""Records of Dataturks -> AnnotatedText records.

    {"content": "in New York.", "annotation": [
      {"label": ["LOC"], "points": [{"start": 3, "end": 10, "text": "New York"}]}]}

The end is the last character of a span, not the next one. A text that nobody annotated has null.
"""

from collections.abc import Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.messages import quote
from bert_cli.examples.annotations.spans import AnnotatedText, Span, checked_span, describe_unlabeled
from bert_cli.examples.table_files.json_values import JsonRecord

DATATURKS = "dataturks"
_FORM = 'expected {"label": [type], "points": [{"start": …, "end": …}]}'


def is_record(value: Any) -> bool:
    """Return whether a value has the two members of Dataturks."""
    is_object = isinstance(value, dict) and "annotation" in value
    return is_object and isinstance(value.get("content"), str)


def annotated_texts(path: str, records: Sequence[JsonRecord]) -> list[AnnotatedText]:
    """Return the texts of a file. InputError for annotations of another form."""
    return [_annotated_text(f"{path}:{line}", line, record) for line, record in records]


def with_entities(record: dict[str, Any], entities: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a record with other entities, which have their text, start, end and type."""
    annotation = [
        {"label": [entity["type"]], "points": [_point(entity["start"], entity["end"], entity["text"])]}
        for entity in entities
    ]
    return record | {"annotation": annotation}


def _point(start: int, end: int, text: str) -> dict[str, Any]:
    return {"start": start, "end": end - 1, "text": text}


def _annotated_text(place: str, line: int, record: dict[str, Any]) -> AnnotatedText:
    text, annotations = record["content"], record["annotation"]
    if annotations is None:
        return AnnotatedText(text, None, line, place)
    if not isinstance(annotations, list):
        value = quote(str(annotations))
        raise InputError(f'{place}: "annotation" is not a list; {_FORM}, found {value}; correct it')
    spans: list[Span] = []
    unlabeled: list[str] = []
    for annotation in annotations:
        labels, points = _labels_and_points(place, annotation)
        for point in points:
            end = point["end"] + 1 if type(point["end"]) is int else point["end"]
            if labels:
                spans.append(checked_span(labels[0], point["start"], end, place, point.get("text")))
            else:
                unlabeled.append(describe_unlabeled(place, point["start"], end, text))
    return AnnotatedText(text, spans, line, place, unlabeled=tuple(unlabeled))


def _labels_and_points(place: str, annotation: Any) -> tuple[list, list[dict[str, Any]]]:
    """Return the label of an annotation, in a list of at most one, and its points."""
    fields = annotation if isinstance(annotation, dict) else {}
    labels, points = fields.get("label"), fields.get("points")
    labels = labels if isinstance(labels, list) else [labels] * (labels not in (None, ""))
    are_points = isinstance(points, list) and all(
        isinstance(item, dict) and {"start", "end"} <= set(item) for item in points
    )
    if not isinstance(points, list) or not are_points or len(labels) > 1:
        raise InputError(f"{place}: {_FORM}, found {quote(str(annotation))}; correct it")
    return labels, points
