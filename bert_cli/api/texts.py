"""Texts as arguments: iterables of texts, or of pairs of texts."""

from collections.abc import Iterable, Mapping

from bert_cli.base.errors import InputTypeError

_TEXTS = "a list of texts"
_MOST_NAMES = 3  # maximum number of columns or keys


def list_items(name: str, values: object, needed: str = _TEXTS, is_of_pairs: bool = False) -> list:
    """Return the items of an iterable as a list.

    Args:
        name: the argument's name, for the error.
        values: a list, a tuple, a generator, a NumPy array, a DataFrame column, and so on.
        needed: a description of the list, for the error.
        is_of_pairs: whether an item is made from two columns of a table.

    Raises:
        InputTypeError: for a text, a table, a dict, a set, or a value that is not iterable.
    """
    refuse_containers(name, values, needed, is_of_pairs)
    # Arrays and columns convert their items to Python types. An array without axes becomes a
    # scalar.
    convert = getattr(values, "tolist", None) or getattr(values, "to_pylist", None)
    items = convert() if convert else values
    if not isinstance(items, Iterable) or isinstance(items, str | bytes):
        raise InputTypeError(f"{name}: {needed} is needed, found {values!r:.80}")
    return list(items)


def refuse_containers(name: str, values: object, needed: str, is_of_pairs: bool = False) -> None:
    """Raise InputTypeError for an iterable that is not an ordered sequence of texts.

    For the arguments see `texts.list_items`.
    """
    problem = f"{name}: {needed} is needed, found"
    table = type(values).__name__
    if isinstance(values, str | bytes | bytearray):
        advice = "; put it into a list" if isinstance(values, str) else ""
        raise InputTypeError(f"{problem} {values!r:.80}{advice}")
    names = getattr(values, "column_names", None)
    names = getattr(values, "columns", None) if names is None else names
    if isinstance(names, Iterable):
        columns = [f'df["{key}"]' if isinstance(key, str) else f"df[{key!r}]" for key in names]
        first_columns = " or ".join(columns[:_MOST_NAMES]) + " …" * (len(columns) > _MOST_NAMES)
        pairs = f"zip({', '.join(columns[:2])})"
        advice = pairs if is_of_pairs else f"one of its columns: {first_columns}"
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
    """Return a list of pairs; a single text becomes (text, None).

    Raises:
        InputTypeError: if an item is neither a text nor a pair; the message has the index.
    """
    return [_pair(number, text) for number, text in enumerate(list_items("texts", texts))]


def _pair(number: int, text: object) -> tuple[str, str | None]:
    pair: tuple = (text, None) if isinstance(text, str) else ()
    if isinstance(text, tuple | list):
        pair = tuple(text)
    is_pair = len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], str | None)
    if not is_pair:
        needed = "a text, or a pair of texts, is needed"
        raise InputTypeError(f"texts[{number}]: {needed}, found {text!r:.80}")
    return pair


def check_text(text: object, name: str = "text") -> None:
    """Raise InputTypeError unless the value is a single text."""
    if not isinstance(text, str):
        raise InputTypeError(f"{name}: one text is needed, found {text!r:.80}")
