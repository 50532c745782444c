"""Tasks of Label Studio."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.label_studio import read_tasks

REGION = {"type": "labels", "value": {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}}


def read(*tasks, indent=None):
    return read_tasks("a.json", json.dumps(tasks, indent=indent))


def task(*annotations, **others):
    return {"data": {"text": "Anna left"}, "annotations": list(annotations)} | others


def test_line_and_id_of_a_task():
    tasks = [task({"result": [REGION]}, id=12), task()]
    assert [(each.line, each.name, each.place) for each in read(*tasks)] == [
        (1, "12", "a.json:1 (task 12)"),
        (1, "2", "a.json:1 (task 2)"),
    ]
    assert [each.line for each in read(*tasks, indent=1)] == [2, 25]


def test_which_annotation_counts():
    first, truth = {"result": []}, {"result": [REGION], "ground_truth": True}
    skipped = {"result": [REGION], "was_cancelled": True}
    other = {"result": [{"type": "choices", "value": {"choices": ["good"]}}, {"type": "relation", "from_id": "x"}]}
    found = [each.spans for each in read(task(first, truth), task(skipped, first), task(skipped), task(), task(other))]
    assert [None if spans is None else len(spans) for spans in found] == [1, 0, None, None, 0]


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([task(), [1]], 'a.json:1: tasks {"data": {"text": …}, "annotations": […]} as Label Studio exports as JSON'),
        ([{"text": "Anna", "label": []}], "a.json:1: tasks {"),
        ([task() | {"annotations": 5}], "a.json:1: tasks {"),
        ([task(5)], "a.json:1: tasks {"),
        ([task({"result": 5})], "a.json:1: tasks {"),
        (
            [task({"result": [{"type": "hypertextlabels", "value": {"hypertextlabels": ["A"]}}]}, id=5)],
            "a.json:1 (task 5): a region of type hypertextlabels; only labels of plain texts can be read",
        ),
        ([], "a.json: holds no tasks; tasks {"),
        (
            [{"data": {"a": "x", "b": "y"}}],
            'a.json: the "data" of the tasks holds several texts (a, b); name the one to tag',
        ),
        ([{"data": {"a": 1}}], 'a.json: the "data" of the tasks holds no text; name the one to tag "text"'),
        (
            [task({"result": [{"value": {"start": 0, "end": 4, "labels": ["A", "B"]}}]}, id=5)],
            "a.json:1 (task 5): a region needs one label, found \"['A', 'B']\"; correct it",
        ),
        (
            [task({"result": [{"value": {"start": "/p[1]", "end": 4, "labels": ["A"]}}]}, id=5)],
            "a.json:1 (task 5): the offsets of a span are whole numbers, found '/p[1]' and 4; correct it",
        ),
    ],
)
def test_bad_tasks(tasks, expected):
    with pytest.raises(InputError) as caught:
        read(*tasks)
    assert str(caught.value).startswith(expected)


def test_not_json():
    with pytest.raises(InputError, match=r"a\.json:2: is not JSON"):
        read_tasks("a.json", '[{"data": {"text": "a"}},\n oops]')
