"""One table for all that is trained at a rate of its own: variable -> factor of the learning rate. Imports no TensorFlow.

With 0 a variable is not trained: it stays as it is, bit for bit, and has no moments; with 1, the factor of all variables that
are not in a table, it is trained as ever; with any other number its rate is multiplied by it, and so is its weight decay.
"""

from collections.abc import Iterable, Mapping

# Beginnings of the variables of an encoder, be it a BERT or a module for tensorflow-hub.
FROZEN_ENCODER = {"bert/": 0.0, "hub/": 0.0}


def layer_factors(layer_count: int, decay: float = 1.0, frozen_layers: int | None = None) -> dict[str, float]:
    """Factors by the beginnings of the names of a BERT with L layers, for rate_factors.

    decay: layer i (from 0, the lowest) has decay^(L − i), so the top one decay, and the embeddings have decay^(L + 1), as
    in Howard & Ruder (2018) and Clark et al. (2020); pooler and heads have 1. frozen_layers: how many of the lowest layers
    have 0, and with them the embeddings; None for nothing.
    """
    table = {"bert/embeddings/": decay ** (layer_count + 1)}
    table |= {f"bert/encoder/layer_{layer}/": decay ** (layer_count - layer) for layer in range(layer_count)}
    if frozen_layers is not None:
        table |= dict.fromkeys(list(table)[: frozen_layers + 1], 0.0)
    return table


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
