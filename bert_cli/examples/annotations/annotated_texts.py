"""Records for texts with spans, which readers of all formats make."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names, list_some, quote
from bert_cli.base.log import EXAMPLES, LOG
from bert_cli.text.offset_units import OffsetUnit


class Span(NamedTuple):
    """An entity in a text: its type, and the characters `start` to `end` - 1.

    Attributes:
        type: entity type.
        start, end: offsets in the text.
        location: file and line, for messages.
        text: the span's text as stored by the annotation tool, or None.
        has_label_id: whether the type is a label number, not a name.
        parts: offsets of each part if the span has gaps, else ().
    """

    type: str
    start: int
    end: int
    location: str
    text: str | None = None
    has_label_id: bool = False
    parts: tuple[tuple[int, int], ...] = ()


class UnlabeledSpan(NamedTuple):
    """An annotation without a type.

    Attributes:
        location: file and line, for messages.
        start, end: values in the file, which may be of any type.
    """

    location: str
    start: object
    end: object


class AnnotatedText(NamedTuple):
    """A text with its spans.

    Attributes:
        text: the text.
        spans: its spans, or None if it is not annotated.
        line: the record's 1-based line.
        location: file and line, for messages.
        name: see TaggingExample.
        path: see TaggingExample.
        unlabeled: annotations without a label, which `spans` does not contain.
    """

    text: str
    spans: list[Span] | None
    line: int
    location: str
    name: str = ""
    path: str = ""
    unlabeled: tuple[UnlabeledSpan, ...] = ()


def make_span(
    entity_type: object,
    start: object,
    end: object,
    location: str,
    text: object = None,
) -> Span:
    """Return a span with values from a file.

    Args:
        entity_type: type name; a label number becomes a name.
        start, end: offsets.
        location: file and line, for messages.
        text: text stored with the span, or None.

    Raises:
        InputError: the type is not a text on one line, or an offset is not an integer.
    """
    has_label_id = type(entity_type) is int
    entity_type = str(entity_type) if has_label_id else entity_type
    if not isinstance(entity_type, str) or not entity_type.strip() or re.search("[\n\r\ud800-\udfff]", entity_type):
        raise InputError(f"{location}: the type of a span is a text on one line, found {entity_type!r:.80}; correct it")
    if type(start) is not int or type(end) is not int:
        raise InputError(
            f"{location}: the offsets of a span are whole numbers, found {start!r:.40} and {end!r:.40}; correct it"
        )
    return Span(entity_type, start, end, location, text if isinstance(text, str) else None, has_label_id)


def warn_about_unlabeled(path: str, texts: Sequence[AnnotatedText], unit: OffsetUnit) -> None:
    """Log the number of a file's annotations without label, and describe the first ones.

    Args:
        path: the file.
    """
    descriptions = [_describe_unlabeled(span, text.text, unit) for text in texts for span in text.unlabeled]
    if descriptions:
        count = f"{len(descriptions)} annotation{'s' if len(descriptions) > 1 else ''} without a label"
        LOG.warning("%s: left out %s: %s", path, count, list_some(descriptions, EXAMPLES))


def _describe_unlabeled(span: UnlabeledSpan, text: str, unit: OffsetUnit) -> str:
    location, start, end = span
    if type(start) is not int or type(end) is not int:
        return location
    first, after = unit.to_code_points(text, [(start, end)])[0]
    return f"{location} {start} to {end} {quote(text[max(first, 0) : max(after, 0)])}"


def log_label_ids(path: str, texts: Sequence[AnnotatedText]) -> None:
    """Log types that are label numbers, with advice how to export label names."""
    ids = {int(span.type) for text in texts for span in text.spans or () if span.has_label_id}
    if ids:
        names = list_names([str(label_id) for label_id in sorted(ids)])
        advice = "an export with label names, such as doccano's JSONL (text label), has the names"
        LOG.info("%s: the spans have label ids, which are taken as types (%s); %s", path, names, advice)
