"""Tasks of Label Studio -> AnnotatedText records.

    {"id": 7, "data": {"text": "in New York."}, "annotations": [{"result": [{"from_name": "label",
      "to_name": "text", "type": "labels", "value": {"start": 3, "end": 11, "labels": ["LOC"]}}]}]}

The data has the text under any name. Before version 1.0 "annotations" were "completions".
"""

from collections.abc import Iterator, Sequence
from typing import Any

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.base.messages import list_names, quote
from bert_cli.examples.annotations.spans import (
    AnnotatedText,
    Span,
    checked_span,
    describe_unlabeled,
    have_fitting_spans,
)
from bert_cli.examples.table_files.json_values import JsonRecord

LABEL_STUDIO = "label_studio"
Task = dict[str, Any]
_LABELS = "labels"  # both the type of a region with labels and the member of its value
# Their offsets count in elements of HTML, or in turns of a dialogue, not in the text.
_NOT_OF_PLAIN_TEXT = ("hypertextlabels", "paragraphlabels")
_FORM = 'tasks {"data": {"text": …}, "annotations": […]} as Label Studio exports as JSON are needed'


def is_task(value: Any) -> bool:
    """Return whether a value is a task, annotated or not."""
    return isinstance(value, dict) and isinstance(value.get("data"), dict)


def read_tasks(path: str, records: Sequence[JsonRecord]) -> list[AnnotatedText]:
    """Return the texts of a file of tasks. InputError for a task of another form.

    Of several annotations of a task, the ground truth counts, else the first. A skipped task is not
    annotated.
    """
    for line, task in records:
        is_valid = _has_valid_annotations(task)
        refuse_if(not is_valid, f"{path}:{line}: {_FORM}, found {quote(str(task))}")
    tasks = [task for _, task in records]
    _check_region_types(path, records)
    data = [task["data"] for task in tasks]
    keys = [key for key in data[0] if all(isinstance(members.get(key), str) for members in data)]
    if not keys:
        names = list_names(list(data[0])) or "no members"
        problem = f'the "data" of the tasks ({names}) holds no text in every task'
        raise InputError(f'{path}: {problem}; name it "text"')
    texts = {key: _annotated_texts(path, records, key) for key in keys}
    key = _text_key(path, tasks, texts)
    _check_named_text(path, records, key)
    return texts[key]


def regions(task: Task) -> Iterator[dict[str, Any]]:
    """Yield the labeled parts of a text, without choices for all of it, and relations."""
    return _label_regions(_annotation(task))


def count_unannotated(tasks: Sequence[Task]) -> tuple[int, int]:
    """Return how many tasks were skipped, and how many have predictions of a model alone."""
    rest = [task for task in tasks if _annotation(task) is None]
    others = [task for task in rest if not _all_annotations(task)]
    return len(rest) - len(others), sum(bool(task.get("predictions")) for task in others)


def _has_valid_annotations(task: Task) -> bool:
    annotations = _all_annotations(task)
    return isinstance(annotations, list) and all(
        isinstance(item, dict) and isinstance(item.get("result") or [], list) for item in annotations
    )


def _all_annotations(task: Task) -> Any:
    return task.get("annotations") or task.get("completions") or []


def _annotation(task: Task) -> dict[str, Any] | None:
    valid = [item for item in _all_annotations(task) if not (item.get("was_cancelled") or item.get("skipped"))]
    return next((item for item in valid if item.get("ground_truth")), valid[0] if valid else None)


def _label_regions(annotation: Any) -> Iterator[dict[str, Any]]:
    results = annotation.get("result") if isinstance(annotation, dict) else None
    for region in results if isinstance(results, list) else ():
        value = region.get("value") if isinstance(region, dict) else None
        # An annotator can mark words and choose no label: then only the type shows what it is.
        if isinstance(value, dict) and (_LABELS in value or region.get("type") == _LABELS):
            yield region


