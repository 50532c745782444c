"""Texts with spans -> words with tags in BIO.

    text    in New York.        spans  [3, 11, "LOC"]
    words   in New York .       tags   O B-LOC I-LOC O

Words are split as BERT's tokenizer splits, so that punctuation is a word of its own: "New York" ends
where a word ends. White space at the ends of a span is left out. A span that ends inside a word is
widened to the whole word, with a warning.
"""

import bisect
import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.log import EXAMPLES, LOG
from bert_cli.base.messages import list_names, list_some, quote
from bert_cli.examples.tag_schemes import Entity, make_tags
from bert_cli.examples.tagging import TaggingExample
from bert_cli.examples.text_lines import split_text

# What str.splitlines takes for the end of a line, and how Label Studio may write one.
_SPACE = re.compile(r"\\n|[\s\x1c-\x1f\x85]")


class Span(NamedTuple):
    """Characters `start` up to, not including, `end` of a text that are an entity of a type.

    Attributes:
        place: file and line of the annotation, for messages.
        text: text that the tool has stored with the span, or None.
        has_label_id: whether the type is the number of a label, not its name.
    """

    type: str
    start: int
    end: int
    place: str
    text: str | None = None
    has_label_id: bool = False


class AnnotatedText(NamedTuple):
    """A text with its spans, which are None if nobody has annotated it.

    Attributes:
        line: 1-based line of the record.
        place: file and line of the record, for messages.
        name: see TaggingExample.
        path: see TaggingExample.
        unlabeled: descriptions of annotations without a label, which are not among the spans.
    """

    text: str
    spans: list[Span] | None
    line: int
    place: str
    name: str = ""
    path: str = ""
    unlabeled: tuple[str, ...] = ()


class Warnings:
    """Warnings of a file: the first few are logged as they come, and the number of the others at
    the end.
    """

    def __init__(self) -> None:
        self.count = 0

    def add(self, message: str) -> None:
        self.count += 1
        if self.count <= EXAMPLES:
            LOG.warning(message)

    def log_rest(self) -> None:
        if self.count > EXAMPLES:
            LOG.warning("… and %d more such warnings about spans", self.count - EXAMPLES)


def checked_span(entity_type: object, start: object, end: object, place: str, text: object = None) -> Span:
    """Return a span as a file has it. InputError unless type and offsets are usable.

    The number of a label becomes the name of a type.
    """
    has_label_id = type(entity_type) is int
    entity_type = str(entity_type) if has_label_id else entity_type
    if not isinstance(entity_type, str) or not entity_type.strip() or re.search("[\n\r\ud800-\udfff]", entity_type):
        raise InputError(f"{place}: the type of a span is a text on one line, found {entity_type!r:.80}; correct it")
    if type(start) is not int or type(end) is not int:
        raise InputError(
            f"{place}: the offsets of a span are whole numbers, found {start!r:.40} and {end!r:.40}; correct it"
        )
    return Span(entity_type, start, end, place, text if isinstance(text, str) else None, has_label_id)


def describe_unlabeled(place: str, start: object, end: object, text: str) -> str:
    """Return a description of an annotation without a label, for AnnotatedText.unlabeled."""
    if type(start) is not int or type(end) is not int:
        return place
    return f"{place} {start} to {end} {quote(text[max(start, 0) : max(end, 0)])}"


def warn_of_unlabeled(path: str, texts: Sequence[AnnotatedText]) -> None:
    """Log how many annotations of a file have no label, and the first of them."""
    unlabeled = [description for text in texts for description in text.unlabeled]
    if unlabeled:
        count = f"{len(unlabeled)} annotation{'s' if len(unlabeled) > 1 else ''} without a label"
        LOG.warning("%s: left out %s: %s", path, count, list_some(unlabeled, EXAMPLES))


def log_label_ids(path: str, texts: Sequence[AnnotatedText]) -> None:
    """Log the types that are numbers of labels, as their names are in another export."""
    ids = {int(span.type) for text in texts for span in text.spans or () if span.has_label_id}
    if ids:
        names = list_names([str(label_id) for label_id in sorted(ids)])
        advice = "an export with label names, such as doccano's JSONL (text label), has the names"
        LOG.info("%s: the spans have label ids, which are taken as types (%s); %s", path, names, advice)


def tagging_examples(texts: Sequence[AnnotatedText], with_tags: bool = True) -> tuple[tuple[TaggingExample, ...], bool]:
    """The texts with a tag for each word, and whether their offsets are UTF-16 code units.

    with_tags False: the spans say no more than that. InputError, with the place of the span, for
    offsets outside of the text, for a span with another text than the tool has stored, and for
    spans that overlap.
    """
    split = [split_text(each.text) for each in texts]
    is_utf16 = _is_utf16(texts, split)
    warnings = Warnings()
    examples = []
    for each, (words, starts) in zip(texts, split, strict=True):
        text = each.text
        if re.search("[\ud800-\udfff]", text):
            raise InputError(f"{each.place}: the text holds half of a surrogate pair; correct it")
        tags = None
        if with_tags and each.spans is not None:
            spans = _in_characters(each.spans, text) if is_utf16 else each.spans
            tags = make_tags(len(words), _word_spans(text, words, starts, spans, warnings))
        lines = _lines(text, starts) if each.path else ()
        examples.append(TaggingExample(words, tags, each.line, text, starts, each.name, each.path, lines))
    warnings.log_rest()
    return tuple(examples), is_utf16


