"""Train only the rows of the word embeddings that the training data can touch.

The row of a word that never occurs has no gradient, so its moments stay zero and its only change is
weight decay: a factor that depends on the learning rates alone, which the optimizer keeps.
Fine-tuning data uses a small part of a vocabulary, and the table is up to half of all weights, so
leaving the other rows out of each update saves much of its time. The result is the same.
"""

import contextlib
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from bert_cli.model.encoder import BertEncoder
from bert_cli.tf_internals.variables import memory_of
from bert_cli.training.optimizers.adamw import AdamWeightDecay


class CompactEmbeddings:
    """The trained rows of an encoder's word embeddings; between construction and `close` the
    encoder reads these.

    Token ids given to the encoder meanwhile are row numbers of the compact table: see
    `compact_ids`.
    """

    def __init__(self, encoder: BertEncoder, token_ids: np.ndarray):
        """token_ids: all ids that training batches hold, int32 [any]. To be called inside the
        strategy's scope.
        """
        self.encoder = encoder
        self.used = np.union1d(token_ids, [0])  # 0 is the padding id
        # -1 makes a token that is not in the training data an error, not another word.
        self._row_of = np.full(encoder.config.vocab_size, -1, np.int32)
        self._row_of[self.used] = np.arange(len(self.used), dtype=np.int32)
        table = encoder.embeddings.words.numpy()[self.used]
        self.table = tf.Variable(table, trainable=True, name="compact_words")  # [U, H]
        encoder.embeddings.training_table = self.table

    def compact_ids(self, token_ids: np.ndarray) -> np.ndarray:
        """Ids of the vocabulary -> row numbers of the compact table, int32, same shape; ValueError
        for one without row.
        """
        rows = self._row_of[token_ids]
        if (rows < 0).any():
            raise ValueError("a token id that the training data do not have")
        return rows

    def reload(self) -> None:
        """Take the rows from the encoder's full table again, after a checkpoint was loaded into it."""
        self.table.assign(self.encoder.embeddings.words.numpy()[self.used])

    def update_full_table(self, optimizer: AdamWeightDecay) -> None:
        """Bring the encoder's full table up to date with training."""
        table = memory_of(self.encoder.embeddings.words) * np.exp(optimizer.log_decay.numpy())
        # The rows that no batch reads have only decayed: the product of all factors is e to the sum
        # of their logarithms.
        table[self.used] = self.table.numpy()
        self.encoder.embeddings.words.assign(table)
        optimizer.log_decay.assign(0.0)

    def expand(self, rows: np.ndarray) -> np.ndarray:
        """[U, H] moments -> [V, H], zeros for words that do not occur."""
        full = np.zeros((len(self._row_of), rows.shape[1]), np.float32)
        full[self.used] = rows
        return full

    @contextlib.contextmanager
    def set_aside(self, optimizer: AdamWeightDecay) -> Iterator[None]:
        """Within it the encoder reads its own table, up to date, so that it can be evaluated;
        training goes on unchanged.
        """
        words = self.encoder.embeddings.words
        before = words.numpy()
        log_decay = optimizer.log_decay.numpy()
        self.update_full_table(optimizer)
        self.encoder.embeddings.training_table = None
        try:
            yield
        finally:
            self.encoder.embeddings.training_table = self.table
            words.assign(before)
            optimizer.log_decay.assign(log_decay)

    def close(self, optimizer: AdamWeightDecay) -> None:
        """Give the encoder its own table back, up to date."""
        self.update_full_table(optimizer)
        self.encoder.embeddings.training_table = None
