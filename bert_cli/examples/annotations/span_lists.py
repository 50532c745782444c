"""Reader for records with a text and a list of spans, which become AnnotatedText records.

    doccano                {"text": …, "label": [[3, 11, "LOC"]]}, earlier "data" and "labels"
    doccano (relations)    {"text": …, "entities": [{"start_offset": 3, "end_offset": 11, "label": "LOC"}]}
    doccano (label ids)    {"text": …, "annotations": [{"start_offset": 3, "end_offset": 11, "label": 12}]}
    Prodigy                {"text": …, "spans": [{"start": 3, "end": 11, "label": "LOC"}]}
    spaCy                  {"text": …, "entities": [[3, 11, "LOC"]]}
    spaCy (Doc.to_json)    {"text": …, "ents": [{"start": 3, "end": 11, "label": "LOC"}]}

Offsets count characters, and the end is exclusive.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.json_files import JsonObject, as_object, has_form
from bert_cli.examples.annotations.annotated_texts import AnnotatedText, Span, make_span
from bert_cli.reading.columns.answers import ANSWER, is_accepted, is_answer
from bert_cli.reading.records import JsonRecord
from bert_cli.settings.answering import (
    DOCCANO,
    DOCCANO_ANNOTATIONS,
    DOCCANO_LABELS,
    DOCCANO_RELATIONS,
    PRODIGY,
    SPACY,
    SPACY_DOC,
)

TEXT_KEYS = ("text", "data")
# These members have offsets or lists of objects, but are not entities.
_OTHER_MEMBERS = {"tokens", "sents", "relations", "meta", "comments", "Comments"}
_MAX_SPAN_ITEMS = 5  # start, end, type, and possibly an id and a text
_OFFSET_NAME = re.compile("start|begin|end|offset|from|span|position", re.IGNORECASE)


class SpanFormat(NamedTuple):
    """A format for spans in a record.

    Attributes:
        key: name of the record's list of spans.
        names: names of a span's members for start, end and type; None if a span is a list of three.
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
# In all formats, these members have only spans.
_SPAN_KEYS = {span_format.key for span_format in FORMATS.values()} - {"label", "labels"}


def find_text(record: Any) -> str | None:
    """Return a record's text, or None."""
    return next((record[key] for key in TEXT_KEYS if has_form(record, {key: str})), None)


def find_unused_record_members(records: Sequence[JsonRecord], name: str = "") -> list[str]:
    """Return the members of records that are not used, such as a second text.

    Args:
        name: format, a key of FORMATS, or "" for texts without spans.
    """
    used = {FORMATS[name].key} if name else set()
    used |= {ANSWER} if name == PRODIGY else set()
    unused: dict[str, None] = {}
    for record in map(as_object, (record.value for record in records)):
        text_key = next((key for key in TEXT_KEYS if has_form(record, {key: str})), "")
        unused |= dict.fromkeys(member for member in record if member not in {text_key, *used})
    return list(unused)


def has_spans(record: Any, span_format: SpanFormat) -> bool:
    """Return whether a record has a text, and a list of spans in a format that is not empty."""
    if find_text(record) is None or not has_form(record, {span_format.key: list}):
        return False
    return has_form(record[span_format.key][:1], (dict if span_format.names else list,))


def find_empty_format(records: Sequence[JsonRecord]) -> str | None:
    """Return the key of FORMATS for the first record with an empty annotation, or None."""
    for _, record in records:
        if is_answer(record.get(ANSWER)):
            return PRODIGY
        for name, span_format in FORMATS.items():
            # spaCy and doccano share the key "entities", but only doccano has "relations".
            is_possible = name != DOCCANO_RELATIONS or "relations" in record
            if is_possible and record.get(span_format.key) == []:
                return name
    return None


def find_unread_members(record: JsonObject) -> list[str]:
    """Return the names of members that look like annotations in an unknown form."""
    return [name for name, value in record.items() if _looks_like_spans(name, value)]


def _looks_like_spans(name: str, value: Any) -> bool:
    if name in _OTHER_MEMBERS or value in (None, [], {}, ""):
        return False
    if name in _SPAN_KEYS:
        return True
    if name in ("label", "labels"):
        # A single value may be a class label for the whole text.
        return isinstance(value, list | dict) or str(value).lstrip()[:1] == "["
    return _has_offsets(value)


def _has_offsets(value: Any) -> bool:
    """Return whether any nested object or list has two or more offsets."""
    # Use a loop: nested JSON may be deeper than Python's stack.
    pending = [*value] if isinstance(value, list) else [value]
    while pending:
        item = pending.pop()
        offsets: list = []
        if isinstance(item, dict):
            numbers = [name for name, number in item.items() if type(number) is int]
            offsets = [name for name in numbers if _OFFSET_NAME.search(name)]
            pending.extend(item.values())
        elif isinstance(item, list):
            is_short = len(item) <= _MAX_SPAN_ITEMS  # a longer list may be a vector
            offsets = [number for number in item if is_short and type(number) is int]
            pending.extend(item)
        if len(offsets) > 1:
            return True
    return False


def read_texts(path: str, records: Sequence[JsonRecord], name: str) -> list[AnnotatedText]:
    """Convert a file's records.

    Args:
        path: the file, for messages.
        name: format, a key of FORMATS.

    Raises:
        InputError: a record has a different form.
    """
    return [_read_text(f"{path}:{line}", line, record, name) for line, record in records]


def make_plain_texts(path: str, records: Sequence[JsonRecord]) -> list[AnnotatedText]:
    """Convert records to texts without annotations; records without text are skipped."""
    texts = [(line, find_text(record)) for line, record in records]
    return [AnnotatedText(text, None, line, f"{path}:{line}") for line, text in texts if text is not None]


def _read_text(location: str, line: int, record: Any, name: str) -> AnnotatedText:
    text = find_text(record)
    if text is None:
        raise InputError(f'{location}: expected {{"text": a text, …}}, found {quote(str(record))}')
    spans = record.get(FORMATS[name].key)
    answer = record.get(ANSWER) if name == PRODIGY else None
    # An accepted text may have no "spans".
    if not is_accepted(answer) or (spans is None and answer is None):
        return AnnotatedText(text, None, line, location)
    if not isinstance(spans or [], list):
        raise InputError(f'{location}: "{FORMATS[name].key}" is not a list of spans; correct it')
    return AnnotatedText(text, [_read_span(location, span, name) for span in spans or ()], line, location)


def _read_span(location: str, span: Any, name: str) -> Span:
    key, names, _ = FORMATS[name]
    if names is None and has_form(span, (object, object, object)):
        start, end, entity_type = span
        return make_span(entity_type, start, end, location)
    if names is not None and has_form(span, dict.fromkeys(names, object)):
        start, end, entity_type = (span[member] for member in names)
        return make_span(entity_type, start, end, location, span.get("text"))
    form = "[start, end, type]" if names is None else "{" + ", ".join(f'"{member}"' for member in names) + "}"
    raise InputError(f'{location}: expected "{key}": a list of {form}, found {quote(str(span))}; correct it')
