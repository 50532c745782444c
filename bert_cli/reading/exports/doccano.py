"""Reader of doccano's older export, with label ids per annotator.

    {"text": "A fine film.", "annotations": [{"label": 2, "user": 1}]}

becomes {"text": "A fine film.", "label": ["2"]}. Newer exports have "label" with names.
"""

from collections.abc import Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.json_files import JsonObject, has_form
from bert_cli.base.log import LOG

_ANNOTATIONS = "annotations"


def has_label_ids(value: Any) -> bool:
    """Return whether a value is a text with annotations about the whole text."""
    return has_annotations(value) and bool(value[_ANNOTATIONS]) and all(map(_is_annotation, value[_ANNOTATIONS]))


def has_annotations(value: Any) -> bool:
    """Return whether a value is a text with a list of annotations, which may be empty."""
    return has_form(value, {"text": str, _ANNOTATIONS: list})


def _is_annotation(value: Any) -> bool:
    is_label = has_form(value, {"label": object, "user": object}) and "start_offset" not in value
    return is_label and type(value["label"]) in (int, str)


def convert_texts(path: str, records: Sequence[tuple[int, Any]]) -> list[list[JsonObject]]:
    """Return a row per text, using label ids as labels; see `exports.table.JsonExport`."""
    rows = []
    for line, record in records:
        annotations = record[_ANNOTATIONS]
        invalid = next((item for item in annotations if not _is_annotation(item)), None)
        if invalid is not None:
            raise InputError(f"{path}:{line}: the annotation {quote(str(invalid))} is not about the whole text")
        labels = list(dict.fromkeys(str(item["label"]) for item in annotations))
        members = {name: value for name, value in record.items() if name != _ANNOTATIONS}
        rows.append([{**members, "label": labels}])
    LOG.info('%s: the labels are doccano\'s label ids; its export "JSONL" has names', path)
    return rows
