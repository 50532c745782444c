"""Parser of --layers, which selects encoder layers in bert-extract-features and bert-tag."""

import re
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import EMBEDDING, state_index

ALL = "all"
_RANGE = re.compile(r"^\s*(?:(-?\d+)\s*:\s*(-?\d+)|(\d+)\s*-\s*(\d+))\s*$")


class Layer(NamedTuple):
    """An encoder layer: the number or name `asked` for, and its place (0 embedding, n n-th layer)."""

    asked: int | str
    place: int


def parse_layers(text: str, num_layers: int) -> list[Layer]:
    """Return the layers that `text` names, in its order.

    The items are numbers, ranges, "embedding" and "all", separated by commas. Numbers count as in
    the original: 0 is the first Transformer layer and -1 the last. A range such as -4:-1, 0:3 or
    1-3 includes both ends. "all" is 0 to num_layers - 1, without the embedding.

    Raises:
        InputError: an item is invalid, or the model does not have such a layer.
    """
    layers = []
    for item in text.split(","):
        for index in _expand(item.strip(), text, num_layers):
            if index == EMBEDDING or -num_layers <= index < num_layers:
                # Keep the given number, because the original writes it to files: -1 and 11 stay
                # different.
                layers.append(Layer(index, state_index(index, num_layers)))
            else:
                raise InputError(
                    f"--layers={text}: there is no layer {index}; this model has the layers 0 to "
                    f"{num_layers - 1}, or -{num_layers} to -1, and 'embedding'"
                )
    return layers


def _expand(item: str, text: str, num_layers: int) -> list:
    if item == EMBEDDING:
        return [EMBEDDING]
    if item == ALL:
        return list(range(num_layers))
    range_match = _RANGE.match(item)
    try:
        # "-4:-1" and "1-3" are ranges, and "-1" is a number: a range that begins with a hyphen has
        # a colon.
        first, last = (
            (int(end) for end in range_match.groups() if end is not None) if range_match else (int(item), None)
        )
    except ValueError:
        raise InputError(
            f"--layers={text}: {item!r} is not a layer; give numbers such as -1,-2, ranges such as "
            "-4:-1 or 1-3, 'embedding' or 'all'"
        ) from None
    if last is None:
        return [first]
    # -2:1 would be the last two layers, followed by the first two.
    if (first < 0) != (last < 0):
        raise InputError(f"--layers={text}: count both ends of {item} from the first layer (0) or from the last (-1)")
    if not -num_layers <= last < num_layers:  # check before a long list is made
        return [last]
    if not -num_layers <= first < num_layers:
        return [first]
    return list(range(first, last + 1)) if first <= last else list(range(first, last - 1, -1))
