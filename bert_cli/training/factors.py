"""One table for all that is trained at a rate of its own: variable -> factor of the learning rate. Imports no TensorFlow.

With 0 a variable is not trained: it stays as it is, bit for bit, and has no moments; with 1, the factor of all variables that
are not in a table, it is trained as ever; with any other number its rate is multiplied by it, and so is its weight decay.
"""

from collections.abc import Iterable, Mapping

# Beginnings of the variables of an encoder, be it a BERT or a module for tensorflow-hub.
FROZEN_ENCODER = {"bert/": 0.0, "hub/": 0.0}


def rate_factors(names: Iterable[str], by_beginning: Mapping[str, float]) -> dict[str, float]:
    """The factor of each variable: that of the longest beginning of its name in the table, 1 where there is none."""
    table = {}
    for name in names:
        found = [beginning for beginning in by_beginning if name.startswith(beginning)]
        table[name] = by_beginning[max(found, key=len)] if found else 1.0
    return table


def is_frozen(names: Iterable[str], factors: Mapping[str, float]) -> bool:
    """Whether none of these variables, such as an encoder's, is trained."""
    return not any(factors.get(name, 1.0) > 0 for name in names)
