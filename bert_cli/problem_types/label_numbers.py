"""Numbers in label cells, with a decimal point or a decimal comma."""

import math
import re
from collections.abc import Sequence

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more, parse_number, quote
from bert_cli.base.log import LOG
from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.missing_labels import skip_advice

_DECIMAL_COMMA = re.compile(r"[-+]?(\d*),(\d+)([eE][-+]?\d+)?")
# Numbers with thousands separators are never guessed: 1.234,5 or 1,234.5 or 1 234,5.
_GROUPED = re.compile(r"[-+]?\d{1,3}(?:(?:[.' \u00a0\u202f]\d{3})+,\d+|(?:,\d{3})+\.\d+)")
_GROUP_DIGITS = 3


def has_comma(text: str) -> bool:
    """Return whether a text is a number with a comma in it, such as 3,5 or 1.234,5."""
    return _DECIMAL_COMMA.fullmatch(text) is not None or _GROUPED.fullmatch(text) is not None


def read_numbers(cells: LabelCells, texts: Sequence[str]) -> list[str]:
    """Return the numbers of a file as text with a decimal point.

    Commas are decimal commas if no cell has a point and at least one comma cannot separate
    thousands.

    Args:
        cells: label cells, for the path and the lines.
        texts: text of each row.

    Raises:
        InputError: a text is not a finite number, or its comma is ambiguous.
    """
    rows = list(zip(cells.lines, texts, strict=True))
    with_comma = [(line, text) for line, text in rows if _DECIMAL_COMMA.fullmatch(text)]
    for line, text in rows:
        if _GROUPED.fullmatch(text):
            raise InputError(
                f"{cells.path}:{line}: the label is {quote(text)}; write the number without "
                "separators of thousands and with a decimal point"
            )
        # The texts nan and inf are numbers, too, and either of them makes every later loss NaN.
        if not _DECIMAL_COMMA.fullmatch(text) and not math.isfinite(parse_number(text)):
            raise InputError(f"{cells.path}:{line}: the label is {quote(text)}, a number is needed{skip_advice(text)}")
    if not with_comma:
        return list(texts)
    _check_commas(cells.path, with_comma, [(line, text) for line, text in rows if "." in text])
    line, text = with_comma[0]
    point = text.replace(",", ".")
    LOG.info("%s:%d: decimal commas in the labels: %s is read as %s", cells.path, line, text, point)
    return [text.replace(",", ".") for text in texts]


def _check_commas(
    path: str,
    with_comma: Sequence[tuple[int, str]],
    with_point: Sequence[tuple[int, str]],
) -> None:
    line, text = with_comma[0]
    if with_point:
        raise InputError(
            f"{path}:{line}: the label is {quote(text)}, and line {with_point[0][0]} has "
            f"{quote(with_point[0][1])}; write all numbers with a decimal point"
        )
    if not any(_is_decimal(text) for _, text in with_comma):
        whole = text.replace(",", "")
        raise InputError(
            f"{path}:{line}: the label is {quote(text)}, which may be {text.replace(',', '.')} or "
            f"{whole}{count_more(with_comma)}; write a decimal point, or leave the comma out"
        )


def _is_decimal(text: str) -> bool:
    """Return whether a number's comma cannot separate thousands, as in 3,5 and 0,125."""
    matched = _DECIMAL_COMMA.fullmatch(text)
    assert matched is not None, "a number with a comma"
    whole, digits, exponent = matched.groups()
    is_group = len(digits) == _GROUP_DIGITS and whole[:1] not in ("", "0")
    return not is_group or len(whole) > _GROUP_DIGITS or exponent is not None
