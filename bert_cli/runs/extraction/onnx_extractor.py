"""An encoder that onnxruntime computes, for vectors of tokens or of whole lines. Imports no TensorFlow."""

import logging
from collections.abc import Iterator

import numpy as np

from bert_cli.base.head_types import POOLER
from bert_cli.features.extraction import ExtractionFeatures
from bert_cli.features.stream import equal_length_groups
from bert_cli.model.config import BertConfig, ModuleConfig, encoder_shapes
from bert_cli.onnx.session import Runner
from bert_cli.runs.engine.onnx_session import TOKENS, load, network_type, opened
from bert_cli.runs.extraction.extractor import Extractor, VectorChoice
from bert_cli.settings.devices import Devices
from bert_cli.weights.path import CheckpointPath

LOG = logging.getLogger("bert_cli")


class OnnxFeatures(Extractor):
    """See Extractor; it has no attention, which its graph does not give."""

    def __init__(self, config: BertConfig | ModuleConfig, devices: Devices, choice: VectorChoice):
        self._config, self.precision = opened(config, devices)
        self.choice = choice
        self._layers = () if choice.pooling == "pooler" else tuple(choice.places)
        self._max_tokens = min(TOKENS, choice.tokens)
        self._run: Runner | None = None

    def load(self, checkpoint: CheckpointPath) -> None:
        """See Extractor."""
        from bert_cli.onnx.packed import encoder_runner

        optional = POOLER if self._layers else ()
        tensors, _, _ = load(checkpoint, encoder_shapes(self._config), optional, "the model of this config")
        self._run = encoder_runner(network_type(self.precision), tensors, self._config, self._layers)

    def batches(
        self, features: ExtractionFeatures, attention: dict[int, np.ndarray]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        assert self._run, "load comes first"
        sequences, lengths = features.sequences, features.sequences.lengths
        for rows in equal_length_groups(lengths, self._max_tokens):
            width = int(lengths[rows[0]])
            found = self._run(sequences.padded(rows, width))
            if self._layers:
                states = [found[f"state_{number}"] for number in range(len(self._layers))]
                yield rows, self._pooled(states, features.counted(rows, width))
            else:
                yield rows, found["pooled_output"][:, np.newaxis]

    def _pooled(self, states: list[np.ndarray], counted: np.ndarray) -> np.ndarray:
        """states: L of float32 [B, S, H]; counted: int32 [B, S] -> [B, L, H], without pooling [B, S, L, H]."""
        if self.choice.pooling == "mean":
            weights = counted.astype(np.float32)[:, np.newaxis]  # [B, 1, S]
            return np.concatenate([weights @ state for state in states], axis=1)
        if self.choice.pooling == "max":
            real = counted[:, :, np.newaxis] > 0
            states = [np.where(real, state, -np.inf).max(axis=1) for state in states]
            return np.stack(states, axis=1)
        if self.choice.pooling == "cls":
            return np.stack([state[:, 0] for state in states], axis=1)
        return np.stack(states, axis=2)
