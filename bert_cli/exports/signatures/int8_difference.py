"""Differences between predictions of an int8 file and its float32 original."""

from collections.abc import Mapping, Sequence

import numpy as np

from bert_cli.base.head_types import ENCODER, SPANS, HeadSpec
from bert_cli.base.log import LOG, RESULT
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.row_batches import length_groups
from bert_cli.metrics.vectors import cosines_of_pairs
from bert_cli.onnx.runners import Runner
from bert_cli.sentence.vectors import SENTENCE_EMBEDDING

OutputArrays = Mapping[str, np.ndarray]
_BATCH_TOKENS = 4096


def log_int8_differences(
    full: Runner, quantized: Runner, spec: HeadSpec, sequences: Sequence[RaggedFeatures], has_logits: bool
) -> None:
    """Log changed predictions for texts, or the cosines between an encoder's vectors.

    Args:
        full, quantized: compute a batch with float32 and with int8.
        sequences: the texts, perhaps in several splits.
        has_logits: whether outputs are logits instead of probabilities.
    """
    rows: list[np.ndarray] = []
    for split in sequences:
        for group in length_groups(split.lengths, _BATCH_TOKENS):
            batch = split.pad(group, split.longest(group))
            both = full(batch), quantized(batch)
            if spec.head_type == ENCODER:
                rows.append(cosines(*both, batch["input_mask"])[:, np.newaxis])
            else:
                rows.append(count_changes(*both, batch["input_mask"], spec, has_logits))
    numbers = np.concatenate(rows)
    if spec.head_type == ENCODER:
        median, least = float(np.median(numbers)), float(numbers.min())
        line = "int8: cosine to the float32 vectors %.4f in the median, %.4f at least (%d texts)"
        LOG.log(RESULT, line, median, least, len(numbers))
        return
    changed, total = numbers.sum(axis=0)
    if _is_regression(spec):
        line = "int8: numbers differ by %.3g on average, %.3g at most (%d numbers)"
        LOG.log(RESULT, line, changed / total, numbers[:, 0].max(), total)
        return
    noun = "texts have other labels" if spec.is_text_classifier else "tokens have another tag"
    noun = "windows have another answer" if spec.head_type == SPANS else noun
    LOG.log(RESULT, "int8: %d of %d %s than in float32", changed, total, noun)


def count_changes(
    full: OutputArrays, quantized: OutputArrays, mask: np.ndarray, spec: HeadSpec, has_logits: bool = False
) -> np.ndarray:
    """Return the numbers of changed predictions and predictions per row, float64 [B, 2].

    A changed prediction is another label, another tag, or another start or end. For a regression,
    the first number is the absolute difference.

    Args:
        full, quantized: outputs for a batch, [B, n] or [B, S, n].
        mask: 1 for a token, [B, S].
        has_logits: see `log_int8_differences`.
    """
    pairs = [(values, quantized[name]) for name, values in full.items()]
    ones = np.ones(len(mask))
    if _is_regression(spec):
        changed = [np.abs(first - second).reshape(len(mask), -1).mean(axis=1) for first, second in pairs]
    elif spec.is_text_classifier and spec.activation == "sigmoid":
        least = 0.0 if has_logits else 0.5
        changed = [((first > least) != (second > least)).any(axis=1) for first, second in pairs]
    elif spec.is_text_classifier:
        changed = [first.argmax(axis=1) != second.argmax(axis=1) for first, second in pairs]
    elif spec.head_type == SPANS:
        # Padding is no answer.
        inside = mask.astype(bool)
        changed = [
            np.where(inside, first, -np.inf).argmax(axis=1) != np.where(inside, second, -np.inf).argmax(axis=1)
            for first, second in pairs
        ]
    else:
        ((first, second),) = pairs
        differs = (first.argmax(axis=-1) != second.argmax(axis=-1)) & mask.astype(bool)
        return np.stack([differs.sum(axis=1), mask.sum(axis=1)], axis=1).astype(np.float64)
    return np.stack([np.max(changed, axis=0), ones], axis=1).astype(np.float64)


def _is_regression(spec: HeadSpec) -> bool:
    return spec.is_text_classifier and spec.activation == "identity"


def cosines(full: OutputArrays, quantized: OutputArrays, mask: np.ndarray) -> np.ndarray:
    """Return the cosine between both vectors in each row, [B].

    Args:
        full, quantized: an encoder's outputs for a batch.
        mask: 1 for a token, [B, S].
    """
    return cosines_of_pairs(_vectors(full, mask), _vectors(quantized, mask))


def _vectors(outputs: OutputArrays, mask: np.ndarray) -> np.ndarray:
    """Return the vectors of texts in an encoder's outputs, or else the means of the last layer."""
    if SENTENCE_EMBEDDING in outputs:
        return outputs[SENTENCE_EMBEDDING]
    states = next(values for values in outputs.values() if values.ndim == 3)
    return (states * mask[..., np.newaxis]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
