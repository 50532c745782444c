"""Writer of predicted entities in the annotation tool format that was read."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.json_files import JsonObject, to_json
from bert_cli.base.names import (
    TEST_PREDICTIONS_DOCUMENTS,
    TEST_PREDICTIONS_JSON,
    TEST_PREDICTIONS_JSON_DOCUMENT,
)
from bert_cli.base.writing import atomic_paths, atomic_write
from bert_cli.examples.annotations import dataturks, label_studio, training_pairs
from bert_cli.examples.annotations.dataturks import DATATURKS
from bert_cli.examples.annotations.label_studio import LABEL_STUDIO
from bert_cli.examples.annotations.label_studio_min import LABEL_STUDIO_MIN
from bert_cli.examples.annotations.reading import BRAT, parse_records
from bert_cli.examples.annotations.record_formats import RecordFile
from bert_cli.examples.annotations.span_lists import FORMATS
from bert_cli.examples.annotations.training_pairs import SPACY_PAIRS
from bert_cli.examples.tag_schemes import EntityRecord
from bert_cli.examples.tagging import TaggingFile
from bert_cli.examples.text_lines import split_text
from bert_cli.outputs.answers.tagging import TagPrediction, TextEntities, example_entities
from bert_cli.settings.answering import DOCCANO_ANNOTATIONS, DOCCANO_RELATIONS, PRODIGY
from bert_cli.text.offset_units import CODE_POINTS, OffsetUnit

# Line ends for brat, which reads with str.splitlines.
_ENDS = "\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_LINE_ENDS = re.compile(f"[{_ENDS}]+")
_LINES_AND_ENDS = re.compile(f"[^{_ENDS}]+|[{_ENDS}]+")
_LABEL_ID = re.compile("0|[1-9][0-9]{0,17}")
_MODEL = "bert-tag"  # model name that Label Studio shows next to a prediction


def annotation_files(file: TaggingFile) -> tuple[str, ...]:
    """Return the names of files that write_annotations makes, relative to the output directory."""
    if file.format == BRAT:
        names = [f"{TEST_PREDICTIONS_DOCUMENTS}/{example.name}" for example in file.examples]
        return tuple(f"{name}{extension}" for name in names for extension in (".txt", ".ann"))
    return (TEST_PREDICTIONS_JSON_DOCUMENT if file.format in _DOCUMENT_WRITERS else TEST_PREDICTIONS_JSON,)


def write_annotations(folder: str, file: TaggingFile, predictions: Sequence[TagPrediction]) -> str:
    """Write the texts with predicted spans instead of annotated ones, and return the path.

    Offsets use the file's unit, such as UTF-16 code units. Other record members are kept,
    unless they describe an annotator's spans.

    Args:
        folder: output directory.
        file: the texts, in the format to write.
        predictions: prediction for each text.
    """
    answers = [
        example_entities(example, prediction) for example, prediction in zip(file.examples, predictions, strict=True)
    ]
    if file.format == BRAT:
        return _write_documents(folder, file, [answer["entities"] for answer in answers])
    entities = [_entities(answer, file.unit) for answer in answers]
    path = os.path.join(folder, annotation_files(file)[0])
    content = parse_records(file)
    with atomic_write(path) as out:
        if make_document := _DOCUMENT_WRITERS.get(file.format):
            out.write(to_json(make_document(content, entities, predictions), indent=2) + "\n")
        elif replace_entities := _RECORD_WRITERS.get(file.format):
            pairs = zip(content.records, entities, strict=True)
            out.writelines(to_json(replace_entities(record.value, predicted)) + "\n" for record, predicted in pairs)
        else:
            out.writelines(to_json(record) + "\n" for record in _records(content, entities, file.format))
    return path


def _entities(answer: TextEntities, unit: OffsetUnit) -> list[EntityRecord]:
    """Return the entities from example_entities, with offsets in the file's unit."""
    entities = answer["entities"]
    if unit != CODE_POINTS:
        offsets = unit.measure(answer["text"])
        for entity in entities:
            entity["start"], entity["end"] = offsets[entity["start"]], offsets[entity["end"]]
    return entities


def _records(content: RecordFile, entities: Sequence[list[EntityRecord]], name: str) -> Iterator[JsonObject]:
    key, names, _ = FORMATS[name]
    number = 0
    for (_, record), predicted in zip(content.records, entities, strict=True):
        triples = [_triple(entity) for entity in predicted]
        spans: list[Any] = triples
        if names:
            spans = [dict(zip(names, triple, strict=True)) for triple in triples]
        if "relations" in record:  # relations between the annotator's spans
            record["relations"] = []
        if name == PRODIGY:
            _number_tokens(spans, record.get("tokens"))
            # Prodigy skips tasks with a known hash, and assumes that a person gave the answer.
            for member in ("_task_hash", "answer"):
                record.pop(member, None)
        elif name == DOCCANO_RELATIONS:
            spans = [{"id": number + position, **span} for position, span in enumerate(spans, 1)]
            number += len(spans)
        elif name == DOCCANO_ANNOTATIONS:
            spans = [span | {"label": _label_id(span["label"])} for span in spans]
        record[key] = spans
        yield record


def _triple(entity: EntityRecord) -> tuple[int, int, str]:
    return entity["start"], entity["end"], entity["type"]


