"""Reader for Label Studio tasks, which become AnnotatedText records.

    {"id": 7, "data": {"text": "in New York."}, "annotations": [{"result": [{"from_name": "label",
      "to_name": "text", "type": "labels", "value": {"start": 3, "end": 11, "labels": ["LOC"]}}]}]}

The text's member in "data" can have any name. Before version 1.0, "annotations" had the name
"completions".
"""

from collections.abc import Iterator, Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names, quote
from bert_cli.base.json_files import as_list, as_object, has_form
from bert_cli.base.log import LOG
from bert_cli.examples.annotations.annotated_texts import AnnotatedText, Span, UnlabeledSpan, make_span
from bert_cli.examples.annotations.span_offsets import find_fitting_texts
from bert_cli.reading.exports.label_studio import LabelStudioTask, check_task, find_annotation, list_annotations
from bert_cli.reading.records import JsonRecord

LABEL_STUDIO = "label_studio"
_LABELS = "labels"  # the type of labeled regions, and the member with their labels
# Offsets in these regions refer to HTML elements or dialogue turns.
_UNSUPPORTED_TYPES = ("hypertextlabels", "paragraphlabels")


def read_tasks(path: str, records: Sequence[JsonRecord]) -> tuple[str, list[AnnotatedText]]:
    """Convert a file's tasks; return the name of the text in "data", and the texts.

    If a task has several annotations, the ground truth is used, or else the first one. A skipped
    task has no annotations.

    Raises:
        InputError: a task has a different form, or it is unclear which member is the text.
    """
    for line, task in records:
        check_task(path, line, task)
    tasks = [task for _, task in records]
    _check_region_types(path, records)
    data = [task["data"] for task in tasks]
    keys = [key for key in data[0] if has_form(data, [{key: str}])]
    if not keys:
        names = list_names(list(data[0])) or "no members"
        problem = f'the "data" of the tasks ({names}) holds no text in every task'
        raise InputError(f'{path}: {problem}; name it "text"')
    texts = {key: _read_texts(path, records, key) for key in keys}
    key = _find_text_key(path, tasks, texts)
    _check_named_text(path, records, key)
    return key, texts[key]


def iterate_regions(task: LabelStudioTask) -> Iterator[dict[str, Any]]:
    """Yield a text's labeled regions, without relations and without choices about the whole text."""
    return _iterate_label_regions(find_annotation(task))


def count_unannotated(tasks: Sequence[LabelStudioTask]) -> tuple[int, int]:
    """Return the number of skipped tasks, and of tasks that only have a model's predictions."""
    unannotated = [task for task in tasks if find_annotation(task) is None]
    unseen = [task for task in unannotated if not list_annotations(task)]
    return len(unannotated) - len(unseen), sum(bool(task.get("predictions")) for task in unseen)


def is_label_region(region: Any) -> bool:
    """Return whether a region has labels, or is meant to have some."""
    # If an annotator marks words without a label, only the region's type is "labels".
    return has_form(region, {"value": dict}) and (_LABELS in region["value"] or region.get("type") == _LABELS)


def _iterate_label_regions(annotation: Any) -> Iterator[dict[str, Any]]:
    yield from filter(is_label_region, as_list(as_object(annotation).get("result")))


def _check_region_types(path: str, records: Sequence[JsonRecord]) -> None:
    """Raise InputError for labeled regions that are not spans of a plain text."""
    has_text_labels = any(any(iterate_regions(task)) for _, task in records)
    for number, (line, task) in enumerate(records, 1):
        for region in (find_annotation(task) or {}).get("result") or ():
            region_type = str(as_object(region).get("type"))
            has_other_labels = region_type.endswith(_LABELS) and region_type != _LABELS
            if region_type in _UNSUPPORTED_TYPES or (has_other_labels and not has_text_labels):
                problem = f"a region of type {region_type}; only labels of plain texts can be read"
                raise InputError(f"{_describe_location(path, line, task, number)}: {problem}")


def _find_text_key(path: str, tasks: Sequence[LabelStudioTask], texts: dict[str, list[AnnotatedText]]) -> str:
    """Return the name of the text in "data" that the regions belong to.

    If there are several texts, it is the text that all regions name, or else "text", or else the
    only text that contains all spans.
    """
    keys = list(texts)
    if len(keys) == 1:
        return keys[0]
    labeled = [region for task in tasks for region in iterate_regions(task)]
    if not labeled:
        predictions = [item for task in tasks for item in as_list(task.get("predictions"))]
        labeled = [region for prediction in predictions for region in _iterate_label_regions(prediction)]
    # "to_name" refers to a tag in the project, which may differ from the text's name.
    names = {str(region.get("to_name")) for region in labeled}
    referenced = [key for key in keys if key in names]
    fitting = find_fitting_texts(texts) or keys
    if len(referenced) > 1:
        problem = f'the regions belong to several texts of "data" ({list_names(referenced)})'
        raise InputError(f"{path}: {problem}; keep the regions of one text")
    if referenced and len(names) == 1 and referenced[0] in fitting:
        key = referenced[0]
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
    """Raise InputError if regions name another member, which is a text only in some tasks."""
    names = {str(region.get("to_name")) for _, task in records for region in iterate_regions(task)}
    name = next(iter(names), "")
    texts = [has_form(task, {"data": {name: str}}) for _, task in records]
    if len(names) != 1 or name == key or not any(texts) or all(texts):
        return
    number = texts.index(False)
    line, task = records[number]
    problem = f'"{name}" of "data" is no text, but the regions belong to it'
    raise InputError(f"{_describe_location(path, line, task, number + 1)}: {problem}; take the task out")


def _describe_location(path: str, line: int, task: LabelStudioTask, number: int) -> str:
    return f"{path}:{line} (task {task.get('id', number)})"


def _read_texts(path: str, records: Sequence[JsonRecord], key: str) -> list[AnnotatedText]:
    return [
        _read_text(_describe_location(path, line, task, number), line, number, task, key)
        for number, (line, task) in enumerate(records, 1)
    ]


def _read_text(location: str, line: int, number: int, task: LabelStudioTask, key: str) -> AnnotatedText:
    text, name = task["data"][key], str(task.get("id", number))
    if find_annotation(task) is None:
        return AnnotatedText(text, None, line, location, name)
    values = [region["value"] for region in iterate_regions(task)]
    unlabeled = tuple(
        UnlabeledSpan(location, value.get("start"), value.get("end")) for value in values if not value.get(_LABELS)
    )
    spans = [_read_span(location, value) for value in values if value.get(_LABELS)]
    return AnnotatedText(text, spans, line, location, name, unlabeled=unlabeled)


def _read_span(location: str, value: dict[str, Any]) -> Span:
    labels = value[_LABELS]
    if not has_form(labels, (object,)):
        actual = quote(str(labels))
        raise InputError(f"{location}: a region needs one label, found {actual}; correct it")
    return make_span(labels[0], value.get("start"), value.get("end"), location, value.get("text"))
