"""Optimizer of 2018 in NumPy float64: learning rate, clipping, Adam without bias correction, decay."""

import math
import re

import numpy as np


def global_norm(gradients: dict) -> float:
    return math.sqrt(sum(float((np.asarray(g, np.float64) ** 2).sum()) for g in gradients.values()))


def clip_by_global_norm(gradients: dict, norm: float | None = None, limit: float = 1.0) -> dict:
    """Return the gradients times limit / max(norm, limit); `norm` is computed if it is not given."""
    norm = global_norm(gradients) if norm is None else norm
    return {name: np.asarray(g, np.float64) * (limit / max(norm, limit)) for name, g in gradients.items()}


def learning_rate(step: int, init_lr: float, num_train_steps: int, num_warmup_steps: int) -> float:
    """Return the rate for the update after `step` updates.

    The decay starts at step 0, so the rate drops when the warm-up ends.
    """
    if step < num_warmup_steps:
        return init_lr * step / num_warmup_steps
    return init_lr * (1 - min(step, num_train_steps) / num_train_steps)


def adam_weight_decay_step(name: str, w, m, v, g, lr: float):
    """Return (w, m, v) after an update with the clipped gradient g.

    There is no bias correction, and weight decay is 0.01 times lr.
    """
    w, g = np.asarray(w, np.float64), np.asarray(g, np.float64)
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    update = m / (np.sqrt(v) + 1e-6)
    if not re.search("LayerNorm|layer_norm|bias", name):
        update = update + 0.01 * w
    return w - lr * update, m, v


def train_step(weights: dict, slots: dict, gradients: dict, norm: float, lr: float) -> None:
    """Clip and apply `gradients` in place; `slots` {name: (m, v)} is empty at first."""
    for name, g in clip_by_global_norm(gradients, norm).items():
        m, v = slots.get(name, (0.0, 0.0))
        weights[name], *slots[name] = adam_weight_decay_step(name, weights[name], m, v, g, lr)
