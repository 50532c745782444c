"""Label Studio tasks."""

import json
import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.annotated_texts import UnlabeledSpan
from bert_cli.examples.annotations.label_studio import count_unannotated, read_tasks
from bert_cli.examples.annotations.record_formats import parse_file_records
from tests.snapshots import check_message, raises

REGION = {"type": "labels", "value": {"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}}


def read(*tasks, indent=None):
    return read_tasks("a.json", parse_file_records("a.json", json.dumps(tasks, indent=indent)).records)[1]


def task(*annotations, **members):
    return {"data": {"text": "Anna left"}, "annotations": list(annotations)} | members


def test_line_and_id_of_a_task():
    tasks = [task({"result": [REGION]}, id=12), task()]
    assert [(text.line, text.name, text.location) for text in read(*tasks)] == [
        (1, "12", "a.json:1 (task 12)"),
        (1, "2", "a.json:1 (task 2)"),
    ]
    assert [text.line for text in read(*tasks, indent=1)] == [2, 25]


def test_ground_truth_or_first_annotation_is_used():
    first, truth = {"result": []}, {"result": [REGION], "ground_truth": True}
    skipped = {"result": [REGION], "was_cancelled": True}
    other_result = {
        "result": [{"type": "choices", "value": {"choices": ["good"]}}, {"type": "relation", "from_id": "x"}]
    }
    spans = [
        text.spans for text in read(task(first, truth), task(skipped, first), task(skipped), task(), task(other_result))
    ]
    assert [None if text_spans is None else len(text_spans) for text_spans in spans] == [1, 0, None, None, 0]


@pytest.mark.parametrize(
    ("tasks", "fragment"),
    [
        ([task() | {"annotations": 5}], "a.json:1: "),
        ([task(5)], "a.json:1: "),
        ([task({"result": 5})], "a.json:1: "),
        ([task({"result": [{"type": "hypertextlabels", "value": {"hypertextlabels": ["A"]}}]}, id=5)], "a.json:1"),
        ([{"data": {"a": "x", "b": "y"}}], "a.json: "),
        ([{"data": {"a": 1, "b": "x"}}, {"data": {"b": None}}], "a.json: "),
        (
            [task({"result": [{"type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["A"]}}]}, id=5)],
            "a.json:1",
        ),
        ([task({"result": [{"value": {"start": 0, "end": 4, "labels": ["A", "B"]}}]}, id=5)], "a.json:1"),
        ([task({"result": [{"value": {"start": "/p[1]", "end": 4, "labels": ["A"]}}]}, id=5)], "a.json:1"),
    ],
)
def test_invalid_tasks(tasks, fragment):
    with raises(InputError, fragment):
        read(*tasks)


@pytest.mark.parametrize("indent", [None, 1])
def test_tasks_before_version_1(indent):
    """They have "completions" instead of "annotations"."""
    old = {"data": {"text": "Anna left"}, "completions": [{"result": [REGION], "was_cancelled": False}]}
    skipped = {"completions": [{"result": [REGION], "skipped": True}], "data": {"text": "a"}}
    texts = read(old, skipped, {"data": {"text": "b"}, "completions": []}, indent=indent)
    assert [None if text.spans is None else len(text.spans) for text in texts] == [1, None, None]


@pytest.mark.parametrize("labels", [{}, {"labels": []}, {"labels": None}])
def test_regions_without_a_label_are_kept(labels):
    value = {"start": 5, "end": 9, "text": "left", **labels}
    (text,) = read(task({"result": [REGION, {"type": "labels", "value": value}]}, id=3))
    assert len(text.spans) == 1
    assert text.unlabeled == (UnlabeledSpan("a.json:1 (task 3)", 5, 9),)


def test_regions_of_other_controls_are_not_labels():
    other_regions = [
        {"type": "textarea", "value": {"start": 5, "end": 9, "text": ["a note"]}},
        {"type": "choices", "value": {"start": 5, "end": 9, "choices": ["good"]}},
        {"type": "rectanglelabels", "value": {"rectanglelabels": ["A"]}},
    ]
    (text,) = read(task({"result": [REGION, *other_regions]}))
    assert (len(text.spans), text.unlabeled) == (1, ())


def region(to_name, start, end, text=None):
    value = {"start": start, "end": end, "labels": ["PER"], **({} if text is None else {"text": text})}
    return {"type": "labels", "to_name": to_name, "value": value}


MAIL = {"subject": "to Anna", "mail": "Anna left", "sender": "x"}


@pytest.mark.parametrize(
    ("data", "regions", "expected"),
    [
        # The tag has the member's name.
        (MAIL, [region("mail", 0, 4)], "mail"),
        (MAIL, [region("subject", 3, 7)], "subject"),
        ({"text": "to Anna", **MAIL}, [region("mail", 0, 4)], "mail"),
        # The tag has another name, and the spans fit only one text.
        (MAIL, [region("t1", 0, 4, "Anna")], "mail"),
        (MAIL, [region("t1", 3, 7, "Anna")], "subject"),
        (MAIL, [region("t1", 5, 9)], "mail"),
        # The tag has the name of another member, which the spans do not fit.
        (MAIL, [region("subject", 0, 4, "Anna")], "mail"),
    ],
)
def test_text_that_regions_belong_to(data, regions, expected, caplog):
    caplog.set_level(logging.INFO, "bert_cli")
    (text,) = read({"data": data, "annotations": [{"result": regions}]})
    assert text.text == data[expected]
    check_message(caplog)


def test_task_without_the_text_that_regions_belong_to():
    """The task's other text is not used instead."""
    tasks = [{"id": 8, "data": MAIL, "annotations": [{"result": [region("mail", 0, 4)]}]}]
    tasks.append({"id": 9, "data": MAIL | {"mail": None}})
    with raises(InputError, "a.json:27"):
        read(*tasks, indent=1)


def test_predictions_also_decide_about_the_text():
    (text,) = read({"data": MAIL, "annotations": [], "predictions": [{"result": [region("subject", 3, 7)]}]})
    assert (text.text, text.spans) == ("to Anna", None)


def test_member_named_text_is_not_logged(caplog):
    caplog.set_level(logging.INFO, "bert_cli")
    (text,) = read({"data": {"note": "Anna left", "text": "Anna left"}, "annotations": [{"result": [REGION]}]})
    assert (text.text, caplog.messages) == ("Anna left", [])


@pytest.mark.parametrize("regions", [[region("mail", 0, 4), region("subject", 3, 7)], [region("t1", 0, 4)]])
def test_regions_of_several_texts(regions):
    with raises(InputError):
        read({"data": MAIL, "annotations": [{"result": regions}]})


def test_javascript_offsets_decide_about_the_text():
    data = {"a": "😀 Anna left", "b": "😀 no Anna"}
    (text,) = read({"data": data, "annotations": [{"result": [region("t1", 3, 7, "Anna")]}]})
    assert text.text == data["a"]


def test_unannotated_tasks_are_counted():
    skipped = task({"result": [REGION], "was_cancelled": True}, predictions=[{"result": []}])
    tasks = [task({"result": []}), skipped, task(), task(predictions=[{"result": [REGION]}])]
    assert count_unannotated(tasks) == (1, 1)
