"""Detection of a JSON file's annotation format, using the members in its records."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.base.json_files import JsonObject, as_list, as_object, has_form, json_type
from bert_cli.examples.annotations import span_lists, training_pairs
from bert_cli.examples.annotations.label_studio_min import LABEL_STUDIO_MIN
from bert_cli.examples.annotations.tools import TOOLS
from bert_cli.examples.annotations.training_pairs import SPACY_PAIRS
from bert_cli.examples.tagging import WORDS
from bert_cli.reading.records import JsonRecord, read_document

_ACCEPTED = (
    'known are doccano ("label", "labels", "entities" or "annotations"), Prodigy ("spans"), '
    'spaCy ("entities", "ents" or [text, {"entities": …}]), Label Studio ("data"), '
    'Dataturks ("content" and "annotation"), and {"words": …, "tags": …} or {"tokens": …, "ner_tags": …}'
)


class RecordFile(NamedTuple):
    """A file's records.

    Attributes:
        records: the records.
        is_document: whether the file is one JSON document with an array of records, not one record
            per line.
        wrapper: object that contains the array, or None.
        member: the array's name in `wrapper`.
    """

    records: list[JsonRecord]
    is_document: bool = False
    wrapper: JsonObject | None = None
    member: str = ""


def parse_file_records(path: str, text: str) -> RecordFile:
    """Parse a JSON file's records.

    Args:
        path: the file, for messages.
        text: the file's contents.

    Raises:
        InputError: `text` is not JSON, or is an object that neither is a record nor contains one
            array of records.
    """
    document = read_document(path, text)
    line, value = document.values[0]
    if len(document.values) > 1 or _is_record(value):
        return RecordFile(document.values)
    if isinstance(value, list):
        records = document.items()
        refuse_if(not records, f"{path}: holds an empty array; records are needed; {_ACCEPTED}")
        return RecordFile(records, is_document=True)
    arrays = document.members(lambda items: any(map(_is_record, items)))
    if len(arrays) > 1:
        problem = f"holds records in several members ({list_names(arrays)})"
        raise InputError(f"{path}:{line}: {problem}; save each in a file")
    if not arrays:
        is_unannotated = training_pairs.is_empty_document(value)
        refuse_if(is_unannotated, f'{path}:{line}: "annotations" holds no text; annotate some')
        raise _unknown_record_error(f"{path}:{line}", value)
    return RecordFile(document.items(arrays[0]), True, value, arrays[0])


def find_record_format(path: str, records: Sequence[JsonRecord], with_tags: bool = True) -> str | None:
    """Return a file's format, or None for texts without spans.

    The first record with spans decides, or else the first record with an empty list of spans.

    Args:
        path: the file, for messages.
        with_tags: whether annotations are read. If not, unknown members are allowed.

    Raises:
        InputError: records have different formats or an unknown form.
    """
    first: JsonRecord | None = None
    name = ""
    for record in records:
        structure = find_structure(record.value)
        if structure and first is None:
            first, name = record, structure
        elif structure and first and structure != name:
            first_format = f"line {first.line} in the format of {_title(name)}"
            problem = f"is in the format of {_title(structure)}, but {first_format}"
            raise InputError(f"{path}:{record.line}: {problem}; save each format in a file")
    for record in records:
        is_skipped = record.value is None and name == SPACY_PAIRS
        if not is_skipped and find_structure(record.value) is None:
            _check_text(f"{path}:{record.line}", record.value, name, with_tags)
    return name or span_lists.find_empty_format(records)


def _title(name: str) -> str:
    return name if name == WORDS else TOOLS[name].title


def find_structure(value: Any) -> str | None:
    """Return the format that has a record's members, or None."""
    # Prodigy's tokens are objects, not strings.
    if has_form(value, {"words": object}) or (has_form(value, {"tokens": [str]}) and value["tokens"]):
        return WORDS
    return next((name for name, tool in TOOLS.items() if tool.is_record(value)), None)


def _is_record(value: Any) -> bool:
    return find_structure(value) is not None or span_lists.find_text(value) is not None


def _check_text(location: str, record: Any, name: str, with_tags: bool) -> None:
    """Raise InputError unless a record without spans is a text without annotations.

    Args:
        location: file and line, for messages.
        name: the file's format, "" for texts without spans.
        with_tags: whether annotations are read.
    """
    # In JSON-MIN, other records show which members have regions.
    if name == LABEL_STUDIO_MIN and isinstance(record, dict):
        return
    if span_lists.find_text(record) is None or (name and name not in span_lists.FORMATS):
        raise _unknown_record_error(location, record)
    is_empty_list = bool(name) and record.get(span_lists.FORMATS[name].key) == []
    unread = span_lists.find_unread_members(record) if with_tags and not is_empty_list else []
    if unread:
        members = f"of the members {list_names(list(record))}"
        problem = f"{members}, annotations in an unknown form are in {list_names(unread)}"
        advice = "--test_tags=no tags the texts of a test file"
        raise InputError(f"{location}: {problem}; {_ACCEPTED}; {advice}")


def _unknown_record_error(location: str, value: Any) -> InputError:
    """Return the error for a record with an unknown form, which lists its members."""
    if not isinstance(value, dict):
        return InputError(f"{location}: a record is {json_type(value)}; {_ACCEPTED}")
    members = [_describe_member(name, item) for name, item in value.items()]
    problem = f"an object with the members {list_names(members) or 'none'} is no text with spans"
    return InputError(f"{location}: {problem}; {_ACCEPTED}")


def _describe_member(name: str, value: Any) -> str:
    """Return a member's name. If it is a list of objects, add the first object's members."""
    members = as_object(next(iter(as_list(value)), None))
    return f"{name} ({list_names(list(members))})" if members else name
