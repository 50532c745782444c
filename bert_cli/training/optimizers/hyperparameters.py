"""The hyperparameters of a training run, and the factors of its learning rate for some variables.
Imports no TensorFlow.
"""

import dataclasses
from collections.abc import Iterable, Mapping


@dataclasses.dataclass(frozen=True)
class TrainingHyperparameters:
    """`steps` updates in all, each on `batch_size` rows over all devices, computed in
    `accumulation_steps` micro-batches.

    learning_rate: the peak, which is reached after warmup_steps; how it goes on, lr_schedule says
    (see learning_rate). auto_batch: see training.auto_batch. random_seed: of the order of the rows
    and of dropout. optimizer: "adamw", "adam", "lamb" or "nadam". bias_correction: see
    AdamWeightDecay. first_step: where the plan of the learning rate begins; warmup_steps count from
    there.
    """

    steps: int
    warmup_steps: int
    learning_rate: float
    batch_size: int
    random_seed: int
    optimizer: str = "adamw"
    bias_correction: bool = False
    first_step: int = 0
    weight_decay: float = 0.01
    lr_schedule: str = "linear"
    accumulation_steps: int = 1
    auto_batch: bool = False


# Beginnings of the variables of an encoder, be it a BERT or a module for tensorflow-hub.
FROZEN_ENCODER = {"bert/": 0.0, "hub/": 0.0}


def layer_factors(layer_count: int, decay: float = 1.0, frozen_layers: int | None = None) -> dict[str, float]:
    """Factors by the beginnings of the names of a BERT with L layers, for rate_factors.

    decay: layer i (from 0, the lowest) has decay^(L − i), so the top one decay, and the embeddings
    have decay^(L + 1), as in Howard & Ruder (2018) and Clark et al. (2020); pooler and heads have
    1. frozen_layers: how many of the lowest layers have 0, and with them the embeddings; None for
    nothing.
    """
    table = {"bert/embeddings": decay ** (layer_count + 1)}
    table |= {f"bert/encoder/layer_{layer}/": decay ** (layer_count - layer) for layer in range(layer_count)}
    if frozen_layers is not None:
        table |= dict.fromkeys(list(table)[: frozen_layers + 1], 0.0)
    return table


def rate_factors(names: Iterable[str], by_beginning: Mapping[str, float]) -> dict[str, float]:
    """The factor of each variable: the table's factor for the longest prefix of its name, 1 where
    there is none.
    """
    table = {}
    for name in names:
        found = [beginning for beginning in by_beginning if name.startswith(beginning)]
        table[name] = by_beginning[max(found, key=len)] if found else 1.0
    return table


def is_frozen(names: Iterable[str], factors: Mapping[str, float]) -> bool:
    """Whether none of these variables, such as an encoder's, is trained."""
    return not any(factors.get(name, 1.0) > 0 for name in names)
