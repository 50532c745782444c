"""Inputs of a training run: rows in memory, or an endless stream; see training_run.TrainingInput.

The first batches are also used by --dry_run, see engine.probe.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.features.pretraining_batch import training_batch
from bert_cli.features.ragged import BatchSource, Features, row_lengths, with_token_ids
from bert_cli.features.row_batches import training_rows
from bert_cli.heads.model import tensor_specs
from bert_cli.runs.engine.frozen_states import compute_frozen_states
from bert_cli.runs.engine.training_run import TrainingRun
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.weights.checkpoint import Tf1Reader
from bert_cli.weights.variables import POSITION_NAME

Position = tuple[int, int]
_MAX_PROBED = 12  # batches for a probe after the first one


class ProbeBatches(NamedTuple):
    """Batches for a probe.

    Attributes:
        batches: batches, the largest first.
        mean_tokens: mean number of tokens per batch in an epoch; None if unknown.
        num_shapes: number of different batch lengths in an epoch, in tokens; None if unknown.
        encodes_once: whether a frozen encoder will compute each row only once.
    """

    batches: Iterator[dict[str, np.ndarray]]
    mean_tokens: float | None
    num_shapes: int | None
    encodes_once: bool


@dataclasses.dataclass(frozen=True)
class RowInput:
    """Rows in memory, which every epoch shuffles.

    Attributes:
        features: the rows.
        encoding_batch_size: rows per batch if a frozen encoder computes its outputs only once.
    """

    features: Features
    encoding_batch_size: int = 8

    @property
    def token_ids(self) -> np.ndarray:
        return self.features.sequences.token_ids

    def batches(self, run: TrainingRun, state: str | None) -> tuple[Iterator[dict], dict[str, tf.TensorSpec]]:
        """Return batches and signature, see TrainingInput.

        If the encoder is frozen, its outputs are computed here, once for all epochs.

        Args:
            state: checkpoint prefix to resume from; None for a new run.
        """
        engine, updates = run.engine, run.updates
        model = engine.model
        rows: BatchSource = self.features
        specs = tensor_specs(model.columns)
        if run.is_frozen and model.state_columns:
            engine.freeze_for_inference()
            rows = compute_frozen_states(engine, self.features, self.encoding_batch_size)
            specs = tensor_specs(model.state_columns, W=model.state_width)
        elif run.compact:
            rows = with_token_ids(self.features, run.compact.compact_ids(self.token_ids))
        # Read the width now: freeze_for_inference must not run during a step.
        width = engine.training_width
        lengths = row_lengths(self.features)
        order = training_rows(len(rows), updates.batch_size, updates.random_seed, run.start, lengths)
        return (rows.batch(row_indices, width) for row_indices in order), specs

    def probe_batches(self, run: TrainingRun) -> ProbeBatches:
        """Return the largest batch in the first epoch, and typical ones.

        A frozen encoder computes its outputs again for each batch.
        """
        engine = run.engine
        features = self.features
        if run.compact:
            features = with_token_ids(features, run.compact.compact_ids(self.token_ids))
        row_groups, mean_tokens, num_shapes = choose_probe_batches(row_lengths(self.features), run.updates)
        batches = (features.batch(rows, engine.training_width) for rows in row_groups)
        return ProbeBatches(batches, mean_tokens, num_shapes, run.is_frozen and bool(engine.model.state_columns))

    def checkpoint_tensors(self) -> dict[str, np.ndarray]:
        return {}


class StreamInput:
    """An endless stream of pre-training instances, for a BertPretrainer."""

    token_ids = None

    def __init__(self, make_stream: Callable[[Position | None], Iterator[tuple[dict, Position]]]):
        """Keep the function that opens the stream.

        Args:
            make_stream: make_stream(position) yields (batch, position after it). A batch has the
                arrays named in spec.pretraining_features. The argument None means the beginning.
        """
        self._make_stream = make_stream
        self._position: Position | None = None

    def batches(self, run: TrainingRun, state: str | None) -> tuple[Iterator[dict], dict[str, tf.TensorSpec]]:
        """Return batches and signature, see TrainingInput.

        Args:
            state: checkpoint prefix to resume from; None for a new run.
        """
        self._position = read_position(state) if state else None
        return self._batches(run.engine.packed), tensor_specs(run.engine.model.columns)

    def _batches(self, trim: bool) -> Iterator[dict[str, np.ndarray]]:
        for features, position in self._make_stream(self._position):
            self._position = position
            yield training_batch(features, trim=trim)

    def probe_batches(self, run: TrainingRun) -> ProbeBatches:
        """Return the first batches, without statistics about later ones."""
        return ProbeBatches(self._batches(run.engine.packed), None, None, False)

    def checkpoint_tensors(self) -> dict[str, np.ndarray]:
        """Return the position in the data."""
        return {POSITION_NAME: np.array(self._position, np.int64)}


def read_position(state: str) -> Position:
    """Return the position in the training data at which bert-pretrain saved a checkpoint.

    Raises:
        InputError: if the checkpoint was not saved by bert-pretrain.
    """
    reader = Tf1Reader(state)
    if POSITION_NAME not in reader.shapes:
        raise InputError(
            f"{state}: does not say how far its data was read: it was not saved by bert-pretrain; "
            "use --overwrite_output_dir, or another --output_dir with --init_checkpoint"
        )
    shard, num_read = reader.read(POSITION_NAME).tolist()
    return shard, num_read


def choose_probe_batches(lengths: np.ndarray, updates: TrainingHyperparameters) -> tuple[list[np.ndarray], float, int]:
    """Choose batches for a probe from the first epoch.

    The first one has the most tokens. The others are close to the mean, and all have different
    numbers of tokens.

    Args:
        lengths: number of tokens per row.

    Returns:
        A tuple (row indices per batch, mean number of tokens per batch, number of different batch
        lengths).
    """
    count = min(updates.steps, -(-len(lengths) // updates.batch_size))
    batches = list(itertools.islice(training_rows(len(lengths), updates.batch_size, updates.random_seed), count))
    tokens = np.array([lengths[rows].sum() for rows in batches])
    values, first = np.unique(tokens, return_index=True)
    nearest = first[np.argsort(np.abs(values - tokens.mean()), kind="stable")[:_MAX_PROBED]]
    return [batches[int(tokens.argmax())], *(batches[number] for number in nearest)], float(tokens.mean()), len(values)
