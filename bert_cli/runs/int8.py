"""--precision=int8: predictions of a model whose matrix products are of whole numbers, by onnxruntime.

Imports no TensorFlow, so that a text is answered in the time that TensorFlow takes to be imported. The result is not that of
float32: see graphs.int8.
"""

import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.kinds import CLASSIFIER, POOLER
from bert_cli.features.ragged import Features, row_lengths
from bert_cli.features.stream import alike_groups
from bert_cli.graphs.running import Runner, check_packages
from bert_cli.model.config import BertConfig, ModuleConfig, encoder_shapes
from bert_cli.runs.int8_heads import Int8Head
from bert_cli.runs.predictor import Predictor
from bert_cli.settings.groups import INT8
from bert_cli.weights.checkpoint import load_weights, open_checkpoint
from bert_cli.weights.names import STEP_NAME
from bert_cli.weights.path import CheckpointPath

LOG = logging.getLogger("bert_cli")
# At once: what they make of activations stays in the processor's cache.
TOKENS = 1024


@dataclasses.dataclass
class _Slot:
    """Stands in for a variable in load_weights."""

    shape: tuple[int, ...]
    value: np.ndarray | None = None

    def assign(self, value: np.ndarray) -> None:
        self.value = np.asarray(value, np.float32)


def load(
    checkpoint: CheckpointPath, shapes: dict[str, tuple[int, ...]], optional: str | tuple[str, ...], model: str
) -> tuple[dict[str, np.ndarray], list[str], int]:
    """(the weights by Google's names, what is to be said of loading them, global_step or 0).

    optional: see LoadReport.check_whole; model: what the checkpoint should be.
    """
    reader = open_checkpoint(checkpoint)
    slots = {name: _Slot(shape) for name, shape in shapes.items()}
    report = load_weights(slots, reader)
    report.check_whole(f"it is not {model}", optional)
    tensors = {name: slot.value for name, slot in slots.items() if slot.value is not None}
    step = int(reader.read(STEP_NAME)) if STEP_NAME in reader.shapes else 0
    return tensors, report.lines(), step


def checked(config: BertConfig | ModuleConfig) -> BertConfig:
    """InputError for what has no weights that could be quantized, and where the extra is missing."""
    check_packages(f"--precision={INT8}")
    if isinstance(config, ModuleConfig):
        raise InputError(f"{config.hub_module}: --precision={INT8} is for a BERT, not for a module; leave it out")
    return config


class Int8Session(Predictor):
    """A trained model with a head, on the processor."""

    precision, is_chief = INT8, True

    def __init__(self, head: Int8Head, config: BertConfig | ModuleConfig, max_seq_length: int):
        self._head, self._config, self.max_seq_length = head, checked(config), max_seq_length
        self._run: Runner | None = None
        LOG.info("devices: 1 CPU, precision %s", INT8)

    def facts(self) -> dict[str, Any]:
        """See Predictor."""
        import onnxruntime

        return {"devices": "1 CPU", "versions": {"onnxruntime": onnxruntime.__version__}}

    def load_trained(self, checkpoint: CheckpointPath) -> int:
        from bert_cli.graphs.int8 import int8_logits

        head, hidden = self._head, self._config.hidden_size
        width = hidden * (1 if head.kind == CLASSIFIER else len(head.layers))
        shapes = encoder_shapes(self._config)
        shapes |= {f"{head.scope}output_weights": (head.count, width), f"{head.scope}output_bias": (head.count,)}
        tensors, lines, step = load(checkpoint, shapes, () if head.reads_pooler else POOLER, head.model)
        for line in lines:
            LOG.info(line)
        self._run = int8_logits(tensors, self._config, head.kind, head.scope, head.layers, head.head_input)
        return step

    def _computed(
        self, features: Features, batch_size: int, flag: str, run: Callable | None
    ) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        assert self._run, "load_trained comes first"
        for rows in alike_groups(row_lengths(features), min(TOKENS, batch_size * self.max_seq_length)):
            batch = features.batch(rows)
            yield rows, self._head.told(self._run(batch)["logits"], batch)
