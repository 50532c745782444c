"""A file of an annotation tool -> TaggingFile; the format is recognised by the content."""

import re
from collections.abc import Sequence

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.lines import UTF_8, read_text, split_lines
from bert_cli.base.log import LOG
from bert_cli.base.messages import listed
from bert_cli.examples.annotations import brat, json_lines, label_studio
from bert_cli.examples.annotations.json_lines import FORMATS
from bert_cli.examples.annotations.spans import AnnotatedText, tagging_examples
from bert_cli.examples.tagging import TaggingFile
from bert_cli.settings.tagging import PRODIGY

LABEL_STUDIO, BRAT = "label_studio", "brat"
_TITLES = {LABEL_STUDIO: "Label Studio", BRAT: "brat"} | {name: known.title for name, known in FORMATS.items()}
_ARRAY = re.compile(r"\s*\[\s*(\{|\])")
# The first member of an object on one line: a word in columns has no such form.
_RECORD = re.compile(r'\s*\{[ \t]*"[^"\n]*"[ \t]*:')


def read_annotations(
    path: str, encoding: str = UTF_8, with_tags: bool = True, texts_alone: str = PRODIGY
) -> TaggingFile | None:
    """The texts with spans of a file or directory, which the log names; None for words in columns
    or JSON lines.

    with_tags False: the spans are left alone. texts_alone: the format, of FORMATS, that JSON lines
    of texts without spans count as. InputError as by the readers and tagging_examples.
    """
    file = _read_brat(path, encoding, with_tags) or _read_json(path, encoding, with_tags, texts_alone)
    if file:
        unit = ", offsets in UTF-16 code units as JavaScript counts them" if file.is_utf16 else ""
        LOG.info("%s: texts with spans in the format of %s%s", path, _TITLES[file.format], unit)
    return file


def _read_brat(path: str, encoding: str, with_tags: bool) -> TaggingFile | None:
    documents = brat.documents(path)
    if not documents:
        refuse_if(files.is_directory(path), f"{path}: holds no documents of brat, NAME.txt with NAME.ann")
        return None
    if files.is_directory(path) and (others := brat.left_out(path)):
        form = "NAME.txt with NAME.ann directly in a directory are read"
        LOG.warning("%s: left out: %s; only %s", path, listed(others), form)
    texts = [brat.read_document(f"{document}.txt", encoding) for document in documents]
    numbered = enumerate(zip(documents, texts, strict=True), 1)
    found = [brat.annotated_document(document, number, text, encoding) for number, (document, text) in numbered]
    return _file(path, texts, found, BRAT, with_tags)


def _read_json(path: str, encoding: str, with_tags: bool, texts_alone: str) -> TaggingFile | None:
    text = read_text(path, encoding)
    if _ARRAY.match(text):
        return _file(path, [text], label_studio.read_tasks(path, text), LABEL_STUDIO, with_tags)
    if not _RECORD.match(text):
        return None
    lines = split_lines(text, path)
    records = json_lines.read_records(path, lines)
    if json_lines.text_of(records[0][1]) is None or "words" in records[0][1]:
        return None
    name = json_lines.find_format([record for _, record in records]) or texts_alone
    return _file(path, lines, json_lines.annotated_texts(path, records, name), name, with_tags)


def _file(path: str, lines: Sequence[str], texts: Sequence[AnnotatedText], name: str, with_tags: bool) -> TaggingFile:
    examples, is_utf16 = tagging_examples(texts, with_tags)
    return TaggingFile(path, tuple(lines), examples, name, is_utf16)
