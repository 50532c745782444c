"""Explicit changes to the number of rows in embedding tables."""

import dataclasses

import numpy as np

from bert_cli.model.config import WORD_EMBEDDINGS, BertConfig

_POSITIONS = "bert/embeddings/position_embeddings"
_WORD_BIAS = "cls/predictions/output_bias"


def resize_embeddings(
    tensors: dict[str, np.ndarray], config: BertConfig, vocab_size: int | None, positions: int | None, seed: int
) -> tuple[dict[str, np.ndarray], BertConfig]:
    """Return weights and config with other numbers of words and positions.

    Rows are added or removed at the end. New rows are drawn like the original's new weights, from a
    normal distribution truncated at two standard deviations. The masked-LM bias of a new word is 0.

    Args:
        tensors: Google's name -> float32 values.
        config: config of these weights; `initializer_range` is the standard deviation.
        vocab_size: new number of words; None for no change.
        positions: new number of positions; None for no change.
        seed: seed of the new rows.
    """
    if vocab_size is None and positions is None:
        return tensors, config
    # Import late: scipy.stats takes a second, and few conversions resize.
    from scipy.stats import truncnorm

    rng = np.random.default_rng(seed)
    resized = dict(tensors)
    for name, rows in ((WORD_EMBEDDINGS, vocab_size), (_POSITIONS, positions)):
        if rows is not None:
            kept = tensors[name][:rows]
            shape = (rows - len(kept), kept.shape[1])
            # Use scipy: TensorFlow's initializer does not accept a random state.
            drawn = truncnorm.rvs(-2, 2, scale=config.initializer_range, size=shape, random_state=rng)
            resized[name] = np.concatenate([kept, drawn.astype(np.float32)])
    if vocab_size is not None and _WORD_BIAS in tensors:
        kept = tensors[_WORD_BIAS][:vocab_size]
        resized[_WORD_BIAS] = np.concatenate([kept, np.zeros(vocab_size - len(kept), np.float32)])
    config = dataclasses.replace(
        config,
        vocab_size=vocab_size or config.vocab_size,
        max_position_embeddings=positions or config.max_position_embeddings,
    )
    return resized, config
