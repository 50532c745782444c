"""Label Studio's small export format becomes tasks."""

from bert_cli.examples.annotations.label_studio_min import is_record, to_tasks
from bert_cli.reading.records import JsonRecord

REGION = {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}
ADDED = {"annotator": 1, "annotation_id": 5, "created_at": "x", "updated_at": "y", "lead_time": 2.5}


def tasks(*records):
    return [task for _, task in to_tasks([JsonRecord(line, record) for line, record in enumerate(records, 1)])]


def test_is_record():
    assert is_record({"text": "Anna", "ner": [REGION]})
    assert is_record({"text": "Anna", **ADDED})
    assert not is_record({"text": "Anna", "spans": [{"start": 0, "end": 4, "label": "PER"}]})
    assert not is_record({"text": "Anna", "label": [[0, 4, "PER"]]})
    assert not is_record([REGION])


def test_regions_and_data():
    regions = [REGION, {"start": 5, "end": 9, "text": "left"}]
    assert tasks({"ner": regions, "id": 7, "text": "Anna left", "source": "mail", **ADDED}) == [
        {
            "id": 7,
            "data": {"text": "Anna left", "source": "mail"},
            "annotations": [
                {
                    "result": [
                        {"from_name": "ner", "to_name": "text", "type": "labels", "value": region} for region in regions
                    ]
                }
            ],
        }
    ]


def test_a_record_without_regions():
    """Such a record is annotated if it has an annotation id. Other records show which members have regions."""
    unlabeled = {"start": 0, "end": 1, "text": "a"}
    converted = tasks(
        {"text": "Anna", "ner": [REGION]}, {"text": "a", "ner": [unlabeled]}, {"text": "b"}, {"text": "c", **ADDED}
    )
    assert [task["data"] for task in converted] == [{"text": "Anna"}, {"text": "a"}, {"text": "b"}, {"text": "c"}]
    assert [len(task["annotations"]) for task in converted] == [1, 1, 0, 1]
    assert converted[1]["annotations"][0]["result"][0]["value"] == unlabeled


def test_first_annotation_of_a_task_is_used():
    converted = to_tasks(
        [JsonRecord(2, {"id": 7, "text": "a", "ner": [REGION]}), JsonRecord(3, {"id": 7, "text": "a", **ADDED})]
    )
    assert [(line, len(task["annotations"][0]["result"])) for line, task in converted] == [(2, 1)]
