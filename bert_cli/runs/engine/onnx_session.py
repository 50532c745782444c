"""--engine=onnxruntime: predictions of a model in float32 or, with --precision=int8, in whole numbers: see onnx.int8.

Imports no TensorFlow, so that a text is answered in the time that TensorFlow takes to be imported.
"""

import dataclasses
import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import POOLER
from bert_cli.features.ragged import Features, equal_length_groups, row_lengths
from bert_cli.model.config import BertConfig, ModuleConfig, encoder_shapes
from bert_cli.onnx.session import Runner, check_packages
from bert_cli.runs.engine.predictor import OnnxHead, Predictor
from bert_cli.settings.devices import INT8, ONNXRUNTIME, Devices
from bert_cli.weights.checkpoint import load_weights, open_checkpoint, saved_step
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.onnx.models import UnpaddedBert

LOG = logging.getLogger("bert_cli")
# That are computed at once: with more, activations do not stay in the processor's cache.
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
    """(the weights by Google's names, lines for the log, global_step or 0).

    optional: see LoadReport.check_whole; model: what the checkpoint should be.
    """
    reader = open_checkpoint(checkpoint)
    slots = {name: _Slot(shape) for name, shape in shapes.items()}
    report = load_weights(slots, reader)
    report.check_whole(f"it is not {model}", optional)
    tensors = {name: slot.value for name, slot in slots.items() if slot.value is not None}
    return tensors, report.lines(), saved_step(reader)


def opened(config: BertConfig | ModuleConfig, devices: Devices) -> tuple[BertConfig, str]:
    """(the config, the precision, which is logged). InputError for what is no BERT, and where the extra is missing."""
    flag = devices.onnxruntime_flag
    assert flag, "TensorFlow is asked for"
    check_packages(flag)
    if isinstance(config, ModuleConfig):
        raise InputError(f"{config.hub_module}: {flag} is for a BERT, not for a module; leave it out")
    # --precision=auto is float32 here: onnxruntime has no bfloat16 on the processor.
    precision = INT8 if devices.precision == INT8 else "float32"
    LOG.info("devices: 1 CPU, precision %s, by %s", precision, ONNXRUNTIME)
    return config, precision


def network_type(precision: str) -> "type[UnpaddedBert]":
    """The class that builds a graph of this precision. Imports onnx."""
    from bert_cli.onnx.int8 import Int8Bert
    from bert_cli.onnx.models import UnpaddedBert

    return Int8Bert if precision == INT8 else UnpaddedBert


class OnnxSession(Predictor):
    """A trained model with a head, on the processor."""

    is_chief = True

    def __init__(self, head: OnnxHead, config: BertConfig | ModuleConfig, max_seq_length: int, devices: Devices):
        self._head, self.max_seq_length = head, max_seq_length
        self._config, self.precision = opened(config, devices)
        self._run: Runner | None = None

    def facts(self) -> dict[str, Any]:
        """See Predictor."""
        import onnxruntime

        return {"devices": "1 CPU", "versions": {"onnxruntime": onnxruntime.__version__}}

    def load_trained(self, checkpoint: CheckpointPath) -> int:
        from bert_cli.onnx.models import logits_runner

        spec = self._head.spec
        shapes = encoder_shapes(self._config) | spec.shapes(self._config.hidden_size)
        tensors, lines, step = load(checkpoint, shapes, () if spec.reads_pooler else POOLER, self._head.model)
        for line in lines:
            LOG.info(line)
        self._run = logits_runner(network_type(self.precision), tensors, self._config, spec)
        return step

    def _computed(
        self, features: Features, batch_size: int, flag: str, run: Callable | None
    ) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
        assert self._run, "load_trained comes first"
        # Groups of one length: the graph has neither padding nor mask.
        for rows in equal_length_groups(row_lengths(features), min(TOKENS, batch_size * self.max_seq_length)):
            batch = features.batch(rows)
            yield rows, self._head.postprocess(self._run(batch)["logits"], batch)
