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

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.log import EXAMPLES, LOG
from bert_cli.examples.annotations.annotated_texts import AnnotatedText, Span
from bert_cli.examples.annotations.span_offsets import (
    find_unit,
    find_words,
    has_stored_text,
    is_inside,
    to_code_points,
    word_ends,
)
from bert_cli.examples.tag_schemes import Entity, make_tags
from bert_cli.examples.tagging import TaggingExample
from bert_cli.examples.text_lines import split_text
from bert_cli.text.offset_units import OffsetUnit
from bert_cli.text.tokenization import FullTokenizer


class WarningLimiter:
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


def make_tagging_examples(
    texts: Sequence[AnnotatedText],
    with_tags: bool = True,
    tokenizer: FullTokenizer | None = None,
) -> tuple[tuple[TaggingExample, ...], OffsetUnit]:
    """Convert texts to tagged examples, and return their offset unit.

    Args:
        texts: texts with spans.
        with_tags: whether examples have tags. If not, spans only decide about the unit.
        tokenizer: see split_text.

    Raises:
        InputError: a span is outside of its text, overlaps another one, or its stored text differs.
    """
    splits = [split_text(annotated.text, tokenizer) for annotated in texts]
    unit = find_unit(texts, splits)
    warnings = WarningLimiter()
    examples = []
    for annotated, (words, starts) in zip(texts, splits, strict=True):
        text = annotated.text
        if re.search("[\ud800-\udfff]", text):
            raise InputError(f"{annotated.location}: the text holds half of a surrogate pair; correct it")
        tags = None
        if with_tags and annotated.spans is not None:
            spans = to_code_points(annotated.spans, text, unit)
            tags = make_tags(len(words), _find_entities(text, words, starts, spans, warnings))
        lines = _find_lines(text, starts) if annotated.path else ()
        examples.append(
            TaggingExample(words, tags, annotated.line, text, starts, annotated.name, annotated.path, lines)
        )
    warnings.log_rest()
    return tuple(examples), unit


def _find_lines(text: str, starts: Sequence[int]) -> tuple[int, ...]:
    """Return the 1-based line for each word's start."""
    ends = [index for index, character in enumerate(text) if character == "\n"]
    return tuple(bisect.bisect_left(ends, start) + 1 for start in starts)


def _find_entities(
    text: str,
    words: Sequence[str],
    starts: Sequence[int],
    spans: Sequence[Span],
    warnings: WarningLimiter,
) -> list[Entity]:
    """Convert spans to sorted entities, with word numbers instead of character offsets."""
    ends = word_ends(words, starts)
    entities: list[Entity] = []
    last: Span | None = None
    # Drop duplicates: a repeated span is not an overlap.
    for span in sorted({span[:3]: span for span in spans}.values(), key=lambda span: span.start):
        _check_offsets(span, text)
        if _has_gaps(span, text):
            warnings.add(f"{_describe(span, text)} has parts with other words in between; it is left out")
            continue
        _check_stored_text(span, text)
        first, after = find_words(span, starts, ends)
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


def _describe(span: Span, text: str) -> str:
    return f"{span.location}: the span {span.start} to {span.end} ({span.type}, {quote(text[span.start : span.end])})"


def _check_offsets(span: Span, text: str) -> None:
    if not is_inside(span, text):
        raise InputError(
            f"{span.location}: the span {span.start} to {span.end} ({span.type}) is not within the "
            f"text of {len(text)} characters; correct it"
        )


def _has_gaps(span: Span, text: str) -> bool:
    """Return whether a span has parts with other words in between."""
    return any(text[end:start].strip() for (_, end), (start, _) in itertools.pairwise(span.parts))


def _check_stored_text(span: Span, text: str) -> None:
    if not has_stored_text(span, text):
        raise InputError(
            f"{_describe(span, text)} has the text {quote(span.text or '')} in the annotation; was "
            "the text changed after it was annotated?"
        )
