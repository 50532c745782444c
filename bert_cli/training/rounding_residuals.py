"""What a checkpoint between two regular ones keeps besides, so that going on from it ends where a run without it ends.

Saving rounds: weights of unused words get their decay, and Adam's slots the scale of Google's files (see CompactWords and
AdamWeightDecay.moments). At the regular steps every run of the same flags does so. A checkpoint that a signal asked for must
not add a rounding, so it says by how many floats each rounded number lies beside the exact one.
"""

import numpy as np
import tensorflow as tf

from bert_cli.model.encoder import WORDS
from bert_cli.training.compact_embeddings import CompactWords
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.weights.checkpoint import Reader
from bert_cli.weights.names import LOG_DECAY_NAME, REMAINDER_ENDING


def remainder(exact: np.ndarray, rounded: np.ndarray) -> np.ndarray:
    """By how many floats `exact` lies beside `rounded`, away from 0; float32 [any] both -> int8 or int32, same shape."""
    distance = exact.view(np.int32) - rounded.view(np.int32)
    return distance.astype(np.int8) if np.abs(distance).max(initial=0) < 1 << 7 else distance


def exactly(rounded: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """The numbers of which `remainder` took the distance, float32."""
    return (np.ascontiguousarray(rounded).view(np.int32) + distance.astype(np.int32)).view(np.float32)


class ExactState:
    """The numbers of a run before they are saved, as they are when it is made; `remainders` is for after."""

    def __init__(self, optimizer: AdamWeightDecay, compact: CompactWords | None):
        self._optimizer, self._compact = optimizer, compact
        self._log_decay = optimizer.log_decay.numpy()
        self._slots = {name: slot.numpy() for name, slot in optimizer.second.items()}
        self._words = compact.encoder.embeddings.words.numpy() if compact else None

    def remainders(self) -> dict[str, np.ndarray]:
        """What the checkpoint keeps, after training_tensors has rounded the run's numbers."""
        kept = {
            f"{name}/adam_v{REMAINDER_ENDING}": remainder(exact, self._optimizer.second[name].numpy())
            for name, exact in self._slots.items()
        }
        if self._compact:
            assert self._words is not None
            approximate = self._compact.encoder.embeddings.words.numpy() / np.exp(self._log_decay)
            approximate[self._compact.used] = self._words[self._compact.used]  # these have a table of their own
            kept |= {LOG_DECAY_NAME: self._log_decay, f"{WORDS}{REMAINDER_ENDING}": remainder(self._words, approximate)}
        return kept


def restore_exactly(reader: Reader, optimizer: AdamWeightDecay, compact: CompactWords | None) -> None:
    """After everything else was restored: undo the roundings of which a checkpoint has the remainders; most have none."""
    for name, slot in optimizer.second.items():
        key = f"{name}/adam_v{REMAINDER_ENDING}"
        if reader.shapes.get(key) == tuple(slot.shape):
            slot.assign(exactly(slot.numpy(), reader.read(key)))
    key = f"{WORDS}{REMAINDER_ENDING}"
    if compact and key in reader.shapes and LOG_DECAY_NAME in reader.shapes:
        words, log_decay = compact.encoder.embeddings.words, reader.read(LOG_DECAY_NAME)
        words.assign(exactly(words.numpy() / np.exp(log_decay), reader.read(key)))
        optimizer.log_decay.assign(tf.constant(log_decay))
