"""Reader of Label Studio's tasks with choices; each becomes a row as in its export JSON-MIN.

    {"id": 7, "data": {"text": "A fine film."}, "annotations": [{"id": 9, "result": [{"from_name":
      "sentiment", "to_name": "text", "type": "choices", "value": {"choices": ["pos"]}}]}]}

becomes {"id": 7, "text": "A fine film.", "sentiment": ["pos"], "annotation_id": 9}.
"""

from collections.abc import Callable, Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names, quote
from bert_cli.base.json_files import JsonObject, as_object, has_form
from bert_cli.base.log import LOG
from bert_cli.reading.exports.cells import UNANNOTATED

LabelStudioTask = dict[str, Any]
ANNOTATION_ID, LEAD_TIME = "annotation_id", "lead_time"
# JSON-MIN and CSV have these members besides the data and a member per project tag.
ADDED_MEMBERS = frozenset(("id", ANNOTATION_ID, "annotator", "created_at", "updated_at", LEAD_TIME))
ANNOTATIONS = (("annotations",), ("completions",))  # paths of a task's annotations
REGION = {"start": object, "end": object}  # form of a span
_CHOICES = "choices"
_NUMBERS = ("rating", "number")
_FORM = 'tasks {"data": {"text": …}, "annotations": […]} as Label Studio exports as JSON are needed'


def is_task(value: Any) -> bool:
    """Return whether a value is a task, annotated or not."""
    return has_form(value, {"data": dict})


def is_exported_task(value: Any) -> bool:
    """Return whether a value is a task as Label Studio exports it, annotated or not."""
    if not is_task(value):
        return False
    annotations = list_annotations(value)
    has_results = has_form(annotations, [{"result": object}])
    return has_results and (bool(annotations) or {"annotations", "predictions"} <= set(value))


def check_task(path: str, line: int, task: LabelStudioTask) -> None:
    """Raise InputError for a task with annotations in an unknown form.

    Args:
        path: the file, for the message.
        line: the task's line.
    """
    annotations = list_annotations(task)
    if not has_form(annotations, [dict]) or not has_form([item.get("result") or [] for item in annotations], [list]):
        raise InputError(f"{path}:{line}: {_FORM}, found {quote(str(task))}")


def list_annotations(task: LabelStudioTask) -> Any:
    """Return a task's annotations; before version 1.0 they had the name completions."""
    return task.get("annotations") or task.get("completions") or []


def find_annotation(task: LabelStudioTask) -> LabelStudioTask | None:
    """Return the ground truth, or else the first annotation; None if all were skipped."""
    valid = [item for item in list_annotations(task) if not (item.get("was_cancelled") or item.get("skipped"))]
    return next((item for item in valid if item.get("ground_truth")), valid[0] if valid else None)


def convert_tasks(path: str, records: Sequence[tuple[int, Any]]) -> list[list[JsonObject]]:
    """Return a row per task: its data, and a column for each project tag with choices or numbers.

    Args:
        path: the file, for messages.
        records: lines and tasks.

    Raises:
        InputError: a task has another form.
    """
    for line, task in records:
        check_task(path, line, task)
    annotations = [find_annotation(task) for _, task in records]
    answers = [
        _read_answers(path, line, annotation) for (line, _), annotation in zip(records, annotations, strict=True)
    ]
    tags = list(dict.fromkeys(tag for task_answers in answers for tag in task_answers))
    if num_others := count_further_annotations([task for _, task in records]):
        LOG.info("%s: %d further annotations of tasks with several are not used", path, num_others)
    types = list_region_types(annotations, lambda region: not _is_answer(region))
    if not tags and any(annotations):
        LOG.warning(
            "%s: warning: no task has choices about its text; annotations have the types %s", path,
            list_names(types) or "none",
        )  # fmt: skip
    elif types:
        LOG.info("%s: annotations of the types %s are not used", path, list_names(types))
    return [
        [_make_row(task, annotation, task_answers, tags)]
        for (_, task), annotation, task_answers in zip(records, annotations, answers, strict=True)
    ]


def count_further_annotations(tasks: Sequence[LabelStudioTask]) -> int:
    """Return the number of annotations besides one per task."""
    return sum(max(len(list_annotations(task)) - 1, 0) for task in tasks)


def list_region_types(annotations: Sequence[LabelStudioTask | None], is_included: Callable[[Any], bool]) -> list[str]:
    """Return the sorted types of regions that `is_included` accepts, in all annotations."""
    regions = [region for annotation in annotations for region in (annotation or {}).get("result") or ()]
    return sorted({str(as_object(region).get("type")) for region in regions if is_included(region)})


def _is_answer(region: Any) -> bool:
    """Return whether a region is about the whole text; choices about a span have its offsets."""
    value = region["value"] if has_form(region, {"value": dict}) else {}
    return "start" not in value and any(member in value for member in (_CHOICES, *_NUMBERS))


def _read_answers(path: str, line: int, annotation: LabelStudioTask | None) -> dict[str, Any]:
    """Return an annotation's choices and numbers about the whole text, by project tag."""
    answers: dict[str, Any] = {}
    for region in (annotation or {}).get("result") or ():
        if not _is_answer(region):
            continue
        name, value = str(region.get("from_name", _CHOICES)), region["value"]
        if has_form(value, {_CHOICES: [str]}):
            answers.setdefault(name, []).extend(value[_CHOICES])
        elif _CHOICES in value:
            raise InputError(f"{path}:{line}: the choices are {quote(str(value[_CHOICES]))}; a list of texts is needed")
        else:
            answers[name] = next(value[member] for member in _NUMBERS if member in value)
    return answers


def _make_row(
    task: LabelStudioTask, annotation: LabelStudioTask | None, answers: dict[str, Any], tags: Sequence[str]
) -> JsonObject:
    labels = {tag: UNANNOTATED if annotation is None else answers.get(tag, []) for tag in tags}
    data = task["data"]
    # A project tag and a member in the data may use the same name.
    labels = {f"{tag} ({_CHOICES})" if tag in data else tag: label for tag, label in labels.items()}
    added = {"id": task.get("id"), **data, **labels}
    facts = annotation or {}
    return added | {ANNOTATION_ID: facts.get("id"), LEAD_TIME: facts.get(LEAD_TIME)}
