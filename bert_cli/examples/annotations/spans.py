"""Converter from texts with spans to words with BIO tags.

    text    in New York.        spans  [3, 11, "LOC"]
    words   in New York .       tags   O B-LOC I-LOC O

BERT's tokenizer rules separate the words, so punctuation does not belong to a word. A span's
leading and trailing white space is ignored. If a span begins or ends inside a word, it is extended
to the whole word, with a warning.
"""

import bisect
import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names, list_some, quote
from bert_cli.base.log import EXAMPLES, LOG
from bert_cli.examples.tag_schemes import Entity, make_tags
from bert_cli.examples.tagging import TaggingExample
from bert_cli.examples.text_lines import split_text
from bert_cli.text.tokenization import FullTokenizer

# White space, line ends for str.splitlines, and the two characters `\n` in Label Studio's exports.
_SPACE = re.compile(r"\\n|[\s\x1c-\x1f\x85]")


class Span(NamedTuple):
    """An entity in a text: its type, and the characters `start` to `end` - 1.

    Attributes:
        type: entity type.
        start, end: offsets in the text.
        location: file and line, for messages.
        text: the span's text as stored by the annotation tool, or None.
        has_label_id: whether the type is a label number, not a name.
    """

    type: str
    start: int
    end: int
    location: str
    text: str | None = None
    has_label_id: bool = False


class AnnotatedText(NamedTuple):
    """A text with its spans.

    Attributes:
        text: the text.
        spans: its spans, or None if it is not annotated.
        line: the record's 1-based line.
        location: file and line, for messages.
        name: see TaggingExample.
        path: see TaggingExample.
        unlabeled: descriptions of annotations without a label, which `spans` does not contain.
    """

    text: str
    spans: list[Span] | None
    line: int
    location: str
    name: str = ""
    path: str = ""
    unlabeled: tuple[str, ...] = ()


class Warnings:
    """Logger for a file's warnings: it logs the first warnings and the number of further ones."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, message: str) -> None:
        self.count += 1
        if self.count <= EXAMPLES:
            LOG.warning(message)

    def log_rest(self) -> None:
        if self.count > EXAMPLES:
            LOG.warning("… and %d more such warnings about spans", self.count - EXAMPLES)


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


def describe_unlabeled(location: str, start: object, end: object, text: str) -> str:
    """Return a description for AnnotatedText.unlabeled.

    Args:
        location: file and line.
        start, end: offsets as in the file.
        text: the annotated text.
    """
    if type(start) is not int or type(end) is not int:
        return location
    return f"{location} {start} to {end} {quote(text[max(start, 0) : max(end, 0)])}"


def warn_about_unlabeled(path: str, texts: Sequence[AnnotatedText]) -> None:
    """Log the number of a file's annotations without label, and describe the first ones."""
    unlabeled = [description for text in texts for description in text.unlabeled]
    if unlabeled:
        count = f"{len(unlabeled)} annotation{'s' if len(unlabeled) > 1 else ''} without a label"
        LOG.warning("%s: left out %s: %s", path, count, list_some(unlabeled, EXAMPLES))


def log_label_ids(path: str, texts: Sequence[AnnotatedText]) -> None:
    """Log types that are label numbers, with advice how to export label names."""
    ids = {int(span.type) for text in texts for span in text.spans or () if span.has_label_id}
    if ids:
        names = list_names([str(label_id) for label_id in sorted(ids)])
        advice = "an export with label names, such as doccano's JSONL (text label), has the names"
        LOG.info("%s: the spans have label ids, which are taken as types (%s); %s", path, names, advice)


def make_tagging_examples(
    texts: Sequence[AnnotatedText],
    with_tags: bool = True,
    tokenizer: FullTokenizer | None = None,
) -> tuple[tuple[TaggingExample, ...], bool]:
    """Convert texts to tagged examples, and return whether offsets are UTF-16 code units.

    Args:
        texts: texts with spans.
        with_tags: whether examples have tags. If not, spans only decide about UTF-16.
        tokenizer: see split_text.

    Raises:
        InputError: a span is outside of its text, overlaps another one, or its stored text differs.
    """
    splits = [split_text(annotated.text, tokenizer) for annotated in texts]
    is_utf16 = _detect_utf16(texts, splits)
    warnings = Warnings()
    examples = []
    for annotated, (words, starts) in zip(texts, splits, strict=True):
        text = annotated.text
        if re.search("[\ud800-\udfff]", text):
            raise InputError(f"{annotated.location}: the text holds half of a surrogate pair; correct it")
        tags = None
        if with_tags and annotated.spans is not None:
            spans = _from_utf16(annotated.spans, text) if is_utf16 else annotated.spans
            tags = make_tags(len(words), _find_entities(text, words, starts, spans, warnings))
        lines = _find_lines(text, starts) if annotated.path else ()
        examples.append(
            TaggingExample(words, tags, annotated.line, text, starts, annotated.name, annotated.path, lines)
        )
    warnings.log_rest()
    return tuple(examples), is_utf16


