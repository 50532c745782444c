"""Snapshots of a training's state, as in its checkpoints."""

import numpy as np

from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.saved_state import training_tensors
from bert_cli.weights.checkpoint import Tf1Reader


def moments_of(optimizer: AdamWeightDecay) -> dict[str, np.ndarray]:
    """Return the moments under Google's names, and round the slots as a save does."""
    with optimizer.moments() as moments:
        return {name: read() for name, read in moments.items()}


def tensors_of(folder, step: int) -> dict[str, np.ndarray]:
    """Return the tensors in a step's checkpoint."""
    reader = Tf1Reader(f"{folder}/model.ckpt-{step}")
    return {name: reader.read(name) for name in reader.shapes}


def state_of(*run, **options) -> dict[str, np.ndarray]:
    """Return the whole state; see training_tensors for the arguments."""
    with training_tensors(*run, **options) as tensors:
        return dict(tensors)
