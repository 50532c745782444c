"""Converter from Label Studio's small export format, JSON-MIN, to tasks as in its format JSON.

    {"id": 7, "text": "in New York.", "label": [{"start": 3, "end": 11, "labels": ["LOC"]}],
      "annotation_id": 9, "lead_time": 2.5}

A record is one annotation. It has the same members as "data", and the regions per project tag.
"""

from collections.abc import Sequence
from typing import Any

from bert_cli.base.json_files import JsonObject, as_list, as_object, has_form
from bert_cli.reading.exports.label_studio import ADDED_MEMBERS, ANNOTATION_ID, LEAD_TIME, REGION
from bert_cli.reading.records import JsonRecord

LABEL_STUDIO_MIN = "label_studio_min"


def is_record(value: Any) -> bool:
    """Return whether a value has labeled regions, or members that Label Studio adds."""
    return bool(_find_label_members(as_object(value))) or has_form(value, {ANNOTATION_ID: object, LEAD_TIME: object})


def to_tasks(records: Sequence[JsonRecord]) -> list[JsonRecord]:
    """Convert records to tasks; if a task has several annotations, only the first is used."""
    members = find_label_members(records)
    tasks: dict[str, JsonRecord] = {}
    for number, (line, record) in enumerate(records):
        # A record without an id is a separate task.
        name = str(record.get("id", f"record {number}"))
        tasks.setdefault(name, JsonRecord(line, _make_task(record, members)))
    return list(tasks.values())


def find_label_members(records: Sequence[JsonRecord]) -> set[str]:
    """Return the names of members that are lists of regions in any record."""
    return {name for _, record in records for name in _find_label_members(as_object(record))}


def _find_label_members(record: JsonObject) -> list[str]:
    """Return the names of members that are lists of regions, with at least one label."""
    return [
        name
        for name, value in record.items()
        if has_form(value, [REGION]) and any("labels" in region for region in as_list(value))
    ]


def _make_task(record: JsonObject, members: set[str]) -> JsonObject:
    data = {name: value for name, value in record.items() if name not in ADDED_MEMBERS | members}
    result = [
        {"from_name": name, "to_name": "text", "type": "labels", "value": region}
        for name, regions in record.items()
        if name in members
        for region in as_list(regions)
    ]
    identity = {"id": record["id"]} if "id" in record else {}
    annotations = [{"result": result}] if result or ANNOTATION_ID in record else []
    return {**identity, "data": data, "annotations": annotations}
