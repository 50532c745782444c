"""Session for predictions of masked words with TensorFlow."""

import numpy as np
import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.head_types import HEADS, NEXT_SENTENCE, POOLER
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.row_batches import length_groups
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.model.config import BertConfig
from bert_cli.runs.engine.masked_words import NO_HEAD, MaskedWords
from bert_cli.runs.engine.session import Session, memory_advice
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.settings.devices import Devices
from bert_cli.training.scatter import infer
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import CheckpointPath


class FillMaskSession(MaskedWords, Session):
    """A BertPretrainer with its distribution strategy and precision."""

    def __init__(self, config: BertConfig, devices: Devices, vocab_size: int, check_pairs: PairCheck):
        """Build the model without weights; see MaskedWords for the arguments."""
        positions = config.max_position_embeddings
        super().__init__(
            lambda precision: BertPretrainer(config, compute_dtype=precision),
            devices,
            positions,
            loads_checkpoint=True,
            check_pairs=check_pairs,
        )
        self._batch_size = devices.batch_size
        self._vocab_size = vocab_size
        self._runners: dict[int, tf.types.experimental.GenericFunction] = {}

    def load(self, checkpoint: CheckpointPath, without_next_sentence: bool) -> None:
        report = self._load_for_inference(open_checkpoint(checkpoint), NO_HEAD, (HEADS[NEXT_SENTENCE], POOLER))
        self.note_next_sentence(report.source, report.missing, without_next_sentence)

    def _forward(self, batch: dict, top_k: int) -> dict[str, tf.Tensor]:
        outputs = self.model(batch, packed=self.packed)
        logits = outputs["masked_lm_logits"][..., : self._vocab_size]  # [B, P, V]
        # Select on the device, so that only k probabilities per mask are copied from it.
        best, candidates = tf.math.top_k(tf.nn.softmax(logits), top_k)
        # Column 0 is "follows" in the original: label 1 is a random next sentence.
        follows = tf.nn.softmax(outputs["next_sentence_logits"])[:, 0]
        return {"probabilities": best, "candidates": candidates, "follows": follows}

    def fill(self, sequences: RaggedFeatures, positions: np.ndarray, top_k: int) -> dict[str, np.ndarray]:
        lengths = sequences.lengths
        groups = length_groups(lengths, self._batch_size * int(lengths.max()))
        if top_k not in self._runners:
            self._runners[top_k] = self.make_runner(lambda batch: self._forward(batch, top_k), spec.FILL_MASK)

        def make_batch(rows: np.ndarray) -> dict[str, np.ndarray]:
            width = int(lengths[rows].max()) if self.packed else self.max_seq_length
            return sequences.pad(rows, width) | {"masked_lm_positions": positions[rows]}

        with memory_advice("batch_size"):
            return infer(self._runners[top_k], groups, make_batch, lambda count: None)
