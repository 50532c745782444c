"""Predictions of a trained model by an inference engine (see engines.engine), in float32 or in
fewer bits.

Imports no TensorFlow, so that a text is answered in the time that TensorFlow takes to be imported.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import POOLER, count_parameters
from bert_cli.base.log import LOG
from bert_cli.engines.engine import Inference, Network
from bert_cli.features.ragged import Features, equal_length_groups, row_lengths
from bert_cli.model.config import BertConfig, ModuleConfig, encoder_shapes
from bert_cli.runs.engine.predictor import InferenceHead, Predictor
from bert_cli.weights.checkpoint import load_weights, open_checkpoint, saved_step
from bert_cli.weights.path import CheckpointPath

# That are computed at once: with more, activations do not stay in the processor's cache.
MAX_TOKENS = 1024


@dataclasses.dataclass
class _Tensor:
    """Used instead of a variable in load_weights."""

    shape: tuple[int, ...]
    value: np.ndarray | None = None

    def assign(self, value: np.ndarray) -> None:
        self.value = np.asarray(value, np.float32)


def load_tensors(
    checkpoint: CheckpointPath, shapes: dict[str, tuple[int, ...]], optional: str | tuple[str, ...], model: str
) -> tuple[dict[str, np.ndarray], list[str], int]:
    """(the weights by Google's names, lines for the log, global_step or 0).

    optional: see LoadReport.check_whole; model: what the checkpoint should be.
    """
    reader = open_checkpoint(checkpoint)
    tensors = {name: _Tensor(shape) for name, shape in shapes.items()}
    report = load_weights(tensors, reader)
    report.check_whole(f"it is not {model}", optional)
    found = {name: tensor.value for name, tensor in tensors.items() if tensor.value is not None}
    return found, report.lines(), saved_step(reader)


def checked_config(config: BertConfig | ModuleConfig, inference: Inference) -> BertConfig:
    """The config, where the engine is installed and the model a BERT; logs what computes.
    InputError otherwise.
    """
    inference.engine.check_installed(inference.flag)
    if isinstance(config, ModuleConfig):
        raise InputError(f"{config.hub_module}: {inference.flag} is for a BERT, not for a module; leave it out")
    LOG.info("devices: 1 CPU, precision %s, by %s", inference.precision, inference.engine.name)
    return config


class InferenceSession(Predictor):
    """A trained model with a head, on the CPU."""

    is_chief = True
    _network: Network
    _parameters: Mapping[str, int]

    def __init__(
        self, head: InferenceHead, config: BertConfig | ModuleConfig, max_seq_length: int, inference: Inference
    ):
        self._head = head
        self.max_seq_length = max_seq_length
        self._config = checked_config(config, inference)
        self._engine = inference.engine
        self.precision = inference.precision

    def facts(self) -> dict[str, Any]:
        """See Predictor."""
        return {"devices": "1 CPU", "versions": self._engine.versions(), "parameters": self._parameters}

    def load_trained(self, checkpoint: CheckpointPath) -> int:
        spec = self._head.spec
        shapes = encoder_shapes(self._config) | spec.shapes(self._config.hidden_size)
        optional = () if spec.reads_pooler else POOLER
        tensors, lines, step = load_tensors(checkpoint, shapes, optional, self._head.model)
        for line in lines:
            LOG.info(line)
        self._parameters = count_parameters({name: each.shape for name, each in tensors.items()})
        self._network = self._engine.logits(self.precision, tensors, self._config, spec)
        return step

    def _computed(
        self, features: Features, batch_size: int, flag: str, run: Callable | None
    ) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        # Groups of one length: the network has neither padding nor mask.
        for rows in equal_length_groups(row_lengths(features), min(MAX_TOKENS, batch_size * self.max_seq_length)):
            batch = features.batch(rows)
            yield rows, self._head.postprocess(self._network(batch)["logits"], batch)
