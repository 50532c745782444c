"""Label types: files have texts, and predictions have the type that training labels had."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

# Type -> function that reads a label's text.
_READERS: Mapping[str, Callable[[str], Any]] = {
    "bool": lambda text: {"True": True, "False": False}[text],
    "int": int,
}


def find_label_type(labels: Iterable[Any]) -> str | None:
    """Return the type that all labels share: bool or int; None for texts and mixed types.

    Args:
        labels: labels, lists of labels, or None for no label.
    """
    types = {
        type(label).__name__
        for item in labels
        for label in (item if isinstance(item, list | tuple | set | frozenset) else [item])
        if label is not None
    }
    label_type = types.pop() if len(types) == 1 else None
    return label_type if label_type in _READERS else None


def read_label_values(names: Sequence[str], label_type: str | None) -> tuple[Any, ...]:
    """Return labels with their type; unchanged if they are texts, or have been renamed.

    Args:
        names: the labels as texts.
        label_type: a type from `find_label_type`.
    """
    read = _READERS.get(label_type or "")
    if read is None:
        return tuple(names)
    try:
        return tuple(map(read, names))
    except (KeyError, ValueError):
        return tuple(names)
