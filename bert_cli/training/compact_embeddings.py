"""Training of only those word embeddings that occur in the training data.

The row of an unused word has no gradient, so its moments stay zero and only weight decay changes it.
The decay factor depends only on the learning rates; the optimizer keeps it. Fine-tuning data uses a
small part of the vocabulary, and the table holds up to half of all weights. So skipping the other
rows saves much time per update, with the same result.
"""

import contextlib
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from bert_cli.model.encoder import BertEncoder
from bert_cli.tf_internals.variables import memory_of, new_tensor
from bert_cli.training.optimizers.adamw import AdamWeightDecay


class CompactEmbeddings:
    """The trained rows of an encoder's word embeddings.

    The encoder uses them from construction until `close`. During that time, its token ids must be row
    numbers in the compact table, see `compact_ids`.
    """

    def __init__(self, encoder: BertEncoder, token_ids: np.ndarray, num_rows: int = 0):
        """Create the table; call this inside the strategy's scope.

        Args:
            encoder: the encoder that is trained.
            token_ids: all ids in the training data, int32.
            num_rows: least number of rows, so that `reopen` can use the table for other data.
        """
        self.encoder = encoder
        self._use_ids(token_ids)
        table = self._rows_of_words(max(len(self.used), num_rows))
        self.table = tf.Variable(table, trainable=True, name="compact_words")  # [R, H], R >= U
        encoder.embeddings.use_table(self.table)

    def _use_ids(self, token_ids: np.ndarray) -> None:
        self.used = np.union1d(token_ids, [0])  # 0 is the padding id
        # Use -1, so that a token without a row is an error instead of another word.
        self._row_of = np.full(self.encoder.config.vocab_size, -1, np.int32)
        self._row_of[self.used] = np.arange(len(self.used), dtype=np.int32)

    def _rows_of_words(self, num_rows: int) -> np.ndarray:
        return self.fill(memory_of(self.encoder.embeddings.words)[self.used], num_rows)

    def fill(self, rows: np.ndarray, num_rows: int | None = None) -> np.ndarray:
        """Return rows of used words, [U, H], with zeros for the table's other rows, [R, H]."""
        count = (self.table.shape[0] if num_rows is None else num_rows) - len(rows)
        return np.concatenate([rows, np.zeros((count, rows.shape[1]), rows.dtype)]) if count else rows

    def fits(self, token_ids: np.ndarray) -> bool:
        """Return whether the table has enough rows for other training data."""
        return len(np.union1d(token_ids, [0])) <= self.table.shape[0]

    def compact_ids(self, token_ids: np.ndarray) -> np.ndarray:
        """Return the ids' row numbers in the compact table, int32, same shape.

        Raises:
            ValueError: if an id has no row.
        """
        rows = self._row_of[token_ids]
        if (rows < 0).any():
            raise ValueError("a token id that the training data do not have")
        return rows

    def reopen(self, token_ids: np.ndarray) -> None:
        """Make the encoder use the compact table again, with the rows of its full table.

        Args:
            token_ids: all ids in the new training data, see `fits`.
        """
        self._use_ids(token_ids)
        self.reload()
        self.encoder.embeddings.use_table(self.table)

    def reload(self) -> None:
        """Copy the rows from the encoder's full table, after a checkpoint was loaded into that."""
        self.table.assign(self._rows_of_words(self.table.shape[0]))

    def update_full_table(self, optimizer: AdamWeightDecay) -> None:
        """Bring the encoder's full table up to date with training."""
        words = self.encoder.embeddings.words
        table, values = new_tensor(words.shape)
        # Apply the decay to unused rows: e to the sum of log factors.
        np.multiply(memory_of(words), np.exp(optimizer.log_decay.numpy()), out=values)
        values[self.used] = memory_of(self.table)[: len(self.used)]
        words.assign(table)
        optimizer.log_decay.assign(0.0)

    def expand(self, rows: np.ndarray) -> np.ndarray:
        """Return moments for the full table, from [R, H] to [V, H], with zeros for unused words."""
        _, full = new_tensor((len(self._row_of), rows.shape[1]))
        full[:] = 0.0
        full[self.used] = rows[: len(self.used)]
        return full

    @contextlib.contextmanager
    def set_aside(self, optimizer: AdamWeightDecay) -> Iterator[None]:
        """Let the encoder use an updated full table in this context, for an evaluation.

        Training then continues as if the context had not existed.
        """
        words = self.encoder.embeddings.words
        saved_words = memory_of(words)
        log_decay = optimizer.log_decay.numpy()
        self.update_full_table(optimizer)
        self.encoder.embeddings.use_table(None)
        try:
            yield
        finally:
            self.encoder.embeddings.use_table(self.table)
            words.assign(saved_words)
            optimizer.log_decay.assign(log_decay)

    def close(self, optimizer: AdamWeightDecay) -> None:
        """Make the encoder use its full table again, after an update."""
        self.update_full_table(optimizer)
        self.encoder.embeddings.use_table(None)
