"""Session that predicts with an inference engine (see engines.engine) instead of TensorFlow.

Importing TensorFlow takes seconds, so a single text is answered faster without it.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import POOLER, count_parameters
from bert_cli.base.log import LOG
from bert_cli.engines.engine import Inference
from bert_cli.features.ragged import Features, row_lengths, sequence_starts, take_ranges
from bert_cli.features.row_batches import length_groups, similar_length_groups
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.shapes import encoder_shapes
from bert_cli.onnx.session import Runner
from bert_cli.runs.engine.predictor import InferenceHead, Predictions, Predictor
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.weights.checkpoint import open_checkpoint, read_weights, saved_step
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.features.classification import ClassificationFeatures

# Tokens per batch: with more, the activations do not stay in the processor's cache.
MAX_TOKENS = 1024
# If rows have several sequences, keep the logits from this many batches together.
_BATCHES_TOGETHER = 8


def load_tensors(
    checkpoint: CheckpointPath,
    shapes: dict[str, tuple[int, ...]],
    optional: str | tuple[str, ...],
    reason: str,
) -> tuple[dict[str, np.ndarray], list[str], int]:
    """Read a model's weights as float32 arrays.

    Args:
        checkpoint: checkpoint to read.
        shapes: Google's name -> shape, for all variables.
        optional, reason: see LoadReport.check_whole.

    Returns:
        A tuple (weights by Google's names, lines for the log, global_step or 0).

    Raises:
        InputError: if the checkpoint lacks variables that are not optional.
    """
    reader = open_checkpoint(checkpoint)
    values, report = read_weights(shapes, reader)
    report.check_whole(reason, optional)
    tensors = {name: np.asarray(value, np.float32) for name, value in values.items()}
    return tensors, report.lines(), saved_step(reader)


def require_bert_config(config: BertConfig | ModuleConfig, inference: Inference) -> BertConfig:
    """Return the config of a BERT, and log the engine.

    Raises:
        InputError: if the model is a tensorflow-hub module.
    """
    if isinstance(config, ModuleConfig):
        raise InputError(f"{config.hub_module}: {inference.flag} is for a BERT, not for a module; leave it out")
    LOG.info("devices: 1 CPU, precision %s, by %s", inference.precision, inference.engine.name)
    return config


class InferenceSession(Predictor):
    """A trained model with a head, which an inference engine computes on the CPU."""

    is_chief = True
    _network: Runner
    _parameters: Mapping[str, int]

    def __init__(
        self,
        head: InferenceHead,
        config: BertConfig | ModuleConfig,
        max_seq_length: int,
        inference: Inference,
        check_pairs: PairCheck | None = None,
    ):
        """Prepare a session without weights; `load_trained` reads them.

        Args:
            head: the model's head.
            config: the model's config.
            max_seq_length: maximum number of tokens in a sequence.
            inference: engine and precision.
            check_pairs: see Predictor.

        Raises:
            InputError: if the model is a tensorflow-hub module.
        """
        self._head = head
        self.check_pairs = check_pairs
        self.has_windows = head.has_windows
        self.max_seq_length = max_seq_length
        self._config = require_bert_config(config, inference)
        self._engine = inference.engine
        self.precision = inference.precision

    def facts(self) -> dict[str, Any]:
        """See Predictor."""
        return {
            "devices": "1 CPU",
            "versions": self._engine.versions(),
            "parameters": self._parameters,
        }

    def load_trained(self, checkpoint: CheckpointPath) -> int:
        spec = self._head.spec
        shapes = encoder_shapes(self._config) | spec.shapes(self._config.hidden_size)
        optional = () if spec.reads_pooler else POOLER
        tensors, lines, step = load_tensors(checkpoint, shapes, optional, f"it is not {self._head.model}")
        for line in lines:
            LOG.info(line)
        self._parameters = count_parameters({name: value.shape for name, value in tensors.items()})
        self._network = self._engine.logits(self.precision, tensors, self._config, spec)
        return step

    def _compute_batches(self, features: Features, batch_size: int, runner: Callable | None) -> Predictions:
        max_tokens = min(MAX_TOKENS, batch_size * self.max_seq_length)
        if self._head.join:
            yield from self._compute_joined(features, max_tokens, self._head.join)
            return
        for rows in similar_length_groups(row_lengths(features), max_tokens):
            batch = features.batch(rows)
            yield rows, self._head.postprocess(self._network(batch)["logits"], batch)

    def _compute_joined(self, features: Features, max_tokens: int, join: Callable) -> Predictions:
        """Predict rows with several sequences, such as windows.

        Args:
            features: the rows.
            max_tokens: maximum number of tokens per batch.
            join: see InferenceHead.join.
        """
        sequences = features.sequences
        lengths = sequences.lengths
        starts = sequence_starts(features)
        # Take many rows together: the sequences in a row have different lengths, but batches should
        # have similar ones.
        for rows in length_groups(row_lengths(features), _BATCHES_TOGETHER * max_tokens):
            indices, offsets = take_ranges(starts, rows)
            logits = np.empty((len(indices), self._head.spec.num_outputs), np.float32)
            for group in similar_length_groups(lengths[indices], max_tokens):
                sequence_indices = indices[group]
                logits[group] = self._network(sequences.pad(sequence_indices, int(lengths[sequence_indices[0]])))[
                    "logits"
                ]
            batch = {"label_ids": cast("ClassificationFeatures", features).label_ids[rows]}
            yield rows, self._head.postprocess(join(logits, offsets), batch)