def _label_id(label: str) -> str | int:
    """Return the id that a type was made from, or the type if it is not a number."""
    return int(label) if _LABEL_ID.fullmatch(label) else label


def _pairs(content: RecordFile, entities: Sequence[list[EntityRecord]], predictions: Sequence[TagPrediction]) -> Any:
    """Return spaCy pairs in their original wrapper; its classes get the predicted types."""
    triples = [[list(_triple(entity)) for entity in predicted] for predicted in entities]
    pairs = training_pairs.replace_entities([record.value for record in content.records], triples)
    if content.wrapper is None:
        return pairs
    classes = content.wrapper.get("classes")
    updated = {content.member: pairs}
    if isinstance(classes, list) and all(isinstance(name, str) for name in classes):
        types = [entity["type"] for predicted in entities for entity in predicted]
        updated["classes"] = list(dict.fromkeys([*classes, *types]))
    return content.wrapper | updated


def _number_tokens(spans: Sequence[dict], tokens: Any) -> None:
    """Add each span's first and last token if Prodigy's tokens have the same boundaries."""
    token_dicts = [token for token in tokens if isinstance(token, dict)] if isinstance(tokens, list) else []
    first = {start: token.get("id") for token in token_dicts if isinstance(start := token.get("start"), int)}
    last = {end: token.get("id") for token in token_dicts if isinstance(end := token.get("end"), int)}
    for span in spans:
        if span["start"] in first and span["end"] in last:
            span |= {"token_start": first[span["start"]], "token_end": last[span["end"]]}


def _tasks(
    content: RecordFile, entities_of: Sequence[list[EntityRecord]], predictions: Sequence[TagPrediction]
) -> list[dict]:
    """Return the tasks with `predictions` for Label Studio; annotations stay."""
    tasks = [record.value for record in content.records]
    region = next((region for task in tasks for region in label_studio.iterate_regions(task)), {})
    # If nothing is annotated, use the names in Label Studio's template for named entities.
    names = {key: region.get(key, name) for key, name in (("from_name", "label"), ("to_name", "text"))}
    for task, entities, prediction in zip(tasks, entities_of, predictions, strict=True):
        result = [
            {
                "id": f"{position}",
                **names,
                "type": "labels",
                "value": {key: entity[key] for key in ("start", "end", "text")} | {"labels": [entity["type"]]},
                "score": entity["score"],
            }
            for position, entity in enumerate(entities, 1)
        ]
        probabilities = prediction.probabilities[~np.isnan(prediction.probabilities)]
        score = {"score": round(float(probabilities.mean()), 6)} if len(probabilities) else {}
        task["predictions"] = [{"model_version": _MODEL, **score, "result": result}]
    return tasks


# Writers of formats that are one JSON document, and of formats with records of their own. The other
# formats have a list of spans in each record.
_DOCUMENT_WRITERS: dict[str, Callable[[RecordFile, Sequence[list[EntityRecord]], Sequence[TagPrediction]], Any]] = {
    SPACY_PAIRS: _pairs,
    LABEL_STUDIO: _tasks,
    LABEL_STUDIO_MIN: _tasks,
}
_RECORD_WRITERS: dict[str, Callable[[JsonObject, Sequence[EntityRecord]], JsonObject]] = {
    DATATURKS: dataturks.replace_entities,
}


def _write_documents(folder: str, file: TaggingFile, entities_of_texts: Sequence[list[EntityRecord]]) -> str:
    target = os.path.join(folder, TEST_PREDICTIONS_DOCUMENTS)
    files.make_directory(target)
    contents = [
        content
        for text, entities in zip(file.lines, entities_of_texts, strict=True)
        for content in (text, _standoff(text, entities, file.unit))
    ]
    # Write all documents or none: a run that stops half-way must not leave unlisted documents.
    with atomic_paths([os.path.join(folder, name) for name in annotation_files(file)]) as temporaries:
        for temporary, content in zip(temporaries, contents, strict=True):
            with open(temporary, "w", encoding="utf-8", newline="\n") as out:
                out.write(content)
    return target


def _standoff(text: str, entities: Sequence[EntityRecord], unit: OffsetUnit) -> str:
    """Return a document's .ann text, `T1 TAB type start end TAB text` per entity.

    A span across line ends has several fragments.

    Args:
        text: the document.
        entities: its entities, with offsets in code points.
        unit: unit of the offsets to write.
    """
    lines = []
    starts = unit.measure(text)
    for number, entity in enumerate(entities, 1):
        fragments = list(_fragments(text, entity["start"], entity["end"]))
        offsets = ";".join(f"{starts[start]} {starts[end]}" for start, end in fragments)
        covered_text = " ".join(text[start:end] for start, end in fragments)
        lines.append(f"T{number}\t{entity['type']} {offsets}\t{_LINE_ENDS.sub(' ', covered_text)}\n")
    return "".join(lines)


def _fragments(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for piece in _LINES_AND_ENDS.finditer(text, start, end):
        # Words may consist of line-end characters for brat: keep these at a span's start or end.
        is_kept = piece.start() == start or piece.end() == end or not _LINE_ENDS.match(piece[0])
        if is_kept and split_text(piece[0])[0]:
            spaces = " \t\n\r"
            yield piece.end() - len(piece[0].lstrip(spaces)), piece.start() + len(piece[0].rstrip(spaces))
