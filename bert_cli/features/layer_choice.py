"""Which layers of the encoder are asked for: --layers of bert-extract-features and bert-tag."""

import re
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import EMBEDDING, state_place

ALL = "all"
_RANGE = re.compile(r"^\s*(?:(-?\d+)\s*:\s*(-?\d+)|(\d+)\s*-\s*(\d+))\s*$")


class Layer(NamedTuple):
    """A layer as it was `asked` for, and its place: 0 for the embedding, n for the n-th Transformer
    layer.
    """

    asked: int | str
    place: int


def parse_layers(text: str, num_layers: int) -> list[Layer]:
    """The layers that `text` names, in its order: numbers, ranges, "embedding" and "all", with
    commas between.

    Numbers count as in the original: 0 is the first Transformer layer, -1 the last. A range such as
    -4:-1, 0:3 or 1-3 holds both of its ends; "all" is 0 to num_layers - 1, without the embedding.
    InputError for anything else.
    """
    layers = []
    for part in text.split(","):
        for index in _expand(part.strip(), text, num_layers):
            if index == EMBEDDING or -num_layers <= index < num_layers:
                # Files say the number that was asked for, as the original does, so -1 and 11 stay
                # different.
                layers.append(Layer(index, state_place(index, num_layers)))
            else:
                raise InputError(
                    f"--layers={text}: there is no layer {index}; this model has the layers 0 to "
                    f"{num_layers - 1}, or -{num_layers} to -1, and 'embedding'"
                )
    return layers


def _expand(part: str, text: str, num_layers: int) -> list:
    if part == EMBEDDING:
        return [EMBEDDING]
    if part == ALL:
        return list(range(num_layers))
    found = _RANGE.match(part)
    try:
        # "-4:-1" and "1-3" are ranges, "-1" is a number: no range begins with a hyphen unless it
        # has a colon.
        first, last = (int(end) for end in found.groups() if end is not None) if found else (int(part), None)
    except ValueError:
        raise InputError(
            f"--layers={text}: {part!r} is not a layer; give numbers such as -1,-2, ranges such as "
            "-4:-1 or 1-3, 'embedding' or 'all'"
        ) from None
    if last is None:
        return [first]
    # -2:1 would be the last two layers, and then the first two.
    if (first < 0) != (last < 0):
        raise InputError(f"--layers={text}: count both ends of {part} from the first layer (0) or from the last (-1)")
    if not -num_layers <= last < num_layers:  # before a list of it is made
        return [last]
    if not -num_layers <= first < num_layers:
        return [first]
    return list(range(first, last + 1)) if first <= last else list(range(first, last - 1, -1))
