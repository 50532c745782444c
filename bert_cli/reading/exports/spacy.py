"""Readers of spaCy's categories: texts with their annotations, and version 2's JSON.

["A fine film.", {"cats": {"pos": 1.0, "neg": 0.0}}]
{"id": 0, "paragraphs": [{"raw": "A fine film.", "cats": [{"label": "pos", "value": 1.0}]}]}
"""

from collections.abc import Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.json_files import JsonObject, has_form

_CATS = "cats"
_FORM = '{"raw": "…", "cats": [{"label": "…", "value": 1.0}]} is needed'


def is_category_pair(value: Any) -> bool:
    """Return whether a value is a text with categories."""
    return has_form(value, (str, {_CATS: dict}))


def convert_pairs(path: str, records: Sequence[tuple[int, Any]]) -> list[list[JsonObject]]:
    """Return a row per pair, see `exports.table.JsonExport`."""
    return [[{"text": text, **annotations}] for _, (text, annotations) in records]


def is_document(value: Any) -> bool:
    """Return whether a value is a document with categories in a paragraph."""
    return has_form(value, {"paragraphs": list}) and any(
        has_form(paragraph, {_CATS: object}) for paragraph in value["paragraphs"]
    )


def convert_documents(path: str, records: Sequence[tuple[int, Any]]) -> list[list[JsonObject]]:
    """Return a row per paragraph, see `exports.table.JsonExport`."""
    return [[_read_paragraph(f"{path}:{line}", item) for item in value["paragraphs"]] for line, value in records]


def _read_paragraph(location: str, paragraph: Any) -> JsonObject:
    if not has_form(paragraph, {"raw": str, _CATS: [{"label": object, "value": object}]}):
        raise InputError(f"{location}: a paragraph is {quote(str(paragraph))}; {_FORM}")
    return {"text": paragraph["raw"], _CATS: {str(cat["label"]): cat["value"] for cat in paragraph[_CATS]}}
