"""Training data of spaCy 2, pairs of a text and its entities -> AnnotatedText records.

    [["in New York.", {"entities": [[3, 11, "LOC"]]}], …]

The NER annotator for spaCy exports {"classes": ["LOC"], "annotations": [pairs]}, with null for a
text that was skipped. A text with {} is not annotated.
"""

from collections.abc import Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import json_type
from bert_cli.base.messages import list_names, quote
from bert_cli.examples.annotations.spans import AnnotatedText, Span, checked_span
from bert_cli.examples.table_files.json_values import JsonRecord

SPACY_PAIRS = "spacy_pairs"


def is_pair(value: Any) -> bool:
    """Return whether a value is a text with an object of annotations."""
    is_two = isinstance(value, list) and len(value) == 2
    return is_two and isinstance(value[0], str) and isinstance(value[1], dict)


def is_empty_document(members: dict[str, Any]) -> bool:
    """Return whether an export of the NER annotator has skipped texts alone, or none."""
    pairs = members.get("annotations")
    return "classes" in members and isinstance(pairs, list) and not any(pairs)


def annotated_texts(path: str, records: Sequence[JsonRecord]) -> list[AnnotatedText]:
    """Return the texts of the pairs that are not null. InputError for entities of another form."""
    pairs = [record for record in records if record.value is not None]
    return [_annotated_text(f"{path}:{line}", line, pair) for line, pair in pairs]


def with_entities(values: Sequence[Any], entities: Sequence[list]) -> list[Any]:
    """Return the pairs with other entities: a list of triples for each pair that is not null."""
    triples = iter(entities)
    return [value and [value[0], value[1] | {"entities": next(triples)}] for value in values]


def _annotated_text(place: str, line: int, pair: Any) -> AnnotatedText:
    text, annotations = pair
    if annotations and "entities" not in annotations:
        problem = f'a pair of spaCy needs {{"entities": […]}}, found {list_names(list(annotations))}'
        raise InputError(f"{place}: {problem}; correct it")
    entities = annotations.get("entities")
    if entities is None:
        return AnnotatedText(text, None, line, place)
    if not isinstance(entities, list):
        problem = f'"entities" is {json_type(entities)}, a list of spans is needed'
        raise InputError(f"{place}: {problem}; correct it")
    return AnnotatedText(text, [_span(place, entity) for entity in entities], line, place)


def _span(place: str, entity: Any) -> Span:
    if not isinstance(entity, list) or len(entity) != 3:
        form = 'expected "entities": a list of [start, end, type]'
        raise InputError(f"{place}: {form}, found {quote(str(entity))}; correct it")
    start, end, entity_type = entity
    return checked_span(entity_type, start, end, place)