def _check_region_types(path: str, records: Sequence[JsonRecord]) -> None:
    """Raise InputError for regions that have labels, but not of characters of a text."""
    has_text_labels = any(any(regions(task)) for _, task in records)
    for number, (line, task) in enumerate(records, 1):
        for region in (_annotation(task) or {}).get("result") or ():
            region_type = str(region.get("type")) if isinstance(region, dict) else ""
            is_other = region_type.endswith(_LABELS) and region_type != _LABELS
            if region_type in _NOT_OF_PLAIN_TEXT or (is_other and not has_text_labels):
                problem = f"a region of type {region_type}; only labels of plain texts can be read"
                raise InputError(f"{_place(path, line, task, number)}: {problem}")


def _text_key(path: str, tasks: Sequence[Task], texts: dict[str, list[AnnotatedText]]) -> str:
    """Return the member of "data" that the regions are about.

    It is the only text, else the text that all regions name, else `text`, else the only text that
    has all spans within it, as they were stored.
    """
    keys = list(texts)
    if len(keys) == 1:
        return keys[0]
    labeled = [region for task in tasks for region in regions(task)]
    if not labeled:
        predictions = [item for task in tasks for item in _predictions(task)]
        labeled = [region for prediction in predictions for region in _label_regions(prediction)]
    # A tag of the project may have another name than the member that it shows.
    names = {str(region.get("to_name")) for region in labeled}
    named = [key for key in keys if key in names]
    fitting = [key for key in keys if have_fitting_spans(texts[key])] or keys
    if len(named) > 1:
        problem = f'the regions belong to several texts of "data" ({list_names(named)})'
        raise InputError(f"{path}: {problem}; keep the regions of one text")
    if named and len(names) == 1 and named[0] in fitting:
        key = named[0]
    elif "text" in fitting:
        return "text"
    elif len(fitting) == 1:
        key = fitting[0]
    else:
        problem = f'the "data" of the tasks holds several texts ({list_names(keys)})'
        raise InputError(f'{path}: {problem}, and no regions show which to tag; name it "text"')
    if key != "text":
        LOG.info('%s: of "data" (%s), the regions belong to "%s"', path, list_names(keys), key)
    return key


def _check_named_text(path: str, records: Sequence[JsonRecord], key: str) -> None:
    """Raise InputError for regions that name another member, which is a text in some tasks alone."""
    names = {str(region.get("to_name")) for _, task in records for region in regions(task)}
    name = next(iter(names), "")
    texts = [isinstance(task["data"].get(name), str) for _, task in records]
    if len(names) != 1 or name == key or not any(texts) or all(texts):
        return
    number = texts.index(False)
    line, task = records[number]
    problem = f'"{name}" of "data" is no text, but the regions belong to it'
    raise InputError(f"{_place(path, line, task, number + 1)}: {problem}; take the task out")


def _predictions(task: Task) -> list:
    predictions = task.get("predictions")
    return predictions if isinstance(predictions, list) else []


def _place(path: str, line: int, task: Task, number: int) -> str:
    return f"{path}:{line} (task {task.get('id', number)})"


def _annotated_texts(path: str, records: Sequence[JsonRecord], key: str) -> list[AnnotatedText]:
    return [
        _annotated_text(_place(path, line, task, number), line, number, task, key)
        for number, (line, task) in enumerate(records, 1)
    ]


def _annotated_text(place: str, line: int, number: int, task: Task, key: str) -> AnnotatedText:
    text, name = task["data"][key], str(task.get("id", number))
    if _annotation(task) is None:
        return AnnotatedText(text, None, line, place, name)
    values = [region["value"] for region in regions(task)]
    unlabeled = tuple(
        describe_unlabeled(place, value.get("start"), value.get("end"), text)
        for value in values
        if not value.get(_LABELS)
    )
    spans = [_span(place, value) for value in values if value.get(_LABELS)]
    return AnnotatedText(text, spans, line, place, name, unlabeled=unlabeled)


def _span(place: str, value: dict[str, Any]) -> Span:
    labels = value[_LABELS]
    if not isinstance(labels, list) or len(labels) != 1:
        found = quote(str(labels))
        raise InputError(f"{place}: a region needs one label, found {found}; correct it")
    return checked_span(labels[0], value.get("start"), value.get("end"), place, value.get("text"))
