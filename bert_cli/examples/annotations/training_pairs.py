"""Reader for spaCy 2's training data: pairs of text and entities become AnnotatedText records.

    [["in New York.", {"entities": [[3, 11, "LOC"]]}], …]

The NER annotator for spaCy exports {"classes": ["LOC"], "annotations": [pairs]}, with null for
skipped texts. A text with {} is not annotated.
"""

from collections.abc import Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names, quote
from bert_cli.base.json_files import has_form, json_type
from bert_cli.examples.annotations.annotated_texts import AnnotatedText, Span, make_span
from bert_cli.reading.records import JsonRecord

SPACY_PAIRS = "spacy_pairs"


def is_training_pair(value: Any) -> bool:
    """Return whether a value is a list with a text and an object."""
    return has_form(value, (str, dict))


def is_empty_document(value: Any) -> bool:
    """Return whether an export from the NER annotator has only skipped texts, or no texts."""
    return has_form(value, {"classes": object, "annotations": list}) and not any(value["annotations"])


def read_texts(path: str, records: Sequence[JsonRecord]) -> list[AnnotatedText]:
    """Convert pairs, without null; raise InputError for entities with a different form."""
    pairs = [record for record in records if record.value is not None]
    return [_read_text(f"{path}:{line}", line, pair) for line, pair in pairs]


def replace_entities(pairs: Sequence[Any], entities: Sequence[list]) -> list[Any]:
    """Return copies of pairs with other entities.

    Args:
        pairs: pairs, or null for skipped texts.
        entities: for each pair that is not null, a list of [start, end, type].
    """
    triples = iter(entities)
    return [pair and [pair[0], pair[1] | {"entities": next(triples)}] for pair in pairs]


def _read_text(location: str, line: int, pair: Any) -> AnnotatedText:
    text, annotations = pair
    if annotations and "entities" not in annotations:
        problem = f'a pair of spaCy needs {{"entities": […]}}, found {list_names(list(annotations))}'
        raise InputError(f"{location}: {problem}; correct it")
    entities = annotations.get("entities")
    if entities is None:
        return AnnotatedText(text, None, line, location)
    if not isinstance(entities, list):
        problem = f'"entities" is {json_type(entities)}, a list of spans is needed'
        raise InputError(f"{location}: {problem}; correct it")
    return AnnotatedText(text, [_read_span(location, entity) for entity in entities], line, location)


def _read_span(location: str, entity: Any) -> Span:
    if not has_form(entity, (object, object, object)):
        form = 'expected "entities": a list of [start, end, type]'
        raise InputError(f"{location}: {form}, found {quote(str(entity))}; correct it")
    start, end, entity_type = entity
    return make_span(entity_type, start, end, location)
