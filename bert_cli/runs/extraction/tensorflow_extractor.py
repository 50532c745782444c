"""The extractor that uses TensorFlow."""

import numpy as np
import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.head_types import POOLER
from bert_cli.features.extraction import ExtractionFeatures
from bert_cli.features.row_batches import length_groups
from bert_cli.heads.model import make_encoder
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.runs.engine.session import Session, memory_advice
from bert_cli.runs.extraction.extractor import Extractor, VectorChoice, Windows
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.settings.devices import Devices
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.hub_encoder import ModuleEncoder
from bert_cli.weights.path import HUB, CheckpointPath

# Tokens per batch with attention, which takes layers * heads * length numbers per token.
_ATTENTION_TOKENS = 1024


class FeaturesSession(Extractor, Session):
    """Extractor with a BertEncoder or a tensorflow-hub module, a strategy and a precision."""

    def __init__(
        self,
        config: BertConfig | ModuleConfig,
        devices: Devices,
        choice: VectorChoice,
        check_pairs: PairCheck,
    ):
        super().__init__(
            lambda precision: make_encoder(config, precision),
            devices,
            choice.max_seq_length,
            loads_checkpoint=True,
            check_pairs=check_pairs,
        )
        self.choice = choice
        self._runner = self.make_runner(self._forward, spec.EXTRACTION)

    def load(self, checkpoint: CheckpointPath) -> None:
        """Load the weights (see Extractor.load)."""
        # A module that is not a BERT already has its weights.
        if checkpoint.kind == HUB and isinstance(self.model, ModuleEncoder):
            return
        self._load_for_inference(
            open_checkpoint(checkpoint),
            "it is not the model of this config; check --init_checkpoint and --bert_config_file",
            () if self.choice.pooling == "pooler" else POOLER,
        )

    def _forward(self, batch: dict) -> dict[str, tf.Tensor]:
        """Return `vectors` and, if choice.with_attention, `attention` [B, layers, N, S, S].

        `vectors` are [B, S, L, H], or [B, L, H] with pooling; mean pooling returns sums. The graph
        drops operations without effect on these, such as layers above the highest chosen one.
        """
        # With only the pooler, the last layer computes one row per text.
        only_pooler = self.choice.pooling == "pooler" and not self.choice.with_attention
        outputs = self.model(
            spec.encoder_inputs(batch),
            packed=self.packed,
            pooled_only=only_pooler,
            return_attention=self.choice.with_attention,
        )
        results = {}
        if self.choice.pooling == "pooler":
            results["vectors"] = outputs["pooled_output"][:, tf.newaxis]
        else:
            # A module has no embedding, but plan.check_attention has refused this layer then.
            states = [outputs.get("embedding_output"), *outputs["encoder_outputs"]]
            results["vectors"] = self._pool([states[index] for index in self.choice.state_indices], batch["counted"])
        if self.choice.with_attention:
            results["attention"] = tf.stack(outputs["attention_probs"], axis=1)
        return results

    def _pool(self, states: list[tf.Tensor], mask: tf.Tensor) -> tf.Tensor:
        """Return pooled states (see InferenceExtractor._pool)."""
        if self.choice.pooling == "mean":
            weights = tf.cast(mask, tf.float32)[:, tf.newaxis]  # [B, 1, S]
            return tf.concat([tf.matmul(weights, state) for state in states], axis=1)
        if self.choice.pooling == "max":
            is_counted = mask[:, :, tf.newaxis] > 0
            states = [tf.reduce_max(tf.where(is_counted, state, state.dtype.min), axis=1) for state in states]
            return tf.stack(states, axis=1)
        if self.choice.pooling == "cls":
            return tf.stack([state[:, 0] for state in states], axis=1)
        return tf.stack(states, axis=2)

    def batches(self, features: ExtractionFeatures, attention: dict[int, np.ndarray]) -> Windows:
        """Yield the values for all windows (see Extractor.batches)."""
        sequences = features.sequences
        lengths = sequences.lengths
        tokens = self.choice.tokens
        if self.choice.with_attention:
            tokens = min(tokens, _ATTENTION_TOKENS)

        def make_batch(rows: np.ndarray) -> dict[str, np.ndarray]:
            width = int(lengths[rows].max()) if self.packed else self.max_seq_length
            return sequences.pad(rows, width) | {"counted": features.pooling_mask(rows, width)}

        for rows in length_groups(lengths, tokens):
            with memory_advice("batch_size"):
                results = self._runner(rows, make_batch)
            if self.choice.with_attention:
                for row, probabilities in zip(rows.tolist(), results["attention"], strict=True):
                    # Copy, because a slice would keep the whole batch in memory.
                    attention[row] = probabilities[..., : lengths[row], : lengths[row]].copy()
            yield rows, results["vectors"]
