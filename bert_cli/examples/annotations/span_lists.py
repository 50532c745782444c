"""Records with a text and a list of spans -> AnnotatedText records.

    doccano                {"text": …, "label": [[3, 11, "LOC"]]}, earlier "data" and "labels"
    doccano (relations)    {"text": …, "entities": [{"start_offset": 3, "end_offset": 11, "label": "LOC"}]}
    doccano (label ids)    {"text": …, "annotations": [{"start_offset": 3, "end_offset": 11, "label": 12}]}
    Prodigy                {"text": …, "spans": [{"start": 3, "end": 11, "label": "LOC"}]}
    spaCy                  {"text": …, "entities": [[3, 11, "LOC"]]}
    spaCy (Doc.to_json)    {"text": …, "ents": [{"start": 3, "end": 11, "label": "LOC"}]}

Offsets are characters of the text, the end after the last.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.messages import quote
from bert_cli.examples.annotations.spans import AnnotatedText, Span, checked_span
from bert_cli.examples.table_files.json_values import JsonRecord
from bert_cli.settings.tagging import (
    DOCCANO,
    DOCCANO_ANNOTATIONS,
    DOCCANO_LABELS,
    DOCCANO_RELATIONS,
    PRODIGY,
    SPACY,
    SPACY_DOC,
)

TEXT_KEYS = ("text", "data")
# Members of records that have offsets, or lists of objects, but are no entities.
_OTHER_MEMBERS = {"tokens", "sents", "relations", "meta", "comments", "Comments"}
_PRODIGY_ANSWERS = ("accept", "reject", "ignore")
_MOST_ITEMS = 5  # of a list that may be a span: start, end, type, and perhaps an id and a text
_OFFSET_NAME = re.compile("start|begin|end|offset|from|span|position", re.IGNORECASE)


class SpanFormat(NamedTuple):
    """Form of the spans of a record.

    Attributes:
        key: member of the record that holds the list of spans.
        names: members of a span with its start, end and type; None for triples of these.
        title: name of the format, for messages.
    """

    key: str
    names: tuple[str, str, str] | None
    title: str


_NAMES = ("start", "end", "label")
_DOCCANO_NAMES = ("start_offset", "end_offset", "label")
FORMATS = {
    DOCCANO: SpanFormat("label", None, "doccano"),
    DOCCANO_LABELS: SpanFormat("labels", None, "doccano before 1.6"),
    DOCCANO_RELATIONS: SpanFormat("entities", _DOCCANO_NAMES, "doccano with relations"),
    DOCCANO_ANNOTATIONS: SpanFormat("annotations", _DOCCANO_NAMES, "doccano with label ids"),
    PRODIGY: SpanFormat("spans", _NAMES, "Prodigy"),
    SPACY: SpanFormat("entities", None, "spaCy"),
    SPACY_DOC: SpanFormat("ents", _NAMES, "spaCy's Doc.to_json"),
}
# Members that hold spans, and hold nothing else in any format that is known.
_SPAN_KEYS = {span_format.key for span_format in FORMATS.values()} - {"label", "labels"}


def text_of(record: Any) -> str | None:
    """Return the text of a record, or None if it has none."""
    texts = (record.get(key) for key in TEXT_KEYS) if isinstance(record, dict) else ()
    return next((text for text in texts if isinstance(text, str)), None)


def find_format(record: Any) -> str | None:
    """Return the key of FORMATS for a record with spans; None for an empty list too."""
    if text_of(record) is None:
        return None
    for name, span_format in FORMATS.items():
        spans = record.get(span_format.key)
        span_type = list if span_format.names is None else dict
        if isinstance(spans, list) and spans and isinstance(spans[0], span_type):
            return name
    return None


def find_empty_format(records: Sequence[JsonRecord]) -> str | None:
    """Return the key of FORMATS for the first record that is annotated as without spans, or None."""
    for _, record in records:
        if record.get("answer") in _PRODIGY_ANSWERS:
            return PRODIGY
        for name, span_format in FORMATS.items():
            # Triples and objects have the same key: the member that doccano adds decides.
            is_possible = name != DOCCANO_RELATIONS or "relations" in record
            if is_possible and record.get(span_format.key) == []:
                return name
    return None


def unread_members(record: dict[str, Any]) -> list[str]:
    """Return the members of a record without spans that look like annotations in another form."""
    return [name for name, value in record.items() if _looks_like_spans(name, value)]


def _looks_like_spans(name: str, value: Any) -> bool:
    if name in _OTHER_MEMBERS or value in (None, [], {}, ""):
        return False
    if name in _SPAN_KEYS:
        return True
    if name in ("label", "labels"):
        # A single value may be the class of the whole text.
        return isinstance(value, list | dict) or str(value).lstrip()[:1] == "["
    return _has_offsets(value)


def _has_offsets(value: Any) -> bool:
    """Return whether two offsets are together anywhere in an object, or in an item of a list."""
    # A loop, as JSON may be nested more deeply than Python's stack.
    pending = [*value] if isinstance(value, list) else [value]
    while pending:
        item = pending.pop()
        offsets: list = []
        if isinstance(item, dict):
            numbers = [name for name, number in item.items() if type(number) is int]
            offsets = [name for name in numbers if _OFFSET_NAME.search(name)]
            pending.extend(item.values())
        elif isinstance(item, list):
            is_short = len(item) <= _MOST_ITEMS  # A longer list is a vector.
            offsets = [number for number in item if is_short and type(number) is int]
            pending.extend(item)
        if len(offsets) > 1:
            return True
    return False


def annotated_texts(path: str, records: Sequence[JsonRecord], name: str) -> list[AnnotatedText]:
    """Return the texts of a file in a format of FORMATS. InputError for a record of another form."""
    return [_annotated_text(f"{path}:{line}", line, record, name) for line, record in records]


def plain_texts(path: str, records: Sequence[JsonRecord]) -> list[AnnotatedText]:
    """Return the texts of records as not annotated."""
    texts = [(line, text_of(record)) for line, record in records]
    return [AnnotatedText(text, None, line, f"{path}:{line}") for line, text in texts if text is not None]


def _annotated_text(place: str, line: int, record: Any, name: str) -> AnnotatedText:
    text = text_of(record)
    if text is None:
        raise InputError(f'{place}: expected {{"text": a text, …}}, found {quote(str(record))}')
    spans = record.get(FORMATS[name].key)
    answer = record.get("answer") if name == PRODIGY else None
    # Prodigy: a rejected annotation is wrong, an ignored one is none, and an accepted text may be
    # without entities.
    if (answer is not None and answer != "accept") or (spans is None and answer is None):
        return AnnotatedText(text, None, line, place)
    if not isinstance(spans or [], list):
        raise InputError(f'{place}: "{FORMATS[name].key}" is not a list of spans; correct it')
    return AnnotatedText(text, [_span(place, span, name) for span in spans or ()], line, place)


def _span(place: str, span: Any, name: str) -> Span:
    key, names, _ = FORMATS[name]
    if names is None and isinstance(span, list) and len(span) == 3:
        start, end, entity_type = span
        return checked_span(entity_type, start, end, place)
    if names is not None and isinstance(span, dict) and all(member in span for member in names):
        start, end, entity_type = (span[member] for member in names)
        return checked_span(entity_type, start, end, place, span.get("text"))
    form = "[start, end, type]" if names is None else "{" + ", ".join(f'"{member}"' for member in names) + "}"
    raise InputError(f'{place}: expected "{key}": a list of {form}, found {quote(str(span))}; correct it')