def _lines(text: str, starts: Sequence[int]) -> tuple[int, ...]:
    ends = [place for place, character in enumerate(text) if character == "\n"]
    return tuple(bisect.bisect_left(ends, start) + 1 for start in starts)


def _word_spans(
    text: str, words: Sequence[str], starts: Sequence[int], spans: Sequence[Span], warnings: Warnings
) -> list[Entity]:
    """The spans as entities of words, in order."""
    ends = _ends(words, starts)
    found: list[Entity] = []
    last: Span | None = None
    # A set: the same span twice is no contradiction.
    for span in sorted({each[:3]: each for each in spans}.values(), key=lambda each: each.start):
        _check_offsets(span, text)
        first, after = _words_of(span, starts, ends)
        shown = _shown(span, text)
        if first >= after:
            warnings.add(f"{shown} holds no word; it is left out")
            continue
        trimmed = span._replace(start=max(span.start, starts[first]), end=min(span.end, ends[after - 1]))
        if last and trimmed.start < last.end:
            other = f"{last.start} to {last.end} ({last.type})"
            raise InputError(f"{shown} overlaps {other}; a word has one tag, take one of the two out")
        last = trimmed
        cut = [words[first]] * (trimmed.start > starts[first]) + [words[after - 1]] * (trimmed.end < ends[after - 1])
        is_taken = bool(found) and first < found[-1].end
        if cut:
            what = "is left out, the word is in another span" if is_taken else "is widened to whole words"
            warnings.add(f"{shown} cuts the word {quote(cut[0])}; it {what}")
        if not is_taken:
            found.append(Entity(span.type, first, after))
    return found


def _ends(words: Sequence[str], starts: Sequence[int]) -> list[int]:
    return [start + len(word) for start, word in zip(starts, words, strict=True)]


def _words_of(span: Span, starts: Sequence[int], ends: Sequence[int]) -> tuple[int, int]:
    """The first word that a span touches, and the word after the last."""
    return bisect.bisect_right(ends, span.start), bisect.bisect_left(starts, span.end)


def _shown(span: Span, text: str) -> str:
    return f"{span.place}: the span {span.start} to {span.end} ({span.type}, {quote(text[span.start : span.end])})"


def _check_offsets(span: Span, text: str) -> None:
    if not 0 <= span.start < span.end <= len(text):
        raise InputError(
            f"{span.place}: the span {span.start} to {span.end} ({span.type}) is not within the "
            f"text of {len(text)} characters; correct it"
        )
    if not _has_its_text(span, text):
        raise InputError(
            f"{_shown(span, text)} has the text {quote(span.text or '')} in the annotation; was "
            "the text changed after it was annotated?"
        )


def _has_its_text(span: Span, text: str) -> bool:
    # Tools write line ends and tabs within a span as blanks or `\n`, or leave white space out.
    return span.text is None or _SPACE.sub("", text[span.start : span.end]) == _SPACE.sub("", span.text)


def _is_utf16(texts: Sequence[AnnotatedText], split: Sequence[tuple[tuple[str, ...], tuple[int, ...]]]) -> bool:
    """Whether spans fit the texts better where offsets count UTF-16 code units, in which an emoji
    is two.
    """
    # doccano writes such offsets (doccano issue 2290), and so did Label Studio before 1.4.
    fitting = [0, 0]
    for each, (words, starts) in zip(texts, split, strict=True):
        if not each.spans or each.text.isascii() or max(each.text) < "\U00010000":
            continue
        ends = _ends(words, starts)
        for unit, spans in enumerate((each.spans, _in_characters(each.spans, each.text))):
            for span in spans:
                first, after = _words_of(span, starts, ends)
                is_whole = first < after and span.start <= starts[first] and ends[after - 1] <= span.end
                fitting[unit] += is_whole and _has_its_text(span, each.text)
    return fitting[1] > fitting[0]


def _in_characters(spans: Sequence[Span], text: str) -> list[Span]:
    """Spans with offsets in UTF-16 code units as spans with offsets in characters."""
    places = [*itertools.accumulate((1 + (character > "\uffff") for character in text), initial=0)]

    def converted(offset: int) -> int:
        # What is outside of the text stays there.
        return bisect.bisect_left(places, offset) if 0 <= offset <= places[-1] else offset

    return [span._replace(start=converted(span.start), end=converted(span.end)) for span in spans]


def have_fitting_spans(texts: Sequence[AnnotatedText]) -> bool:
    """Return whether all spans are within their texts, as stored, in one unit of offsets."""
    return any(
        all(
            0 <= span.start < span.end <= len(text.text) and _has_its_text(span, text.text)
            for text in texts
            for span in converted(text.spans or [], text.text)
        )
        for converted in (lambda spans, _: spans, _in_characters)
    )


def utf16_length(text: str) -> int:
    """UTF-16 code units of a text."""
    return len(text) + sum(character > "\uffff" for character in text)
