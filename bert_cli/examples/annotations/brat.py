"""Documents of brat, NAME.txt with NAME.ann -> AnnotatedText records.

    T1 TAB LOC 3 11 TAB New York
    T2 TAB LOC 3 6;7 11 TAB New York    two fragments, as brat writes a span over a line end

Lines of relations, events, attributes and notes are left out.
"""

import io
import itertools
import os
import re

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import TEXT, decode
from bert_cli.base.log import LOG
from bert_cli.base.messages import quote
from bert_cli.base.recoding import as_utf8
from bert_cli.examples.annotations.spans import AnnotatedText, Span, checked_span

# Eighteen digits: more are no offset, and above 4,300 no number that Python reads.
_SPAN = re.compile(r"T\S*\t(\S+) (\d{1,18} \d{1,18}(?:;\d{1,18} \d{1,18})*) *(?:\t(.*))?", re.DOTALL)


def documents(path: str) -> list[str]:
    """Paths of the documents, without their endings, of a directory, a .txt or an .ann; [] where
    `path` is nothing of brat.
    """
    if files.is_directory(path):
        names = [name for name in files.list_directory(path) if name.endswith(".txt") and name[0] != "."]
        return [os.path.join(path, name.removesuffix(".txt")) for name in names]
    base, ending = os.path.splitext(path)
    return [base] if ending == ".ann" or (ending == ".txt" and files.exists(f"{base}.ann")) else []


def left_out(path: str) -> list[str]:
    """Names in a directory that `documents` leaves out: an .ann without its .txt, and a subdirectory
    with documents.
    """
    names = [name for name in files.list_directory(path) if name[0] != "."]
    texts = {name.removesuffix(".txt") for name in names if name.endswith(".txt")}
    alone = [name for name in names if name.endswith(".ann") and name.removesuffix(".ann") not in texts]
    inner = [name for name in names if not name.endswith((".txt", ".ann")) and documents(os.path.join(path, name))]
    return sorted([*alone, *inner])


def read_document(path: str, encoding: str) -> str:
    """All characters of a file, as brat counts them: with carriage returns, NUL and byte-order
    mark.
    """
    return decode(as_utf8(io.BytesIO(files.read_bytes(path)), encoding, path).read(), path, noun=TEXT)


def annotated_document(document: str, number: int, text: str, encoding: str) -> AnnotatedText:
    """A document, of which `text` is what its .txt holds. Without an .ann it is not annotated.
    InputError for an .ann of another form.
    """
    path = f"{document}.ann"
    spans = None
    if files.exists(path):
        lines = enumerate(read_document(path, encoding).removeprefix("\ufeff").split("\n"), 1)
        found = [_span(f"{path}:{line}", row.removesuffix("\r"), text) for line, row in lines if row.startswith("T")]
        spans = [span for span in found if span is not None]
    # A byte-order mark is a character to brat, but of no word.
    words = re.sub("^\ufeff", " ", text)
    return AnnotatedText(words, spans, number, f"{document}.txt:1", os.path.basename(document), f"{document}.txt")


def _span(place: str, row: str, text: str) -> Span | None:
    found = _SPAN.fullmatch(row)
    if not found:
        raise InputError(f"{place}: expected ID, tab, type, start and end, tab, text, found {quote(row)}; correct it")
    entity_type, offsets, stored = found.groups()
    parts = sorted([int(offset) for offset in part.split(" ")] for part in offsets.split(";"))
    for (_, end), (start, _) in itertools.pairwise(parts):
        if text[end:start].strip():
            LOG.warning("%s: %s has parts with other words in between; it is left out", place, quote(row))
            return None
    return checked_span(entity_type, parts[0][0], parts[-1][1], place, stored or None)
