"""Reader for a file or directory from an annotation tool, in any format."""

import collections
import re
from collections.abc import Sequence
from dataclasses import replace

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.base.json_files import as_object, to_json
from bert_cli.base.log import LOG
from bert_cli.examples.annotations import (
    brat,
    label_studio,
    label_studio_min,
    label_studio_tables,
    span_lists,
)
from bert_cli.examples.annotations.annotated_texts import AnnotatedText, log_label_ids, warn_about_unlabeled
from bert_cli.examples.annotations.label_studio import LABEL_STUDIO
from bert_cli.examples.annotations.record_formats import (
    LABEL_STUDIO_MIN,
    RecordFile,
    find_record_format,
    parse_file_records,
)
from bert_cli.examples.annotations.spans import make_tagging_examples
from bert_cli.examples.annotations.tools import TOOLS
from bert_cli.examples.tagging import WORDS, TaggingFile
from bert_cli.reading.columns.answers import ANSWER
from bert_cli.reading.columns.facts import DataFacts
from bert_cli.reading.folder import find_documents, find_skipped
from bert_cli.reading.records import JsonRecord, is_json_name, looks_like_json
from bert_cli.reading.source import Source
from bert_cli.settings.answering import PRODIGY
from bert_cli.text.tokenization import FullTokenizer

BRAT = "brat"
_PYTHON_TUPLES = re.compile(r"""\s*(?:\w+\s*=\s*)?\[\s*\(["']""")


def read_annotations(
    source: Source,
    with_tags: bool = True,
    plain_text_format: str = PRODIGY,
    tokenizer: FullTokenizer | None = None,
    columns: tuple[str | None, str | None] = (None, None),
) -> TaggingFile | None:
    """Read texts with spans; return None for a file with words in columns or JSON lines.

    Args:
        source: a file, or a directory with brat documents.
        with_tags: whether to read the spans.
        plain_text_format: key of span_lists.FORMATS used to write predictions for a file of texts
            without spans.
        tokenizer: see split_text.
        columns: names of a table's columns with texts and spans, or None to find them.

    Raises:
        InputError: the JSON format is unknown, or the annotations are invalid.
    """
    documents = _read_brat(source, with_tags, tokenizer)
    if documents:
        return documents
    path, text = source.name, source.text
    is_json = looks_like_json(path, text)
    regions = None if is_json else label_studio_tables.read_regions(source, *columns)
    if regions is None:
        return _read_json(path, text, with_tags, plain_text_format, tokenizer)
    # Writers parse the lines of JSON-MIN again.
    lines = [to_json(record.value) for record in regions.records]
    return _read_spans(path, lines, regions.records, LABEL_STUDIO_MIN, with_tags, tokenizer, regions.unread)


def parse_records(file: TaggingFile) -> RecordFile:
    """Parse the file's lines again, and convert JSON-MIN records to tasks."""
    content = parse_file_records(file.path, "\n".join(file.lines))
    if file.format != LABEL_STUDIO_MIN:
        return content
    return content._replace(records=label_studio_min.to_tasks(content.records))


def explain_missing_annotations(file: TaggingFile) -> str:
    """Return a description of a file's records for an error about missing annotations, or ""."""
    if file.format == BRAT:
        return ""
    records = parse_records(file).records
    if file.format in (LABEL_STUDIO, LABEL_STUDIO_MIN):
        skipped, predicted = label_studio.count_unannotated([record.value for record in records])
        counts = {f"{skipped} skipped": skipped, f"{predicted} with predictions alone": predicted}
        reasons = [reason for reason, count in counts.items() if count]
        return f" (tasks: {', '.join(reasons)})" if reasons else ""
    answers = [record.value.get(ANSWER) for record in records if file.format == PRODIGY]
    if any(answers):
        counts = collections.Counter(str(answer) for answer in answers if answer)
        return f" (answers: {', '.join(f'{count} {name}' for name, count in counts.items())})"
    return _list_members(records)


