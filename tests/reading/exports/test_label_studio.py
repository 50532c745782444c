"""Label Studio's exports of text classifications: JSON, JSON-MIN and CSV."""

import csv
import json

import pytest

from bert_cli.base.errors import InputError
from tests.reading.exports.labeled import read_labeled, read_table, write_json
from tests.snapshots import raises


def choices(*names, tag="sentiment", **members):
    return {"from_name": tag, "to_name": "text", "type": "choices", "value": {"choices": list(names), **members}}


def task(number, text, *annotations):
    """A task; each annotation is a list of regions."""
    results = [{"id": 100 + number, "result": regions} for regions in annotations]
    return {"id": number, "data": {"text": text}, "annotations": results, "predictions": []}


TASKS = [
    task(1, "A fine film.", [choices("pos")]),
    task(2, "Dull.", [choices("neg")]),
    task(3, "So so.", [choices("pos")]),
]
EXPECTED = [("A fine film.", "pos"), ("Dull.", "neg"), ("So so.", "pos")]


@pytest.mark.parametrize("name", ["export.json", "export.jsonl"])
def test_tasks_in_json(name, tmp_path):
    path = write_json(tmp_path / name, TASKS)
    assert read_labeled(path) == ("single_label", EXPECTED)
    table = read_table(path)
    assert [row.identifier for row in table.rows] == ["1", "2", "3"]
    assert table.facts.not_used == ["annotation_id", "lead_time", "predictions"]


def test_a_single_task_is_a_table_of_one_row(tmp_path):
    path = tmp_path / "task.json"
    path.write_text(json.dumps(TASKS[0]))
    assert [row.text_a for row in read_table(path).rows] == ["A fine film."]


def test_several_choices_and_an_unusual_tag(tmp_path):
    tasks = [
        task(1, "a", [choices("food", "staff", tag="aspect_of")]),
        task(2, "b", []),
        task(3, "c", [choices("food", tag="aspect_of")]),
    ]
    assert read_labeled(write_json(tmp_path / "t.json", tasks)) == (
        "multi_label",
        [("a", (1, 1)), ("b", (0, 0)), ("c", (1, 0))],
    )


def test_the_flag_chooses_one_of_two_tags(tmp_path):
    tasks = [
        task(number, text, [choices(label, tag="mood"), choices(topic, tag="topic_of")])
        for number, (text, label, topic) in enumerate(
            (("a", "pos", "food"), ("b", "neg", "staff"), ("c", "neg", "food"))
        )
    ]
    path = write_json(tmp_path / "t.json", tasks)
    assert read_labeled(path, label_column="topic_of")[1] == [("a", "food"), ("b", "staff"), ("c", "food")]
    with pytest.raises(InputError, match=r"give --label_column by name: .*'mood'.*'topic_of'"):
        read_table(path)


def test_ratings_are_numbers(tmp_path):
    rating = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 4}}
    other = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 2}}
    assert read_labeled(write_json(tmp_path / "t.json", [task(1, "a", [rating]), task(2, "b", [other])])) == (
        "single_label",
        [("a", "4"), ("b", "2")],
    )
    nothing = {"from_name": "stars", "to_name": "text", "type": "number", "value": {"number": 0}}
    path = write_json(tmp_path / "t.json", [task(1, "a", [rating]), task(2, "b", [nothing])])
    assert [row.labels for row in read_table(path).rows] == [("4",), ("0",)]


def test_unannotated_and_skipped_tasks_are_left_out_of_training_only(tmp_path):
    skipped = task(5, "Skipped.")
    skipped["annotations"] = [{"result": [choices("pos")], "was_cancelled": True}]
    path = write_json(tmp_path / "t.json", [task(4, "New."), *TASKS, skipped])
    assert read_labeled(path)[1] == EXPECTED
    assert [str(rows) for rows in read_table(path).left_out] == [
        "texts that nobody has annotated (2; the first is line 2)"
    ]
    assert len(read_table(path, needs_label=False).rows) == 5


def test_the_ground_truth_counts(tmp_path, caplog):
    several = task(1, "A fine film.", [choices("neg")], [choices("pos")])
    several["annotations"][1]["ground_truth"] = True
    path = write_json(tmp_path / "t.json", [several, *TASKS[1:]])
    caplog.set_level("INFO")
    assert read_labeled(path)[1] == EXPECTED
    assert f"{path}: 1 further annotations of tasks with several are not used" in caplog.messages


def test_choices_about_a_region_are_not_about_the_text(tmp_path, caplog):
    comment = {"from_name": "why", "type": "textarea", "value": {"text": ["x"]}}
    tasks = [task(1, "a", [choices("x", start=0, end=1), choices("pos"), comment]), task(2, "b", [choices("neg")])]
    path = write_json(tmp_path / "t.json", tasks)
    caplog.set_level("INFO")
    assert read_labeled(path)[1] == [("a", "pos"), ("b", "neg")]
    assert f"{path}: annotations of the types choices, textarea are not used" in caplog.messages


@pytest.mark.parametrize(
    "damaged",
    [
        {"id": 2, "data": {"text": "b"}, "annotations": [7]},
        {"id": 2, "data": "b", "annotations": []},
        task(2, "b", [{"from_name": "sentiment", "type": "choices", "value": {"choices": "pos"}}]),
    ],
)
def test_damaged_tasks_are_refused(damaged, tmp_path):
    with raises(InputError, "t.jsonl:2: "):
        read_table(write_json(tmp_path / "t.jsonl", [TASKS[0], damaged]))


def test_regions_of_words_are_named(tmp_path, caplog):
    region = {"from_name": "label", "type": "labels", "value": {"start": 0, "end": 1, "labels": ["PER"]}}
    path = write_json(tmp_path / "t.json", [task(1, "Anna", [region])])
    with raises(InputError, "t.json:1: "):
        read_table(path)
    assert f"{path}: warning: no task has choices about its text; annotations have the types labels" in caplog.messages
    assert [row.text_a for row in read_table(path, needs_label=False).rows] == ["Anna"]


@pytest.mark.parametrize("tag", ["sentiment", "mood"])
def test_the_small_exports(tag, tmp_path):
    added = {
        "annotation_id": 7,
        "annotator": 1,
        "created_at": "2024-01-01",
        "updated_at": "2024-01-01",
        "lead_time": 2.5,
    }
    records = [{"id": number, "text": text, tag: label, **added} for number, (text, label) in enumerate(EXPECTED)]
    assert read_labeled(write_json(tmp_path / "min.json", records)) == ("single_label", EXPECTED)
    cells = [record | {tag: json.dumps({"choices": [record[tag]]})} for record in records]
    with open(tmp_path / "export.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(cells)
    assert read_labeled(tmp_path / "export.csv") == ("single_label", EXPECTED)
