"""Snapshots of a training's state, as in its checkpoints."""

import numpy as np

from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.saved_state import training_tensors


def moments_of(optimizer: AdamWeightDecay) -> dict[str, np.ndarray]:
    """Return the moments under Google's names, and round the slots as a save does."""
    with optimizer.moments() as moments:
        return {name: read() for name, read in moments.items()}


def state_of(*run, **options) -> dict[str, np.ndarray]:
    """Return the whole state; see training_tensors for the arguments."""
    with training_tensors(*run, **options) as tensors:
        return dict(tensors)
