"""Reader for brat documents: NAME.txt with NAME.ann becomes an AnnotatedText record.

    T1 TAB LOC 3 11 TAB New York
    T2 TAB LOC 3 6;7 11 TAB New York    two fragments, which brat writes if a span crosses a line end

Relations, events, attributes and notes are skipped.
"""

import io
import os
import re

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.lines import TEXT, decode
from bert_cli.base.recoding import as_utf8
from bert_cli.examples.annotations.annotated_texts import AnnotatedText, Span, make_span

# Limit offsets to 18 digits: Python refuses to parse numbers with more than 4,300.
_SPAN = re.compile(r"T\S*\t(\S+) (\d{1,18} \d{1,18}(?:;\d{1,18} \d{1,18})*) *(?:\t(.*))?", re.DOTALL)


def find_documents(path: str) -> list[str]:
    """Return the document paths without suffixes, or [] if `path` is not a brat file or directory.

    Args:
        path: a directory with documents, a .txt file or an .ann file.
    """
    if files.is_directory(path):
        names = [name for name in files.list_directory(path) if name.endswith(".txt") and name[0] != "."]
        return [os.path.join(path, name.removesuffix(".txt")) for name in names]
    base, suffix = os.path.splitext(path)
    return [base] if suffix == ".ann" or (suffix == ".txt" and files.exists(f"{base}.ann")) else []


def find_skipped(path: str) -> list[str]:
    """Return the names in a directory that `find_documents` skips.

    These are .ann files without a .txt file, and subdirectories with documents.
    """
    names = [name for name in files.list_directory(path) if name[0] != "."]
    texts = {name.removesuffix(".txt") for name in names if name.endswith(".txt")}
    annotations = [name for name in names if name.endswith(".ann") and name.removesuffix(".ann") not in texts]
    folders = [
        name for name in names if not name.endswith((".txt", ".ann")) and find_documents(os.path.join(path, name))
    ]
    return sorted([*annotations, *folders])


def read_document(path: str, encoding: str) -> str:
    """Return a file's characters unchanged, because brat counts them all.

    They include carriage returns, NUL characters and the byte-order mark.
    """
    return decode(as_utf8(io.BytesIO(files.read_bytes(path)), encoding, path).read(), path, noun=TEXT)


def annotate_document(document: str, number: int, text: str, encoding: str) -> AnnotatedText:
    """Read a document's .ann file; without such a file, the text is not annotated.

    Args:
        document: path without suffix.
        number: 1-based document number.
        text: the .txt file's contents.
        encoding: encoding used for the .ann file.

    Raises:
        InputError: a line for a span has a different form.
    """
    path = f"{document}.ann"
    spans = None
    if files.exists(path):
        lines = enumerate(read_document(path, encoding).removeprefix("\ufeff").split("\n"), 1)
        spans = [_parse_span(f"{path}:{line}", row.removesuffix("\r")) for line, row in lines if row.startswith("T")]
    # brat counts the byte-order mark as a character, but it must not become a word.
    words = re.sub("^\ufeff", " ", text)
    return AnnotatedText(words, spans, number, f"{document}.txt:1", os.path.basename(document), f"{document}.txt")


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
