"""Texts as the methods of this package take them: iterables of texts, or of pairs of texts."""

from collections.abc import Iterable, Mapping

from bert_cli.base.errors import InputTypeError

_TEXTS = "a list of texts"
_MOST_NAMES = 3  # of columns and keys in an error


def list_items(name: str, values: object, needed: str = _TEXTS, is_of_pairs: bool = False) -> list:
    """Return the items of an iterable as a list.

    Args:
        name: the argument's name, for the error.
        values: a list, a tuple, a generator, a NumPy array, a column of a DataFrame, and so on.
        needed: a description of the list, for the error.
        is_of_pairs: whether an item is made from two columns of a table.

    Raises:
        InputTypeError: for a text, a table, a dict, a set, or a value that is no iterable.
    """
    refuse_containers(name, values, needed, is_of_pairs)
    # Arrays and columns convert their items to Python's types. An array without axes becomes one
    # value.
    convert = getattr(values, "tolist", None) or getattr(values, "to_pylist", None)
    items = convert() if convert else values
    if not isinstance(items, Iterable) or isinstance(items, str | bytes):
        raise InputTypeError(f"{name}: {needed} is needed, found {values!r:.80}")
    return list(items)


def refuse_containers(name: str, values: object, needed: str, is_of_pairs: bool = False) -> None:
    """Raise InputTypeError for an iterable whose items are not texts in an order."""
    problem = f"{name}: {needed} is needed, found"
    table = type(values).__name__
    if isinstance(values, str | bytes | bytearray):
        advice = "; put it into a list" if isinstance(values, str) else ""
        raise InputTypeError(f"{problem} {values!r:.80}{advice}")
    names = getattr(values, "column_names", None)
    names = getattr(values, "columns", None) if names is None else names
    if isinstance(names, Iterable):
        columns = [f'df["{key}"]' if isinstance(key, str) else f"df[{key!r}]" for key in names]
        some = " or ".join(columns[:_MOST_NAMES]) + " …" * (len(columns) > _MOST_NAMES)
        pairs = f"zip({', '.join(columns[:2])})"
        advice = pairs if is_of_pairs else f"one of its columns: {some}"
        raise InputTypeError(f"{problem} a {table}; pass {advice}")
    if isinstance(values, Mapping):
        keys = ", ".join(repr(key) for key in list(values)[:_MOST_NAMES])
        raise InputTypeError(f"{problem} a {table} with the keys {keys:.80}")
    if isinstance(values, set | frozenset):
        raise InputTypeError(f"{problem} a {table}, which has no order")


def single_texts(texts: object) -> list[str]:
    """Return a list of single texts; raise InputTypeError, with the index, for other items."""
    items = list_items("texts", texts)
    for number, text in enumerate(items):
        if not isinstance(text, str):
            raise InputTypeError(f"texts[{number}]: a text is needed, found {text!r:.80}")
    return items


def texts_or_pairs(texts: object) -> list[tuple[str, str | None]]:
    """Return texts and pairs of texts as pairs; the second text of a single text is None.

    Raises:
        InputTypeError: with the index, for an item that is neither.
    """
    return [_pair(number, text) for number, text in enumerate(list_items("texts", texts))]


def _pair(number: int, text: object) -> tuple[str, str | None]:
    parts: tuple = (text, None) if isinstance(text, str) else ()
    if isinstance(text, tuple | list):
        parts = tuple(text)
    is_pair = len(parts) == 2 and isinstance(parts[0], str) and isinstance(parts[1], str | None)
    if not is_pair:
        needed = "a text, or a pair of texts, is needed"
        raise InputTypeError(f"texts[{number}]: {needed}, found {text!r:.80}")
    return parts


def check_text(text: object, name: str = "text") -> None:
    """Raise InputTypeError unless this is one text."""
    if not isinstance(text, str):
        raise InputTypeError(f"{name}: one text is needed, found {text!r:.80}")
