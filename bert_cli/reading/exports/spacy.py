"""Readers of spaCy's categories: texts with their annotations, and version 2's JSON.

["A fine film.", {"cats": {"pos": 1.0, "neg": 0.0}}]
{"id": 0, "paragraphs": [{"raw": "A fine film.", "cats": [{"label": "pos", "value": 1.0}]}]}
"""

from collections.abc import Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.json_files import JsonObject

_CATS = "cats"
_FORM = '{"raw": "…", "cats": [{"label": "…", "value": 1.0}]} is needed'


def is_pair(value: Any) -> bool:
    """Return whether a value is a text with categories."""
    if not (isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)):
        return False
    return isinstance(value[1].get(_CATS), dict)


def convert_pairs(path: str, records: Sequence[tuple[int, Any]]) -> list[list[JsonObject]]:
    """Return a row per pair, see `exports.table.Export`."""
    return [[{"text": text, **annotations}] for _, (text, annotations) in records]


def is_document(value: Any) -> bool:
    """Return whether a value is a document with categories in a paragraph."""
    paragraphs = value.get("paragraphs") if isinstance(value, dict) else None
    return isinstance(paragraphs, list) and any(isinstance(item, dict) and _CATS in item for item in paragraphs)


def convert_documents(path: str, records: Sequence[tuple[int, Any]]) -> list[list[JsonObject]]:
    """Return a row per paragraph, see `exports.table.Export`."""
    return [[_read_paragraph(f"{path}:{line}", item) for item in value["paragraphs"]] for line, value in records]


def _read_paragraph(location: str, paragraph: Any) -> JsonObject:
    members = paragraph if isinstance(paragraph, dict) else {}
    cats = members.get(_CATS)
    are_cats = isinstance(cats, list) and all(isinstance(cat, dict) and {"label", "value"} <= set(cat) for cat in cats)
    if not are_cats or not isinstance(members.get("raw"), str):
        raise InputError(f"{location}: a paragraph is {quote(str(paragraph))}; {_FORM}")
    return {"text": members["raw"], _CATS: {str(cat["label"]): cat["value"] for cat in cats or ()}}
