"""Reader for JSON records with words and tags, which become TaggingExample records.

    {"words": ["Anna", "left"], "tags": ["B-PER", "O"]} {"tokens": ["Anna", "left"], "ner_tags": [1,
    0]}

A file has one record per line, an array of records, an object with records in "data" or "rows", or
an object with a list per member. Other members are copied to the predictions.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import quote
from bert_cli.base.json_files import JsonObject, as_list, as_object, has_form, to_json
from bert_cli.examples.tagging import WORDS, TaggingExample, TaggingFile
from bert_cli.examples.token_files.columns import SKIP_ADVICE, UNLABELED, find_tag_name, read_lines
from bert_cli.examples.token_files.flags import DEFAULTS, TokenFlags
from bert_cli.reading.column_names import normalize_name
from bert_cli.reading.columns.facts import DataFacts
from bert_cli.reading.columns.words import TAG_NAMES, WORD_NAMES, find_usual_column
from bert_cli.reading.records import JsonRecord, read_document, unwrap_rows
from bert_cli.reading.rows import LeftOutRows
from bert_cli.reading.source import Source

# These documented names take precedence over other usual names.
_WORDS, _TAGS = "words", "tags"


class _Members(NamedTuple):
    """Names of the members for words and tags."""

    words: str
    tags: str


class Records(NamedTuple):
    """A file's records.

    Attributes:
        lines: texts with one record each; blank lines have no record.
        numbered: records, each with its 1-based number in `lines`.
        features: description of the members in a Hugging Face data set, or None.
        not_used: the document's other members.
    """

    lines: Sequence[str]
    numbered: list[tuple[int, JsonRecord]]
    features: Any = None
    not_used: Sequence[str] = ()


def has_token_records(text: str, flags: TokenFlags = DEFAULTS) -> bool:
    """Return whether a text is JSON with a list of words per record, not texts with spans."""
    record = _find_first_record(text)
    if flags.rules.word_name in record:
        return has_form(record, {flags.rules.word_name: list})
    has_words = any(normalize_name(name) in WORD_NAMES and _is_list_of_texts(value) for name, value in record.items())
    has_tags = any(normalize_name(name) in TAG_NAMES and _is_tags(value) for name, value in record.items())
    # Prodigy and Label Studio have a text, and their tokens are objects.
    return has_words and (has_tags or not has_form(record, {"text": str}))


def has_token_rows(text: str) -> bool:
    """Return whether a text is JSON with a word and its tag per record."""
    names = {normalize_name(name) for name, value in _find_first_record(text).items() if isinstance(value, str)}
    return bool(names & WORD_NAMES and names & TAG_NAMES)


def _find_first_record(text: str) -> dict[str, Any]:
    """Return the first record in a JSON text, or {} if it is not JSON."""
    if not re.match(r'\s*(\[\s*)?\{\s*"', text):
        return {}
    decoder = json.JSONDecoder()
    start = text.index("{")
    try:
        value, _ = decoder.raw_decode(text, start)
    except (ValueError, RecursionError):
        return {}
    return as_object(next(iter(unwrap_rows(value).values), value))


def read_json_records(source: Source, flags: TokenFlags = DEFAULTS) -> TaggingFile:
    """Read a JSON file's sentences, which may be empty.

    Raise InputError for a line that is not JSON, or that has a different form.
    """
    return make_file(source.name, _read_records(source, flags), flags)


def make_file(path: str, records: Records, flags: TokenFlags) -> TaggingFile:
    """Convert records to sentences.

    Args:
        path: the file.

    Raises:
        InputError: there are no records or words, or a record has a different form.
    """
    if not records.numbered:
        form = '{"words": ["Anna"], "tags": ["B-PER"]}'
        raise InputError(f"{path}: is empty; lines such as {form} are needed{flags.check_flag}")
    flags = flags.decide_tags(lambda trial: any(_has_tag_list(record.value, trial) for _, record in records.numbered))
    members = _find_members(path, [record for _, record in records.numbered], flags)
    names = _find_tag_names(records.features, members.tags) or flags.labels
    examples = []
    unlabeled = []
    for number, (line, record) in records.numbered:
        words = _read_words(f"{path}:{line}", record, members)
        tags = _read_tags(f"{path}:{line}", record, members, names, flags) if flags.with_tags else ()
        if flags.with_tags and None in tags:
            unlabeled.append(line)
            continue
        refuse_if(
            flags.with_tags and len(tags) != len(words),
            f"{path}:{line}: {len(words)} words but {len(tags)} tags; give each word one tag",
        )
        example_tags = tuple(tag for tag in tags if tag is not None) if flags.with_tags else None
        examples.append(
            TaggingExample(words, example_tags, number, lines=(line,) * len(words) if number != line else ())
        )
    refuse_if(
        not examples, f"{path}:{next(iter(unlabeled), 1)}: no sentence has a tag for every word; check --tag_column"
    )
    has_words = any(example.words for example in examples)
    refuse_if(flags.with_tags and not has_words, f"{path}: holds no words{flags.check_flag or '; add some'}")
    left_out = LeftOutRows.of_lines(UNLABELED, unlabeled, is_requested=True)
    account = _make_account(path, records, members, flags.with_tags, left_out)
    return TaggingFile(path, tuple(records.lines), tuple(examples), WORDS, account=account)


def _make_account(
    path: str, records: Records, members: _Members, with_tags: bool, left_out: Sequence[LeftOutRows]
) -> DataFacts:
    used = {"word": (members.words,), **({"tag": (members.tags,)} if with_tags else {})}
    names = dict.fromkeys(name for _, record in records.numbered for name in record.value)
    unused_names = [name for name in names if (name,) not in used.values()]
    return DataFacts(path, 0, columns=used, not_used=[*unused_names, *records.not_used], left_out=left_out)


def _has_tag_list(record: Any, flags: TokenFlags) -> bool:
    members = as_object(record)
    if flags.rules.tag_name or _TAGS in members:
        return (flags.rules.tag_name or _TAGS) in members
    return any(normalize_name(name) in TAG_NAMES and isinstance(value, list) for name, value in members.items())


def _read_records(source: Source, flags: TokenFlags) -> Records:
    path = source.name
    text = "\n".join(read_lines(source))
    document = read_document(path, text)
    root, values = document.root, document.values
    lines = text.split("\n")
    rows, unread = unwrap_rows(root)
    if isinstance(root, list):
        values = document.items()
    elif rows:
        values = [JsonRecord(values[0].line, row) for row in rows]
    elif len(values) == sum(bool(line.strip()) for line in lines):
        return Records(lines, [(record.line, record) for record in values])
    flags.log("%s: read %d records of a JSON document", path, len(values))
    features = as_object(root).get("features")
    numbered = list(enumerate(values, 1))
    not_used = [name for name in unread if name != "features"]
    return Records([to_json(record.value) for record in values], numbered, features, not_used)


def _find_members(path: str, records: Sequence[JsonRecord], flags: TokenFlags) -> _Members:
    """Return the members that flags name, or else "words" and "tags", or else other usual names."""
    location = f"{path}:{records[0].line}"
    values = [record.value for record in records if isinstance(record.value, dict)]
    first = next((record for record in values if _WORDS in record), values[0] if values else {})
    lists = [name for name, value in first.items() if isinstance(value, list)]
    words = flags.rules.word_name or (_WORDS if _WORDS in first or not lists else "")
    words = words or lists[find_usual_column(location, lists, WORD_NAMES, (), "word")]
    if not flags.with_tags:
        return _Members(words, _TAGS)
    # A test file's first sentences may have no tags.
    first = next((record for record in values if any(normalize_name(name) in TAG_NAMES for name in record)), first)
    lists = [name for name, value in first.items() if isinstance(value, list) and name != words]
    tags = flags.rules.tag_name or (_TAGS if _TAGS in first or not lists else "")
    tags = tags or lists[find_usual_column(location, lists, TAG_NAMES, (), "tag")]
    return _Members(words, tags)


def _read_words(location: str, record: Any, members: _Members) -> tuple[str, ...]:
    words = as_object(record).get(members.words)
    if not _is_list_of_texts(words):
        form = f'{{"{members.words}": [texts that are not empty]}}'
        raise InputError(f"{location}: expected {form}, found {quote(to_json(record))}")
    return tuple(words)


def _read_tags(
    location: str,
    record: JsonObject,
    members: _Members,
    names: Sequence[str],
    flags: TokenFlags,
) -> tuple[str | None, ...]:
    """Return a record's tags, with None for a missing tag if such sentences are skipped."""
    tags = record.get(members.tags)
    expected = f'{location}: expected "{members.tags}": [one text for each word]; add them'
    if flags.skip_unlabeled and not tags and record[members.words]:
        return (None,)
    if not isinstance(tags, list):
        raise InputError(expected)
    if not flags.skip_unlabeled and None in tags:
        raise InputError(f"{location}: a word has the tag null; give it one; {SKIP_ADVICE}")
    named = [_name_tag(location, tag, members, names, flags) if type(tag) is int else tag for tag in tags]
    if not all(_is_list_of_texts([tag]) or (flags.skip_unlabeled and tag in (None, "")) for tag in named):
        raise InputError(expected)
    return tuple(tag or None for tag in named)


def _name_tag(
    location: str,
    number: int,
    members: _Members,
    names: Sequence[str],
    flags: TokenFlags,
) -> str:
    """Return the name for a tag number."""
    if not names and not flags.are_types:
        raise InputError(
            f'{location}: "{members.tags}" has numbers; give their names in order, such as --labels=O,B-PER,I-PER, or '
            "--tag_scheme=IO if each number is a type of its own"
        )
    return find_tag_name(location, number, names) if names else str(number)


def _find_tag_names(features: Any, member: str) -> tuple[str, ...]:
    """Return the tag names in a data set's features, or () if there are no names."""
    types = {str(feature.get("name")): feature.get("type") for feature in map(as_object, as_list(features))}
    value = (types or as_object(features)).get(member)
    while members := as_object(value):
        if _is_list_of_texts(members.get("names")):
            return tuple(members["names"])
        value = members.get("feature")
    return ()


def _is_tags(value: Any) -> bool:
    return has_form(value, [str | int | None])


def _is_list_of_texts(value: Any) -> TypeGuard[list[str]]:
    """Return whether a value is a list of texts that are not empty and can be written to a file."""
    return isinstance(value, list) and all(
        isinstance(item, str) and item and not re.search("[\ud800-\udfff]", item) for item in value
    )
