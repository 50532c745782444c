"""Pooling over tokens: from an encoder's states to vectors of windows."""

from collections.abc import Callable, Sequence

import numpy as np

from bert_cli.base.pooling import MAX, MEAN, NONE, WEIGHTED_SUMS, modes_of


def pool(
    states: Sequence[np.ndarray], weigh: Callable[[str], np.ndarray], first: np.ndarray, pooling: str
) -> np.ndarray:
    """Return pooled states, float32 [B, L, W], or [B, S, L, H] without pooling.

    Args:
        states: L arrays, float32 [B, S, H].
        weigh: function from a pooling to the tokens' weights, float32 [B, S].
        first: index of the token that "cls" takes, int64 [B].
        pooling: value of --pooling; none keeps all tokens.
    """
    if pooling == NONE:
        return np.stack(states, axis=2)
    pooled = [_pool_mode(states, weigh, first, mode) for mode in modes_of(pooling)]
    return pooled[0] if len(pooled) == 1 else np.concatenate(pooled, axis=-1)


def _pool_mode(
    states: Sequence[np.ndarray], weigh: Callable[[str], np.ndarray], first: np.ndarray, mode: str
) -> np.ndarray:
    """Return the vectors of one pooling, float32 [B, L, H]; for the arguments, see `pool`."""
    if mode in WEIGHTED_SUMS:
        # Sum here and divide later: a line may have several windows.
        weights = weigh(mode)[:, np.newaxis]  # [B, 1, S]
        return np.concatenate([weights @ state for state in states], axis=1)
    if mode == MAX:
        is_used = weigh(MEAN)[:, :, np.newaxis] > 0
        # Use -inf, so that a window without such tokens does not contribute zeros.
        return np.stack([np.where(is_used, state, -np.inf).max(axis=1) for state in states], axis=1)
    rows = np.arange(len(first))
    return np.stack([state[rows, first] for state in states], axis=1)


def pooled_width(pooling: str, num_layers: int, hidden_size: int) -> int:
    """Return the length of a pooled vector, in which layers and poolings are concatenated.

    Args:
        num_layers: number of chosen layers.
        hidden_size: the model's width.
    """
    return hidden_size * num_layers * len(modes_of(pooling))
