"""Reader for brat documents: NAME.txt with NAME.ann becomes an AnnotatedText record.

    T1 TAB LOC 3 11 TAB New York
    T2 TAB LOC 3 6;7 11 TAB New York    two fragments, which brat writes if a span crosses a line end

Other lines, such as relations and notes, are not used, and the log names them.
"""

import os
import re
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.examples.annotations.annotated_texts import AnnotatedText, Span, make_span
from bert_cli.reading.folder import find_existing
from bert_cli.reading.source import Source

# Limit offsets to 18 digits: Python refuses to parse numbers with more than 4,300.
_SPAN = re.compile(r"T\S*\t(\S+) (\d{1,18} \d{1,18}(?:;\d{1,18} \d{1,18})*) *(?:\t(.*))?", re.DOTALL)
# Lines that are not used, by their first characters.
_OTHER_LINES = {
    "R": "relations", "*": "equivalences", "E": "events", "A": "attributes", "M": "modifications",
    "N": "normalizations", "#": "notes",
}  # fmt: skip


class BratDocument(NamedTuple):
    """A text with its spans, and descriptions of the lines in its .ann file that are not used."""

    text: AnnotatedText
    not_used: list[str]


def annotate_document(document: str, number: int, text: str, encoding: str | None) -> BratDocument:
    """Read a document's .ann file; without such a file, the text is not annotated.

    Args:
        document: path without suffix.
        number: 1-based document number.
        text: the .txt file's contents.
        encoding: encoding used for the .ann file.

    Raises:
        InputError: a line for a span has a different form.
    """
    path = find_existing([f"{document}.ann"])
    spans = None
    not_used: list[str] = []
    if path:
        rows = [row.removesuffix("\r") for row in Source(path, encoding).characters.removeprefix("\ufeff").split("\n")]
        spans = [_parse_span(f"{path}:{line}", row) for line, row in enumerate(rows, 1) if row.startswith("T")]
        not_used = [_OTHER_LINES.get(row[:1], "other lines") for row in rows if row and not row.startswith("T")]
    # brat counts the byte-order mark as a character, but it must not become a word.
    words = re.sub("^\ufeff", " ", text)
    annotated = AnnotatedText(words, spans, number, f"{document}.txt:1", os.path.basename(document), f"{document}.txt")
    return BratDocument(annotated, not_used)


def _parse_span(location: str, row: str) -> Span:
    match = _SPAN.fullmatch(row)
    if not match:
        raise InputError(
            f"{location}: expected ID, tab, type, start and end, tab, text, found {quote(row)}; correct it"
        )
    entity_type, offsets, span_text = match.groups()
    pairs = [fragment.split(" ") for fragment in offsets.split(";")]
    parts = tuple(sorted((int(start), int(end)) for start, end in pairs))
    span = make_span(entity_type, parts[0][0], parts[-1][1], location, span_text or None)
    return span._replace(parts=parts) if len(parts) > 1 else span
