r"""Units for character offsets in data files.

Most tools count code points. JavaScript counts an emoji as two. Browsers and editors may count the
line end `\r\n` as one character, or an annotated file may have lost its `\r` later. No format names
its unit, so readers choose the unit that fits the annotated words.
"""

import bisect
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")
# Start and end (exclusive) of a span.
Range = tuple[int, int]


class _Widths(NamedTuple):
    """Characters that do not take exactly one offset.

    Attributes:
        description: description for the log.
        patterns: pattern of such a character -> offsets that it takes.
    """

    description: str
    patterns: Mapping[str, int]


_CODE_POINTS = _UNCHANGED = _Widths("", {})
# doccano writes such offsets (doccano issue 2290), and Label Studio did before 1.4.
_UTF_16 = _Widths("in UTF-16 code units as JavaScript counts them", {"[\U00010000-\U0010ffff]": 2})
_UTF_8 = _Widths("in UTF-8 bytes", {"[\x80-\u07ff]": 2, "[\u0800-\uffff]": 3, "[\U00010000-\U0010ffff]": 4})
_LINE_ENDS = (
    _UNCHANGED,
    _Widths("with each line end CR LF as one character", {r"\r(?=\n)": 0}),
    _Widths("without carriage returns", {r"\r": 0}),
    _Widths("with each line feed as CR LF", {r"(?<!\r)\n": 2}),
    _Widths("with each line end as CR LF", {r"(?<!\r)\n|\r(?!\n)": 2}),
)


class OffsetUnit(NamedTuple):
    """A rule that decides how many offsets a character takes.

    Attributes:
        characters: rule for all characters but line ends.
        line_ends: rule for line ends.
    """

    characters: _Widths = _CODE_POINTS
    line_ends: _Widths = _UNCHANGED

    def __str__(self) -> str:
        """Return a description for the log, "" for code points."""
        return ", ".join(filter(None, (self.characters.description, self.line_ends.description)))

    def measure(self, text: str) -> list[int]:
        """Return each character's offset, and the offset after the last one."""
        widths = [1] * len(text)
        for pattern, width in (*self.characters.patterns.items(), *self.line_ends.patterns.items()):
            for match in re.finditer(pattern, text):
                widths[match.start()] = width
        return [*itertools.accumulate(widths, initial=0)]

    def to_code_points(self, text: str, spans: Sequence[Range]) -> list[Range]:
        """Convert spans in a text to code points; invalid offsets stay outside of the text."""
        if self == CODE_POINTS:
            return list(spans)
        offsets = self.measure(text)

        def convert(offset: int, is_start: bool) -> int:
            if not 0 <= offset <= offsets[-1]:
                # Without carriage returns, an offset after
                # the end may be less than the text's length.
                return max(offset, len(text) + 1) if offset > 0 else offset
            index = bisect.bisect_left(offsets, offset)
            # A span begins after characters that have no width, and ends before them.
            return bisect.bisect_right(offsets, offsets[index]) - 1 if is_start else index

        return [(convert(start, is_start=True), convert(end, is_start=False)) for start, end in spans]


CODE_POINTS = OffsetUnit()
JAVASCRIPT = OffsetUnit(_UTF_16)
# Of units that fit equally well, the first one is used.
UNITS = tuple(
    OffsetUnit(characters, line_ends) for line_ends in _LINE_ENDS for characters in (_CODE_POINTS, _UTF_16, _UTF_8)
)
# A unit that corrects a smaller share of the misfits fits them by chance.
_MIN_CORRECTED_SHARE = 0.25


def choose_unit(items: Sequence[Item], list_fits: Callable[[Item, OffsetUnit], Sequence[bool]]) -> OffsetUnit:
    """Return the unit that fits most annotations, or code points if no other unit fits more.

    Args:
        items: texts with annotations.
        list_fits: function that returns for each annotation of a text whether it fits in a unit.
    """
    doubtful: list[tuple[Item, Sequence[bool]]] = []
    fitting_items: list[tuple[Item, Sequence[bool]]] = []
    for item in items:
        fits = list_fits(item, CODE_POINTS)
        (fitting_items if all(fits) else doubtful).append((item, fits))
    num_misfits = sum(not fit for _, fits in doubtful for fit in fits)
    best, best_gain = CODE_POINTS, 0
    for unit in UNITS[1:] if num_misfits else ():
        num_corrected, num_broken = _compare(doubtful, unit, list_fits)
        # Texts with misfits refute most units, so the other texts are rarely measured.
        if num_corrected < _MIN_CORRECTED_SHARE * num_misfits or num_corrected - num_broken <= best_gain:
            continue
        num_broken += _compare(fitting_items, unit, list_fits)[1]
        if num_corrected - num_broken > best_gain:
            best, best_gain = unit, num_corrected - num_broken
    return best


def _compare(
    texts: Sequence[tuple[Item, Sequence[bool]]],
    unit: OffsetUnit,
    list_fits: Callable[[Item, OffsetUnit], Sequence[bool]],
) -> tuple[int, int]:
    """Return how many annotations fit only in a unit, and how many fit only in code points.

    Args:
        texts: texts, and which of their annotations fit in code points.
        unit: the unit to compare with code points.
        list_fits: see choose_unit.
    """
    pairs = [pair for item, fits in texts for pair in zip(fits, list_fits(item, unit), strict=True)]
    return pairs.count((False, True)), pairs.count((True, False))
