"""--precision=int8: predictions of a model whose matrix products are of whole numbers, by onnxruntime.

Imports no TensorFlow, so that a text is answered in the time that TensorFlow takes to be imported. The result is not that of
float32: see graphs.int8.
"""

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.kinds import (
    CLASSIFIER,
    HEADS,
    MULTI_LABEL,
    MULTIPLE_CHOICE,
    POOLED,
    POOLER,
    REGRESSION,
    SPANS,
    TAGGER,
)
from bert_cli.features.ragged import Features, row_lengths
from bert_cli.features.stream import alike_groups
from bert_cli.graphs.running import Runner, check_packages
from bert_cli.model.config import BertConfig, ModuleConfig, encoder_shapes
from bert_cli.runs.predictor import Predictor
from bert_cli.settings.groups import INT8
from bert_cli.settings.long_text import WINDOWS
from bert_cli.weights.checkpoint import load_weights, open_checkpoint
from bert_cli.weights.names import STEP_NAME
from bert_cli.weights.path import CheckpointPath

LOG = logging.getLogger("bert_cli")
# At once: what they make of activations stays in the processor's cache.
TOKENS = 1024


@dataclasses.dataclass(frozen=True)
class Int8Head:
    """What stands on the encoder: `count` outputs, of a text (base.kinds.CLASSIFIER) or of each of its tokens.

    scope: of its variables. layers, head_input: see graphs.int8.int8_logits. told(logits, batch): the predictions, as the
    model's own in heads/. model: what a checkpoint should be, for error messages.
    """

    kind: str
    count: int
    told: Callable[[np.ndarray, dict[str, np.ndarray]], dict[str, np.ndarray]]
    model: str
    scope: str = ""
    layers: Sequence[int] = (-1,)
    head_input: str = POOLED

    @property
    def reads_pooler(self) -> bool:
        return self.kind == CLASSIFIER and self.head_input == POOLED


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Over the last axis, float32."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def text_head(problem_type: str, count: int, head_input: str, long_text: str) -> Int8Head:
    """That of a classifier, see heads.classification.BertClassifier. count: of its labels. InputError for a model that reads
    several sequences for one text.
    """
    for wrong, what in (
        (problem_type == MULTIPLE_CHOICE, "a choice of endings"),
        (long_text == WINDOWS, f"--long_text={WINDOWS}"),
    ):
        if wrong:
            raise InputError(f"--precision={INT8} is not for {what}; leave it out")

    def told(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        labels = batch["label_ids"]
        if problem_type == REGRESSION:
            return {"values": logits[:, 0], "losses": (logits[:, 0] - labels) ** 2}
        if problem_type == MULTI_LABEL:
            # log(1 + e^x) − x · y, without a large power
            losses = np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))
            return {"probabilities": np.exp(-np.logaddexp(0, -logits)), "losses": losses.mean(axis=-1)}
        logs = log_softmax(logits)
        return {"probabilities": np.exp(logs), "losses": -logs[np.arange(len(labels)), labels]}

    outputs = 1 if problem_type == REGRESSION else count
    return Int8Head(CLASSIFIER, outputs, told, "a fine-tuned classifier", head_input=head_input)


def tag_head(count: int, layers: Sequence[int]) -> Int8Head:
    """That of heads.tagging.BertTagger."""

    def told(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"log_probabilities": log_softmax(logits)}

    return Int8Head(TAGGER, count, told, "a model that bert-tag trained", layers=layers)


def span_head(keep_padding: bool) -> Int8Head:
    """That of heads.squad.BertSpanModel."""
    if keep_padding:
        raise InputError(f"--keep_padding: --precision={INT8} computes no padding; leave one of them out")

    def told(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"start": logits[..., 0], "end": logits[..., 1]}

    return Int8Head(SPANS, 2, told, "fine-tuned to answer questions", scope=HEADS[SPANS])


@dataclasses.dataclass
class _Slot:
    """Stands in for a variable in load_weights."""

    shape: tuple[int, ...]
    value: np.ndarray | None = None

    def assign(self, value: np.ndarray) -> None:
        self.value = np.asarray(value, np.float32)


def load(
    checkpoint: CheckpointPath, shapes: dict[str, tuple[int, ...]], optional: str | None, model: str
) -> tuple[dict[str, np.ndarray], list[str], int]:
    """(the weights by Google's names, what is to be said of loading them, global_step or 0).

    optional: the beginning of the names that may be missing. InputError where another one is.
    """
    reader = open_checkpoint(checkpoint)
    slots = {name: _Slot(shape) for name, shape in shapes.items()}
    report = load_weights(slots, reader)
    missing = [name for name in report.missing if optional is None or not name.startswith(optional)]
    if missing:
        raise InputError(f"{report.source}: lacks {', '.join(missing[:3])}: it is not {model}")
    tensors = {name: slot.value for name, slot in slots.items() if slot.value is not None}
    step = int(reader.read(STEP_NAME)) if STEP_NAME in reader.shapes else 0
    return tensors, report.lines(), step


def checked(config: BertConfig | ModuleConfig) -> BertConfig:
    """InputError for what has no weights that could be quantized, and where the extra is missing."""
    check_packages(f"--precision={INT8}")
    if isinstance(config, ModuleConfig):
        raise InputError(f"{config.hub_module}: --precision={INT8} is for a BERT, not for a module; leave it out")
    return config


@contextlib.contextmanager
def memory_advice(flag: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        raise InputError(f"out of memory: lower --{flag}, or --max_seq_length") from None


class OnProcessor:
    """What all that computes with onnxruntime has in common."""

    precision, is_chief = INT8, True

    def facts(self) -> dict[str, Any]:
        import onnxruntime

        return {"devices": "1 CPU", "versions": {"onnxruntime": onnxruntime.__version__}}


class Int8Session(OnProcessor, Predictor):
    """A trained model with a head, on the processor."""

    def __init__(self, head: Int8Head, config: BertConfig | ModuleConfig, max_seq_length: int):
        self._head, self._config, self.max_seq_length = head, checked(config), max_seq_length
        self._run: Runner | None = None
        LOG.info("devices: 1 CPU, precision %s", INT8)

    def load_trained(self, checkpoint: CheckpointPath) -> int:
        from bert_cli.graphs.int8 import int8_logits

        head, hidden = self._head, self._config.hidden_size
        width = hidden * (1 if head.kind == CLASSIFIER else len(head.layers))
        shapes = encoder_shapes(self._config)
        shapes |= {f"{head.scope}output_weights": (head.count, width), f"{head.scope}output_bias": (head.count,)}
        tensors, lines, step = load(checkpoint, shapes, None if head.reads_pooler else POOLER, head.model)
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
            with memory_advice(flag):
                found = self._head.told(self._run(batch)["logits"], batch)
            yield rows, found
