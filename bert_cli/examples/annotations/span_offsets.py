"""Choice of a file's offset unit, and conversion of spans to code points."""

import bisect
import itertools
import re
from collections.abc import Mapping, Sequence

from bert_cli.examples.annotations.annotated_texts import AnnotatedText, Span
from bert_cli.text.offset_units import CODE_POINTS, JAVASCRIPT, UNITS, OffsetUnit, choose_unit

# A text's words, and their starts.
Split = tuple[tuple[str, ...], tuple[int, ...]]
# White space, line ends for str.splitlines, and the two characters `\n` in Label Studio's exports.
_SPACE = re.compile(r"\\n|[\s\x1c-\x1f\x85]")


def find_unit(texts: Sequence[AnnotatedText], splits: Sequence[Split]) -> OffsetUnit:
    """Return the unit that fits most spans to their texts.

    Args:
        texts: texts with spans.
        splits: words of each text.
    """
    return choose_unit([*zip(texts, splits, strict=True)], _list_fits)


def is_inside(span: Span, text: str) -> bool:
    return 0 <= span.start < span.end <= len(text)


def word_ends(words: Sequence[str], starts: Sequence[int]) -> list[int]:
    return [start + len(word) for start, word in zip(starts, words, strict=True)]


def find_words(span: Span, starts: Sequence[int], ends: Sequence[int]) -> tuple[int, int]:
    """Return a span's words: the first number, and the last number plus 1.

    Args:
        span: the span, with offsets in code points.
        starts, ends: offsets of all words.
    """
    return bisect.bisect_right(ends, span.start), bisect.bisect_left(starts, span.end)


def has_stored_text(span: Span, text: str) -> bool:
    covered = "".join(text[start:end] for start, end in span.parts or ((span.start, span.end),))
    # Ignore white space: tools may omit it, or write line ends and tabs as spaces or `\n`.
    return span.text is None or _SPACE.sub("", covered) == _SPACE.sub("", span.text)


def _list_fits(item: tuple[AnnotatedText, Split], unit: OffsetUnit) -> list[bool]:
    """Return for each span in a text whether it has its stored text, or else holds whole words.

    Args:
        item: the text, and its words with their starts.
    """
    annotated, (words, starts) = item
    ends = word_ends(words, starts)

    def fits(span: Span) -> bool:
        if span.text is not None:
            return is_inside(span, annotated.text) and has_stored_text(span, annotated.text)
        first, after = find_words(span, starts, ends)
        return first < after and span.start <= starts[first] and ends[after - 1] <= span.end <= len(annotated.text)

    return [fits(span) for span in to_code_points(annotated.spans or (), annotated.text, unit)]


def to_code_points(spans: Sequence[Span], text: str, unit: OffsetUnit) -> list[Span]:
    """Return the spans with offsets in code points.

    Args:
        spans: spans with offsets in `unit`.
        text: their text.
    """
    if unit == CODE_POINTS:
        return list(spans)
    ranges = iter(unit.to_code_points(text, [pair for span in spans for pair in ((span.start, span.end), *span.parts)]))
    converted = []
    for span in spans:
        start, end = next(ranges)
        parts = tuple(itertools.islice(ranges, len(span.parts)))
        converted.append(span._replace(start=start, end=end, parts=parts))
    return converted


def find_fitting_texts(candidates: Mapping[str, Sequence[AnnotatedText]]) -> list[str]:
    """Return the names of texts that contain all their spans, with the stored texts.

    Offsets have the same unit in all texts with a name. Units with other line ends are only tried
    if no text fits with its own line ends.

    Args:
        candidates: texts by name.
    """
    for units in ((CODE_POINTS, JAVASCRIPT), UNITS):
        if names := [name for name, texts in candidates.items() if any(_contain_spans(texts, unit) for unit in units)]:
            return names
    return []


def _contain_spans(texts: Sequence[AnnotatedText], unit: OffsetUnit) -> bool:
    return all(
        is_inside(span, text.text) and has_stored_text(span, text.text)
        for text in texts
        for span in to_code_points(text.spans or [], text.text, unit)
    )