def _list_members(records: Sequence[JsonRecord]) -> str:
    members = _find_members(records)
    return f" (members: {list_names(members)})" if members else ""


def _read_brat(source: Source, with_tags: bool, tokenizer: FullTokenizer | None) -> TaggingFile | None:
    path, encoding = source.path, source.encoding
    documents = find_documents(path)
    if not documents:
        refuse_if(source.is_folder, f"{path}: holds no documents of brat, NAME.txt with NAME.ann")
        return None
    if source.is_folder and (skipped := find_skipped(path)):
        form = "NAME.txt with NAME.ann directly in a directory are read"
        LOG.warning("%s: left out: %s; only %s", path, list_names(skipped), form)
    sources = [source if path == f"{document}.txt" else Source(f"{document}.txt", encoding) for document in documents]
    texts = [text_source.characters for text_source in sources]
    numbered = enumerate(zip(documents, texts, strict=True), 1)
    annotated = [brat.annotate_document(document, number, text, encoding) for number, (document, text) in numbered]
    account = DataFacts(path, 0, not_used=list(dict.fromkeys(name for item in annotated for name in item.not_used)))
    return _make_file(account, texts, [item.text for item in annotated], BRAT, with_tags, tokenizer)


def _read_json(
    path: str,
    text: str,
    with_tags: bool,
    plain_text_format: str,
    tokenizer: FullTokenizer | None,
) -> TaggingFile | None:
    if _PYTHON_TUPLES.match(text):
        raise InputError(f"{path}: holds Python tuples, not JSON; write the file with json.dump")
    if not looks_like_json(path, text):
        if is_json_name(path) and text.strip():
            problem = "begins with no JSON object or array"
            raise InputError(f"{path}: {problem}; a file of words in columns is named .txt")
        return None
    content = parse_file_records(path, text)
    name = find_record_format(path, content.records, with_tags)
    if name == WORDS:
        return None
    lines = text.split("\n")
    unread = [member for member in content.wrapper or {} if member != content.member]
    if name is None:
        examples, _ = make_tagging_examples(span_lists.make_plain_texts(path, content.records), tokenizer=tokenizer)
        unused = span_lists.find_unused_record_members(content.records)
        account = DataFacts(path, 0, not_used=[*unused, *unread], form="no spans")
        return TaggingFile(path, tuple(lines), examples, plain_text_format, account=account)
    return _read_spans(path, lines, content.records, name, with_tags, tokenizer, unread)


def _find_members(records: Sequence[JsonRecord]) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in as_object(record.value)))


def _read_spans(
    path: str,
    lines: Sequence[str],
    records: Sequence[JsonRecord],
    name: str,
    with_tags: bool,
    tokenizer: FullTokenizer | None,
    unread: Sequence[str] = (),
) -> TaggingFile:
    """Read the texts and spans of records in a format; `unread` names what is not in them."""
    texts, not_used, left_out = TOOLS[name].read(path, records)
    account = DataFacts(path, 0, not_used=[*not_used, *unread], left_out=left_out)
    return _make_file(account, lines, texts, name, with_tags, tokenizer)


def _make_file(
    account: DataFacts,
    lines: Sequence[str],
    texts: Sequence[AnnotatedText],
    name: str,
    with_tags: bool,
    tokenizer: FullTokenizer | None,
) -> TaggingFile:
    """Combine lines and examples."""
    path = account.file
    examples, unit = make_tagging_examples(texts, with_tags, tokenizer)
    offsets = f", offsets {unit}" if str(unit) else ""
    account = replace(account, form=f"spans in the format of {BRAT if name == BRAT else TOOLS[name].title}{offsets}")
    if with_tags:
        warn_about_unlabeled(path, texts, unit)
        log_label_ids(path, texts)
    return TaggingFile(path, tuple(lines), examples, name, unit, account=account)