def _find_lines(text: str, starts: Sequence[int]) -> tuple[int, ...]:
    """Return the 1-based line for each word's start."""
    ends = [index for index, character in enumerate(text) if character == "\n"]
    return tuple(bisect.bisect_left(ends, start) + 1 for start in starts)


def _find_entities(
    text: str,
    words: Sequence[str],
    starts: Sequence[int],
    spans: Sequence[Span],
    warnings: Warnings,
) -> list[Entity]:
    """Convert spans to sorted entities, with word numbers instead of character offsets."""
    ends = _word_ends(words, starts)
    entities: list[Entity] = []
    last: Span | None = None
    # Drop duplicates: a repeated span is not an overlap.
    for span in sorted({span[:3]: span for span in spans}.values(), key=lambda span: span.start):
        _check_offsets(span, text)
        first, after = _find_words(span, starts, ends)
        description = _describe(span, text)
        if first >= after:
            warnings.add(f"{description} holds no word; it is left out")
            continue
        trimmed = span._replace(start=max(span.start, starts[first]), end=min(span.end, ends[after - 1]))
        if last and trimmed.start < last.end:
            previous = f"{last.start} to {last.end} ({last.type})"
            raise InputError(f"{description} overlaps {previous}; a word has one tag, take one of the two out")
        last = trimmed
        edges = ((first, trimmed.start > starts[first]), (after - 1, trimmed.end < ends[after - 1]))
        cut = [words[number] for number, is_cut in edges if is_cut]
        is_taken = bool(entities) and first < entities[-1].end
        if cut:
            result = "is left out, the word is in another span" if is_taken else "is widened to whole words"
            warnings.add(f"{description} cuts the word {quote(cut[0])}; it {result}")
        if not is_taken:
            entities.append(Entity(span.type, first, after))
    return entities


def _word_ends(words: Sequence[str], starts: Sequence[int]) -> list[int]:
    return [start + len(word) for start, word in zip(starts, words, strict=True)]


def _find_words(span: Span, starts: Sequence[int], ends: Sequence[int]) -> tuple[int, int]:
    """Return a span's words: the first number, and the last number plus 1."""
    return bisect.bisect_right(ends, span.start), bisect.bisect_left(starts, span.end)


def _describe(span: Span, text: str) -> str:
    return f"{span.location}: the span {span.start} to {span.end} ({span.type}, {quote(text[span.start : span.end])})"


def _check_offsets(span: Span, text: str) -> None:
    if not 0 <= span.start < span.end <= len(text):
        raise InputError(
            f"{span.location}: the span {span.start} to {span.end} ({span.type}) is not within the "
            f"text of {len(text)} characters; correct it"
        )
    if not _has_stored_text(span, text):
        raise InputError(
            f"{_describe(span, text)} has the text {quote(span.text or '')} in the annotation; was "
            "the text changed after it was annotated?"
        )


def _has_stored_text(span: Span, text: str) -> bool:
    # Ignore white space: tools may omit it, or write line ends and tabs as spaces or `\n`.
    return span.text is None or _SPACE.sub("", text[span.start : span.end]) == _SPACE.sub("", span.text)


def _detect_utf16(
    texts: Sequence[AnnotatedText],
    splits: Sequence[tuple[tuple[str, ...], tuple[int, ...]]],
) -> bool:
    """Return whether spans match words better if offsets count UTF-16 code units, two per emoji."""
    # doccano writes such offsets (doccano issue 2290), and Label Studio did before 1.4.
    num_fitting = [0, 0]
    for annotated, (words, starts) in zip(texts, splits, strict=True):
        if not annotated.spans or annotated.text.isascii() or max(annotated.text) < "\U00010000":
            continue
        ends = _word_ends(words, starts)
        for unit, spans in enumerate((annotated.spans, _from_utf16(annotated.spans, annotated.text))):
            for span in spans:
                first, after = _find_words(span, starts, ends)
                is_whole = first < after and span.start <= starts[first] and ends[after - 1] <= span.end
                num_fitting[unit] += is_whole and _has_stored_text(span, annotated.text)
    return num_fitting[1] > num_fitting[0]


def _from_utf16(spans: Sequence[Span], text: str) -> list[Span]:
    """Convert offsets from UTF-16 code units to characters."""
    utf16_offsets = [*itertools.accumulate((1 + (character > "\uffff") for character in text), initial=0)]

    def convert(offset: int) -> int:
        # Keep an invalid offset outside of the text.
        return bisect.bisect_left(utf16_offsets, offset) if 0 <= offset <= utf16_offsets[-1] else offset

    return [span._replace(start=convert(span.start), end=convert(span.end)) for span in spans]


def have_fitting_spans(texts: Sequence[AnnotatedText]) -> bool:
    """Return whether all spans are in their texts and match their stored texts.

    Offsets may count characters or UTF-16 code units, the same in all texts.
    """
    return any(
        all(
            0 <= span.start < span.end <= len(text.text) and _has_stored_text(span, text.text)
            for text in texts
            for span in convert(text.spans or [], text.text)
        )
        for convert in (lambda spans, _: spans, _from_utf16)
    )


def utf16_length(text: str) -> int:
    """Return a text's length in UTF-16 code units."""
    return len(text) + sum(character > "\uffff" for character in text)
