"""The smaller export of Label Studio, JSON-MIN -> tasks as in its export JSON.

    {"id": 7, "text": "in New York.", "label": [{"start": 3, "end": 11, "labels": ["LOC"]}],
      "annotation_id": 9, "lead_time": 2.5}

A record is one annotation, with its members of "data" and the regions of each tag of the project.
"""

from collections.abc import Sequence
from typing import Any

from bert_cli.examples.table_files.json_values import JsonRecord

LABEL_STUDIO_MIN = "label_studio_min"
# Members that Label Studio adds to the data.
_ANNOTATION_ID = "annotation_id"
_ADDED = {"id", _ANNOTATION_ID, "annotator", "created_at", "updated_at", "lead_time"}


def is_record(value: Any) -> bool:
    """Return whether a value has regions with labels, or members that Label Studio adds."""
    if not isinstance(value, dict):
        return False
    return bool(_label_members(value)) or {_ANNOTATION_ID, "lead_time"} <= set(value)


def to_tasks(records: Sequence[JsonRecord]) -> list[JsonRecord]:
    """Return the records as tasks. Of several annotations of a task, the first counts."""
    members = {name for _, record in records for name in _label_members(record)}
    tasks: dict[str, JsonRecord] = {}
    for number, (line, record) in enumerate(records):
        # Without an id, each record is a task.
        name = str(record.get("id", f"record {number}"))
        tasks.setdefault(name, JsonRecord(line, _task(record, members)))
    return list(tasks.values())


def _label_members(record: dict[str, Any]) -> list[str]:
    """Return the names of the members that hold regions, at least one of them with a label."""
    return [
        name
        for name, value in record.items()
        if isinstance(value, list)
        and all(isinstance(region, dict) and {"start", "end"} <= set(region) for region in value)
        and any("labels" in region for region in value)
    ]


def _task(record: dict[str, Any], members: set[str]) -> dict[str, Any]:
    data = {name: value for name, value in record.items() if name not in _ADDED | members}
    result = [
        {"from_name": name, "to_name": "text", "type": "labels", "value": region}
        for name, regions in record.items()
        if name in members and isinstance(regions, list)
        for region in regions
    ]
    identity = {"id": record["id"]} if "id" in record else {}
    annotations = [{"result": result}] if result or _ANNOTATION_ID in record else []
    return {**identity, "data": data, "annotations": annotations}
