"""Tasks of Label Studio, a JSON array -> AnnotatedText records.

    [{"id": 7, "data": {"text": "in New York."}, "annotations": [{"result": [{"from_name": "label",
      "to_name": "text", "type": "labels", "value": {"start": 3, "end": 11, "labels": ["LOC"]}}]}]}]

The data has one text, under any name.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import parse_json
from bert_cli.base.messages import listed, quoted
from bert_cli.examples.annotations.spans import AnnotatedText, Span, checked_span

_BETWEEN = re.compile(r"[\s,]*")
# Their offsets count in elements of HTML, or in turns of a dialogue, not in the text.
_NOT_OF_PLAIN_TEXT = ("hypertextlabels", "paragraphlabels")
_FORM = 'tasks {"data": {"text": …}, "annotations": […]} as Label Studio exports as JSON (not JSON-MIN) are needed'


def read_tasks(path: str, text: str) -> list[AnnotatedText]:
    """The texts of a file of tasks. InputError for a file of another form.

    Of several annotations of a task, the ground truth counts, else the first; a skipped task is not
    annotated.
    """
    tasks = parse_json(text, path)
    refuse_if(not tasks, f"{path}: holds no tasks; {_FORM}")
    lines = list(_lines_of_items(text))
    for line, task in zip(lines, tasks, strict=True):
        if not _is_task(task):
            raise InputError(f"{path}:{line}: {_FORM}, found {quoted(str(task))}")
    key = _text_key(path, [task["data"] for task in tasks])
    return [
        _annotated_text(path, line, str(task.get("id", number)), task, key)
        for number, (line, task) in enumerate(zip(lines, tasks, strict=True), 1)
    ]


def _is_task(task: Any) -> bool:
    if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
        return False
    annotations = task.get("annotations") or []
    return isinstance(annotations, list) and all(
        isinstance(each, dict) and isinstance(each.get("result") or [], list) for each in annotations
    )


def regions(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What an annotator has labelled of a text; a choice for all of the text, or a relation, is
    none.
    """
    for region in (_annotation(task) or {}).get("result") or ():
        if isinstance(region, dict) and isinstance(region.get("value"), dict) and "labels" in region["value"]:
            yield region


def _annotation(task: dict[str, Any]) -> dict[str, Any] | None:
    found = [each for each in task.get("annotations") or () if not each.get("was_cancelled")]
    return next((each for each in found if each.get("ground_truth")), found[0] if found else None)


def _lines_of_items(text: str) -> Iterator[int]:
    """1-based line of each item of an array that is known to be JSON."""
    decoder = json.JSONDecoder()
    line, seen = 1, 0
    position = _BETWEEN.match(text, text.index("[") + 1).end()  # type: ignore[union-attr]
    while text[position] != "]":
        line += text.count("\n", seen, position)
        seen = position
        yield line
        position = _BETWEEN.match(text, decoder.raw_decode(text, position)[1]).end()  # type: ignore[union-attr]


def _text_key(path: str, data: Sequence[dict[str, Any]]) -> str:
    """The member of "data" that holds the text: `text`, else the only one that is a text in every
    task.
    """
    keys = [key for key in data[0] if all(isinstance(values.get(key), str) for values in data)]
    if "text" in keys:
        return "text"
    if len(keys) != 1:
        what = f"holds several texts ({listed(keys)})" if keys else "holds no text"
        raise InputError(f'{path}: the "data" of the tasks {what}; name the one to tag "text"')
    return keys[0]


def _annotated_text(path: str, line: int, name: str, task: dict[str, Any], key: str) -> AnnotatedText:
    place = f"{path}:{line} (task {name})"
    for region in (_annotation(task) or {}).get("result") or ():
        kind = region.get("type") if isinstance(region, dict) else None
        refuse_if(
            kind in _NOT_OF_PLAIN_TEXT, f"{place}: a region of type {kind}; only labels of plain texts can be read"
        )
    spans = None if _annotation(task) is None else [_span(place, region["value"]) for region in regions(task)]
    return AnnotatedText(task["data"][key], spans, line, place, name)


def _span(place: str, value: dict[str, Any]) -> Span:
    labels = value["labels"]
    if not isinstance(labels, list) or len(labels) != 1:
        raise InputError(f"{place}: a region needs one label, found {quoted(str(labels))}; correct it")
    return checked_span(labels[0], value.get("start"), value.get("end"), place, value.get("text"))
