"""Exports of annotation tools with labels of whole texts: one row per tool and form."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.reading.exports import doccano, label_studio, spacy
from bert_cli.reading.exports.cells import find_unused_members


class JsonExport(NamedTuple):
    """An export in JSON.

    Attributes:
        title: plural noun for the records.
        recognizes: function that returns whether a record has the form without doubt.
        fits: function that returns whether a record may be in the same file.
        convert: function that returns rows per record, using the file's name and (line, record)
            pairs. It raises InputError if a record is damaged.
        used: paths of members that become columns, () if all do.
    """

    title: str
    recognizes: Callable[[Any], bool]
    fits: Callable[[Any], bool]
    convert: Callable[[str, Sequence[tuple[int, Any]]], list[list[JsonObject]]]
    used: Sequence[Sequence[str]] = ()

    def find_unread(self, values: Iterable[Any]) -> list[str]:
        """Return the paths of members without a column, in order of occurrence."""
        return find_unused_members(values, self.used) if self.used else []


EXPORTS = (
    JsonExport(
        "tasks of Label Studio",
        label_studio.is_exported_task,
        label_studio.is_task,
        label_studio.convert_tasks,
        (("id",), ("data",), *label_studio.ANNOTATIONS),
    ),
    JsonExport(
        "texts of doccano with label ids", doccano.has_label_ids, doccano.has_annotations, doccano.convert_texts
    ),
    JsonExport(
        "pairs of spaCy, a text and its cats", spacy.is_category_pair, spacy.is_category_pair, spacy.convert_pairs
    ),
    JsonExport(
        "documents of spaCy with cats",
        spacy.is_document,
        spacy.is_document,
        spacy.convert_documents,
        (("paragraphs", "raw"), ("paragraphs", "cats")),
    ),
)


def find_export(value: Any) -> JsonExport | None:
    """Return the export that has a record's form, or None."""
    return next((export for export in EXPORTS if export.recognizes(value)), None)


def convert_records(path: str, export: JsonExport, records: Sequence[tuple[int, Any]]) -> list[tuple[int, JsonObject]]:
    """Return all rows with their lines.

    Args:
        path: the file, for messages.
        export: the records' form.
        records: lines and values.

    Raises:
        InputError: a record has another form, or is damaged.
    """
    for line, value in records:
        if not export.fits(value):
            raise InputError(f"{path}:{line}: differs from the other records, which are {export.title}; correct it")
    rows = export.convert(path, records)
    return [(line, row) for (line, _), record_rows in zip(records, rows, strict=True) for row in record_rows]
