"""Reader for Dataturks records, which become AnnotatedText records.

    {"content": "in New York.", "annotation": [
      {"label": ["LOC"], "points": [{"start": 3, "end": 10, "text": "New York"}]}]}

"end" is the offset of a span's last character. In a text without annotation, "annotation" is null.
"""

from collections.abc import Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.json_files import JsonObject, as_object, has_form
from bert_cli.examples.annotations.annotated_texts import AnnotatedText, Span, UnlabeledSpan, make_span
from bert_cli.examples.tag_schemes import EntityRecord
from bert_cli.reading.records import JsonRecord

DATATURKS = "dataturks"
_POINT = {"start": object, "end": object}
_FORM = 'expected {"label": [type], "points": [{"start": …, "end": …}]}'


def is_record(value: Any) -> bool:
    """Return whether a value has Dataturks' two members."""
    return has_form(value, {"content": str, "annotation": object})


def read_texts(path: str, records: Sequence[JsonRecord]) -> list[AnnotatedText]:
    """Convert a file's records; raise InputError for annotations with a different form."""
    return [_read_text(f"{path}:{line}", line, record) for line, record in records]


def replace_entities(record: JsonObject, entities: Sequence[EntityRecord]) -> JsonObject:
    """Copy a record, using other entities.

    Args:
        record: a Dataturks record.
        entities: new entities.
    """
    annotation: list[JsonObject] = [
        {"label": [entity["type"]], "points": [_make_point(entity["start"], entity["end"], entity["text"])]}
        for entity in entities
    ]
    return {**record, "annotation": annotation}


def _make_point(start: int, end: int, text: str) -> JsonObject:
    return {"start": start, "end": end - 1, "text": text}


def _read_text(location: str, line: int, record: JsonObject) -> AnnotatedText:
    text, annotations = str(record["content"]), record["annotation"]
    if annotations is None:
        return AnnotatedText(text, None, line, location)
    if not isinstance(annotations, list):
        value = quote(str(annotations))
        raise InputError(f'{location}: "annotation" is not a list; {_FORM}, found {value}; correct it')
    spans: list[Span] = []
    unlabeled: list[UnlabeledSpan] = []
    for annotation in annotations:
        labels, points = _labels_and_points(location, annotation)
        for point in points:
            end = point["end"] + 1 if type(point["end"]) is int else point["end"]
            if labels:
                spans.append(make_span(labels[0], point["start"], end, location, point.get("text")))
            else:
                unlabeled.append(UnlabeledSpan(location, point["start"], end))
    return AnnotatedText(text, spans, line, location, unlabeled=tuple(unlabeled))


def _labels_and_points(location: str, annotation: Any) -> tuple[list, list[JsonObject]]:
    """Return an annotation's labels, at most one, and its points."""
    labels = as_object(annotation).get("label")
    if not isinstance(labels, list):
        labels = [] if labels in (None, "") else [labels]
    if not has_form(annotation, {"points": [_POINT]}) or len(labels) > 1:
        raise InputError(f"{location}: {_FORM}, found {quote(str(annotation))}; correct it")
    return labels, annotation["points"]
