"""Records of a JSON file, and the format that their members show."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import json_type
from bert_cli.base.messages import list_names
from bert_cli.examples.annotations import (
    dataturks,
    label_studio,
    label_studio_min,
    span_lists,
    training_pairs,
)
from bert_cli.examples.annotations.dataturks import DATATURKS
from bert_cli.examples.annotations.label_studio import LABEL_STUDIO
from bert_cli.examples.annotations.label_studio_min import LABEL_STUDIO_MIN
from bert_cli.examples.annotations.training_pairs import SPACY_PAIRS
from bert_cli.examples.table_files.json_values import (
    JsonRecord,
    array_items,
    member_items,
    read_values,
)
from bert_cli.examples.tagging import WORDS

TITLES = {
    LABEL_STUDIO: "Label Studio",
    LABEL_STUDIO_MIN: "Label Studio (JSON-MIN)",
    SPACY_PAIRS: "spaCy's training data",
    DATATURKS: "Dataturks",
    WORDS: WORDS,
} | {name: span_format.title for name, span_format in span_lists.FORMATS.items()}
_ACCEPTED = (
    'known are doccano ("label", "labels", "entities" or "annotations"), Prodigy ("spans"), '
    'spaCy ("entities", "ents" or [text, {"entities": …}]), Label Studio ("data"), '
    'Dataturks ("content" and "annotation"), and {"words": …, "tags": …} or {"tokens": …, "ner_tags": …}'
)


class RecordFile(NamedTuple):
    """The records of a file.

    Attributes:
        is_document: whether they are the items of one array, not values by themselves.
        wrapper: object around the array, or None.
        member: member of the wrapper that is the array.
    """

    records: list[JsonRecord]
    is_document: bool = False
    wrapper: dict[str, Any] | None = None
    member: str = ""


def read_records(path: str, text: str) -> RecordFile:
    """Return the records of a file of JSON.

    InputError for a text that is not JSON, and for an object that neither is a record nor has one
    array of records among its members.
    """
    values = read_values(path, text)
    if len(values) > 1 or _is_record(values[0].value):
        return RecordFile(values)
    line, value = values[0]
    if isinstance(value, list):
        records = list(array_items(text, text.index("["), line))
        refuse_if(not records, f"{path}: holds an empty array; records are needed; {_ACCEPTED}")
        return RecordFile(records, is_document=True)
    members = value if isinstance(value, dict) else {}
    arrays = [name for name, items in members.items() if isinstance(items, list) and any(map(_is_record, items))]
    if len(arrays) > 1:
        problem = f"holds records in several members ({list_names(arrays)})"
        raise InputError(f"{path}:{line}: {problem}; save each in a file")
    if not arrays:
        is_unannotated = training_pairs.is_empty_document(members)
        refuse_if(is_unannotated, f'{path}:{line}: "annotations" holds no text; annotate some')
        raise _unknown(f"{path}:{line}", value)
    return RecordFile(list(member_items(text, arrays[0])), True, value, arrays[0])


def find_format(path: str, records: Sequence[JsonRecord], with_tags: bool = True) -> str | None:
    """Return the format of a file, by the members of its records; None for texts alone.

    The first record with spans decides, else the first with an empty list of them. InputError for a
    record of another format, and for one of unknown form.

    Args:
        with_tags: whether annotations are read; else members of unknown form are no mistake.
    """
    first: JsonRecord | None = None
    name = ""
    for record in records:
        structure = find_structure(record.value)
        if structure and first is None:
            first, name = record, structure
        elif structure and first and structure != name:
            others = f"line {first.line} in the format of {TITLES[name]}"
            problem = f"is in the format of {TITLES[structure]}, but {others}"
            raise InputError(f"{path}:{record.line}: {problem}; save each format in a file")
    for record in records:
        is_skipped = record.value is None and name == SPACY_PAIRS
        if not is_skipped and find_structure(record.value) is None:
            _check_text(f"{path}:{record.line}", record.value, name, with_tags)
    return name or span_lists.find_empty_format(records)


def find_structure(value: Any) -> str | None:
    """Return the format that a record shows by its members, or None."""
    if training_pairs.is_pair(value):
        return SPACY_PAIRS
    if not isinstance(value, dict):
        return None
    if _has_words(value):
        return WORDS
    if label_studio.is_task(value):
        return LABEL_STUDIO
    if label_studio_min.is_record(value):
        return LABEL_STUDIO_MIN
    return DATATURKS if dataturks.is_record(value) else span_lists.find_format(value)


def _is_record(value: Any) -> bool:
    return find_structure(value) is not None or span_lists.text_of(value) is not None


def _has_words(record: dict[str, Any]) -> bool:
    tokens = record.get("tokens")  # objects in the data of Prodigy
    if "words" in record or not isinstance(tokens, list) or not tokens:
        return "words" in record
    return all(isinstance(token, str) for token in tokens)


def _check_text(place: str, record: Any, name: str, with_tags: bool) -> None:
    """Raise InputError unless a record without spans is a text that nobody has annotated.

    Args:
        name: format of the file, "" for texts alone.
    """
    if name == LABEL_STUDIO_MIN and isinstance(record, dict):
        return  # The members with regions are known from the other records.
    if span_lists.text_of(record) is None or (name and name not in span_lists.FORMATS):
        raise _unknown(place, record)
    is_empty_list = bool(name) and record.get(span_lists.FORMATS[name].key) == []
    unread = span_lists.unread_members(record) if with_tags and not is_empty_list else []
    if unread:
        members = f"of the members {list_names(list(record))}"
        problem = f"{members}, annotations in an unknown form are in {list_names(unread)}"
        advice = "--test_tags=no tags the texts of a test file"
        raise InputError(f"{place}: {problem}; {_ACCEPTED}; {advice}")


def _unknown(place: str, value: Any) -> InputError:
    """Return the error for a value of unknown form, with its members."""
    if not isinstance(value, dict):
        return InputError(f"{place}: a record is {json_type(value)}; {_ACCEPTED}")
    members = [_described(name, item) for name, item in value.items()]
    problem = f"an object with the members {list_names(members) or 'none'} is no text with spans"
    return InputError(f"{place}: {problem}; {_ACCEPTED}")


def _described(name: str, value: Any) -> str:
    """Return the name of a member, with the members of the objects that it lists."""
    item = value[0] if isinstance(value, list) and value else None
    return f"{name} ({list_names(list(item))})" if isinstance(item, dict) else name
