"""What a model is trained on: rows in memory, or a stream of batches without end; see
training_run.TrainingInput.

The first batches of each are also what a probe of the training measures; see probe. Imports
TensorFlow.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.features.pretraining_batch import training_batch
from bert_cli.features.ragged import Batches, Features, row_lengths, with_token_ids
from bert_cli.features.row_batches import training_rows
from bert_cli.heads.model import tensor_specs
from bert_cli.runs.engine.frozen_states import frozen_states
from bert_cli.runs.engine.training_run import TrainingRun
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.weights.checkpoint import Tf1Reader
from bert_cli.weights.names import POSITION_NAME

Position = tuple[int, int]
_MOST_PROBED = 12  # batches that a probe may take after the first one


class ProbeBatches(NamedTuple):
    """What a probe computes: `batches`, of which the first is the largest.

    mean_tokens: of all batches of an epoch, None where it is not known. num_shapes: how many
    different numbers of tokens the batches of an epoch have, None where it is not known.
    encodes_once: a frozen encoder will compute each row once.
    """

    batches: Iterator[dict[str, np.ndarray]]
    mean_tokens: float | None
    num_shapes: int | None
    encodes_once: bool


@dataclasses.dataclass(frozen=True)
class RowInput:
    """Rows that are held in memory, shuffled again in each epoch.

    encoding_batch_size: rows that a frozen encoder computes at once, where its outputs are computed
    only once.
    """

    features: Features
    encoding_batch_size: int = 8

    @property
    def token_ids(self) -> np.ndarray:
        return self.features.sequences.token_ids

    def batches(self, run: TrainingRun, state: str | None) -> tuple[Iterator[dict], dict[str, tf.TensorSpec]]:
        """See TrainingInput; a frozen encoder computes its outputs here, once for all epochs."""
        session, updates = run.session, run.updates
        model = session.model
        rows: Batches = self.features
        specs = tensor_specs(model.columns)
        if run.is_frozen and model.state_columns:
            session.freeze_for_inference()
            rows = frozen_states(session, self.features, self.encoding_batch_size)
            specs = tensor_specs(model.state_columns, W=model.state_width)
        elif run.compact:
            rows = with_token_ids(self.features, run.compact.compact_ids(self.token_ids))
        # Taken now: freeze_for_inference above must not run in the middle of a step.
        width = session.training_width
        lengths = row_lengths(self.features)
        order = training_rows(len(rows), updates.batch_size, updates.random_seed, run.start, lengths)
        return (rows.batch(chosen, width) for chosen in order), specs

    def probe_batches(self, run: TrainingRun) -> ProbeBatches:
        """The largest batch of the first epoch and typical ones; the outputs of a frozen encoder
        are not kept for them.
        """
        session = run.session
        features = self.features
        if run.compact:
            features = with_token_ids(features, run.compact.compact_ids(self.token_ids))
        chosen, mean, shapes = typical_rows(row_lengths(self.features), run.updates)
        batches = (features.batch(rows, session.training_width) for rows in chosen)
        return ProbeBatches(batches, mean, shapes, run.is_frozen and bool(session.model.state_columns))

    def checkpoint_tensors(self) -> dict[str, np.ndarray]:
        return {}


class StreamInput:
    """Pre-training instances without end, for a BertPretrainer.

    make_stream(position) gives the arrays of spec.pretraining_features of a batch with the position
    after it, two integers; it starts at `position`, None for the start.
    """

    token_ids = None

    def __init__(self, make_stream: Callable[[Position | None], Iterator[tuple[dict, Position]]]):
        self._make_stream = make_stream
        self._position: Position | None = None

    def batches(self, run: TrainingRun, state: str | None) -> tuple[Iterator[dict], dict[str, tf.TensorSpec]]:
        """See TrainingInput."""
        self._position = read_position(state) if state else None
        return self._batches(run.session.packed), tensor_specs(run.session.model.columns)

    def _batches(self, trim: bool) -> Iterator[dict[str, np.ndarray]]:
        for features, after in self._make_stream(self._position):
            self._position = after
            yield training_batch(features, trim=trim)

    def probe_batches(self, run: TrainingRun) -> ProbeBatches:
        """The first batches; how many shapes there will be can only be estimated from them."""
        return ProbeBatches(self._batches(run.session.packed), None, None, False)

    def checkpoint_tensors(self) -> dict[str, np.ndarray]:
        """How far the data was read."""
        return {POSITION_NAME: np.array(self._position, np.int64)}


def read_position(state: str) -> Position:
    """How far a checkpoint of bert-pretrain has read its data. InputError for another checkpoint."""
    reader = Tf1Reader(state)
    if POSITION_NAME not in reader.shapes:
        raise InputError(
            f"{state}: does not say how far its data was read: it was not saved by bert-pretrain; "
            "use --overwrite_output_dir, or another --output_dir with --init_checkpoint"
        )
    shard, taken = reader.read(POSITION_NAME).tolist()
    return shard, taken


def typical_rows(lengths: np.ndarray, updates: TrainingHyperparameters) -> tuple[list[np.ndarray], float, int]:
    """(rows of batches to probe, tokens of a batch on average, how many different numbers of tokens
    there are).

    Of the batches of the first epoch. First comes the one with the most tokens, then, each with
    another number of tokens, the ones nearest to the average.
    """
    count = min(updates.steps, -(-len(lengths) // updates.batch_size))
    batches = list(itertools.islice(training_rows(len(lengths), updates.batch_size, updates.random_seed), count))
    tokens = np.array([lengths[rows].sum() for rows in batches])
    values, first = np.unique(tokens, return_index=True)
    nearest = first[np.argsort(np.abs(values - tokens.mean()), kind="stable")[:_MOST_PROBED]]
    return [batches[int(tokens.argmax())], *(batches[number] for number in nearest)], float(tokens.mean()), len(values)
