"""Hyperparameters for training, and learning-rate factors per variable. Imports no TensorFlow."""

import dataclasses
from collections.abc import Iterable, Mapping


@dataclasses.dataclass(frozen=True)
class TrainingHyperparameters:
    """Hyperparameters for training.

    Attributes:
        steps: number of updates, including steps before `first_step`.
        warmup_steps: number of steps until the peak learning rate, counted from `first_step`.
        learning_rate: peak learning rate.
        batch_size: rows per update, over all devices.
        random_seed: seed of the row order and of dropout.
        optimizer: "adamw", "adam", "lamb" or "nadam".
        bias_correction: see AdamWeightDecay.
        first_step: step at which the learning-rate schedule begins.
        weight_decay: factor of the decay.
        lr_schedule: the schedule to use: "linear", "cosine" or "constant", see optimizers.schedule.learning_rate.
        accumulation_steps: micro-batches per update.
        auto_batch: see training.auto_batch.
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

    @property
    def in_graph(self) -> "TrainingHyperparameters":
        """Return the hyperparameters that are constants in a traced step, and 0 for the others."""
        return dataclasses.replace(self, steps=0, warmup_steps=0, learning_rate=0.0, random_seed=0, first_step=0)


# Name prefixes of encoder variables, in a BERT or a module for tensorflow-hub.
FROZEN_ENCODER = {"bert/": 0.0, "hub/": 0.0}


def layer_factors(layer_count: int, decay: float = 1.0, frozen_layers: int | None = None) -> dict[str, float]:
    """Return learning-rate factors by name prefix for a BERT, for rate_factors.

    Args:
        layer_count: L.
        decay: layer i, from 0 for the lowest, has the factor decay^(L − i), and the embeddings have
            decay^(L + 1), as in Howard & Ruder (2018) and Clark et al. (2020). Pooler and heads
            have 1.
        frozen_layers: number of lowest layers with factor 0, as well as the embeddings; None to
            freeze nothing.
    """
    factors = {"bert/embeddings": decay ** (layer_count + 1)}
    factors |= {f"bert/encoder/layer_{layer}/": decay ** (layer_count - layer) for layer in range(layer_count)}
    if frozen_layers is not None:
        factors |= dict.fromkeys(list(factors)[: frozen_layers + 1], 0.0)
    return factors


def rate_factors(names: Iterable[str], by_prefix: Mapping[str, float]) -> dict[str, float]:
    """Return the factor per variable: from the longest matching prefix, or 1 if no prefix matches."""
    factors = {}
    for name in names:
        prefixes = [prefix for prefix in by_prefix if name.startswith(prefix)]
        factors[name] = by_prefix[max(prefixes, key=len)] if prefixes else 1.0
    return factors


def is_frozen(names: Iterable[str], factors: Mapping[str, float]) -> bool:
    """Return whether no variable among `names` is trained."""
    return not any(factors.get(name, 1.0) > 0 for name in names)
