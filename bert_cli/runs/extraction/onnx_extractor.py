"""An encoder that onnxruntime computes, for vectors of tokens or of whole lines. Imports no TensorFlow."""

import logging
from collections.abc import Iterator

import numpy as np

from bert_cli.base.head_types import POOLER
from bert_cli.features.extraction import ExtractionFeatures
from bert_cli.features.stream import alike_groups
from bert_cli.model.config import BertConfig, ModuleConfig, encoder_shapes
from bert_cli.onnx.session import Runner
from bert_cli.runs.engine.onnx_session import TOKENS, load, network_type, opened
from bert_cli.runs.extraction.extractor import VectorChoice, gathered
from bert_cli.settings.devices import Devices
from bert_cli.weights.path import CheckpointPath

LOG = logging.getLogger("bert_cli")


class OnnxFeatures:
    """See extractor.Extractor."""

    def __init__(self, config: BertConfig | ModuleConfig, devices: Devices, choice: VectorChoice):
        self._config, self.precision = opened(config, devices)
        self._pooling = choice.pooling
        self._places = () if choice.pooling == "pooler" else tuple(choice.places)
        self._max_tokens = min(TOKENS, choice.tokens)
        self._run: Runner | None = None

    def load(self, checkpoint: CheckpointPath) -> None:
        """See Extractor."""
        from bert_cli.onnx.packed import encoder_runner

        optional = POOLER if self._places else ()
        tensors, _, _ = load(checkpoint, encoder_shapes(self._config), optional, "the model of this config")
        self._run = encoder_runner(network_type(self.precision), tensors, self._config, self._places)

    def extract(self, features: ExtractionFeatures) -> tuple[np.ndarray, list[np.ndarray]]:
        """See Extractor; there is no attention."""
        return gathered(features, self._pooling, self._batches(features)), []

    def _batches(self, features: ExtractionFeatures) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        assert self._run, "load comes first"
        sequences, lengths = features.sequences, features.sequences.lengths
        for rows in alike_groups(lengths, self._max_tokens):
            width = int(lengths[rows[0]])
            found = self._run(sequences.padded(rows, width))
            if self._places:
                states = [found[f"state_{number}"] for number in range(len(self._places))]
                yield rows, self._pooled(states, features.counted(rows, width))
            else:
                yield rows, found["pooled_output"][:, np.newaxis]

    def _pooled(self, states: list[np.ndarray], counted: np.ndarray) -> np.ndarray:
        """states: L of float32 [B, S, H]; counted: int32 [B, S] -> [B, L, H], without pooling [B, S, L, H]."""
        if self._pooling == "mean":
            weights = counted.astype(np.float32)[:, np.newaxis]  # [B, 1, S]
            return np.concatenate([weights @ state for state in states], axis=1)
        if self._pooling == "max":
            real = counted[:, :, np.newaxis] > 0
            states = [np.where(real, state, -np.inf).max(axis=1) for state in states]
            return np.stack(states, axis=1)
        if self._pooling == "cls":
            return np.stack([state[:, 0] for state in states], axis=1)
        return np.stack(states, axis=2)
