"""JSON lines of annotation tools, each a text with its spans -> AnnotatedText records.

    doccano                {"text": …, "label": [[3, 11, "LOC"]]}, earlier "data" and "labels"
    doccano (relations)    {"text": …, "entities": [{"start_offset": 3, "end_offset": 11, "label": "LOC"}]}
    Prodigy                {"text": …, "spans": [{"start": 3, "end": 11, "label": "LOC"}]}
    spaCy                  {"text": …, "entities": [[3, 11, "LOC"]]}

Offsets are characters of the text, the end after the last.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import parse_json
from bert_cli.base.messages import quoted
from bert_cli.examples.annotations.spans import AnnotatedText, Span, checked_span
from bert_cli.settings.tagging import DOCCANO, DOCCANO_LABELS, DOCCANO_RELATIONS, PRODIGY, SPACY

TEXT_KEYS = ("text", "data")


class SpanFormat(NamedTuple):
    """How JSON lines hold spans: under which `key` of a record, and for objects the `names` of
    start, end and type; None for triples of these.
    """

    key: str
    names: tuple[str, str, str] | None
    title: str


FORMATS = {
    DOCCANO: SpanFormat("label", None, "doccano"),
    DOCCANO_LABELS: SpanFormat("labels", None, "doccano before 1.6"),
    DOCCANO_RELATIONS: SpanFormat("entities", ("start_offset", "end_offset", "label"), "doccano with relations"),
    PRODIGY: SpanFormat("spans", ("start", "end", "label"), "Prodigy"),
    SPACY: SpanFormat("entities", None, "spaCy"),
}


def find_format(records: Sequence[Any]) -> str | None:
    """The key of FORMATS of the first record with a span, else of the first with an empty list;
    None for texts alone.
    """
    empty = None
    for record in records:
        for name, known in FORMATS.items():
            spans = record.get(known.key) if isinstance(record, dict) else None
            if not isinstance(spans, list):
                continue
            if spans and isinstance(spans[0], list if known.names is None else dict):
                return name
            # Triples and objects have the same key: what doccano adds decides.
            if not spans and empty is None and (name != DOCCANO_RELATIONS or "relations" in record):
                empty = name
    return empty


def read_records(path: str, lines: Sequence[str]) -> list[tuple[int, Any]]:
    """The 1-based line and the value of each line that is not blank."""
    return [(number, parse_json(line, path, number)) for number, line in enumerate(lines, 1) if line.strip()]


def text_of(record: Any) -> str | None:
    """The text of a record; None where it has none."""
    texts = (record.get(key) for key in TEXT_KEYS) if isinstance(record, dict) else ()
    return next((text for text in texts if isinstance(text, str)), None)


def annotated_texts(path: str, records: Sequence[tuple[int, Any]], name: str) -> list[AnnotatedText]:
    """The records of a file in a format of FORMATS. InputError for a record of another form."""
    return [_annotated_text(f"{path}:{line}", line, record, name) for line, record in records]


def _annotated_text(place: str, line: int, record: Any, name: str) -> AnnotatedText:
    text = text_of(record)
    if text is None:
        raise InputError(f'{place}: expected {{"text": a text, …}}, found {quoted(str(record))}')
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
    if names is not None and isinstance(span, dict) and all(each in span for each in names):
        start, end, entity_type = (span[each] for each in names)
        return checked_span(entity_type, start, end, place, span.get("text"))
    form = "[start, end, type]" if names is None else "{" + ", ".join(f'"{each}"' for each in names) + "}"
    raise InputError(f'{place}: expected "{key}": a list of {form}, found {quoted(str(span))}; correct it')
