"""The optimizer of 2018 in NumPy float64: learning rate, clipping, Adam without bias correction, weight decay."""

import math
import re

import numpy as np


def global_norm(gradients: dict) -> float:
    return math.sqrt(sum(float((np.asarray(g, np.float64) ** 2).sum()) for g in gradients.values()))


def clip_by_global_norm(gradients: dict, norm: float | None = None, limit: float = 1.0) -> dict:
    """Gradients times limit / max(norm, limit); `norm` is computed from them where it is not given."""
    norm = global_norm(gradients) if norm is None else norm
    return {name: np.asarray(g, np.float64) * (limit / max(norm, limit)) for name, g in gradients.items()}


def learning_rate(step: int, init_lr: float, num_train_steps: int, num_warmup_steps: int) -> float:
    """Rate of the update made after `step` updates. The decay counts from step 0, hence the drop when warmup ends."""
    if step < num_warmup_steps:
        return init_lr * step / num_warmup_steps
    return init_lr * (1 - min(step, num_train_steps) / num_train_steps)


def adam_weight_decay_step(name: str, w, m, v, g, lr: float):
    """New (w, m, v) after one update with the clipped gradient g: no bias correction, decay 0.01 scaled by lr."""
    w, g = np.asarray(w, np.float64), np.asarray(g, np.float64)
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
    update = m / (np.sqrt(v) + 1e-6)
    if not re.search("LayerNorm|layer_norm|bias", name):
        update = update + 0.01 * w
    return w - lr * update, m, v


def train_step(weights: dict, slots: dict, gradients: dict, norm: float, lr: float) -> None:
    """Clip and apply `gradients` in place; `slots` {name: (m, v)} starts empty."""
    for name, g in clip_by_global_norm(gradients, norm).items():
        m, v = slots.get(name, (0.0, 0.0))
        weights[name], *slots[name] = adam_weight_decay_step(name, weights[name], m, v, g, lr)
